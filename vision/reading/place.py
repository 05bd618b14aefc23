"""Fourth stage: find which face lies on which square, by the height of each piece, or which cards
lie open in which zone.

A wrong entry is worse than an unknown one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit
from vision.cards.reader import CardReader
from vision.detection.markers import Sighting
from vision.pieces.regions import squares_under
from vision.pieces.snapshots import Sheet
from vision.pose.pose import Points, Pose, rectangle_corners_mm
from vision.reading.look import NO_SQUARES, Look, Memory, Pieces, Placed

_ROUND_MM = 5.0
"""Maximum excess in mm of a piece's width over its tag."""
_ABOVE_MM = 3.0
"""Maximum height in mm of a piece above its marker."""
_SIZE, _CORNER_PX = 0.10, 1.0
"""Tolerance of a marker's side relative to a tag: a share, plus the effect of an error in px of its
corners.
"""
_AROUND = (0, 0), (1, 1), (-1, -1), (1, -1), (-1, 1)
_EDGE_MM, _EDGE_SHARE = 1.5, 0.05
"""Margin at the edge of a square, in mm and as a share of the pitch. A piece nearer to the edge may
lie on the next square.
"""
_MAX_OFF_SQUARES = 0.35
"""Maximum offset, in squares, of a piece of several squares. Beyond it, its squares are
uncertain.
"""
_MAX_OFF_DEG = 42.0
"""Maximum rotation of an oblong piece from the files and ranks. Beyond it, the piece lies neither
along nor across.
"""
_SHARES = np.linspace(0.04, 0.96, 9)
"""Sample points along the sides of a piece of several squares. Squares that it covers by less are
not counted.
"""
_MIN_ON_TOP_MM = 3.0
"""Minimum difference in height of two markers on a square to tell which one is on top."""
_MIN_MISPRINTS, _MAX_SIZE_SPREAD = 3, 0.12
"""Minimum number of pieces, and maximum spread of their sizes, to conclude that they were printed
at another scale than the board.
"""


def place(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Place all markers on the board, or read the open cards."""
    kit, pose = look.kit, look.pose
    if kit is None or pose is None:
        return look, replace(memory, last=None)
    if memory.kit is not kit:
        # Another board is in view: drop everything derived from the last one.
        sheet = None if kit.deck else Sheet(kit.board)
        cards = CardReader(kit, kit.deck) if kit.deck else None
        memory = replace(memory, kit=kit, sheet=sheet, bare_looks={}, cards=cards)
    if memory.cards is not None:
        cards_open = memory.cards.read(look.luma, pose, look.moving_px)
        return replace(look, cards=cards_open), replace(memory, last=None)
    pieces = placed_pieces(kit, pose, look.sightings, memory.located.unconfirmed)
    due = _squares_to_judge(look, kit, pose, pieces.placed, memory.resigned)
    return replace(look, pieces=pieces, asked=due), memory


def _squares_to_judge(
    look: Look, kit: Kit, pose: Pose, placed: Iterable[Placed], resigned: frozenset[Square]
) -> frozenset[Square]:
    """Return the squares to judge anew: all of them, or those that the due blocks affect."""
    before = look.before
    if before is None or before.pieces is None or look.due is None:
        return frozenset(kit.board.squares)

    # Squares whose paper is in these blocks, and squares with a possible piece that reaches into
    # them.
    paper, standing = squares_under(kit, pose, look.due)
    squares = paper | (standing - before.empty)
    known = set()
    for piece in before.pieces.placed:
        # A piece that is gone leaves its squares to be judged anew, ...
        known.add((piece.sighting, piece.beneath))
        if piece.sighting in look.gone:
            squares |= piece.squares
    for piece in placed:
        # ... and so does a new one. It may also cover what made a square unreadable.
        if (piece.sighting, piece.beneath) not in known:
            squares |= piece.squares | resigned
    return frozenset(squares)


# ---- pieces --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _MarkedPiece:
    """A piece's marker, its face, and the piece that may be hidden beneath it."""

    sighting: Sighting
    face: Face
    beneath: Face | None


def placed_pieces(
    kit: Kit, pose: Pose, sightings: Collection[Sighting], unconfirmed: frozenset[Square]
) -> Pieces:
    """Return where pieces lie: where the rays of these markers meet the plane of their height.

    A piece on one of the `unconfirmed` squares makes its squares doubtful.
    """
    times = Counter(map(attrgetter("marker"), sightings))
    beneath = _beneath(kit, set(times))
    seen, strangers = [], set()
    for sighting in sightings:
        marker = sighting.marker
        face = kit.face_of_marker(marker)
        # A marker of no piece of this kit, or of a piece that is there twice.
        if times[marker] > 1 or (face is None and marker not in kit.board.corners):
            strangers.add(marker)
        if face is not None:
            # Only pieces of one square can be stacked.
            below = beneath[face.carried] if face.size == (1, 1) else None
            seen.append(_MarkedPiece(sighting, face, below))
    placed = []
    for piece in _place_pieces(kit, pose, seen):
        # Two markers with the same id cannot be told apart.
        is_twin = times[piece.sighting.marker] > 1
        placed.append(replace(piece, fits=False) if is_twin else piece)
    faces, markers, doubtful = faces_on_squares(placed, unconfirmed)
    return Pieces(kit, pose, tuple(placed), tuple(sorted(strangers)), faces, markers, doubtful)


def _beneath(kit: Kit, in_view: Set[int]) -> dict[bool, Face | None]:
    """Return the tallest piece that may be hidden beneath a carried piece, and beneath any other.

    If a kit has carried pieces, only these share a square with another piece.
    """
    tallest: dict[bool, Face | None] = {True: None, False: None}
    has_carried = False
    for tag in kit.tags:
        face = tag[0][0]
        has_carried |= face.carried
        is_seen = not in_view.isdisjoint(dict(tag).values())
        # The tallest of those that are not in view.
        best = tallest[face.carried]
        if (
            not is_seen
            and face.size == (1, 1)
            and (best is None or face.height_mm > best.height_mm)
        ):
            tallest[face.carried] = face
    return {True: tallest[False], False: tallest[has_carried]}


def _place_pieces(kit: Kit, pose: Pose, seen: Sequence[_MarkedPiece]) -> list[Placed]:
    """Return the pieces whose markers' rays meet the board.

    All rays are computed at once, which is much faster.
    """
    if not seen:
        return []
    places, sides, turns = _rays(pose, seen)

    # Rays above the horizon meet no plane.
    is_met = np.isfinite(places).all(axis=(1, 2))
    heights = list(map(attrgetter("face.height_mm"), seen))
    # The uncertainty of the pose at each place.
    spots = np.column_stack([np.nan_to_num(places[:, 0]), heights])

    # Two standard deviations of each position.
    spreads = (2 * pose.spread_mm(spots)).tolist()
    sizes = (sides / kit.tag_mm).tolist()
    placed = []
    for number in np.flatnonzero(is_met).tolist():
        piece, spread = seen[number], spreads[number]
        size, turn = sizes[number], turns[number]
        middle, lifted = map(tuple, places[number].tolist())
        # A marker of another size is at another height, or was printed at another scale.
        fits = abs(size - 1) <= _SIZE + _CORNER_PX / piece.sighting.side_px
        if piece.face.size == (1, 1):
            # The square is sure only if all possible places are on it.
            margin = max(_EDGE_MM, _EDGE_SHARE * kit.board.pitch_mm) + spread
            squares, sure = _squares_near(kit.board, {middle, lifted}, margin)
        else:
            squares, sure = _squares_beneath(kit, piece.face, (*middle, turn), spread)
        placed.append(
            Placed(
                piece.face,
                piece.beneath,
                piece.sighting,
                middle,
                turn,
                squares,
                sure,
                fits,
                lifted,
                size,
            )
        )
    return placed


def _rays(pose: Pose, seen: Sequence[_MarkedPiece]) -> tuple[Points, Points, list[float]]:
    """Return where the markers' rays meet the planes of their heights: places (N, 2, 2) and sides
    (N,) in mm, and rotations in degrees.

    The second place holds if the piece lies on top of what may be beneath. NaN if they do not meet.
    """
    pixels, planes = [], []
    for piece in seen:
        sighting, height = piece.sighting, piece.face.height_mm
        # On top of another piece it is higher, and so nearer to the camera, than it seems.
        raised = height + piece.beneath.height_mm if piece.beneath else height
        # Its centre at both heights, and its corners at the lower one.
        pixels.append([sighting.centre_px, sighting.centre_px, *sighting.corners_px])
        planes.append([height, raised, *[height] * 4])
    places = pose.to_plane(np.reshape(pixels, (-1, 2)), np.ravel(planes)).reshape(-1, 6, 2)
    a, b, c, d = places[:, 2:].swapaxes(0, 1)

    # A square's area is half the cross product of its diagonals.
    x, y = (c - a).T
    u, v = (d - b).T
    # The direction of the print's upper edge, averaged over its upper and lower edges.
    right, up = (b - a + c - d).T
    turns = np.degrees(np.arctan2(up, right)).tolist()
    return places[:, :2], np.sqrt(np.abs(x * v - y * u) / 2), turns


def _squares_near(
    board: Board, spots: Iterable[tuple[float, float]], margin_mm: float
) -> tuple[frozenset[Square], bool]:
    """Return the squares of places that are known to within a margin, and whether all places are on
    the same square, or all beside the board.
    """
    # The place itself, and four diagonal offsets by the margin.
    places = set()
    for x, y in spots:
        for across, up in _AROUND:
            places.add(board.square_at(x + across * margin_mm, y + up * margin_mm))
    return frozenset(filter(None, places)), len(places) == 1


def _squares_beneath(
    kit: Kit, face: Face, place: tuple[float, float, float], spread_mm: float
) -> tuple[frozenset[Square], bool]:
    """Return the squares under a piece of several squares, and whether it lies on them properly.

    If it does not, the squares are all those that it may touch.
    """
    board, (x, y, turn_deg) = kit.board, place

    # The nearest proper position, and the offset from it in squares.
    size = face.turned_size(turn_deg)
    first, files, ranks = board.nearest_first(size, x, y)
    off = max(abs(files), abs(ranks)) + spread_mm / board.pitch_mm

    # Angle to the nearest right angle.
    askew = abs(turn_deg - 90 * round(turn_deg / 90)) if face.size[0] != face.size[1] else 0.0
    squares = frozenset(first.area(size))
    if off <= _MAX_OFF_SQUARES and askew <= _MAX_OFF_DEG and squares <= set(board.squares):
        return squares, True

    # It is not properly on any squares: collect all that its foot may touch.
    width, depth = kit.tops_mm[face.name]
    foot = rectangle_corners_mm(x, y, width + spread_mm, depth + spread_mm, math.radians(turn_deg))
    touched = set()

    # A grid of points over the foot, along two of its sides.
    for across in _SHARES:
        for along in _SHARES:
            place_mm = foot[0] + across * (foot[1] - foot[0]) + along * (foot[3] - foot[0])
            touched.add(board.square_at(*place_mm.tolist()))
    squares = frozenset(filter(None, touched))
    return squares, not squares


def faces_on_squares(
    placed: Iterable[Placed], unconfirmed: frozenset[Square] = NO_SQUARES
) -> tuple[dict[Square, str], dict[Square, int], frozenset[Square]]:
    """Return the face on top of each square, its marker, and the squares where the piece is
    uncertain.
    """
    # Pieces whose squares are certain. All others make their squares doubtful.
    by_square: dict[Square, list[Placed]] = defaultdict(list)
    doubtful: set[Square] = set()
    for piece in placed:
        if piece.sure and piece.fits and piece.squares.isdisjoint(unconfirmed):
            for square in piece.squares:
                by_square[square].append(piece)
        else:
            doubtful |= piece.squares
    seen, markers = {}, {}
    for square, pieces in by_square.items():
        # The upper one is the visible face.
        *_, top = sorted(pieces, key=attrgetter("face.height_mm", "face.carried"))
        for other in pieces:
            # A flag or a ball may lie beside its carrier on the square, as well as above or below
            # it.
            is_carried = len(pieces) == 2 and top.face.carried != other.face.carried
            is_clear = is_carried or top.face.height_mm - other.face.height_mm >= _MIN_ON_TOP_MM
            if other is not top and not (is_clear and top.face.size == other.face.size == (1, 1)):
                doubtful.add(square)
        # The face on top is certain.
        if square not in doubtful:
            seen[square] = top.face.name
            markers[square] = top.sighting.marker
    return seen, markers, frozenset(doubtful)


def misprinted_size(placed: Collection[Placed]) -> float | None:
    """Return the median size of misfitting pieces, relative to the size that this board asks for.

    None unless half of the pieces, and at least three, misfit and their sizes are alike.
    """
    off = []
    for piece in placed:
        if not piece.fits:
            off.append(piece.size)
    if len(off) < max(_MIN_MISPRINTS, len(placed) / 2) or max(off) - min(off) > _MAX_SIZE_SPREAD:
        return None
    # All alike, and none fits this board: another scale.
    return float(np.median(off))


# ---- what pieces hide ----------------------------------------------------------------------------


def bodies_mm(kit: Kit, pose: Pose, placed: Sequence[Placed]) -> Points:
    """Return (N, 16, 2) mm on the board: the outlines that each piece hides, its foot and what lies
    behind its top.

    The first half of the points is for the piece as it lies, the second for the piece on top of
    what may be beneath.
    """
    feet, heights = [], []
    for piece in placed:
        # A little higher than its marker, and as wide as what may be beneath it.
        size_mm = np.array(kit.tops_mm[piece.face.name])
        height = raised = piece.face.height_mm + _ABOVE_MM
        if piece.beneath is not None:
            size_mm = np.maximum(size_mm, kit.tops_mm[piece.beneath.name])
            raised += piece.beneath.height_mm
        width, depth = size_mm + _ROUND_MM
        foot = rectangle_corners_mm(0.0, 0.0, width, depth, math.radians(piece.turn_deg))
        feet += [foot + piece.middle_mm, foot + piece.lifted_mm]
        heights += [height, raised]
    # Two feet of each piece: as it lies, and on top of what may be beneath.
    outlines = np.reshape(feet, (-1, 4, 2))

    # A ray from the eye past the top meets the board farther off. Similar triangles give the
    # distance from the height of the eye above the top.
    eye = pose.eye_mm
    above = np.maximum(eye[2] - np.reshape(heights, (-1, 1, 1)), 1.0)
    behind = eye[:2] + (outlines - eye[:2]) * eye[2] / above
    return np.stack([outlines, behind], axis=1).reshape(-1, 16, 2)
