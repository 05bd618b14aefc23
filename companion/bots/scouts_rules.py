"""Fast rules of Scouts for the search, on bit masks, with the value of each play.

A node is seen from the side that plays: `(own, foe, own_low, foe_low, intel, low_intel)`, as in
`companion.games.scouts.state.Position`. Values are in ranks walked, for the side that plays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import product
from random import Random
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.games.scouts.board import (
    ALL,
    AROUND,
    BESIDE,
    FAR,
    FILES,
    HOME,
    JUMPS,
    NUMBERS,
)
from companion.games.scouts.state import Masks, Position

Node = Masks
Move = tuple[float, int, int]
"""Value of a play, mask of its origin, mask of its target."""
WIN = 10_000.0
WAY = 18
"""Ranks from the home rank to the far rank and back."""
_HURRY = 25.0
_FADE = 0.8
"""Bonus for the last rank, and the factor by which it shrinks with each rank before."""
_UNDER_OWN = 0.85
_UNDER_FOE = 0.35
"""Share of its value that a scout keeps below an own scout, and below an enemy's."""


def rank_values(rng: Random, noise: float) -> list[float]:
    """Return the value of a scout by the number of ranks that it still has to go (0 to 18).

    `noise` distorts the curve for a whole game.
    """
    values = [WAY - steps_left + _HURRY * _FADE**steps_left for steps_left in range(WAY + 1)]
    if noise:
        values = [value * (1 + noise * rng.uniform(-1, 1)) for value in values]
    return values


class Terrain:
    """Constants of a search: rocks, the stacking rule, and the values of squares."""

    def __init__(self, values: list[float], stone: int, may_stack: bool) -> None:
        self.stone = stone
        self.may_stack = may_stack
        self.square_values = (_square_values(values, 0), _square_values(values, 1))
        """By seat: the value of a scout by the mask of its square, without intel and with it."""

    def with_stone(self, covered: int) -> Terrain:
        """Return a copy with one more rock."""
        other = copy(self)
        other.stone |= covered
        return other

    def value(self, node: Node, seat: int) -> float:
        """Return the value of all scouts for the side that plays."""
        own, foe, own_low, foe_low, *intel = node
        mine = self._side_value(seat, own, own_low, intel)
        return mine - self._side_value(1 - seat, foe, foe_low, intel)

    def _side_value(self, seat: int, upper: int, lower: int, intel: Sequence[int]) -> float:
        """Return the value of a seat's scouts. `intel` has the masks of both levels."""
        values = self.square_values[seat]
        total = sum([values[bool(intel[0] & bit)][bit] for bit in bits(upper)])
        # a scout below another one keeps only a part of its value
        for bit in bits(lower):
            share = _UNDER_OWN if upper & bit else _UNDER_FOE
            total += share * values[bool(intel[1] & bit)][bit]
        return total

    def moves(self, node: Node, seat: int, played: int) -> list[Move]:
        """Return all plays of the side that plays, once for each target.

        The scout on `played` is left out.
        """
        own, foe, own_low, foe_low, intel, low_intel = node
        scouts = own | foe
        low = own_low | foe_low
        # squares on which a dash must not end
        shut = self.stone | (low if self.may_stack else scouts)
        empty = ALL & ~(scouts | self.stone)
        home = HOME[seat]
        plain, turned = self.square_values[seat]
        moves_: list[Move] = []
        movers = own & ~played
        # iterate over the scouts by their lowest bit
        while movers:
            origin = movers & -movers
            movers ^= origin
            number = number_of(origin)
            has_intel = intel & origin
            values = turned if has_intel else plain
            leaving = -values[origin]
            targets = AROUND[number] & ~shut
            # from the top of a stack a scout can only dash
            if low & origin:
                leaving += self._burial_cost(own_low, low_intel, seat, origin)
            else:
                single = scouts & ~low & ~origin
                targets |= _jumps(number, single, empty, home if has_intel else FAR[seat])
            while targets:
                target = targets & -targets
                targets ^= target
                gain = leaving + values[target]
                if has_intel and target & home:
                    gain = WIN
                elif scouts & target:
                    gain -= self._burial_cost(own, intel, seat, target)
                moves_.append((gain, origin, target))
        return moves_

    def _burial_cost(self, own: int, intel: int, seat: int, bit: int) -> float:
        """Return the loss of the side that plays when the scout on this square is buried.

        It is a part of the scout's value, and negative for a scout of the other side.
        """
        if own & bit:
            return self.square_values[seat][bool(intel & bit)][bit] * (1 - _UNDER_OWN)
        return -self.square_values[1 - seat][bool(intel & bit)][bit] * (1 - _UNDER_FOE)


def _square_values(values: list[float], seat: int) -> tuple[dict[int, float], dict[int, float]]:
    """Return the values of a seat's scout by the mask of its square, without intel and with it."""
    plain = {}
    turned = {}
    for number in range(len(AROUND)):
        rank, file = divmod(number, FILES)
        ahead = rank if seat == 0 else 9 - rank
        middle = 0.1 * min(file, FILES - 1 - file)
        plain[1 << number] = values[WAY - ahead] + middle
        turned[1 << number] = values[ahead] + middle
    return plain, turned


def _jumps(number: int, single: int, empty: int, stop: int) -> int:
    """Return a mask of the squares that a scout reaches by jumps. A chain ends on `stop`."""
    if not BESIDE[number] & single:
        return 0
    reached = 0
    work = [number]
    # search chains of jumps, visiting each square once
    while work:
        for over, landing, target in JUMPS[work.pop()]:
            if over & single and landing & empty & ~reached:
                reached |= landing
                if not landing & stop:
                    work.append(target)
    return reached


def swapped(node: Node) -> Node:
    """Return the same node seen from the other side."""
    own, foe, own_low, foe_low, intel, low_intel = node
    return foe, own, foe_low, own_low, intel, low_intel


def bits(mask: int) -> Iterator[int]:
    """Yield the mask of each single square."""
    while mask:
        low = mask & -mask
        yield low
        mask ^= low


def number_of(mask: int) -> int:
    """Return the number of the highest square of a mask."""
    return mask.bit_length() - 1


def position_of(view: Mapping[str, Any], may_stack: bool) -> Position:
    """Return the position of a view, seen from the side on turn."""
    seat = Seat(view["to_act"][0])
    scouts = dict.fromkeys(product(SEATS, ("upper", "lower")), 0)
    intel = {"upper": 0, "lower": 0}
    for owner in SEATS:
        for piece in view["scouts"][owner]["pieces"]:
            level = piece["level"]
            bit = 1 << NUMBERS[piece["square"]]
            scouts[owner, level] |= bit
            if piece["intel"]:
                intel[level] |= bit
    south, north = (view["rocks"][owner] for owner in SEATS)
    rocks = (
        _mask(south.get("boulder", ())),
        _mask(south.get("rock", ())),
        _mask(north.get("boulder", ())),
        _mask(north.get("rock", ())),
    )
    return Position(
        own=scouts[seat, "upper"],
        foe=scouts[seat.other, "upper"],
        own_low=scouts[seat, "lower"],
        foe_low=scouts[seat.other, "lower"],
        intel=intel["upper"],
        low_intel=intel["lower"],
        seat=seat.number,
        due=view["due"],
        played=_mask(view["played"]),
        to_place=view["to_place"],
        rocks=rocks,
        may_stack=may_stack,
    )


def _mask(names: Any) -> int:
    return sum(1 << NUMBERS[name] for name in names)
