"""Fast rules of BINMAT for playouts, and random deals of the cards that a view hides.

A view shows some cards only as *backs* (`HIDDEN`). A *deal* is a state in which random unseen cards
replace all backs (a determinization). A *playout* plays one deal to the end. The game's own rules
carry out the first action of a playout. All later actions only draw, build stacks, fight or pass.
This module carries these out as *moves*, on mutable lists and without sentences, because that is
much faster.

A `PlayoutState` lists decks from the bottom, so that the top card can be popped. A `State` lists
them from the top. Stacks and piles are listed from the oldest card. `card[0]` is the value of a
card, such as `BREAK`. A wall is a stack of the defender. Seats are numbers: 0 is South, the
defender, and 1 is North, the attacker.
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
from companion.games.binmat.actions import (
    ACTION_PARTS,
    ATTACKER_PILE,
    COMBAT,
    DRAW,
    PASS,
    PLAY_DOWN,
    PLAY_UP,
)
from companion.games.binmat.cards import (
    BOUNCE,
    BREAK,
    CARD_NUMBERS,
    DECK,
    TRAP,
    WILD,
    Cards,
    separate_bounces,
)
from companion.games.binmat.state import HIDDEN, BinmatOptions, Edition, State

# A move: an action as kind, card and lane, as in `ActionParts`. Plain tuples are faster to create.
PlayoutMove = tuple[str, str, int]

PASS_MOVE: PlayoutMove = ACTION_PARTS[PASS]
# Value of a WILD. It exceeds the sum of all numbers on cards, so that the number of WILDs and the
# sum of the numbers can both be worked out from a sum of values.
_WILD_VALUE = 1 << 12
# What each card adds to the sum from which `power_of_sum` works out the power of a stack.
CARD_VALUES: Mapping[str, int] = {HIDDEN: 0} | {
    card: CARD_NUMBERS.get(card, _WILD_VALUE * (card[0] == WILD)) for card in DECK
}

# The two seats by their numbers (`Seat.number`).
DEFENDER_SEAT = 0
ATTACKER_SEAT = 1


def power(stack: Iterable[str]) -> int:
    """Return the power of a stack of either side.

    >>> power(["5&", "3%", ">+"]), power(["*&", "*%"]), power(["4^", "2#"])
    (3, 2, 0)
    """
    return power_of_sum(sum(map(CARD_VALUES.__getitem__, stack)))


@cache
def power_of_sum(card_values: int) -> int:
    """Return the power of a stack from the sum of the `CARD_VALUES` of its cards."""
    wilds, total = divmod(card_values, _WILD_VALUE)
    # a WILD lifts the sum to the next power of two
    for _ in range(wilds):
        total = 1 << total.bit_length() if total else 2
    return combat.power_of(total)


class PlayoutState:
    """The state of a game during a playout, which `play` changes in place.

    The fields are named as in `State`, with lists for tuples. Decks are reversed.
    """

    def __init__(self, state: State) -> None:
        self.is_hackmud = state.is_hackmud
        self.turns_left = state.turns_left
        self.seat = SEATS.index(state.seat)
        self.decks = [list(deck[::-1]) for deck in state.decks]
        self.discards = list(map(list, state.discards))
        self.defender_stacks = list(map(list, state.defender_stacks))
        self.is_defender_open = list(state.is_defender_open)
        self.attacker_stacks = list(map(list, state.attacker_stacks))
        self.attacker_deck = list(state.attacker_deck[::-1])
        self.attacker_discard = list(state.attacker_discard)
        self.hands = (list(state.hands[0]), list(state.hands[1]))
        # seat of the winner, once the game is over
        self.winner: int | None = None
        if state.outcome:
            (winner,) = state.outcome.winners
            self.winner = SEATS.index(winner)

    def play(self, move: PlayoutMove, rng: Random) -> None:
        """Carry out a draw, a play of a card, a combat, or a pass.

        The move must be legal, which is not checked. A card played face up must be a BREAK, which
        begins a combat.
        """
        kind, card, lane = move
        if kind == DRAW:
            self._draw(lane, rng)
        elif kind in (PLAY_DOWN, PLAY_UP):
            self.hands[self.seat].remove(card)
            stacks = self.attacker_stacks if self.seat == ATTACKER_SEAT else self.defender_stacks
            stacks[lane].append(card)
        if kind in (COMBAT, PLAY_UP):
            self._fight(lane, rng)
        self.turns_left -= 1
        self.seat = 1 - self.seat
        if self.winner is None and (self.turns_left == 0 or self._is_attacker_stuck()):
            self.winner = DEFENDER_SEAT

    def _is_attacker_stuck(self) -> bool:
        """Return whether the attacker has no cards and no lane to draw from, and so has lost.

        Cards of the attacker deck do not help (ruling).
        """
        if self.hands[ATTACKER_SEAT] or any(self.attacker_stacks):
            return False
        for wall, deck, discard in zip(
            self.defender_stacks, self.decks, self.discards, strict=True
        ):
            # a wall blocks the deck behind it
            if not wall and (self.is_hackmud or deck or discard):
                return False
        return True

    def _draw(self, lane: int, rng: Random) -> None:
        """Draw a card for the seat on turn, from a lane or from the attacker deck."""
        if lane != ATTACKER_PILE:
            self._draw_from_lane(lane, self.seat, rng)
            return
        if not self.attacker_deck:
            self.attacker_deck = _shuffle(self.attacker_discard, rng)
            self.attacker_discard = []
        self.hands[ATTACKER_SEAT].append(self.attacker_deck.pop())

    def _draw_from_lane(self, lane: int, seat: int, rng: Random) -> None:
        """Draw a card for a seat. An empty deck is made anew of the lane's discard pile."""
        if not self.decks[lane]:
            self.decks[lane] = _shuffle(self.discards[lane], rng)
            self.discards[lane] = []
        self.hands[seat].append(self.decks[lane].pop())

    def _fight(self, lane: int, rng: Random) -> None:
        """Resolve a combat as `companion.games.binmat.combat` does, apart from open attacker cards.

        A playout does not know which attacker cards lay face up, so all their TRAPs spring.
        """
        attack = self.attacker_stacks[lane]
        self.attacker_stacks[lane] = []
        self._spring_traps(lane, attack)
        wall = self.defender_stacks[lane]
        if any(card[0] == BOUNCE for card in (*attack, *wall)):
            self._end_by_bounce(lane, attack)
            return
        attack_power = power(attack)
        wall_power = power(wall)
        cards_owed = 0
        if attack_power < wall_power:
            self.discards[lane] += attack
        else:
            damage = 0
            if attack:
                damage = damage_of(attack, attack_power, wall, wall_power, self.is_hackmud)
            wall_losses = min(damage, len(wall))
            for _ in range(wall_losses):
                self.attacker_discard.append(wall.pop())
            cards_owed = damage - wall_losses
            self.attacker_discard += attack
        self.is_defender_open[lane] = bool(wall)
        # the attacker draws a card of the lane for each point of damage beyond the cards of the
        # wall
        for _ in range(cards_owed):
            if not self.decks[lane] and not (self.is_hackmud and self.discards[lane]):
                self.winner = ATTACKER_SEAT
                return
            self._draw_from_lane(lane, ATTACKER_SEAT, rng)

    def _end_by_bounce(self, lane: int, attack: list[str]) -> None:
        """End a combat without damage, because a stack holds a BOUNCE.

        The attacker's BOUNCEs go to the discard pile of the lane, and the defender's to that of the
        attacker. The attacker's other cards are discarded, too, and the defender's stay face up.
        """
        attacker_bounces, other_attacker_cards = separate_bounces(attack)
        defender_bounces, remaining = separate_bounces(self.defender_stacks[lane])
        self.discards[lane] += attacker_bounces
        self.attacker_discard += other_attacker_cards + defender_bounces
        self.defender_stacks[lane] = list(remaining)
        self.is_defender_open[lane] = bool(remaining)

    def _spring_traps(self, lane: int, attack: list[str]) -> None:
        """Spring the TRAPs, except in a face-up wall: each takes a card of the other stack.

        Those of the seat that began the combat act first.
        """
        wall = self.defender_stacks[lane]
        for seat in (self.seat, 1 - self.seat):
            if seat == DEFENDER_SEAT and self.is_defender_open[lane]:
                continue
            own, enemy, pile = wall, attack, self.discards[lane]
            if seat == ATTACKER_SEAT:
                own, enemy, pile = attack, wall, self.attacker_discard
            trap_count = sum(card[0] == TRAP for card in own)
            for _ in range(min(trap_count, len(enemy))):
                pile.append(enemy.pop())


def _shuffle(cards: list[str], rng: Random) -> list[str]:
    """Return a pile as a shuffled deck, the same that the game's own rules make with this `rng`."""
    # sorted, so that the order of the pile does not matter
    deck = sorted(cards)
    rng.shuffle(deck)
    # the game's rules list a deck from its top card, and a playout from the bottom
    deck.reverse()
    return deck


def damage_of(
    attack: Sequence[str],
    attack_power: int,
    wall: Sequence[str],
    wall_power: int,
    is_hackmud: bool,
) -> int:
    """Return the damage of an attack that is at least as strong as the wall.

    It depends on the edition, as in `companion.games.binmat.combat`.
    """
    has_break = any(card[0] == BREAK for card in attack)
    if not is_hackmud:
        return attack_power if has_break else attack_power - wall_power + 1
    if attack_power == 0:
        return 0
    if has_break or any(card[0] == BREAK for card in wall):
        return max(attack_power, len(wall))
    return attack_power - wall_power + 1


# ---- views ---------------------------------------------------------------------------------------


def state_of(view: Mapping[str, Any]) -> State:
    """Return the state of a view, with `HIDDEN` for backs."""
    lanes = view["lanes"]
    seat = ATTACKER_SEAT if view["to_act"] == [SEATS[ATTACKER_SEAT]] else DEFENDER_SEAT
    decks, discards, defence, attack, attacker_open = (
        tuple(tuple(lane[name]) for lane in lanes)
        for name in ("deck", "discard", "defender", "attacker", "attacker_open")
    )
    cards_with_open = zip(chain(*attack), chain(*attacker_open), strict=True)
    # `State.seat` follows from whether the number of turns played is even or odd. A view does not
    # have that number, so assume 0 turns if the defender is to act, and 1 for the attacker.
    return State(
        options=BinmatOptions(edition=Edition(view["edition"]), turns=view["turns_left"] + seat),
        decks=decks,
        is_deck_open=tuple(lane["deck_open"] for lane in lanes),
        discards=discards,
        defender_stacks=defence,
        is_defender_open=tuple(lane["defender_open"] for lane in lanes),
        attacker_stacks=attack,
        attacker_deck=tuple(view["attacker_deck"]),
        attacker_discard=tuple(view["attacker_discard"]),
        hands=(tuple(view["hands"]["south"]), tuple(view["hands"]["north"])),
        turns_left=view["turns_left"],
        passes=(view["passes"]["south"], view["passes"]["north"]),
        open_attacker_cards=frozenset(card for card, is_open in cards_with_open if is_open),
    )


def visible_cards(state: State) -> set[str]:
    """Return every card that is visible in a state with `HIDDEN` backs."""
    piles = [
        *state.decks,
        *state.discards,
        *state.defender_stacks,
        *state.attacker_stacks,
        *state.hands,
    ]
    return set().union(*piles, state.attacker_deck, state.attacker_discard) - {HIDDEN}


def random_deals(state: State, seat: int, cards_of_other: set[str], rng: Random) -> Iterator[State]:
    """Yield random deals without end: the state with unseen cards in place of all backs.

    :param state: state as this seat sees it
    :param seat: number of the seat
    :param cards_of_other: cards that the other side is known to have, in its hand or its stacks
    """
    shown = visible_cards(state)
    unseen = [card for card in DECK if card not in shown]
    known_cards = [card for card in unseen if card in cards_of_other]
    unknown_cards = [card for card in unseen if card not in cards_of_other]
    other_hand = state.hands[1 - seat]
    other_stacks = state.attacker_stacks if seat == DEFENDER_SEAT else state.defender_stacks
    back_count = sum(pile.count(HIDDEN) for pile in (other_hand, *other_stacks))
    while True:
        unknown = unknown_cards[:]
        rng.shuffle(unknown)
        # known cards come first, so that the other side gets them
        cards = known_cards + unknown
        other_cards = cards[:back_count]
        rng.shuffle(other_cards)
        for_other_side = iter(other_cards)
        for_decks = iter(cards[back_count:])
        hands = list(state.hands)
        hands[1 - seat] = _fill_backs(other_hand, for_other_side)
        stacks = tuple(_fill_backs(stack, for_other_side) for stack in other_stacks)
        yield replace(
            state,
            hands=(hands[0], hands[1]),
            attacker_stacks=stacks if seat == DEFENDER_SEAT else state.attacker_stacks,
            defender_stacks=stacks if seat == ATTACKER_SEAT else state.defender_stacks,
            decks=tuple(_fill_backs(deck, for_decks) for deck in state.decks),
            attacker_deck=_fill_backs(state.attacker_deck, for_decks),
        )


def _fill_backs(pile: Cards, cards: Iterator[str]) -> Cards:
    """Return a pile with its backs replaced by the next of these cards."""
    return tuple([next(cards) if card == HIDDEN else card for card in pile])
