"""What is read, drawn into the camera's picture: the board's outline, its pieces, free squares and unread ones.

Units are pixels of the picture, x to the right and y down. Colours come from the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import SettledFrame
from web.rendering.pieces import piece

Point = tuple[float, float]


def picture_svg(seen: SettledFrame) -> Markup:
    """Return a drawing of the picture's size that is laid over it; empty where no board is seen."""
    kit = seen.kit
    if kit is None or seen.reading.game is None or not seen.board_px:
        return Markup()
    height, width = seen.frame.luma.shape
    marks = [_mark(seen, kit, square, corners) for square, corners in seen.squares_px.items()]
    outline = f'points="{_points(seen.board_px)}"'
    return Markup(
        f'<svg class="overlay" viewBox="0 0 {width} {height}" aria-hidden="true">'
        f'<polygon class="case" {outline}/><polygon class="edge" {outline}/>{"".join(marks)}</svg>'
    )


def _mark(seen: SettledFrame, kit: Kit, square: Square, corners: Sequence[Point]) -> str:
    """Return the plate of a piece, the dot of a free square, or the shutter over one that is not read."""
    x = sum(corner[0] for corner in corners) / len(corners)
    y = sum(corner[1] for corner in corners) / len(corners)
    side = math.sqrt(_area(corners))
    reading = seen.reading
    if square in reading.unknown:
        return f'<polygon class="unread" points="{_points(corners)}"/>'
    if cards := reading.fans.get(square):
        return _plate(x, y, 0.3 * side) + _count(len(cards), x, y, 0.36 * side)
    if square not in reading.seen:
        return "" if kit.deck else f'<circle class="dot" cx="{x:.0f}" cy="{y:.0f}" r="{0.07 * side:.0f}"/>'
    x, y = x + 0.3 * side, y - 0.3 * side
    return _plate(x, y, 0.28 * side) + piece(kit, reading.seen[square], round(x), round(y), round(0.36 * side))


def _plate(x: float, y: float, radius: float) -> str:
    return f'<circle class="plate" cx="{x:.0f}" cy="{y:.0f}" r="{radius:.0f}"/>'


def _count(number: int, x: float, y: float, size: float) -> str:
    return f'<text x="{x:.0f}" y="{y + 0.35 * size:.0f}" font-size="{size:.0f}">{escape(number)}</text>'


def _points(corners: Sequence[Point]) -> str:
    return " ".join(f"{x:.0f},{y:.0f}" for x, y in corners)


def _area(corners: Sequence[Point]) -> float:
    """Return the area of a polygon (the shoelace formula)."""
    following = [*corners[1:], corners[0]]
    return abs(sum(x * next_y - next_x * y for (x, y), (next_x, next_y) in zip(corners, following, strict=True))) / 2
