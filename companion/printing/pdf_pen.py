"""A pen that draws printed pages as PDF. Only this module uses reportlab and svglib.

All lengths are in mm, font sizes too. Page axes: origin at the page's lower left, x to the right,
y up. Sentences are printed in the current language, see `companion.core.i18n`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import cv2
from reportlab.graphics import renderPDF
from reportlab.lib.colors import toColor
from reportlab.lib.units import mm
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas
from svglib.svglib import svg2rlg

from companion.core.drawings import standalone_svg
from companion.core.i18n import translate
from companion.core.kit import CARD_DICTIONARY, Side
from companion.printing.tiling import Rectangle

# The next five colours are those of the light theme in `web/static/base.css`. In their order they
# are for text, for less important text, for thin rules, for every second square of a board, and for
# pieces that belong to nobody.
INK = "#1B1814"
PALE_INK = "#51493F"
RULE = "#CDC2AC"
SECOND_TONE = "#EFE7D6"
STONE = "#9C9282"
WHITE = "#FFFFFF"
BLACK = "#000000"
# Width of a line for which no other width is given.
STROKE_MM = 0.5
# Width of a line to cut along.
HAIR_MM = 0.15
# Line spacing of a paragraph, in font sizes.
LEADING = 1.32
# Number of modules (black or white cells) along the side of a marker: five bits and the border on
# both sides.
MARKER_MODULES = 7
# Two of the fonts that every PDF reader has.
REGULAR = "Helvetica"
BOLD = "Helvetica-Bold"
# Height of a digit in `BOLD`. An em is the font size: 10 mm text has digits 7.2 mm high.
DIGIT_HEIGHT_EM = 0.72
# Width of a cell of `Pen.notation`.
CELL_WIDTH_EM = 0.62
# Height at which a table top seen at an angle is drawn, as a share of its depth (see `Pen.at`).
LEANING_SCALE = 0.5

# Converts a colour such as `#1B1814` for reportlab. Cached, because reportlab is slow to parse it.
_reportlab_colour = cache(toColor)
# Width of the strokes of `_STROKES_EM`, about as wide as those of the letters of `BOLD`.
_STROKE_WIDTH_EM = 0.145
# Lines that draw a character which the fonts set too high, too low or too small. Each line is a
# list of points, measured in em from the middle of the character's cell.
_STROKES_EM = {
    ">": (((-0.22, 0.24), (0.17, 0.0), (-0.22, -0.24)),),
    "^": (((-0.23, -0.02), (0.0, 0.25), (0.23, -0.02)),),
    "+": (((-0.25, 0.0), (0.25, 0.0)), ((0.0, -0.25), (0.0, 0.25))),
    "*": (
        ((0.0, -0.28), (0.0, 0.28)),
        ((-0.242, -0.14), (0.242, 0.14)),
        ((-0.242, 0.14), (0.242, -0.14)),
    ),
}
# Characters of `BOLD` that are wider than a cell, and how they are narrowed: by a scale along x, a
# scale along y, and the width in em of an extra stroke, which makes the narrowed lines as thick as
# those of other characters. Chosen by eye.
_SCALED_CHARACTERS = {"&": (0.8, 1.0, 0.0), "%": (0.65, 0.92, 0.02), "@": (0.6, 0.74, 0.05)}

_NBSP = "\N{NO-BREAK SPACE}"
# Stands for a non-breaking space while a text is broken into lines, because reportlab breaks lines
# at every kind of space.
_NBSP_PLACEHOLDER = "\N{MIDDLE DOT}"
# Replacements for characters that the fonts lack, or that reportlab does not handle when it breaks
# lines.
_REPLACEMENTS = str.maketrans(
    {
        "\N{NARROW NO-BREAK SPACE}": _NBSP,
        "\N{THIN SPACE}": _NBSP,
        "\N{MINUS SIGN}": "-",
        "\N{NON-BREAKING HYPHEN}": "-",
        "\N{SOFT HYPHEN}": "",
        "\N{RIGHTWARDS ARROW}": ">",
    }
)

Anchor = Literal["left", "middle", "right"]
# Share of a line's width that is to the left of its anchor.
_SHARE_BEFORE_ANCHOR: dict[Anchor, float] = {"left": 0.0, "middle": 0.5, "right": 1.0}
# A place (x, y) on the page, in mm.
Point = tuple[float, float]
# Rows of modules of a square code, such as a QR code, from the top. A byte 1 is a black module.
CodeRows = Sequence[bytes]


class Pen:
    """Draws one document, page by page, and returns it as PDF.

    Begin each page with `start_page`, and call `to_pdf` last. Equal calls give equal bytes. A pen
    may be used by one thread only.

    :param title: title of the document
    :param low_ink: whether to print card backs as thin lines
    """

    def __init__(self, title: str, *, low_ink: bool = False) -> None:
        self.low_ink = low_ink
        """Whether card backs are thin lines, see `shared_drawings.draw_shutter`."""
        self.width_mm = self.height_mm = 0.0
        """Size of the current page. 0 before the first page."""
        self._buffer = io.BytesIO()
        # no date and no random id in the file, so that equal calls give equal bytes
        self._canvas: Any = Canvas(self._buffer, invariant=1, pageCompression=1)
        self._canvas.setTitle(translate(title))
        self._canvas.setCreator("Tabletop Companion")

    def start_page(self, width_mm: float, height_mm: float) -> None:
        """Start a new page of this size."""
        if self.width_mm:
            self._canvas.showPage()
        self.width_mm = width_mm
        self.height_mm = height_mm
        self._canvas.setPageSize((width_mm * mm, height_mm * mm))
        # from here on everything is in millimetres
        self._canvas.scale(mm, mm)

    def to_pdf(self) -> bytes:
        """Finish the document and return it as PDF. The pen cannot be used any more."""
        self._canvas.showPage()
        self._canvas.save()
        return self._buffer.getvalue()

    @contextmanager
    def at(
        self,
        x: float,
        y: float,
        *,
        turn_deg: float = 0.0,
        scale: float = 1.0,
        lean: float = 0.0,
        clip: Rectangle | None = None,
    ) -> Iterator[None]:
        """Within a `with` block, draw in axes with their origin at (x, y), turned and scaled.

        :param turn_deg: angle of the turn, counter-clockwise
        :param lean: slope for drawing a table top seen at an angle. A point at y is moved to the
            right by `lean` times y, and drawn at only `LEANING_SCALE` times y. 0 is upright
        :param clip: area outside of which nothing is drawn, in the new axes. Lines on its edge are
            drawn whole
        """
        canvas = self._canvas
        canvas.saveState()
        canvas.translate(x, y)
        canvas.rotate(turn_deg)
        canvas.scale(scale, scale)
        if lean:
            canvas.transform(1, 0, lean, LEANING_SCALE, 0, 0)
        if clip:
            # slightly wider than `clip`, so that lines on its edge are whole
            left = clip.left - HAIR_MM
            bottom = clip.bottom - HAIR_MM
            frame = canvas.beginPath()
            frame.rect(left, bottom, clip.width + 2 * HAIR_MM, clip.height + 2 * HAIR_MM)
            canvas.clipPath(frame, stroke=0, fill=0)
        try:
            yield
        finally:
            canvas.restoreState()

    def both_ways(self, width_mm: float, height_mm: float) -> Iterator[bool]:
        """Run the body of a `for` loop twice: upright, then with axes turned by 180 degrees.

        They are turned about the middle of an area of this size at the origin. Yield whether the
        axes are turned.
        """
        with self.at(0, 0):
            yield False
        with self.at(width_mm, height_mm, turn_deg=180):
            yield True

    def line(
        self,
        *points: Point,
        stroke_mm: float = STROKE_MM,
        colour: str = INK,
        dash_mm: tuple[float, ...] = (),
    ) -> None:
        """Draw a line through all points.

        :param stroke_mm: width of the line
        :param dash_mm: lengths of a dash and of a gap. If it is empty, the line is solid
        """
        self._canvas.setStrokeColor(_reportlab_colour(colour))
        self._canvas.setLineWidth(stroke_mm)
        # called without lengths, this sets a solid line
        self._canvas.setDash(*dash_mm)
        self._canvas.drawPath(self._path(points))

    def rectangle(
        self,
        x: float,
        y: float,
        width_mm: float,
        height_mm: float,
        *,
        fill: str | None = None,
        stroke_mm: float = 0.0,
        stroke_colour: str = INK,
    ) -> None:
        """Draw a rectangle with its lower left corner at (x, y).

        :param fill: colour inside, or None for no fill
        :param stroke_mm: width of the outline, or 0 for no outline. All of it is inside the
            rectangle
        """
        self._canvas.setDash()
        if fill:
            self._canvas.setFillColor(_reportlab_colour(fill))
            self._canvas.rect(x, y, width_mm, height_mm, stroke=0, fill=1)
        if stroke_mm:
            self._canvas.setStrokeColor(_reportlab_colour(stroke_colour))
            self._canvas.setLineWidth(stroke_mm)
            # half of a stroke is on either side of its path, so the path moves in by half its width
            half = stroke_mm / 2
            self._canvas.rect(x + half, y + half, width_mm - stroke_mm, height_mm - stroke_mm)

    def centred_rectangle(
        self,
        x: float,
        y: float,
        width_mm: float,
        height_mm: float,
        *,
        fill: str | None = None,
        stroke_mm: float = 0.0,
    ) -> None:
        """Draw a rectangle centred at (x, y), see `rectangle`."""
        left = x - width_mm / 2
        bottom = y - height_mm / 2
        self.rectangle(left, bottom, width_mm, height_mm, fill=fill, stroke_mm=stroke_mm)

    def polygon(self, *points: Point, fill: str = INK) -> None:
        """Draw a filled polygon."""
        path = self._path(points)
        path.close()
        self._fill(path, fill)

    def _fill(self, path: Any, colour: str) -> None:
        self._canvas.setFillColor(_reportlab_colour(colour))
        self._canvas.drawPath(path, stroke=0, fill=1)

    def _path(self, points: Sequence[Point]) -> Any:
        path = self._canvas.beginPath()
        path.moveTo(*points[0])
        for point in points[1:]:
            path.lineTo(*point)
        return path

    def dot(self, x: float, y: float, radius_mm: float, fill: str = INK) -> None:
        """Draw a filled circle, centred at (x, y)."""
        self._canvas.setFillColor(_reportlab_colour(fill))
        self._canvas.circle(x, y, radius_mm, stroke=0, fill=1)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size_mm: float,
        *,
        bold: bool = False,
        colour: str = INK,
        anchor: Anchor = "left",
        max_width_mm: float = 0.0,
    ) -> float:
        """Draw one line of text with its base line at y. Return the width of the line.

        :param size_mm: font size. It shrinks if the line would be wider than `max_width_mm`
        :param anchor: which part of the line is at x: its left end, middle or right end
        :param max_width_mm: maximum width, or 0 for no limit
        """
        words = printable(words)
        font = BOLD if bold else REGULAR
        width: float = stringWidth(words, font, size_mm)
        if 0 < max_width_mm < width:
            size_mm = size_mm * max_width_mm / width
            width = max_width_mm
        self._canvas.setFont(font, size_mm)
        self._canvas.setFillColor(_reportlab_colour(colour))
        self._canvas.drawString(x - _SHARE_BEFORE_ANCHOR[anchor] * width, y, words)
        return width

    def centred_bold_text(
        self,
        x: float,
        y: float,
        words: str,
        size_mm: float,
        *,
        colour: str = INK,
        max_width_mm: float = 0.0,
    ) -> None:
        """Draw one line of bold text centred at x, see `text`."""
        self.text(
            x,
            y,
            words,
            size_mm,
            bold=True,
            colour=colour,
            anchor="middle",
            max_width_mm=max_width_mm,
        )

    def notation(
        self, x: float, y: float, words: str, size_mm: float, *, width_scale: float = 1.0
    ) -> None:
        """Draw values and suits of cards in bold, in cells of equal width.

        (x, y) is the lower left corner of the first cell. A cell is `CELL_WIDTH_EM` wide and
        `DIGIT_HEIGHT_EM` high, as factors of the font size.

        :param width_scale: factor of the width of cells and characters, but not of their height
        """
        cell = CELL_WIDTH_EM * size_mm * width_scale
        middle = y + DIGIT_HEIGHT_EM * size_mm / 2
        for index, character in enumerate(words):
            with self.at(x + (index + 0.5) * cell, middle, scale=size_mm):
                self._canvas.scale(width_scale, 1)
                for points in _STROKES_EM.get(character, ()):
                    self.line(*points, stroke_mm=_STROKE_WIDTH_EM, colour=BLACK)
                if character not in _STROKES_EM:
                    self._character(character)

    def _character(self, character: str) -> None:
        """Draw one character at font size 1 in the middle of its cell at the origin."""
        canvas = self._canvas
        x_scale, y_scale, stroke = _SCALED_CHARACTERS.get(character, (1.0, 1.0, 0.0))
        # the @ reaches below the base line
        bottom = -0.17 if character == "@" else 0.0
        canvas.scale(x_scale, y_scale)
        canvas.setFont(BOLD, 1.0)
        canvas.setFillColor(BLACK)
        canvas.setStrokeColor(BLACK)
        canvas.setLineWidth(stroke)
        # mode 2 fills and strokes, which makes the lines thicker
        canvas.drawCentredString(
            0, -(bottom + DIGIT_HEIGHT_EM) / 2, character, mode=2 if stroke else 0
        )

    def paragraph(
        self,
        x: float,
        y: float,
        width_mm: float,
        words: str,
        size_mm: float,
        *,
        bold: bool = False,
    ) -> float:
        """Draw text below y in lines of at most `width_mm`. Return the y below the last line."""
        for line in break_lines(words, width_mm, size_mm, bold=bold):
            y -= size_mm * LEADING
            self.text(x, y + (LEADING - 1) * size_mm, line, size_mm, bold=bold)
        return y

    def square_code(
        self, rows: CodeRows, x: float, y: float, size_mm: float, *, fill: str = BLACK
    ) -> None:
        """Draw a square code, such as a QR code, with its lower left corner at (x, y).

        All black modules are one path, so that no viewer and no printer shows seams between them.
        """
        module_mm = size_mm / len(rows)
        path = self._canvas.beginPath()
        for number, row in enumerate(rows, start=1):
            # one rectangle for each run of black modules
            for run in re.finditer(rb"\x01+", row):
                left = x + run.start() * module_mm
                bottom = y + size_mm - number * module_mm
                path.rect(left, bottom, len(run[0]) * module_mm, module_mm)
        self._fill(path, fill)

    def marker(self, marker: int, x: float, y: float, size_mm: float) -> None:
        """Draw the marker with this id, centred at (x, y). `size_mm` includes its black border."""
        # The dictionary of cards serves all kits, because it begins with the markers of the smaller
        # dictionary that other kits use.
        dictionary = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, CARD_DICTIONARY))
        bits = cv2.aruco.generateImageMarker(dictionary, marker, MARKER_MODULES)
        rows = [bytes(row) for row in bits == 0]
        self.square_code(rows, x - size_mm / 2, y - size_mm / 2, size_mm)

    def drawing(
        self,
        name: str,
        x: float,
        y: float,
        size_mm: float,
        side: Side | None = None,
        *,
        fill: str = WHITE,
        plain: bool = False,
    ) -> None:
        """Draw a drawing of `companion.core.drawings`, centred at (x, y).

        :param side: side in whose colour the drawing is filled, or None for the colour `fill`
        :param plain: whether nothing is drawn on the fill, not even dots
        """
        drawing = _vector_drawing(name, side.rgb if side else fill, plain)
        with self.at(x - size_mm / 2, y - size_mm / 2, scale=size_mm / drawing.width):
            renderPDF.draw(drawing, self._canvas, 0, 0)

    def hairline(self, *points: Point) -> None:
        """Draw a thin cutting line."""
        self.line(*points, stroke_mm=HAIR_MM)

    def fold(self, start: Point, end: Point) -> None:
        """Draw a dashed line to fold along, with white between the dashes."""
        self.line(start, end, stroke_mm=2 * HAIR_MM, colour=WHITE)
        self.line(start, end, stroke_mm=2 * HAIR_MM, dash_mm=(1.2, 0.8))

    def outline(
        self,
        x: float,
        y: float,
        width_mm: float,
        height_mm: float,
        *,
        stroke_mm: float = HAIR_MM,
        dash_mm: tuple[float, ...] = (),
    ) -> None:
        """Draw the outline of a rectangle to cut out, with its lower left corner at (x, y).

        Half of the line's width is outside the rectangle. The outline of `rectangle` is inside.
        """
        right = x + width_mm
        top = y + height_mm
        corners = ((x, y), (right, y), (right, top), (x, top), (x, y))
        self.line(*corners, stroke_mm=stroke_mm, dash_mm=dash_mm)


def printable(words: str) -> str:
    """Return a sentence in the current language, in letters that every PDF reader's fonts have.

    These are the letters of Windows-1252.

    >>> printable("«\N{NARROW NO-BREAK SPACE}¿Œuf, ni\N{SOFT HYPHEN}ño? »")
    '«\xa0¿Œuf, niño? »'
    >>> printable("\N{MINUS SIGN}1 \N{RIGHTWARDS ARROW} 2")
    '-1 > 2'
    """
    return translate(words).translate(_REPLACEMENTS).encode("cp1252", "replace").decode("cp1252")


def text_width(words: str, size_mm: float, *, bold: bool = False) -> float:
    """Return the width in mm of a line of text, in the current language."""
    width: float = stringWidth(printable(words), BOLD if bold else REGULAR, size_mm)
    return width


def break_lines(words: str, width_mm: float, size_mm: float, *, bold: bool = False) -> list[str]:
    """Break a paragraph into lines of at most `width_mm`.

    No line breaks at a non-breaking space, or between a number and its unit. If the last line would
    have only one word, the last word of the line above is moved down to it, provided that the line
    above has at least three words.

    >>> break_lines("une plaque de 5 mm", text_width("une plaque de 5", 3), 3)
    ['une plaque', 'de 5\\xa0mm']
    """
    # no line break between a number and its unit
    protected = re.sub(r"(?<=\d) (?=mm\b|g\b|%)", _NBSP_PLACEHOLDER, printable(words))
    protected = protected.replace(_NBSP, _NBSP_PLACEHOLDER)
    lines = simpleSplit(protected, BOLD if bold else REGULAR, size_mm, width_mm)
    lines = [line.replace(_NBSP_PLACEHOLDER, _NBSP) for line in lines]
    if len(lines) > 1 and " " not in lines[-1] and lines[-2].count(" ") > 1:
        before, _, word = lines[-2].rpartition(" ")
        last = f"{word} {lines[-1]}"
        if text_width(last, size_mm, bold=bold) <= width_mm:
            lines[-2:] = [before, last]
    return lines


def tint(colour: str, share: float) -> str:
    """Mix a `#rrggbb` colour with white. `share` is the colour's share of the mixture, 0 to 1."""
    parts = [round(255 + share * (part - 255)) for part in _rgb(colour)]
    return "#" + "".join(f"{part:02X}" for part in parts)


def _rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of `#rrggbb`, 0 to 255 each."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def ink_on(colour: str) -> str:
    """Return `INK` or `WHITE`, whichever has more contrast on a `#rrggbb` fill.

    The relative luminance of WCAG 2 decides. At a luminance of about 0.18, black and white have the
    same contrast.
    """
    # the exponent approximates sRGB's curve, closely enough to choose between two colours
    red, green, blue = ((part / 255) ** 2.2 for part in _rgb(colour))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return INK if luminance > 0.18 else WHITE


@cache
def _vector_drawing(name: str, colour: str, plain: bool) -> Any:
    """Return a drawing as a reportlab graphic, see `Pen.drawing`."""
    face = colour if plain else ink_on(colour)
    svg = standalone_svg(name, colour=colour, edge=BLACK if colour == BLACK else INK, face=face)
    return svg2rlg(io.BytesIO(svg.encode()))
