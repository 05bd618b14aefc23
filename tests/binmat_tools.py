"""Helpers: states of BINMAT made by hand, actions carried out in them, and refusals.

A card is a value and a suit, such as `5&`. An action is a letter for its kind, the card if there is
one, and the lane: `d3` draws from lane 3, and `p5&3` plays the 5& face down to lane 3. A `u` plays
it face up, `c3` calls for a combat in lane 3, and `--` passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from companion.core.errors import Illegal
from companion.games.base import Step
from companion.games.binmat import Binmat
from companion.games.binmat.actions import Reason
from companion.games.binmat.cards import DECK, Cards, parse_cards
from companion.games.binmat.events import DEFENDER
from companion.games.binmat.state import State
from companion.games.binmat.words import RULES

GAME = Binmat()
RULE_IDS = {rule.id for rule in RULES}


def start(**options: Any) -> State:
    """Return the first state of a game. Without the option `deck`, the deck is not shuffled."""
    options.setdefault("deck", list(DECK))
    state: State = GAME.setup(GAME.options(options), Random(0))
    return state


def with_cards(state: State, lane: int = 0, **piles: str | bool) -> State:
    """Return the state with other cards in one lane, in hands or in the attacker's piles.

    An example is `attack="5& 3%"`. Cards are listed from the oldest, those of decks from the top.

    - `deck`, `discard`, `defence`, `attack`, `defence_open` and `decks_open` belong to the lane.
    - `south` and `north` are hands.
    - `attacker_deck` and `attacker_discard` belong to no lane.
    """
    changes: dict[str, Any] = {}
    # fields of the state that have one item for each lane
    field_names = {
        "deck": "decks",
        "discard": "discards",
        "defence": "defender_stacks",
        "attack": "attacker_stacks",
        "defence_open": "is_defender_open",
        "decks_open": "is_deck_open",
    }
    for name, pile in piles.items():
        cards = pile if isinstance(pile, bool) else parse_cards(pile)
        if name in ("south", "north"):
            hands = changes.get("hands", state.hands)
            changes["hands"] = (cards, hands[1]) if name == "south" else (hands[0], cards)
        elif name in ("attacker_deck", "attacker_discard"):
            changes[name] = cards
        else:
            lanes = list(getattr(state, field_names.get(name, name)))
            lanes[lane] = cards
            changes[field_names.get(name, name)] = tuple(lanes)
    return replace(state, **changes)


def attacker_to_move(state: State) -> State:
    """Return the same state with the attacker to move, one turn later if need be."""
    return replace(state, turns_left=state.turns_left - 1) if state.seat is DEFENDER else state


def carry_out(state: State, *actions: str) -> Step[State]:
    """Carry out legal actions one after the other, and return the last step.

    Each rule that an event names must be one of the rules page.
    """
    rng = Random(7)
    for action in actions:
        seat = state.seat
        assert action in GAME.legal_actions(state, seat), action
        GAME.require(state, {seat: action})
        step: Step[State] = GAME.apply(state, {seat: action}, rng)
        assert {event.rule for event in step.events} - {None} <= RULE_IDS
        state = step.state
    return step


def reason_against(state: State, action: str) -> tuple[Reason, str]:
    """Require that the rules refuse an action. Return the refusal's reason and sentence."""
    assert action not in GAME.legal_actions(state, state.seat)
    with pytest.raises(Illegal) as refusal:
        GAME.check(state, state.seat, GAME.parse(action))
    assert refusal.value.rule in RULE_IDS
    assert isinstance(refusal.value.reason, Reason)
    return refusal.value.reason, refusal.value.message


def all_cards(state: State) -> list[str]:
    """Return all cards of a state, sorted."""
    piles: Iterable[Cards] = (
        *state.decks,
        *state.discards,
        *state.defender_stacks,
        *state.attacker_stacks,
        *state.hands,
        state.attacker_deck,
        state.attacker_discard,
    )
    return sorted(card for pile in piles for card in pile)
