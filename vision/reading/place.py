"""Fourth stage: find which face lies on which square, or which cards lie open in which zone.

A *tag* is the marker on a piece. It lies above the paper, at a height that the kit knows for each
face.

1. For each tag, find where the ray from the camera through it meets the plane of that height. The
   piece lies there (`_locate_pieces`).
2. All tags of a kit have the same size. A tag that seems larger or smaller is at another height, or
   was printed at another scale, so the piece is not plausible.
3. Find the square of each piece. If the piece may just as well lie on the next square, both are
   doubtful, because a wrong entry is worse than an unknown one.
4. If several pieces share a square, the one with the highest tag is on top (`faces_on_squares`).

Limits without a source were chosen by trial on rendered tables. `make bench ARGS=reading` counts
what is read, unknown and wrong with them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit
from vision.cards.reader import CardReader
from vision.detection.markers import Sighting
from vision.pieces.regions import MAX_ABOVE_MARKER_MM, squares_under
from vision.pieces.snapshots import PaperMemory
from vision.pose.pose import Floats, Points, Pose, rectangle_corners_mm
from vision.reading.look import NO_SQUARES, Look, Memory, Pieces, PlacedPiece

# Allowance in mm for pieces that are wider and deeper than their printed tops (`Kit.tops_mm`).
# Larger: more of the board counts as hidden. Smaller: the side of a piece is mistaken for an
# object.
_MAX_EXCESS_MM = 5.0

# Tolerance of a marker's side, as a share of a tag's. Heights of pieces and home printers cause
# deviations of some percent.
_SIZE_TOLERANCE = 0.10

# Error of a side's length in the picture, because its corners are not exact. It is added to the
# tolerance.
_CORNER_ERROR_PX = 1.0

# The points (x, y) that are examined around a position, in units of a margin: the position itself
# and the corners of a square around it.
_PROBE_OFFSETS = (0, 0), (1, 1), (-1, -1), (1, -1), (-1, 1)

# Margin at the edge of a square in mm. A piece nearer to the edge may lie on the next square.
# Larger: pieces that lie askew are not read. Smaller: some count on the wrong square.
_EDGE_MM = 1.5

# The same as a share of the distance between two squares. The larger of both margins counts.
_EDGE_SHARE = 0.05

# Maximum offset, in squares, of a piece of several squares. At half a square it lies as much on the
# next ones, so this leaves a margin.
_MAX_OFFSET_SQUARES = 0.35

# Maximum rotation in degrees of an oblong piece from the files and ranks. At 45 it lies neither
# along nor across, so this leaves a margin.
_MAX_SKEW_DEG = 42.0

# (9,): positions of the samples along each side of a piece of several squares, as shares of the
# side. A square that it covers by less than 4 % of a side is not counted.
_SAMPLES = np.linspace(0.04, 0.96, 9)

# Minimum difference in height of two markers on a square to tell which one is on top. Smaller
# differences mean that they lie side by side.
_MIN_ON_TOP_MM = 3.0

# Minimum number of pieces of a wrong size to conclude that they were printed at another scale than
# the board. One or two may be held in a hand.
_MIN_MISPRINTS = 3

# Maximum difference between the sizes of such pieces, relative to a tag. It is a little more than
# `_SIZE_TOLERANCE`.
_MAX_SIZE_SPREAD = 0.12


def place(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Place all markers on the board, or read the open cards."""
    kit = look.kit
    pose = look.pose
    if kit is None or pose is None:
        return look, replace(memory, reference=None)
    if memory.last_kit is not kit:
        # Another board is in view: drop everything derived from the last one.
        paper = None if kit.deck else PaperMemory(kit.board)
        cards = CardReader(kit, kit.deck) if kit.deck else None
        memory = replace(memory, last_kit=kit, paper=paper, empty_appearances={}, card_reader=cards)
    if memory.card_reader is not None:
        open_cards = memory.card_reader.read(look.luma, pose, look.moving_px)
        return replace(look, open_cards=open_cards), replace(memory, reference=None)
    pieces = place_pieces(kit, pose, look.sightings, memory.location.unconfirmed_squares)
    squares = _squares_to_judge(look, kit, pose, pieces.placed, memory.given_up_squares)
    return replace(look, pieces=pieces, squares_to_judge=squares), memory


def _squares_to_judge(
    look: Look, kit: Kit, pose: Pose, placed: Iterable[PlacedPiece], given_up: frozenset[Square]
) -> frozenset[Square]:
    """Return the squares to judge again: all of them, or those that the due blocks affect.

    Due blocks are the parts of the picture that `detect_motion` wants to be read again.
    """
    reference = look.reference
    if reference is None or reference.pieces is None or look.due_blocks is None:
        return frozenset(kit.board.squares)

    # `shown` are squares that are seen in the blocks, and `reaching` those whose pieces would reach
    # into the blocks. A square that was empty has no piece that could.
    shown, reaching = squares_under(kit, pose, look.due_blocks)
    squares = shown | (reaching - reference.empty_squares)
    known_pieces = set()
    for piece in reference.pieces.placed:
        known_pieces.add((piece.sighting, piece.hidden_face))
        # The squares of a piece that is gone are judged again.
        if piece.sighting in look.outdated_sightings:
            squares |= piece.squares
    for piece in placed:
        # The squares of a new piece are judged again, and so are those that were given up: the
        # piece may cover what made them unreadable.
        if (piece.sighting, piece.hidden_face) not in known_pieces:
            squares |= piece.squares | given_up
    return frozenset(squares)


# ---- pieces --------------------------------------------------------------------------------------


class _MarkedPiece(NamedTuple):
    """A piece's marker in the picture, before it is placed."""

    sighting: Sighting
    face: Face
    hidden_face: Face | None
    """The tallest piece that may be hidden beneath it. None if there can be none."""


class _RayHits(NamedTuple):
    """Where the rays of N markers meet the planes of their heights. NaN where a ray does not."""

    centres_mm: Points
    """(N, 2, 2): centre (x, y) of each marker if its piece lies on the paper, and if it lies on top
    of what may be hidden beneath it.
    """
    sides_mm: Floats
    """(N,): length of a side, if the piece lies on the paper."""
    turns_deg: Floats
    """(N,): rotation, counter-clockwise."""


class FacesOnSquares(NamedTuple):
    """Which faces can be seen on the squares, by the pieces that were placed."""

    seen: dict[Square, str]
    """The name of the face on top of each square, where it is certain."""
    markers: dict[Square, int]
    """The marker id of each of these faces."""
    doubtful_squares: frozenset[Square]
    """Squares that a piece may lie on, where it is uncertain which one it is."""


def place_pieces(
    kit: Kit, pose: Pose, sightings: Collection[Sighting], unconfirmed: frozenset[Square]
) -> Pieces:
    """Return where pieces lie: where the rays of these markers meet the plane of their height.

    A piece on one of the `unconfirmed` squares makes its squares doubtful.
    """
    # The markers of pieces, with what may be hidden beneath each.
    counts = Counter(map(attrgetter("marker"), sightings))
    beneath_carried, beneath_others = _tallest_hideable_faces(kit, set(counts))
    marked = []
    strangers = set()
    for sighting in sightings:
        marker = sighting.marker
        face = kit.face_by_marker.get(marker)
        # A marker of no piece of this kit, or of a piece that is seen twice.
        if counts[marker] > 1 or (face is None and marker not in kit.board.corners):
            strangers.add(marker)
        if face is not None:
            hidden_face = beneath_carried if face.carried else beneath_others
            if face.size != (1, 1):
                # Only pieces of one square can be stacked.
                hidden_face = None
            marked.append(_MarkedPiece(sighting, face, hidden_face))

    # Where these pieces lie.
    pieces = []
    for piece in _locate_pieces(kit, pose, marked):
        # Two markers with the same id cannot be told apart.
        is_duplicate = counts[piece.sighting.marker] > 1
        pieces.append(replace(piece, is_plausible=False) if is_duplicate else piece)

    # What that says about the squares. The three fields of `faces` are the last of `Pieces`.
    faces = faces_on_squares(pieces, unconfirmed)
    return Pieces(kit, pose, tuple(pieces), tuple(sorted(strangers)), *faces)


def _tallest_hideable_faces(kit: Kit, ids_in_view: Set[int]) -> tuple[Face | None, Face | None]:
    """Return the tallest piece that may be hidden beneath a carried piece, and beneath any other.

    Carried pieces are flags and balls. If a kit has any, only these share a square with another
    piece. Either result is None if no piece may be hidden there.
    """
    carried = list[Face]()
    others = list[Face]()
    has_carried = False
    for tag in kit.tags:
        # All faces of a piece are carried or none, and of one size and height: take the first.
        face, _ = tag[0]
        has_carried |= face.carried
        if face.size != (1, 1) or not ids_in_view.isdisjoint(dict(tag).values()):
            # This piece is too large to be hidden, or it is in view.
            continue
        if face.carried:
            carried.append(face)
        else:
            others.append(face)
    height = attrgetter("height_mm")
    # In a kit with carried pieces, two others never share a square.
    beneath_carried = max(others, key=height, default=None)
    beneath_others = max(carried if has_carried else others, key=height, default=None)
    return beneath_carried, beneath_others


def _locate_pieces(kit: Kit, pose: Pose, marked: Sequence[_MarkedPiece]) -> list[PlacedPiece]:
    """Return the pieces whose markers' rays meet the board.

    All rays are computed at once, which is much faster.
    """
    if not marked:
        return []
    hits = _intersect_rays(pose, marked)

    # Rays above the horizon meet no plane.
    is_met = np.isfinite(hits.centres_mm).all(axis=(1, 2))
    heights_mm = list(map(attrgetter("face.height_mm"), marked))
    points_mm = np.column_stack([np.nan_to_num(hits.centres_mm[:, 0]), heights_mm])

    # Two standard deviations of each position, by the uncertainty of the pose there.
    uncertainties_mm = (2 * pose.sigma_mm(points_mm)).tolist()
    pieces = []
    for index in np.flatnonzero(is_met).tolist():
        piece = marked[index]
        uncertainty_mm = uncertainties_mm[index]
        ratio = float(hits.sides_mm[index]) / kit.tag_mm
        turn_deg = float(hits.turns_deg[index])
        centre_mm, stacked_centre_mm = map(tuple, hits.centres_mm[index].tolist())
        tolerance = _SIZE_TOLERANCE + _CORNER_ERROR_PX / piece.sighting.side_px
        if piece.face.size == (1, 1):
            # The square is certain only if all possible positions are on it.
            margin_mm = max(_EDGE_MM, _EDGE_SHARE * kit.board.pitch_mm) + uncertainty_mm
            squares, is_certain = _squares_near(
                kit.board, {centre_mm, stacked_centre_mm}, margin_mm
            )
        else:
            squares, is_certain = _squares_beneath(
                kit, piece.face, centre_mm, turn_deg, uncertainty_mm
            )
        pieces.append(
            PlacedPiece(
                face=piece.face,
                hidden_face=piece.hidden_face,
                sighting=piece.sighting,
                centre_mm=centre_mm,
                turn_deg=turn_deg,
                squares=squares,
                has_certain_squares=is_certain,
                is_plausible=abs(ratio - 1) <= tolerance,
                stacked_centre_mm=stacked_centre_mm,
                size_ratio=ratio,
            )
        )
    return pieces


def _intersect_rays(pose: Pose, marked: Sequence[_MarkedPiece]) -> _RayHits:
    """Return where the markers' rays meet the planes of their heights."""
    pixels = []
    planes_mm = []
    for piece in marked:
        sighting = piece.sighting
        height_mm = piece.face.height_mm
        # On top of another piece it is higher, and so nearer to the camera, than it seems.
        stacked_mm = height_mm + (piece.hidden_face.height_mm if piece.hidden_face else 0.0)
        # Its centre at both heights, and its corners at the lower one.
        pixels.append([sighting.centre_px, sighting.centre_px, *sighting.corners_px])
        planes_mm.append([height_mm, stacked_mm, *[height_mm] * 4])
    # (N, 6, 2) mm: two centres and four corners of each marker.
    points = pose.to_plane(np.reshape(pixels, (-1, 2)), np.ravel(planes_mm)).reshape(-1, 6, 2)
    # The corners of the print, (N, 2) each.
    upper_left, upper_right, lower_right, lower_left = points[:, 2:].swapaxes(0, 1)

    # A square's area is half the cross product of its diagonals.
    x, y = (lower_right - upper_left).T
    other_x, other_y = (lower_left - upper_right).T
    sides_mm = np.sqrt(np.abs(x * other_y - y * other_x) / 2)
    # The direction of the print's upper edge, averaged over its upper and lower edges.
    edge_x, edge_y = (upper_right - upper_left + lower_right - lower_left).T
    return _RayHits(points[:, :2], sides_mm, np.degrees(np.arctan2(edge_y, edge_x)))


def _squares_near(
    board: Board, centres_mm: Iterable[tuple[float, float]], margin_mm: float
) -> tuple[frozenset[Square], bool]:
    """Return the squares on which a piece of one square may lie, and whether they are certain.

    Its centre is one of `centres_mm` (x, y), each known to within a margin. The squares are certain
    if all of these points are on the same square, or all of them beside the board.
    """
    squares = set()
    for x_mm, y_mm in centres_mm:
        for right, up in _PROBE_OFFSETS:
            squares.add(board.square_at(x_mm + right * margin_mm, y_mm + up * margin_mm))
    return frozenset(filter(None, squares)), len(squares) == 1


def _squares_beneath(
    kit: Kit, face: Face, centre_mm: tuple[float, float], turn_deg: float, uncertainty_mm: float
) -> tuple[frozenset[Square], bool]:
    """Return the squares under a piece of several squares, and whether they are certain.

    They are certain if the piece is properly aligned with its squares, or lies wholly off the
    board. Otherwise they are all the squares that it may touch. `centre_mm` is (x, y), `turn_deg`
    its rotation counter-clockwise, and `uncertainty_mm` the uncertainty of the centre.
    """
    board = kit.board
    x_mm, y_mm = centre_mm

    # The lower left square of the nearest proper position, and the offset from it in squares.
    size = face.turned_size(turn_deg)
    first, off_files, off_ranks = board.fit_block(size, x_mm, y_mm)
    off_squares = max(abs(off_files), abs(off_ranks)) + uncertainty_mm / board.pitch_mm

    # Angle to the nearest right angle.
    is_oblong = face.size[0] != face.size[1]
    off_deg = abs(turn_deg - 90 * round(turn_deg / 90)) if is_oblong else 0.0
    is_aligned = off_squares <= _MAX_OFFSET_SQUARES and off_deg <= _MAX_SKEW_DEG
    squares = frozenset(first.area(size))
    if is_aligned and squares <= set(board.squares):
        return squares, True

    # It is not properly on any squares: collect all that its foot may touch.
    width, depth = kit.tops_mm[face.name]
    turn = math.radians(turn_deg)
    foot = rectangle_corners_mm(x_mm, y_mm, width + uncertainty_mm, depth + uncertainty_mm, turn)
    touched_squares = set()

    # A grid of points over the foot, along two of its sides.
    for across in _SAMPLES:
        for along in _SAMPLES:
            point_mm = foot[0] + across * (foot[1] - foot[0]) + along * (foot[3] - foot[0])
            touched_squares.add(board.square_at(*point_mm.tolist()))
    squares = frozenset(filter(None, touched_squares))
    return squares, not squares


def faces_on_squares(
    placed: Iterable[PlacedPiece], unconfirmed: frozenset[Square] = NO_SQUARES
) -> FacesOnSquares:
    """Return the face on top of each square, and the doubtful squares.

    A piece makes all its squares doubtful if these are uncertain, if it is not plausible, or if any
    of them is `unconfirmed`. Two pieces make the square that they share doubtful, unless the marker
    of one is clearly above that of the other.
    """
    # Pieces whose squares are certain. All others make their squares doubtful.
    by_square: dict[Square, list[PlacedPiece]] = defaultdict(list)
    doubtful: set[Square] = set()
    for piece in placed:
        if (
            piece.has_certain_squares
            and piece.is_plausible
            and piece.squares.isdisjoint(unconfirmed)
        ):
            for square in piece.squares:
                by_square[square].append(piece)
        else:
            doubtful |= piece.squares

    # Which of the pieces on a square is on top?
    seen = {}
    markers = {}
    for square, pieces in by_square.items():
        # The highest marker belongs to the piece on top.
        *others, top = sorted(pieces, key=attrgetter("face.height_mm", "face.carried"))
        for other in others:
            # A flag or a ball may lie beside its carrier on the square, as well as above or below
            # it.
            is_carried = len(others) == 1 and top.face.carried != other.face.carried
            is_clear = is_carried or top.face.height_mm - other.face.height_mm >= _MIN_ON_TOP_MM
            if not (is_clear and top.face.size == other.face.size == (1, 1)):
                doubtful.add(square)
        # The face on top is certain.
        if square not in doubtful:
            seen[square] = top.face.name
            markers[square] = top.sighting.marker
    return FacesOnSquares(seen, markers, frozenset(doubtful))


def misprint_scale(placed: Collection[PlacedPiece]) -> float | None:
    """Return the size of the pieces' markers, relative to the size that this board asks for.

    This is the median of the wrong sizes. Returns None unless the pieces seem to be printed at
    another scale, which is if the sizes of at least half of them, and of at least three, are wrong
    and alike.
    """
    ratios = []
    for piece in placed:
        # Duplicate pieces are not plausible either, but may have the right size.
        if not piece.is_plausible and abs(piece.size_ratio - 1) > _SIZE_TOLERANCE:
            ratios.append(piece.size_ratio)
    if len(ratios) < max(_MIN_MISPRINTS, len(placed) / 2):
        return None
    if max(ratios) - min(ratios) > _MAX_SIZE_SPREAD:
        return None
    return float(np.median(ratios))


# ---- what pieces hide ----------------------------------------------------------------------------


def occlusion_hulls_mm(kit: Kit, pose: Pose, placed: Sequence[PlacedPiece]) -> Points:
    """Return (N, 16, 2) mm: points (x, y) on the board whose convex hull each piece hides.

    These are the corners of its foot, and the points where the rays past its top meet the board.
    Eight of them are for the piece on the paper, and eight for the piece on top of what may be
    hidden beneath it.
    """
    feet = []
    heights_mm = []
    for piece in placed:
        # A little higher than its marker, and as wide as what may be beneath it.
        size_mm = np.array(kit.tops_mm[piece.face.name])
        height_mm = stacked_mm = piece.face.height_mm + MAX_ABOVE_MARKER_MM
        if piece.hidden_face is not None:
            size_mm = np.maximum(size_mm, kit.tops_mm[piece.hidden_face.name])
            stacked_mm += piece.hidden_face.height_mm
        width, depth = size_mm + _MAX_EXCESS_MM
        foot = rectangle_corners_mm(0.0, 0.0, width, depth, math.radians(piece.turn_deg))
        feet += [foot + piece.centre_mm, foot + piece.stacked_centre_mm]
        heights_mm += [height_mm, stacked_mm]
    # (2N, 4, 2) mm: two feet of each piece, on the paper and on top of what may be beneath.
    outlines = np.reshape(feet, (-1, 4, 2))

    # A ray from the eye past the top meets the board farther off. Similar triangles give the
    # distance from the height of the eye above the top.
    #
    #     eye
    #         \
    #         top___
    #          |    \
    #     ____foot__behind__   board
    eye = pose.eye_mm
    above_mm = np.maximum(eye[2] - np.reshape(heights_mm, (-1, 1, 1)), 1.0)
    behind = eye[:2] + (outlines - eye[:2]) * eye[2] / above_mm
    return np.stack([outlines, behind], axis=1).reshape(-1, 16, 2)
