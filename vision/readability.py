"""Where the board is hard to read, and what to do about it: cut off, glaring, dark, not sharp, too
small.

All measures are taken in the picture itself, square by square; the worst of them becomes advice in
plain words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.i18n import joined, listed, say
from companion.core.kit import Board, Kit
from companion.core.ports import Advice, Weakness
from vision.detection.markers import Luma
from vision.pose.pose import Points, Pose, corner_points_mm, flat, square_mm

MODULES = 7
"""A marker is so many modules wide, its black rim included."""
_MODULE_PX, _CARD_MODULE_PX = 2.3, 2.8
"""So many pixels a module are enough where the pose is known: 16 px a marker, measured. Cards have
figures beside."""
_DARK = 90
"""Paper that is darker than this (of 255) is hard to tell from ink and noise."""
_FULL, _GLARE = 252, 0.10
"""Brightness that says nothing any more, and the share of a square that may have it."""
_BLUR_MODULES = 0.4
"""Modules begin to run into each other when the blur (standard deviation) is this share of their
width."""
_SOFT_PX = 1.8
"""A picture whose sharpest edges are softer is out of focus."""
_REBLUR_PX = 1.5
_LEAST_SLOPE = 5.0
"""Edges that rise by less a pixel are noise."""
_STEP_CM = 5
_STEEP_DEG = 42.0
_FINE_WIDTH = 1920

_SOUTH, _WEST, _NORTH, _EAST = say("South"), say("West"), say("North"), say("East")
_CORNERS = (
    (say("South-West"), {_SOUTH, _WEST}),
    (say("South-East"), {_SOUTH, _EAST}),
    (say("North-East"), {_NORTH, _EAST}),
    (say("North-West"), {_NORTH, _WEST}),
)
"""The corners of a board by name, in the order of its markers, and the sides on which each lies."""


@dataclass(frozen=True)
class Measure:
    """One square of a picture."""

    paper: float
    """How bright its paper is, of 255."""
    glare: float
    """The share of it that is burnt out."""
    blur_px: float | None
    """The standard deviation of its blur. None: nothing there has an edge."""
    module_px: float
    """How large a module of a marker would be there."""
    inside: float
    """The share of it that lies in the picture."""

    def weak(self, enough_px: float) -> tuple[Weakness, ...]:
        """Return what makes the square hard to read, worst first."""
        if self.inside < 0.98:
            return (Weakness.CUT,)
        weaknesses = []
        if self.glare > _GLARE:
            weaknesses.append(Weakness.GLARE)
        if self.paper < _DARK:
            weaknesses.append(Weakness.DARK)
        if self.blur_px is not None and self.blur_px > _BLUR_MODULES * self.module_px:
            weaknesses.append(Weakness.BLUR)
        if self.module_px < enough_px:
            weaknesses.append(Weakness.SMALL)
        return tuple(weaknesses)


def enough_px(kit: Kit) -> float:
    """Return how many pixels a module of this kit's markers should have."""
    return _CARD_MODULE_PX if kit.deck else _MODULE_PX


_UNSEEN = Measure(0, 0, None, 0, 0)
_FEWEST_PX = 16
"""Nothing is measured in a smaller patch."""


def measure_squares(luma: Luma, kit: Kit, pose: Pose) -> dict[Square, Measure]:
    """Return every square that is no hole, measured in a (height, width) picture."""
    board = kit.board
    squares = [square for square in board.squares if square not in board.holes]
    corners_mm = np.vstack([square_mm(board, square) for square in squares])
    quads = pose.to_px(corners_mm).reshape(-1, 4, 2)

    low, high = _boxes(quads, pose.size)
    (left, top), (right, bottom) = low.min(axis=0), high.max(axis=0)
    # The part of the picture in which all of them lie.
    crop = luma[top:bottom, left:right]
    if min(crop.shape) < 3:
        return dict.fromkeys(squares, _UNSEEN)

    # Edges as they are, and with a known blur on top.
    soft = np.asarray(cv2.GaussianBlur(crop, (0, 0), _REBLUR_PX), np.uint8)
    slopes = _slopes(crop), _slopes(soft)
    centres_mm = flat(np.array([board.centre_mm(square) for square in squares]))
    module_mm = (kit.deck.marker_mm if kit.deck else kit.tag_mm) / MODULES
    modules_px = module_mm * pose.px_per_mm(centres_mm)
    measures = {}
    for number, square in enumerate(squares):
        start, stop = low[number] - (left, top), high[number] - (left, top)
        here = slice(start[1], stop[1]), slice(start[0], stop[0])
        patch = crop[here]
        if patch.size < _FEWEST_PX:
            measures[square] = _UNSEEN
            continue
        measures[square] = Measure(
            paper=_ninth(patch[::2, ::2]),
            glare=float((patch >= _FULL).mean()),
            blur_px=_blur(slopes[0][here], slopes[1][here]),
            module_px=float(modules_px[number]),
            inside=_inside(quads[number], pose.size),
        )
    return measures


def _boxes(quads: Points, size: tuple[int, int]) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return the first (N, 2) and the last pixels of boxes round quadrangles (N, 4, 2).

    They have a margin of two pixels, and lie in a picture of this width and height.
    """
    low = (np.floor(quads.min(axis=1)) - 2).clip(0, size).astype(int)
    high = (np.ceil(quads.max(axis=1)) + 3).clip(0, size).astype(int)
    return low, high


def _ninth(patch: Luma) -> float:
    """Return the brightness that nine pixels of ten stay below.

    np.percentile takes ten times as long.
    """
    values = patch.ravel()
    place = int(0.9 * (values.size - 1))
    return float(np.partition(values, place)[place])


def _slopes(picture: Luma) -> NDArray[np.float32]:
    """Return how much brightness rises a pixel."""
    # Its kernel adds up to eight.
    across = cv2.Sobel(picture, cv2.CV_32F, 1, 0, scale=1 / 8)
    along = cv2.Sobel(picture, cv2.CV_32F, 0, 1, scale=1 / 8)
    return np.asarray(cv2.magnitude(across, along), np.float32)


def _blur(slopes: NDArray[np.float32], reblurred: NDArray[np.float32]) -> float | None:
    """Return how soft the sharpest edges are, px.

    A known blur on top takes the less of them the softer they are already.
    """
    values = slopes.ravel()
    # The steepest of a hundred.
    number = max(8, values.size // 100)
    places = np.argpartition(values, -number)[-number:]
    top = values[places]
    if float(np.median(top)) < _LEAST_SLOPE:
        return None
    # Two Gaussians add up by their squares.
    ratio = float(np.median(top / np.maximum(reblurred.ravel()[places], 1e-3)))
    return _REBLUR_PX / math.sqrt(max(ratio * ratio - 1, 1e-3))


def _inside(quad: Points, size: tuple[int, int]) -> float:
    """Return which share of a quadrangle lies in the picture."""
    width, height = size
    # Its part within the picture, by its whole.
    frame = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], np.float32)
    whole = cv2.contourArea(quad.astype(np.float32))
    if whole < 1:
        return 0.0
    return float(cv2.intersectConvexConvex(quad.astype(np.float32), frame)[0] / whole)


# ---- advice --------------------------------------------------------------------------------------


def advise_blindly(luma: Luma) -> tuple[Advice, ...]:
    """Return what may be wrong with a whole picture in which no board is found."""
    # A quarter of the pixels is enough.
    small = luma[::2, ::2]
    if _ninth(small) < _DARK:
        return (Advice(say("Switch on a lamp"), say("The whole picture is dark."), Weakness.DARK),)
    soft = np.asarray(cv2.GaussianBlur(luma, (0, 0), _REBLUR_PX), np.uint8)
    blur = _blur(_slopes(luma)[::2, ::2], _slopes(soft)[::2, ::2])
    if blur is None or blur > _SOFT_PX:
        why = say("The whole picture is not sharp.")
        return (Advice(say("Turn the lens, or unlock the focus"), why, Weakness.BLUR),)
    return ()


def advise(
    kit: Kit,
    pose: Pose,
    measures: Mapping[Square, Measure],
    weak: Mapping[Square, Sequence[Weakness]],
) -> tuple[Advice, ...]:
    """Return what to do about the weak places, the worst first."""
    # Each with the number of squares that it is about.
    found: list[tuple[int, Advice]] = []
    if cut := _cut_off(kit.board, pose):
        # A corner outside is worse than anything else: the pose rests on it.
        found.append((len(weak), cut))
    for kind in Weakness:
        squares = [square for square, kinds in weak.items() if kind in kinds]
        if squares and kind is not Weakness.CUT:
            found.append((len(squares), _advice(kind, squares, kit, pose, measures)))
    found.sort(key=lambda item: -item[0])
    return tuple(advice for _, advice in found)


def _advice(
    kind: Weakness,
    squares: Sequence[Square],
    kit: Kit,
    pose: Pose,
    measures: Mapping[Square, Measure],
) -> Advice:
    # Each weakness has one thing to do about it.
    where = places(kit, squares, len(measures))
    if kind is Weakness.GLARE:
        if len(squares) > 0.8 * len(measures):
            why = say("The picture is too bright everywhere.")
            return Advice(say("Less light, or unlock the exposure"), why, kind)
        return Advice(say("Move the lamp"), say("It is reflected on {places}.", places=where), kind)
    if kind is Weakness.DARK:
        # A lamp for all of it, or for a part.
        is_most = len(squares) > 0.5 * len(measures)
        text = say("Switch on a lamp") if is_most else say("Move the lamp closer to the dark part")
        return Advice(text, say("It is dark on {places}.", places=where), kind)
    if kind is Weakness.BLUR:
        text = say("Turn the lens, or unlock the focus")
        return Advice(text, say("The picture is not sharp on {places}.", places=where), kind)
    return _closer(squares, kit, pose, measures, where)


def _closer(
    squares: Sequence[Square], kit: Kit, pose: Pose, measures: Mapping[Square, Measure], where: str
) -> Advice:
    """Return how much nearer the camera must come until the smallest markers have pixels enough."""
    # The worst of them counts.
    least = min(measures[square].module_px for square in squares)
    enough = enough_px(kit)
    why = say(
        "Markers on {places} have {least} px per module; {enough} is enough.",
        places=where,
        least=round(least, 1),
        enough=round(enough, 1),
    )
    # The camera has to come nearer to that one.
    farthest = min(squares, key=lambda square: measures[square].module_px)
    there = flat(np.array([kit.board.centre_mm(farthest)]))[0]
    away = float(np.linalg.norm(pose.eye_mm - there))

    # What is nearer appears larger by as much.
    by_mm = away * (1 - least / enough)
    middle = flat(np.array([[kit.board.width_mm / 2, kit.board.height_mm / 2]]))[0]
    distance = float(np.linalg.norm(pose.eye_mm - middle))
    if by_mm < 0.6 * distance and _fits(kit.board, pose, distance / (distance - by_mm)):
        steps = math.ceil(by_mm / 10 / _STEP_CM)
        return Advice(
            say("Move it {number} cm closer", number=steps * _STEP_CM), why, Weakness.SMALL
        )
    if tilt_deg(pose) > _STEEP_DEG:
        text = say("Point it down more steeply")
    elif pose.size[0] < _FINE_WIDTH:
        text = say("Set the camera’s size to 1920x1080")
    else:
        text = say("Let the board fill the picture")
    return Advice(
        text, joined(" ", (why, say("Any closer, and it would not fit."))), Weakness.SMALL
    )


def _fits(board: Board, pose: Pose, growth: float) -> bool:
    """Tell whether the whole board fits into the picture when it appears so much larger."""
    # How wide and high it is now, and how it would be.
    corners = pose.to_px(board_outline_mm(board))
    wanted = np.ptp(corners, axis=0) * growth
    return bool((wanted <= 0.98 * np.array(pose.size)).all())


def _cut_off(board: Board, pose: Pose) -> Advice | None:
    """Return corner markers that lie outside the picture."""
    # Corners of which a part is beyond the edge of the picture.
    outside = []
    for corner, marker in zip(_CORNERS, board.corners, strict=True):
        if not pose.is_in_picture(pose.to_px(corner_points_mm(board, marker))).all():
            outside.append(corner)
    if not outside:
        return None
    names = listed(name for name, _ in outside)
    if len(outside) == 1:
        why = say("The corner {corner} of the board is cut off.", corner=names)
        return Advice(say("Turn the camera a little"), why, Weakness.CUT)

    # On which side do all of them lie?
    shared = set.intersection(*(sides for _, sides in outside))
    text = (
        say("Turn the camera towards {side}", side=shared.pop())
        if shared
        else say("Move the camera back")
    )
    return Advice(
        text, say("The corners {corners} of the board are cut off.", corners=names), Weakness.CUT
    )


def board_outline_mm(board: Board, margin_mm: float = 0.0) -> Points:
    """Return (4, 3): the corners of the printed board with its strips, and so much around it."""
    # The strips lie below and above.
    low, high = -board.strip_mm - margin_mm, board.height_mm + board.strip_mm + margin_mm
    left, right = -margin_mm, board.width_mm + margin_mm
    return flat(np.array([[left, high], [right, high], [right, low], [left, low]]))


def tilt_deg(pose: Pose) -> float:
    """Return the angle between the camera's axis and the vertical."""
    return math.degrees(math.acos(min(1.0, abs(float(pose.axes[2, 2])))))


def places(kit: Kit, squares: Iterable[Square], of: int) -> str:
    """Return squares in words, of a board with so many: at most four by name.

    On a board of cards it is the lanes.
    """
    # Nearly all of them need no names.
    sorted_squares = sorted(squares)
    if len(sorted_squares) > 0.8 * of:
        return say("the whole board")
    names = []
    for square in sorted_squares:
        name = say("lane {lane}", lane=square.file) if kit.deck else str(square)
        # A lane has a zone of each seat.
        if name not in names:
            names.append(name)
    if len(names) > 4:
        some, number = joined(", ", names[:3]), len(names) - 3
        if kit.deck:
            return say("{some} and {number} more lanes", some=some, number=number)
        return say("{some} and {number} more squares", some=some, number=number)
    return listed(names)
