"""Options of BINMAT, and the state of the full game: the deal, the view of a seat, the lead.

Each of six lanes has a deck, a discard pile, and a stack of each side. South is the defender and
North the attacker, who also has a deck and a discard pile beside the lanes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.base import Options, Outcome, plain_outcome
from companion.games.binmat.cards import DECK, Cards, parse_card
from companion.games.binmat.events import ATTACKER, DEFENDER

LANES = range(6)
# Number of cards in each lane deck at the start, if no cards are dealt to hands.
CARDS_PER_LANE = 13
# The defender's three lanes on the right, whose decks lie face up (rulebook, "Game Setup").
OPEN_LANES = frozenset({3, 4, 5})

# Stands for a card of which a viewer sees only the back.
HIDDEN = "X"


class Edition(StrEnum):
    """The two sets of rules: for playing with cards, and as they are played in hackmud."""

    RULEBOOK = "rulebook"
    HACKMUD = "hackmud"


class BinmatOptions(Options, frozen=True):
    """Options of BINMAT, for the full game and for real cards."""

    way: Literal["full", "referee"] = "full"
    """Way to play: the full game on screens, or `referee` for people who hold real cards."""
    edition: Edition = Edition.RULEBOOK
    deck: tuple[str, ...] | None = None
    """All cards: lane 0 from its top card down, then lane 1 and so on. None for a shuffled deck."""
    hands: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Cards that defender and attacker hold at the start. The other cards are dealt."""
    turns: Annotated[int, Meta(ge=2, le=998)] = 110
    """Number of turns of both sides together."""
    seconds: Annotated[float, Meta(ge=0, le=600)] = 5.0
    """Time limit of a turn in seconds. 0 for a casual game without one."""
    timeout: Literal["pass", "alarm"] = "pass"
    """What happens when the time of a turn is up: the seat passes, or only an alarm sounds."""
    defenders: Annotated[int, Meta(ge=1, le=16)] = 1
    """Number of players on the defender's side."""
    attackers: Annotated[int, Meta(ge=1, le=16)] = 1

    @property
    def is_full_game(self) -> bool:
        """Whether the program deals and holds the cards."""
        return self.way == "full"

    @property
    def is_hackmud(self) -> bool:
        """Whether the hackmud edition is played."""
        return self.edition is Edition.HACKMUD

    def seat(self, turns_left: int) -> Seat:
        """Return the seat on turn. The defender has the first turn, then the sides alternate."""
        return ATTACKER if (self.turns - turns_left) % 2 else DEFENDER


def check_options(options: BinmatOptions) -> None:
    """Raise `Malformed` unless `deck` is complete and `hands` leave equal lane decks.

    Hands hold different cards, at most half of all. The types of the options cannot express this.
    """
    held_cards = [parse_card(card) for hand in options.hands for card in hand]
    has_duplicates = len(set(held_cards)) < len(held_cards)
    # At least half of the cards stay in the lane decks.
    if has_duplicates or len(held_cards) % len(LANES) or len(held_cards) > len(DECK) // 2:
        raise Malformed(
            say("Option hands: expected different cards, together a multiple of six and at most 36")
        )
    if options.deck is not None and sorted(options.deck) != sorted(DECK):
        raise Malformed(say("Option deck: expected each of the 78 cards once"))


@dataclass(frozen=True, slots=True)
class State:
    """A position of the full game between two turns.

    Decks are listed from the top card down. Stacks, hands and discard piles are listed from the
    oldest card to the newest. Pairs are (South, North), so the defender comes first.
    """

    options: BinmatOptions
    decks: tuple[Cards, ...]
    """Deck of each lane."""
    is_deck_open: tuple[bool, ...]
    """Whether the deck of each lane shows its top card."""
    discards: tuple[Cards, ...]
    """Discard pile of each lane."""
    defender_stacks: tuple[Cards, ...]
    """Stack of the defender in each lane."""
    is_defender_open: tuple[bool, ...]
    """Whether the defender stack of each lane lies face up. False for an empty one."""
    attacker_stacks: tuple[Cards, ...]
    """Stack of the attacker in each lane."""
    attacker_deck: Cards
    attacker_discard: Cards
    hands: tuple[Cards, Cards]
    turns_left: int
    """Number of turns of both sides together that are still to be played."""
    passes: tuple[int, int] = (0, 0)
    """Number of consecutive passes of each seat."""
    open_attacker_cards: frozenset[str] = frozenset()
    """Cards of all attacker stacks that lie face up. Always empty in the rulebook edition."""
    outcome: Outcome | None = None

    @property
    def seat(self) -> Seat:
        """The seat on turn."""
        return self.options.seat(self.turns_left)

    @property
    def is_hackmud(self) -> bool:
        """Whether the hackmud edition is played."""
        return self.options.is_hackmud


def deal(options: BinmatOptions, rng: Random) -> State:
    """Return the first state: six lane decks, of which 3, 4 and 5 lie face up ("Game Setup").

    The order of the cards comes from the option `deck` or from a shuffle. Cards of the first hands
    are left out, so that a lane deck has thirteen cards or fewer.
    """
    cards = list(options.deck or DECK)
    if options.deck is None:
        rng.shuffle(cards)
    held_cards = {card for hand in options.hands for card in hand}
    cards = [card for card in cards if card not in held_cards]
    size = len(cards) // len(LANES)
    empty_lanes: tuple[Cards, ...] = ((),) * len(LANES)
    return State(
        options=options,
        decks=tuple(tuple(cards[size * lane : size * (lane + 1)]) for lane in LANES),
        is_deck_open=tuple(lane in OPEN_LANES for lane in LANES),
        discards=empty_lanes,
        defender_stacks=empty_lanes,
        is_defender_open=(False,) * len(LANES),
        attacker_stacks=empty_lanes,
        attacker_deck=(),
        attacker_discard=(),
        hands=options.hands,
        turns_left=options.turns,
    )


def can_draw(state: State, lane: int) -> bool:
    """Return whether the attacker may draw from this lane deck (rulebook, "Drawing a Card").

    A defender stack blocks the deck behind it. In the hackmud edition the attacker may also draw
    from an empty deck, which wins the game (ruling).
    """
    if state.defender_stacks[lane]:
        return False
    return state.is_hackmud or bool(state.decks[lane] or state.discards[lane])


def mask_state(state: State, viewer: Seat | None) -> State:
    """Return a state as a viewer sees it (None: everybody), with `HIDDEN` for each back.

    A lane deck may show its top card. Only the owner of a stack sees its face-down cards.
    """

    def backs(cards: Cards) -> Cards:
        return (HIDDEN,) * len(cards)

    decks = [
        deck[:1] + backs(deck[1:]) if is_open else backs(deck)
        for deck, is_open in zip(state.decks, state.is_deck_open, strict=True)
    ]
    defender_stacks = state.defender_stacks
    if viewer is not DEFENDER:
        stacks = zip(defender_stacks, state.is_defender_open, strict=True)
        defender_stacks = tuple(stack if is_up else backs(stack) for stack, is_up in stacks)
    attacker_stacks = state.attacker_stacks
    if viewer is not ATTACKER:
        attacker_stacks = tuple(
            tuple(card if card in state.open_attacker_cards else HIDDEN for card in stack)
            for stack in attacker_stacks
        )
    south, north = (
        hand if seat is viewer else backs(hand)
        for seat, hand in zip(SEATS, state.hands, strict=True)
    )
    return replace(
        state,
        decks=tuple(decks),
        defender_stacks=defender_stacks,
        attacker_stacks=attacker_stacks,
        attacker_deck=backs(state.attacker_deck),
        hands=(south, north),
    )


def plain_state(state: State) -> dict[str, Any]:
    """Return a state, or a viewer's masked state, as plain JSON.

    Lanes are listed from 0. `deck` and `attacker_deck` go from the top, `defender` and `attacker`
    stacks from the bottom, hands from the oldest card. `attacker_open` says for each card of the
    attacker stack whether it lies face up.
    """
    return {
        "edition": state.options.edition,
        "to_act": [] if state.outcome else [state.seat],
        "turns_left": state.turns_left,
        "lanes": [
            {
                "deck": list(state.decks[lane]),
                "deck_open": state.is_deck_open[lane],
                "discard": list(state.discards[lane]),
                "defender": list(state.defender_stacks[lane]),
                "defender_open": state.is_defender_open[lane],
                "attacker": list(state.attacker_stacks[lane]),
                "attacker_open": [
                    card in state.open_attacker_cards for card in state.attacker_stacks[lane]
                ],
            }
            for lane in LANES
        ],
        "attacker_deck": list(state.attacker_deck),
        "attacker_discard": list(state.attacker_discard),
        "hands": {seat: list(hand) for seat, hand in zip(SEATS, state.hands, strict=True)},
        "passes": dict(zip(SEATS, state.passes, strict=True)),
        "outcome": plain_outcome(state.outcome),
    }


def defender_lead(state: State) -> float:
    """Return how far the defender is ahead, from -1 to 1. Negative if the attacker is ahead.

    This is the share of turns played, minus the share of cards gone from the smallest lane. The
    defender wins when all turns are played, the attacker when a lane runs out of cards. Everybody
    can count both.
    """
    turns_share = 1 - state.turns_left / state.options.turns
    # Discards are counted as well, because a reshuffle brings them back.
    fewest_cards = min(len(state.decks[lane]) + len(state.discards[lane]) for lane in LANES)
    # Discards from other lanes can make a lane larger than at the start.
    lost_share = max(0.0, 1 - fewest_cards / CARDS_PER_LANE)
    return turns_share - lost_share
