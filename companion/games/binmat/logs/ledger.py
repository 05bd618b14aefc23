"""What a reader of a log knows of the cards: how many lie where, and which of them for sure.

A place is named as in the log: `d0` … `d5` and `a0` … `a5` the stacks, `x0` … `x5` and `xa` the discard piles, `h` and
a player a hand; `l0` … `l5` and `la` stand for the decks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from companion.core.kit import Seat
from companion.games.binmat.cards import CARDS, Cards
from companion.games.binmat.combat import ATTACKER
from companion.games.binmat.state import HIDDEN, LANE_CARDS, LANES, OPEN_LANES, BinmatOptions, State


@dataclass
class Pile:
    """Cards of one place, the newest last; `X` is one that is not known. `in_order`: each lies where it is listed."""

    cards: list[str] = field(default_factory=list)
    in_order: bool = True


class Ledger:
    """All 78 cards of a game that is read."""

    def __init__(self) -> None:
        names = [f"{kind}{lane}" for kind in "dax" for lane in LANES]
        self.piles = {name: Pile() for name in (*names, "xa", "la")}
        self.piles |= {f"l{lane}": Pile([HIDDEN] * LANE_CARDS) for lane in LANES}
        self.is_up = [False] * len(LANES)
        self.attack_up: set[str] = set()
        """The cards of attacker stacks that lie face up."""

    def pile(self, place: str) -> Pile:
        """The cards of a place; a hand is there once it is asked for."""
        return self.piles.setdefault(place, Pile())

    def cards(self, place: str) -> Cards:
        """The cards of a place, the newest last."""
        return tuple(self.pile(place).cards)

    def take(self, place: str, card: str) -> str | None:
        """A card leaves a place; answers what is impossible about that, in words, or None. Counts stay as they can."""
        pile = self.pile(place)
        if card == HIDDEN:
            if not pile.cards:
                return f"{words_of(place)} is empty"
            if set(pile.cards) != {HIDDEN}:
                pile.cards = [HIDDEN] * len(pile.cards)
            pile.cards.pop()
            return None
        if card in pile.cards:
            pile.cards.remove(card)
            return None
        complaint = self._forget(card)
        if HIDDEN in pile.cards:
            pile.in_order &= pile.cards.count(HIDDEN) in (1, len(pile.cards))
            pile.cards.remove(HIDDEN)
        elif pile.cards:
            complaint = complaint or f"{words_of(place)} holds only {' '.join(pile.cards)}"
            pile.cards.pop()
        else:
            complaint = complaint or f"{words_of(place)} is empty"
        return complaint

    def put(self, place: str, cards: Iterable[str]) -> None:
        """Cards come to a place."""
        self.pile(place).cards += cards

    def draw(self, deck: str, card: str) -> str | None:
        """The top card leaves a deck, which takes its discard pile first when it is empty; answers like `take`."""
        pile, discard = self.pile(deck), self.pile(f"x{deck[1]}")
        if not pile.cards:
            pile.cards, discard.cards = discard.cards, []
        return self.take(deck, card)

    def show(self, place: str, cards: Cards) -> str | None:
        """A stack is turned up; answers in words how that contradicts what was known, or None."""
        pile = self.pile(place)
        known = tuple(pile.cards)
        fits = len(known) == len(cards) and all(
            HIDDEN in pair or pair[0] == pair[1] for pair in zip(known, cards, strict=True)
        )
        complaint = None if fits else f"the turns before make {' '.join(known) or 'none'}"
        pile.cards = []
        for card in cards:
            complaint = self._forget(card) or complaint
        pile.cards = list(cards)
        return complaint

    def lose_hand(self, player: str) -> None:
        """A hand goes to the discard piles, the newest card first: the defender's each to the smallest."""
        hand = self.pile(f"h{player}")
        lost, hand.cards = hand.cards[::-1], []
        if player[0] == "a":
            self.put("xa", lost)
            return
        for card in lost:
            smallest = min(LANES, key=lambda lane: len(self.pile(f"x{lane}").cards))
            self.put(f"x{smallest}", [card if hand.in_order else HIDDEN])
        hand.in_order = True

    def state(self, options: BinmatOptions, seat: Seat, hand: Cards) -> State:
        """The position as far as it is known, for the rules; the seat that acts holds these cards."""

        def lanes(kind: str) -> tuple[Cards, ...]:
            return tuple(self.cards(f"{kind}{lane}") for lane in LANES)

        return State(
            options=options,
            decks=lanes("l"),
            are_open=tuple(lane in OPEN_LANES for lane in LANES),
            discards=lanes("x"),
            defence=lanes("d"),
            is_up=tuple(self.is_up),
            attack=lanes("a"),
            attacker_deck=self.cards("la"),
            attacker_discard=self.cards("xa"),
            hands=((), hand) if seat is ATTACKER else (hand, ()),
            turns_left=options.turns,
            attack_up=frozenset(self.attack_up),
        )

    def attacker_has_cards(self) -> bool:
        """Is there a card in any attacker's hand or stack?"""
        return any(pile.cards for name, pile in self.piles.items() if name.startswith(("ha", "a")))

    def plain(self) -> dict[str, Any]:
        """Every place with its cards in plain JSON, decks with their count alone; stacks bottom first."""
        found: dict[str, Any] = {
            "lanes": [
                {
                    "deck": len(self.cards(f"l{lane}")),
                    "discard": list(self.cards(f"x{lane}")),
                    "defender": list(self.cards(f"d{lane}")),
                    "defender_open": self.is_up[lane],
                    "attacker": list(self.cards(f"a{lane}")),
                    "attacker_open": [card in self.attack_up for card in self.cards(f"a{lane}")],
                }
                for lane in LANES
            ],
            "attacker_deck": len(self.cards("la")),
            "attacker_discard": list(self.cards("xa")),
        }
        return found | {"hands": {name[1:]: list(self.cards(name)) for name in sorted(self.piles) if name[0] == "h"}}

    def _forget(self, card: str) -> str | None:
        """A card is seen where it was not known to be; answers where it lay for sure, in words."""
        place = next((name for name, pile in self.piles.items() if card in pile.cards), None)
        if card not in CARDS or place is None:
            return None
        cards = self.piles[place].cards
        cards[cards.index(card)] = HIDDEN
        return f"{card} lay in {words_of(place)}"


def any_position(state: State) -> Iterator[State]:
    """Positions that between them allow all that the rules ever allow to whom holds these cards."""
    for attack in ((), (HIDDEN,)):
        for defence, is_up in (((), False), ((HIDDEN,), False), ((HIDDEN,), True)):
            yield replace(
                state,
                decks=((HIDDEN,),) * len(LANES),
                defence=(defence,) * len(LANES),
                is_up=(is_up,) * len(LANES),
                attack=(attack,) * len(LANES),
                attacker_deck=(HIDDEN,),
            )


def words_of(place: str) -> str:
    """A place in words.

    >>> words_of("ha0"), words_of("x3"), words_of("la")
    ('the hand of a0', 'the discard pile of lane 3', 'the attacker deck')
    """
    kind, rest = place[0], place[1:]
    if kind == "h":
        return f"the hand of {rest}"
    if rest == "a":
        return "the attacker discard" if kind == "x" else "the attacker deck"
    what = {"l": "the deck", "x": "the discard pile", "d": "the defender stack", "a": "the attacker stack"}[kind]
    return f"{what} of lane {rest}"
