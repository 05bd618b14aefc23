"""Values of positions and plays of Scouts, for the search of its bot.

A scout walks from its home rank to the far rank, gathers intel there, and wins by bringing it home.
A play is what players call a move: a dash or a chain of jumps of one scout. A stack is two scouts
on one square: only the upper one can move.

A scout is worth the number of ranks that it has gone. It is worth more if it is nearly home with
intel, and less at the bottom of a stack. The value of a position is the sum over the scouts of the
seat on turn, minus the sum over the other side's. So it is positive if the position is good for the
seat on turn. All values are in ranks. Sets of squares are bit masks with bit n for square number n,
as in `Position`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from random import Random
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.games.scouts.board import (
    FILES,
    HOME_RANKS,
    RANKS,
    ROCK_KINDS,
    SQUARE_NUMBERS,
    squares_in,
)
from companion.games.scouts.moves import dash_targets, jump_chains, movable_scouts
from companion.games.scouts.state import Position

# A play with its gain for the seat on turn: the gain, and the square numbers of origin and target.
RatedPlay = tuple[float, int, int]
# Value of bringing intel home, far above the sum of all scouts (at most 5 times 43).
WIN = 10_000.0
# Number of ranks from the home rank to the far rank and back, which a scout has to go.
JOURNEY_RANKS = 2 * (RANKS - 1)

# The weights below were chosen by hand. Matches against other bots (`tests/bench/bots`) judge
# all of them together.

# Value of being home with intel, in addition to the ranks walked. With a higher value, one scout
# runs alone. With a lower one, all scouts advance together.
_ARRIVAL_BONUS = 25.0

# Factor of the arrival bonus for each rank that is still to go.
_BONUS_DECAY = 0.8

# Share of its value that a scout keeps under a scout of its own side, which can be moved away.
_UNDER_OWN_SHARE = 0.85

# Share of its value that a scout keeps under an enemy's scout, which may stay there.
_UNDER_FOE_SHARE = 0.35

# Bonus for each file away from the edge of the board, where a scout has more ways to go on. It is
# small, so that it only decides between squares of the same rank.
_MIDDLE_BONUS = 0.1


def values_by_ranks_left(rng: Random, noise: float) -> list[float]:
    """Return the value of a scout by the number of ranks that it still has to go (0 to 18).

    It is the number of ranks that the scout has gone, plus a bonus that grows as it nears home.

    :param noise: maximum change of each value, as a share of that value
    """
    values = [
        JOURNEY_RANKS - ranks_left + _ARRIVAL_BONUS * _BONUS_DECAY**ranks_left
        for ranks_left in range(JOURNEY_RANKS + 1)
    ]
    if noise:
        values = [value * (1 + noise * rng.uniform(-1, 1)) for value in values]
    return values


class Evaluation:
    """The evaluation of positions and plays, the same for a whole game.

    :param values: values of a scout, as `values_by_ranks_left` returns them
    """

    def __init__(self, values: Sequence[float]) -> None:
        self.square_values = (_square_values(values, 0), _square_values(values, 1))
        """Value of a scout, by seat, then by whether it has intel, then by its square number."""

    def value(self, position: Position) -> float:
        """Return the value of a position for the seat on turn."""
        mine = self._side_value(position, position.seat, position.own, position.own_lower)
        theirs = self._side_value(position, 1 - position.seat, position.foe, position.foe_lower)
        return mine - theirs

    def _side_value(self, position: Position, seat: int, upper: int, lower: int) -> float:
        """Return the value of all scouts of a seat.

        :param upper: squares of its scouts that stand alone or on top of a stack
        :param lower: squares of its scouts at the bottom of a stack
        """
        values = self.square_values[seat]
        intel = position.intel
        total = sum([values[intel >> square & 1][square] for square in squares_in(upper)])
        for square in squares_in(lower):
            share = _UNDER_OWN_SHARE if upper >> square & 1 else _UNDER_FOE_SHARE
            total += share * values[position.lower_intel >> square & 1][square]
        return total

    def rated_plays(self, position: Position) -> list[RatedPlay]:
        """Return all plays of the seat on turn with their gains, one play for each target."""
        # unpacked, because the search calls this most often
        own, _, own_lower, foe_lower, intel, lower_intel, seat, *_ = position
        scouts = position.scouts
        stacks = own_lower | foe_lower
        rated_plays: list[RatedPlay] = []
        for origin in squares_in(movable_scouts(position)):
            has_intel = intel >> origin & 1
            values = self.square_values[seat][has_intel]
            leaving_gain = -values[origin]
            # a scout that leaves a stack frees the lower one
            if stacks >> origin & 1:
                leaving_gain += self._burial_cost(own_lower, lower_intel, seat, origin)
            targets = dash_targets(position, origin)
            for chain in jump_chains(position, origin):
                targets |= 1 << chain[-1]
            for target in squares_in(targets):
                gain = leaving_gain + values[target]
                if has_intel and HOME_RANKS[seat] >> target & 1:
                    gain = WIN
                # a scout that lands on another one buries it
                elif scouts >> target & 1:
                    gain -= self._burial_cost(own, intel, seat, target)
                rated_plays.append((gain, origin, target))
        return rated_plays

    def _burial_cost(self, own: int, intel: int, seat: int, square: int) -> float:
        """Return what the seat on turn loses if the scout on a square is buried.

        It is a part of the scout's value, and negative for a scout of the other side.

        :param own: squares of that seat's scouts on this level, upper or lower
        :param intel: squares of the scouts with intel on the same level
        :param square: number of the square
        """
        has_intel = intel >> square & 1
        if own >> square & 1:
            return self.square_values[seat][has_intel][square] * (1 - _UNDER_OWN_SHARE)
        return -self.square_values[1 - seat][has_intel][square] * (1 - _UNDER_FOE_SHARE)


def _square_values(values: Sequence[float], seat: int) -> tuple[list[float], list[float]]:
    """Return the values of a seat's scout by its square number, without intel and with it."""
    without_intel = []
    with_intel = []
    # the order of the square numbers
    for rank, file in product(range(RANKS), range(FILES)):
        ranks_from_home = rank if seat == 0 else RANKS - 1 - rank
        middle_bonus = _MIDDLE_BONUS * min(file, FILES - 1 - file)
        without_intel.append(values[JOURNEY_RANKS - ranks_from_home] + middle_bonus)
        with_intel.append(values[ranks_from_home] + middle_bonus)
    return without_intel, with_intel


def position_of(view: Mapping[str, Any], may_stack: bool) -> Position:
    """Return the position of a view, from the point of view of the seat on turn.

    :param may_stack: whether the options let a scout land on another one
    """
    seat = Seat(view["to_act"][0])
    mine = view["scouts"][seat]
    theirs = view["scouts"][seat.other]
    with_intel = [piece for piece in (*mine["pieces"], *theirs["pieces"]) if piece["intel"]]

    def intel_mask(level: str) -> int:
        return _mask(piece["square"] for piece in with_intel if piece["level"] == level)

    rocks = [_mask(view["rocks"][owner].get(kind, ())) for owner in SEATS for kind in ROCK_KINDS]
    return Position(
        own=_mask(mine["upper"]),
        foe=_mask(theirs["upper"]),
        own_lower=_mask(mine["lower"]),
        foe_lower=_mask(theirs["lower"]),
        intel=intel_mask("upper"),
        lower_intel=intel_mask("lower"),
        seat=seat.number,
        plays_due=view["due"],
        last_mover=_mask(view["played"]),
        to_place=view["to_place"],
        rocks=tuple(rocks),
        may_stack=may_stack,
    )


def _mask(square_names: Iterable[str]) -> int:
    return sum(1 << SQUARE_NUMBERS[name] for name in square_names)
