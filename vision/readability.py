"""Finds where the board is hard to read, and what to do about it: cut off, glare, too dark, out of
focus, too small.

1. Measure in each square of the picture how bright its paper is, how much of it glare hides, how
   blurred its edges are, and how large a marker's module is there (`measure_squares`).
2. Tell which of these make the square hard to read (`SquareMeasurement.weaknesses`).
3. Turn the weaknesses of all squares into a few sentences for the camera page (`advise`).

Nothing here changes what is read. Limits without a source were chosen by eye on rendered boards.
With stricter limits there is needless advice on squares that are read, with laxer ones there is
none on squares that stay unknown.
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
from vision.pose.pose import (
    Points,
    Pose,
    at_height,
    corner_points_mm,
    rectangle_corners_mm,
    square_outline_mm,
)

# Width of a marker with its black border, in modules. A module is one black or white square of it.
MODULES_PER_MARKER = 7

# Minimum width of a module in px where the pose is known. Measured: 16 px per marker suffice.
_MIN_MODULE_PX = 2.3

# The same for cards, which need more for their printed figures.
_MIN_CARD_MODULE_PX = 2.8

# Minimum brightness of paper, 0 to 255. Darker paper is hard to tell from ink and noise.
_MIN_PAPER = 90

# Minimum brightness, 0 to 255, of a pixel that carries no information.
_MIN_OVEREXPOSED = 252

# Maximum share of a square that may be overexposed.
_MAX_GLARE = 0.10

# Maximum blur (standard deviation), as a share of a module's width. With more, modules run into
# each other.
_MAX_BLUR_MODULES = 0.4

# Maximum blur of the sharpest edges in px. With more, a picture is out of focus.
_MAX_BLUR_PX = 1.8

# Standard deviation in px of a blur that is added to a picture. By what it does to the edges, the
# blur that they have had before is measured.
_REBLUR_PX = 1.5

# Minimum change of brightness per pixel at an edge. Smaller changes are noise.
_MIN_SLOPE = 5.0

# Percentile of brightness that counts as paper. Most of a square is paper, the rest may be glints.
_PAPER_PERCENTILE = 90

# Minimum number of pixels in which something is measured.
_MIN_PATCH_PX = 16

# Maximum share of the squares that are named one by one. If there are more, the sentence says “the
# whole board”.
_MAX_NAMED_SHARE = 0.8


@dataclass(frozen=True)
class SquareMeasurement:
    """What was measured in one square of a picture and a small margin around it."""

    paper_level: float
    """Brightness of its paper, 0 to 255."""
    glare_share: float
    """Share of its pixels that are overexposed, 0 to 1."""
    blur_px: float | None
    """Standard deviation of its blur. None if nothing in it has an edge."""
    module_px: float
    """Size of a marker's module in this square."""
    is_inside: bool
    """Whether all of it is inside the picture."""

    def weaknesses(self, needed_module_px: float) -> tuple[Weakness, ...]:
        """Return what makes the square hard to read.

        If it is cut off, only that is returned, as it has to be mended first.
        `needed_module_px` is the minimum width of a marker's module.
        """
        if not self.is_inside:
            return (Weakness.CUT,)
        weaknesses = []
        if self.glare_share > _MAX_GLARE:
            weaknesses.append(Weakness.GLARE)
        if self.paper_level < _MIN_PAPER:
            weaknesses.append(Weakness.DARK)
        if self.blur_px is not None and self.blur_px > _MAX_BLUR_MODULES * self.module_px:
            weaknesses.append(Weakness.BLUR)
        if self.module_px < needed_module_px:
            weaknesses.append(Weakness.SMALL)
        return tuple(weaknesses)


def needed_module_px(kit: Kit) -> float:
    """Return how many pixels a module of this kit's markers has to be wide to be read."""
    return _MIN_CARD_MODULE_PX if kit.deck else _MIN_MODULE_PX


# The measure of a square that is outside the picture.
_OUTSIDE_PICTURE = SquareMeasurement(
    paper_level=0, glare_share=0, blur_px=None, module_px=0, is_inside=False
)


def measure_squares(luma: Luma, kit: Kit, pose: Pose) -> dict[Square, SquareMeasurement]:
    """Return what is measured in each square on which pieces can be.

    `luma` is a (height, width) picture, and `pose` the pose of the board in it.
    """
    board = kit.board
    squares = [square for square in board.squares if square not in board.holes]
    corners_mm = np.vstack([square_outline_mm(board, square) for square in squares])
    quads = pose.to_px(corners_mm).reshape(-1, 4, 2)

    # Boxes around them with a margin of two pixels, within the picture.
    low = (np.floor(quads.min(axis=1)) - 2).clip(0, pose.size).astype(int)
    high = (np.ceil(quads.max(axis=1)) + 3).clip(0, pose.size).astype(int)

    # Edges as they are, and after a known blur.
    slopes = _slopes(luma)
    reblurred = _slopes(_reblur(luma))
    centres_mm = at_height(np.array([board.centre_mm(square) for square in squares]))
    module_mm = (kit.deck.marker_mm if kit.deck else kit.tag_mm) / MODULES_PER_MARKER
    modules_px = module_mm * pose.px_per_mm(centres_mm)
    measures = {}
    for index, square in enumerate(squares):
        (left, top), (right, bottom) = low[index], high[index]
        window = slice(top, bottom), slice(left, right)
        patch = luma[window]
        if patch.size < _MIN_PATCH_PX:
            measures[square] = _OUTSIDE_PICTURE
            continue
        measures[square] = SquareMeasurement(
            paper_level=float(np.percentile(patch[::2, ::2], _PAPER_PERCENTILE)),
            glare_share=float((patch >= _MIN_OVEREXPOSED).mean()),
            blur_px=_blur_px(slopes[window], reblurred[window]),
            module_px=float(modules_px[index]),
            is_inside=bool(pose.is_in_picture(quads[index]).all()),
        )
    return measures


def _reblur(picture: Luma) -> Luma:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), _REBLUR_PX), np.uint8)


def _slopes(picture: Luma) -> NDArray[np.float32]:
    """Return (height, width): the change of brightness per pixel, in any direction."""
    # The weights on either side of the kernel, times their distance, sum up to eight.
    right = cv2.Sobel(picture, cv2.CV_32F, 1, 0, scale=1 / 8)
    down = cv2.Sobel(picture, cv2.CV_32F, 0, 1, scale=1 / 8)
    return np.asarray(cv2.magnitude(right, down), np.float32)


def _blur_px(slopes: NDArray[np.float32], reblurred: NDArray[np.float32]) -> float | None:
    """Return the blur (standard deviation) of the sharpest edges in px.

    Returns None if there are no edges. `slopes` are the slopes of the picture, and `reblurred` the
    slopes after an extra blur of `_REBLUR_PX`. The softer an edge is, the less the extra blur
    reduces its slope.
    """
    values = slopes.ravel()
    # The steepest hundredth of all pixels.
    count = max(8, values.size // 100)
    steepest = np.argpartition(values, -count)[-count:]
    steepest_values = values[steepest]
    if float(np.median(steepest_values)) < _MIN_SLOPE:
        return None
    # A slope is inverse to the blur, and the variances of two Gaussian blurs add up:
    # ratio = sqrt(blur² + extra²) / blur. Solve this for the blur.
    ratio = float(np.median(steepest_values / np.maximum(reblurred.ravel()[steepest], 1e-3)))
    return _REBLUR_PX / math.sqrt(max(ratio * ratio - 1, 1e-3))


# ---- advice --------------------------------------------------------------------------------------


def advise_without_board(luma: Luma) -> tuple[Advice, ...]:
    """Return what may be wrong with a (height, width) picture in which no board is found.

    Returns one advice at most, and none if the picture itself is good.
    """
    if np.percentile(luma[::2, ::2], _PAPER_PERCENTILE) < _MIN_PAPER:
        return (Advice(say("Switch on a lamp"), say("The whole picture is dark."), Weakness.DARK),)
    blur_px = _blur_px(_slopes(luma)[::2, ::2], _slopes(_reblur(luma))[::2, ::2])
    if blur_px is None or blur_px > _MAX_BLUR_PX:
        why = say("The whole picture is not sharp.")
        return (Advice(say("Turn the lens, or unlock the focus"), why, Weakness.BLUR),)
    return ()


def advise(
    kit: Kit, pose: Pose, weaknesses: Mapping[Square, Sequence[Weakness]]
) -> tuple[Advice, ...]:
    """Return what to do about weak squares, the advice that helps most of them first.

    `weaknesses` has an entry for each square of the board in view, which is empty for a strong one.
    """
    # Each advice with the number of squares that it helps.
    advice: list[tuple[int, Advice]] = []
    corners_mm = np.vstack([corner_points_mm(kit.board, corner) for corner in kit.board.corners])
    if not pose.is_in_picture(pose.to_px(corners_mm)).all():
        # A corner outside is worse than anything else, because the pose depends on it.
        why = say("A corner of the board is cut off.")
        advice.append((len(weaknesses), Advice(say("Turn the camera a little"), why, Weakness.CUT)))
    for kind in Weakness:
        squares = [square for square, kinds in weaknesses.items() if kind in kinds]
        if squares and kind is not Weakness.CUT:
            places = name_squares(kit, squares, len(weaknesses))
            advice.append((len(squares), _advice_for(kind, places)))
    advice.sort(key=lambda item: -item[0])
    return tuple(item for _, item in advice)


def _advice_for(kind: Weakness, places: str) -> Advice:
    """Return the advice for a weakness. `places` names the weak squares."""
    if kind is Weakness.GLARE:
        text = say("Move the lamp, or unlock the exposure")
        return Advice(text, say("It is too bright on {places}.", places=places), kind)
    if kind is Weakness.DARK:
        return Advice(say("Switch on a lamp"), say("It is dark on {places}.", places=places), kind)
    if kind is Weakness.BLUR:
        text = say("Turn the lens, or unlock the focus")
        return Advice(text, say("The picture is not sharp on {places}.", places=places), kind)
    why = say("Markers on {places} are too small.", places=places)
    return Advice(say("Move the camera closer, and steeper"), why, kind)


def board_outline_mm(board: Board, margin_mm: float = 0.0) -> Points:
    """Return (4, 3) mm: corners of the printed board with its strips and a margin.

    The upper left one comes first, the others follow clockwise.
    """
    # The strips lie below and above the squares.
    height_mm = board.height_mm + 2 * (board.strip_mm + margin_mm)
    width_mm = board.width_mm + 2 * margin_mm
    middle_mm = board.width_mm / 2, board.height_mm / 2
    return at_height(rectangle_corners_mm(*middle_mm, width_mm, height_mm, 0.0))


def name_squares(kit: Kit, squares: Iterable[Square], total: int) -> str:
    """Return the names of squares as a part of a sentence. On a board of cards, name their lanes.

    If there are more than four names, the first three are named and the others counted. If there
    are more than four fifths of the `total` squares, this is “the whole board”.
    """
    sorted_squares = sorted(squares)
    if len(sorted_squares) > _MAX_NAMED_SHARE * total:
        return say("the whole board")
    names = []
    for square in sorted_squares:
        name = say("lane {lane}", lane=square.file) if kit.deck else str(square)
        # A lane has a zone of each seat.
        if name not in names:
            names.append(name)
    if len(names) > 4:
        first = joined(", ", names[:3])
        return say("{some} and {number} more", some=first, number=len(names) - 3)
    return listed(names)
