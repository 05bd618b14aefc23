"""Helpers: the ground truth of a rendered picture.

It lists every printed marker on the table: where the marker is in the picture, on which squares its
piece lies, and how much of it can be seen. A reading is judged by that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.pose.pose import Points, at_height, corner_points_mm, square_corners_mm
from vision.simulation.objects import RenderedBlock, fill_outline
from vision.simulation.pieces import Piece
from vision.simulation.render import LitTable
from vision.simulation.table import SimulatedTable

# Modules along a side of a marker, its black rim included.
_MODULES = 7
# Side of a marker with half a module of white around it, divided by the side of the marker alone. A
# marker is found only if that white is visible, too.
_WITH_WHITE = 8 / 7
# Number of subpixels along the side of a pixel. Visible shares are counted in subpixels.
_SUBPIXELS = 2


@dataclass(frozen=True, eq=False)
class Print:
    """One printed marker on the table."""

    marker: int
    face: str | None
    """The face of its piece, or None for a corner marker of the board."""
    squares: tuple[Square, ...]
    """The squares on which its piece lies. Empty beside the board, and for a corner marker."""
    corners_px: Points
    """(4, 2): the corners, upper left of the print first, clockwise."""
    visible_share: float
    """Share of the marker, with the white around it, that is in the picture and not covered."""
    veil: float
    """The most brightness, of 255, that reflections add to a pixel of the marker."""

    @property
    def module_px(self) -> float:
        """Width of a module in pixels, along the shortest side of the marker."""
        sides = np.linalg.norm(self.corners_px - np.roll(self.corners_px, -1, axis=0), axis=1)
        return float(sides.min()) / _MODULES


def prints_of(table: SimulatedTable) -> tuple[Print, ...]:
    """Return the markers in a table's picture: the corner markers, then those of the pieces.

    Pieces come in the order in which they are drawn.
    """
    lit_table, hand = table.lit_table(), table.hand_px()
    kit, pose = lit_table.kit, lit_table.pose
    pairs = [(block, table.piece(block.piece)) for block in table.blocks()]
    blocks = [(block, piece) for block, piece in pairs if piece.top.marker is not None]
    outlines = [_outline_px(lit_table, block) for block, _ in blocks]
    covers = [hand] if hand is not None else []
    prints = []
    for marker in kit.board.corners:
        x, y = kit.board.corner_centres_mm[marker]
        with_white = pose.to_px(
            at_height(square_corners_mm(x, y, kit.board.corner_mm * _WITH_WHITE))
        )
        corners = pose.to_px(corner_points_mm(kit.board, marker))
        visible = _visible_share(lit_table, with_white, [*outlines, *covers])
        prints.append(
            Print(marker, None, (), corners, visible, _strongest_veil(lit_table, corners))
        )
    # a piece is covered by the hand and by the pieces that are drawn after it
    for index, (block, piece) in enumerate(blocks):
        assert piece.top.marker is not None
        corners = _marker_px(lit_table, block, kit.tag_mm)
        with_white = _marker_px(lit_table, block, kit.tag_mm * _WITH_WHITE)
        visible = _visible_share(lit_table, with_white, [*outlines[index + 1 :], *covers])
        squares = _squares_of(kit, piece)
        veil = _strongest_veil(lit_table, corners)
        prints.append(Print(piece.top.marker, piece.top.name, squares, corners, visible, veil))
    return tuple(prints)


def _squares_of(kit: Kit, piece: Piece) -> tuple[Square, ...]:
    """Return all squares on which a piece lies, or none if it lies beside the board."""
    board, size = kit.board, kit.face(piece.top.name).turned_size(piece.turn_deg)
    if board.square_at(piece.x_mm, piece.y_mm) is None:
        return ()
    first = board.fit_block(size, piece.x_mm, piece.y_mm).first
    return Square(max(0, first.file), max(0, first.rank)).area(size)


def _marker_px(lit_table: LitTable, block: RenderedBlock, side_mm: float) -> Points:
    """Return the corners (4, 2) of a square of this side in the middle of a block's top."""
    corners = square_corners_mm(block.x_mm, block.y_mm, side_mm, block.turn_deg)
    return lit_table.pose.to_px(at_height(corners, block.z_mm + block.height_mm))


def _outline_px(lit_table: LitTable, block: RenderedBlock) -> Points:
    """Return the outline (N, 2) of a whole block in the picture, from its top to its bottom."""
    outline = np.vstack(
        [block.outline_px(lit_table.pose), block.outline_px(lit_table.pose, top=False)]
    ).astype(np.float32)
    return np.asarray(cv2.convexHull(outline).reshape(-1, 2), dtype=np.float64)


def _visible_share(lit_table: LitTable, outline: Points, covers: Iterable[Points]) -> float:
    """Return the share of an outline that is in the picture and that none of `covers` hides.

    The outline is drawn into a small mask in subpixels. Then everything is removed from the mask
    that is outside the picture or inside a cover, and the rest is counted.
    """
    low = np.floor(outline.min(axis=0)) - 1
    width, height = (math.ceil(length) * _SUBPIXELS for length in np.ptp(outline, axis=0) + 3)
    mask, other = np.zeros((height, width), np.uint8), np.zeros((height, width), np.uint8)

    def to_subpixels(points: Points) -> Points:
        return np.asarray((points - low + 0.5) * _SUBPIXELS - 0.5)

    fill_outline(mask, to_subpixels(outline))
    whole = cv2.countNonZero(mask)
    end = np.array([lit_table.view.width, lit_table.view.height]) - 0.5
    picture = np.array([(-0.5, -0.5), (end[0], -0.5), end, (-0.5, end[1])])
    fill_outline(other, to_subpixels(picture))
    mask &= other
    for cover in covers:
        # one that is far away would be drawn outside the mask
        if (cover.max(axis=0) >= low).all() and (cover.min(axis=0) <= outline.max(axis=0)).all():
            other[:] = 0
            fill_outline(other, to_subpixels(cover))
            mask &= ~other
    return cv2.countNonZero(mask) / max(1, whole)


def _strongest_veil(lit_table: LitTable, outline: Points) -> float:
    """Return the most brightness that reflections add to a pixel inside an outline."""
    if lit_table.veil is None:
        return 0.0
    inside = np.zeros(lit_table.veil.shape[:2], np.uint8)
    fill_outline(inside, outline)
    return float(lit_table.veil[inside > 0].max(initial=0.0))
