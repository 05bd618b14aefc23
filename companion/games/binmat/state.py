"""The options, the position between two turns, how cards are dealt, and what each seat may know of
it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.base import Options, Outcome, plain_outcome
from companion.games.binmat.cards import CARDS, DECK, Cards, parse_card
from companion.games.binmat.combat import ATTACKER, DEFENDER, Edition

LANES = range(6)
LANE_CARDS = 13
OPEN_LANES = frozenset({3, 4, 5})
"""The defender's right three lanes, whose decks lie face up."""

HIDDEN = "X"


class BinmatOptions(Options, frozen=True):
    """How the game is played.

    `deck`: all cards, lane 0 from its top card down, then lane 1 …. `seconds` 0: casual.
    """

    way: Literal["full", "referee"] = "full"
    edition: Edition = Edition.RULEBOOK
    deck: tuple[str, ...] | None = None
    hands: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Cards that defender and attacker hold from the beginning. The others are dealt."""
    turns: Annotated[int, Meta(ge=2, le=998)] = 110
    seconds: Annotated[float, Meta(ge=0, le=600)] = 5.0
    timeout: Literal["pass", "alarm"] = "pass"
    defenders: Annotated[int, Meta(ge=1, le=16)] = 1
    attackers: Annotated[int, Meta(ge=1, le=16)] = 1


def check_options(options: BinmatOptions) -> None:
    """Raise `Malformed` for what the types cannot say: a deal that is no deck, hands that are
    none.
    """
    held = [parse_card(card) for hand in options.hands for card in hand]
    if len(set(held)) < len(held) or len(held) % len(LANES) or len(held) > len(DECK) // 2:
        raise Malformed(
            say("Option hands: different cards, six of them or twelve … of both sides together")
        )
    if options.deck is not None:
        for card in options.deck:
            parse_card(card)
        counted = Counter(options.deck)
        if twice := [card for card in DECK if counted[card] > 1]:
            text = say(
                "Option deck: {card} is there {times} times, expected each card once",
                card=twice[0],
                times=counted[twice[0]],
            )
            raise Malformed(text)
        if missing := CARDS - set(options.deck):
            text = say(
                "Option deck: {cards} cards, expected all 78: {card} is missing",
                cards=len(options.deck),
                card=min(missing),
            )
            raise Malformed(text)


@dataclass(frozen=True, slots=True)
class State:
    """A position of the full game between two turns.

    Decks are listed from the top. Stacks, hands and discard piles from the oldest card to the
    newest. Pairs are (South, North).
    """

    options: BinmatOptions
    decks: tuple[Cards, ...]
    are_open: tuple[bool, ...]
    """Which lane decks show their top card."""
    discards: tuple[Cards, ...]
    defence: tuple[Cards, ...]
    is_up: tuple[bool, ...]
    """Which defender stacks lie face up. Never an empty one."""
    attack: tuple[Cards, ...]
    attacker_deck: Cards
    attacker_discard: Cards
    hands: tuple[Cards, Cards]
    turns_left: int
    passes: tuple[int, int] = (0, 0)
    """How many passes in a row each seat has made."""
    attack_up: frozenset[str] = frozenset()
    """The cards of all attacker stacks that lie face up. Only the hackmud edition has such."""
    outcome: Outcome | None = None

    @property
    def seat(self) -> Seat:
        """Return who has the turn. The defender has the first one."""
        if (self.options.turns - self.turns_left) % 2:
            return ATTACKER
        return DEFENDER

    @property
    def is_hackmud(self) -> bool:
        """Return whether it is the hackmud edition."""
        return self.options.edition is Edition.HACKMUD


def deal(options: BinmatOptions, rng: Random) -> State:
    """Return six lane decks of thirteen, those of the defender's right three lanes face up.

    By the option or shuffled.

    What hands begin with is missing in them.
    """
    cards = list(options.deck or DECK)
    if options.deck is None:
        rng.shuffle(cards)
    held = {card for hand in options.hands for card in hand}
    cards = [card for card in cards if card not in held]
    size = len(cards) // len(LANES)
    none: tuple[Cards, ...] = ((),) * len(LANES)
    return State(
        options=options,
        decks=tuple(tuple(cards[size * lane : size * (lane + 1)]) for lane in LANES),
        are_open=tuple(lane in OPEN_LANES for lane in LANES),
        discards=none,
        defence=none,
        is_up=(False,) * len(LANES),
        attack=none,
        attacker_deck=(),
        attacker_discard=(),
        hands=options.hands,
        turns_left=options.turns,
    )


def can_draw(state: State, lane: int) -> bool:
    """Return whether the attacker may draw from this lane deck. In the hackmud edition he wins by
    it.
    """
    # a defender stack bars the attacker from the deck behind it
    if state.defence[lane]:
        return False
    return state.is_hackmud or bool(state.decks[lane] or state.discards[lane])


def known_deck(state: State, lane: int) -> tuple[str | None, ...]:
    """Return a lane deck from its top as everybody sees it: its top card where it lies face up, and
    backs (None)."""
    deck = state.decks[lane]
    if deck and state.are_open[lane]:
        return (deck[0],) + (None,) * (len(deck) - 1)
    return (None,) * len(deck)


def known_defence(state: State, lane: int, viewer: Seat | None) -> tuple[str | None, ...]:
    """Return a defender stack, bottom first, as a viewer sees it: face-down cards are known to
    their owner."""
    stack = state.defence[lane]
    if viewer is DEFENDER or state.is_up[lane]:
        return stack
    return (None,) * len(stack)


def known_attack(state: State, lane: int, viewer: Seat | None) -> tuple[str | None, ...]:
    """Return an attacker stack, bottom first, as a viewer sees it: its face-down cards are known to
    the attacker alone."""
    stack = state.attack[lane]
    if viewer is ATTACKER:
        return stack
    return tuple([card if card in state.attack_up else None for card in stack])


def known_hand(state: State, seat: Seat, viewer: Seat | None) -> tuple[str | None, ...]:
    """Return a hand in the order of drawing as a viewer sees it."""
    hand = state.hands[seat.number]
    return hand if viewer is seat else (None,) * len(hand)


def plain(state: State, viewer: Seat | None, *, is_dump: bool = False) -> dict[str, Any]:
    """Return what a viewer (None: everybody) knows, in plain JSON. Hidden cards are `X`, in a dump
    none is hidden.

    Lanes are listed from 0: `deck` and `attacker_deck` from the top, `defender` and `attacker`
    stacks from the bottom, hands from the oldest card. `attacker_open` says of each card of the
    attacker stack whether it lies face up.
    """

    def named(cards: Cards, known: tuple[str | None, ...]) -> list[str]:
        if is_dump:
            return list(cards)
        return [card or HIDDEN for card in known]

    hands = zip(SEATS, state.hands, strict=True)
    return {
        "edition": state.options.edition,
        "to_act": [] if state.outcome else [state.seat],
        "turns_left": state.turns_left,
        "lanes": [
            {
                "deck": named(state.decks[lane], known_deck(state, lane)),
                "deck_open": state.are_open[lane],
                "discard": list(state.discards[lane]),
                "defender": named(state.defence[lane], known_defence(state, lane, viewer)),
                "defender_open": state.is_up[lane],
                "attacker": named(state.attack[lane], known_attack(state, lane, viewer)),
                "attacker_open": [card in state.attack_up for card in state.attack[lane]],
            }
            for lane in LANES
        ],
        "attacker_deck": named(state.attacker_deck, (None,) * len(state.attacker_deck)),
        "attacker_discard": list(state.attacker_discard),
        "hands": {seat: named(hand, known_hand(state, seat, viewer)) for seat, hand in hands},
        "passes": dict(zip(SEATS, state.passes, strict=True)),
        "outcome": plain_outcome(state.outcome),
    }


def lead(state: State) -> float:
    """Return the share of the turns that have gone, less the share of the lane with the fewest
    cards left that has gone.

    The defender wins by the former, the attacker by the latter. Everybody can count both.
    """
    gone = 1 - state.turns_left / state.options.turns
    # discards come back when a deck is reshuffled, so they are counted too
    fewest = min(len(state.decks[lane]) + len(state.discards[lane]) for lane in LANES)
    return gone - max(0.0, 1 - fewest / LANE_CARDS)
