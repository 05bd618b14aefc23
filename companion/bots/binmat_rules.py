"""The rules of BINMAT as playouts need them: lists that change, no sentences.

And how a view is dealt out.

Decks are listed from the bottom, so that the top card is popped. Stacks and piles from the oldest card. Seats are 0
(South, the defender) and 1 (North, the attacker). An action is `(letter, card, lane)`, as in
`companion.games.binmat.orders.CardAction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from companion.core.kit import SEATS
from companion.games.binmat.cards import BOUNCE, BREAK, DECK, NUMBERS, TRAP, WILD
from companion.games.binmat.state import HIDDEN, LANES

Action = tuple[str, str, int]
ATTACKER_PILE = 6
PASS: Action = ("-", "", -1)
_A_WILD = 1 << 12
"""More than all numbers together, so that a sum tells numbers and WILDs apart."""
WORTH: Mapping[str, int] = {HIDDEN: 0} | {
    card: NUMBERS.get(card, _A_WILD * (card[0] == WILD)) for card in DECK
}
"""What a card adds to the sum of a stack, for `power_of`."""
DEFENDS, ATTACKS = 0, 1


def power(stack: Iterable[str]) -> int:
    """Return the attack power of a stack.

    >>> power(["5&", "3%", ">+"]), power(["*&", "*%"]), power(["4^", "2#"])
    (3, 2, 0)
    """
    return power_of(sum(map(WORTH.__getitem__, stack)))


@cache
def power_of(worth: int) -> int:
    """Return the attack power of a stack by the sum of what its cards add."""
    wilds, total = divmod(worth, _A_WILD)
    # a WILD lifts the sum to the next power of two
    for _ in range(wilds):
        total = 1 << total.bit_length() if total else 2
    return total.bit_length() - 1 if total and not total & (total - 1) else 0


class Table:
    """A game that goes on. `winner` is a seat once it is over."""

    def __init__(self, is_hackmud: bool, left: int, acts: int) -> None:
        self.is_hackmud, self.left, self.acts = is_hackmud, left, acts
        self.decks: list[list[str]] = [[] for _ in LANES]
        self.are_open = [False] * len(LANES)
        self.discards: list[list[str]] = [[] for _ in LANES]
        self.defence: list[list[str]] = [[] for _ in LANES]
        self.is_up = [False] * len(LANES)
        self.attack: list[list[str]] = [[] for _ in LANES]
        self.attack_up: set[str] = set()
        self.attacker_deck: list[str] = []
        self.attacker_discard: list[str] = []
        self.hands: tuple[list[str], list[str]] = ([], [])
        self.passes = [0, 0]
        self.winner: int | None = None

    def copy(self) -> Table:
        """Return the same game, to be played on by itself."""
        other = Table(self.is_hackmud, self.left, self.acts)
        for name in ("decks", "discards", "defence", "attack"):
            setattr(other, name, [list(cards) for cards in getattr(self, name)])
        other.are_open, other.is_up, other.attack_up = (
            list(self.are_open),
            list(self.is_up),
            set(self.attack_up),
        )
        other.attacker_deck, other.attacker_discard = (
            list(self.attacker_deck),
            list(self.attacker_discard),
        )
        other.hands = (list(self.hands[0]), list(self.hands[1]))
        other.passes, other.winner = list(self.passes), self.winner
        return other

    # ---- what is legal ----------------------------------------------------------------------------------------------

    def can_draw(self, lane: int) -> bool:
        """Return whether the attacker may draw from this lane deck."""
        return not self.defence[lane] and (
            self.is_hackmud or bool(self.decks[lane] or self.discards[lane])
        )

    def faces(self, lane: int, value: str) -> str:
        """Return how the seat on turn may play a card of this value there, as
        `companion.games.binmat.orders.faces`."""
        if self.acts == ATTACKS:
            if value == BREAK:
                return "pu" if self.attack[lane] else ""
            may_be_open = not self.attack[lane] if value == BOUNCE else self.is_hackmud
            return "pu" if may_be_open else "p"
        stack, is_up = self.defence[lane], self.is_up[lane]
        if value != BREAK:
            return "pu" if self.is_hackmud and not stack else "u" if is_up else "p"
        if not stack:
            return ""
        may_attack = bool(self.attack[lane]) and not (
            is_up and any(card[0] == BREAK for card in stack)
        )
        return ("" if is_up else "p") + ("u" if may_attack else "")

    def legal(self) -> list[Action]:
        """Return all legal actions of the seat on turn, the pass last."""
        is_attacker, hand = self.acts == ATTACKS, self.hands[self.acts]
        piles = bool(self.attacker_deck or self.attacker_discard)
        actions: list[Action] = []
        for lane in LANES:
            if self.can_draw(lane) if is_attacker else self.decks[lane] or self.discards[lane]:
                actions.append(("d", "", lane))
        if is_attacker and piles:
            actions.append(("d", "", ATTACKER_PILE))
        ways = {
            value: [self.faces(lane, value) for lane in LANES]
            for value in {card[0] for card in hand}
        }
        actions += [
            (face, card, lane) for card in hand for lane in LANES for face in ways[card[0]][lane]
        ]
        if is_attacker or not self.is_hackmud:
            for lane in LANES:
                if self.attack[lane] or (self.is_hackmud and self.defence[lane]):
                    actions.append(("c", "", lane))
        if self.is_hackmud and not is_attacker:
            actions += [("x", card, lane) for card in hand for lane in LANES]
        elif self.is_hackmud and piles:
            actions += [("x", card, ATTACKER_PILE) for card in hand]
        return [*actions, PASS]

    # ---- what an action does ----------------------------------------------------------------------------------------

    def play(self, action: Action, rng: Random) -> None:
        """Carry out a legal action of the seat on turn."""
        letter, card, lane = action
        seat = self.acts
        if letter == "d":
            self._draw(lane, rng)
        elif letter in "pu":
            self.hands[seat].remove(card)
            if letter == "p":
                (self.attack if seat else self.defence)[lane].append(card)
            else:
                self._play_up(card, lane, rng)
        elif letter == "c":
            self._fight(lane, rng)
        elif letter == "x":
            self._discard(card, lane, rng)
        elif self.is_hackmud and self.passes[seat]:
            self._lose_hand(seat)
        self.passes[seat] = self.passes[seat] + 1 if letter == "-" else 0
        self.left -= 1
        self.acts = 1 - seat
        if self.winner is None and (self.left == 0 or self._is_spent()):
            self.winner = DEFENDS

    def _is_spent(self) -> bool:
        """Return whether the attacker has no card and nothing to draw."""
        return (
            not self.hands[1]
            and not any(self.attack)
            and not any(self.can_draw(lane) for lane in LANES)
        )

    def _draw(self, lane: int, rng: Random) -> None:
        if lane == ATTACKER_PILE:
            self._draw_from_pile(rng)
        elif self.decks[lane] or self.discards[lane]:
            self._draw_from_lane(lane, self.acts, rng)
        else:
            self.winner = ATTACKS

    def _draw_from_pile(self, rng: Random) -> None:
        if not self.attacker_deck:
            self.attacker_deck, self.attacker_discard = sorted(self.attacker_discard), []
            rng.shuffle(self.attacker_deck)
            self.attacker_deck.reverse()
        self.hands[1].append(self.attacker_deck.pop())

    def _draw_from_lane(self, lane: int, seat: int, rng: Random) -> None:
        if not self.decks[lane]:
            self.decks[lane], self.discards[lane] = sorted(self.discards[lane]), []
            rng.shuffle(self.decks[lane])
            self.decks[lane].reverse()
            self.are_open[lane] = self.are_open[lane] and self.is_hackmud
        self.hands[seat].append(self.decks[lane].pop())

    def _play_up(self, card: str, lane: int, rng: Random) -> None:
        if card[0] == BREAK:
            (self.attack if self.acts else self.defence)[lane].append(card)
            self._fight(lane, rng)
        elif self.acts == DEFENDS:
            self.defence[lane].append(card)
            self.is_up[lane] = True
        elif card[0] != BOUNCE:
            self.attack[lane].append(card)
            self.attack_up.add(card)
        elif self.is_hackmud:
            self.attack[lane].append(card)
            self._fight(lane, rng)
        else:
            stack = self.defence[lane]
            self.attacker_discard += [other for other in stack if other[0] == BOUNCE]
            self.defence[lane] = [other for other in stack if other[0] != BOUNCE]
            self.is_up[lane] = bool(self.defence[lane])
            self.discards[lane].append(card)

    def _discard(self, card: str, lane: int, rng: Random) -> None:
        self.hands[self.acts].remove(card)
        if self.acts == DEFENDS:
            self.discards[lane].append(card)
            return
        self.attacker_discard.append(card)
        self._draw_from_pile(rng)
        self._draw_from_pile(rng)

    def _lose_hand(self, seat: int) -> None:
        lost = self.hands[seat][::-1]
        self.hands[seat].clear()
        if seat == ATTACKS:
            self.attacker_discard += lost
            return
        for card in lost:
            min(self.discards, key=len).append(card)

    def _fight(self, lane: int, rng: Random) -> None:
        """Work a combat out, as `companion.games.binmat.combat` works it out."""
        mine, theirs = self.attack[lane], self.defence[lane]
        had_cards = bool(mine)
        opened = self.attack_up.intersection(mine)
        self.attack_up -= opened
        self.attack[lane] = []
        # traps of whoever began act first
        for seat in (self.acts, 1 - self.acts):
            if seat == DEFENDS and self.is_up[lane]:
                continue
            own, other = (mine, theirs) if seat else (theirs, mine)
            pile = self.attacker_discard if seat else self.discards[lane]
            for card in [card for card in own if card[0] == TRAP]:
                if other and card not in opened:
                    pile.append(other.pop())
        if any(card[0] == BOUNCE for card in (*mine, *theirs)):
            self.discards[lane] += [card for card in mine if card[0] == BOUNCE]
            self.attacker_discard += [card for card in mine if card[0] != BOUNCE]
            self.attacker_discard += [card for card in theirs if card[0] == BOUNCE]
            self.defence[lane] = [card for card in theirs if card[0] != BOUNCE]
            self.is_up[lane] = bool(self.defence[lane])
            return
        due = 0
        if (strength := power(mine)) < (wall := power(theirs)):
            self.discards[lane] += mine
        else:
            damage = (
                damage_of(mine, strength, theirs, wall, self.is_hackmud)
                if had_cards and mine
                else 0
            )
            hits = min(damage, len(theirs))
            due = damage - hits
            for _ in range(hits):
                self.attacker_discard.append(theirs.pop())
            self.attacker_discard += mine
        self.is_up[lane] = bool(theirs)
        for _ in range(due):
            if not self.decks[lane] and not (self.is_hackmud and self.discards[lane]):
                self.winner = ATTACKS
                return
            self._draw_from_lane(lane, ATTACKS, rng)


def damage_of(
    mine: Sequence[str], strength: int, theirs: Sequence[str], wall: int, is_hackmud: bool
) -> int:
    """Return the damage of an attack that is not weaker than the wall."""
    in_attack = any(card[0] == BREAK for card in mine)
    if not is_hackmud:
        return strength if in_attack else strength - wall + 1
    if strength == 0:
        return 0
    if in_attack or any(card[0] == BREAK for card in theirs):
        return max(strength, len(theirs))
    return strength - wall + 1


# ---- views ----------------------------------------------------------------------------------------------------------


class Hidden(NamedTuple):
    """Where a view shows backs: the list on a table, the place in it, and whether the opponent has the card."""

    cards: list[str]
    place: int
    is_theirs: bool


def table_of(view: Mapping[str, Any], seat: int) -> tuple[Table, list[Hidden]]:
    """Return a table as a seat sees it, with `X` for backs, and where those lie."""
    acts = SEATS.index(view["to_act"][0]) if view["to_act"] else 0
    table = Table(view["edition"] == "hackmud", view["turns_left"], acts)
    for lane, plain in enumerate(view["lanes"]):
        table.decks[lane] = plain["deck"][::-1]
        table.are_open[lane], table.is_up[lane] = plain["deck_open"], plain["defender_open"]
        table.discards[lane] = list(plain["discard"])
        table.defence[lane], table.attack[lane] = list(plain["defender"]), list(plain["attacker"])
        attackers = zip(plain["attacker"], plain["attacker_open"], strict=True)
        table.attack_up |= {card for card, is_open in attackers if is_open}
    table.attacker_deck = view["attacker_deck"][::-1]
    table.attacker_discard = list(view["attacker_discard"])
    table.hands = (list(view["hands"]["south"]), list(view["hands"]["north"]))
    table.passes = [view["passes"]["south"], view["passes"]["north"]]
    stacks = table.attack if seat == DEFENDS else table.defence
    theirs = [table.hands[1 - seat], *stacks]
    others = [*table.decks, table.attacker_deck]
    hidden = [
        Hidden(cards, index, is_theirs)
        for group, is_theirs in ((theirs, True), (others, False))
        for cards in group
        for index, card in enumerate(cards)
        if card == HIDDEN
    ]
    return table, hidden


def cards_shown(table: Table) -> set[str]:
    """Return every card that can be seen on it."""
    places = [*table.decks, *table.discards, *table.defence, *table.attack, *table.hands]
    places += [table.attacker_deck, table.attacker_discard]
    return {card for cards in places for card in cards} - {HIDDEN}


def cards_unseen(table: Table) -> list[str]:
    """Return every card that lies face down or is in the other hand."""
    open_cards = cards_shown(table)
    return [card for card in DECK if card not in open_cards]


def dealt(
    table: Table, hidden: list[Hidden], unseen: Iterable[str], held: set[str], rng: Random
) -> Table:
    """Return the same table with one of the `unseen` cards for every back.

    Those `held` are with the opponent.
    """
    known_cards: list[str] = []
    others: list[str] = []
    for card in unseen:
        (known_cards if card in held else others).append(card)
    rng.shuffle(others)
    rng.shuffle(known_cards)
    slots = [slot for slot in hidden if slot.is_theirs]
    rng.shuffle(slots)
    rest = [slot for slot in hidden if not slot.is_theirs]
    cards = known_cards + others
    for slot, card in zip(slots + rest, cards, strict=False):
        slot.cards[slot.place] = card
    copy = table.copy()
    for slot in hidden:
        slot.cards[slot.place] = HIDDEN
    return copy
