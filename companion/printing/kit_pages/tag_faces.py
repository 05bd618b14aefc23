"""A tag with its measures, and what is printed around a piece's marker: a rim with letters or
drawings, or the stone of a piece of several squares.
"""

from __future__ import annotations

from companion.core.kit import Face, Kit, Seat, Side
from companion.printing.pdf_pen import DIGIT, STONE, WHITE, Pen, Point, printed_on, text_width
from companion.printing.tiling import Extent, quiet_mm

_MIN_RIM_MM = 2.4
"""Minimum width of a rim with writing. It could not be read in a narrower one."""
_THIN_MM = 1.0
_MAGNIFIED = 1.8
"""Size of a drawing divided by the width of the rim, through which only its middle shows. An eye or
a ring must be recognisable from a step away.
"""
_LETTER = 0.7
"""Height of a letter divided by the width of its rim, clear of the edges."""
_STONE_SIGN_MM = 10.0
_RIM_MM = 1.4
CAPTION_MM = 10.5
_PICTURE_MM = 10.0
_FOLD_DOWN_MM = 6.0
_APRON_MM = 12.0
MIN_APRON_MM = 3.8
_PLAY_MM = 0.3
_LEAST_MM = 24.0
"""Minimum width of a cut-out with its caption."""


def side_of(kit: Kit, face: Face) -> Side | None:
    """Return the side that a face belongs to. None if it belongs to nobody."""
    return kit.sides.get(face.seat) if face.seat else None


class Tag:
    """One cut-out: the faces of a piece, each with its marker, and all measures in mm."""

    def __init__(self, kit: Kit, faces: tuple[tuple[Face, int], ...]) -> None:
        self.kit, self.faces = kit, faces
        self.first = first = faces[0][0]
        square = kit.board.square_mm
        white = kit.tag_mm + 2 * quiet_mm(kit.tag_mm)
        self.is_big = first.size != (1, 1)
        is_wide = kit.has_wide_rim(first)
        folds_down = len(faces) == 1 and first.height_mm >= _FOLD_DOWN_MM and not self.is_big
        # the rim gets what the square has left beside the marker and its white
        self.rim = max(0.0, min(_RIM_MM, (square - white) / 2))
        if is_wide:
            self.rim = max(self.rim, (kit.tops_mm[first.name][0] - white) / 2)
        self.apron = 0.0
        """Height of the drawing below the marker on a flat tag. 0 where the square has no room for
        it.
        """
        self.sides = min(_APRON_MM, first.height_mm) if folds_down else 0.0
        """Width of the flap that folds down over each side of a block."""
        # try to fit a drawing below the marker, with a whole rim or with half of one
        for rim in () if is_wide or self.is_big or self.sides else (_RIM_MM, _RIM_MM / 2):
            flat = square - white - 2 * rim - _PLAY_MM
            if not self.apron and flat >= MIN_APRON_MM:
                self.rim, self.apron = rim, min(_APRON_MM, flat)
        self.outer, self.deep = (white + 2 * self.rim,) * 2
        """Width and depth of the cut-out for one face, without its drawings."""
        if self.is_big:
            self.outer, self.deep = kit.tops_mm[first.name]
        self.spine = first.height_mm if len(faces) > 1 and first.height_mm >= 1 else 0.0
        """Gap between two faces: the thickness of the piece between them."""
        has_drawing = self.is_big or self.sides or self.apron or len(faces) > 1
        self.picture = 0.0 if has_drawing else _PICTURE_MM
        """Height of a drawing below the cut-out. 0 if the cut-out has a drawing on it."""
        self.width = max(self.outer + 2 * self.sides, _LEAST_MM)
        # there is one spine fewer than faces
        self.cut = len(faces) * (self.deep + self.apron + self.spine) - self.spine + 2 * self.sides
        """Height of the cut-out."""
        self.height = self.cut + self.picture + CAPTION_MM


def print_top(pen: Pen, tag: Tag, face: Face, marker: int) -> None:
    """Draw a face with its marker, with its lower left corner at the origin."""
    if tag.is_big:
        _big_face(pen, tag, face)
    else:
        _face(pen, tag, face)
    pen.marker(marker, tag.outer / 2, tag.deep / 2, tag.kit.tag_mm)


def _face(pen: Pen, tag: Tag, face: Face) -> None:
    """Draw the rim of a tag at the origin. A wide rim names the piece on all four sides.

    A face with a sign shows it with its name to both players. A face that lies down is white with a
    thin edge, and its letters are turned by a right angle.
    """
    kit, outer, rim = tag.kit, tag.outer, tag.rim
    side = side_of(kit, face)
    pen.rim(outer, min(rim, _THIN_MM) if face.lies else rim, side, dotted=face.seat is Seat.NORTH)
    if not kit.has_wide_rim(face) or rim < _MIN_RIM_MM:
        return
    # white for a face that lies down, stone for one that belongs to nobody
    fill = WHITE if face.lies else side.rgb if side else STONE
    edge = _THIN_MM if face.lies else 0.0
    name = kit.letters.get(face.letter, face.letter)
    for turn in (0, 90, 180, 270):
        with pen.at(outer / 2, outer / 2, turn_deg=turn), pen.at(0, (edge + rim - outer) / 2):
            # names above and below, signs at both sides
            if face.sign and turn % 180 == 0:
                _sign_with_name(pen, face, name, (0.72 * outer, rim), fill)
            else:
                _sign(pen, face, rim - edge, fill, side)


def _sign_with_name(pen: Pen, face: Face, name: str, room: tuple[float, float], fill: str) -> None:
    """Draw a sign and a name side by side in the middle of a rim at the origin, on a plain
    background.
    """
    width, rim = room
    words = name.capitalize()
    picture = 0.9 * rim
    gap = 0.2 * rim
    size = min(0.6 * rim / DIGIT, (width - picture - gap) / text_width(words, 1.0, bold=True))
    wide = picture + gap + text_width(words, size, bold=True)
    pen.box(0, 0, wide + 0.8, 0.94 * rim, fill=fill)
    ink = printed_on(fill)
    pen.drawing(face.sign, (picture - wide) / 2, 0, picture, None, fill=ink)
    pen.text(wide / 2, -DIGIT * size / 2, words, size, bold=True, colour=ink, anchor="right")


def _sign(pen: Pen, face: Face, rim: float, fill: str, side: Side | None) -> None:
    """Draw in the middle of a rim at the origin a letter on a plain background, or the middle of a
    drawing.
    """
    if not face.letter:
        # enlarged, so that only the middle of the drawing fits the rim
        size = _MAGNIFIED * rim
        half = 0.47 * rim
        pen.box(0, 0, size, 2 * half, fill=fill)
        with pen.at(0, 0, clip=Extent(-size / 2, -half, size / 2, half)):
            pen.drawing(face.drawing, 0, 0, size, side)
        return
    size = _LETTER * rim / DIGIT
    # a face that lies down has its letter on its side
    with pen.at(0, 0, turn_deg=90 if face.lies else 0):
        wide = text_width(face.letter, size, bold=True)
        core = max(wide, _LETTER * rim) + 0.5
        pen.box(0, 0, core, 0.94 * rim, fill=fill)
        pen.label(0, -DIGIT * size / 2, face.letter, size, colour=printed_on(fill))


def print_picture(pen: Pen, kit: Kit, face: Face, size: float, place: Point) -> None:
    """Draw a face as screens show it: its drawing and its letter, `size` mm wide and centred at
    `place`.

    A face that lies down is drawn as outlines only.
    """
    side = None if face.lies else side_of(kit, face)
    pen.drawing(face.drawing, *place, size, side, plain=face.lies)
    if face.letter:
        high = 0.46 * size / DIGIT
        with pen.at(*place, turn_deg=90 if face.lies else 0):
            pen.label(
                0,
                -DIGIT * high / 2,
                face.letter,
                high,
                colour=printed_on(side.rgb if side else WHITE),
            )


def _big_face(pen: Pen, tag: Tag, face: Face) -> None:
    """Draw the top of a piece of several squares: stone, the sign of its side, and a white middle.

    The origin is its lower left corner.
    """
    width, depth = tag.outer, tag.deep
    tag_mm = tag.kit.tag_mm
    side = side_of(tag.kit, face)
    pen.rectangle(0, 0, width, depth, fill=STONE)
    with pen.at(width / 2, depth / 2, turn_deg=0 if width <= depth else 90):
        long = max(width, depth)  # drawings of pieces are upright
        pen.drawing(face.drawing, 0, 0, long, None)
    if side:
        # half-way between the white around the marker and the edge
        away = (width / 2 + tag_mm / 2 + quiet_mm(tag_mm)) / 2
        for turn in (0, 180):
            with pen.at(width / 2, depth / 2, turn_deg=turn):
                pen.dot(away, 0, 0.62 * _STONE_SIGN_MM, fill=WHITE)
                pen.drawing(side.drawing, away, 0, _STONE_SIGN_MM, side)
    white = tag_mm + 2 * quiet_mm(tag_mm)
    pen.box(width / 2, depth / 2, white, white, fill=WHITE)
    pen.outline(0, 0, width, depth, line_mm=0.3)
