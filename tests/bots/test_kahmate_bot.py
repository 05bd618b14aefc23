"""Tests of the bot for Kahmate, in this process.

Its rules are the game's, it misses no win, and it does not repeat positions or cards for ever.

A placement is written `R@a1 …`, piece by piece: two regular ones, the big, the tough, the fast and
the smart one. `b2-b3-b4` is a run along these squares, a run that ends in `xb6` tackles the piece
on b6, `d5!d8` is a kick, and `.` ends the turn.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from bot_tools import consecutive_states
from kahmate_tools import make_state

from companion.bots.base import LEVELS
from companion.bots.kahmate import KahmateBot
from companion.bots.kahmate.moves import (
    candidate_plays,
    end_turn,
    repetition_key,
    state_if_lost,
    state_if_won,
    state_of,
)
from companion.core.kit import SEATS, Seat
from companion.games import game_named
from companion.games.kahmate.actions import Card, Kick
from companion.games.kahmate.board import IN_GOAL, ROLE_OF
from companion.games.kahmate.moves import kicks
from companion.games.kahmate.state import ActionPlan, State

GAME = game_named("kahmate")


def is_same_position(bot_state: State, state: State) -> bool:
    """Return whether the bot's state is the game's. After a try only the ball is compared."""
    if bot_state.ball == IN_GOAL:
        return state.ball == IN_GOAL and state.outcome is not None
    return repetition_key(bot_state) == repetition_key(state)


def after_face_off(waiting: State, plan: ActionPlan, lead: int) -> State | None:
    """Return the game's state after a face-off that the seat on turn wins by `lead`.

    A negative lead is a loss. Return None if no two cards of the hands lead to it.
    """
    advantage = sum(ROLE_OF[piece].attack for piece in plan.movers)
    advantage -= ROLE_OF[plan.face_offs[0].defender].defence
    seats = SEATS[waiting.seat], SEATS[1 - waiting.seat]
    for own in waiting.cards[waiting.seat]:
        other = own + advantage - lead
        if other in waiting.cards[1 - waiting.seat]:
            cards = dict(zip(seats, map(Card, (own, other)), strict=True))
            after: State = GAME.apply(waiting, cards, Random(0)).state
            return after
    return None


def test_its_plays_follow_the_rules_of_the_game() -> None:
    """The bot and the game come to the same state after each play, whether its face-off is won or
    lost. More than 40 plays of each kind are compared.
    """
    checked = {"free": 0, "won": 0, "lost": 0}
    for state in consecutive_states("kahmate", count=160, seed=21, options={}):
        if state.is_placing or state.pending_plan:
            continue
        seat = SEATS[state.seat]
        bot_state = state_of(GAME.view(state, None))
        # the bot leaves the numbers of turns out
        assert bot_state == replace(state, turn=1, last_face_off_turn=0)
        after = GAME.apply(state, {seat: GAME.parse(".")}, Random(0)).state
        assert is_same_position(end_turn(bot_state), after)
        for action, plan in candidate_plays(bot_state, may_non_carriers_face_off=True):
            GAME.check(state, seat, action)
            after = GAME.apply(state, {seat: action}, Random(0)).state
            if not plan.face_offs:
                assert is_same_position(state_if_won(bot_state, plan), after), str(action)
                checked["free"] += 1
                continue
            assert after.pending_plan == plan
            # a clear win, a narrow win, and a loss of the only face-off
            for lead in (3, 1, -1) if len(plan.face_offs) == 1 else ():
                if (decided := after_face_off(after, plan, lead)) is not None:
                    expected = state_if_lost(bot_state, plan, plan.face_offs[0])
                    if lead > 0:
                        expected = state_if_won(bot_state, plan, lead)
                    assert is_same_position(expected, decided), (str(action), lead)
                    checked["won" if lead > 0 else "lost"] += 1
    assert min(checked.values()) > 40, checked


# The placements of South and North, with ` | ` between them.
PLACING = "R@a1 R@d2 B@c2 T@e2 F@b2 S@f2 | R@a10 R@d10 B@c10 T@e10 F@b10 S@f10"


def state_after(*actions: str) -> State:
    """Return the state after these actions. Two that are due at once are `SOUTH | NORTH`."""
    state = GAME.setup(GAME.options({"ball_card": 1, "starter": "south"}), Random(0))
    for text in actions:
        # South first, as in the text
        seats = sorted(GAME.to_act(state), reverse=True)
        parts = dict(zip(seats, text.split(" | "), strict=True))
        state = GAME.apply(
            state, {seat: GAME.parse(part) for seat, part in parts.items()}, Random(0)
        ).state
    return state


@pytest.mark.parametrize("level", LEVELS)
def test_it_never_misses_a_win_in_one_play(level: int) -> None:
    """South's fast piece stands on h8 with the ball, and no piece is in its way."""
    state = state_after(
        PLACING, "b2-b3-b4-b5-b6", ".", ".", "b6-c6-d6-e6-f6", ".", ".", "f6-g6-h6-h7-h8", ".", "."
    )
    assert GAME.view(state, None)["ball"] == {"square": "h8", "seat": "south"}
    for seed in range(8):
        choice = KahmateBot(Seat.SOUTH, {}, level, seed).choose(GAME.view(state, Seat.SOUTH))
        assert choice.action.endswith("-goal"), choice
        assert choice.action.startswith("h8-")
        assert choice.why == ("This scores.",)


def test_two_equal_bots_end_a_face_off() -> None:
    """If both always played their highest card, a face-off between equals would never end."""
    state = state_after(PLACING, "b2-b3-b4-b5-b6", ".", "b10-b9-b8-b7xb6")
    bots = {seat: KahmateBot(seat, {}, level=3, seed=9) for seat in SEATS}
    for _ in range(60):
        cards = {
            seat: GAME.parse(bot.choose(GAME.view(state, seat)).action)
            for seat, bot in bots.items()
        }
        state = GAME.apply(state, cards, Random(0)).state
        if state.pending_plan is None:
            return
    raise AssertionError("the face-off still goes on after 60 cards of each seat")


def end_of_turn(bot: KahmateBot, state: State) -> State:
    """Return the state after the bot, which is South, has played its turn."""
    while SEATS[state.seat] is Seat.SOUTH and state.pending_plan is None:
        action = GAME.parse(bot.choose(GAME.view(state, Seat.SOUTH)).action)
        state = GAME.apply(state, {Seat.SOUTH: action}, Random(0)).state
    return state


def test_it_avoids_positions_it_has_often_seen() -> None:
    """A bot that has seen its usual next position fifty times plays another turn."""
    start = state_after(PLACING)
    usual = end_of_turn(KahmateBot(Seat.SOUTH, {}, level=3, seed=9), start)
    bot = KahmateBot(Seat.SOUTH, {}, level=3, seed=9)
    for _ in range(50):
        bot.see(GAME.view(usual, Seat.SOUTH), ())
    assert repetition_key(end_of_turn(bot, start)) != repetition_key(usual)


def test_it_kicks_only_to_empty_squares() -> None:
    """The game allows a kick to an opponent, and the bot leaves it out of its search."""
    state = make_state("R@d5 F@a3", "S@e7 T@b9", "d5")
    targets = {
        str(action).partition("!")[2]
        for action, _ in candidate_plays(state, may_non_carriers_face_off=True)
        if isinstance(action, Kick)
    }
    assert "d8" in targets
    assert "e7" not in targets
    assert "e7" in {str(kick).partition("!")[2] for kick in kicks(state)}
