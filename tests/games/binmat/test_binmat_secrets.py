"""What nobody may learn, what may be taken back, and what is true of every position of random
games.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest
from binmat_tools import GAME, all_cards, attacker_to_move, carry_out, start, with_cards
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.core.errors import Illegal
from companion.core.i18n import sentence_to_json, side_names, translate
from companion.core.kit import SEATS, Seat
from companion.games.binmat.actions import ACTION_PARTS
from companion.games.binmat.cards import DECK, Cards
from companion.games.binmat.events import ATTACKER, DEFENDER
from companion.games.binmat.state import LANES, State

EDITIONS = st.sampled_from(("rulebook", "hackmud"))
SEEDS = st.integers(0, 2**32)


def random_game(edition: str, seed: int, turns: int = 110) -> Iterator[tuple[State, str]]:
    """Yield the positions of a random game with the action taken in each, and None at the end."""
    rng = Random(seed)
    state: State = GAME.setup(GAME.options({"edition": edition, "turns": turns}), rng)
    while due := GAME.to_act(state):
        legal = list(GAME.legal_actions(state, *due))
        bold = [action for action in legal if action[0] in "puc"]
        action = rng.choice(bold if bold and rng.random() < 0.5 else legal)
        yield state, action
        state = GAME.apply(state, dict.fromkeys(due, action), rng).state
    yield state, ""


def some_position(edition: str, seed: int) -> State:
    """Return a position somewhere in a random game."""
    path = list(random_game(edition, seed))
    return path[Random(seed).randrange(len(path))][0]


def rehidden(state: State, viewer: Seat | None, rng: Random, keep_stacks: bool = False) -> State:
    """Return another state that looks the same to the viewer: cards that he cannot see change
    places.
    """
    hidden: list[str] = []
    tops = [
        deck[:1] if shown else ()
        for deck, shown in zip(state.decks, state.is_deck_open, strict=True)
    ]

    def gather(pile: Cards, is_known: bool) -> bool:
        if not is_known:
            hidden.extend(pile)
        return is_known

    for deck, top in zip(state.decks, tops, strict=True):
        gather(deck[len(top) :], False)
    gather(state.attacker_deck, False)
    sees_south, sees_north = (
        gather(hand, viewer is seat) for hand, seat in zip(state.hands, SEATS, strict=True)
    )
    sees_defence = [keep_stacks or viewer is DEFENDER or is_up for is_up in state.is_defender_open]
    sees_attack = keep_stacks or viewer is ATTACKER
    for lane in LANES:
        gather(state.defender_stacks[lane], sees_defence[lane])
        for card in state.attacker_stacks[lane]:
            gather((card,), sees_attack or card in state.open_attacker_cards)
    rng.shuffle(hidden)

    def dealt(pile: Cards, is_known: bool) -> Cards:
        return pile if is_known else tuple(hidden.pop() for _ in pile)

    return replace(
        state,
        decks=tuple(
            (*top, *dealt(deck[len(top) :], False))
            for deck, top in zip(state.decks, tops, strict=True)
        ),
        attacker_deck=dealt(state.attacker_deck, False),
        hands=(dealt(state.hands[0], sees_south), dealt(state.hands[1], sees_north)),
        defender_stacks=tuple(
            dealt(pile, known)
            for pile, known in zip(state.defender_stacks, sees_defence, strict=True)
        ),
        attacker_stacks=tuple(
            tuple(
                card
                for each in pile
                for card in dealt((each,), sees_attack or each in state.open_attacker_cards)
            )
            for pile in state.attacker_stacks
        ),
    )


def refusal(state: State, seat: Seat, action: str) -> tuple[Any, ...] | None:
    try:
        GAME.check(state, seat, action)
    except Illegal as error:
        return error.reason, error.message, error.rule
    return None


# ---- what nobody may learn -----------------------------------------------------------------------


@settings(max_examples=60)
@given(EDITIONS, SEEDS, st.sampled_from((None, *SEATS)))
def test_hidden_cards_change_nothing_that_others_see(
    edition: str, seed: int, viewer: Seat | None
) -> None:
    state = some_position(edition, seed)
    other = rehidden(state, viewer, Random(seed))
    assert all_cards(other) == sorted(DECK)
    assert GAME.view(state, viewer) == GAME.view(other, viewer)
    assert GAME.card_ui(state, viewer) == GAME.card_ui(other, viewer)
    assert GAME.to_act(state) == GAME.to_act(other)
    if viewer:
        assert GAME.legal_actions(state, viewer) == GAME.legal_actions(other, viewer)
        for action in Random(seed).sample(list(ACTION_PARTS), 200):
            assert refusal(state, viewer, action) == refusal(other, viewer, action)


@settings(max_examples=60)
@given(EDITIONS, SEEDS)
def test_events_tell_nobody_what_stays_hidden(edition: str, seed: int) -> None:
    """Draws, passes and face-down plays of the seat on turn, told to the others; combats tell no
    hands and decks.
    """
    state = some_position(edition, seed)
    if state.outcome:
        return
    legal = list(GAME.legal_actions(state, state.seat))
    for viewer in (None, state.seat.other):
        other = rehidden(state, viewer, Random(seed))
        pairs = [(action, action) for action in legal if action[0] == "d"]
        place = SEATS.index(state.seat)
        hands = zip(state.hands[place], other.hands[place], strict=True)
        pairs += [(f"p{mine}4", f"p{theirs}4") for mine, theirs in hands]
        for one, same in pairs:
            if refusal(state, state.seat, one) is None and refusal(other, state.seat, same) is None:
                assert bytes_of_step(state, one) == bytes_of_step(other, same)
    other = rehidden(state, None, Random(seed), keep_stacks=True)
    for action in legal:
        if action[0] == "c":
            assert bytes_of_step(state, action) == bytes_of_step(other, action)


def bytes_of_step(state: State, action: str) -> bytes:
    """Return everything that a step says, and the parts of its sentences."""
    step = GAME.apply(state, {state.seat: action}, Random(1))
    return msgspec.json.encode([step.events, step.stages], enc_hook=sentence_to_json)


def test_a_view_shows_own_and_open_cards() -> None:
    state = with_cards(start(), 2, attack="5& @^", defence="4^ 9^", south="8&", north="3& 4&")
    stacks = {None: ("X X", "X X"), DEFENDER: ("4^ 9^", "X X"), ATTACKER: ("X X", "5& @^")}
    hands = {None: ("X", "X X"), DEFENDER: ("8&", "X X"), ATTACKER: ("X", "3& 4&")}
    for viewer, stack in stacks.items():
        view = GAME.view(state, viewer)
        lane = view["lanes"][2]
        assert (" ".join(lane["defender"]), " ".join(lane["attacker"])) == stack
        assert tuple(" ".join(view["hands"][seat]) for seat in SEATS) == hands[viewer]
    assert GAME.view(with_cards(state, 2, defence_open=True), None)["lanes"][2]["defender"] == [
        "4^",
        "9^",
    ]


# ---- what may be taken back ----------------------------------------------------------------------


def reversible(state: State, action: str) -> bool:
    assert action in GAME.legal_actions(state, state.seat)
    return GAME.is_reversible(state, state.seat, action)


OPEN = with_cards(start(), 2, attack="5&", defence="4^", south="8& >+")
BOUNCE = attacker_to_move(with_cards(start(), 2, north="?&"))


@pytest.mark.parametrize(
    ("state", "actions", "may"),
    [
        (OPEN, "-- p8&2", True),
        (OPEN, "d0 d5 c2 u>+2", False),
        (with_cards(OPEN, 2, defence_open=True), "u8&2", True),
        (BOUNCE, "u?&2", True),
        (with_cards(BOUNCE, 2, defence="4^", defence_open=True), "u?&2", True),
        (with_cards(BOUNCE, 2, defence="4^"), "u?&2", False),
        (attacker_to_move(with_cards(start(edition="hackmud"), 2, north="?&")), "u?&2", False),
    ],
)
def test_only_actions_that_revealed_nothing_are_reversible(
    state: State, actions: str, may: bool
) -> None:
    for action in actions.split():
        assert reversible(state, action) is may, action


def test_ends_and_lost_hands_are_not_reversible() -> None:
    last = attacker_to_move(start(turns=2))
    assert not reversible(last, "--")
    assert not reversible(with_cards(last, north="5&"), "p5&0")
    second = carry_out(with_cards(start(edition="hackmud"), south="8&"), "--", "d0").state
    assert not reversible(second, "--")
    assert reversible(with_cards(second, south=""), "--"), "an empty hand costs nothing"
    assert not reversible(second, "x8&0")


# ---- what is true of every position --------------------------------------------------------------


@settings(max_examples=20)
@given(EDITIONS, SEEDS)
def test_the_log_calls_players_by_their_names(edition: str, seed: int) -> None:
    """Piles keep their names."""
    with side_names({"attacker": "Ann", "defender": "Ben"}):
        for state, action in random_game(edition, seed):
            for event in (
                GAME.apply(state, {state.seat: action}, Random(0)).events if action else ()
            ):
                told = f"{translate(event.text)} {translate(event.why or '')}"
                assert not re.search(r"attacker(?! d)|defender", told, re.IGNORECASE), told


@settings(max_examples=40)
@given(EDITIONS, SEEDS)
def test_exactly_the_legal_actions_pass_the_check(edition: str, seed: int) -> None:
    state = some_position(edition, seed)
    if state.outcome:
        return
    legal = list(GAME.legal_actions(state, state.seat))
    assert len(legal) == len(set(legal))
    assert set(legal) == {
        action for action in ACTION_PARTS if refusal(state, state.seat, action) is None
    }
