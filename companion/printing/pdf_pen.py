"""A pen for printed pages, in millimetres. Only this module uses reportlab and svglib.

Page axes: origin at the page's lower left, x to the right, y up. Font sizes are also in mm.
Sentences are printed in the current language, see `companion.core.i18n`.
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
from reportlab.lib.units import mm
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas
from svglib.svglib import svg2rlg

from companion.core.drawings import SIGN, standalone
from companion.core.i18n import translate
from companion.core.kit import CARD_DICTIONARY, Side
from companion.printing.tiling import MARGIN_MM, Extent

INK, INK_2, RULE, TILE_2, STONE, WHITE, BLACK, HATCH = (
    "#1B1814",
    "#51493F",
    "#CDC2AC",
    "#EFE7D6",
    "#9C9282",
    "#FFFFFF",
    "#000000",
    "#4A4339",
)
"""Colours of the light theme. The background of a page is the paper itself."""
BAR_MM, STROKE_MM, HAIR_MM = 1.2, 0.5, 0.15
RULER_MM = 100
SHUTTER_MM = 5.0
"""Width of a stripe of the shutter."""
LEADING = 1.32
"""Line spacing of a paragraph, in font sizes."""
MODULES = 7
"""Modules along a marker: five bits and the border on both sides."""
REGULAR, BOLD = "Helvetica", "Helvetica-Bold"
DIGIT, CELL = 0.72, 0.62
"""Height of a digit in `BOLD` and width of a cell of `Pen.notation`, in font sizes."""
_RIM_DOTS_MM = 2.4
_STEM = 0.145
_STROKES = {
    ">": (((-0.22, 0.24), (0.17, 0.0), (-0.22, -0.24)),),
    "^": (((-0.23, -0.02), (0.0, 0.25), (0.23, -0.02)),),
    "+": (((-0.25, 0.0), (0.25, 0.0)), ((0.0, -0.25), (0.0, 0.25))),
    "*": (
        ((0.0, -0.28), (0.0, 0.28)),
        ((-0.242, -0.14), (0.242, 0.14)),
        ((-0.242, 0.14), (0.242, -0.14)),
    ),
}
"""Signs that fonts set too high, too low or too small, as strokes around the middle of their cell,
in font sizes.
"""
_NARROW_SIGNS = {"&": (0.8, 1.0, 0.0), "%": (0.65, 0.92, 0.02), "@": (0.6, 0.74, 0.05)}
"""Signs of `BOLD` that are wider than a cell: scale along x and y, and the stroke width that makes
their lines as thick as those of other signs.
"""

_NBSP, _PLACEHOLDER = "\N{NO-BREAK SPACE}", "\N{MIDDLE DOT}"
"""reportlab breaks lines at every kind of space. The placeholder replaces non-breaking spaces while
a text is broken into lines.
"""
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
_BEFORE_ANCHOR: dict[Anchor, float] = {"left": 0.0, "middle": 0.5, "right": 1.0}
"""Share of a line's width that is left of its anchor."""
Point = tuple[float, float]
Modules = Sequence[bytes]
"""Rows of a code, the upper one first. A byte 1 is a black module."""


class Pen:
    """Draws one document. `bytes` finishes it. Equal calls give equal bytes."""

    def __init__(self, title: str, *, low_ink: bool = False) -> None:
        self._low_ink = low_ink
        self.width_mm = self.height_mm = 0.0
        self._buffer = io.BytesIO()
        # no date and no random id in the file, so that equal calls give equal bytes
        self._canvas: Any = Canvas(self._buffer, invariant=1, pageCompression=1)
        self._canvas.setTitle(translate(title))
        self._canvas.setCreator("Tabletop Companion")

    def page(self, width_mm: float, height_mm: float) -> None:
        """Start a new page."""
        if self.width_mm:
            self._canvas.showPage()
        self.width_mm, self.height_mm = width_mm, height_mm
        self._canvas.setPageSize((width_mm * mm, height_mm * mm))
        # from here on everything is in millimetres
        self._canvas.scale(mm, mm)

    def bytes(self) -> bytes:
        """Return the finished PDF."""
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
        clip: Extent | None = None,
    ) -> Iterator[None]:
        """Move the origin, turn counter-clockwise, scale, and draw only within `clip`. Lines on the
        edge of `clip` are drawn too.

        With `lean`, y is halved and moves to the right by `lean` times y: a table top seen at an
        angle.
        """
        self._canvas.saveState()
        self._canvas.translate(x, y)
        self._canvas.rotate(turn_deg)
        self._canvas.scale(scale, scale)
        if lean:
            self._canvas.transform(1, 0, lean, 0.5, 0, 0)
        if clip:
            # slightly wider than asked, so that lines on the edge are whole
            left = clip.left - HAIR_MM
            bottom = clip.bottom - HAIR_MM
            frame = self._canvas.beginPath()
            frame.rect(left, bottom, clip.width + 2 * HAIR_MM, clip.height + 2 * HAIR_MM)
            self._canvas.clipPath(frame, stroke=0, fill=0)
        yield
        self._canvas.restoreState()

    def both_ways(self, width: float, height: float) -> Iterator[bool]:
        """Draw twice: as it is, and turned by half about the middle of width x height.

        Yields whether it is turned.
        """
        for is_turned in (False, True):
            with self.at(width * is_turned, height * is_turned, turn_deg=180 * is_turned):
                yield is_turned

    def line(
        self,
        *points: Point,
        width: float = STROKE_MM,
        colour: str = INK,
        dash: tuple[float, ...] = (),
    ) -> None:
        """Draw a line through all points."""
        self._canvas.setStrokeColor(colour)
        self._canvas.setLineWidth(width)
        self._canvas.setDash(*dash) if dash else self._canvas.setDash()
        self._canvas.drawPath(self._path(points))

    def rectangle(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str | None = None,
        stroke_mm: float = 0.0,
        colour: str = INK,
    ) -> None:
        """Draw a filled rectangle, an outline that lies wholly inside the given size, or both.

        `colour` is the outline's.
        """
        self._canvas.setDash()
        if fill:
            self._canvas.setFillColor(fill)
            self._canvas.rect(x, y, width, height, stroke=0, fill=1)
        if stroke_mm:
            self._canvas.setStrokeColor(colour)
            self._canvas.setLineWidth(stroke_mm)
            # half of a stroke lies on either side of its path, so the path moves in by half its
            # width
            half = stroke_mm / 2
            self._canvas.rect(x + half, y + half, width - stroke_mm, height - stroke_mm)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str | None = None,
        stroke_mm: float = 0.0,
    ) -> None:
        """Draw a rectangle, centred at (x, y)."""
        low = y - height / 2
        self.rectangle(x - width / 2, low, width, height, fill=fill, stroke_mm=stroke_mm)

    def shape(self, *points: Point, fill: str = INK) -> None:
        """Draw a filled polygon."""
        path = self._path(points)
        path.close()
        self._fill(path, fill)

    def _fill(self, path: Any, colour: str) -> None:
        self._canvas.setFillColor(colour)
        self._canvas.drawPath(path, stroke=0, fill=1)

    def _path(self, points: Sequence[Point]) -> Any:
        path = self._canvas.beginPath()
        path.moveTo(*points[0])
        for point in points[1:]:
            path.lineTo(*point)
        return path

    def dot(self, x: float, y: float, radius: float, fill: str = INK) -> None:
        """Draw a filled circle."""
        self._canvas.setFillColor(fill)
        self._canvas.circle(x, y, radius, stroke=0, fill=1)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float,
        *,
        bold: bool = False,
        colour: str = INK,
        anchor: Anchor = "left",
        room: float = 0.0,
    ) -> float:
        """Draw one line of text with its base line at y, in a smaller size if it is wider than
        `room` (0: no limit).

        Return its width.
        """
        words, font = printable(words), BOLD if bold else REGULAR
        width: float = stringWidth(words, font, size)
        if 0 < room < width:
            size = size * room / width
            width = room
        self._canvas.setFont(font, size)
        self._canvas.setFillColor(colour)
        self._canvas.drawString(x - _BEFORE_ANCHOR[anchor] * width, y, words)
        return width

    def label(
        self, x: float, y: float, words: str, size: float, *, colour: str = INK, room: float = 0.0
    ) -> None:
        """Draw one line of bold text with its middle at x, see `text`."""
        self.text(x, y, words, size, bold=True, colour=colour, anchor="middle", room=room)

    def notation(
        self, x: float, y: float, words: str, size: float, *, squeezed: float = 1.0
    ) -> None:
        """Draw values and suits in bold cells of equal width from x on, each `CELL` sizes wide and
        `DIGIT` sizes high.

        `squeezed` scales the width of the cells and their signs, but not the height.
        """
        cell = CELL * size * squeezed
        middle = y + DIGIT * size / 2
        for place, letter in enumerate(words):
            with self.at(x + (place + 0.5) * cell, middle, scale=size):
                self._canvas.scale(squeezed, 1)
                for points in _STROKES.get(letter, ()):
                    self.line(*points, width=_STEM, colour=BLACK)
                if letter not in _STROKES:
                    self._letter(letter)

    def _letter(self, letter: str) -> None:
        """Draw one letter at font size 1 in the middle of its cell at the origin."""
        wide, tall, thicker = _NARROW_SIGNS.get(letter, (1.0, 1.0, 0.0))
        # the @ reaches below the base line
        low = -0.17 if letter == "@" else 0.0
        self._canvas.scale(wide, tall)
        self._canvas.setFont(BOLD, 1.0)
        self._canvas.setFillColor(BLACK)
        self._canvas.setStrokeColor(BLACK)
        self._canvas.setLineWidth(thicker)
        # mode 2 fills and strokes, which makes the lines thicker
        self._canvas.drawCentredString(0, -(low + DIGIT) / 2, letter, mode=2 if thicker else 0)

    def paragraph(
        self,
        x: float,
        y: float,
        width: float,
        words: str,
        size: float,
        *,
        bold: bool = False,
    ) -> float:
        """Set text in broken lines below y. Return the y below the last one."""
        for line in broken(words, width, size, bold=bold):
            y -= size * LEADING
            self.text(x, y + (LEADING - 1) * size, line, size, bold=bold)
        return y

    def plate_text(self, words: str) -> None:
        """Draw a line of text centred above the origin, on white, so that it is readable on any
        background.
        """
        size = 2.8
        width = text_width(words, size)
        self.rectangle(-width / 2 - 0.4, -0.25 * size, width + 0.8, 1.2 * size, fill=WHITE)
        self.text(0, 0, words, size, anchor="middle")

    def scissors(self) -> None:
        """Draw a pair of scissors at the origin, cutting to the right along y = 0."""
        with self.at(0, 0, scale=5):
            for sign in (-1, 1):
                self.line((0.25, -0.16 * sign), (1.0, 0.14 * sign), width=0.09)
                self.dot(0.16, 0.23 * sign, 0.16)
                self.dot(0.16, 0.23 * sign, 0.08, fill=WHITE)

    def modules(self, rows: Modules, x: float, y: float, size: float, *, fill: str = BLACK) -> None:
        """Draw a code with its lower left corner at (x, y).

        All black modules are one path, so that no viewer and no printer shows seams between them.
        """
        module = size / len(rows)
        path = self._canvas.beginPath()
        for number, row in enumerate(rows, start=1):
            for run in re.finditer(rb"\x01+", row):
                left = x + run.start() * module
                bottom = y + size - number * module
                path.rect(left, bottom, len(run[0]) * module, module)
        self._fill(path, fill)

    def marker(self, marker: int, x: float, y: float, size: float) -> None:
        """Draw a marker of `companion.core.kit.CARD_DICTIONARY`, centred at (x, y). `size` includes
        its black border.
        """
        # it begins with the markers of `DICTIONARY`, so it serves boards, pieces and cards
        dictionary = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, CARD_DICTIONARY))
        bits = cv2.aruco.generateImageMarker(dictionary, marker, MODULES)
        rows = [bytes(row) for row in bits == 0]
        self.modules(rows, x - size / 2, y - size / 2, size)

    def drawing(
        self,
        name: str,
        x: float,
        y: float,
        size: float,
        side: Side | None,
        *,
        fill: str = WHITE,
        plain: bool = False,
    ) -> None:
        """Draw a drawing of `companion.core.drawings`, centred at (x, y).

        It has the side's colour, or `fill` without a side. With `plain`, nothing is printed on the
        fill, not even dots.
        """
        drawing = _picture(name, side.rgb if side else fill, plain)
        with self.at(x - size / 2, y - size / 2, scale=size / drawing.width):
            renderPDF.draw(drawing, self._canvas, 0, 0)

    def hairline(self, *points: Point) -> None:
        """Draw a thin cutting line."""
        self.line(*points, width=HAIR_MM)

    def fold(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Draw a dashed fold line, with white below the dashes."""
        self.line(start, end, width=2 * HAIR_MM, colour=WHITE)
        self.line(start, end, width=2 * HAIR_MM, dash=(1.2, 0.8))

    def outline(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        line_mm: float = HAIR_MM,
        dash: tuple[float, ...] = (),
    ) -> None:
        """Draw a rectangle to cut out."""
        right = x + width
        top = y + height
        corners = ((x, y), (right, y), (right, top), (x, top), (x, y))
        self.line(*corners, width=line_mm, dash=dash)

    def shutter(self, width: float, height: float, clip: Extent | None = None) -> None:
        """Draw the black diagonal shutter within `clip`, else within width x height.

        It looks the same after a half turn about the middle of width x height. Saving ink, it is
        only thin lines.
        """
        clip = clip or Extent(0, 0, width, height)
        reach = max(clip.width, clip.height)
        # stripes are symmetric about the middle, so a half turn changes nothing
        pairs = int(reach / (2 * SHUTTER_MM)) + 1
        with self.at(width / 2, height / 2, clip=clip.shifted(-width / 2, -height / 2)):
            if not self._low_ink:
                self.box(0, 0, 2 * reach, 2 * reach, fill=HATCH)
            stripe = STROKE_MM if self._low_ink else SHUTTER_MM
            with self.at(0, 0, turn_deg=-45):
                for pair in range(-pairs, pairs + 1):
                    self.box(2 * pair * SHUTTER_MM, 0, stripe, 2 * reach, fill=INK)

    def rim(self, size: float, width: float, side: Side | None, *, dotted: bool) -> None:
        """Draw the coloured frame of a tag at the origin, dotted for North. It is grey without a
        side.
        """
        colour = side.rgb if side else STONE
        inner = size - 2 * width
        self.rectangle(0, 0, size, size, stroke_mm=width, colour=colour)
        self.outline(width, width, inner, inner)
        if not dotted:
            return
        # dots at equal distances along all four sides, and only one at a corner
        low = width / 2
        high = size - width / 2
        count = max(1, round((high - low) / _RIM_DOTS_MM))
        for number in range(count):
            step = low + (high - low) * number / count
            for x, y in ((step, low), (high, step), (size - step, high), (low, size - step)):
                self.dot(x, y, min(0.25 * width, 0.45), fill=printed_on(colour))

    def bar(self, left: float, right: float, top: float) -> None:
        """Draw the heavy rule at the head of a page."""
        self.line((left, top - BAR_MM / 2), (right, top - BAR_MM / 2), width=BAR_MM)

    def head(self, title: str, words: str) -> None:
        """Draw the head of a page within its margins: a rule, the title, and one sentence at the
        right.
        """
        left = MARGIN_MM
        right = self.width_mm - MARGIN_MM
        top = self.height_mm - MARGIN_MM
        self.bar(left, right, top)
        width = self.text(left, top - 11.5, title, 10.5, bold=True, room=0.6 * (right - left))
        self.text(right, top - 11.5, words, 4.0, anchor="right", room=right - left - width - 6)

    def sign(self, x: float, y: float, width: float, height: float, *, words: str) -> None:
        """Draw the yellow signpost, which says what to do now, with its tip to the right."""
        tip = height / 2
        neck = x + width - tip
        top = y + height
        self.shape((x, y), (neck, y), (x + width, y + tip), (neck, top), (x, top), fill=SIGN)
        # as large as the height of the sign and the length of its words allow
        size = min(0.52 * height, (width - tip - 8) / text_width(words, 1.0, bold=True))
        self.text(x + 5, y + tip - DIGIT / 2 * size, words, size, bold=True)

    def foot(self, words: str, hint: str, counted: str = "") -> None:
        """Draw the foot of a page: the ruler, the page's name beside it with a hint below, and the
        page number at the right.

        The ruler is a bar of exactly `RULER_MM`, in black and white sections of 10 mm.
        """
        left = low = MARGIN_MM
        self.rectangle(left, low + 3.2, RULER_MM, 2.4, fill=BLACK)
        # every second section is white on the black bar
        for piece in range(1, RULER_MM // 10, 2):
            self.rectangle(left + 10 * piece, low + 3.5, 10, 1.8, fill=WHITE)
        anchors: dict[int, Anchor] = {0: "left", RULER_MM: "right"}
        for mark in range(0, RULER_MM + 1, 10):
            self.text(left + mark, low, str(mark), 2.8, anchor=anchors.get(mark, "middle"))

        x = left + RULER_MM + 4
        right = self.width_mm - MARGIN_MM
        counted_width = self.text(right, low + 3.3, counted, 3.2, anchor="right")
        self.text(x, low + 3.3, words, 3.2, bold=True, room=right - x - counted_width - 3)
        self.text(x, low + 0.6, hint, 2.8, room=right - x)


def printable(words: str) -> str:
    """Return a sentence in the current language, in letters that every PDF reader's fonts have
    (Windows-1252).

    >>> printable("«\N{NARROW NO-BREAK SPACE}¿Œuf, ni\N{SOFT HYPHEN}ño? »")
    '«\xa0¿Œuf, niño? »'
    >>> printable("\N{MINUS SIGN}1 \N{RIGHTWARDS ARROW} 2")
    '-1 > 2'
    """
    return translate(words).translate(_REPLACEMENTS).encode("cp1252", "replace").decode("cp1252")


def text_width(words: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a line of text in the unit of `size`."""
    width: float = stringWidth(printable(words), BOLD if bold else REGULAR, size)
    return width


def broken(words: str, width: float, size: float, *, bold: bool = False) -> list[str]:
    """Break a paragraph into lines of at most `width`.

    A line does not break at a non-breaking space or before a unit. The last line gets a second word
    if it has one only and the line above can spare one.

    >>> broken("une plaque de 5 mm", text_width("une plaque de 5", 3), 3)
    ['une plaque', 'de 5\\xa0mm']
    """
    # no line break between a number and its unit
    unbroken = re.sub(r"(?<=\d) (?=mm\b|g\b|%)", _PLACEHOLDER, printable(words))
    unbroken = unbroken.replace(_NBSP, _PLACEHOLDER)
    lines = simpleSplit(unbroken, BOLD if bold else REGULAR, size, width)
    lines = [line.replace(_PLACEHOLDER, _NBSP) for line in lines]
    if len(lines) > 1 and " " not in lines[-1] and lines[-2].count(" ") > 1:
        before, _, word = lines[-2].rpartition(" ")
        last = f"{word} {lines[-1]}"
        if text_width(last, size, bold=bold) <= width:
            lines[-2:] = [before, last]
    return lines


def tinted(colour: str, share: float) -> str:
    """Return a colour mixed with white paper. `share` is the share of `#rrggbb`."""
    parts = [round(255 + share * (part - 255)) for part in _channels(colour)]
    return "#" + "".join(f"{part:02X}" for part in parts)


def _channels(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of `#rrggbb`, 0 to 255 each."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def printed_on(colour: str) -> str:
    """Return ink or white, whichever has more contrast on a `#rrggbb` fill (relative luminance as
    in WCAG 2).
    """
    # the exponent approximates sRGB's curve, closely enough to choose between two colours
    red, green, blue = ((part / 255) ** 2.2 for part in _channels(colour))
    return INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else WHITE


@cache
def _picture(name: str, colour: str, plain: bool) -> Any:
    """Return a drawing as vector graphics of reportlab."""
    face = colour if plain else printed_on(colour)
    svg = standalone(name, colour=colour, edge=BLACK if colour == BLACK else INK, face=face)
    return svg2rlg(io.BytesIO(svg.encode()))
