"""From markers to squares: where pieces lie, what they hide, and which squares cannot be told.

A wrong entry is worse than an unknown one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit
from vision.detection.markers import Sighting
from vision.pieces.tags import covered, nearest_first, tags_of, top_mm, turned_size
from vision.pose.pose import Points, Pose, rectangle_corners_mm

_ROUND_MM = 5.0
"""How much larger than its tag a piece may be."""
_OFF_SQUARES = 0.35
"""A piece of several squares that is further off its places lies on no squares for certain."""
_MIN_MISPRINTS, _ALIKE = 3, 0.12
"""So many pieces, whose sizes differ by no more than this, were not printed as the board was."""
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
    lifted_mm: tuple[float, float] = (0.0, 0.0)
    """Its centre if it lies on what is beneath."""
    size: float = 1.0
    """Its marker's side by that of a tag at this height."""


class Placer:
    """Places the markers of one kit's pieces on a board of which the pose is known; remembers those that stay."""

    def __init__(self, kit: Kit, pose: Pose) -> None:
        self._kit, self.pose = kit, pose
        self._tags = list(tags_of(kit))
        self._has_carried = any(face.carried for face in kit.faces)
        self._last_view: set[int] | None = None
        self._last_beneath: dict[bool, Face | None] = {}
        self._placed: dict[int, Placed] = {}
        self._bodies: dict[int, tuple[Placed, Points, Points]] = {}
        self._spreads: dict[tuple[Square | None, float], float] = {}

    def place(self, sightings: Iterable[Sighting]) -> tuple[list[Placed], tuple[int, ...]]:
        """All piece markers where their rays meet the plane of their height, and the ids that nobody expects."""
        all_seen, kit = tuple(sightings), self._kit
        times = Counter(sighting.marker for sighting in all_seen)
        faces = {marker: kit.face_of_marker(marker) for marker in times}
        strangers = {m for m, face in faces.items() if face is None and m not in kit.board.corners}
        strangers |= {m for m, number in times.items() if number > 1}
        lie_under = self._beneath(set(times))
        seen: list[tuple[Sighting, Face, Face | None]] = []
        for sighting in all_seen:
            face = faces[sighting.marker]
            if face is not None:
                seen.append((sighting, face, lie_under[face.carried] if face.size == (1, 1) else None))
        self._remember(seen)
        found = [self._placed[id(sighting)] for sighting, _, _ in seen if id(sighting) in self._placed]
        placed = [piece if times[piece.sighting.marker] == 1 else replace(piece, fits=False) for piece in found]
        return placed, tuple(sorted(strangers))

    def _beneath(self, in_view: set[int]) -> dict[bool, Face | None]:
        """The tallest piece that may lie hidden beneath one that is carried, and beneath any other: none in view.

        Where there are pieces that are carried, only these share a square with another.
        """
        if self._last_view == in_view:
            return self._last_beneath
        hidden = [tag[0][0] for tag in self._tags if in_view.isdisjoint(marker for _, marker in tag)]
        single = [face for face in hidden if face.size == (1, 1)]
        self._last_view = in_view
        self._last_beneath = {
            carried: max(
                (face for face in single if face.carried is (self._has_carried and not carried)),
                key=lambda face: face.height_mm,
                default=None,
            )
            for carried in (False, True)
        }
        return self._last_beneath

    def bodies(self, placed: Iterable[Placed], squares: Collection[Square]) -> list[Points]:
        """(N, 2) outlines in board mm of what pieces hide of the board, of those that may hide one of these squares."""
        bodies = self._all_bodies(placed)
        near = self._near(bodies, squares)
        return [bodies[number][0] for number in np.flatnonzero(np.any(near, axis=1))]

    def beside(self, placed: Iterable[Placed], squares: Collection[Square]) -> set[Square]:
        """Those of these squares of which one of the pieces may hide a part."""
        near = self._near(self._all_bodies(placed), squares)
        return {square for square, is_near in zip(squares, np.any(near, axis=0), strict=True) if is_near}

    def _near(self, bodies: Sequence[tuple[Points, Points]], squares: Collection[Square]) -> NDArray[np.bool_]:
        """(bodies, squares): may the one hide a part of the other?"""
        if not bodies or not squares:
            return np.zeros((len(bodies), len(squares)), bool)
        board = self._kit.board
        centres = np.array([board.centre_mm(square) for square in squares])
        half = np.array([board.pitch_mm, board.rank_pitch_mm]) / 2 + _ROUND_MM
        bounds = np.array([bound for _, bound in bodies])[:, :, None]
        return np.asarray(np.all((centres > bounds[:, 0] - half) & (centres < bounds[:, 1] + half), axis=2))

    def _all_bodies(self, placed: Iterable[Placed]) -> list[tuple[Points, Points]]:
        """Of each piece (N, 2) what it hides of the board in mm, and (2, 2) the lowest and the highest of it."""
        pieces = list(placed)
        known = self._bodies
        new = [p for p in pieces if id(p.sighting) not in known or known[id(p.sighting)][0] is not p]
        bodies = bodies_mm(self._kit, self.pose, new)
        for piece, body, bound in zip(new, bodies, _bounds(bodies), strict=True):
            known[id(piece.sighting)] = piece, body, bound
        return [known[id(piece.sighting)][1:] for piece in pieces]

    def _remember(self, seen: Sequence[tuple[Sighting, Face, Face | None]]) -> None:
        """Work out those that are new, or may now lie on something else, and forget those that are gone."""
        old = self._placed
        self._placed = {
            id(sighting): old[id(sighting)]
            for sighting, _, beneath in seen
            if id(sighting) in old and old[id(sighting)].sighting is sighting and old[id(sighting)].beneath is beneath
        }
        self._bodies = {key: body for key, body in self._bodies.items() if key in self._placed}
        new = [each for each in seen if id(each[0]) not in self._placed]
        rays = _rays(self.pose, new)
        spreads = self._spreads_mm([(ray.x_mm, ray.y_mm, ray.face.height_mm) for ray in rays])
        for ray, spread in zip(rays, spreads, strict=True):
            self._placed[id(ray.sighting)] = _place(self._kit, ray, spread)

    def _spreads_mm(self, places: Sequence[tuple[float, float, float]]) -> list[float]:
        """One standard deviation of where the pose puts what is seen at (x, y) and a height; on a square they differ
        so little that the first one holds for all."""
        keys = [(self._kit.board.square_at(x, y), height) for x, y, height in places]
        points = dict(zip(keys, places, strict=True))
        missing = [key for key in points if key[0] is None or key not in self._spreads]
        if missing:
            spreads = self.pose.spread_mm(np.array([points[key] for key in missing]))
            self._spreads.update(zip(missing, map(float, spreads), strict=True))
        return [self._spreads[key] for key in keys]


class _Ray(NamedTuple):
    """A marker, what it shows and may hide, and how it lies where its rays meet the plane of its height, in mm."""

    sighting: Sighting
    face: Face
    beneath: Face | None
    x_mm: float
    y_mm: float
    side_mm: float
    turn_deg: float
    lifted_mm: tuple[float, float]
    """Its centre if it lies on what may be beneath."""


def _rays(pose: Pose, seen: Sequence[tuple[Sighting, Face, Face | None]]) -> list[_Ray]:
    """The markers whose rays meet the board; all at once, which is much faster."""
    if not seen:
        return []
    pixels = np.array([[sighting.centre_px, *sighting.corners_px] for sighting, _, _ in seen])
    heights = np.array([face.height_mm for _, face, _ in seen])
    raised = heights + [beneath.height_mm if beneath else 0.0 for _, _, beneath in seen]
    # On top of another piece it is higher, and so nearer to the camera, than it seems.
    rays = np.concatenate([pixels, pixels[:, :1]], axis=1)
    planes = np.column_stack([heights[:, None].repeat(5, axis=1), raised])
    places = pose.to_plane(rays.reshape(-1, 2), planes.ravel()).reshape(-1, 6, 2)
    a, b, c, d = places[:, 1:5].swapaxes(0, 1)
    across, along, (right, up) = (c - a).T, (d - b).T, (b - a + c - d).T
    sides = np.sqrt(np.abs(across[0] * along[1] - across[1] * along[0]) / 2)
    lie = np.column_stack([places[:, 0], sides, np.degrees(np.arctan2(up, right)), places[:, 5]])
    met = zip(seen, lie.tolist(), np.asarray(np.isfinite(places).all(axis=(1, 2))), strict=True)
    return [
        _Ray(*each, x, y, side, turn, (up_x, up_y)) for each, (x, y, side, turn, up_x, up_y), is_met in met if is_met
    ]


def _place(kit: Kit, ray: _Ray, spread: float) -> Placed:
    """Where a piece lies; `spread` as by `_spreads_mm`."""
    sighting, face, beneath, x, y, side, turn_deg, on_top = ray
    allowed = 0.10 + 1.0 / sighting.side_px
    size = side / kit.tag_mm
    fits = abs(size - 1) <= allowed
    if face.size != (1, 1):
        squares, sure = _covered(kit, face, (x, y, turn_deg), 2 * spread)
        return Placed(face, None, sighting, x, y, turn_deg, squares, sure, fits, size=size)
    margin = max(1.5, 0.05 * kit.board.pitch_mm) + 2 * spread
    squares = _touched(kit.board, x, y, margin) | (_touched(kit.board, *on_top, margin) if beneath else frozenset())
    return Placed(face, beneath, sighting, x, y, turn_deg, squares, len(squares) == 1, fits, on_top, size)


def _touched(board: Board, x_mm: float, y_mm: float, margin_mm: float) -> frozenset[Square | None]:
    """The squares in which a place lies that is known to within a margin."""
    low = board.square_at(x_mm - margin_mm, y_mm - margin_mm)
    high = board.square_at(x_mm + margin_mm, y_mm + margin_mm)
    if low == high and low is not None:
        return frozenset((low,))
    ends = ((-margin_mm, margin_mm), (margin_mm, -margin_mm), (0.0, 0.0))
    return frozenset((low, high, *(board.square_at(x_mm + dx, y_mm + dy) for dx, dy in ends)))


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
    low, high = (bound(foot, axis=0) / (board.pitch_mm, board.rank_pitch_mm) for bound in (np.min, np.max))
    near = (s for s in board.squares if low[0] - 1 <= s.file <= high[0] and low[1] - 1 <= s.rank <= high[1])
    touched = frozenset(square for square in near if _overlaps(foot, board, square))
    return touched or frozenset({None}), not touched


def _overlaps(foot: Points, board: Board, square: Square) -> bool:
    """Does a rectangle (4, 2) in board mm lie over a part of a square that matters?"""
    cell = rectangle_corners_mm(*board.centre_mm(square), board.square_mm, board.depth_mm or board.square_mm, 0.0)
    area = cv2.intersectConvexConvex(foot.astype(np.float32), cell.astype(np.float32))[0]
    return area > 0.02 * board.square_mm**2


def bodies_mm(kit: Kit, pose: Pose, pieces: Sequence[Placed]) -> list[Points]:
    """(N, 2) board coordinates of what each piece hides of the board: its foot, and what lies behind its top; and the
    same where it would be on top of what may be beneath. All at once, which is much faster."""
    if not pieces:
        return []
    tops = [(p, p.x_mm, p.y_mm, p.face.height_mm) for p in pieces]
    tops += [(p, *p.lifted_mm, p.face.height_mm + p.beneath.height_mm) for p in pieces if p.beneath]
    sizes = [_foot_mm(kit, piece) for piece, *_ in tops]
    turns = np.radians([piece.turn_deg for piece, *_ in tops])
    axes = np.array([[np.cos(turns), np.sin(turns)], [-np.sin(turns), np.cos(turns)]]).transpose(2, 0, 1)
    middles = np.array([(x, y) for _, x, y, _ in tops])
    feet = rectangle_corners_mm(0.0, 0.0, 1.0, 1.0, 0.0) * np.array(sizes)[:, None] @ axes + middles[:, None]
    # A ray from the eye past the top meets the board farther off: by as much as the eye is above it.
    eye = pose.eye_mm
    above = np.maximum(eye[2] - np.array([height + 3 for *_, height in tops]), 1.0)
    behind = eye[:2] + (feet - eye[:2]) * (eye[2] / above)[:, None, None]
    hidden: dict[int, list[Points]] = {}
    for (piece, *_), foot, far in zip(tops, feet, behind, strict=True):
        hidden.setdefault(id(piece), []).extend((foot, far))
    return [np.vstack(hidden[id(piece)]) for piece in pieces]


def _bounds(bodies: Sequence[Points]) -> Points:
    """(B, 2, 2): the lowest and the highest of each body's (N, 2) points; all at once, which is much faster."""
    if not bodies:
        return np.empty((0, 2, 2))
    points, starts = np.vstack(bodies), np.cumsum([0, *(len(body) for body in bodies[:-1])])
    return np.stack([bound.reduceat(points, starts, axis=0) for bound in (np.minimum, np.maximum)], axis=1)


def _foot_mm(kit: Kit, piece: Placed) -> tuple[float, float]:
    """Width and depth of what a piece covers, or of what it may lie on."""
    width, depth = top_mm(kit, piece.face)
    across, along = top_mm(kit, piece.beneath) if piece.beneath else (0.0, 0.0)
    return max(width, across) + _ROUND_MM, max(depth, along) + _ROUND_MM


def misprinted_size(placed: Sequence[Placed]) -> float | None:
    """Return how large pieces are by the size that this board asks for, when most are alike and not of that size."""
    sizes = [piece.size for piece in placed]
    off = [piece.size for piece in placed if not piece.fits]
    if len(off) < max(_MIN_MISPRINTS, len(sizes) / 2) or max(off) - min(off) > _ALIKE:
        return None
    return float(np.median(off))


def faces_on_squares(
    placed: Iterable[Placed], unconfirmed: Collection[Square] = ()
) -> tuple[dict[Square, str], dict[Square, int], set[Square]]:
    """The face on top of each square and its marker, and the squares where a piece lies that cannot be told.

    Which of the `unconfirmed` squares it is that shows a piece is not known for certain.
    """
    by_square: dict[Square, list[Placed]] = {}
    doubtful: set[Square] = set()
    for piece in placed:
        squares = {square for square in piece.squares if square is not None}
        if piece.sure and piece.fits and squares.isdisjoint(unconfirmed):
            for square in squares:
                by_square.setdefault(square, []).append(piece)
        else:
            doubtful |= squares
    seen, markers = {}, {}
    for square, pieces in by_square.items():
        pieces.sort(key=lambda piece: piece.face.height_mm, reverse=True)
        faces = [piece.face for piece in pieces]
        # A flag or a ball beside its carrier on the square lies there as well as above or below it.
        is_carried = len(faces) == 2 and faces[0].carried != faces[1].carried
        is_close = len(faces) > 1 and faces[0].height_mm - faces[1].height_mm < 3
        if (is_close and not is_carried) or (len(faces) > 1 and any(face.size != (1, 1) for face in faces)):
            doubtful.add(square)
        elif square not in doubtful:
            seen[square], markers[square] = faces[0].name, pieces[0].sighting.marker
    return seen, markers, doubtful
