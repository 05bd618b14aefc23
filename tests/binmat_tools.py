"""Helpers: states of BINMAT made by hand, actions carried out in them, and refusals."""

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
    """Return the state with other cards in one lane or in hands, such as `attack="5& 3%"`.

    Cards are listed from the oldest, those of decks from the top. `south` and `north` are hands.
    `deck`, `discard`, `defence`, `attack`, `defence_open` and `decks_open` belong to the lane.
    """
    changes: dict[str, Any] = {}
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
    """Return the same state with the attacker to move."""
    return replace(state, turns_left=state.turns_left - 1) if state.seat is DEFENDER else state


def carry_out(state: State, *actions: str) -> Step[State]:
    """Carry out legal actions one after the other, and return the last step."""
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
    """Require that the rules refuse an action, and return the reason and the sentence."""
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


def ways_to_play(state: State, card: str) -> str:
    """Return the ways to play a card of the hand.

    For example, `p0 u3` is face down in lane 0 and face up in lane 3.
    """
    legal = GAME.legal_actions(state, state.seat)
    return " ".join(text[0] + text[3] for text in legal if text[1:3] == card)
