"""The opponent for Kahmate: its rules are the game's, and it misses no win."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from bot_tools import states_in_a_row

from companion.bots.base import LEVELS
from companion.bots.kahmate import KahmateBot
from companion.bots.kahmate.moves import (
    END_ROUND,
    Play,
    Position,
    lost,
    plays,
    position_of,
    won,
)
from companion.core.kit import SEATS, Seat
from companion.games import game_named
from companion.games.kahmate.actions import Card
from companion.games.kahmate.board import IN_GOAL, ROLE_OF
from companion.games.kahmate.state import State

GAME = game_named("kahmate")


def rounds(number: int, seed: int) -> Iterator[State]:
    return (
        state
        for state in states_in_a_row("kahmate", number, seed, {})
        if not state.is_placing and not state.course
    )


def same(position: Position, state: State) -> bool:
    if position.ball == IN_GOAL:
        return state.ball == IN_GOAL and state.outcome is not None
    board = (position.places, position.down, position.ball, position.seat, position.ran)
    return board == (list(state.places), list(state.down), state.ball, state.seat, state.ran)


def cards_for(play: Play, lead: int) -> tuple[int, int] | None:
    """Two cards, attack's and defence's, by which the attack is so far ahead with both hands
    full.
    """
    strength = (
        sum(ROLE_OF[piece].attack for piece in play.movers)
        - ROLE_OF[play.meetings[0].defender].defence
    )
    pairs = ((one, one + strength - lead) for one in range(1, 7))
    return next((pair for pair in pairs if 1 <= pair[1] <= 6), None)


def after_cards(state: State, play: Play, lead: int) -> State | None:
    """The game's own state after a play with one face-off that ends so."""
    cards = cards_for(play, lead)
    waiting = GAME.apply(state, {SEATS[state.seat]: GAME.parse(str(play))}, Random(0)).state
    if cards is None or waiting.course is None:
        return None
    actions = dict(zip((SEATS[state.seat], SEATS[1 - state.seat]), map(Card, cards), strict=True))
    if any(action.value not in state.hands[SEATS.index(seat)] for seat, action in actions.items()):
        return None
    return GAME.apply(waiting, actions, Random(0)).state


def test_its_plays_are_legal_and_come_to_what_the_game_says() -> None:
    checked = {"free": 0, "won": 0, "lost": 0}
    for state in rounds(160, 21):
        position = position_of(GAME.view(state, None))
        assert same(position, state)
        for play in [*plays(position, all_meetings=True), END_ROUND]:
            action = GAME.parse(str(play))
            GAME.check(state, SEATS[state.seat], action)
            if not play.meetings:
                after = GAME.apply(state, {SEATS[state.seat]: action}, Random(0)).state
                assert same(won(position, play), after), str(play)
                checked["free"] += 1
            elif len(play.meetings) == 1:
                for lead in (3, 1, -1):
                    if (after := after_cards(state, play, lead)) is not None:
                        mine = won(position, play, lead) if lead > 0 else lost(position, play)
                        assert same(mine, after), (str(play), lead)
                        checked["won" if lead > 0 else "lost"] += 1
    assert min(checked.values()) > 40, checked


PLACED = "R@a1 R@d2 B@c2 T@e2 F@b2 S@f2 | R@a10 R@d10 B@c10 T@e10 F@b10 S@f10"


def played(*actions: str) -> State:
    """A game played so far; `SOUTH | NORTH` for both."""
    state = GAME.setup(GAME.options({"ball_card": 1, "starter": "south"}), Random(0))
    for text in actions:
        seats = sorted(GAME.to_act(state), reverse=True)
        parts = dict(zip(seats, text.split(" | "), strict=True))
        state = GAME.apply(
            state, {seat: GAME.parse(part) for seat, part in parts.items()}, Random(0)
        ).state
    return state


@pytest.mark.parametrize("level", LEVELS)
def test_it_never_misses_a_win_in_one(level: int) -> None:
    """The fast one stands on h9 with the ball, nobody is in its way."""
    state = played(
        PLACED, "b2-b3-b4-b5-b6", ".", ".", "b6-c6-d6-e6-f6", ".", ".", "f6-g6-h6-h7-h8", ".", "."
    )
    assert GAME.view(state, None)["ball"] == {"square": "h8", "seat": "south"}
    for seed in range(8):
        choice = KahmateBot(Seat.SOUTH, {}, level, seed).choose(GAME.view(state, Seat.SOUTH))
        assert choice.action.endswith("-goal"), choice
        assert choice.action.startswith("h8-")
        assert choice.why == ("This scores.",)


def test_two_alike_do_not_tie_cards_for_ever() -> None:
    """Both would play their highest card again and again, and so never end a face-off."""
    state = played(PLACED, "b2-b3-b4-b5-b6", ".", "b10-b9-b8-b7xb6")
    bots = {seat: KahmateBot(seat, {}, 3, 9) for seat in SEATS}
    for _ in range(60):
        cards = {
            seat: GAME.parse(bot.choose(GAME.view(state, seat)).action)
            for seat, bot in bots.items()
        }
        state = GAME.apply(state, cards, Random(0)).state
        if state.course is None:
            return
    raise AssertionError("60 cards each, and no end")
