"""The rules of BINMAT as playouts need them, and how a view is dealt out: lists that change, no
sentences.

Decks are listed from the bottom, so that the top card is popped. Stacks and piles from the oldest
card. Seats are 0 (South, the defender) and 1 (North, the attacker). An action is `(letter, card,
lane)`, as in `companion.games.binmat.orders.CardAction`.
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
DEFENDS = 0
ATTACKS = 1


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
    if total and not total & (total - 1):
        return total.bit_length() - 1
    return 0


class Table:
    """A game that goes on. `winner` is a seat once it is over."""

    def __init__(self, is_hackmud: bool, left: int, acts: int) -> None:
        self.is_hackmud = is_hackmud
        self.left = left
        self.acts = acts
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
        other.decks = [cards[:] for cards in self.decks]
        other.discards = [cards[:] for cards in self.discards]
        other.defence = [cards[:] for cards in self.defence]
        other.attack = [cards[:] for cards in self.attack]
        other.are_open = self.are_open[:]
        other.is_up = self.is_up[:]
        other.attack_up = set(self.attack_up)
        other.attacker_deck = self.attacker_deck[:]
        other.attacker_discard = self.attacker_discard[:]
        other.hands = (self.hands[0][:], self.hands[1][:])
        other.passes = self.passes[:]
        other.winner = self.winner
        return other

    # ---- what is legal ---------------------------------------------------------------------------

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
        stack = self.defence[lane]
        is_up = self.is_up[lane]
        if value != BREAK:
            if self.is_hackmud and not stack:
                return "pu"
            return "u" if is_up else "p"
        if not stack:
            return ""
        has_break = any(card[0] == BREAK for card in stack)
        may_attack = bool(self.attack[lane]) and not (is_up and has_break)
        return ("" if is_up else "p") + ("u" if may_attack else "")

    def legal(self) -> list[Action]:
        """Return all legal actions of the seat on turn, the pass last."""
        is_attacker = self.acts == ATTACKS
        hand = self.hands[self.acts]
        has_pile = bool(self.attacker_deck or self.attacker_discard)
        actions: list[Action] = []
        for lane in LANES:
            has_cards = bool(self.decks[lane] or self.discards[lane])
            if self.can_draw(lane) if is_attacker else has_cards:
                actions.append(("d", "", lane))
        if is_attacker and has_pile:
            actions.append(("d", "", ATTACKER_PILE))
        values = {card[0] for card in hand}
        faces = {(value, lane): self.faces(lane, value) for value in values for lane in LANES}
        for card in hand:
            for lane in LANES:
                actions += [(face, card, lane) for face in faces[card[0], lane]]
        if is_attacker or not self.is_hackmud:
            for lane in LANES:
                if self.attack[lane] or (self.is_hackmud and self.defence[lane]):
                    actions.append(("c", "", lane))
        if self.is_hackmud and not is_attacker:
            actions += [("x", card, lane) for card in hand for lane in LANES]
        elif self.is_hackmud and has_pile:
            actions += [("x", card, ATTACKER_PILE) for card in hand]
        return [*actions, PASS]

    # ---- what an action does ---------------------------------------------------------------------

    def play(self, action: Action, rng: Random) -> None:
        """Carry out a legal action of the seat on turn."""
        letter, card, lane = action
        seat = self.acts
        if letter == "d":
            self._draw(lane, rng)
        elif letter in "pu":
            self.hands[seat].remove(card)
            if letter == "p":
                self._stack_of(seat, lane).append(card)
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

    def _stack_of(self, seat: int, lane: int) -> list[str]:
        if seat == ATTACKS:
            return self.attack[lane]
        return self.defence[lane]

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
            self.attacker_deck = _shuffled(self.attacker_discard, rng)
            self.attacker_discard = []
        self.hands[ATTACKS].append(self.attacker_deck.pop())

    def _draw_from_lane(self, lane: int, seat: int, rng: Random) -> None:
        if not self.decks[lane]:
            self.decks[lane] = _shuffled(self.discards[lane], rng)
            self.discards[lane] = []
            self.are_open[lane] = self.are_open[lane] and self.is_hackmud
        # a deck's top is its last card here
        self.hands[seat].append(self.decks[lane].pop())

    def _play_up(self, card: str, lane: int, rng: Random) -> None:
        if card[0] == BREAK:
            self._stack_of(self.acts, lane).append(card)
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
            self._bounce_wall(lane)
            self.discards[lane].append(card)

    def _bounce_wall(self, lane: int) -> None:
        """Take BOUNCEs out of a wall, the rest of which is face up then."""
        bounces, rest = _parted(self.defence[lane])
        self.attacker_discard += bounces
        self.defence[lane] = rest
        self.is_up[lane] = bool(rest)

    def _discard(self, card: str, lane: int, rng: Random) -> None:
        self.hands[self.acts].remove(card)
        if self.acts == DEFENDS:
            self.discards[lane].append(card)
            return
        self.attacker_discard.append(card)
        self._draw_from_pile(rng)
        self._draw_from_pile(rng)

    def _lose_hand(self, seat: int) -> None:
        # the newest card goes first
        lost = self.hands[seat][::-1]
        self.hands[seat].clear()
        if seat == ATTACKS:
            self.attacker_discard += lost
            return
        for card in lost:
            min(self.discards, key=len).append(card)

    def _fight(self, lane: int, rng: Random) -> None:
        """Work a combat out, as `companion.games.binmat.combat` works it out."""
        mine = self.attack[lane]
        theirs = self.defence[lane]
        had_cards = bool(mine)
        opened = self.attack_up.intersection(mine)
        self.attack_up -= opened
        self.attack[lane] = []
        self._spring_traps(lane, mine, opened)
        if any(card[0] == BOUNCE for card in (*mine, *theirs)):
            bounces, rest = _parted(mine)
            self.discards[lane] += bounces
            self.attacker_discard += rest
            self._bounce_wall(lane)
            return
        strength = power(mine)
        wall = power(theirs)
        damage = 0
        if strength < wall:
            self.discards[lane] += mine
        else:
            if had_cards and mine:
                damage = damage_of(mine, strength, theirs, wall, self.is_hackmud)
            for _ in range(min(damage, len(theirs))):
                self.attacker_discard.append(theirs.pop())
                damage -= 1
            self.attacker_discard += mine
        self.is_up[lane] = bool(theirs)
        # damage that the wall does not take is drawn from the lane
        for _ in range(damage):
            if not self.decks[lane] and not (self.is_hackmud and self.discards[lane]):
                self.winner = ATTACKS
                return
            self._draw_from_lane(lane, ATTACKS, rng)

    def _spring_traps(self, lane: int, mine: list[str], opened: set[str]) -> None:
        """Let traps face down take cards of the other stack. Those of whoever began act first."""
        theirs = self.defence[lane]
        for seat in (self.acts, 1 - self.acts):
            if seat == DEFENDS and self.is_up[lane]:
                continue
            own, other = (mine, theirs) if seat == ATTACKS else (theirs, mine)
            pile = self.attacker_discard if seat == ATTACKS else self.discards[lane]
            traps = [card for card in own if card[0] == TRAP]
            for card in traps:
                if other and card not in opened:
                    pile.append(other.pop())


def _shuffled(cards: list[str], rng: Random) -> list[str]:
    """Return a pile as a new deck. Sorted first, so that only the random numbers decide."""
    deck = sorted(cards)
    rng.shuffle(deck)
    deck.reverse()
    return deck


def _parted(stack: list[str]) -> tuple[list[str], list[str]]:
    """Return a stack's BOUNCEs and its other cards."""
    bounces = [card for card in stack if card[0] == BOUNCE]
    return bounces, [card for card in stack if card[0] != BOUNCE]


def damage_of(
    mine: Sequence[str], strength: int, theirs: Sequence[str], wall: int, is_hackmud: bool
) -> int:
    """Return the damage of an attack that is not weaker than the wall."""
    in_attack = any(card[0] == BREAK for card in mine)
    if not is_hackmud:
        if in_attack:
            return strength
        return strength - wall + 1
    if strength == 0:
        return 0
    if in_attack or any(card[0] == BREAK for card in theirs):
        return max(strength, len(theirs))
    return strength - wall + 1


# ---- views ---------------------------------------------------------------------------------------


class Hidden(NamedTuple):
    """Where a view shows backs: the list on a table, the place in it, and whether the opponent has
    the card.
    """

    cards: list[str]
    place: int
    is_theirs: bool


def table_of(view: Mapping[str, Any], seat: int) -> tuple[Table, list[Hidden]]:
    """Return a table as a seat sees it, with `X` for backs, and where those lie."""
    acts = SEATS.index(view["to_act"][0]) if view["to_act"] else DEFENDS
    table = Table(view["edition"] == "hackmud", view["turns_left"], acts)
    for lane, piles in enumerate(view["lanes"]):
        table.decks[lane] = piles["deck"][::-1]
        table.are_open[lane] = piles["deck_open"]
        table.discards[lane] = list(piles["discard"])
        table.defence[lane] = list(piles["defender"])
        table.is_up[lane] = piles["defender_open"]
        table.attack[lane] = list(piles["attacker"])
        for card, is_open in zip(piles["attacker"], piles["attacker_open"], strict=True):
            if is_open:
                table.attack_up.add(card)
    table.attacker_deck = view["attacker_deck"][::-1]
    table.attacker_discard = list(view["attacker_discard"])
    table.hands = (list(view["hands"]["south"]), list(view["hands"]["north"]))
    table.passes = [view["passes"]["south"], view["passes"]["north"]]
    stacks = table.attack if seat == DEFENDS else table.defence
    with_opponent = [table.hands[1 - seat], *stacks]
    hidden = []
    for number, cards in enumerate([*with_opponent, *table.decks, table.attacker_deck]):
        for place, card in enumerate(cards):
            if card == HIDDEN:
                hidden.append(Hidden(cards, place, number < len(with_opponent)))
    return table, hidden


def cards_shown(table: Table) -> set[str]:
    """Return every card that can be seen on it."""
    piles = [*table.decks, *table.discards, *table.defence, *table.attack, *table.hands]
    return set().union(*piles, table.attacker_deck, table.attacker_discard) - {HIDDEN}


def cards_unseen(table: Table) -> list[str]:
    """Return every card that lies face down or is in the other hand."""
    open_cards = cards_shown(table)
    return [card for card in DECK if card not in open_cards]


def dealt(
    table: Table, hidden: list[Hidden], unseen: Sequence[str], held: set[str], rng: Random
) -> Table:
    """Return the same table with one of the `unseen` cards for every back.

    Those `held` are with the opponent.
    """
    known_cards = [card for card in unseen if card in held]
    others = [card for card in unseen if card not in held]
    rng.shuffle(others)
    rng.shuffle(known_cards)
    slots = [slot for slot in hidden if slot.is_theirs]
    rng.shuffle(slots)
    slots += [slot for slot in hidden if not slot.is_theirs]
    for slot, card in zip(slots, known_cards + others, strict=False):
        slot.cards[slot.place] = card
    copy = table.copy()
    for slot in hidden:
        slot.cards[slot.place] = HIDDEN
    return copy
