"""Which moves fail when all robots move at once.

Source: the rulebook's "Moving". Ruling 3, moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum


class Failure(Enum):
    """Why a robot stays where it is."""

    BARRIER = "edge or wall"
    CONTEST = "several try for the square"
    HELD = "a robot there does not leave"


def failures(places: Sequence[int], tries: Mapping[int, int | None]) -> dict[int, Failure]:
    """Return the robots whose moves fail, with the reason.

    All others succeed, in chains, swaps and rotations too.

    `places` says where each robot stands, `tries` where those that move want to go (None: off the board or a wall).

    >>> failures([0, 1, 2], {0: 1, 1: 2})
    {1: <Failure.HELD: 'a robot there does not leave'>, 0: <Failure.HELD: 'a robot there does not leave'>}
    >>> failures([0, 1], {0: 1, 1: 0})
    {}
    """
    failed: dict[int, Failure] = {}
    comers: dict[int, list[int]] = {}
    for robot, target in tries.items():
        if target is None:
            failed[robot] = Failure.BARRIER
        else:
            comers.setdefault(target, []).append(robot)
    for robots in comers.values():
        if len(robots) > 1:
            failed.update(dict.fromkeys(robots, Failure.CONTEST))
    kept = [place for robot, place in enumerate(places) if robot not in tries or robot in failed]
    for place in kept:  # it grows: who cannot enter keeps a place too
        for robot in comers.get(place, ()):
            if robot not in failed:
                failed[robot] = Failure.HELD
                kept.append(places[robot])
    return failed
