"""Fast rules of BINMAT for playouts, and random deals of what a view hides.

The game's own rules carry out the first action of a playout. After that both sides only draw, build
and fight. This module does that on mutable lists and without sentences. Decks are listed from the
bottom, so that the top card is popped. Stacks and piles are listed from the oldest card. Seats are
0 (South, the defender) and 1 (North, the attacker).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from random import Random
from typing import Any

from companion.core.kit import SEATS
from companion.games.binmat import combat
from companion.games.binmat.actions import ATTACKER_PILE
from companion.games.binmat.cards import BOUNCE, BREAK, DECK, NUMBERS, TRAP, WILD, Cards
from companion.games.binmat.state import HIDDEN, BinmatOptions, State

Action = tuple[str, str, int]
PASS: Action = ("-", "", -1)
_A_WILD = 1 << 12
"""Value of a WILD. It exceeds the sum of all numbers, so that a sum keeps numbers and WILDs
apart.
"""
VALUES: Mapping[str, int] = {HIDDEN: 0} | {
    card: NUMBERS.get(card, _A_WILD * (card[0] == WILD)) for card in DECK
}
"""Value that a card adds to the sum of a stack, for `power_of`."""
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
    """Return the attack power of a stack from the sum of its `VALUES`."""
    wilds, total = divmod(total_value, _A_WILD)
    # a WILD lifts the sum to the next power of two
    for _ in range(wilds):
        total = 1 << total.bit_length() if total else 2
    return combat.power_of(total)


class Table:
    """The state of a playout. `winner` is a seat once it is over."""

    def __init__(self, state: State) -> None:
        self.is_hackmud = state.is_hackmud
        self.left = state.turns_left
        self.acts = SEATS.index(state.seat)
        self.decks = [list(deck[::-1]) for deck in state.decks]
        self.discards = list(map(list, state.discards))
        self.defence = list(map(list, state.defence))
        self.defence_up = list(state.defence_up)
        self.attack = list(map(list, state.attack))
        self.attacker_deck = list(state.attacker_deck[::-1])
        self.attacker_discard = list(state.attacker_discard)
        self.hands = (list(state.hands[0]), list(state.hands[1]))
        self.winner: int | None = None
        if state.outcome:
            (winner,) = state.outcome.winners
            self.winner = SEATS.index(winner)

    def play(self, action: Action, rng: Random) -> None:
        """Carry out a draw, a play, a combat, or a pass.

        A card played face up is a BREAK, which begins a combat.
        """
        letter, card, lane = action
        if letter == "d":
            self._draw(lane, rng)
        elif letter in "pu":
            self.hands[self.acts].remove(card)
            stacks = self.attack if self.acts == ATTACKS else self.defence
            stacks[lane].append(card)
        if letter in "cu":
            self._fight(lane, rng)
        self.left -= 1
        self.acts = 1 - self.acts
        if self.winner is None and (self.left == 0 or self._is_spent()):
            self.winner = DEFENDS

    def _is_spent(self) -> bool:
        """Return whether the attacker has no cards and nothing to draw."""
        if self.hands[ATTACKS] or any(self.attack):
            return False
        lanes = zip(
            self.defence,
            self.decks,
            self.discards,
            strict=True,
        )
        return not any(
            not wall and (self.is_hackmud or deck or discard) for wall, deck, discard in lanes
        )

    def _draw(self, lane: int, rng: Random) -> None:
        if lane != ATTACKER_PILE:
            self._draw_from_lane(lane, self.acts, rng)
            return
        if not self.attacker_deck:
            self.attacker_deck = _shuffle(self.attacker_discard, rng)
            self.attacker_discard = []
        self.hands[ATTACKS].append(self.attacker_deck.pop())

    def _draw_from_lane(self, lane: int, seat: int, rng: Random) -> None:
        if not self.decks[lane]:
            self.decks[lane] = _shuffle(self.discards[lane], rng)
            self.discards[lane] = []
        self.hands[seat].append(self.decks[lane].pop())

    def _fight(self, lane: int, rng: Random) -> None:
        """Resolve a combat in the same way as `companion.games.binmat.combat`."""
        mine = self.attack[lane]
        self.attack[lane] = []
        self._spring_traps(lane, mine)
        theirs = self.defence[lane]
        if any(card[0] == BOUNCE for card in (*mine, *theirs)):
            # BOUNCEs go to the opponent's discards, and other defender cards stay face up
            self.discards[lane] += [card for card in mine if card[0] == BOUNCE]
            self.attacker_discard += [card for card in mine if card[0] != BOUNCE]
            self.attacker_discard += [card for card in theirs if card[0] == BOUNCE]
            self.defence[lane] = [card for card in theirs if card[0] != BOUNCE]
            self.defence_up[lane] = bool(self.defence[lane])
            return
        strength = power(mine)
        wall = power(theirs)
        damage = 0
        if strength < wall:
            self.discards[lane] += mine
        else:
            if mine:
                damage = damage_of(
                    mine,
                    strength,
                    theirs,
                    wall,
                    self.is_hackmud,
                )
            for _ in range(min(damage, len(theirs))):
                self.attacker_discard.append(theirs.pop())
                damage -= 1
            self.attacker_discard += mine
        self.defence_up[lane] = bool(theirs)
        # the lane pays the damage that the defender stack cannot take
        for _ in range(damage):
            if not self.decks[lane] and not (self.is_hackmud and self.discards[lane]):
                self.winner = ATTACKS
                return
            self._draw_from_lane(lane, ATTACKS, rng)

    def _spring_traps(self, lane: int, mine: list[str]) -> None:
        """Spring face-down TRAPs, which take cards of the other stack. The initiator's act
        first.
        """
        theirs = self.defence[lane]
        for seat in (self.acts, 1 - self.acts):
            if seat == DEFENDS and self.defence_up[lane]:
                continue
            own, other = (mine, theirs) if seat == ATTACKS else (theirs, mine)
            pile = self.attacker_discard if seat == ATTACKS else self.discards[lane]
            traps = sum(card[0] == TRAP for card in own)
            for _ in range(min(traps, len(other))):
                pile.append(other.pop())


def _shuffle(cards: list[str], rng: Random) -> list[str]:
    """Return a shuffled pile. It is sorted first, so that the result depends only on `rng`."""
    deck = sorted(cards)
    rng.shuffle(deck)
    deck.reverse()
    return deck


def damage_of(
    mine: Sequence[str], strength: int, theirs: Sequence[str], wall: int, is_hackmud: bool
) -> int:
    """Return the damage of an attack that is not weaker than the defender stack."""
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
    """Return the state of a view, with `HIDDEN` for backs."""
    lanes = view["lanes"]
    acts = ATTACKS if view["to_act"] == [SEATS[ATTACKS]] else DEFENDS
    decks, discards, defence, attack, attack_open = (
        tuple(tuple(lane[name]) for lane in lanes)
        for name in ("deck", "discard", "defender", "attacker", "attacker_open")
    )
    are_up = zip(chain(*attack), chain(*attack_open), strict=True)
    return State(
        # `State.seat` follows from the turns played, so `turns` is chosen to give the right seat
        options=BinmatOptions(
            edition=combat.Edition(view["edition"]), turns=view["turns_left"] + acts
        ),
        decks=decks,
        decks_open=tuple(lane["deck_open"] for lane in lanes),
        discards=discards,
        defence=defence,
        defence_up=tuple(lane["defender_open"] for lane in lanes),
        attack=attack,
        attacker_deck=tuple(view["attacker_deck"]),
        attacker_discard=tuple(view["attacker_discard"]),
        hands=(tuple(view["hands"]["south"]), tuple(view["hands"]["north"])),
        turns_left=view["turns_left"],
        passes=(view["passes"]["south"], view["passes"]["north"]),
        attack_up=frozenset(card for card, is_up in are_up if is_up),
    )


def cards_shown(state: State) -> set[str]:
    """Return every card that is visible."""
    piles = [*state.decks, *state.discards, *state.defence, *state.attack, *state.hands]
    return set().union(*piles, state.attacker_deck, state.attacker_discard) - {HIDDEN}


def random_deals(state: State, seat: int, held: set[str], rng: Random) -> Iterator[State]:
    """Yield the state a seat sees again and again, with random unseen cards in place of all backs.

    :param held: cards that are known to be in the other side's possession
    """
    shown = cards_shown(state)
    unseen = [card for card in DECK if card not in shown]
    known_cards = [card for card in unseen if card in held]
    unknown_cards = [card for card in unseen if card not in held]
    # cards known to be held are in the other hand or on the other side's stacks
    hand = state.hands[1 - seat]
    stacks = state.attack if seat == DEFENDS else state.defence
    backs = sum(pile.count(HIDDEN) for pile in (hand, *stacks))
    while True:
        unknown = unknown_cards[:]
        rng.shuffle(unknown)
        cards = known_cards + unknown
        other_cards = cards[:backs]
        rng.shuffle(other_cards)
        theirs = iter(other_cards)
        others = iter(cards[backs:])
        hands = list(state.hands)
        hands[1 - seat] = _fill_backs(hand, theirs)
        filled = tuple(_fill_backs(stack, theirs) for stack in stacks)
        yield replace(
            state,
            hands=(hands[0], hands[1]),
            attack=filled if seat == DEFENDS else state.attack,
            defence=filled if seat == ATTACKS else state.defence,
            decks=tuple(_fill_backs(deck, others) for deck in state.decks),
            attacker_deck=_fill_backs(state.attacker_deck, others),
        )


def _fill_backs(pile: Cards, cards: Iterator[str]) -> Cards:
    """Return a pile with its backs replaced by the next of these cards."""
    return tuple([next(cards) if card == HIDDEN else card for card in pile])
