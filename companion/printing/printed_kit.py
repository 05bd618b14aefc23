"""A printed kit as the camera sees it once it is cut out: what is printed, rendered as pictures.

The simulated table shows these pictures, so that a simulation reads what people hold in their
hands.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.kit import Kit
from companion.printing.kit_pages.board_pages import draw_board
from companion.printing.kit_pages.deck_pages import draw_card
from companion.printing.kit_pages.tag_faces import Tag, draw_top
from companion.printing.pdf_pen import Pen
from companion.printing.shared_drawings import draw_shutter
from companion.printing.tiling import Rectangle, Tiling, board_extent
from vision.simulation.printed import PrintedKit, PrintedSheet, encode_png
from vision.simulation.table import SimulatedTable
from vision.simulation.view import CameraView

# Resolution of the pictures. It is finer than any camera's: a marker's module of 1.8 mm is 11 px.
PX_PER_MM = 6.0

# Light that white paper and black toner reflect, from 0 to 255. Chosen by eye: real paper is not
# quite white, and real toner not quite black.
_PAPER_BGR = (238, 243, 244)
_INK_BGR = (27, 20, 24)
# Maximum number of kits in the cache, more than the games that are played in one evening.
_MAX_CACHED = 8

# Colour picture (height, width, 3): blue, green, red.
Picture = NDArray[np.uint8]

_cache: OrderedDict[str, PrintedKit] = OrderedDict()
# PDFium may be used by one thread at a time.
_lock = Lock()


def printed_table(kit: Kit, view: CameraView | None = None) -> SimulatedTable:
    """Return a simulated table with this kit on it, as printed."""
    return SimulatedTable(kit, view, print_kit=printed_kit)


def printed_kit(kit: Kit) -> PrintedKit:
    """Return the pictures of a printed and cut-out kit. The kits used last are cached."""
    key = repr(kit)
    with _lock:
        if key not in _cache:
            _cache[key] = PrintedKit(_print_board(kit), _print_tops(kit), *_print_cards(kit))
        _cache.move_to_end(key)
        while len(_cache) > _MAX_CACHED:
            _cache.popitem(last=False)
        return _cache[key]


def _print_board(kit: Kit) -> PrintedSheet:
    """Print the board on one page of its own size."""
    extent = board_extent(kit.board)
    tiling = Tiling(extent, landscape=False, joints_x=(), joints_y=())
    pen = Pen(kit.title)
    pen.start_page(extent.width, extent.height)
    draw_board(pen, kit, tiling, tiling.pages[0], Rectangle(0.0, 0.0, extent.width, extent.height))
    (picture,) = _render_pages(pen)
    low_mm = (extent.left, extent.bottom)
    high_mm = (extent.right, extent.top)
    height, width = picture.shape[:2]
    return PrintedSheet(encode_png(picture), low_mm, high_mm, (width, height))


def _print_tops(kit: Kit) -> Mapping[int, bytes]:
    """Return the printed top of each face of each piece by its marker.

    Each is printed on a page of its own size.
    """
    pen = Pen(kit.title)
    # This also works for kits with more equal pieces than markers. `tag_pages`, which prints for
    # people, refuses those.
    tags = [Tag(kit, faces) for faces in kit.tags]
    markers = []
    for tag in tags:
        for face, marker in tag.faces:
            width, depth = kit.tops_mm[face.name]
            pen.start_page(width, depth)
            with pen.at((width - tag.top_width_mm) / 2, (depth - tag.top_depth_mm) / 2):
                draw_top(pen, tag, face, marker)
            markers.append(marker)
    return dict(zip(markers, map(encode_png, _render_pages(pen)), strict=True)) if tags else {}


def _print_cards(kit: Kit) -> tuple[Mapping[str, bytes], bytes]:
    """Return the faces of all cards by their names, and their common back.

    Each is printed on a page of its own size. Both are empty for a kit without cards.
    """
    deck = kit.deck
    if deck is None:
        return {}, b""
    size = deck.width_mm, deck.height_mm
    pen = Pen(kit.title)
    for card in deck.cards:
        pen.start_page(*size)
        draw_card(pen, deck, card)
    pen.start_page(*size)
    draw_shutter(pen, *size)
    *faces, back = map(encode_png, _render_pages(pen))
    names = [card.name for card in deck.cards]
    return dict(zip(names, faces, strict=True)), back


def _render_pages(pen: Pen) -> list[Picture]:
    """Render each page of a document as a picture of ink on paper."""
    import pypdfium2  # noqa: PLC0415 - needed for a simulated table alone

    points_per_mm = 72 / 25.4
    ink = np.array(_INK_BGR)
    paper = np.array(_PAPER_BGR)
    # The page is rendered in pure black and white. Each level between them is a mixture of ink and
    # paper. The table `light`, of shape (256, 1, 3), maps levels to reflected light.
    shares = np.arange(256)[:, None, None] / 255
    light = (ink + (paper - ink) * shares).round().astype(np.uint8)
    document = pypdfium2.PdfDocument(pen.to_pdf())
    try:
        scale = PX_PER_MM / points_per_mm
        pages = [page.render(scale=scale).to_numpy()[..., :3] for page in document]
        return [np.asarray(cv2.LUT(page, light), np.uint8) for page in pages]
    finally:
        document.close()
