"""Where the board is hard to read, and what to do about it: cut off, glare, too dark, out of focus,
too small.

Everything is measured in the picture itself, square by square. The worst measures become advice in
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
from vision.pose.pose import Points, Pose, corner_points_mm, flat, middle_mm, square_mm

MODULES = 7
"""Width of a marker in modules, with its black border."""
_MODULE_PX, _CARD_MODULE_PX = 2.3, 2.8
"""Pixels a module that suffice where the pose is known: 16 px a marker, measured. Cards have
printed figures besides.
"""
_DARK = 90
"""Brightness of paper (0 to 255) below which it is hard to tell from ink and noise."""
_FULL, _GLARE = 252, 0.10
"""Brightness that carries no information any more, and the maximum share of a square that may have
it.
"""
_BLUR_MODULES = 0.4
"""Modules run into each other when the blur (standard deviation) exceeds this share of their width.
"""
_SOFT_PX = 1.8
"""Blur of the sharpest edges in px beyond which a picture is out of focus."""
_REBLUR_PX = 1.5
_LEAST_SLOPE = 5.0
"""Minimum slope of an edge a pixel. Flatter ones are noise."""
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
"""Names of the board's corners in the order of their markers, with the sides on which each lies."""


@dataclass(frozen=True)
class Measure:
    """What was measured in one square of a picture."""

    paper: float
    """Brightness of its paper, 0 to 255."""
    glare: float
    """Share of it that is overexposed."""
    blur_px: float | None
    """Standard deviation of its blur. None if nothing in it has an edge."""
    module_px: float
    """Size of a marker's module at this place."""
    is_inside: bool
    """Whether all of it is inside the picture."""

    def weak(self, enough_px: float) -> tuple[Weakness, ...]:
        """Return what makes the square hard to read, worst first."""
        if not self.is_inside:
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
    """Return the pixels that a module of this kit's markers needs."""
    return _CARD_MODULE_PX if kit.deck else _MODULE_PX


_UNSEEN = Measure(0, 0, None, 0, False)
_FEWEST_PX = 16
"""Minimum size of a patch in which something is measured, in pixels."""


def measure_squares(luma: Luma, kit: Kit, pose: Pose) -> dict[Square, Measure]:
    """Measure every square that is no hole in a (height, width) picture."""
    board = kit.board
    squares = [square for square in board.squares if square not in board.holes]
    corners_mm = np.vstack([square_mm(board, square) for square in squares])
    quads = pose.to_px(corners_mm).reshape(-1, 4, 2)

    low, high = _boxes(quads, pose.size)
    (left, top), (right, bottom) = low.min(axis=0), high.max(axis=0)
    # Part of the picture that contains all of them.
    crop = luma[top:bottom, left:right]
    if min(crop.shape) < 3:
        return dict.fromkeys(squares, _UNSEEN)

    # Edges as they are, and after a known blur.
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
            is_inside=bool(pose.is_in_picture(quads[number]).all()),
        )
    return measures


def _boxes(quads: Points, size: tuple[int, int]) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return the first (N, 2) and the last pixels of boxes around quadrangles (N, 4, 2).

    Boxes have a margin of two pixels and are clipped to the picture.
    """
    low = (np.floor(quads.min(axis=1)) - 2).clip(0, size).astype(int)
    high = (np.ceil(quads.max(axis=1)) + 3).clip(0, size).astype(int)
    return low, high


def _ninth(patch: Luma) -> float:
    """Return the brightness below which nine pixels in ten stay. np.percentile takes ten times as
    long.
    """
    values = patch.ravel()
    place = int(0.9 * (values.size - 1))
    return float(np.partition(values, place)[place])


def _slopes(picture: Luma) -> NDArray[np.float32]:
    """Return the change of brightness a pixel."""
    # The kernel sums up to eight.
    across = cv2.Sobel(picture, cv2.CV_32F, 1, 0, scale=1 / 8)
    along = cv2.Sobel(picture, cv2.CV_32F, 0, 1, scale=1 / 8)
    return np.asarray(cv2.magnitude(across, along), np.float32)


def _blur(slopes: NDArray[np.float32], reblurred: NDArray[np.float32]) -> float | None:
    """Return the blur of the sharpest edges in px.

    A known extra blur reduces their slope the less, the softer they are.
    """
    values = slopes.ravel()
    # The steepest of a hundred pixels.
    number = max(8, values.size // 100)
    places = np.argpartition(values, -number)[-number:]
    top = values[places]
    if float(np.median(top)) < _LEAST_SLOPE:
        return None
    # Variances of two Gaussians add up.
    ratio = float(np.median(top / np.maximum(reblurred.ravel()[places], 1e-3)))
    return _REBLUR_PX / math.sqrt(max(ratio * ratio - 1, 1e-3))


# ---- advice --------------------------------------------------------------------------------------


def advise_blindly(luma: Luma) -> tuple[Advice, ...]:
    """Return what may be wrong with a picture in which no board is found."""
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
    # Number of squares by weakness.
    found: list[tuple[int, Advice]] = []
    if cut := _cut_off(kit.board, pose):
        # A corner outside is worse than anything else, because the pose depends on it.
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
    # There is one piece of advice for each weakness.
    where = places(kit, squares, len(measures))
    if kind is Weakness.GLARE:
        if len(squares) > 0.8 * len(measures):
            why = say("The picture is too bright everywhere.")
            return Advice(say("Less light, or unlock the exposure"), why, kind)
        return Advice(say("Move the lamp"), say("It is reflected on {places}.", places=where), kind)
    if kind is Weakness.DARK:
        # Light for the whole board, or for a part of it.
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
    """Return advice on how much nearer the camera must come until the smallest markers have enough
    pixels.
    """
    # The worst square decides.
    farthest = min(squares, key=lambda square: measures[square].module_px)
    least = measures[farthest].module_px
    enough = enough_px(kit)
    why = say(
        "Markers on {places} have {least} px per module; {enough} is enough.",
        places=where,
        least=round(least, 1),
        enough=round(enough, 1),
    )
    # Distance to that square.
    there = flat(np.array([kit.board.centre_mm(farthest)]))[0]
    away = float(np.linalg.norm(pose.eye_mm - there))

    # Size is inversely proportional to distance.
    by_mm = away * (1 - least / enough)
    middle = middle_mm(kit.board)[0]
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
    """Return whether the whole board still fits into the picture at this magnification."""
    # Present width and height, and those after it.
    corners = pose.to_px(board_outline_mm(board))
    wanted = np.ptp(corners, axis=0) * growth
    return bool((wanted <= 0.98 * np.array(pose.size)).all())


def _cut_off(board: Board, pose: Pose) -> Advice | None:
    """Return advice on corner markers that lie outside of the picture."""
    # Corners that reach beyond the edge of the picture.
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

    # The sides on which all of them lie.
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
    """Return (4, 3) corners of the printed board with its strips and a margin."""
    # The strips lie below and above the squares.
    low, high = -board.strip_mm - margin_mm, board.height_mm + board.strip_mm + margin_mm
    left, right = -margin_mm, board.width_mm + margin_mm
    return flat(np.array([[left, high], [right, high], [right, low], [left, low]]))


def tilt_deg(pose: Pose) -> float:
    """Return the angle between the camera's axis and the vertical."""
    return math.degrees(math.acos(min(1.0, abs(float(pose.axes[2, 2])))))


def places(kit: Kit, squares: Iterable[Square], of: int) -> str:
    """Name squares in words, at most four of them. A board of cards has lanes instead."""
    # If it is nearly all of them no names are needed.
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
