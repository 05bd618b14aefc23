"""Two copies of one board in a picture: which corner markers belong together, and which copy is
played on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from companion.core.kit import Board, Kit
from vision.detection.markers import Sighting
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose, corner_points_mm, solve_pose

_NEAR = 0.5
"""Two sightings of a marker that are nearer than this share of its side are one."""
_ROOM = 1.5
"""A corner belongs to a pair that expects it within so many of its sides, if all of them together
fit."""
_FAR = 0.02
"""Corners that fit worse than this share of their diagonal do not belong to one board."""

Corners = Mapping[int, Points]
"""Places (4, 2) px of corner markers by id."""


def apart(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """Return the sightings without those that show the same marker in the same place again."""
    found: list[Sighting] = []
    for sighting in sightings:
        if not any(sighting.is_same(other) for other in found):
            found.append(sighting)
    return tuple(found)


def boards_among(
    board: Board, corners: Sequence[Sighting], lens: Lens, size: tuple[int, int]
) -> list[Corners]:
    """Return the corner markers in groups that each fit one board, the largest group first.

    Single ones are left out.
    """
    rest, groups = list(corners), list[Corners]()
    while len(rest) > 1:
        found = [
            _extend_pair(board, pair, rest, lens, size)
            for pair in combinations(rest, 2)
            if pair[0].marker != pair[1].marker
        ]
        tried = [(group, misfit) for group, misfit in found if group]
        if not tried:
            break
        best, _ = min(tried, key=lambda each: (-len(each[0]), each[1]))
        groups.append({s.marker: s.corners_px for s in best})
        rest = [s for s in rest if not any(s is other for other in best)]
    return groups


def _extend_pair(
    board: Board,
    pair: Sequence[Sighting],
    every: Sequence[Sighting],
    lens: Lens,
    size: tuple[int, int],
) -> tuple[list[Sighting], float]:
    """Return a pair with the other markers that fit the same board, and what is left over, px.

    Empty when it fits none.
    """
    group = list(pair)
    pose, misfit = _fit_group(board, group, lens, size)
    if pose is None:
        return [], misfit
    for marker in board.corners:
        expected = pose.to_px(corner_points_mm(board, marker))
        near = [
            s
            for s in every
            if s.marker == marker
            and all(s.marker != other.marker for other in group)
            and np.abs(s.corners_px - expected).max() < _ROOM * s.side_px
        ]
        for sighting in near:
            wider, more = _fit_group(board, [*group, sighting], lens, size)
            if wider is not None:
                group, pose, misfit = [*group, sighting], wider, more
                break
    return group, misfit


def _fit_group(
    board: Board, group: Sequence[Sighting], lens: Lens, size: tuple[int, int]
) -> tuple[Pose | None, float]:
    points_mm = np.vstack([corner_points_mm(board, s.marker) for s in group])
    points_px = np.vstack([s.corners_px for s in group])
    pose = solve_pose(points_mm, points_px, lens, size)
    if pose is None or pose.rms_px > max(
        2.5, _FAR * float(np.linalg.norm(np.ptp(points_px, axis=0)))
    ):
        return None, float("inf")
    return pose, pose.rms_px


def played_on(
    kit: Kit,
    groups: Sequence[Corners],
    pieces: Mapping[int, Points],
    lens: Lens,
    last: Pose | tuple[int, int],
) -> Corners | None:
    """Return the copy that lies where the board was, or else the only one with pieces on it.

    None: nobody can tell.

    `pieces`: places (4, 2) px of other markers by id. `last`: the last pose, or the picture's size
    without one.
    """
    size = last.size if isinstance(last, Pose) else last
    if isinstance(last, Pose):
        for group in groups:
            off = [
                np.abs(px - last.to_px(corner_points_mm(kit.board, marker))).max()
                for marker, px in group.items()
            ]
            sides = [float(np.linalg.norm(px[1] - px[0])) for px in group.values()]
            if max(off) < _NEAR * min(sides):
                return group
    bearing = [group for group in groups if _pieces_on(kit, group, pieces, lens, size)]
    return bearing[0] if len(bearing) == 1 else None


def _pieces_on(
    kit: Kit, group: Corners, pieces: Mapping[int, Points], lens: Lens, size: tuple[int, int]
) -> int:
    points_mm = np.vstack([corner_points_mm(kit.board, marker) for marker in group])
    pose = solve_pose(points_mm, np.vstack(list(group.values())), lens, size)
    faces = {marker: kit.face_of_marker(marker) for marker in pieces}
    known = [
        (pieces[marker].mean(axis=0), face.height_mm) for marker, face in faces.items() if face
    ]
    if pose is None or not known:
        return 0
    places = pose.to_plane(
        np.array([place for place, _ in known]), np.array([height for _, height in known])
    )
    return sum(
        kit.board.square_at(float(x), float(y)) is not None for x, y in places if np.isfinite(x + y)
    )
