"""Sizes of paper, and how a printed board is split into pages that are glued together.

Pure geometry, in board axes as in `companion.core.kit`: x to South's right, y away from South. All
lengths are in mm.

Two pages overlap at a joint, shown here along x. The flap of one page is glued below the next page,
whose bleed is cut off first:

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
# Width and height of upright paper (ISO 216 and ANSI/ASME Y14.1). Sizes above A4 need a print shop.
PAPER_SIZES_MM: Mapping[Paper, tuple[float, float]] = {
    "a4": (210.0, 297.0),
    "letter": (215.9, 279.4),
    "a3": (297.0, 420.0),
    "a2": (420.0, 594.0),
    "a1": (594.0, 841.0),
}
# White margin on all sides. Most printers cannot print the outer 4 to 6.4 mm of a page.
MARGIN_MM = 7.0
# Height of the ruler with its words, see `shared_drawings.draw_foot`. Pages of cards leave only
# this height free above the lower margin.
LOW_FOOT_MM = 6.4
# Height of the band above the lower margin: the ruler, and a gap of 3.6 mm to the board.
FOOT_MM = 10.0
# Width of the flap beyond a joint at the right and upper edge of a page. The next page is glued on
# the flap. Chosen by eye: narrower flaps come loose, and wider ones leave less of the page to the
# board.
FLAP_MM = 10.0
# Width of the bleed before a joint at the left and lower edge of a page. The bleed is cut off.
# Chosen by eye: a cut may miss its line by this much before white paper shows.
BLEED_MM = 4.0
# White between the outermost quiet zone and the edge of the board, for an inexact cut.
TRIM_MM = 0.6
# Width reserved for coordinates outside the squares. Their font size is 4.2 mm.
LABEL_MM = 7.0

# Minimum distance between a cross and a corner of its page: enough for an arm of 4 mm and a number.
_CROSS_CLEARANCE_MM = 8.0
# Allowance for sums of lengths that are not exact in floating point.
_ROUNDING_MM = 1e-6


class Rectangle(NamedTuple):
    """A rectangle along the axes of the board or of a page, in mm."""

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

    def shifted(self, x_mm: float, y_mm: float) -> Rectangle:
        """Return the rectangle moved to the right by `x_mm` and up by `y_mm`."""
        return Rectangle(self.left + x_mm, self.bottom + y_mm, self.right + x_mm, self.top + y_mm)


def page_size(paper: Paper, landscape: bool) -> tuple[float, float]:
    """Return width and height of a page in mm."""
    width, height = PAPER_SIZES_MM[paper]
    return (height, width) if landscape else (width, height)


def printable_area(paper: Paper, landscape: bool) -> Rectangle:
    """Return the part of a page within its margins and above its foot.

    The origin is the page's lower left corner.
    """
    width, height = page_size(paper, landscape)
    return Rectangle(MARGIN_MM, MARGIN_MM + FOOT_MM, width - MARGIN_MM, height - MARGIN_MM)


class BoardPage(NamedTuple):
    """One page of the board."""

    column: int
    """Number of the column of pages, from 0 at South's left."""
    row: int
    """Number of the row of pages, from 0 at South."""
    core: Rectangle
    """The part of the board that stays visible on this page once it is glued."""
    printed: Rectangle
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
    """The board split into columns and rows of pages, which are joined along straight lines."""

    extent: Rectangle
    """The whole board, see `board_extent`."""
    landscape: bool
    """Whether the pages lie on their long edge."""
    joints_x: tuple[float, ...]
    """The x of each joint between two columns."""
    joints_y: tuple[float, ...]
    """The y of each joint between two rows."""
    cross_spots_x: Sequence[float] = ()
    """Preferred x of a cross along a horizontal joint, where it hides no label."""
    cross_spots_y: Sequence[float] = ()
    """Preferred y of a cross along a vertical joint."""

    @property
    def columns(self) -> int:
        """Number of pages side by side."""
        return len(self.joints_x) + 1

    @property
    def rows(self) -> int:
        """Number of pages one above the other."""
        return len(self.joints_y) + 1

    @property
    def page_count(self) -> int:
        """Number of pages."""
        return self.columns * self.rows

    @cached_property
    def pages(self) -> tuple[BoardPage, ...]:
        """The pages, row by row from South."""
        whole = self.extent
        columns = _spans((whole.left, *self.joints_x, whole.right))
        rows = _spans((whole.bottom, *self.joints_y, whole.top))
        return tuple(
            BoardPage(
                column,
                row,
                core=Rectangle(x.low, y.low, x.high, y.high),
                printed=Rectangle(x.printed_low, y.printed_low, x.printed_high, y.printed_high),
            )
            for row, y in enumerate(rows)
            for column, x in enumerate(columns)
        )

    def crosses(self) -> Iterator[tuple[float, float]]:
        """Yield the centres of two crosses on every edge that two pages share.

        Both pages print them, so that they can be aligned.
        """
        for page in self.pages:
            core = page.core
            if page.column < self.columns - 1:
                for y in _cross_spots(core.bottom, core.top, self.cross_spots_y):
                    yield core.right, y
            if page.row < self.rows - 1:
                for x in _cross_spots(core.left, core.right, self.cross_spots_x):
                    yield x, core.top


def _cross_spots(low: float, high: float, preferred: Sequence[float]) -> tuple[float, float]:
    """Return two spots for crosses between low and high, about a fifth from either end.

    If at least two preferred spots are far enough from the ends, return two of these.
    """
    usable = [
        spot for spot in preferred if low + _CROSS_CLEARANCE_MM < spot < high - _CROSS_CLEARANCE_MM
    ]
    # a fifth from either end, because a page could turn about a pair of crosses that are close
    ideal_first = low + 0.2 * (high - low)
    ideal_second = low + 0.8 * (high - low)
    if len(usable) < 2:
        return ideal_first, ideal_second
    first = min(usable, key=lambda spot: abs(spot - ideal_first))
    second = min(usable, key=lambda spot: abs(spot - ideal_second))
    return first, second


class _Span(NamedTuple):
    """Where a page begins and ends along one axis: its core, and its printed part."""

    low: float
    high: float
    printed_low: float
    printed_high: float


def _spans(edges: tuple[float, ...]) -> list[_Span]:
    """Return the span of each page along one axis.

    :param edges: the lower edge of the board, its joints, and its upper edge
    """
    spans = []
    for low, high in pairwise(edges):
        # a page extends beyond its lower joint by a bleed, and beyond its upper joint by a flap
        bleed = 0.0 if low == edges[0] else BLEED_MM
        flap = 0.0 if high == edges[-1] else FLAP_MM
        spans.append(_Span(low, high, low - bleed, high + flap))
    return spans


def quiet_mm(marker_mm: float) -> float:
    """Return the width of the quiet zone, the white around a marker: one module of the marker.

    The side of a marker has seven modules: five bits, and the border at both ends.
    """
    return marker_mm / 7


def has_outside_labels(board: Board) -> bool:
    """Return whether coordinates are printed beyond the strips of a board.

    Boards of lanes, which have a `depth_mm`, have their numbers in the strips.
    """
    return not board.labels_in_squares and not board.depth_mm


def board_extent(board: Board) -> Rectangle:
    """Return the extent of a whole board, with the lower left corner of its squares at the origin.

    It contains the squares, the strips, the quiet zones of the corner markers, and outside labels.
    """
    quiet = quiet_mm(board.corner_mm)
    # how far the board reaches beyond its squares along x, where the quiet zones of its markers
    # stick out
    margin_x = quiet + TRIM_MM
    # Along y it reaches as far as its strips. Corner markers are in the middle of their strip, and
    # may reach beyond it.
    corner_reach = board.strip_mm / 2 + board.corner_mm / 2 + quiet
    margin_y = max(board.strip_mm, corner_reach) + TRIM_MM / 2
    if has_outside_labels(board):
        margin_x = max(margin_x, LABEL_MM)
        margin_y += LABEL_MM
    return Rectangle(-margin_x, -margin_y, board.width_mm + margin_x, board.height_mm + margin_y)


def tile_board(board: Board, width_mm: float, height_mm: float, foot_mm: float) -> Tiling:
    """Return the split of a board into the fewest pages. On a tie the pages are upright.

    Joints run between squares and clear of the corner markers. Raises `Malformed` if the squares
    are too large for any page.

    :param width_mm: width of an upright page within its margins
    :param height_mm: height of an upright page within its margins
    :param foot_mm: height of the foot of a page, upright or landscape
    """
    extent = board_extent(board)
    gaps_x = _gap_middles(board.files, board.pitch_mm, board.gap_mm)
    # A joint must not cut a corner marker. All gaps between ranks are clear of the markers, but not
    # all gaps between files.
    corner_reach = board.corner_mm + quiet_mm(board.corner_mm)
    possible_joints_x = [x for x in gaps_x if corner_reach <= x <= board.width_mm - corner_reach]
    possible_joints_y = _gap_middles(board.ranks, board.rank_pitch_mm, board.gap_mm)
    # crosses are printed between the squares, too
    spots_x = gaps_x
    spots_y = possible_joints_y
    if not board.gap_mm:
        # without gaps, a cross would vanish in the lines, so it is printed in the middle of a
        # square
        spots_x = [(file + 0.5) * board.pitch_mm for file in range(board.files)]
        spots_y = [(rank + 0.5) * board.rank_pitch_mm for rank in range(board.ranks)]
    tilings = []
    for landscape, page_x, page_y in ((False, width_mm, height_mm), (True, height_mm, width_mm)):
        joints_x = _choose_joints(extent.left, extent.right, page_x, possible_joints_x)
        joints_y = _choose_joints(extent.bottom, extent.top, page_y - foot_mm, possible_joints_y)
        if joints_x is not None and joints_y is not None:
            tilings.append(Tiling(extent, landscape, joints_x, joints_y, spots_x, spots_y))
    if not tilings:
        # 30 mm are enough for flap, bleed, and the labels or quiet zone at the edge of the board
        raise Malformed(
            f"Squares of {max(board.square_mm, board.depth_mm):g} mm do not fit the paper:"
            f" make them smaller than {width_mm - 30:.0f} mm"
        )
    # on a tie `min` takes the first, whose pages are upright
    return min(tilings, key=lambda tiling: tiling.page_count)


def _gap_middles(count: int, pitch_mm: float, gap_mm: float) -> list[float]:
    """Return the middles of the gaps between `count` squares along one axis."""
    return [number * pitch_mm - gap_mm / 2 for number in range(1, count)]


def _choose_joints(
    low: float, high: float, page_mm: float, possible_joints: list[float]
) -> tuple[float, ...] | None:
    """Return the fewest joints with which every page fits `page_mm`.

    Of several choices, return the one with the most even pages. Return None if no choice fits.

    :param low: lower edge of the board
    :param high: upper edge of the board
    :param possible_joints: places where a joint may run, in ascending order
    """
    for count in range(len(possible_joints) + 1):
        fitting = []
        for cuts in combinations(possible_joints, count):
            spans = _spans((low, *cuts, high))
            largest = max(span.printed_high - span.printed_low for span in spans)
            if largest <= page_mm + _ROUNDING_MM:
                widest = max(span.high - span.low for span in spans)
                fitting.append((widest, cuts))
        if fitting:
            # pages are most even if the widest one is as narrow as possible
            _, most_even = min(fitting)
            return most_even
    return None
