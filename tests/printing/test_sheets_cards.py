"""The printed deck and its lanes, read back with the eyes of a camera: markers, sizes, cuts, backs, places, words."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sheet_tools import (
    DPI,
    PAPERS,
    PX_PER_MM,
    Image,
    Points,
    assert_distances,
    board_pages,
    corners_when_joined,
    markers_mm,
    needs_poppler,
    pictures,
)

from companion.core.errors import Malformed
from companion.core.i18n import LANGUAGES
from companion.core.kit import Card, Deck, Kit
from companion.games import GAMES
from companion.printing.kit_pages.deck_pages import card_grid, pile_parts
from companion.printing.kit_pages.sheets import (
    BACK,
    MARGIN_MM,
    SIZES_MM,
    KitStyle,
    Paper,
    Sheets,
    kit_pdf,
)
from companion.printing.tiling import tile_board

FINE_DPI = 300
"""For distances within 0.1 mm between thin lines, which a rasteriser sets on whole pixels."""


KIT = GAMES["binmat"].kit(GAMES["binmat"].options({}))


def deck_of(kit: Kit) -> Deck:
    assert kit.deck
    return kit.deck


@cache
def printed(paper: Paper) -> tuple[Sheets, tuple[Image, ...]]:
    return pictures(KIT, paper)


@cache
def finely_printed(paper: Paper) -> tuple[Kit, Sheets, tuple[Image, ...]]:
    """One page of cards, with the board."""
    deck = deck_of(KIT)
    kit = replace(KIT, deck=replace(deck, cards=deck.cards[:9]))
    return kit, *pictures(kit, paper, dpi=FINE_DPI)


def cells_mm(deck: Deck, paper: Paper) -> list[tuple[Points, Points, Points]]:
    """Where the nine cards of a page must lie, as one reads: lower left corner of the card, its x, its y; mm, y down.

    Three by three in the middle of the page: upright on A4, on Letter turned left on a page across.
    """
    width, height = SIZES_MM[paper]
    if paper == "a4":
        x, y, along, up = deck.width_mm, deck.height_mm, np.array((1.0, 0.0)), np.array((0.0, -1.0))
    else:
        width, height = height, width
        x, y, along, up = (
            deck.height_mm,
            deck.width_mm,
            np.array((0.0, -1.0)),
            np.array((-1.0, 0.0)),
        )
    first = np.array((width / 2 - 1.5 * x, height / 2 - 1.5 * y))
    corner = np.array((0.0, y)) if paper == "a4" else np.array((x, y))
    return [
        (first + corner + (column * x, row * y), along, up)
        for row in range(3)
        for column in range(3)
    ]


def upright(page: Image, deck: Deck, cell: tuple[Points, Points, Points], dpi: int = DPI) -> Image:
    """The picture of one card, upright, ten pixels a mm."""
    corner, along, up = cell
    source = np.array(
        [corner + up * deck.height_mm, corner + up * deck.height_mm + along * deck.width_mm, corner]
    )
    target = np.array([(0, 0), (deck.width_mm * 10, 0), (0, deck.height_mm * 10)])
    turn = cv2.getAffineTransform(
        (source * dpi / 25.4 - 0.5).astype(np.float32), (target - 0.5).astype(np.float32)
    )
    size = round(deck.width_mm * 10), round(deck.height_mm * 10)
    return np.asarray(cv2.warpAffine(page, turn, size, flags=cv2.INTER_LINEAR), np.uint8)


def card_pages(
    kit: Kit, sheets: Sheets, pages: tuple[Image, ...]
) -> Iterator[tuple[tuple[Card, ...], Image, Image]]:
    """The cards of every front, the front and the page behind it."""
    by_name = {card.name: card for card in deck_of(kit).cards}
    for (names, front), (_, back) in pairwise(zip(sheets.names, pages, strict=True)):
        if set(names) <= set(by_name):
            yield tuple(by_name[name] for name in names), front, back


# ---- fronts -----------------------------------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_both_markers_of_every_card_are_read_where_they_belong(paper: Paper) -> None:
    deck = deck_of(KIT)
    inset, side = deck.inset_mm, deck.marker_mm
    seen = 0
    for cards, front, _ in card_pages(KIT, *printed(paper)):
        found = list(markers_mm(front))
        assert Counter(marker for marker, _ in found) == {card.marker: 2 for card in cards}
        for card, (corner, along, up) in zip(cards, cells_mm(deck, paper), strict=False):
            right, top = deck.width_mm - inset, deck.height_mm - inset
            square = np.array(
                [(right - side, top), (right, top), (right, top - side), (right - side, top - side)]
            )
            wanted = [square, np.array((deck.width_mm, deck.height_mm)) - square]
            for four in wanted:
                places = corner + four[:, :1] * along + four[:, 1:] * up
                off = min(
                    np.abs(got - places).max() for marker, got in found if marker == card.marker
                )
                assert off < 0.1, (card.name, off)
            seen += 1
    assert seen == len(deck.cards)


@needs_poppler
def test_card_markers_have_their_white_round_them() -> None:
    for _, front, _ in card_pages(KIT, *printed("a4")):
        for marker, corners in markers_mm(front):
            for reach in (0.3, 0.6, 0.95):
                spread = reach * deck_of(KIT).marker_mm / 7
                (left, top), (right, bottom) = (
                    corners.min(axis=0) - spread,
                    corners.max(axis=0) + spread,
                )
                x0, y0, x1, y1 = (round(v * PX_PER_MM - 0.5) for v in (left, top, right, bottom))
                ring = front[y0 : y1 + 1, x0 : x1 + 1]
                assert (
                    min(ring[0].min(), ring[-1].min(), ring[:, 0].min(), ring[:, -1].min()) > 200
                ), (marker, reach)


def likeness(one: Image, other: Image) -> float:
    """1 for equal pictures, wherever a rasteriser has set their letters within half a millimetre."""
    return float(cv2.matchTemplate(other, one[5:-5, 5:-5], cv2.TM_CCOEFF_NORMED).max())


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_a_card_is_the_same_upside_down(paper: Paper) -> None:
    kit, sheets, pages = finely_printed(paper)
    deck = deck_of(kit)
    ((cards, front, _),) = card_pages(kit, sheets, pages)
    index = (
        slice(round(deck.inset_mm * 10), round((deck.inset_mm + deck.marker_mm) * 10)),
        slice(40, 420),
    )
    for card, cell in zip(cards, cells_mm(deck, paper), strict=True):
        whole = upright(front, deck, cell, FINE_DPI)
        turned = np.ascontiguousarray(np.rot90(whole, 2))
        assert likeness(whole, turned) > 0.98, card.name
        assert whole[index].min() < 50, "value and suit stand in the upper left corner"
        assert likeness(whole[index], turned[index]) > 0.96, "and so they do upside down"


@needs_poppler
def test_no_two_cards_look_alike_in_a_fan_or_whole() -> None:
    deck = deck_of(KIT)
    strip = round((deck.inset_mm + deck.marker_mm) * 10)
    indices: dict[str, Image] = {}
    middles: dict[str, Image] = {}
    for cards, front, _ in card_pages(KIT, *printed("a4")):
        for card, cell in zip(cards, cells_mm(deck, "a4"), strict=False):
            soft = cv2.GaussianBlur(upright(front, deck, cell), (0, 0), 8)[::5, ::5]
            indices[card.name] = soft[: strip // 5, : 420 // 5]
            middles[card.name] = soft[strip // 5 : -strip // 5]
    assert len(indices) == 78
    for parts in (indices, middles):
        for one, other in combinations(parts, 2):
            assert np.abs(parts[one].astype(int) - parts[other]).mean() > 2, (one, other)


@needs_poppler
def test_the_big_10_is_not_much_lower_than_the_other_values() -> None:
    deck = deck_of(KIT)
    cards, front, _ = next(card_pages(KIT, *printed("a4")))
    heights = {}
    for card, cell in zip(cards, cells_mm(deck, "a4"), strict=True):
        left = slice(round((deck.inset_mm + deck.marker_mm) * 10) + 5, round(deck.width_mm * 5) - 5)
        big = upright(front, deck, cell)[
            round((deck.inset_mm + deck.marker_mm) * 10) + 5 : round(deck.height_mm * 5) - 15, left
        ]
        heights[card.value] = np.flatnonzero((big < 128).any(axis=1)).size / 10
    assert heights["10"] > 0.6 * heights["9"] > 9, "mm"


@needs_poppler
def test_cards_are_black_on_white_whatever_the_suit() -> None:
    run = subprocess.run(
        ["pdftoppm", "-r", "60", "-f", "11", "-l", "27", "-"],
        input=kit_pdf(KIT),
        capture_output=True,
        check=True,
    )
    pages = run.stdout.split(b"P6\n")[1:]
    assert len(pages) == 17
    for page in pages[::2]:
        size, _, pixels = page.split(b"\n", 2)
        width, height = map(int, size.split())
        colours = (
            np.frombuffer(pixels, np.uint8)
            .reshape(height, width, 3)[: int(height - 16 * 60 / 25.4)]
            .astype(int)
        )
        assert (colours.max(axis=2) - colours.min(axis=2)).max() < 12


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_cutting_marks_are_three_cards_apart_and_nothing_else_is_on_the_cuts(paper: Paper) -> None:
    kit, sheets, pages = finely_printed(paper)
    deck = deck_of(kit)
    ((_, front, _),) = card_pages(kit, sheets, pages)
    x, y = (deck.width_mm, deck.height_mm) if paper == "a4" else (deck.height_mm, deck.width_mm)
    middle_x, middle_y = front.shape[1] / 2, front.shape[0] / 2
    px = FINE_DPI / 25.4
    near, far = round(0.4 * px), round(1.6 * px)
    left, top = round(middle_x - 1.5 * x * px), round(middle_y - 1.5 * y * px)
    reach = round(0.2 * px)  # the ruler's words follow
    for band, pitch, start in (
        (
            front[top + near : top + far, left - reach : round(left + 3 * x * px) + reach].min(
                axis=0
            ),
            x,
            left - reach,
        ),
        (
            front[top - reach : round(top + 3 * y * px) + reach, left + near : left + far].min(
                axis=1
            ),
            y,
            top - reach,
        ),
    ):
        dark = np.flatnonzero(band < 200)
        lines = [group.mean() for group in np.split(dark, np.flatnonzero(np.diff(dark) > 2) + 1)]
        assert len(lines) == 4, "one line for every cut, nothing else there"
        middle = middle_x if pitch == x else middle_y
        wanted = [middle + (number - 1.5) * pitch * px for number in range(4)]
        assert np.abs(np.array(lines) + 0.5 + start - wanted).max() / px < 0.1
        assert (lines[-1] - lines[0]) / px == pytest.approx(3 * pitch, abs=0.1)


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_every_page_keeps_its_margins(paper: Paper) -> None:
    sheets, pages = printed(paper)
    edge = int((MARGIN_MM - 0.2) * PX_PER_MM)
    assert len(pages) == sheets.pages == 28
    for names, page in zip(sheets.names, pages, strict=True):
        assert (
            min(page[:edge].min(), page[-edge:].min(), page[:, :edge].min(), page[:, -edge:].min())
            > 250
        ), names
        bar = 255.0 - page[-round(13.2 * PX_PER_MM) : -edge, : int(109.5 * PX_PER_MM)]
        length = bar.sum(axis=1).max() / 255 / PX_PER_MM
        assert length == pytest.approx(100, abs=0.3), names


# ---- backs ------------------------------------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_backs_lie_behind_the_cards_however_the_sheet_is_turned(paper: Paper) -> None:
    deck = deck_of(KIT)
    for cards, _, back in card_pages(KIT, *printed(paper)):
        assert not list(markers_mm(back))
        for turned in (back[:, ::-1], back[::-1]):
            for _, cell in zip(cards, cells_mm(deck, paper), strict=False):
                assert upright(np.ascontiguousarray(turned), deck, cell)[2:-2, 2:-2].max() < 120, (
                    "no white on a card"
                )


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_all_backs_are_alike_and_the_same_upside_down(paper: Paper) -> None:
    deck = deck_of(KIT)
    backs = [
        cv2.GaussianBlur(upright(back, deck, cell), (0, 0), 3)[20:-20, 20:-20].astype(int)
        for _, _, back in card_pages(KIT, *printed(paper))
        for cell in cells_mm(deck, paper)
    ]
    assert len(backs) == 81
    assert np.ptp(backs[0]) > 20, "stripes"
    for back in backs:
        assert np.abs(back - backs[0]).mean() < 1
        assert np.abs(back - np.rot90(back, 2)).mean() < 1


# ---- lanes and places for piles -----------------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_joined_lanes_keep_the_corners_in_place(paper: Paper) -> None:
    kit, sheets, pages = finely_printed(paper)
    tiling, board = board_pages(kit, paper, sheets, pages)
    assert (tiling.across, tiling.down) == (3, 2)
    seen = corners_when_joined(tiling, board, FINE_DPI)
    assert sorted(marker for marker, _ in seen) == sorted(kit.board.corners), (
        "each whole, on one page only"
    )
    assert_distances({marker: corners.mean(axis=0) for marker, corners in seen}, kit.board, 0.1)


@needs_poppler
@pytest.mark.parametrize(("page", "marker", "away"), [(1, 16, -1), (6, 18, 1)])
def test_zones_have_the_first_card_and_an_arrow_away_from_their_seat(
    page: int, marker: int, away: int
) -> None:
    """On board A1 and C2: `away` is the direction from the seat's edge, downwards on the page."""
    board, deck = KIT.board, deck_of(KIT)
    sheets, pages = printed("a4")
    picture = pages[page]
    assert sheets.names[page] == (("board A1",) if away < 0 else ("board C2",))
    found = dict(markers_mm(picture))[marker].mean(axis=0)
    lane, edge = (0, 0.0) if away < 0 else (5, board.height_mm)
    off = np.subtract((lane * board.pitch_mm + 35, edge), board.corner_centres_mm[marker]) * (1, -1)
    x, y = found + off

    def dark(across_mm: float, from_edge_mm: float) -> bool:
        """Whether something is printed that far right of the lane's middle and that far from the seat's edge."""
        column, row = (
            round((x + across_mm) * PX_PER_MM),
            round((y + away * from_edge_mm) * PX_PER_MM),
        )
        return bool(picture[row - 1 : row + 2, column - 1 : column + 2].min() < 160)

    assert all(dark(0, at) for at in range(100, 195, 5)), "a shaft"
    widths = {at: sum(dark(across, at) for across in range(-8, 9)) for at in (110, 191, 195, 199)}
    assert widths[191] > widths[195] > widths[199] >= widths[110] - 2, (
        "a head that ends away from the seat"
    )
    assert dark(10, deck.height_mm), "the outline of the first card"
    sides = [[dark(sign * deck.width_mm / 2, at / 2) for at in range(4, 170)] for sign in (-1, 1)]
    assert all(0.4 < np.mean(side) < 1 for side in sides), "dashed"
    for number in range(1, 8):
        step = deck.height_mm + number * deck.step_mm
        assert dark(-deck.width_mm / 2 + 3, step), number
        assert dark(deck.width_mm / 2 - 3, step), number
        assert not dark(deck.width_mm / 2 - 3, step - deck.step_mm / 2), number


@needs_poppler
def test_places_for_piles_have_the_size_of_cards_and_the_pitch_of_lanes() -> None:
    deck = deck_of(KIT)
    for paper in PAPERS:
        sheets, pages = printed(paper)
        for page, count in ((7, 3), (8, 3), (9, 1)):
            ink = (pages[page] < 128).astype(np.uint8)
            outlines, _ = cv2.findContours(ink, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
            boxes = [np.array(cv2.boundingRect(outline)) / PX_PER_MM for outline in outlines]
            places = sorted(
                box[0]
                for box in boxes
                if np.allclose(box[2:], (deck.width_mm, deck.height_mm), atol=0.4)
            )
            assert len(places) == count, (paper, sheets.names[page])
            assert np.diff(places) == pytest.approx([KIT.board.pitch_mm] * (count - 1), abs=0.3)


# ---- names and words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", PAPERS)
def test_names_tell_what_is_on_each_page_of_a_deck(paper: Paper) -> None:
    sheets, deck = printed(paper)[0], deck_of(KIT)
    assert [names[0] for names in sheets.names[:7]] == [
        "instructions",
        *(f"board {column}{row}" for row in (1, 2) for column in "ABC"),
    ]
    assert sheets.names[7] == tuple(
        f"lane {lane} {pile}" for lane in (0, 1, 2) for pile in ("deck", "discard")
    )
    assert sheets.names[8] == tuple(
        f"lane {lane} {pile}" for lane in (3, 4, 5) for pile in ("deck", "discard")
    )
    assert sheets.names[9] == ("attacker deck", "attacker discard")
    assert [card for names in sheets.names[10::2] for card in names] == [
        card.name for card in deck.cards
    ]
    assert sheets.names[11::2] == ((BACK,) * 9,) * 9


def test_a_deck_is_printed_once_whatever_the_spares() -> None:
    assert kit_pdf(KIT) == kit_pdf(KIT, KitStyle(spares=1)) == kit_pdf(KIT, KitStyle(spares=9))


def test_a_printed_deck_is_vectors() -> None:
    assert b"/Image" not in kit_pdf(KIT).replace(b"/ImageB /ImageC /ImageI", b"")


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_pages_of_a_deck_say_what_they_are(paper: Paper) -> None:
    pdf = kit_pdf(KIT, KitStyle(paper))
    run = subprocess.run(
        ["pdftotext", "-layout", "-", "-"], input=pdf, capture_output=True, check=True
    )
    pages = [" ".join(page.split()) for page in run.stdout.decode().split("\f")]
    for words in (
        "Join the board, 6 pages",
        "Make the 78 cards",
        "Pages 11 to 28 are cards",
        "on the long edge",
        "every other page from 11 on",
        "matt sleeve",
        "Lay cards open in a fan",
        "17 mm",
        "set up the cards",
    ):
        assert words in pages[0]
    assert "South is defender" in pages[1]
    assert "first card" in pages[1]
    assert "ends of lanes 0 to 2" in pages[7]
    assert "this end to the board" in pages[7]
    assert "attacker deck and attacker discard" in pages[9]
    assert "cards, 1 of 9" in pages[10]
    assert "backs, 9 of 9" in pages[27]
    assert all("100 mm long" in page for page in pages[:28])


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_no_camera_takes_the_pictures_on_the_instructions_for_cards(paper: Paper) -> None:
    assert not list(markers_mm(printed(paper)[1][0]))


# ---- geometry -------------------------------------------------------------------------------------------------------


@given(width=st.integers(40, 90), height=st.integers(60, 130), paper=st.sampled_from(PAPERS))
def test_any_cards_stand_in_the_middle_of_a_page_within_its_margins(
    width: int, height: int, paper: Paper
) -> None:
    deck = Deck(deck_of(KIT).cards, deck_of(KIT).zones, width_mm=width, height_mm=height)
    grid = card_grid(deck, SIZES_MM[paper], MARGIN_MM, 6.4)
    page = SIZES_MM[paper][:: -1 if grid.landscape else 1]
    assert grid.x >= MARGIN_MM
    assert grid.y >= MARGIN_MM + 6.4
    assert 2 * grid.x + grid.columns * grid.cell_width == pytest.approx(page[0])
    assert 2 * grid.y + grid.rows * grid.cell_height == pytest.approx(page[1])
    assert sum(map(len, grid.pages(deck))) == 78
    assert len(set(grid.cells)) == grid.size > 0


def test_a_page_holds_nine_cards_of_poker_size() -> None:
    for paper in PAPERS:
        assert card_grid(deck_of(KIT), SIZES_MM[paper], MARGIN_MM, 6.4).size == 9


def test_lanes_are_cut_between_lanes_and_between_zones() -> None:
    board = KIT.board
    tiling = tile_board(board, 196, 283, 10)
    assert tiling.cuts_x == (143.0, 287.0)
    assert tiling.cuts_y == (209.0,)
    assert tiling.extent.top + tiling.extent.bottom == pytest.approx(board.height_mm)


def test_cards_and_piles_larger_than_the_paper_are_refused() -> None:
    deck = deck_of(KIT)
    with pytest.raises(
        Malformed, match="Cards of 300 x 400 mm do not fit the paper: make them smaller"
    ):
        card_grid(replace(deck, width_mm=300, height_mm=400), SIZES_MM["a4"], MARGIN_MM, 6.4)
    with pytest.raises(Malformed, match="Places for piles 276 mm deep do not fit the paper"):
        pile_parts(KIT, replace(deck, lane_piles=("deck", "discard", "out")), (283, 186))


@needs_poppler
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_line_of_the_instructions_runs_under_a_picture(language: str) -> None:
    """The first picture is the widest: a pile for each kind of sheet, with its page numbers below."""
    game = GAMES["binmat"]
    pdf = kit_pdf(game.kit(game.options({})), KitStyle(language=language))
    run = subprocess.run(
        ["pdftotext", "-l", "1", "-bbox", "-", "-"], input=pdf, capture_output=True, check=True
    )
    told = run.stdout.decode()
    found = re.findall(
        r'xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="[\d.]+">([^<]*)<', told
    )
    words = [(float(left), float(top), float(right), word) for left, top, right, word in found]
    piles = [(left, top) for left, top, _, word in words if re.fullmatch(r"\d+-\d+", word)]
    edge, below = min(left for left, _ in piles), min(top for _, top in piles)
    beside = [
        word
        for left, top, right, word in words
        if below - 60 < top < below and left < edge < right + 3
    ]
    assert len(piles) >= 3
    assert beside == []


def test_notes_that_do_not_fit_the_instructions_are_a_defect_of_the_kit() -> None:
    notes = ("Three lanes begin with an open deck, the other three with a hidden one.",) * 20
    with pytest.raises(
        ValueError, match="the notes in the kit of binmat do not fit the page of instructions"
    ):
        kit_pdf(replace(KIT, notes=notes))


def test_a_deck_without_piles_has_no_places_for_them() -> None:
    deck = deck_of(KIT)
    assert pile_parts(KIT, replace(deck, lane_piles=(), side_piles=()), (283, 186)) == ()
    assert len(pile_parts(KIT, replace(deck, lane_piles=()), (283, 186))) == 1
