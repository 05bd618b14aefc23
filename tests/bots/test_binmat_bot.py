"""Tests of the bot for BINMAT, in this process.

Its playouts follow the rules of the game, it takes sure wins, and hidden cards change nothing.
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
    """Return what has to be the same in equal positions.

    Discards are sorted, because their order does not matter.
    """
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
    """Each action that a playout chooses is carried out by the playout and by the game.

    An action has a letter in notation: `p` plays a card face down, `u` plays one face up, and `-`
    passes.
    """
    options = GAME.options({"edition": edition})
    for number in range(60):
        rng, state = Random(number), deal(options, Random(number))
        while state.outcome is None:
            playout = PlayoutState(state)
            choose_move = choose_defender_move
            if playout.seat == ATTACKER_SEAT:
                choose_move = choose_attacker_move
            action = choose_move(playout, rng)
            letter, card, lane = action
            # playouts call every play of the defender `p`, and the game calls one on an open stack
            # `u`
            if letter == "p" and playout.seat == DEFENDER_SEAT and playout.is_defender_open[lane]:
                letter = "u"
            text = next(
                text
                for text in legal_actions(state, state.seat)
                if ACTION_PARTS[text] == (letter, card, lane)
            )
            chance = f"{number}/{state.turns_left}"
            playout.play(action, Random(chance))
            # in the hackmud edition, whoever passes twice loses the hand, which playouts do not
            # know
            may_differ = letter == "-" and any(state.passes)
            state = GAME.apply(state, {state.seat: text}, Random(chance)).state
            if state.outcome is None:
                assert may_differ or content(playout) == content(PlayoutState(state))
                assert playout.winner is None
            elif playout.winner is None:
                assert may_differ
            else:
                assert state.outcome.winners == {SEATS[playout.winner]}


def with_short_decks(state: State, size: int) -> State:
    """Return the state with at most `size` cards in every lane deck, and no lane discards.

    The other cards go to the attacker discard.
    """
    removed = [
        card
        for deck, pile in zip(state.decks, state.discards, strict=True)
        for card in (*deck[size:], *pile)
    ]
    decks = tuple(deck[:size] for deck in state.decks)
    return replace(
        state,
        decks=decks,
        discards=((),) * 6,
        attacker_discard=(*state.attacker_discard, *removed),
    )


def wins_at_once(state: State, text: str) -> bool:
    """Return whether an action wins in each of eight deals of the hidden cards."""
    seat = state.seat
    for number in range(8):
        step = GAME.apply(redealt(state, Random(number)), {seat: text}, Random(number))
        if step.state.outcome is None or seat not in step.state.outcome.winners:
            return False
    return True


@pytest.mark.parametrize("level", LEVELS)
def test_it_takes_every_sure_win_in_one_turn(level: int) -> None:
    """The attacker wins by more damage than a lane has cards, or by a draw from an empty lane.

    At least ten of the 60 states have such a win. The first ten are tried.
    """
    states_with_win = []
    states = random_states("binmat", count=60, max_decisions=60, edition="hackmud")
    for number, state in enumerate(states):
        # with an odd number of turns left, the attacker has to act
        short = replace(with_short_decks(state, size=number % 3), turns_left=41)
        if any(wins_at_once(short, text) for text in legal_actions(short, Seat.NORTH)):
            states_with_win.append(short)
    for number, state in enumerate(states_with_win[:10]):
        bot = bot_of("binmat", Seat.NORTH, level, seed=number, edition="hackmud")
        choice = bot.choose(GAME.view(state, Seat.NORTH))
        assert wins_at_once(state, choice.action), choice
    assert len(states_with_win) >= 10


@pytest.mark.parametrize("edition", EDITIONS)
def test_hidden_cards_do_not_change_its_choice(edition: str) -> None:
    """If all hidden cards are dealt anew, the view stays the same, and so must the choice.

    Hidden are the other side's hand, face-down stacks, and the decks below their top cards.
    """
    states = random_states("binmat", count=40, max_decisions=90, edition=edition)
    for number, state in enumerate(states):
        seat = state.seat
        other = redealt(state, Random(number))
        view = GAME.view(state, seat)
        assert view == GAME.view(other, seat)
        first, second = (
            bot_of("binmat", seat, level=2, seed=number).choose(GAME.view(position, seat))
            for position in (state, other)
        )
        assert first == second


def redealt(state: State, rng: Random) -> State:
    """Return another state that has the same view for the seat on turn."""
    view = state_of(GAME.view(state, state.seat))
    return next(random_deals(view, SEATS.index(state.seat), set(), rng))


def test_it_remembers_open_cards_that_were_drawn() -> None:
    """South draws the open top card of lane 4, so North knows that South has it."""
    state = deal(GAME.options({}), Random(4))
    bot = bot_of("binmat", Seat.NORTH, level=2)
    bot.see(GAME.view(state, Seat.NORTH), [])
    top = state.decks[4][0]
    state = GAME.apply(state, {Seat.SOUTH: "d4"}, Random(0)).state
    bot.see(GAME.view(state, Seat.NORTH), [])
    assert bot._cards_of_other == {top}
