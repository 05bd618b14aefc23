"""Test the printed kit as a camera sees it: sizes, distances, markers and joints of its pages.

Poppler makes a picture of each page of a PDF. A `Page` says what should be on it. Squares and pages
are measured in millimetres.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import dist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sheet_tools import (
    DPI,
    PAPERS,
    PX_PER_MM,
    Image,
    Points,
    allowed_markers,
    assert_distances,
    assert_white_around,
    board_pages,
    corners_when_joined,
    kit_pictures,
    markers_mm,
    needs_poppler,
    page_texts,
    rasterise,
)

from companion.core.errors import Malformed
from companion.core.kit import Board, Kit
from companion.games import GAMES
from companion.games.aids import Extras
from companion.printing.kit_pages.sheets import KitStyle, Page, kit_pdf, paper_for_whole_board
from companion.printing.pdf_pen import MARKER_MODULES
from companion.printing.tiling import (
    FOOT_MM,
    MARGIN_MM,
    PAPER_SIZES_MM,
    Paper,
    board_extent,
    quiet_mm,
    tile_board,
)

BOARDS = {
    "standard": ".Nn\n...\n...\nsS.",
    "walls": "..N.n\n.....\n#.#.#\n.....\ns.S..",
    "large": "..N....n..\n"
    + "..........\n" * 2
    + "..#....#..\n"
    + "..........\n" * 3
    + "..s....S..",
}


# Resolution that is enough to see whether something is printed.
COARSE_DPI = 40


def outbuffered(board: str) -> Kit:
    game = GAMES["outbuffered"]
    return game.kit(game.options({"board": BOARDS[board]}))


GAMES_ON_SQUARES = ("scouts", "arena", "kahmate")
TILES_OPTIONS = GAMES["outbuffered"].options({"tiles": True})
KITS = {
    **{name: outbuffered(name) for name in BOARDS},
    **{name: game.kit(game.options({})) for name, game in GAMES.items()},
    "tiles": GAMES["outbuffered"].kit(TILES_OPTIONS),
}


@cache
def pages_of(name: str, paper: Paper) -> tuple[Sequence[Page], tuple[Image, ...]]:
    """Return a kit's pages and their pictures, which are made once for all tests.

    The kits of `GAMES` and the one with tiles come with aids and all other extras. The boards do
    not.
    """
    if name in GAMES:
        return default_pages(name, paper=paper)
    extras = GAMES["outbuffered"].extras(TILES_OPTIONS) if name == "tiles" else None
    return kit_pictures(KITS[name], paper, extras=extras)


def side_lengths(corners: Points) -> list[float]:
    """Return the lengths of the four sides of a marker."""
    return [dist(corner, following) for corner, following in pairwise([*corners, corners[0]])]


# ---- printed pages -------------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", ["standard", "scouts"])
def test_the_printed_ruler_is_true(name: str, paper: Paper) -> None:
    pages, pictures = pages_of(name, paper)
    assert len(pictures) == len(pages)
    for picture in pictures:
        assert sorted(picture.shape) == pytest.approx(
            [side * PX_PER_MM for side in PAPER_SIZES_MM[paper]], abs=1.5
        )
        # the ruler, 100 mm long, is the darkest row at the foot of the page, and begins at its left
        foot = picture[int(-20 * PX_PER_MM) :, : int(109.5 * PX_PER_MM)].astype(float)
        darkness = 255 - foot
        bar = darkness[darkness.sum(axis=1).argmax()]
        # grey pixels at the ends of the ruler count in part
        assert bar.sum() / bar.max() / PX_PER_MM == pytest.approx(100, abs=0.2)


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", ["walls", "large", "scouts"])
def test_joined_pages_keep_the_corners_in_place(name: str, paper: Paper) -> None:
    joined_corners = corners_when_joined(*board_pages(KITS[name], paper, *pages_of(name, paper)))
    board = KITS[name].board
    # each corner marker is whole on exactly one page
    assert sorted(marker for marker, _ in joined_corners) == sorted(board.corners)
    centres = {marker: corners.mean(axis=0) for marker, corners in joined_corners}
    assert_distances(centres, board, 0.3)


@needs_poppler
@pytest.mark.parametrize("name", ["standard", "tiles", *GAMES_ON_SQUARES])
def test_every_page_keeps_its_margins(name: str) -> None:
    _, pictures = pages_of(name, "a4")
    # a bit more is allowed, because the dashes of a fold begin half a millimetre beside the piece
    edge_px = int((MARGIN_MM - 0.8) * PX_PER_MM)
    for number, picture in enumerate(pictures):
        inside = picture[edge_px:-edge_px, edge_px:-edge_px]
        assert np.count_nonzero(picture < 250) == np.count_nonzero(inside < 250), number


@needs_poppler
@pytest.mark.parametrize("name", ["standard", *GAMES_ON_SQUARES])
def test_every_tag_is_printed_once(name: str) -> None:
    kit = KITS[name]
    pages, pictures = pages_of(name, "a4")
    faces = Counter(face for page in pages for face in page.names)
    times_in_kit = Counter(face for piece in kit.pieces for face in piece)
    assert all(faces[face] == times for face, times in times_in_kit.items())

    # what the pages say is there: each marker once, in its size
    tags = [
        (marker, corners)
        for page, picture in zip(pages, pictures, strict=True)
        if page.kind == "pieces"
        for marker, corners in markers_mm(picture)
    ]
    wanted = {marker for face in kit.faces for marker in face.markers}
    assert Counter(marker for marker, _ in tags) == dict.fromkeys(wanted, 1)
    for _, corners in tags:
        assert side_lengths(corners) == pytest.approx([kit.tag_mm] * 4, abs=0.3)


@needs_poppler
@pytest.mark.parametrize("name", ["standard", "walls", *GAMES_ON_SQUARES])
def test_every_marker_has_its_white_border(name: str) -> None:
    pages, pictures = pages_of(name, "a4")
    for page, picture in zip(pages, pictures, strict=True):
        if page.kind == "instructions":
            continue
        for _, corners in markers_mm(picture):
            assert_white_around(picture, corners, dist(corners[0], corners[1]) / MARKER_MODULES)


@needs_poppler
@pytest.mark.parametrize("name", ["outbuffered", "tiles", *GAMES_ON_SQUARES])
def test_no_page_has_a_foreign_marker(name: str) -> None:
    for page, picture in zip(*pages_of(name, "a4"), strict=True):
        markers = {marker for marker, _ in markers_mm(picture)}
        assert markers <= allowed_markers(KITS[name], page), page


@needs_poppler
@pytest.mark.parametrize("name", ["scouts", "kahmate"])
def test_faces_of_a_piece_fold_back_to_back(name: str) -> None:
    """On paper the back is below the front, as far away as a face is deep and the piece thick."""
    kit = KITS[name]
    pages, pictures = pages_of(name, "a4")
    # the middle of each marker on its page
    middles = {
        marker: corners.mean(axis=0)
        for page, picture in zip(pages, pictures, strict=True)
        if page.kind == "pieces"
        for marker, corners in markers_mm(picture)
    }
    pairs = [tag for tag in kit.tags if len(tag) == 2]
    assert len(pairs) >= 10
    for (face, front), (_, back) in pairs:
        _, depth_mm = kit.tops_mm[face.name]
        distance_mm = depth_mm + face.height_mm
        assert middles[back] - middles[front] == pytest.approx([0, distance_mm], abs=0.3)


@needs_poppler
def test_pages_say_what_they_are() -> None:
    pdf, _ = kit_pdf(KITS["large"], KitStyle())
    pages = page_texts(pdf)
    assert "Join the board, 6 pages" in pages[0]
    assert "board A1 of A1-B3" in pages[1]
    assert "glue B1 on this edge" in pages[1]
    assert "board B3 of A1-B3" in pages[6]
    assert "purple robot" in pages[7]
    assert "id 20, 10 mm high" in pages[7]
    assert all("Print at 100 %" in page for page in pages[:8])


# ---- the file ------------------------------------------------------------------------------------


def test_more_pieces_than_markers_raise() -> None:
    kit = KITS["standard"]
    kit_of_two = Kit(
        kit.game, kit.title, kit.board, kit.sides, kit.faces, (("lime flag",), ("lime flag",))
    )
    with pytest.raises(ValueError, match="more pieces “lime flag” than markers"):
        kit_pdf(kit_of_two, KitStyle())


def test_the_pdf_libraries_are_imported_only_to_print() -> None:
    code = (
        "import sys, companion.printing.kit_printer; "
        "print([m for m in ('reportlab', 'svglib', 'lxml') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# ---- geometry ------------------------------------------------------------------------------------


@given(
    size=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    square=st.integers(25, 60),
    gap=st.sampled_from([0.0, 3.0]),
    inside=st.booleans(),
    paper=st.sampled_from(PAPERS),
)
@settings(max_examples=60)
def test_any_board_is_cut_into_fitting_pages(
    size: tuple[int, int], square: int, gap: float, inside: bool, paper: Paper
) -> None:
    board = Board("any", *size, square, gap, (0, 1, 2, 3), labels_in_squares=inside)
    width, height = (side - 2 * MARGIN_MM for side in PAPER_SIZES_MM[paper])
    tiling = tile_board(board, width, height, FOOT_MM)
    room_mm = (width, height - FOOT_MM)
    if tiling.landscape:
        room_mm = (height, width - FOOT_MM)
    extent = board_extent(board)

    # without their overlaps, the pages cover the board exactly, and each page fits the paper
    assert sum(page.core.width * page.core.height for page in tiling.pages) == pytest.approx(
        extent.width * extent.height
    )
    for page in tiling.pages:
        assert page.printed.width <= room_mm[0] + 1e-6
        assert page.printed.height <= room_mm[1] + 1e-6

    # no cut touches a corner marker or its white border
    reach = board.corner_mm / 2 + quiet_mm(board.corner_mm) - 1e-6
    for x, y in board.corner_centres_mm.values():
        assert all(abs(cut - x) >= reach for cut in tiling.joints_x)
        assert all(abs(cut - y) >= reach for cut in tiling.joints_y)

    # each cross is on both pages that it helps to align
    for cross_x, cross_y in tiling.crosses():
        pages = [
            page
            for page in tiling.pages
            if page.printed.left < cross_x < page.printed.right
            and page.printed.bottom < cross_y < page.printed.top
        ]
        assert len(pages) >= 2, "a cross is missing on a page that it joins"


def test_squares_larger_than_the_paper_are_refused() -> None:
    with pytest.raises(Malformed, match="Squares of 260 mm do not fit the paper"):
        tile_board(Board("huge", 2, 2, 260, 3, (0, 1, 2, 3)), 196, 283, FOOT_MM)


# ---- extras, ink and one sheet -------------------------------------------------------------------


def default_extras(game: str) -> Extras:
    return GAMES[game].extras(GAMES[game].options({}))


@cache
def default_pages(
    game: str, low_ink: bool = False, language: str = "en", paper: Paper = "a4", dpi: int = DPI
) -> tuple[Sequence[Page], tuple[Image, ...]]:
    kit = GAMES[game].kit(GAMES[game].options({}))
    style = KitStyle(paper=paper, language=language, low_ink=low_ink)
    pdf, pages = kit_pdf(kit, style, default_extras(game))
    return pages, rasterise(pdf, dpi)


@pytest.mark.parametrize("game", sorted(GAMES))
def test_each_player_has_an_aid_and_hand_cards(game: str) -> None:
    kit = GAMES[game].kit(GAMES[game].options({}))
    pages = kit_pdf(kit, KitStyle(), default_extras(game))[1]
    printed = Counter(name for page in pages for name in page.names)
    assert printed["aid"] == 2
    # a score sheet is on each page that has room for one: in Scouts on two
    assert printed["score sheet"] == (2 if game == "scouts" else 1)
    # only Kahmate has hand cards, and only Outbuffered has tiles for orders, with walls on one page
    copies = 2 if game == "kahmate" else 0
    assert [printed[f"strength {card}"] for card in "123456"] == [copies] * 6
    assert (printed["tiles"], printed["walls"]) == ((2, 1) if game == "outbuffered" else (0, 0))
    # the points that both aids have are those that the game shares
    south, north = (set(aid.points) for aid in default_extras(game).aids.values())
    assert set(default_extras(game).shared_points) == south & north


@needs_poppler
def test_order_tiles_come_with_instructions() -> None:
    pdf, pages = kit_pdf(KITS["tiles"], KitStyle(), default_extras("outbuffered"))
    (text,) = (
        text for page, text in zip(pages, page_texts(pdf), strict=True) if "walls" in page.names
    )
    assert "Lay your tiles" in text
    assert "Only then does the camera read" in text


@needs_poppler
@pytest.mark.parametrize(
    ("game", "language", "paper"),
    [("kahmate", "en", "a4"), ("arena", "fr", "a4"), ("outbuffered", "en", "letter")],
)
def test_no_sheet_is_a_third_empty(game: str, language: str, paper: Paper) -> None:
    """Pages of the board do not count, because their size follows from the board."""
    pages, pictures = default_pages(game, language=language, paper=paper, dpi=COARSE_DPI)
    px_per_mm = COARSE_DPI / 25.4
    for page, picture in zip(pages, pictures, strict=True):
        if page.kind in ("pieces", "extras", "places", "cards"):
            room = picture[
                int(MARGIN_MM * px_per_mm) : int(
                    picture.shape[0] - (MARGIN_MM + FOOT_MM + 1) * px_per_mm
                )
            ]
            # places lie side by side, so look for gaps from left to right
            if page.kind == "places":
                room = room.T
            inked = np.flatnonzero((room < 200).any(axis=1))
            assert max(np.diff(inked).max(), len(room) - inked[-1]) < len(room) / 3


@needs_poppler
@pytest.mark.parametrize("game", ["outbuffered", "kahmate"])
def test_low_ink_saves_ink_and_keeps_every_marker(game: str) -> None:
    pages, pictures = pages_of(game, "a4")
    lean_pages, lean_pictures = default_pages(game, low_ink=True)
    assert [page.names for page in lean_pages] == [page.names for page in pages]
    full_ink = lean_ink = 0.0
    for page, picture, lean_picture in zip(pages, pictures, lean_pictures, strict=True):
        if page.kind in ("pieces", "extras"):
            assert {marker for marker, _ in markers_mm(lean_picture)} == {
                marker for marker, _ in markers_mm(picture)
            }
            full_ink += (255.0 - picture).sum()
            lean_ink += (255.0 - lean_picture).sum()
    # a tenth is saved. It cannot be much more, because the markers are black in both
    assert lean_ink < 0.9 * full_ink


def test_low_ink_leaves_the_backs_of_cards_white() -> None:
    pdf, pages = kit_pdf(GAMES["binmat"].kit(GAMES["binmat"].options({})), KitStyle(low_ink=True))
    number = 1 + [page.kind for page in pages].index("backs")
    (back,) = rasterise(pdf, COARSE_DPI, number, number)
    assert back.mean() > 200


@needs_poppler
@pytest.mark.parametrize(
    ("game", "paper"),
    [("outbuffered", "a4"), ("scouts", "a2"), ("arena", "a2"), ("kahmate", "a2"), ("binmat", "a1")],
)
def test_a_print_shop_gets_one_sheet(game: str, paper: Paper) -> None:
    """The board alone is printed in one piece, in its true size, and upright for South."""
    kit = GAMES[game].kit(GAMES[game].options({}))
    assert paper_for_whole_board(kit) == paper
    pdf, pages = kit_pdf(kit, KitStyle(paper, board_only=True), default_extras(game))
    assert [(page.kind, page.names) for page in pages] == [("board", ("board",))]

    # the page has the size of the paper, and the markers have theirs
    (picture,) = rasterise(pdf, DPI)
    assert sorted(picture.shape) == pytest.approx(
        [side * PX_PER_MM for side in PAPER_SIZES_MM[paper]], abs=1.5
    )
    markers = dict(markers_mm(picture))
    assert sorted(markers) == sorted(kit.board.corners)
    for corners in markers.values():
        assert side_lengths(corners) == pytest.approx([kit.board.corner_mm] * 4, abs=0.3)
        upper_left, upper_right, _, lower_left = corners
        assert upper_left[1] < lower_left[1], "a marker's upper edge points to South"
        assert upper_left[0] < upper_right[0], "a marker's upper edge runs to the left"
    middles = {marker: corners.mean(axis=0) for marker, corners in markers.items()}
    assert_distances(middles, kit.board, 0.2)
