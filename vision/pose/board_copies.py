"""Two copies of one board in a picture. Groups their corner markers and selects the copy in
play.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from companion.core.kit import Board, Kit
from vision.detection.markers import Sighting
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose, corner_points_mm, solve_pose

_MAX_MOVE = 0.5
"""A copy is the board of the last pose if its corners moved by less than this share of a marker's
side.
"""
_MAX_OFFSET = 1.5
"""Maximum offset of a further corner from where a pair predicts it, in sides of the marker. A pose
of all of them must fit as well.
"""
_MAX_RESIDUAL_SHARE = 0.02
_MAX_RESIDUAL_PX = 2.5
"""Corners whose residual exceeds both this (px) and `_MAX_RESIDUAL_SHARE` times their diagonal are
not of one board.
"""

Corners = Mapping[int, Points]
"""Corners (4, 2) px of the corner markers, by id."""


def without_duplicates(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """Return the sightings without duplicates, which show the same marker in the same place."""
    distinct: list[Sighting] = []
    for sighting in sightings:
        if not any(sighting.is_same(other) for other in distinct):
            distinct.append(sighting)
    return tuple(distinct)


def boards_among(
    board: Board, corners: Sequence[Sighting], lens: Lens, size: tuple[int, int]
) -> list[Corners]:
    """Return the corner markers in groups that each fit one board, the largest group first.

    Groups of one marker are dropped.
    """
    rest, groups = list(corners), list[Corners]()
    while len(rest) > 1:
        best, least = list[Sighting](), (0, float("inf"))
        # Two corners define a pose. Take the pair whose pose fits most others, then the best fit.
        for pair in combinations(rest, 2):
            if pair[0].marker == pair[1].marker:
                continue
            group, misfit = _extend_pair(board, pair, rest, lens, size)
            if (-len(group), misfit) < least:
                best, least = group, (-len(group), misfit)
        if not best:
            break
        groups.append({sighting.marker: sighting.corners_px for sighting in best})
        # The remaining markers may be another board.
        rest = [sighting for sighting in rest if sighting not in best]
    return groups


def _extend_pair(
    board: Board,
    pair: Sequence[Sighting],
    every: Sequence[Sighting],
    lens: Lens,
    size: tuple[int, int],
) -> tuple[list[Sighting], float]:
    """Return a pair with all other markers that fit the same board, and the residual in px.

    The list is empty if the pair fits no board.
    """
    group = list(pair)
    pose, misfit = _fit_group(board, group, lens, size)
    if pose is None:
        return [], misfit
    for sighting in every:
        if sighting.marker in {member.marker for member in group}:
            continue
        # A further corner has to be near where the current pose predicts it, ...
        expected = pose.to_px(corner_points_mm(board, sighting.marker))
        if np.abs(sighting.corners_px - expected).max() < _MAX_OFFSET * sighting.side_px:
            # ... and a pose of all corners has to fit all of them.
            wider, more = _fit_group(board, [*group, sighting], lens, size)
            if wider is not None:
                group, pose, misfit = [*group, sighting], wider, more
    return group, misfit


def _fit_group(
    board: Board, group: Sequence[Sighting], lens: Lens, size: tuple[int, int]
) -> tuple[Pose | None, float]:
    """Return the best pose and its residual in px. None and infinity if it does not fit."""
    points_mm = np.vstack([corner_points_mm(board, sighting.marker) for sighting in group])
    points_px = np.vstack([sighting.corners_px for sighting in group])
    pose = solve_pose(points_mm, points_px, lens, size)
    diagonal_px = float(np.linalg.norm(np.ptp(points_px, axis=0)))
    if pose is None or pose.rms_px > max(_MAX_RESIDUAL_PX, _MAX_RESIDUAL_SHARE * diagonal_px):
        return None, float("inf")
    return pose, pose.rms_px


def copy_in_play(
    kit: Kit,
    groups: Sequence[Corners],
    pieces: Mapping[int, Points],
    lens: Lens,
    last: Pose | tuple[int, int],
) -> Corners | None:
    """Return the copy in the last pose of the board, else the only copy with pieces on it.

    Returns None if that does not decide.

    `pieces`: corners (4, 2) px of other markers by id. `last`: the last pose, or the size of the
    picture if there is none.
    """
    size = last.size if isinstance(last, Pose) else last
    if isinstance(last, Pose):
        for group in groups:
            # distance of each corner from where the last pose predicts it
            off = [
                np.abs(px - last.to_px(corner_points_mm(kit.board, marker))).max()
                for marker, px in group.items()
            ]
            sides = [float(np.linalg.norm(px[1] - px[0])) for px in group.values()]
            if max(off) < _MAX_MOVE * min(sides):
                return group

    # No board is known, or it was moved: the copy with pieces is in play.
    with_pieces = [group for group in groups if _pieces_on(kit, group, pieces, lens, size)]
    return with_pieces[0] if len(with_pieces) == 1 else None


def _pieces_on(
    kit: Kit, group: Corners, pieces: Mapping[int, Points], lens: Lens, size: tuple[int, int]
) -> int:
    points_mm = np.vstack([corner_points_mm(kit.board, marker) for marker in group])
    pose = solve_pose(points_mm, np.vstack(list(group.values())), lens, size)
    number = 0
    for marker, px in pieces.items():
        face = kit.face_of_marker(marker)
        if pose is not None and face is not None:
            # the position of the piece on this copy
            x, y = pose.to_plane(px.mean(axis=0), face.height_mm)[0]
            number += bool(np.isfinite(x)) and kit.board.square_at(x, y) is not None
    return number
