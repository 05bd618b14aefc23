"""From markers to squares: where pieces lie, what they hide, and which squares cannot be told.

A wrong entry is worse than an unknown one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import cv2
import numpy as np

from companion.grid import Square
from companion.kit import Board, Face, Kit
from vision.markers import Sighting
from vision.pose import Points, Pose, flat, rectangle_corners_mm
from vision.tags import covered, nearest_first, tags_of, top_mm, turned_size

_ROUND_MM = 5.0
"""How much larger than its tag a piece may be."""
_OFF_SQUARES = 0.35
"""A piece of several squares that is further off its places lies on no squares for certain."""
_OFF_DEG = 42.0
"""An oblong piece that is turned further from the files and ranks lies neither along nor across."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A piece marker on the board: centre in mm at its height, and how it is turned, counter-clockwise.

    `squares` are those that it covers when that is `sure`, else all that it may touch; None is the table beside them.
    """

    face: Face
    beneath: Face | None
    """What it may hide."""
    sighting: Sighting
    x_mm: float
    y_mm: float
    turn_deg: float
    squares: frozenset[Square | None]
    sure: bool
    fits: bool
    """Its size is that of a tag at this height."""


def place_pieces(kit: Kit, pose: Pose, sightings: Iterable[Sighting]) -> tuple[list[Placed], tuple[int, ...]]:
    """All piece markers where their rays meet the plane of their height, and the ids that nobody expects."""
    times = Counter(sighting.marker for sighting in sightings)
    strangers = {m for m in times if m not in kit.board.corners and kit.face_of_marker(m) is None}
    strangers |= {m for m, number in times.items() if number > 1}
    placed = []
    for sighting in sightings:
        face = kit.face_of_marker(sighting.marker)
        if face is None:
            continue
        spot = _place(kit, pose, face, sighting, _beneath(kit, face, set(times)))
        if spot is not None:
            placed.append(spot if times[sighting.marker] == 1 else replace(spot, fits=False))
    return placed, tuple(sorted(strangers))


def _beneath(kit: Kit, face: Face, in_view: set[int]) -> Face | None:
    """The tallest piece that may lie hidden beneath one with this face: none that is in view.

    Where there are pieces that are carried, only these share a square with another.
    """
    has_carried = any(each.carried for each in kit.faces)
    hidden = (
        tag[0][0]
        for tag in tags_of(kit)
        if in_view.isdisjoint(marker for _, marker in tag) and tag[0][0].carried is (has_carried and not face.carried)
    )
    return max((each for each in hidden if each.size == (1, 1)), key=lambda each: each.height_mm, default=None)


def _place(kit: Kit, pose: Pose, face: Face, sighting: Sighting, beneath: Face | None) -> Placed | None:
    """Where a piece lies; None when its ray does not meet the table."""
    points = np.vstack([sighting.centre_px, sighting.corners_px])
    on_plane = pose.to_plane(points, face.height_mm)
    if not np.isfinite(on_plane).all():
        return None
    x, y = (float(v) for v in on_plane[0])
    a, b, c, d = on_plane[1:]
    across, along = c - a, d - b
    side = float(np.sqrt(abs(across[0] * along[1] - across[1] * along[0]) / 2))
    allowed = 0.10 + 1.0 / sighting.side_px
    fits = abs(side / kit.tag_mm - 1) <= allowed
    turn_deg = math.degrees(math.atan2(*(b - a + c - d)[::-1]))
    spread = float(pose.spread_mm(np.array([[x, y, face.height_mm]]))[0])
    if face.size != (1, 1):
        squares, sure = _covered(kit, face, (x, y, turn_deg), 2 * spread)
        return Placed(face, None, sighting, x, y, turn_deg, squares, sure, fits)
    margin = max(1.5, 0.05 * kit.board.pitch_mm) + 2 * spread
    offsets = ((-margin, -margin), (margin, -margin), (margin, margin), (-margin, margin), (0.0, 0.0))
    # On top of another piece it is higher, and so nearer to the camera, than it seems.
    lifted = pose.to_plane(points[:1], face.height_mm + (beneath.height_mm if beneath else 0.0))[0]
    places = ((x, y), (float(lifted[0]), float(lifted[1])))
    squares = frozenset(kit.board.square_at(px + dx, py + dy) for px, py in places for dx, dy in offsets)
    return Placed(face, beneath, sighting, x, y, turn_deg, squares, len(squares) == 1, fits)


def _covered(
    kit: Kit, face: Face, place: tuple[float, float, float], spread_mm: float
) -> tuple[frozenset[Square | None], bool]:
    """The squares under a piece of several, and whether it lies on them properly; else all that it may touch."""
    board, (x, y, turn_deg) = kit.board, place
    size = turned_size(face, turn_deg)
    first, files, ranks = nearest_first(board, size, x, y)
    off = max(abs(files), abs(ranks)) + spread_mm / board.pitch_mm
    askew = abs(turn_deg - 90 * round(turn_deg / 90)) if face.size[0] != face.size[1] else 0.0
    squares = frozenset(covered(first, size))
    if off <= _OFF_SQUARES and askew <= _OFF_DEG and squares <= set(board.squares):
        return squares, True
    width, depth = (side + spread_mm for side in top_mm(kit, face))
    foot = rectangle_corners_mm(x, y, width, depth, math.radians(turn_deg))
    touched = frozenset(square for square in board.squares if _overlaps(foot, board, square))
    return touched or frozenset({None}), not touched


def _overlaps(foot: Points, board: Board, square: Square) -> bool:
    """Does a rectangle (4, 2) in board mm lie over a part of a square that matters?"""
    cell = rectangle_corners_mm(*board.centre_mm(square), board.square_mm, board.depth_mm or board.square_mm, 0.0)
    area = cv2.intersectConvexConvex(foot.astype(np.float32), cell.astype(np.float32))[0]
    return area > 0.02 * board.square_mm**2


def body_mm(kit: Kit, pose: Pose, piece: Placed) -> Points:
    """(N, 2) board coordinates of what a piece hides of the board: its foot, and what lies behind its top."""
    faces = [face for face in (piece.face, piece.beneath) if face]
    width, depth = (max(sides) + _ROUND_MM for sides in zip(*(top_mm(kit, face) for face in faces), strict=True))
    hidden = []
    for height in (piece.face.height_mm, sum(face.height_mm for face in faces))[: len(faces)]:
        x, y = pose.to_plane(piece.sighting.centre_px[None], height)[0]
        foot = rectangle_corners_mm(x, y, width, depth, math.radians(piece.turn_deg))
        behind = pose.to_plane(pose.to_px(flat(foot, height + 3)))
        hidden += [foot, np.nan_to_num(behind, nan=0.0)]
    return np.vstack(hidden)


def faces_on_squares(placed: Iterable[Placed]) -> tuple[dict[Square, str], dict[Square, int], set[Square]]:
    """The face on top of each square and its marker, and the squares where a piece lies that cannot be told."""
    by_square: dict[Square, list[Placed]] = {}
    doubtful: set[Square] = set()
    for piece in placed:
        squares = {square for square in piece.squares if square is not None}
        if piece.sure and piece.fits:
            for square in squares:
                by_square.setdefault(square, []).append(piece)
        else:
            doubtful |= squares
    seen, markers = {}, {}
    for square, pieces in by_square.items():
        pieces.sort(key=lambda piece: piece.face.height_mm, reverse=True)
        faces = [piece.face for piece in pieces]
        if len(faces) > 1 and (faces[0].height_mm - faces[1].height_mm < 3 or any(f.size != (1, 1) for f in faces)):
            doubtful.add(square)
        elif square not in doubtful:
            seen[square], markers[square] = faces[0].name, pieces[0].sighting.marker
    return seen, markers, doubtful
