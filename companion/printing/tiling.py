"""Sizes of paper, and how a printed board is split into pages that are glued together.

Pure geometry, in board axes as in `companion.core.kit`: x to South's right, y away from South. All
lengths are in mm.

Two pages overlap at a joint, shown here along x. A flap is glued below the next page, whose bleed
is cut off first:

    page A1  |========core=========|--flap--|
    page B1                 |bleed-|========core=========|
                                   ^ joint
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from string import ascii_uppercase
from typing import Literal, NamedTuple

from companion.core.errors import Malformed
from companion.core.kit import Board

Paper = Literal["a4", "letter", "a3", "a2", "a1"]
# Upright width and height, ISO 216 and ANSI/ASME Y14.1. Sizes above A4 need a print shop.
PAPER_SIZES_MM: Mapping[Paper, tuple[float, float]] = {
    "a4": (210.0, 297.0),
    "letter": (215.9, 279.4),
    "a3": (297.0, 420.0),
    "a2": (420.0, 594.0),
    "a1": (594.0, 841.0),
}
# White margin on all sides. Most printers cannot print the outer 4 to 6.4 mm of a page.
MARGIN_MM = 7.0
# Height of the ruler with its words, see `page_furniture.draw_foot`. Pages of cards leave only
# this above the margin.
LOW_FOOT_MM = 6.4
# Height of the band above the lower margin: the ruler, and a gap of 3.6 mm to the board.
FOOT_MM = 10.0
# Width of the flap beyond a joint at the right and upper edge of a page. The next page is glued on
# it.
#
# Chosen by eye: narrower flaps come loose, wider ones leave less of the page to the board.
FLAP_MM = 10.0
# Width of the bleed before a joint at the left and lower edge of a page. It is cut off.
#
# Chosen by eye: a cut may miss its line by this much before white paper shows.
BLEED_MM = 4.0
# White between the outermost quiet zone and the edge of the board, for an inexact cut.
TRIM_MM = 0.6
# Width reserved for coordinates outside the squares. Their font size is 4.2 mm.
LABEL_MM = 7.0

# Minimum distance between a cross and a corner of its page: an arm of 4 mm and its number.
_CLEARANCE_MM = 8.0
# Allowance for sums of lengths that are not exact in floating point.
_ROUNDING_MM = 1e-6


class Extent(NamedTuple):
    """A rectangle in board axes, mm."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def width(self) -> float:
        """Width along x."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Height along y."""
        return self.top - self.bottom

    @property
    def centre(self) -> tuple[float, float]:
        """Middle along x and y."""
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def shifted(self, x_mm: float, y_mm: float) -> Extent:
        """Return the rectangle moved to the right by `x_mm` and up by `y_mm`."""
        return Extent(self.left + x_mm, self.bottom + y_mm, self.right + x_mm, self.top + y_mm)


def page_size(paper: Paper, landscape: bool) -> tuple[float, float]:
    """Return width and height of a page in mm."""
    width, height = PAPER_SIZES_MM[paper]
    return (height, width) if landscape else (width, height)


def printable_area(paper: Paper, landscape: bool) -> Extent:
    """Return the part of a page within its margins and above its foot.

    The origin is the page's lower left corner.
    """
    width, height = page_size(paper, landscape)
    return Extent(MARGIN_MM, MARGIN_MM + FOOT_MM, width - MARGIN_MM, height - MARGIN_MM)


class Window(NamedTuple):
    """The part of the board on one page."""

    column: int
    row: int
    core: Extent
    """What belongs to the page and stays visible."""
    printed: Extent
    """The core with flap and bleed."""

    @property
    def label(self) -> str:
        """Name of the page: columns are A B C from South's left, rows 1 2 3 from South."""
        return page_label(self.column, self.row)


def page_label(column: int, row: int) -> str:
    """Return the name of a page of the board, such as `A1`."""
    return f"{ascii_uppercase[column]}{row + 1}"


@dataclass(frozen=True)
class Tiling:
    """The board split into columns and rows of pages, which are joined along straight cuts."""

    extent: Extent
    """The whole board."""
    landscape: bool
    cuts_x: tuple[float, ...]
    """The x of the joints between columns."""
    cuts_y: tuple[float, ...]
    """The y of the joints between rows."""
    cross_spots_x: Sequence[float] = ()
    """Preferred x of a cross along a horizontal joint, where it hides no label."""
    cross_spots_y: Sequence[float] = ()
    """Preferred y of a cross along a vertical joint."""

    @property
    def columns(self) -> int:
        """Number of pages side by side."""
        return len(self.cuts_x) + 1

    @property
    def rows(self) -> int:
        """Number of pages one above the other."""
        return len(self.cuts_y) + 1

    @property
    def page_count(self) -> int:
        """Number of pages."""
        return self.columns * self.rows

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The pages, row by row from South."""
        whole = self.extent
        columns = _spans((whole.left, *self.cuts_x, whole.right))
        rows = _spans((whole.bottom, *self.cuts_y, whole.top))
        return tuple(
            Window(
                column,
                row,
                core=Extent(x.low, y.low, x.high, y.high),
                printed=Extent(x.printed_low, y.printed_low, x.printed_high, y.printed_high),
            )
            for row, y in enumerate(rows)
            for column, x in enumerate(columns)
        )

    def crosses(self) -> Iterator[tuple[float, float]]:
        """Yield the centres of two crosses on every edge that two pages share.

        Both pages print them, so that they can be aligned.
        """
        for window in self.windows:
            core = window.core
            if window.column < self.columns - 1:
                for y in _cross_spots(core.bottom, core.top, self.cross_spots_y):
                    yield core.right, y
            if window.row < self.rows - 1:
                for x in _cross_spots(core.left, core.right, self.cross_spots_x):
                    yield x, core.top


def _cross_spots(low: float, high: float, preferred: Sequence[float]) -> tuple[float, float]:
    """Return two spots between low and high, about a fifth from either end.

    They are preferred ones if at least two of those are inside.
    """
    inside = [spot for spot in preferred if low + _CLEARANCE_MM < spot < high - _CLEARANCE_MM]
    # a fifth from either end: crosses far apart keep a page from turning about one of them
    first = low + 0.2 * (high - low)
    second = low + 0.8 * (high - low)
    if len(inside) < 2:
        return first, second
    near_first = min(inside, key=lambda spot: abs(spot - first))
    near_second = min(inside, key=lambda spot: abs(spot - second))
    return near_first, near_second


class _Span(NamedTuple):
    """The extent of a page along one axis: of its core, and of what is printed."""

    low: float
    high: float
    printed_low: float
    printed_high: float


def _spans(edges: tuple[float, ...]) -> list[_Span]:
    """Return the span of each page between two edges. All edges but the outer two are joints."""
    spans = []
    for low, high in pairwise(edges):
        # a page extends beyond its lower joint by a bleed, beyond its upper one by a flap
        bleed = 0.0 if low == edges[0] else BLEED_MM
        flap = 0.0 if high == edges[-1] else FLAP_MM
        spans.append(_Span(low, high, low - bleed, high + flap))
    return spans


def quiet_mm(marker_mm: float) -> float:
    """Return the width of the white around a marker: one of the marker's modules.

    A marker has seven of them: five bits, and the border on both sides.
    """
    return marker_mm / 7


def has_outside_labels(board: Board) -> bool:
    """Return whether coordinates are printed beyond the strips.

    Lanes (boards with a `depth_mm`) have their numbers in the strips.
    """
    return not board.labels_in_squares and not board.depth_mm


def board_extent(board: Board) -> Extent:
    """Return the extent of a whole board: squares, strips, the corner markers' quiet zones, outside
    labels.
    """
    quiet = quiet_mm(board.corner_mm)
    beside = quiet + TRIM_MM
    # corner markers are in the middle of their strip, and may reach beyond it
    corner_reach = board.strip_mm / 2 + board.corner_mm / 2 + quiet
    beyond = max(board.strip_mm, corner_reach) + TRIM_MM / 2
    if has_outside_labels(board):
        beside = max(beside, LABEL_MM)
        beyond += LABEL_MM
    return Extent(-beside, -beyond, board.width_mm + beside, board.height_mm + beyond)


def tile_board(board: Board, width_mm: float, height_mm: float, foot_mm: float) -> Tiling:
    """Return the split of a board into the fewest pages, upright ones if either way takes as many.

    `width_mm` and `height_mm` are those of an upright page within its margins. The foot takes
    `foot_mm` of the height whichever way the page is turned. Joints run between squares and clear
    of the corner markers. Raises `Malformed` when the squares are too large for any page.
    """
    extent = board_extent(board)
    gaps_x = _seams(board.files, board.pitch_mm, board.gap_mm)
    # corner markers are clear of all gaps between ranks, but not of all gaps between files
    reach = board.corner_mm + quiet_mm(board.corner_mm)
    seams_x = [x for x in gaps_x if reach <= x <= board.width_mm - reach]
    seams_y = _seams(board.ranks, board.rank_pitch_mm, board.gap_mm)
    spots_x = gaps_x
    spots_y = seams_y
    if not board.gap_mm:
        # a cross would vanish in the lines, so it goes to the middle of a square
        spots_x = [(file + 0.5) * board.pitch_mm for file in range(board.files)]
        spots_y = [(rank + 0.5) * board.rank_pitch_mm for rank in range(board.ranks)]
    tilings = []
    for landscape, page_x, page_y in ((False, width_mm, height_mm), (True, height_mm, width_mm)):
        cuts_x = _cuts(extent.left, extent.right, page_x, seams_x)
        cuts_y = _cuts(extent.bottom, extent.top, page_y - foot_mm, seams_y)
        if cuts_x is not None and cuts_y is not None:
            tilings.append(Tiling(extent, landscape, cuts_x, cuts_y, spots_x, spots_y))
    if not tilings:
        # 30 mm are enough for flap, bleed, and labels or quiet zone at the edge of the board
        raise Malformed(
            f"Squares of {max(board.square_mm, board.depth_mm):g} mm do not fit the paper:"
            f" make them smaller than {width_mm - 30:.0f} mm"
        )
    # on a tie min takes the first, the upright one
    return min(tilings, key=lambda tiling: tiling.page_count)


def _seams(count: int, pitch_mm: float, gap_mm: float) -> list[float]:
    """Return the middles of the gaps between squares along one axis, where a joint may run."""
    return [number * pitch_mm - gap_mm / 2 for number in range(1, count)]


def _cuts(low: float, high: float, page_mm: float, seams: list[float]) -> tuple[float, ...] | None:
    """Return the fewest joints with which every page fits `page_mm`, and of those the most even.

    None when no choice of seams fits.
    """
    for count in range(len(seams) + 1):
        fitting = []
        for cuts in combinations(seams, count):
            spans = _spans((low, *cuts, high))
            largest = max(span.printed_high - span.printed_low for span in spans)
            if largest <= page_mm + _ROUNDING_MM:
                widest = max(span.high - span.low for span in spans)
                fitting.append((widest, cuts))
        if fitting:
            # even: the widest page is as narrow as possible
            _, most_even = min(fitting)
            return most_even
    return None
