"""Pieces as SVG: their shapes and letters, stacks with badges, and pieces on several squares.

Pieces may lie turned over, or be carried by others. A kit is everything that is printed for a game.
A face is a side of one of its pieces, by its name. Units: a square is 100 wide. Points are complex
numbers, as `web.rendering.svg` explains.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from companion.core.grid import Square
from companion.core.kit import Face, Kit, Layout, Seat
from companion.games.screen import Badge
from web.rendering.svg import decorative_svg, text, use

# Size of a piece.
PIECE_SIZE = 72.0
# Size of a piece that others can carry, such as a flag, while nobody carries it.
SMALL_SIZE = 52.0
# Size of a carried piece at its carrier's shoulder.
CARRIED_SIZE = 46.0
# Size of a piece that leaves room for its hit points below it.
SIZE_WITH_POINTS = 58.0
# Offset from a piece to the piece on top of it: right and up.
_STACK_STEP = 12 - 12j


def side_class(kit: Kit, seat: Seat | None) -> str:
    """Return the CSS class with the colours of a seat's side, or of neither side."""
    return f"side-{kit.sides[seat].colour}" if seat else "side-none"


def draw_piece(kit: Kit, name: str, centre: complex, size: float = PIECE_SIZE) -> str:
    """Draw a face with its letter, as an outline if the piece lies turned over."""
    face = kit.face(name)
    colour = side_class(kit, face.seat)
    drawing = use(face.drawing, centre, size, f"{colour} lying" if face.lies else colour)
    if not face.letter:
        return drawing
    # two letters have to be smaller to fit
    height = size * (0.5 if len(face.letter) == 1 else 0.4)
    classes = "letter lying" if face.lies else f"letter {colour}"
    rotation = f' transform="rotate(90 {centre.real:g} {centre.imag:g})"' if face.lies else ""
    base = complex(centre.real, round(centre.imag + height * 0.35))
    attributes = f' class="{classes}" font-size="{height:g}"{rotation}'
    return drawing + text(escape(face.letter), base, attributes)


def draw_stack(kit: Kit, faces: Sequence[str], centre: complex, badge: Badge | None = None) -> str:
    """Draw the stack of a square, bottom piece first, with the text of its badge below it.

    Pieces that others can carry are drawn small at their carrier's shoulder. Without a carrier they
    are drawn side by side.
    """
    carried = [face for face in faces if kit.face(face).carried]
    standing = [face for face in faces if face not in carried]
    parts = []
    if not standing:
        for index, face in enumerate(carried):
            parts.append(draw_piece(kit, face, centre + (4 + 3j) + 8 * index, SMALL_SIZE))
        return "".join(parts)
    has_points = badge is not None and badge.share is not None
    size = PIECE_SIZE
    middle = centre + 3j
    if has_points:
        # leave room for the points below the piece
        size = SIZE_WITH_POINTS
        middle = centre - 19j
    # centre the stack by moving its lowest piece back by half of all steps
    lowest = middle - _STACK_STEP / 2 * (len(standing) - 1)
    for level, face in enumerate(standing):
        parts.append(draw_piece(kit, face, lowest + level * _STACK_STEP, size))
    for index, face in enumerate(carried):
        parts.append(draw_piece(kit, face, centre + (33 - 31j) - 14 * index, CARRIED_SIZE))
    if badge and badge.text:
        parts.append(text(escape(badge.text), centre + 45j, ' class="points"'))
    return "".join(parts)


# ---- pieces that cover several squares -----------------------------------------------------------


def is_big(kit: Kit, name: str) -> bool:
    """Return whether a piece covers several squares."""
    return kit.face(name).size != (1, 1)


def big_piece_squares(kit: Kit, layout: Layout) -> dict[str, list[Square]]:
    """Return the squares of every piece that covers several."""
    squares_by_face: dict[str, list[Square]] = {}
    for square in sorted(layout):
        for face in layout[square]:
            if is_big(kit, face):
                squares_by_face.setdefault(face, []).append(square)
    return squares_by_face


def draw_big_piece(kit: Kit, name: str, centres: Sequence[complex]) -> str:
    """Draw a piece over all the squares that it covers, rotated if it lies across.

    The drawing of a piece of 1 x 2 squares is upright, in a box of 2 x 2.
    """
    face = kit.face(name)
    xs = [centre.real for centre in centres]
    ys = [centre.imag for centre in centres]
    width = max(xs) - min(xs) + 100
    height = max(ys) - min(ys) + 100
    middle = complex(max(xs) + min(xs), max(ys) + min(ys)) / 2
    is_square = face.size[0] == face.size[1]
    size = max(width, height) if is_square else 2 * min(width, height)
    return _draw_big_with_owner(kit, face, middle, size, 34, degrees=90 if width > height else 0)


def _draw_big_with_owner(
    kit: Kit, face: Face, middle: complex, size: float, print_size: float, *, degrees: float = 0
) -> str:
    """Draw a big piece with the shape of its side on it.

    Its colour does not tell the side, because both sides' big pieces have the same colour.
    """
    colour = side_class(kit, face.seat)
    drawing = use(face.drawing, middle, size, colour, degrees=degrees)
    if face.seat:
        owner = kit.sides[face.seat].drawing
        drawing += use(owner, middle + (8 + 14j) * print_size / 34, print_size, colour)
    return drawing


# ---- by themselves -------------------------------------------------------------------------------


def piece_icon(kit: Kit, name: str, carried: str = "") -> Markup:
    """Draw a piece as an icon for text or a key. `carried` is the face that it carries."""
    if is_big(kit, name):
        drawing = _draw_big_with_owner(kit, kit.face(name), 50 + 50j, 84, 30)
    else:
        drawing = draw_stack(kit, (name, carried) if carried else (name,), 50 + 47j)
    return decorative_svg("ic piece", "8 8 84 84", drawing)
