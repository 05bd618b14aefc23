"""What is read, drawn into the camera's picture: a line around the board and each piece, and what lies there.

Units are the picture's pixels, y down. Colours come from the style sheet.
"""

from __future__ import annotations

import math

from markupsafe import Markup, escape

from companion.core.i18n import joined, say, translate
from companion.core.kit import Kit
from companion.core.ports import BoardSeen, Outline, SquareSeen
from web.rendering.pieces import piece

_WIDTH_PX = 900
"""Width of a picture in which lines have the widths below. In others they grow with it."""
_LINE_PX, _CASE_PX = 5.0, 9.0
_PIECE = 0.77
"""Width of a piece's face in parts of its square."""
_SURE = 0.95
"""Sureness from which on no figure is shown."""


def seen_svg(seen: BoardSeen) -> Markup:
    """Return a layer for a picture of the board: it has the picture's size and nothing behind its lines."""
    width, height = seen.size_px
    scale = width / _WIDTH_PX
    drawn = "".join(_square(seen.kit, each, scale) for each in seen.squares if each.corners_px)
    words = escape(translate(read_words(seen)))
    return Markup(
        f'<svg class="seen" viewBox="0 0 {width} {height}" role="img" aria-label="{words}">'
        f"{_cased_line(seen.outline_px, scale)}{drawn}</svg>"
    )


def read_words(seen: BoardSeen) -> str:
    """Return what is read in words, such as `purple robot a1, lime robot c4 (80 %)`."""

    def name(each: SquareSeen) -> str:
        return square_words(seen.kit, each)

    read = [
        joined(
            " ", (*each.faces, name(each), "" if each.sure >= _SURE else f"({_percent(each.sure)})")
        )
        for each in seen.squares
        if each.known and each.faces
    ]
    unknown = [name(each) for each in seen.squares if not each.known]
    words = joined(", ", read) or say("No piece is read")
    return (
        joined(". ", (words, say("Not read: {squares}", squares=joined(", ", unknown))))
        if unknown
        else words
    )


def square_words(kit: Kit, each: SquareSeen) -> str:
    """Return a square by its name, a zone of cards as `lane 0 attacker`."""
    square = each.square
    sides = (
        {rank: kit.sides[seat].name for seat, rank in kit.deck.zones.items()} if kit.deck else {}
    )
    if square.rank not in sides:
        return str(square)
    return say("lane {lane} {colour}", lane=square.file, colour=sides[square.rank])


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _square(kit: Kit, each: SquareSeen, scale: float) -> str:
    """Draw a square: a shutter if it is not read, a dot if it is free, else the piece in a line."""
    middle = _middle_px(each.corners_px)
    side = math.sqrt(_area_px(each.corners_px))
    if not each.known:
        return f'<polygon class="unread" points="{_points(each.corners_px)}"/>'
    if kit.deck:
        return _cards(each, *middle, side)
    if not each.faces:
        radius = min(7 * scale, side * 0.12)
        weak = " weak" if each.weak else ""
        at = f'cx="{middle[0]:.1f}" cy="{middle[1]:.1f}"'
        return (
            f'<circle class="plate{weak}" {at} r="{radius:.1f}" stroke-width="{radius * 0.4:.1f}"/>'
        )
    outline = _shrink(each.corners_px, middle)
    x, y = max((x for x, _ in outline)), min((y for _, y in outline))
    radius = side * 0.28
    at = f'cx="{x:.1f}" cy="{y:.1f}"'
    plate = f'<circle class="plate" {at} r="{radius:.1f}" stroke-width="{radius * 0.12:.1f}"/>'
    drawing = piece(kit, each.faces[-1], round(x, 1), round(y, 1), round(radius * 1.35, 1))
    return _cased_line(outline, scale * min(1.0, side / (60 * scale))) + plate + drawing


def _cards(each: SquareSeen, x: float, y: float, side: float) -> str:
    """Draw the names of the cards of a zone in its middle, two a line."""
    size = side * 0.17
    lines = [" ".join(each.faces[start : start + 2]) for start in range(0, len(each.faces), 2)]
    top = y - size * 1.3 * (len(lines) - 1) / 2
    return "".join(_label(line, x, top + size * 1.3 * row, size) for row, line in enumerate(lines))


def _label(text: str, x: float, y: float, size: float) -> str:
    """Draw words on a plate of paper, so that they are read over any picture."""
    wide, high = size * (0.64 * len(text) + 0.5), size * 1.25
    return (
        f'<rect class="plate" x="{x - wide / 2:.1f}" y="{y - high / 2:.1f}" width="{wide:.1f}" height="{high:.1f}"'
        f' stroke-width="{size * 0.1:.1f}"/>'
        f'<text x="{x:.1f}" y="{y + size * 0.35:.1f}" font-size="{size:.1f}">{escape(text)}</text>'
    )


def _cased_line(outline: Outline, scale: float) -> str:
    """Draw a line of paper between two of ink, so that it is seen on any table."""
    points = _points(outline)
    case, line = round(_CASE_PX * scale, 2), round(_LINE_PX * scale, 2)
    return (
        f'<polygon class="case" points="{points}" stroke-width="{case}"/>'
        f'<polygon class="line" points="{points}" stroke-width="{line}"/>'
    )


def _points(outline: Outline) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in outline)


def _middle_px(outline: Outline) -> tuple[float, float]:
    count = len(outline)
    return sum(x for x, _ in outline) / count, sum(y for _, y in outline) / count


def _shrink(outline: Outline, middle: tuple[float, float]) -> Outline:
    return tuple(
        (middle[0] + (x - middle[0]) * _PIECE, middle[1] + (y - middle[1]) * _PIECE)
        for x, y in outline
    )


def _area_px(outline: Outline) -> float:
    """Return the area by the shoelace formula."""
    after = (*outline[1:], outline[0])
    return abs(sum(x * y2 - x2 * y for (x, y), (x2, y2) in zip(outline, after, strict=True))) / 2
