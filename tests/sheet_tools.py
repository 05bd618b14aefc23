"""Helpers: render printed pages as pictures, and measure markers and distances on them.

Points are (x, y) in mm from the upper left corner of a page, with y down, if nothing else is said.
A large board is printed on several pages, which people cut and join. Helpers join the pictures by
their content, as people do by eye.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from companion.core.kit import CARD_DICTIONARY, Board, Kit
from companion.games.aids import Extras
from companion.printing.kit_pages.sheets import KitStyle, Page, kit_pdf
from companion.printing.tiling import FOOT_MM, MARGIN_MM, PAPER_SIZES_MM, Paper, Tiling, tile_board

DPI = 150
PX_PER_MM = DPI / 25.4
Image = NDArray[np.uint8]
Points = NDArray[np.float64]
PAPERS: tuple[Paper, ...] = ("a4", "letter")

needs_poppler = pytest.mark.skipif(
    shutil.which("pdftoppm") is None,
    reason="pdftoppm is missing (Debian: apt install poppler-utils)",
)


def kit_pictures(
    kit: Kit, paper: Paper, extras: Extras | None = None
) -> tuple[Sequence[Page], tuple[Image, ...]]:
    """Print a kit on paper of a size. Return the description and the picture of each page."""
    pdf, sheets = kit_pdf(kit, KitStyle(paper), extras)
    return sheets, rasterise(pdf, DPI)


def rasterise(pdf: bytes, dpi: int, first: int = 1, last: int = 99) -> tuple[Image, ...]:
    """Return the pages of a PDF as grey pictures. `first` and `last` are counted from 1."""
    with TemporaryDirectory() as folder:
        command = f"pdftoppm -gray -r {dpi} -f {first} -l {last} - {folder}/page"
        subprocess.run(command.split(), input=pdf, check=True, capture_output=True)
        pages = [
            cv2.imread(str(page), cv2.IMREAD_GRAYSCALE)
            for page in sorted(Path(folder).glob("page*.pgm"))
        ]
    return tuple(np.asarray(page, np.uint8) for page in pages if page is not None)


def page_texts(pdf: bytes) -> list[str]:
    """Return the text of each page, with single spaces."""
    command = ["pdftotext", "-layout", "-", "-"]
    run = subprocess.run(command, input=pdf, capture_output=True, check=True)
    return [" ".join(page.split()) for page in run.stdout.decode().split("\f")[:-1]]


@cache
def _detector() -> cv2.aruco.ArucoDetector:
    parameters = cv2.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    return cv2.aruco.ArucoDetector(
        cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, CARD_DICTIONARY)), parameters
    )


def markers_mm(page: Image, dpi: int = DPI) -> Iterator[tuple[int, Points]]:
    """Yield all markers on a page: the id and the four corners of each, of shape (4, 2)."""
    corners, ids, _ = _detector().detectMarkers(page)
    for marker, four in zip(() if ids is None else np.ravel(ids), corners, strict=True):
        # OpenCV measures from the middle of the first pixel, which is 0.5 px inside the page
        corners_px = four.reshape(4, 2).astype(np.float64)
        yield int(marker), (corners_px + 0.5) * 25.4 / dpi


def assert_white_around(page: Image, corners: Points, module_mm: float) -> None:
    """Require that a white border as wide as one module is printed around a marker.

    A module is one of the small squares of which a marker is made. Detectors need this border. The
    test looks at three rings in it: a ring's distance from the marker is a part of a module.
    """
    for modules in (0.3, 0.55, 0.8):
        spread_mm = modules * module_mm
        left, top = np.round((corners.min(axis=0) - spread_mm) * PX_PER_MM - 0.5).astype(int)
        right, bottom = np.round((corners.max(axis=0) + spread_mm) * PX_PER_MM - 0.5).astype(int)
        ring = page[top : bottom + 1, left : right + 1]
        border = np.concatenate([ring[0], ring[-1], ring[:, 0], ring[:, -1]])
        assert border.min() > 200, f"something is printed {modules} modules from the marker"


def board_pages(
    kit: Kit, paper: Paper, sheets: Sequence[Page], pages: tuple[Image, ...]
) -> tuple[Tiling, list[Image]]:
    """Return how a board is spread over pages, and the pictures of those that show it."""
    width_mm, height_mm = PAPER_SIZES_MM[paper]
    tiling = tile_board(kit.board, width_mm - 2 * MARGIN_MM, height_mm - 2 * MARGIN_MM, FOOT_MM)
    return tiling, [
        page for page, sheet in zip(pages, sheets, strict=True) if sheet.kind == "board"
    ]


def assert_distances(centres: dict[int, Points], board: Board, tolerance_mm: float) -> None:
    """Require that all corner markers have the distances that the board says, in x and in y.

    `centres` are the measured centres by marker id.
    """
    for first, second in combinations(board.corners, 2):
        expected = np.subtract(board.corner_centres_mm[second], board.corner_centres_mm[first])
        # y is up on the board, and down on the page
        measured = (centres[second] - centres[first]) * (1, -1)
        assert np.abs(measured - expected).max() < tolerance_mm, (first, second, measured, expected)


def _board_box_px(page: Image, dpi: int) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the board on a page, in pixels.

    The band at the foot of the page, which has a ruler, does not count.
    """
    board = page[: int(page.shape[0] - (MARGIN_MM + FOOT_MM - 1) * dpi / 25.4)] < 250
    rows = np.flatnonzero(board.any(axis=1))
    columns = np.flatnonzero(board.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1])


def joined_page_mm(first: Image, second: Image, dpi: int, *, above: bool) -> Points:
    """Return where the second page lies on the first one when their printed edges match.

    The second page belongs above the first if `above`, otherwise to the right of it. Both pages
    show the strip of the board at which they are joined:

    1. Cut a strip (`patch`) from the edge of the second page.
    2. Search it near the edge of the first page, to the pixel.
    3. Compare it with what lies there, to a fraction of a pixel.
    """
    px_per_mm = dpi / 25.4
    inset_px = round(2.5 * px_per_mm)  # distance of the strip's ends from the board's corners
    strip_px = round(13 * px_per_mm)  # width of the strip
    searched_px = round(16 * px_per_mm)  # width of the edge that is searched for the strip
    left, top, right, bottom = _board_box_px(second, dpi)
    # x and y of the strip's upper left corner on the second page
    if above:
        x = left + inset_px
        y = bottom - strip_px
        patch = second[y : bottom - 4, x : right - inset_px]
    else:
        x = left + 4
        y = top + inset_px
        patch = second[y : bottom - inset_px, x : left + strip_px]
    from_x, from_y, to_x, to_y = _board_box_px(first, dpi)
    if above:
        to_y = from_y + searched_px
    else:
        from_x = to_x - searched_px
    match = cv2.matchTemplate(
        first[from_y : to_y + 1, from_x : to_x + 1], patch, cv2.TM_SQDIFF_NORMED
    )
    _, _, place, _ = cv2.minMaxLoc(match)
    at_x = from_x + place[0]
    at_y = from_y + place[1]
    matched_patch = first[at_y : at_y + patch.shape[0], at_x : at_x + patch.shape[1]]
    (fine_x, fine_y), _ = cv2.phaseCorrelate(
        matched_patch.astype(np.float64), patch.astype(np.float64)
    )
    return np.array((at_x - x - fine_x, at_y - y - fine_y)) / px_per_mm


def corners_when_joined(
    tiling: Tiling, pages: list[Image], dpi: int = DPI
) -> list[tuple[int, Points]]:
    """Return the markers of a board whose pages are joined: the id and the four corners of each.

    Corners are measured on the first page, which is the lowest on the left.
    """
    by_place = {
        (window.column, window.row): page for window, page in zip(tiling.pages, pages, strict=True)
    }
    # where each page lies on the first one: join it to the page below it or to the left of it
    offsets_mm: dict[tuple[int, int], Points] = {(0, 0): np.zeros(2)}
    for column, row in product(range(tiling.columns), range(tiling.rows)):
        if (column, row) not in offsets_mm:
            before = (column, row - 1) if row else (column - 1, row)
            offsets_mm[column, row] = offsets_mm[before] + joined_page_mm(
                by_place[before], by_place[column, row], dpi, above=row > 0
            )
    return [
        (marker, offsets_mm[place] + corners)
        for place, page in by_place.items()
        for marker, corners in markers_mm(page, dpi)
    ]


def allowed_markers(kit: Kit, sheet: Page) -> set[int]:
    """Return the ids of the markers that a page may show: of its board, pieces, cards and tiles."""
    allowed = set[int]()
    names = set(sheet.names)
    if sheet.kind == "board":
        allowed |= set(kit.board.corners)
    allowed |= {marker for face in kit.faces if face.name in names for marker in face.markers}
    if kit.deck and sheet.kind == "cards":
        allowed |= {card.marker for card in kit.deck.cards if card.name in names}
    if kit.order_tiles and {"tiles", "walls"} & names:
        tiles = kit.order_tiles.orders.values()
        rows = kit.order_tiles.rows.values()
        allowed |= {marker for orders in tiles for marker in orders.values()}
        allowed |= {marker for row in rows for marker in row}
    return allowed
