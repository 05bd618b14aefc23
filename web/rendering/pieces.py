"""Pieces as SVG: shape, letter, what lies, what is carried, stacks, badges, and pieces that cover several squares.

Units: a square is 100 wide; x to the right, y down. Colours come from the style sheet through classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat
from companion.games.screen import Badge

PIECE, SMALL, BURDEN = 72.0, 52.0, 46.0
"""Sizes of a piece, of one that is carried when it lies alone, and of one at its carrier's shoulder."""
_STEP = 12.0
"""Distance up and right of a piece that stands on another one."""


def use(
    drawing: str, x: float, y: float, size: float, classes: str = "", *, degrees: float = 0
) -> str:
    """Draw a drawing centred on a point, turned clockwise."""
    of_class = f' class="{classes}"' if classes else ""
    left, top = x - size / 2, y - size / 2
    turned = f' transform="rotate({degrees:g} {x:g} {y:g})"' if degrees else ""
    return f'<use href="#{drawing}" x="{left:g}" y="{top:g}" width="{size:g}" height="{size:g}"{of_class}{turned}/>'


def side_class(kit: Kit, seat: Seat | None) -> str:
    """Return the class that gives a seat's colours."""
    return f"side-{kit.sides[seat].colour}" if seat else "side-none"


def piece(kit: Kit, name: str, x: float, y: float, size: float = PIECE) -> str:
    """Draw a face of a piece with its letter. One that is turned over is an outline."""
    face = kit.face(name)
    colour = side_class(kit, face.seat)
    drawn = use(face.drawing, x, y, size, f"{colour} lying" if face.lies else colour)
    if not face.letter:
        return drawn
    height = size * (0.5 if len(face.letter) == 1 else 0.4)
    turned = f' transform="rotate(90 {x:g} {y:g})"' if face.lies else ""
    classes = "letter lying" if face.lies else f"letter {colour}"
    written = f'<text class="{classes}" x="{x:g}" y="{round(y + height * 0.35)}" font-size="{height:g}"{turned}>'
    return f"{drawn}{written}{escape(face.letter)}</text>"


def stack(kit: Kit, faces: Sequence[str], x: float, y: float, badge: Badge | None = None) -> str:
    """Draw what lies on a square, from the bottom up.

    What is carried is small at its carrier's shoulder.
    """
    carried = [face for face in faces if kit.face(face).carried]
    standing = [face for face in faces if face not in carried]
    if not standing:
        return "".join(
            piece(kit, face, x + 4 + 8 * i, y + 3, SMALL) for i, face in enumerate(carried)
        )
    size, lift = (PIECE, 3.0) if badge is None or badge.share is None else (58.0, -19.0)
    low = _STEP / 2 * (len(standing) - 1)
    places = [
        (x - low + _STEP * level, y + lift + low - _STEP * level) for level in range(len(standing))
    ]
    parts = [piece(kit, face, *place, size) for face, place in zip(standing, places, strict=True)]
    parts += [piece(kit, face, x + 33 - 14 * i, y - 31, BURDEN) for i, face in enumerate(carried)]
    return "".join(parts) + (_points(badge, x, y) if badge else "")


def _points(badge: Badge, x: float, y: float) -> str:
    """Draw what is told of a piece, in figures below it."""
    return (
        f'<text class="points" x="{x:g}" y="{y + 45:g}">{escape(badge.text)}</text>'
        if badge.text
        else ""
    )


# ---- pieces that cover several squares ------------------------------------------------------------------------------


def is_big(kit: Kit, name: str) -> bool:
    """Return whether it covers several squares."""
    return kit.face(name).size != (1, 1)


def big_pieces(kit: Kit, layout: Layout) -> Iterator[tuple[str, tuple[Square, ...]]]:
    """Yield every piece that covers several squares, with those squares."""
    squares_by_face: dict[str, list[Square]] = {}
    for square in sorted(layout):
        for face in layout[square]:
            if is_big(kit, face):
                squares_by_face.setdefault(face, []).append(square)
    for face, squares in squares_by_face.items():
        yield face, tuple(squares)


def big_piece(kit: Kit, name: str, centres: Sequence[tuple[float, float]]) -> str:
    """Draw a piece over all the squares that it covers, upright unless it lies across.

    Its owner's shape is printed on it: both sides' are of the same stone.
    """
    face = kit.face(name)
    xs, ys = [x for x, _ in centres], [y for _, y in centres]
    width, height = max(xs) - min(xs) + 100, max(ys) - min(ys) + 100
    x, y = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    size = (
        max(width, height) if face.size[0] == face.size[1] else 2 * max(100.0, min(width, height))
    )
    colour = side_class(kit, face.seat)
    drawn = use(face.drawing, x, y, size, colour, degrees=90 if width > height else 0)
    return (
        drawn + use(kit.sides[face.seat].drawing, x + 8, y + 14, 34, colour) if face.seat else drawn
    )


# ---- by themselves --------------------------------------------------------------------------------------------------


def picture(kit: Kit, name: str, burden: str = "") -> Markup:
    """Draw a piece in a line of text or on a key. `burden` is the face that it carries."""
    if is_big(kit, name):
        face = kit.face(name)
        drawn = use(face.drawing, 50, 50, 84, colour := side_class(kit, face.seat))
        if face.seat:
            drawn += use(kit.sides[face.seat].drawing, 54, 57, 30, colour)
    else:
        drawn = stack(kit, (name, burden) if burden else (name,), 50, 47)
    return Markup(f'<svg class="ic piece" viewBox="8 8 84 84" aria-hidden="true">{drawn}</svg>')
