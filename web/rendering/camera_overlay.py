"""What the camera reads, drawn as a layer over its picture: the board, its pieces and their names.

Units are the picture's pixels. Points are complex numbers, as `web.rendering.svg` explains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from companion.core.i18n import joined, say
from companion.core.kit import Kit
from companion.core.ports import BoardSeen, SquareSeen
from web.rendering.pieces import draw_piece
from web.rendering.svg import circle, labelled_svg, text

# Width of the picture for which the widths of lines below hold. In a larger picture lines are wider
# in proportion.
_WIDTH_PX = 900
# Width of a line.
_LINE_PX = 5.0
# Width of a line's casing.
_CASE_PX = 9.0
# Width of a square below which its outline is thinner, so that the piece on it stays visible.
_THIN_BELOW_PX = 60
# Radius of the dot on a free square.
_DOT_PX = 7
# Maximum radius of that dot, as a fraction of the square's width.
_MAX_DOT_SHARE = 0.12
# Sizes as fractions of a square's width, chosen by eye.
#
# Width of the outline around a piece.
_OUTLINE_SHARE = 0.77
# Radius of the plate on which the piece's face is drawn.
_PLATE_SHARE = 0.28
# Height of the name of a card.
_NAME_SHARE = 0.17
# Size of a face as a multiple of the radius of its plate.
_FACE_ON_PLATE = 1.35
# Distance between the base lines of two names, as a multiple of their height.
_LINE_SPACING = 1.3
# Certainty of a reading from which on its percentage is not shown.
_HIGH_CERTAINTY = 0.95


def overlay_svg(seen: BoardSeen) -> Markup:
    """Draw the layer for a picture of the board. It has the picture's size and no background."""
    width, height = seen.size_px
    scale = width / _WIDTH_PX
    board = _draw_cased_line([complex(*corner) for corner in seen.outline_px], scale)
    squares = [
        _draw_square(seen.kit, square, scale) for square in seen.squares if square.corners_px
    ]
    content = board + "".join(squares)
    return labelled_svg("seen", f"0 0 {width} {height}", reading_words(seen), content)


def reading_words(board: BoardSeen) -> str:
    """Return the reading in words, such as `purple robot a1, lime robot c4 (80 %)`.

    A percentage is the certainty of a reading in doubt.
    """
    read_squares = []
    unknown = []
    for square in board.squares:
        name = square_words(board.kit, square)
        if not square.is_known:
            unknown.append(name)
        elif square.faces:
            doubt = ""
            if square.certainty < _HIGH_CERTAINTY:
                doubt = f"({100 * square.certainty:.0f} %)"
            read_squares.append(joined(" ", (*square.faces, name, doubt)))
    words = joined(", ", read_squares) or say("No piece is read")
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


def _draw_square(kit: Kit, square: SquareSeen, scale: float) -> str:
    """Draw what is read on a square.

    That is a hatched patch if nothing is known, a dot if the square is free, or else an outline and
    the piece. In a game of cards, a square is a zone, and the names of its cards are drawn.
    """
    corners = [complex(*corner) for corner in square.corners_px]
    centre = sum(corners) / len(corners)
    # The mean of the diagonals is √2 times the side of a square, and perspective distorts it less
    # than any single side. √8 is twice √2, for the mean of two.
    side_px = (abs(corners[2] - corners[0]) + abs(corners[3] - corners[1])) / math.sqrt(8)
    if not square.is_known:
        return f'<polygon class="unread" points="{_format_points(corners)}"/>'
    if kit.deck:
        return _draw_card_names(square.faces, centre, side_px)
    if not square.faces:
        radius = min(_DOT_PX * scale, _MAX_DOT_SHARE * side_px)
        classes = "plate weak" if square.weak else "plate"
        return circle(classes, centre, radius, f' stroke-width="{radius * 0.4:g}"')
    outline = [centre + _OUTLINE_SHARE * (corner - centre) for corner in corners]
    line = _draw_cased_line(outline, min(scale, side_px / _THIN_BELOW_PX))
    # the piece's face on a plate at the outline's upper right
    upper_right = complex(
        max(point.real for point in outline), min(point.imag for point in outline)
    )
    radius = _PLATE_SHARE * side_px
    plate = circle("plate", upper_right, radius, f' stroke-width="{radius * 0.12:g}"')
    return line + plate + draw_piece(kit, square.faces[-1], upper_right, _FACE_ON_PLATE * radius)


def _draw_card_names(names: Sequence[str], centre: complex, side_px: float) -> str:
    """Draw the names of a zone's cards one below the other, centred on the zone."""
    size_px = _NAME_SHARE * side_px
    step = _LINE_SPACING * size_px * 1j
    first = centre - step / 2 * (len(names) - 1)
    attributes = f' class="names" font-size="{size_px:g}"'
    lines = []
    for index, name in enumerate(names):
        lines.append(text(escape(name), first + step * index, attributes))
    return "".join(lines)


def _draw_cased_line(outline: Sequence[complex], scale: float) -> str:
    """Draw a line with a casing of another colour, so that it is visible on any table."""
    points = _format_points(outline)
    return (
        f'<polygon class="case" points="{points}" stroke-width="{_CASE_PX * scale:g}"/>'
        f'<polygon class="line" points="{points}" stroke-width="{_LINE_PX * scale:g}"/>'
    )


def _format_points(outline: Sequence[complex]) -> str:
    return " ".join(f"{point.real:.1f},{point.imag:.1f}" for point in outline)
