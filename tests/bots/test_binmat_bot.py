"""The opponent for BINMAT: its lean rules beside the game's, sure wins, and nothing from hidden
cards.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from bot_tools import bot_of, random_states

from companion.bots.base import LEVELS
from companion.bots.binmat import choose_attacker_move, choose_defender_move
from companion.bots.binmat_rules import (
    ATTACKER_SEAT,
    DEFENDER_SEAT,
    PlayoutState,
    random_deals,
    state_of,
)
from companion.core.kit import SEATS, Seat
from companion.games.binmat import Binmat
from companion.games.binmat.actions import ACTION_PARTS, legal_actions
from companion.games.binmat.state import State, deal

GAME = Binmat()
EDITIONS = ("rulebook", "hackmud")


def content(playout: PlayoutState) -> tuple[object, ...]:
    """Return all that two tables must have alike. Piles are compared as sets."""
    piles = [sorted(cards) for cards in (*playout.discards, playout.attacker_discard)]
    lanes = (
        playout.decks,
        playout.defender_stacks,
        playout.is_defender_open,
        playout.attacker_stacks,
    )
    return (*lanes, playout.attacker_deck, piles, playout.hands, playout.turns_left)


@pytest.mark.parametrize("edition", EDITIONS)
def test_playouts_follow_the_rules_of_the_game(edition: str) -> None:
    """Of the actions that both sides choose in playouts."""
    options = GAME.options({"edition": edition})
    for number in range(60):
        rng, state = Random(number), deal(options, Random(number))
        while state.outcome is None:
            playout = PlayoutState(state)
            move = choose_attacker_move if playout.seat == ATTACKER_SEAT else choose_defender_move
            action = move(playout, rng)
            letter, card, lane = action
            faces = {
                "p": "u"
                if playout.seat == DEFENDER_SEAT and playout.is_defender_open[lane]
                else "p"
            }
            wanted = (faces.get(letter, letter), card, lane)
            text = next(
                text for text in legal_actions(state, state.seat) if ACTION_PARTS[text] == wanted
            )
            playout.play(action, Random(f"{number}/{state.turns_left}"))
            chance = Random(f"{number}/{state.turns_left}")
            passes = state.passes
            state = GAME.apply(state, {state.seat: text}, chance).state
            if state.outcome is None:
                # a hand that is lost by passing twice is left out
                assert content(playout) == content(PlayoutState(state)) or (
                    letter == "-" and any(passes)
                )
                assert playout.winner is None
            else:
                assert SEATS[playout.winner or 0] in state.outcome.winners


def short_lanes(state: State, left: int) -> State:
    """Return the state with so many cards left in every lane."""
    gone = [
        card
        for deck, pile in zip(state.decks, state.discards, strict=True)
        for card in (*deck[left:], *pile)
    ]
    decks = tuple(deck[:left] for deck in state.decks)
    return replace(
        state, decks=decks, discards=((),) * 6, attacker_discard=(*state.attacker_discard, *gone)
    )


def wins_at_once(state: State, text: str) -> bool:
    """Return whether this wins however the hidden cards lie."""
    seat = state.seat
    for number in range(8):
        step = GAME.apply(redealt(state, Random(number)), {seat: text}, Random(number))
        if step.state.outcome is None or seat not in step.state.outcome.winners:
            return False
    return True


@pytest.mark.parametrize("level", LEVELS)
def test_it_takes_every_win_in_one(level: int) -> None:
    """By a card too many, or by a draw from an empty lane."""
    wins = []
    for number, state in enumerate(random_states("binmat", 60, 60, edition="hackmud")):
        short = replace(short_lanes(state, number % 3), turns_left=41)
        if any(wins_at_once(short, text) for text in legal_actions(short, Seat.NORTH)):
            wins.append(short)
    for number, state in enumerate(wins[:10]):
        bot = bot_of("binmat", Seat.NORTH, level, number, edition="hackmud")
        choice = bot.choose(GAME.view(state, Seat.NORTH))
        assert wins_at_once(state, choice.action), choice
    assert len(wins) >= 10


@pytest.mark.parametrize("edition", EDITIONS)
def test_hidden_cards_do_not_change_what_it_does(edition: str) -> None:
    """The other hand, face-down stacks and the decks below their tops are dealt anew: the same
    view, the same action.
    """
    for number, state in enumerate(random_states("binmat", 40, 90, edition=edition)):
        seat = state.seat
        other = redealt(state, Random(number))
        view = GAME.view(state, seat)
        assert view == GAME.view(other, seat)
        first, second = (
            bot_of("binmat", seat, 2, number).choose(GAME.view(each, seat))
            for each in (state, other)
        )
        assert first == second


def redealt(state: State, rng: Random) -> State:
    """Return another state that has the same view for the seat on turn."""
    view = state_of(GAME.view(state, state.seat))
    return next(random_deals(view, SEATS.index(state.seat), set(), rng))


def test_drawn_open_cards_are_known_in_the_hand() -> None:
    state = deal(GAME.options({}), Random(4))
    bot = bot_of("binmat", Seat.NORTH, 2)
    bot.see(GAME.view(state, Seat.NORTH), [])
    top = state.decks[4][0]
    state = GAME.apply(state, {Seat.SOUTH: "d4"}, Random(0)).state
    bot.see(GAME.view(state, Seat.NORTH), [])
    assert bot._cards_of_other == {top}
