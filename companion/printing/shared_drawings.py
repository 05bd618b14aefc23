"""Drawings that printed pages share.

They are the head and the foot of a page, the signpost, the shutter (the stripes of card backs and
walls), and the rims of tags. All lengths are in mm, in the axes of the pen, see
`companion.printing.pdf_pen`. Offsets without a name were chosen by eye.
"""

from __future__ import annotations

from companion.core.drawings import SIGN_COLOUR
from companion.core.kit import Side
from companion.printing.pdf_pen import (
    BLACK,
    DIGIT_HEIGHT_EM,
    INK,
    STONE,
    STROKE_MM,
    WHITE,
    Anchor,
    Pen,
    ink_on,
    text_width,
)
from companion.printing.tiling import MARGIN_MM, Rectangle

# Colour of the light stripes of the shutter.
SHUTTER_TONE = "#4A4339"

# Width of a stripe of the shutter.
_STRIPE_MM = 5.0
# Width of the heavy rule at the head of a page.
_BAR_MM = 1.2
# Length of the ruler at the foot of every page, by which people check the scale of a print.
_RULER_MM = 100
# Approximate distance between the dots on North's rims.
_RIM_DOT_PITCH_MM = 2.4


# ---- head and foot of a page ---------------------------------------------------------------------


def draw_bar(pen: Pen, left: float, right: float, top: float) -> None:
    """Draw the heavy rule at the head of a page."""
    pen.line((left, top - _BAR_MM / 2), (right, top - _BAR_MM / 2), stroke_mm=_BAR_MM)


def draw_head(pen: Pen, title: str, words: str) -> None:
    """Draw the head of a page: a rule, the title, and at the right smaller words."""
    left = MARGIN_MM
    right = pen.width_mm - MARGIN_MM
    top = pen.height_mm - MARGIN_MM
    draw_bar(pen, left, right, top)
    width = pen.text(left, top - 11.5, title, 10.5, bold=True, max_width_mm=0.6 * (right - left))
    pen.text(right, top - 11.5, words, 4.0, anchor="right", max_width_mm=right - left - width - 6)


def draw_signpost(
    pen: Pen, x: float, y: float, width_mm: float, height_mm: float, *, words: str
) -> None:
    """Draw a yellow signpost that says what to do first, with its tip at the right.

    (x, y) is the lower left corner of the signpost.
    """
    half_mm = height_mm / 2
    right = x + width_mm
    # the tip is as long as half of the height
    neck = right - half_mm
    top = y + height_mm
    pen.polygon((x, y), (neck, y), (right, y + half_mm), (neck, top), (x, top), fill=SIGN_COLOUR)
    # the words are as large as the height and the width of the signpost allow
    size_mm = min(0.52 * height_mm, (width_mm - half_mm - 8) / text_width(words, 1.0, bold=True))
    pen.text(x + 5, y + half_mm - DIGIT_HEIGHT_EM / 2 * size_mm, words, size_mm, bold=True)


def draw_foot(pen: Pen, words: str, hint: str, page_number: str = "") -> None:
    """Draw the foot of a page: the ruler, words and a hint beside it, the page number at the right.

    The ruler is a bar of exactly `_RULER_MM`, in black and white sections of 10 mm.
    """
    left = low = MARGIN_MM
    pen.rectangle(left, low + 3.2, _RULER_MM, 2.4, fill=BLACK)
    # every second section is white on the black bar
    for section in range(1, _RULER_MM // 10, 2):
        pen.rectangle(left + 10 * section, low + 3.5, 10, 1.8, fill=WHITE)
    anchors: dict[int, Anchor] = {0: "left", _RULER_MM: "right"}
    for mark in range(0, _RULER_MM + 1, 10):
        pen.text(left + mark, low, str(mark), 2.8, anchor=anchors.get(mark, "middle"))

    x = left + _RULER_MM + 4
    right = pen.width_mm - MARGIN_MM
    number_width = pen.text(right, low + 3.3, page_number, 3.2, anchor="right")
    pen.text(x, low + 3.3, words, 3.2, bold=True, max_width_mm=right - x - number_width - 3)
    pen.text(x, low + 0.6, hint, 2.8, max_width_mm=right - x)


# ---- drawings on a page --------------------------------------------------------------------------


def draw_shutter(
    pen: Pen, width_mm: float, height_mm: float, clip: Rectangle | None = None
) -> None:
    """Fill an area with the shutter: the dark diagonal stripes of card backs and walls.

    The origin is the lower left corner of the area.

    The pattern looks the same after a half turn about the middle of the area, so the back of a card
    does not tell which end of the card is up. With `pen.low_ink` the stripes are thin lines.

    :param clip: area to fill instead, if the stripes have to reach beyond `width_mm` x `height_mm`
    """
    clip = clip or Rectangle(0, 0, width_mm, height_mm)
    reach = max(clip.width, clip.height)
    # a pair is a dark stripe and a light one
    pairs = int(reach / (2 * _STRIPE_MM)) + 1
    with pen.at(width_mm / 2, height_mm / 2, clip=clip.shifted(-width_mm / 2, -height_mm / 2)):
        if not pen.low_ink:
            pen.centred_rectangle(0, 0, 2 * reach, 2 * reach, fill=SHUTTER_TONE)
        stripe_mm = STROKE_MM if pen.low_ink else _STRIPE_MM
        with pen.at(0, 0, turn_deg=-45):
            # the stripes are symmetric about the middle, so a half turn changes nothing
            for pair in range(-pairs, pairs + 1):
                pen.centred_rectangle(2 * pair * _STRIPE_MM, 0, stripe_mm, 2 * reach, fill=INK)


def draw_rim(pen: Pen, size_mm: float, rim_mm: float, side: Side | None, *, dotted: bool) -> None:
    """Draw the coloured rim of a square tag, with its lower left corner at the origin.

    :param size_mm: side of the tag
    :param rim_mm: width of the rim
    :param side: side whose colour the rim has, or None for grey
    :param dotted: whether the rim has dots, which are the pattern of North
    """
    colour = side.rgb if side else STONE
    inner_mm = size_mm - 2 * rim_mm
    pen.rectangle(0, 0, size_mm, size_mm, stroke_mm=rim_mm, stroke_colour=colour)
    pen.outline(rim_mm, rim_mm, inner_mm, inner_mm)
    if not dotted:
        return
    # dots at equal distances along the middle of all four edges of the rim, and one at each corner
    low = rim_mm / 2
    high = size_mm - low
    dots_per_edge = max(1, round((high - low) / _RIM_DOT_PITCH_MM))
    radius_mm = min(0.25 * rim_mm, 0.45)
    for index in range(dots_per_edge):
        # counter-clockwise: along the lower edge to the right, and along the upper one to the left
        forward = low + (high - low) * index / dots_per_edge
        back = size_mm - forward
        for x, y in ((forward, low), (high, forward), (back, high), (low, back)):
            pen.dot(x, y, radius_mm, fill=ink_on(colour))
