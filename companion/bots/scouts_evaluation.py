"""Values of positions and plays of Scouts, in ranks walked, for the seat on turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from random import Random
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.games.scouts.board import FILES, HOME, NUMBERS, RANKS, squares_in
from companion.games.scouts.moves import chains, dashes, movers
from companion.games.scouts.state import Position

Move = tuple[float, int, int]
"""Gain of a play, its origin, and its target."""
WIN = 10_000.0
WAY = 18
"""Ranks from the home rank to the far rank and back."""
_HURRY = 25.0
"""Bonus for the last rank."""
_FADE = 0.8
"""Factor by which the bonus shrinks with each rank before."""
_UNDER_OWN = 0.85
"""Share of its value that a scout keeps below an own scout."""
_UNDER_FOE = 0.35
"""Share of its value that a scout keeps below an enemy's."""


def rank_values(rng: Random, noise: float) -> list[float]:
    """Return the value of a scout by the number of ranks that it still has to go (0 to 18).

    `noise` distorts the curve for a whole game.
    """
    values = [WAY - steps_left + _HURRY * _FADE**steps_left for steps_left in range(WAY + 1)]
    if noise:
        values = [value * (1 + noise * rng.uniform(-1, 1)) for value in values]
    return values


class Evaluation:
    """The evaluation for a game, from the values of a scout by the ranks that it has to go."""

    def __init__(self, values: Sequence[float]) -> None:
        self.square_values = (_square_values(values, 0), _square_values(values, 1))
        """By seat: the value of a scout by its square, without intel and with it."""

    def value(self, position: Position) -> float:
        """Return the value of all scouts for the seat on turn."""
        mine = self._side_value(position, position.seat, position.own, position.own_low)
        theirs = self._side_value(position, 1 - position.seat, position.foe, position.foe_low)
        return mine - theirs

    def _side_value(self, position: Position, seat: int, upper: int, lower: int) -> float:
        values = self.square_values[seat]
        intel = position.intel
        total = sum([values[intel >> number & 1][number] for number in squares_in(upper)])
        # a scout below another one keeps only a part of its value
        for number in squares_in(lower):
            share = _UNDER_OWN if upper >> number & 1 else _UNDER_FOE
            total += share * values[position.low_intel >> number & 1][number]
        return total

    def moves(self, position: Position) -> list[Move]:
        """Return all plays of the seat on turn with their gains, once for each target."""
        own, _, own_low, foe_low, intel, low_intel, seat, *_ = position
        scouts = position.scouts
        stacks = own_low | foe_low
        moves: list[Move] = []
        for origin in squares_in(movers(position)):
            has_intel = intel >> origin & 1
            values = self.square_values[seat][has_intel]
            leaving = -values[origin]
            if stacks >> origin & 1:
                leaving += self._burial_cost(own_low, low_intel, seat, origin)
            targets = dashes(position, origin)
            for chain in chains(position, origin):
                targets |= 1 << chain[-1]
            for target in squares_in(targets):
                gain = leaving + values[target]
                if has_intel and HOME[seat] >> target & 1:
                    gain = WIN
                elif scouts >> target & 1:
                    gain -= self._burial_cost(own, intel, seat, target)
                moves.append((gain, origin, target))
        return moves

    def _burial_cost(self, own: int, intel: int, seat: int, number: int) -> float:
        """Return the loss of the seat on turn when the scout on this square is buried.

        It is a part of the scout's value, and negative for a scout of the other side.
        """
        has_intel = intel >> number & 1
        if own >> number & 1:
            return self.square_values[seat][has_intel][number] * (1 - _UNDER_OWN)
        return -self.square_values[1 - seat][has_intel][number] * (1 - _UNDER_FOE)


def _square_values(values: Sequence[float], seat: int) -> tuple[list[float], list[float]]:
    """Return the values of a seat's scout by its square, without intel and with it."""
    without_intel = []
    with_intel = []
    for rank, file in product(range(RANKS), range(FILES)):
        ahead = rank if seat == 0 else RANKS - 1 - rank
        # near the middle is slightly better
        middle_bonus = 0.1 * min(file, FILES - 1 - file)
        without_intel.append(values[WAY - ahead] + middle_bonus)
        with_intel.append(values[ahead] + middle_bonus)
    return without_intel, with_intel


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
