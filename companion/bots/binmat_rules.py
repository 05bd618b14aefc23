"""The rules of BINMAT as playouts need them, and how a view is dealt out: lists that change, no
sentences. What is legal is asked of the game.

Decks are listed from the bottom, so that the top card is popped. Stacks and piles from the oldest
card. Seats are 0 (South, the defender) and 1 (North, the attacker). An action is `(letter, card,
lane)`, as in `companion.games.binmat.orders.CardAction`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from random import Random
from typing import Any

from companion.core.kit import SEATS
from companion.games.binmat.cards import BOUNCE, BREAK, DECK, NUMBERS, TRAP, WILD
from companion.games.binmat.combat import Edition
from companion.games.binmat.orders import ATTACKER_PILE
from companion.games.binmat.state import HIDDEN, BinmatOptions, State

Action = tuple[str, str, int]
PASS: Action = ("-", "", -1)
_A_WILD = 1 << 12
"""More than all numbers together, so that a sum tells numbers and WILDs apart."""
VALUES: Mapping[str, int] = {HIDDEN: 0} | {
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
    return power_of(sum(map(VALUES.__getitem__, stack)))


@cache
def power_of(total_value: int) -> int:
    """Return the attack power of a stack by the sum of what its cards add."""
    wilds, total = divmod(total_value, _A_WILD)
    # a WILD lifts the sum to the next power of two
    for _ in range(wilds):
        total = 1 << total.bit_length() if total else 2
    if total and not total & (total - 1):
        return total.bit_length() - 1
    return 0


class Table:
    """A game that goes on. `winner` is a seat once it is over."""

    def __init__(self, state: State) -> None:
        self.is_hackmud = state.is_hackmud
        self.left = state.turns_left
        self.acts = SEATS.index(state.seat)
        # decks are popped from the top
        self.decks = [list(deck[::-1]) for deck in state.decks]
        self.are_open = list(state.are_open)
        self.discards = list(map(list, state.discards))
        self.defence = list(map(list, state.defence))
        self.is_up = list(state.is_up)
        self.attack = list(map(list, state.attack))
        self.attack_up = set(state.attack_up)
        self.attacker_deck = list(state.attacker_deck[::-1])
        self.attacker_discard = list(state.attacker_discard)
        self.hands = (list(state.hands[0]), list(state.hands[1]))
        self.passes = list(state.passes)
        self.winner: int | None = None

    def copy(self) -> Table:
        """Return the same game, to be played on by itself."""
        other = copy(self)
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
        return other

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
        if self.hands[ATTACKS] or any(self.attack):
            return False
        lanes = zip(self.defence, self.decks, self.discards, strict=True)
        return not any(
            not wall and (self.is_hackmud or deck or discard) for wall, deck, discard in lanes
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


def state_of(view: Mapping[str, Any]) -> State:
    """Return a state as a seat sees it, with `HIDDEN` for backs."""
    lanes = view["lanes"]
    acts = ATTACKS if view["to_act"] == [SEATS[ATTACKS]] else DEFENDS
    attack_up = {
        card
        for lane in lanes
        for card, is_open in zip(lane["attacker"], lane["attacker_open"], strict=True)
        if is_open
    }
    return State(
        # who acts follows from how many turns are left of all
        options=BinmatOptions(edition=Edition(view["edition"]), turns=view["turns_left"] + acts),
        decks=tuple(tuple(lane["deck"]) for lane in lanes),
        are_open=tuple(lane["deck_open"] for lane in lanes),
        discards=tuple(tuple(lane["discard"]) for lane in lanes),
        defence=tuple(tuple(lane["defender"]) for lane in lanes),
        is_up=tuple(lane["defender_open"] for lane in lanes),
        attack=tuple(tuple(lane["attacker"]) for lane in lanes),
        attacker_deck=tuple(view["attacker_deck"]),
        attacker_discard=tuple(view["attacker_discard"]),
        hands=(tuple(view["hands"]["south"]), tuple(view["hands"]["north"])),
        turns_left=view["turns_left"],
        passes=(view["passes"]["south"], view["passes"]["north"]),
        attack_up=frozenset(attack_up),
    )


def cards_shown(state: State) -> set[str]:
    """Return every card that can be seen."""
    piles = [*state.decks, *state.discards, *state.defence, *state.attack, *state.hands]
    return set().union(*piles, state.attacker_deck, state.attacker_discard) - {HIDDEN}


class Dealer:
    """Deals what a seat cannot see at random, again and again.

    :param held: cards that are known to be with the other side
    """

    def __init__(self, state: State, seat: int, held: set[str], rng: Random) -> None:
        self.rng = rng
        self._table = table = Table(state)
        stacks = table.attack if seat == DEFENDS else table.defence
        self._theirs = _backs_in([table.hands[1 - seat], *stacks])
        self._others = _backs_in([*table.decks, table.attacker_deck])
        shown = cards_shown(state)
        unseen = [card for card in DECK if card not in shown]
        self._held = [card for card in unseen if card in held]
        self._unknown = [card for card in unseen if card not in held]

    def deal(self) -> Table:
        """Return the table with one of the unseen cards for every back."""
        unknown = self._unknown[:]
        held = self._held[:]
        theirs = self._theirs[:]
        for shuffled in (unknown, held, theirs):
            self.rng.shuffle(shuffled)
        # the cards that are held go to places of the other side
        for (cards, place), card in zip(theirs + self._others, held + unknown, strict=False):
            cards[place] = card
        return self._table.copy()


def _backs_in(piles: list[list[str]]) -> list[tuple[list[str], int]]:
    """Return where cards lie face down: the pile, and the place in it."""
    return [(cards, place) for cards in piles for place, card in enumerate(cards) if card == HIDDEN]
