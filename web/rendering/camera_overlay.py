"""The reading as a layer over the camera's picture: outlines of the board and its pieces, and their
names.

Units are the picture's pixels. Points are complex numbers, as `web.rendering.svg` explains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from companion.core.i18n import joined, say
from companion.core.kit import Kit
from companion.core.ports import BoardSeen, SquareSeen
from web.rendering.pieces import piece
from web.rendering.svg import circle, labelled_svg, text

# Width of a picture in which lines have the widths below. They grow and shrink with the picture.
_WIDTH_PX = 900
# Width of a line.
_LINE_PX = 5.0
# Width of a line's casing.
_CASE_PX = 9.0
# Width of a piece's face as a fraction of its square.
_FACE_SHARE = 0.77
# Confidence from which on no percentage is shown.
_HIGH_CERTAINTY = 0.95


def overlay_svg(seen: BoardSeen) -> Markup:
    """Draw the layer for a picture of the board, of the same size and with a transparent
    background.
    """
    width, height = seen.size_px
    scale = width / _WIDTH_PX
    board = _cased_line([complex(*corner) for corner in seen.outline_px], scale)
    squares = [_square(seen.kit, square, scale) for square in seen.squares if square.corners_px]
    content = board + "".join(squares)
    return labelled_svg("seen", f"0 0 {width} {height}", read_words(seen), content)


def read_words(board: BoardSeen) -> str:
    """Return the reading in words, such as `purple robot a1, lime robot c4 (80 %)`."""
    read = []
    unknown = []
    for square in board.squares:
        name = square_words(board.kit, square)
        if not square.is_known:
            unknown.append(name)
        elif square.faces:
            doubt = ""
            if square.certainty < _HIGH_CERTAINTY:
                doubt = f"({100 * square.certainty:.0f} %)"
            read.append(joined(" ", (*square.faces, name, doubt)))
    words = joined(", ", read) or say("No piece is read")
    if not unknown:
        return words
    return joined(". ", (words, say("Not read: {squares}", squares=joined(", ", unknown))))


def square_words(kit: Kit, seen: SquareSeen) -> str:
    """Return the name of a square, or of a zone of cards such as `lane 0 attacker`."""
    square = seen.square
    if kit.deck:
        for seat, rank in kit.deck.zones.items():
            if rank == square.rank:
                colour = kit.sides[seat].name
                return say("lane {lane} {colour}", lane=square.file, colour=colour)
    return str(square)


def _square(kit: Kit, square: SquareSeen, scale: float) -> str:
    """Draw what is read on a square: a hatched patch if nothing is known, a dot if it is free, or
    else an outline and the piece.
    """
    corners = [complex(*corner) for corner in square.corners_px]
    centre = sum(corners) / len(corners)
    # mean of the diagonals over √2, because perspective distorts the sides
    side = (abs(corners[2] - corners[0]) + abs(corners[3] - corners[1])) / math.sqrt(8)
    if not square.is_known:
        return f'<polygon class="unread" points="{_points(corners)}"/>'
    if kit.deck:
        return _cards(square.faces, centre, side)
    if not square.faces:
        radius = min(7 * scale, side * 0.12)
        classes = "plate weak" if square.weak else "plate"
        return circle(classes, centre, radius, f' stroke-width="{radius * 0.4:g}"')
    outline = [centre + _FACE_SHARE * (corner - centre) for corner in corners]
    # thinner lines on distant squares, so that the piece stays visible
    line = _cased_line(outline, min(scale, side / 60))
    # the piece's face on a plate at the outline's upper right
    shoulder = complex(max(p.real for p in outline), min(p.imag for p in outline))
    radius = side * 0.28
    plate = circle("plate", shoulder, radius, f' stroke-width="{radius * 0.12:g}"')
    return line + plate + piece(kit, square.faces[-1], shoulder, radius * 1.35)


def _cards(names: Sequence[str], centre: complex, side: float) -> str:
    """Draw the names of a zone's cards one below the other, centred on the zone."""
    size = side * 0.17
    first = centre - 0.65j * size * (len(names) - 1)
    attributes = f' class="names" font-size="{size:g}"'
    lines = []
    for place, name in enumerate(names):
        lines.append(text(escape(name), first + 1.3j * size * place, attributes))
    return "".join(lines)


def _cased_line(outline: Sequence[complex], scale: float) -> str:
    """Draw a line with a casing of another colour, so that it is visible on any table."""
    points = _points(outline)
    return (
        f'<polygon class="case" points="{points}" stroke-width="{_CASE_PX * scale:g}"/>'
        f'<polygon class="line" points="{points}" stroke-width="{_LINE_PX * scale:g}"/>'
    )


def _points(outline: Sequence[complex]) -> str:
    return " ".join(f"{point.real:.1f},{point.imag:.1f}" for point in outline)
