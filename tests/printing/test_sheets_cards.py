"""Test BINMAT's printed deck and lanes as a camera sees them: markers, cuts, backs and places.

PDFs are made into pictures by Poppler. Distances are in millimetres.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import cv2
import numpy as np
import pytest
from sheet_tools import (
    DPI,
    PAPERS,
    PX_PER_MM,
    Image,
    Points,
    allowed_markers,
    assert_white_around,
    markers_mm,
    needs_poppler,
    page_texts,
    rasterise,
)

from companion.core.errors import Malformed
from companion.core.kit import Card, Deck, Kit
from companion.games import GAMES
from companion.printing.kit_pages.deck_pages import card_grid, pile_pages
from companion.printing.kit_pages.sheets import KitStyle, Page, kit_pdf
from companion.printing.pdf_pen import MARKER_MODULES
from companion.printing.tiling import (
    FOOT_MM,
    MARGIN_MM,
    PAPER_SIZES_MM,
    Paper,
    Rectangle,
    tile_board,
)

# Resolution for distances between thin lines that have to be right within 0.1 mm. At a lower one,
# the rasteriser moves lines too far to whole pixels.
FINE_DPI = 300


KIT = GAMES["binmat"].kit(GAMES["binmat"].options({}))


def deck_of(kit: Kit) -> Deck:
    assert kit.deck
    return kit.deck


@cache
def kit_document(paper: Paper) -> tuple[bytes, Sequence[Page]]:
    """Return the PDF of the kit, and what is on its pages."""
    return kit_pdf(KIT, KitStyle(paper))


@cache
def pages_of(paper: Paper) -> tuple[Sequence[Page], tuple[Image, ...]]:
    """Return what is on the pages of the kit, and their pictures."""
    pdf, pages = kit_document(paper)
    return pages, rasterise(pdf, DPI)


class CardCell(NamedTuple):
    """Where a card must lie on its page, in mm from the upper left, with y down."""

    corner: Points
    """The lower left corner of the card."""
    along: Points
    """Direction of the card's width."""
    up: Points
    """Direction of the card's height."""


def card_cells_mm(deck: Deck, paper: Paper) -> list[CardCell]:
    """Return where a page's nine cards must lie, in reading order.

    The cards lie three by three in the middle of the page. On A4 they are upright. On Letter the
    page is landscape, and they are turned left.
    """
    width, height = PAPER_SIZES_MM[paper]
    # size of the cell of a card, and the card's lower left corner in it
    cell = np.array((deck.width_mm, deck.height_mm))
    corner = np.array((0.0, deck.height_mm))
    along = np.array((1.0, 0.0))
    up = np.array((0.0, -1.0))
    if paper != "a4":
        width, height = height, width
        cell = corner = cell[::-1]
        along = np.array((0.0, -1.0))
        up = np.array((-1.0, 0.0))
    first = np.array((width, height)) / 2 - 1.5 * cell
    return [
        CardCell(first + corner + cell * (column, row), along, up)
        for row in range(3)
        for column in range(3)
    ]


def upright_picture(picture: Image, deck: Deck, cell: CardCell) -> Image:
    """Return the upright picture of one card, at ten pixels per mm."""
    corner, along, up = cell
    source = np.array(
        [corner + up * deck.height_mm, corner + up * deck.height_mm + along * deck.width_mm, corner]
    )
    target = np.array([(0, 0), (deck.width_mm * 10, 0), (0, deck.height_mm * 10)])
    transform = cv2.getAffineTransform(
        (source * DPI / 25.4 - 0.5).astype(np.float32), (target - 0.5).astype(np.float32)
    )
    size = round(deck.width_mm * 10), round(deck.height_mm * 10)
    return np.asarray(cv2.warpAffine(picture, transform, size, flags=cv2.INTER_LINEAR), np.uint8)


def fronts_and_backs(
    kit: Kit, pages: Sequence[Page], pictures: tuple[Image, ...]
) -> Iterator[tuple[tuple[Card, ...], Image, Image]]:
    """Yield the cards of each page of fronts, its picture, and the picture of the backs behind it.

    The page of backs follows each page of fronts.
    """
    by_name = {card.name: card for card in deck_of(kit).cards}
    for (page, front), (_, back) in pairwise(zip(pages, pictures, strict=True)):
        if page.kind == "cards":
            yield tuple(by_name[name] for name in page.names), front, back


# ---- fronts --------------------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_both_markers_of_every_card_are_read(paper: Paper) -> None:
    deck = deck_of(KIT)
    inset = deck.inset_mm
    side = deck.marker_mm
    card_count = 0
    for cards, front, _ in fronts_and_backs(KIT, *pages_of(paper)):
        markers = list(markers_mm(front))
        assert Counter(marker for marker, _ in markers) == {card.marker: 2 for card in cards}
        for card, (corner, along, up) in zip(cards, card_cells_mm(deck, paper), strict=False):
            # corners of the marker in the axes of the card
            right = deck.width_mm - inset
            top = deck.height_mm - inset
            square = np.array(
                [(right - side, top), (right, top), (right, top - side), (right - side, top - side)]
            )
            # the second marker is the first one, turned by 180 degrees about the middle of the card
            turned = np.array((deck.width_mm, deck.height_mm)) - square
            for corners in (square, turned):
                expected_mm = corner + corners[:, :1] * along + corners[:, 1:] * up
                error_mm = min(
                    np.abs(read_mm - expected_mm).max()
                    for marker, read_mm in markers
                    if marker == card.marker
                )
                assert error_mm < 0.1, card.name
            card_count += 1
    assert card_count == len(deck.cards)


@needs_poppler
def test_every_card_marker_has_its_white_border() -> None:
    for _, front, _ in fronts_and_backs(KIT, *pages_of("a4")):
        for _, corners in markers_mm(front):
            assert_white_around(front, corners, deck_of(KIT).marker_mm / MARKER_MODULES)


@needs_poppler
def test_only_cutting_marks_lie_on_the_cuts() -> None:
    """Beside the cards there is one line for each cut, at the right place, and nothing else."""
    deck = deck_of(KIT)
    kit = replace(KIT, deck=replace(deck, cards=deck.cards[:9]))
    pdf, pages = kit_pdf(kit, KitStyle("letter"))
    number = 1 + [page.kind for page in pages].index("cards")
    (front,) = rasterise(pdf, FINE_DPI, number, number)
    px_per_mm = FINE_DPI / 25.4
    # Cutting marks are looked for in a strip beside the cards. The strip begins and ends at these
    # distances from the cards. It is a little longer than they are, but not so much that the words
    # of the ruler would be in it.
    near = round(0.4 * px_per_mm)
    far = round(1.6 * px_per_mm)
    reach = round(0.2 * px_per_mm)
    # on Letter the cards lie turned, three by three in the middle
    pitches_px = np.array((deck.height_mm, deck.width_mm)) * px_per_mm
    middle_px = np.array(front.shape[::-1]) / 2
    # first the lines between columns, then those between rows on the turned picture
    for axis, picture in enumerate((front, front.T)):
        pitch = pitches_px[axis]
        across = pitches_px[1 - axis]
        start = round(middle_px[axis] - 1.5 * pitch) - reach
        end = start + round(3 * pitch) + 2 * reach
        edge = round(middle_px[1 - axis] - 1.5 * across)
        # the middles of the lines in the strip, where neighbouring dark pixels are one line
        dark = np.flatnonzero(picture[edge + near : edge + far, start:end].min(axis=0) < 200)
        lines = [group.mean() for group in np.split(dark, np.flatnonzero(np.diff(dark) > 2) + 1)]
        assert len(lines) == 4, "not one line for each cut"
        wanted = middle_px[axis] + (np.arange(4) - 1.5) * pitch
        assert np.abs(np.array(lines) + 0.5 + start - wanted).max() / px_per_mm < 0.1


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_every_page_keeps_its_margins(paper: Paper) -> None:
    pages, pictures = pages_of(paper)
    edge = int((MARGIN_MM - 0.2) * PX_PER_MM)
    # instructions, 6 of the board, 3 of places, and 9 of cards, each with its backs
    assert len(pictures) == len(pages) == 28
    for page, picture in zip(pages, pictures, strict=True):
        margins = (picture[:edge], picture[-edge:], picture[:, :edge], picture[:, -edge:])
        assert min(margin.min() for margin in margins) > 250, page.names


@needs_poppler
def test_no_other_page_has_a_foreign_marker() -> None:
    """The pages of fronts and backs, which come last, have tests of their own."""
    game = GAMES["binmat"]
    pdf, pages = kit_pdf(KIT, KitStyle(), game.extras(game.options({})))
    kinds = [page.kind for page in pages]
    first = kinds.index("cards")
    assert set(kinds[first:]) == {"cards", "backs"}
    for page, picture in zip(pages[:first], rasterise(pdf, DPI, 1, first), strict=True):
        assert {marker for marker, _ in markers_mm(picture)} <= allowed_markers(KIT, page), page


# ---- backs ---------------------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_backs_lie_behind_the_cards(paper: Paper) -> None:
    deck = deck_of(KIT)
    for cards, _, back in fronts_and_backs(KIT, *pages_of(paper)):
        assert not list(markers_mm(back))
        # printers turn the sheet over its long or its short edge
        for turned in (back[:, ::-1], back[::-1]):
            for _, cell in zip(cards, card_cells_mm(deck, paper), strict=False):
                # without the outermost pixels, which are grey
                card_back = upright_picture(np.ascontiguousarray(turned), deck, cell)[2:-2, 2:-2]
                assert card_back.max() < 120, "a back leaves white on a card"


# ---- lanes and places for piles ------------------------------------------------------------------


@needs_poppler
def test_places_for_piles_fit_cards_and_lanes() -> None:
    deck = deck_of(KIT)
    for paper in PAPERS:
        pages, pictures = pages_of(paper)
        # the index of each page with places, and how many columns of places it has
        for index, count in ((7, 3), (8, 3), (9, 1)):
            ink = (pictures[index] < 128).astype(np.uint8)
            outlines, _ = cv2.findContours(ink, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
            boxes = [np.array(cv2.boundingRect(outline)) / PX_PER_MM for outline in outlines]
            places = sorted(
                box[0]
                for box in boxes
                if np.allclose(box[2:], (deck.width_mm, deck.height_mm), atol=0.4)
            )
            assert len(places) == count, (paper, pages[index].names)
            assert np.diff(places) == pytest.approx([KIT.board.pitch_mm] * (count - 1), abs=0.3)


# ---- names and words -----------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_pages_of_a_deck_say_what_they_are(paper: Paper) -> None:
    pages = page_texts(kit_document(paper)[0])
    for words in ("Join the board, 6 pages", "Make the 78 cards", "Pages 11 to 28 are cards"):
        assert words in pages[0]
    assert "first card" in pages[1]
    assert "ends of lanes 0 to 2" in pages[7]
    assert "attacker deck and attacker discard" in pages[9]
    assert "cards, 1 of 9" in pages[10]
    assert "backs, 9 of 9" in pages[27]


# ---- geometry ------------------------------------------------------------------------------------


def test_lanes_are_cut_between_lanes_and_between_zones() -> None:
    """On A4 each page holds two of six lanes, and the zones of one seat."""
    board = KIT.board
    width, height = PAPER_SIZES_MM["a4"]
    tiling = tile_board(board, width - 2 * MARGIN_MM, height - 2 * MARGIN_MM, FOOT_MM)
    assert tiling.joints_x == (143.0, 287.0)
    assert tiling.joints_y == (209.0,)
    assert tiling.extent.top + tiling.extent.bottom == pytest.approx(board.height_mm)


def test_cards_larger_than_the_paper_are_refused() -> None:
    deck = deck_of(KIT)
    with pytest.raises(
        Malformed, match="Cards of 300 x 400 mm do not fit the paper: make them smaller"
    ):
        card_grid(replace(deck, width_mm=300, height_mm=400), "a4")
    with pytest.raises(Malformed, match="Places for piles 276 mm deep do not fit the paper"):
        pile_pages(
            KIT, replace(deck, lane_piles=("deck", "discard", "out")), Rectangle(0, 0, 283, 186)
        )


def test_notes_too_long_for_the_instructions_raise() -> None:
    notes = ("Three lanes begin with an open deck, the other three with a hidden one.",) * 20
    with pytest.raises(
        ValueError, match="the notes in the kit of binmat do not fit the page of instructions"
    ):
        kit_pdf(replace(KIT, notes=notes), KitStyle())
