"""The pages of a deck of cards: faces, the common back, and places for piles.

A place is an outline on paper beside the board, on which people lay a pile of cards. Cards lie in a
grid, along which they are cut out. The grid is centred on its page, so that backs meet fronts
whichever way a printer turns the sheet.

Card axes have their origin at the lower left corner of the upright card, x to the right and y up.
All lengths are in mm. Those without another reason were chosen by eye.

A page of cards, with its cutting marks:

      |   |   |   |
    - +---+---+---+ -
      | A | B | C |
    - +---+---+---+ -
      | D | E |   |
    - +---+---+---+ -
      |   |   |   |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from companion.core.errors import Malformed
from companion.core.i18n import listed, say
from companion.core.kit import Card, Deck, Kit, Seat
from companion.games.aids import AidPoint
from companion.printing.pdf_pen import BLACK, CELL_WIDTH_EM, DIGIT_HEIGHT_EM, Pen, Point
from companion.printing.shared_drawings import draw_shutter
from companion.printing.tiling import LOW_FOOT_MM, MARGIN_MM, Paper, Rectangle, page_size

# Length of a cutting mark outside the cards.
_TICK_MM = 4.0
# Length of an arm of a cross between the cards.
_ARM_MM = 2.0
# Width by which the ink of backs reaches beyond the outer cards.
_BLEED_MM = 2.0
# Height of value and suit in the corner.
_INDEX_MM = 10.3
# Width of the line across the middle of a card.
_MIDDLE_LINE_MM = 0.55
# Width of the big suit, and of the big value at its left.
_SUIT_MM = 14.0
# Maximum font size of the big value. Its digits are `DIGIT_HEIGHT_EM` times as high.
_MAX_VALUE_FONT_MM = 23.0
# Horizontal scale of a big value of two digits. It keeps them nearly as high as single digits.
_TWO_DIGIT_SCALE = 0.75
# Half of the gap between the big value and the big suit.
_VALUE_GAP_MM = 1.0
# Gap between the line across the middle and the big value and suit.
_ABOVE_MIDDLE_LINE_MM = 5.0
# Gap between two places for piles, and around them.
_PLACE_GAP_MM = 3.0
# Gap between the places and what is printed beside them.
_BESIDE_GAP_MM = 8.0
# Margin of a card with a rule in brief.
_NOTE_MARGIN_MM = 6.0


class CardGrid:
    """Where the cards lie on a page: in columns and rows of cells that share their edges.

    With `landscape`, the page lies on its long edge, and the cards lie on their left edges.
    """

    def __init__(self, deck: Deck, paper: Paper, landscape: bool) -> None:
        self.landscape = landscape
        self.page_mm = page_size(paper, landscape)
        self.cell_width = deck.width_mm
        self.cell_height = deck.height_mm
        if landscape:
            self.cell_width = deck.height_mm
            self.cell_height = deck.width_mm
        # the grid is centred, so as much is free at the head as the ruler needs at the foot
        foot = MARGIN_MM + LOW_FOOT_MM
        width, height = self.page_mm
        self.columns, self.free_x = _fit(width - 2 * MARGIN_MM, self.cell_width)
        """Number of columns, and the printable width that is free on either side of them."""
        self.rows, self.free_y = _fit(height - 2 * foot, self.cell_height)
        """Number of rows, and the printable height that is free above and below them."""
        # the lower left corner of the grid on the page
        self.x = MARGIN_MM + self.free_x
        self.y = foot + self.free_y
        self.cells = [
            (self.x + column * self.cell_width, self.y + row * self.cell_height)
            for row in reversed(range(self.rows))
            for column in range(self.columns)
        ]
        """Lower left corners of the cells in reading order, the upper row first."""


def _fit(length_mm: float, cell_mm: float) -> tuple[int, float]:
    """Return how many cells fit a length, and the length that is free on either side of them."""
    count = int(length_mm / cell_mm)
    # half of what is left over, because the grid is centred on the page
    return count, (length_mm - count * cell_mm) / 2


def card_grid(deck: Deck, paper: Paper) -> CardGrid:
    """Return the grid that holds the most cards on a page, or the upright one if both are equal.

    Raises `Malformed` if not even one card fits the page.
    """
    grids = [CardGrid(deck, paper, landscape) for landscape in (False, True)]
    # on a tie `max` takes the first, which is upright
    grid = max(grids, key=lambda grid: len(grid.cells))
    if not grid.cells:
        raise Malformed(
            f"Cards of {deck.width_mm:g} x {deck.height_mm:g} mm do not fit the paper: make them "
            "smaller"
        )
    return grid


# ---- pages ---------------------------------------------------------------------------------------


def draw_fronts(
    pen: Pen, deck: Deck, grid: CardGrid, cards: tuple[Card, ...], notes: tuple[AidPoint, ...] = ()
) -> None:
    """Draw one page of cards with its cutting marks.

    Cells without a card, on the last page, hold rules in brief.
    """
    for card, cell in zip(cards, grid.cells, strict=False):
        with _card_axes(pen, grid, cell):
            draw_card(pen, deck, card)
    spare_cells = grid.cells[len(cards) :]
    # if there are fewer cells than rules in brief, only the last rules are printed
    for note, cell in zip(notes[-len(spare_cells) :], spare_cells, strict=False):
        with _card_axes(pen, grid, cell):
            _draw_note(pen, deck, note)
    # rows without anything to cut out have no cutting marks
    used = min(len(cards) + len(notes), len(grid.cells))
    _draw_cutting_marks(pen, grid, rows=math.ceil(used / grid.columns))


def _draw_note(pen: Pen, deck: Deck, note: AidPoint) -> None:
    """Draw a rule in brief on a card that is not part of the deck: it has no marker."""
    width_mm = deck.width_mm - 2 * _NOTE_MARGIN_MM
    y = pen.paragraph(
        _NOTE_MARGIN_MM, deck.height_mm - _NOTE_MARGIN_MM, width_mm, note.title, 5.2, bold=True
    )
    pen.paragraph(_NOTE_MARGIN_MM, y - 1.5, width_mm, note.words, 4.2)


def draw_backs(pen: Pen, grid: CardGrid) -> None:
    """Draw the backs of one page, with a back in every cell.

    The backs meet the fronts, over whichever edge a printer turns the sheet.
    """
    # ink reaches a little beyond the outer cards, so that an inexact cut shows no white
    bleed_x = min(_BLEED_MM, grid.free_x)
    bleed_y = min(_BLEED_MM, grid.free_y)
    # lower left corners of the upper left and of the lower right cell
    first_x, first_y = grid.cells[0]
    last_x, last_y = grid.cells[-1]
    for x, y in grid.cells:
        # only the outer edges of the grid have a bleed: a factor is 1 there and 0 elsewhere
        clip = Rectangle(
            -bleed_x * (x == first_x),
            -bleed_y * (y == last_y),
            grid.cell_width + bleed_x * (x == last_x),
            grid.cell_height + bleed_y * (y == first_y),
        )
        with pen.at(x, y):
            draw_shutter(pen, grid.cell_width, grid.cell_height, clip)


def _card_axes(pen: Pen, grid: CardGrid, cell: Point) -> AbstractContextManager[None]:
    """Within a `with` block, draw in the axes of the card in this cell."""
    x, y = cell
    # the lower left corner of a card that lies on its left edge is at the lower right of the cell
    return pen.at(x + grid.cell_width, y, turn_deg=90) if grid.landscape else pen.at(x, y)


def _draw_cutting_marks(pen: Pen, grid: CardGrid, rows: int) -> None:
    """Draw ticks around the upper `rows`, and crosses where four cards meet.

    Ticks are up to `_TICK_MM` long, if the margin allows that. Neighbouring cards share an edge, so
    one cut separates two cards.
    """
    xs = [grid.x + column * grid.cell_width for column in range(grid.columns + 1)]
    # rows are filled from the top
    ys = [grid.y + row * grid.cell_height for row in range(grid.rows - rows, grid.rows + 1)]
    tick_x = min(_TICK_MM, grid.free_x)
    tick_y = min(_TICK_MM, grid.free_y)
    for x in xs:
        left_arm = tick_x if x == xs[0] else _ARM_MM
        right_arm = tick_x if x == xs[-1] else _ARM_MM
        for y in ys:
            lower_arm = tick_y if y == ys[0] else _ARM_MM
            upper_arm = tick_y if y == ys[-1] else _ARM_MM
            pen.hairline((x - left_arm, y), (x + right_arm, y))
            pen.hairline((x, y - lower_arm), (x, y + upper_arm))


# ---- one card ------------------------------------------------------------------------------------


def draw_card(pen: Pen, deck: Deck, card: Card, *, readable: bool = True) -> None:
    """Draw the face of a card, whose halves are alike. One is upside down.

    With `readable=False` there is a black square in the place of each marker, for pictures that a
    camera must not take for a card.
    """
    for _ in pen.both_ways(deck.width_mm, deck.height_mm):
        _draw_half_card(pen, deck, card, readable)


def _draw_half_card(pen: Pen, deck: Deck, card: Card, readable: bool) -> None:
    """Draw the upper half of a card.

    Value and suit are in one corner, and the marker is in the other one. Value and suit are drawn
    once more in the middle, much larger, between the columns in which the markers are.
    """
    inset = deck.inset_mm
    marker_mm = deck.marker_mm
    right = deck.width_mm - inset
    top = deck.height_mm - inset
    marker_x = right - marker_mm / 2
    marker_y = top - marker_mm / 2
    if readable:
        pen.marker(card.marker, marker_x, marker_y, marker_mm)
    else:
        pen.centred_rectangle(marker_x, marker_y, marker_mm, marker_mm, fill=BLACK)
    pen.notation(inset, top - _INDEX_MM, card.value + card.suit, _INDEX_MM / DIGIT_HEIGHT_EM)
    middle = deck.height_mm / 2
    pen.rectangle(
        inset + marker_mm,
        middle,
        deck.width_mm - 2 * (inset + marker_mm),
        _MIDDLE_LINE_MM,
        fill=BLACK,
    )
    centre = deck.width_mm / 2

    # the big value at the left of the middle, and the big suit at its right
    width_scale = 1.0 if len(card.value) == 1 else _TWO_DIGIT_SCALE
    # width of the value at a font size of 1 mm. The value may be as wide as the suit, but not wider
    value_width_em = CELL_WIDTH_EM * width_scale * len(card.value)
    size_mm = min(_MAX_VALUE_FONT_MM, _SUIT_MM / value_width_em)
    left = centre - _VALUE_GAP_MM - (_SUIT_MM + value_width_em * size_mm) / 2
    low = middle + _ABOVE_MIDDLE_LINE_MM
    pen.notation(
        left,
        low + (_SUIT_MM - DIGIT_HEIGHT_EM * size_mm) / 2,
        card.value,
        size_mm,
        width_scale=width_scale,
    )
    pen.drawing(
        card.drawing,
        centre + _VALUE_GAP_MM + _SUIT_MM / 2,
        low + _SUIT_MM / 2,
        _SUIT_MM,
        fill=BLACK,
    )


# ---- places for piles ----------------------------------------------------------------------------


class PileColumn(NamedTuple):
    """Places for piles in a column, the one nearest to the middle of the table first."""

    lane: str
    """Number of the lane at whose end the places lie, or empty for places beside the lanes."""
    piles: tuple[str, ...]
    """What is printed on each place."""


# One page to cut out: columns of places side by side.
PilePage = tuple[PileColumn, ...]


def pile_pages(kit: Kit, deck: Deck, area: Rectangle) -> tuple[PilePage, ...]:
    """Return the pages of places for piles: for the ends of the lanes, then for North's own piles.

    Raises `Malformed` if a column of places does not fit the area of a page.
    """
    lanes = range(kit.board.files if deck.lane_piles else 0)
    columns = [PileColumn(str(lane), deck.lane_piles) for lane in lanes]
    # the last column needs no gap after it
    per_page = int((area.width + kit.board.gap_mm) / kit.board.pitch_mm)
    tallest = _column_height(deck, max(len(deck.lane_piles), len(deck.side_piles)))
    if per_page < 1 or tallest > area.height:
        raise Malformed(
            f"Places for piles {tallest:g} mm deep do not fit the paper: make the cards smaller"
        )
    starts = range(0, len(columns), per_page)
    pages = [tuple(columns[start : start + per_page]) for start in starts]
    if deck.side_piles:
        owner = kit.sides[Seat.NORTH].name
        names = tuple(say("{side} {pile}", side=owner, pile=pile) for pile in deck.side_piles)
        pages.append((PileColumn("", names),))
    return tuple(pages)


def pile_page_title(page: PilePage) -> str:
    """Return the title of a page of places, such as “ends of lanes 0 to 2”."""
    first = page[0]
    if first.lane:
        return say("ends of lanes {first} to {last}", first=first.lane, last=page[-1].lane)
    return listed(first.piles)


def draw_pile_page(
    pen: Pen,
    kit: Kit,
    deck: Deck,
    page: PilePage,
    area: Rectangle,
    *,
    draw_beside: Callable[..., None] | None = None,
) -> None:
    """Draw one page of places, centred in its area.

    Columns are as far apart as the lanes of the board.

    :param draw_beside: function that draws to the right of the places, which are then at the left
        margin. It is called with the pen, and with the height and the `width` of the free area
    """
    board = kit.board
    width = len(page) * board.pitch_mm - board.gap_mm
    height = _column_height(deck, max(len(column.piles) for column in page))
    centre_x, centre_y = area.centre
    left = area.left if draw_beside else centre_x - width / 2
    if draw_beside:
        with pen.at(area.left + width + _BESIDE_GAP_MM, area.bottom):
            draw_beside(pen, area.height, width=area.width - width - _BESIDE_GAP_MM)
    with pen.at(left, centre_y - height / 2):
        pen.outline(0, 0, width, height)
        for index, column in enumerate(page):
            x = index * board.pitch_mm + (board.square_mm - deck.width_mm) / 2
            for row, pile in enumerate(column.piles):
                with pen.at(x, height - (row + 1) * (_PLACE_GAP_MM + deck.height_mm)):
                    _draw_place(pen, kit, deck, column.lane, pile, is_nearest=row == 0)


def _column_height(deck: Deck, piles: int) -> float:
    # with a gap around each place
    return piles * (deck.height_mm + _PLACE_GAP_MM) + _PLACE_GAP_MM


def _draw_place(pen: Pen, kit: Kit, deck: Deck, lane: str, pile: str, *, is_nearest: bool) -> None:
    """Draw the place for one pile, with the origin at its lower left corner.

    The place nearest to the middle of the table has a heavy outline and an arrow to the board.
    """
    width_mm = deck.width_mm
    height_mm = deck.height_mm
    if is_nearest:
        pen.rectangle(0, 0, width_mm, height_mm, stroke_mm=1.2)
    else:
        pen.outline(0, 0, width_mm, height_mm, stroke_mm=0.5, dash_mm=(2.0, 1.4))
    x = width_mm / 2
    y = height_mm / 2
    max_text_mm = width_mm - 6
    if lane:
        pen.centred_bold_text(x, y - 4, lane, 30)
    else:
        side = kit.sides[Seat.NORTH]
        pen.drawing(side.drawing, x, y + 7, 22, side)
    pen.centred_bold_text(x, y - 15, pile, 7, max_width_mm=max_text_mm)
    if is_nearest and lane:
        top = height_mm - 4
        pen.polygon((x - 4, top - 5), (x + 4, top - 5), (x, top))
        pen.text(
            x,
            top - 10,
            say("this end to the board"),
            3.4,
            anchor="middle",
            max_width_mm=max_text_mm,
        )
