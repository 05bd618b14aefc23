"""Tests of BINMAT's secrets and of taking back, on states of the game without a table.

Random games give the positions. To see whether a hidden card shows anywhere, each position is
compared with another one in which only the hidden cards have changed places.
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
    """Yield the positions of a random game, each with the action taken in it.

    The action of the last position is an empty text. Plays of cards and combats are preferred, so
    that the turns do not go by with draws and passes.
    """
    rng = Random(seed)
    state: State = GAME.setup(GAME.options({"edition": edition, "turns": turns}), rng)
    while due := GAME.to_act(state):
        legal = list(GAME.legal_actions(state, *due))
        plays_and_combats = [action for action in legal if action[0] in "puc"]
        prefers_these = plays_and_combats and rng.random() < 0.5
        action = rng.choice(plays_and_combats if prefers_these else legal)
        yield state, action
        state = GAME.apply(state, dict.fromkeys(due, action), rng).state
    yield state, ""


def some_position(edition: str, seed: int) -> State:
    """Return one position of a random game, chosen by the seed."""
    positions = list(random_game(edition, seed))
    return Random(seed).choice(positions)[0]


def with_hidden_cards_shuffled(
    state: State, viewer: Seat | None, rng: Random, keep_stacks: bool = False
) -> State:
    """Return another state that looks the same to the viewer: the cards that the viewer cannot see
    have changed places. With `keep_stacks`, all stacks stay as they are.
    """
    hidden = list(state.attacker_deck)
    for deck, is_open in zip(state.decks, state.is_deck_open, strict=True):
        hidden += deck[1:] if is_open else deck  # the top card of an open deck is seen
    for seat, hand in zip(SEATS, state.hands, strict=True):
        if viewer is not seat:
            hidden += hand
    for lane in LANES:
        if not (keep_stacks or viewer is DEFENDER or state.is_defender_open[lane]):
            hidden += state.defender_stacks[lane]
        if not (keep_stacks or viewer is ATTACKER):
            stack = state.attacker_stacks[lane]
            hidden += [card for card in stack if card not in state.open_attacker_cards]
    # Every card exists once, so one table of replacements serves all piles.
    replacements = dict(zip(hidden, rng.sample(hidden, len(hidden)), strict=True))

    def exchange(piles: tuple[Cards, ...]) -> tuple[Cards, ...]:
        return tuple(tuple(replacements.get(card, card) for card in pile) for pile in piles)

    return replace(
        state,
        decks=exchange(state.decks),
        attacker_deck=exchange((state.attacker_deck,))[0],
        hands=exchange(state.hands),
        defender_stacks=exchange(state.defender_stacks),
        attacker_stacks=exchange(state.attacker_stacks),
    )


def refusal(state: State, seat: Seat, action: str) -> tuple[Any, ...] | None:
    """Return reason, sentence and rule of the refusal of an action. None: it is legal."""
    try:
        GAME.check(state, seat, action)
    except Illegal as error:
        return error.reason, error.message, error.rule
    return None


def bytes_of_step(state: State, action: str) -> bytes:
    """Carry out an action of the seat on turn. Return its events and stages as JSON, in which each
    sentence stands with its parts.
    """
    step = GAME.apply(state, {state.seat: action}, Random(1))
    return msgspec.json.encode([step.events, step.stages], enc_hook=sentence_to_json)


# ---- what stays hidden ---------------------------------------------------------------------------


@settings(max_examples=60)
@given(EDITIONS, SEEDS, st.sampled_from((None, *SEATS)))
def test_hidden_cards_change_nothing_that_others_see(
    edition: str, seed: int, viewer: Seat | None
) -> None:
    state = some_position(edition, seed)
    other = with_hidden_cards_shuffled(state, viewer, Random(seed))
    assert all_cards(other) == sorted(DECK)
    # Everything that this viewer sees is the same in both states.
    assert GAME.view(state, viewer) == GAME.view(other, viewer)
    assert GAME.card_ui(state, viewer) == GAME.card_ui(other, viewer)
    assert GAME.to_act(state) == GAME.to_act(other)
    # A player also learns nothing from what is legal, and from the refusal of any action.
    if viewer:
        assert GAME.legal_actions(state, viewer) == GAME.legal_actions(other, viewer)
        for action in Random(seed).sample(list(ACTION_PARTS), 200):
            assert refusal(state, viewer, action) == refusal(other, viewer, action)


@settings(max_examples=60)
@given(EDITIONS, SEEDS)
def test_events_tell_nobody_what_stays_hidden(edition: str, seed: int) -> None:
    """Draws and face-down plays say the same to everybody else, whatever the hidden cards are.
    Combats say the same whatever lies in hands and decks.
    """
    state = some_position(edition, seed)
    if state.outcome:
        return
    seat = state.seat
    legal = list(GAME.legal_actions(state, seat))
    for viewer in (None, seat.other):
        other = with_hidden_cards_shuffled(state, viewer, Random(seed))
        # Pairs of actions that look the same to this viewer in both states: the same draw, and a
        # face-down play of the card at the same place of the hand in lane 4.
        pairs = [(action, action) for action in legal if action[0] == "d"]
        seat_index = SEATS.index(seat)
        hands = zip(state.hands[seat_index], other.hands[seat_index], strict=True)
        pairs += [(f"p{card}4", f"p{other_card}4") for card, other_card in hands]
        for action, other_action in pairs:
            reasons_against = refusal(state, seat, action), refusal(other, seat, other_action)
            if reasons_against == (None, None):
                assert bytes_of_step(state, action) == bytes_of_step(other, other_action)
    # A combat opens the stacks, so both states must have the same stacks.
    other = with_hidden_cards_shuffled(state, None, Random(seed), keep_stacks=True)
    for action in legal:
        if action[0] == "c":
            assert bytes_of_step(state, action) == bytes_of_step(other, action)


def test_a_view_shows_own_and_open_cards() -> None:
    state = with_cards(start(), 2, attack="5& @^", defence="4^ 9^", south="8&", north="3& 4&")
    # What each viewer sees: the stacks of lane 2 (defender, attacker), and the hands (South,
    # North). `X` is a card of which the viewer sees only the back.
    stacks = {None: ("X X", "X X"), DEFENDER: ("4^ 9^", "X X"), ATTACKER: ("X X", "5& @^")}
    hands = {None: ("X", "X X"), DEFENDER: ("8&", "X X"), ATTACKER: ("X", "3& 4&")}
    for viewer, lane_stacks in stacks.items():
        view = GAME.view(state, viewer)
        lane = view["lanes"][2]
        assert (" ".join(lane["defender"]), " ".join(lane["attacker"])) == lane_stacks
        assert tuple(" ".join(view["hands"][seat]) for seat in SEATS) == hands[viewer]
    # If the defender stack lies face up, everybody sees its cards.
    view = GAME.view(with_cards(state, 2, defence_open=True), None)
    assert view["lanes"][2]["defender"] == ["4^", "9^"]


# ---- what may be taken back ----------------------------------------------------------------------


def is_reversible(state: State, action: str) -> bool:
    """Return whether the seat on turn may take back a legal action."""
    assert action in GAME.legal_actions(state, state.seat)
    return GAME.is_reversible(state, state.seat, action)


# In lane 2 lies a face-down card of each side. The defender is to act.
FACE_DOWN_LANE = with_cards(start(), 2, attack="5&", defence="4^", south="8& >+")
# The attacker is to act and holds a BOUNCE. Lane 2 is empty.
ATTACKER_WITH_BOUNCE = attacker_to_move(with_cards(start(), 2, north="?&"))


@pytest.mark.parametrize(
    ("state", "actions", "expected"),
    [
        (FACE_DOWN_LANE, "-- p8&2", True),
        # Draws, a combat, and a BREAK face up that opens the stack.
        (FACE_DOWN_LANE, "d0 d5 c2 u>+2", False),
        (with_cards(FACE_DOWN_LANE, 2, defence_open=True), "u8&2", True),
        # A BOUNCE reveals the defender's stack, unless that is empty or lies open.
        (ATTACKER_WITH_BOUNCE, "u?&2", True),
        (with_cards(ATTACKER_WITH_BOUNCE, 2, defence="4^", defence_open=True), "u?&2", True),
        (with_cards(ATTACKER_WITH_BOUNCE, 2, defence="4^"), "u?&2", False),
        # In the hackmud edition a BOUNCE face up always starts a combat.
        (attacker_to_move(with_cards(start(edition="hackmud"), 2, north="?&")), "u?&2", False),
    ],
)
def test_only_actions_that_revealed_nothing_are_reversible(
    state: State, actions: str, expected: bool
) -> None:
    for action in actions.split():
        assert is_reversible(state, action) is expected, action


def test_last_turns_and_lost_hands_are_not_reversible() -> None:
    last_turn = attacker_to_move(start(turns=2))
    assert not is_reversible(last_turn, "--")
    assert not is_reversible(with_cards(last_turn, north="5&"), "p5&0")
    # In the hackmud edition a second pass in a row costs the hand, which is then revealed.
    after_a_pass = carry_out(with_cards(start(edition="hackmud"), south="8&"), "--", "d0").state
    assert not is_reversible(after_a_pass, "--")
    assert is_reversible(with_cards(after_a_pass, south=""), "--")
    assert not is_reversible(after_a_pass, "x8&0")


# ---- what is true of every position --------------------------------------------------------------


@settings(max_examples=20)
@given(EDITIONS, SEEDS)
def test_events_call_players_by_their_names(edition: str, seed: int) -> None:
    """A role is named only in the names of piles: attacker deck and attacker discard."""
    with side_names({"attacker": "Ann", "defender": "Ben"}):
        for state, action in random_game(edition, seed):
            if not action:
                break  # the game is over
            for event in GAME.apply(state, {state.seat: action}, Random(0)).events:
                text = f"{translate(event.text)} {translate(event.why or '')}"
                assert not re.search(r"attacker(?! d)|defender", text, re.IGNORECASE), text


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
