"""How a printed board is split into pages. Pure geometry in millimetres, in board axes as in
`companion.core.kit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

from companion.core.errors import Malformed
from companion.core.kit import Board

Paper = Literal["a4", "letter", "a3", "a2", "a1"]
SIZES_MM: Mapping[Paper, tuple[float, float]] = {
    "a4": (210.0, 297.0),
    "letter": (215.9, 279.4),
    "a3": (297.0, 420.0),
    "a2": (420.0, 594.0),
    "a1": (594.0, 841.0),
}
"""Upright width and height, ISO 216 and ANSI/ASME Y14.1. Sizes above A4 need a print shop."""
MARGIN_MM = 7.0
"""White margin on all sides. Most printers leave 4 to 6.4 mm."""
FOOT_MM = 10.0
"""Height of the band with the ruler above the lower margin."""
LOW_FOOT_MM = 6.4
"""Height of the ruler with its words, without a margin. Pages of cards leave only this."""
FLAP_MM = 10.0
"""Width of the flap beyond a joint at the right and upper edge of a page. The next page is glued on
it.
"""
BLEED_MM = 4.0
"""Width of the bleed before a joint at the left and lower edge of a page. It is cut off."""
TRIM_MM = 0.6
"""White between the outermost quiet zone and the edge of the board."""
LABEL_MM = 7.0
"""Width reserved for coordinates that are printed outside the squares."""


@dataclass(frozen=True)
class Extent:
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

    def shifted(self, x: float, y: float) -> Extent:
        """Return the rectangle moved to the right by `x` and up by `y`."""
        return Extent(self.left + x, self.bottom + y, self.right + x, self.top + y)


def page_size(paper: Paper, landscape: bool) -> tuple[float, float]:
    """Return width and height of a page in mm."""
    width, height = SIZES_MM[paper]
    return (height, width) if landscape else (width, height)


def page_room(paper: Paper, landscape: bool) -> Extent:
    """Return the room of a page within its margins and above its foot, measured from its lower left
    corner.
    """
    width, height = page_size(paper, landscape)
    return Extent(MARGIN_MM, MARGIN_MM + FOOT_MM, width - MARGIN_MM, height - MARGIN_MM)


@dataclass(frozen=True)
class Window:
    """The part of the board on one page: `core` stays visible, `printed` includes the overlap."""

    column: int
    row: int
    core: Extent
    printed: Extent

    @property
    def label(self) -> str:
        """Name of the page: columns are A B C from South's left, rows 1 2 3 from South."""
        return page_label(self.column, self.row)


def page_label(column: int, row: int) -> str:
    """Return the name of a page of the board, such as `A1`."""
    return f"{chr(65 + column)}{row + 1}"


@dataclass(frozen=True)
class Tiling:
    """The board split into pages: `cuts_x` and `cuts_y` are the joints between columns and rows."""

    extent: Extent
    landscape: bool
    cuts_x: tuple[float, ...]
    cuts_y: tuple[float, ...]
    spots_x: Sequence[float] = ()
    """Preferred places for a cross along a horizontal joint, where it hides no label."""
    spots_y: Sequence[float] = ()
    """The same along a vertical joint."""

    @property
    def across(self) -> int:
        """Number of pages side by side."""
        return len(self.cuts_x) + 1

    @property
    def down(self) -> int:
        """Number of pages one above the other."""
        return len(self.cuts_y) + 1

    @property
    def pages(self) -> int:
        """Number of pages."""
        return self.across * self.down

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
        """Yield the places of two crosses on every edge that two pages share. Both pages print
        them.
        """
        for window in self.windows:
            core = window.core
            if window.column < self.across - 1:
                yield from (
                    (core.right, y) for y in _cross_places(core.bottom, core.top, self.spots_y)
                )
            if window.row < self.down - 1:
                yield from (
                    (x, core.top) for x in _cross_places(core.left, core.right, self.spots_x)
                )


def _cross_places(low: float, high: float, spots: Sequence[float]) -> tuple[float, float]:
    """Return two places well apart between low and high, on `spots` if there are at least two."""
    # not within 8 mm of a corner of the page
    inside = [spot for spot in spots if low + 8 < spot < high - 8]
    # a fifth from either end: crosses far apart keep a page from turning about one of them
    first = low + 0.2 * (high - low)
    second = low + 0.8 * (high - low)
    if len(inside) < 2:
        return first, second
    near_first = min(inside, key=lambda spot: abs(spot - first))
    near_second = min(inside, key=lambda spot: abs(spot - second))
    return near_first, near_second


class _Span(NamedTuple):
    """A page along one axis: its core, and what is printed of it."""

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
    """Return the width of the white around a marker: one module, of 5 bits plus a border on both
    sides.
    """
    return marker_mm / 7


def has_outside_labels(board: Board) -> bool:
    """Return whether coordinates are printed beyond the strips. Lanes have their numbers in
    them.
    """
    return not board.labels_in_squares and not board.depth_mm


def board_extent(board: Board) -> Extent:
    """Return the extent of a whole board: squares, strips, the corner markers' quiet zones, outside
    labels.
    """
    side = quiet_mm(board.corner_mm) + TRIM_MM
    # corner markers may reach beyond their strip
    strip = (
        max(board.strip_mm, board.strip_mm / 2 + board.corner_mm / 2 + quiet_mm(board.corner_mm))
        + TRIM_MM / 2
    )
    if has_outside_labels(board):
        side = max(side, LABEL_MM)
        strip = strip + LABEL_MM
    return Extent(-side, -strip, board.width_mm + side, board.height_mm + strip)


def tile_board(board: Board, width_mm: float, height_mm: float, foot_mm: float) -> Tiling:
    """Return the split into the fewest pages, upright if possible.

    `width_mm` and `height_mm` are those of an upright page within its margins. `foot_mm` of the
    height are lost at the lower edge whichever way the page is turned. Joints run between squares
    and clear of the corner markers. Raises `Malformed` when the squares are too large for any page.
    """
    extent = board_extent(board)
    gaps_x = _seams(board.files, board.pitch_mm, board.gap_mm)
    # corner markers are clear of all gaps between ranks, but not of all gaps between files
    reach = board.corner_mm + quiet_mm(board.corner_mm)
    seams_x = [x for x in gaps_x if reach <= x <= board.width_mm - reach]
    seams_y = _seams(board.ranks, board.rank_pitch_mm, board.gap_mm)
    spots_x, spots_y = gaps_x, seams_y
    if not board.gap_mm:
        # a cross would vanish in the lines, so it goes to the middle of a square
        spots_x = [(n + 0.5) * board.pitch_mm for n in range(board.files)]
        spots_y = [(n + 0.5) * board.rank_pitch_mm for n in range(board.ranks)]
    tilings = []
    for landscape, room_x, room_y in ((False, width_mm, height_mm), (True, height_mm, width_mm)):
        cuts_x = _cuts(extent.left, extent.right, room_x, seams_x)
        cuts_y = _cuts(extent.bottom, extent.top, room_y - foot_mm, seams_y)
        if cuts_x is not None and cuts_y is not None:
            tilings.append(Tiling(extent, landscape, cuts_x, cuts_y, spots_x, spots_y))
    if not tilings:
        raise Malformed(
            f"Squares of {max(board.square_mm, board.depth_mm):g} mm do not fit the paper:"
            f" make them smaller than {width_mm - 30:.0f} mm"
        )
    # on a tie min takes the first, the upright one
    return min(tilings, key=lambda tiling: tiling.pages)


def _seams(count: int, pitch_mm: float, gap_mm: float) -> list[float]:
    """Return the middles of the gaps between squares along one axis, where a joint may run."""
    return [n * pitch_mm - gap_mm / 2 for n in range(1, count)]


def _cuts(low: float, high: float, room: float, seams: list[float]) -> tuple[float, ...] | None:
    """Return the fewest joints that fit, and of those the most even ones.

    None when no choice of seams fits.
    """
    for count in range(len(seams) + 1):
        fitting = []
        for cuts in combinations(seams, count):
            spans = _spans((low, *cuts, high))
            # a millionth of a millimetre for rounding
            if all(span.printed_high - span.printed_low <= room + 1e-6 for span in spans):
                widest = max(span.high - span.low for span in spans)
                fitting.append((widest, cuts))
        # the widest page is as narrow as possible
        if fitting:
            return min(fitting)[1]
    return None
