"""A kit as the camera sees it once it is printed and cut out: its own pages, turned into pictures.

The simulated table shows these, so that what is read in a simulation is what people hold in their
hands.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Card, Kit
from companion.printing.kit_pages.board_pages import print_board
from companion.printing.kit_pages.deck_pages import Grid, card_grid, print_backs, print_fronts
from companion.printing.kit_pages.sheets import FOOT_MM, LOW_FOOT_MM, MARGIN_MM, SIZES_MM
from companion.printing.kit_pages.tag_pages import Tag, face_places, print_tag_page, tag_pages
from companion.printing.pdf_pen import Pen
from companion.printing.tiling import Extent, board_extent, tile_board
from vision.simulation.printed import PrintedKit, PrintedSheet, packed
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

PX_PER_MM = 6.0
"""Finer than any camera sees it: a marker's module of 1.8 mm is 11 px."""
_PAPER_BGR, _INK_BGR = (238, 243, 244), (27, 20, 24)
"""White paper and black toner reflect so much light, of 255."""
_MAX_KEPT = 8

Picture = NDArray[np.uint8]

_kept: OrderedDict[str, PrintedKit] = OrderedDict()
_lock = Lock()
"""PDFium works for one thread at a time."""


def printed_table(kit: Kit, view: View | None = None) -> SimulatedTable:
    """Return a simulated table with this kit on it, as it is printed."""
    return SimulatedTable(kit, view, print_kit=printed_kit)


def printed_kit(kit: Kit) -> PrintedKit:
    """Print a kit and cut it out. The last ones are kept."""
    key = repr(kit)
    with _lock:
        if key not in _kept:
            _kept[key] = PrintedKit(_board(kit), dict(_tops(kit)), *_cards(kit))
        _kept.move_to_end(key)
        while len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
        return _kept[key]


def _board(kit: Kit) -> PrintedSheet:
    """Print the board on one page of its own size."""
    extent = board_extent(kit.board)
    pen = Pen(extent.width, extent.height, kit.title)
    tiling = tile_board(kit.board, extent.width, extent.height, 0.0)
    pen.page()
    print_board(
        pen,
        kit,
        tiling,
        tiling.windows[0],
        Extent(0.0, 0.0, extent.width, extent.height),
    )
    (picture,) = _pages(pen.bytes())
    low = (extent.left, extent.bottom)
    high = (extent.right, extent.top)
    height, width = picture.shape[:2]
    return PrintedSheet(packed(picture), low, high, (width, height))


def _tops(kit: Kit) -> Iterator[tuple[int, bytes]]:
    """Yield the top of each face of each piece, by its marker."""
    if not kit.faces:
        return
    width, height = SIZES_MM["a4"]
    low = MARGIN_MM + FOOT_MM
    room = Extent(MARGIN_MM, low, width - MARGIN_MM, height - MARGIN_MM)
    sizes = {marker: kit.tops_mm[face.name] for tag in kit.tags for face, marker in tag}
    # Also of a kit with more equal pieces than markers, which is refused when it is printed for
    # people.
    tags = [Tag(faces, kit.title) for faces in kit.tags]
    pen = Pen(width, height, kit.title)
    pages = tag_pages(kit, tags, (), room)
    for page in pages:
        pen.page()
        print_tag_page(
            pen,
            page,
            kit,
            kit.title,
            origin=(MARGIN_MM, low),
        )
    for page, picture in zip(pages, _pages(pen.bytes()), strict=True):
        for marker, x, y in face_places(page, kit):
            wide, deep = sizes[marker]
            left = MARGIN_MM + x - wide / 2
            bottom = low + y - deep / 2
            yield (
                marker,
                packed(_cut(picture, height, Extent(left, bottom, left + wide, bottom + deep))),
            )


def _cards(kit: Kit) -> tuple[dict[str, bytes], bytes]:
    """Return the faces of all cards by their names, and their back."""
    deck = kit.deck
    if deck is None:
        return {}, b""
    grid = card_grid(deck, SIZES_MM["a4"], MARGIN_MM, LOW_FOOT_MM)
    pen = Pen(*SIZES_MM["a4"], kit.title)
    fronts = grid.pages(deck)
    for cards in fronts:
        pen.page(grid.landscape)
        print_fronts(pen, deck, grid, cards)
    pen.page(grid.landscape)
    print_backs(pen, grid)
    *pictures, backs = _pages(pen.bytes())
    faces: dict[str, bytes] = {}
    for cards, picture in zip(fronts, pictures, strict=True):
        faces |= _cut_cards(picture, grid, cards)
    (back,) = _cut_cards(backs, grid, deck.cards[:1]).values()
    return faces, back


def _cut_cards(picture: Picture, grid: Grid, cards: tuple[Card, ...]) -> dict[str, bytes]:
    """Return the cards of one page, upright, by their names."""
    height_mm = SIZES_MM["a4"][0 if grid.landscape else 1]
    faces = {}
    for card, (column, row) in zip(cards, grid.cells, strict=False):
        left = grid.x + column * grid.cell_width
        bottom = grid.y + row * grid.cell_height
        cell = Extent(left, bottom, left + grid.cell_width, bottom + grid.cell_height)
        face = _cut(picture, height_mm, cell)
        faces[card.name] = packed(
            np.ascontiguousarray(np.rot90(face, -1)) if grid.landscape else face
        )
    return faces


def _pages(pdf: bytes) -> list[Picture]:
    """Turn each page of a PDF into a picture (height, width, 3), as ink on paper."""
    import pypdfium2  # noqa: PLC0415 - needed for a simulated table alone

    mm = 72 / 25.4
    ink = np.array(_INK_BGR)
    paper = np.array(_PAPER_BGR)
    # a grey of the page is so much ink on so much paper
    tones = np.arange(256)[:, None] / 255
    printed = (ink + (paper - ink) * tones).round().astype(np.uint8)
    document = pypdfium2.PdfDocument(pdf)
    try:
        pictures = [page.render(scale=PX_PER_MM / mm).to_numpy()[..., :3] for page in document]
        return [
            np.stack([printed[:, part][picture[..., part]] for part in range(3)], axis=-1)
            for picture in pictures
        ]
    finally:
        document.close()


def _cut(picture: Picture, height_mm: float, place: Extent) -> Picture:
    """Cut a rectangle out of a page's picture. Pages count from below, pictures from above."""
    left, right = (round(x * PX_PER_MM) for x in (place.left, place.right))
    top, bottom = (round((height_mm - y) * PX_PER_MM) for y in (place.top, place.bottom))
    return np.ascontiguousarray(picture[top:bottom, left:right])
