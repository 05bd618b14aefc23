"""A tag with its measures, and what is printed around a piece's marker.

A tag is the paper of one piece, which people cut out, see `tag_pages.py`. Around the marker is a
rim with letters or drawings, or stone on a piece that covers several squares. All lengths are in
mm. Lengths and shares without another reason were chosen by eye.
"""

from __future__ import annotations

from companion.core.kit import Face, Kit, Seat, Side
from companion.printing.pdf_pen import (
    DIGIT_HEIGHT_EM,
    STONE,
    WHITE,
    Pen,
    Point,
    ink_on,
    text_width,
)
from companion.printing.shared_drawings import draw_rim
from companion.printing.tiling import Rectangle, quiet_mm

# Minimum height of a drawing below a marker. A smaller one would not be recognised.
MIN_APRON_MM = 3.8

# Maximum height of a drawing on a cut-out, below the marker or on a flap.
_MAX_APRON_MM = 12.0
# Minimum width of a rim with letters or drawings. They could not be read in a narrower one.
_MIN_WRITING_RIM_MM = 2.4
# Maximum width of the rim of a face that lies down.
_MAX_LYING_RIM_MM = 1.0
# Size of a drawing on a rim, divided by the width of the rim. Only the middle of the drawing shows
# there. An eye or a ring must be recognisable from a step away.
_RIM_DRAWING_SCALE = 1.8
# Height of a letter on a rim, divided by the width of the rim. The rest keeps it clear of the
# edges.
_LETTER_SCALE = 0.7
# Size of a side's drawing on a piece of several squares.
_STONE_SIGN_MM = 10.0
# Maximum width of a rim without letters or drawings. The rim is narrower if the square has less
# space.
_MAX_PLAIN_RIM_MM = 1.4
# Height of a tag's name and markers below it.
_CAPTION_MM = 10.5
# Height of a drawing below a cut-out.
_PICTURE_MM = 10.0
# Minimum height of a block that gets flaps over its sides.
_MIN_LID_HEIGHT_MM = 6.0
# Gap between a tag and the lines of its square.
_CLEARANCE_MM = 0.3
# Minimum width of a cut-out with its caption.
_MIN_TAG_MM = 24.0


def side_of(kit: Kit, face: Face) -> Side | None:
    """Return the side that a face belongs to, or None if it belongs to nobody."""
    return kit.sides.get(face.seat) if face.seat else None


class Tag:
    """One cut-out: the faces of a piece, each with its marker, and all measures.

    A top is the part with one face's marker and rim. A lid has one top, and flaps that fold down
    over the sides of a block. Other cut-outs have a leaf for each face. A leaf is a top and, where
    there is space, an apron: a drawing that bends down in front of the piece. A spine is the paper
    between two leaves.

           a lid               one leaf         two leaves

           +------+
           | flap |
        +--+------+--+        +-------+        +-------+
        |  | top  |  |        |  top  |        |  top  |
        +--+------+--+        +-------+        +-------+
           |      |           | apron |        | spine |
           +------+           +-------+        +-------+
                                               |  top  |
                                               +-------+
    """

    def __init__(self, kit: Kit, faces: tuple[tuple[Face, int], ...]) -> None:
        self.kit = kit
        self.faces = faces
        """The faces of the piece, each with the id of its marker."""
        self.first_face = first = faces[0][0]
        square_mm = kit.board.square_mm
        top_width_mm, top_depth_mm = kit.tops_mm[first.name]
        self.marker_mm = kit.tag_mm
        """Side of the marker."""
        self.white_mm = self.marker_mm + 2 * quiet_mm(self.marker_mm)
        """Side of the white square in whose middle the marker is."""
        self.is_big = first.size != (1, 1)
        """Whether the piece covers several squares."""
        # a high block with one face gets a lid
        self.is_lid = len(faces) == 1 and first.height_mm >= _MIN_LID_HEIGHT_MM and not self.is_big

        has_wide_rim = kit.has_wide_rim(first)
        # the rim gets what the square has left beside the marker and its white
        spare_mm = square_mm - self.white_mm
        self.rim_mm = max(0.0, min(_MAX_PLAIN_RIM_MM, spare_mm / 2))
        if has_wide_rim:
            self.rim_mm = max(self.rim_mm, (top_width_mm - self.white_mm) / 2)
        self.apron_mm = 0.0
        """Height of the apron of each leaf. 0 if the square has no space for an apron."""
        self.flap_mm = min(_MAX_APRON_MM, first.height_mm) if self.is_lid else 0.0
        """Height of each of a lid's four flaps. 0 if the cut-out is no lid."""
        may_have_apron = not (has_wide_rim or self.is_big or self.is_lid)
        if may_have_apron:
            self._fit_apron(spare_mm)

        # size of each top
        self.top_width_mm = self.top_depth_mm = self.white_mm + 2 * self.rim_mm
        if self.is_big:
            self.top_width_mm = top_width_mm
            self.top_depth_mm = top_depth_mm
        self.spine_mm = first.height_mm if len(faces) > 1 and first.height_mm >= 1 else 0.0
        """Height of the spine between two leaves: the thickness of the piece. 0 if it is too thin
        for a spine.
        """

        has_drawing = self.is_big or self.is_lid or self.apron_mm or len(faces) > 1
        self.picture_mm = 0.0 if has_drawing else _PICTURE_MM
        """Height of a drawing below the cut-out. 0 if the cut-out has a drawing on it."""
        # width with flaps or caption, whichever is wider
        self.width_mm = max(self.top_width_mm + 2 * self.flap_mm, _MIN_TAG_MM)
        leaf_with_spine = self.top_depth_mm + self.apron_mm + self.spine_mm
        # there is a spine between leaves, so there is one spine fewer than leaves
        self.cut_height_mm = len(faces) * leaf_with_spine - self.spine_mm + 2 * self.flap_mm
        """Height of the cut-out, without the picture and the caption below it."""
        self.height_mm = self.cut_height_mm + self.picture_mm + _CAPTION_MM

    def _fit_apron(self, spare_mm: float) -> None:
        """Add an apron if its drawing fits below the marker, with a whole rim or with half of one.

        `spare_mm` is what the square has left beside the marker and its white.
        """
        for rim_mm in (_MAX_PLAIN_RIM_MM, _MAX_PLAIN_RIM_MM / 2):
            apron_mm = spare_mm - 2 * rim_mm - _CLEARANCE_MM
            if apron_mm >= MIN_APRON_MM:
                self.rim_mm = rim_mm
                self.apron_mm = min(_MAX_APRON_MM, apron_mm)
                return


def draw_top(pen: Pen, tag: Tag, face: Face, marker: int) -> None:
    """Draw the top with this face and its marker, with its lower left corner at the origin."""
    if tag.is_big:
        _draw_stone(pen, tag, face)
    else:
        _draw_rim(pen, tag, face)
    pen.marker(marker, tag.top_width_mm / 2, tag.top_depth_mm / 2, tag.marker_mm)


def _draw_rim(pen: Pen, tag: Tag, face: Face) -> None:
    """Draw the rim of a square face, with its lower left corner at the origin.

    A wide rim shows on all four edges which piece it is, by the letter or the drawing of the face.
    If the face has a sign, the two edges towards the players show the sign and the name instead. A
    face that lies down has a white rim with a thin coloured edge, and its letters are turned by a
    right angle.
    """
    kit = tag.kit
    width = tag.top_width_mm
    rim = tag.rim_mm
    side = side_of(kit, face)
    coloured_mm = min(rim, _MAX_LYING_RIM_MM) if face.lies else rim
    draw_rim(pen, width, coloured_mm, side, dotted=face.seat is Seat.NORTH)
    if not kit.has_wide_rim(face) or rim < _MIN_WRITING_RIM_MM:
        return
    # white for a face that lies down, and stone for one that belongs to nobody
    fill = WHITE if face.lies else side.rgb if side else STONE
    edge = _MAX_LYING_RIM_MM if face.lies else 0.0
    name = kit.letters.get(face.letter, face.letter)
    # from the middle of the face to the middle of the rim inside its coloured edge
    writing_y = (edge + rim - width) / 2
    for turn_deg in (0, 90, 180, 270):
        with pen.at(width / 2, width / 2, turn_deg=turn_deg), pen.at(0, writing_y):
            is_towards_player = turn_deg % 180 == 0
            if face.sign and is_towards_player:
                _draw_sign_with_name(pen, face, name, fill, rim, max_width=0.72 * width)
            else:
                _draw_letter_or_drawing(pen, face, rim - edge, fill, side)


def _draw_sign_with_name(
    pen: Pen, face: Face, name: str, fill: str, rim: float, *, max_width: float
) -> None:
    """Draw a face's sign and a name side by side on a rim, on a background of colour `fill`.

    The origin is in the middle of the rim, whose width is `rim`.
    """
    words = name.capitalize()
    sign_mm = 0.9 * rim
    gap = 0.2 * rim
    fitting_mm = (max_width - sign_mm - gap) / text_width(words, 1.0, bold=True)
    size_mm = min(0.6 * rim / DIGIT_HEIGHT_EM, fitting_mm)
    width = sign_mm + gap + text_width(words, size_mm, bold=True)
    pen.centred_rectangle(0, 0, width + 0.8, 0.94 * rim, fill=fill)
    ink = ink_on(fill)
    pen.drawing(face.sign, (sign_mm - width) / 2, 0, sign_mm, fill=ink)
    low = -DIGIT_HEIGHT_EM * size_mm / 2
    pen.text(width / 2, low, words, size_mm, bold=True, colour=ink, anchor="right")


def _draw_letter_or_drawing(pen: Pen, face: Face, rim: float, fill: str, side: Side | None) -> None:
    """Draw a face's letter on a rim, on a background of colour `fill`.

    If the face has no letter, draw the middle of its drawing instead. The origin is in the middle
    of the rim, whose width is `rim`.
    """
    if not face.letter:
        # enlarged, so that only the middle of the drawing fits the rim
        drawing_mm = _RIM_DRAWING_SCALE * rim
        half_width = drawing_mm / 2
        half_height = 0.47 * rim
        pen.centred_rectangle(0, 0, drawing_mm, 2 * half_height, fill=fill)
        with pen.at(0, 0, clip=Rectangle(-half_width, -half_height, half_width, half_height)):
            pen.drawing(face.drawing, 0, 0, drawing_mm, side)
        return
    size_mm = _LETTER_SCALE * rim / DIGIT_HEIGHT_EM
    # the letter of a face that lies down also lies on its side
    with pen.at(0, 0, turn_deg=90 if face.lies else 0):
        letter_width = text_width(face.letter, size_mm, bold=True)
        plate_width = max(letter_width, _LETTER_SCALE * rim) + 0.5
        pen.centred_rectangle(0, 0, plate_width, 0.94 * rim, fill=fill)
        pen.centred_bold_text(
            0, -DIGIT_HEIGHT_EM * size_mm / 2, face.letter, size_mm, colour=ink_on(fill)
        )


def draw_picture(pen: Pen, kit: Kit, face: Face, size_mm: float, centre: Point) -> None:
    """Draw a face as screens show it: its drawing and its letter, `size_mm` wide.

    A face that lies down is drawn as outlines only.
    """
    side = None if face.lies else side_of(kit, face)
    pen.drawing(face.drawing, *centre, size_mm, side, plain=face.lies)
    if face.letter:
        letter_mm = 0.46 * size_mm / DIGIT_HEIGHT_EM
        with pen.at(*centre, turn_deg=90 if face.lies else 0):
            pen.centred_bold_text(
                0,
                -DIGIT_HEIGHT_EM * letter_mm / 2,
                face.letter,
                letter_mm,
                colour=ink_on(side.rgb if side else WHITE),
            )


def _draw_stone(pen: Pen, tag: Tag, face: Face) -> None:
    """Draw the top of a piece of several squares, with its lower left corner at the origin.

    The top is stone, with the side's drawing twice, and a white middle for the marker.
    """
    width = tag.top_width_mm
    depth = tag.top_depth_mm
    side = side_of(tag.kit, face)
    pen.rectangle(0, 0, width, depth, fill=STONE)
    # drawings of pieces are upright, so turn them for a piece that is wider than deep
    with pen.at(width / 2, depth / 2, turn_deg=0 if width <= depth else 90):
        pen.drawing(face.drawing, 0, 0, max(width, depth))
    if side:
        # half-way between the white around the marker and the edge
        sign_x = (width / 2 + tag.white_mm / 2) / 2
        for turn_deg in (0, 180):
            with pen.at(width / 2, depth / 2, turn_deg=turn_deg):
                pen.dot(sign_x, 0, 0.62 * _STONE_SIGN_MM, fill=WHITE)
                pen.drawing(side.drawing, sign_x, 0, _STONE_SIGN_MM, side)
    pen.centred_rectangle(width / 2, depth / 2, tag.white_mm, tag.white_mm, fill=WHITE)
    pen.outline(0, 0, width, depth, stroke_mm=0.3)
