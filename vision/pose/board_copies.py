"""Groups the corner markers of several copies of one board, and selects the copy in play.

A family may own a board twice, or a printed sheet may lie beside the board. Both have the same
corner markers, so some are seen twice.

1. Two corner markers define a pose. Try all pairs, and add to each pair the other markers that fit
   its pose. The largest group is one copy of the board (`group_by_board`).
2. Repeat this with the markers that remain.
3. The copy in play is the one at the last pose, or else the only one with pieces on it
   (`find_copy_in_play`).

A *sighting* is one marker that was found in a picture.

The limits were chosen by trial on rendered tables. `tests/vision/test_lens_models.py` has some with
two boards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from companion.core.kit import Board, Kit
from vision.detection.markers import Sighting
from vision.pose.optics import Lens, Size
from vision.pose.pose import Points, Pose, corner_points_mm, solve_pose

# A copy is the board of the last pose if its corners moved by less than this share of a marker's
# side. A copy beside it is at least a whole board away.
_MAX_SHIFT_SIDES = 0.5

# Maximum offset of a further corner marker from where a pair predicts it, in sides of the marker.
# The limit is large, because a pair predicts poorly. A pose of all of them must fit as well.
_MAX_OFFSET_SIDES = 1.5

# Maximum residual (root mean square) of corners of one board, unless `_MAX_RESIDUAL_SHARE` allows
# more.
_MAX_RESIDUAL_PX = 2.5

# The same as a share of the diagonal of all these corners in the picture. It is larger than for a
# single board in `vision.reading.locate`, as the lens may not be known yet.
_MAX_RESIDUAL_SHARE = 0.02

# Corners (4, 2) px of markers by id, upper left of the print first, clockwise.
Quads = Mapping[int, Points]


def drop_duplicates(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """Return the sightings without duplicates, which show the same marker in the same place."""
    distinct: list[Sighting] = []
    for sighting in sightings:
        if not any(sighting.is_same(other) for other in distinct):
            distinct.append(sighting)
    return tuple(distinct)


def corner_correspondences(board: Board, corners: Quads) -> tuple[Points, Points]:
    """Return the object points (N, 3) mm on the board and the image points (N, 2) px of corners.

    There are four points for each of the corner markers.
    """
    points_mm = [corner_points_mm(board, marker) for marker in corners]
    return np.vstack(points_mm), np.vstack(list(corners.values()))


def group_by_board(
    board: Board, corners: Sequence[Sighting], lens: Lens, size: Size
) -> list[Quads]:
    """Return the corner markers in groups that each fit one board, the largest group first.

    `size` is the size of the picture. Groups of one marker are dropped.
    """
    remaining = list(corners)
    groups = list[Quads]()
    while len(remaining) > 1:
        best = list[Sighting]()
        best_cost = (0, float("inf"))
        # Two corners define a pose. Take the pair whose pose fits most others, then the best fit.
        for first, second in combinations(remaining, 2):
            if first.marker == second.marker:
                continue
            group, rms_px = _extend_pair(board, (first, second), remaining, lens, size)
            cost = -len(group), rms_px
            if cost < best_cost:
                best = group
                best_cost = cost
        if not best:
            break
        groups.append(_by_id(best))
        # The remaining markers may be another board.
        remaining = [sighting for sighting in remaining if sighting not in best]
    return groups


def _extend_pair(
    board: Board,
    pair: Sequence[Sighting],
    sightings: Sequence[Sighting],
    lens: Lens,
    size: Size,
) -> tuple[list[Sighting], float]:
    """Return a pair with all other markers that fit the same board, and the residual in px.

    The list is empty if the pair fits no board.
    """
    group = list(pair)
    pose, rms_px = _fit_group(board, group, lens, size)
    if pose is None:
        return [], rms_px
    for sighting in sightings:
        if sighting.marker in {member.marker for member in group}:
            continue
        # A further corner has to be near where the current pose predicts it.
        expected = pose.to_px(corner_points_mm(board, sighting.marker))
        if np.abs(sighting.corners_px - expected).max() < _MAX_OFFSET_SIDES * sighting.side_px:
            # A pose of all corners has to fit all of them.
            joint_pose, joint_rms_px = _fit_group(board, [*group, sighting], lens, size)
            if joint_pose is not None:
                group = [*group, sighting]
                pose = joint_pose
                rms_px = joint_rms_px
    return group, rms_px


def _fit_group(
    board: Board, group: Sequence[Sighting], lens: Lens, size: Size
) -> tuple[Pose | None, float]:
    """Return the best pose and its residual in px, or None and infinity if none fits."""
    points_mm, points_px = corner_correspondences(board, _by_id(group))
    pose = solve_pose(points_mm, points_px, lens, size)
    diagonal_px = float(np.linalg.norm(np.ptp(points_px, axis=0)))
    if pose is None or pose.rms_px > max(_MAX_RESIDUAL_PX, _MAX_RESIDUAL_SHARE * diagonal_px):
        return None, float("inf")
    return pose, pose.rms_px


def _by_id(sightings: Iterable[Sighting]) -> Quads:
    return {sighting.marker: sighting.corners_px for sighting in sightings}


def find_copy_in_play(
    kit: Kit,
    groups: Sequence[Quads],
    pieces: Quads,
    lens: Lens,
    size: Size,
    *,
    last_pose: Pose | None,
) -> Quads | None:
    """Return the copy that lies in the board's last pose, or else the only copy with pieces on it.

    Returns None if there is no such copy. `pieces` are the corners (4, 2) px of other markers by
    id, and `size` is that of the picture. `last_pose` is None if no board is known.
    """
    if last_pose is not None:
        for group in groups:
            points_mm, points_px = corner_correspondences(kit.board, group)
            shift_px = np.abs(points_px - last_pose.to_px(points_mm)).max()
            # The upper sides of the markers, each of which has four corners.
            sides_px = np.linalg.norm(points_px[1::4] - points_px[::4], axis=1)
            if shift_px < _MAX_SHIFT_SIDES * sides_px.min():
                return group

    # No board is known, or it was moved: the copy with pieces is in play.
    with_pieces = [group for group in groups if _has_pieces(kit, group, pieces, lens, size)]
    return with_pieces[0] if len(with_pieces) == 1 else None


def _has_pieces(kit: Kit, group: Quads, pieces: Quads, lens: Lens, size: Size) -> bool:
    """Return whether at least one piece lies on a square of this copy of the board.

    `pieces` are the corners (4, 2) px of their markers by id.
    """
    points_mm, points_px = corner_correspondences(kit.board, group)
    pose = solve_pose(points_mm, points_px, lens, size)
    if pose is None:
        return False
    for marker, quad_px in pieces.items():
        face = kit.face_by_marker.get(marker)
        if face is None:
            continue
        # The position of the piece if it lies on this copy.
        x, y = pose.to_plane(quad_px.mean(axis=0), face.height_mm)[0]
        if np.isfinite(x) and kit.board.square_at(x, y) is not None:
            return True
    return False
