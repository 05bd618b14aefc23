"""The printable kit, read back with the eyes of a camera: sizes, distances, joints, ruler, spares."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import product
from math import dist

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sheet_tools import (
    DPI,
    PAPERS,
    PX_PER_MM,
    Image,
    assert_distances,
    board_pages,
    corners_when_joined,
    markers_mm,
    needs_poppler,
    pictures,
    rastered,
)

from companion.core.errors import Malformed
from companion.core.kit import DICTIONARY, Board, Kit
from companion.games import GAMES
from companion.games.aids import Extras
from companion.printing.kit_pages.sheets import (
    FOOT_MM,
    MARGIN_MM,
    SIZES_MM,
    KitStyle,
    Paper,
    Sheets,
    board_in_one_piece,
    kit_pdf,
    kit_sheets,
)
from companion.printing.pdf_pen import MODULES, marker_outline
from companion.printing.printed_kit import PX_PER_MM as CUT_PX_PER_MM
from companion.printing.printed_kit import printed_kit
from companion.printing.tiling import board_extent, quiet_mm, tile_board
from vision.simulation.printed import unpacked

BOARDS = {
    "standard": ".Nn\n...\n...\nsS.",
    "walls": "..N.n\n.....\n#.#.#\n.....\ns.S..",
    "large": "..N....n..\n"
    + "..........\n" * 2
    + "..#....#..\n"
    + "..........\n" * 3
    + "..s....S..",
}


COARSE_DPI = 40


def outbuffered(board: str) -> Kit:
    game = GAMES["outbuffered"]
    return game.kit(game.options({"board": BOARDS[board]}))


MANY_SQUARES = ("scouts", "arena", "kahmate")
KITS = {
    **{name: outbuffered(name) for name in BOARDS},
    **{name: GAMES[name].kit(GAMES[name].options({})) for name in MANY_SQUARES},
}


@cache
def rendered(name: str, paper: Paper, spares: int) -> tuple[Sheets, tuple[Image, ...]]:
    return pictures(KITS[name], paper, spares)


def printed(name: str, paper: Paper, spares: int = 1) -> tuple[Sheets, tuple[Image, ...]]:
    """A kit's pages, rendered once for all tests."""
    return rendered(name, paper, spares)


# ---- what the printer makes of it ------------------------------------------------------------------------------


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", KITS)
def test_pages_have_the_size_of_the_paper_and_a_true_ruler(name: str, paper: Paper) -> None:
    sheets, pages = printed(name, paper)
    assert len(pages) == sheets.pages == len(sheets.names)
    for page in pages:
        assert sorted(page.shape) == pytest.approx(
            [side * PX_PER_MM for side in SIZES_MM[paper]], abs=1.5
        )
        foot = page[int(-20 * PX_PER_MM) :, : int(109.5 * PX_PER_MM)].astype(float)
        darkness = 255 - foot
        bar = darkness[darkness.sum(axis=1).argmax()]
        assert bar.sum() / bar.max() / PX_PER_MM == pytest.approx(100, abs=0.2)


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
def test_the_standard_board_fits_one_page_with_true_corners(paper: Paper) -> None:
    tiling, pages = board_pages(KITS["standard"], paper, *printed("standard", paper))
    assert tiling.pages == len(pages) == 1
    board = KITS["standard"].board
    found = dict(markers_mm(pages[0]))
    assert sorted(found) == sorted(board.corners)
    for corners in found.values():
        sides = [dist(corners[i], corners[(i + 1) % 4]) for i in range(4)]
        assert sides == pytest.approx([board.corner_mm] * 4, abs=0.3)
        assert corners[0][1] < corners[3][1], "the upper edge points away from South"
        assert corners[0][0] < corners[1][0]
    assert_distances(
        {marker: corners.mean(axis=0) for marker, corners in found.items()}, board, 0.1
    )


@needs_poppler
@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("name", ["walls", "large", "scouts"])
def test_joined_pages_keep_the_corners_in_place(name: str, paper: Paper) -> None:
    seen = corners_when_joined(*board_pages(KITS[name], paper, *printed(name, paper)))
    board = KITS[name].board
    assert sorted(marker for marker, _ in seen) == sorted(board.corners), (
        "each whole, on one page only"
    )
    assert_distances({marker: corners.mean(axis=0) for marker, corners in seen}, board, 0.3)


@needs_poppler
@pytest.mark.parametrize(
    ("name", "spares"),
    [
        ("standard", 2),
        ("scouts", 0),
        ("scouts", 1),
        ("arena", 1),
        ("kahmate", 0),
        ("kahmate", 1),
    ],
)
def test_every_tag_is_there_as_often_as_asked(name: str, spares: int) -> None:
    kit = KITS[name]
    sheets, pages = printed(name, "a4", spares)
    faces = Counter(face for names, _ in zip(sheets.names, pages, strict=True) for face in names)
    assert all(
        faces[face] == (1 + spares) * times
        for face, times in Counter(f for p in kit.pieces for f in p).items()
    )
    tags = [
        (marker, corners)
        for names, page in zip(sheets.names, pages, strict=True)
        if names[0] in {face.name for face in kit.faces}
        for marker, corners in markers_mm(page)
    ]
    wanted = {marker for face in kit.faces for marker in face.markers}
    assert Counter(marker for marker, _ in tags) == dict.fromkeys(wanted, 1 + spares)
    for _, corners in tags:
        assert [dist(corners[i], corners[(i + 1) % 4]) for i in range(4)] == pytest.approx(
            [kit.tag_mm] * 4, abs=0.3
        )


@needs_poppler
@pytest.mark.parametrize("name", ["standard", "walls", *MANY_SQUARES])
def test_markers_have_their_white_round_them(name: str) -> None:
    sheets, pages = printed(name, "a4")
    for names, page in zip(sheets.names, pages, strict=True):
        if names == ("instructions",):
            continue
        for marker, corners in markers_mm(page):
            module = dist(corners[0], corners[1]) / MODULES
            (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
            for reach in (0.3, 0.55, 0.8):
                ring = [round(v * PX_PER_MM) for v in (left - reach * module, top - reach * module)]
                end = [
                    round(v * PX_PER_MM) for v in (right + reach * module, bottom + reach * module)
                ]
                patch = page[ring[1] : end[1], ring[0] : end[0]]
                border = np.concatenate([patch[0], patch[-1], patch[:, 0], patch[:, -1]])
                assert border.min() > 200, (names, marker, reach)


@needs_poppler
@pytest.mark.parametrize("name", ["scouts", "kahmate"])
def test_both_faces_of_a_piece_fold_back_to_back(name: str) -> None:
    """One below the other, apart by a face and the thickness between them."""
    kit = KITS[name]
    sheets, pages = printed(name, "a4", 0)
    middles = {
        marker: corners.mean(axis=0)
        for names, page in zip(sheets.names, pages, strict=True)
        if not names[0].startswith(("board", "instructions"))
        for marker, corners in markers_mm(page)
    }
    pairs = [tag for tag in kit.tags if len(tag) == 2]
    assert len(pairs) >= 10
    for (face, front), (_, back) in pairs:
        wide = kit.tops_mm[face.name][0] + face.height_mm
        assert middles[back] - middles[front] == pytest.approx([0, wide], abs=0.3)


@needs_poppler
def test_stones_are_printed_in_their_size_in_the_grey_of_stone() -> None:
    kit = KITS["scouts"]
    sheets, pages = printed("scouts", "a4", 0)
    stones = {face.markers[0]: face for face in kit.faces if face.size != (1, 1)}
    found = [
        (stones[marker], corners, page)
        for names, page in zip(sheets.names, pages, strict=True)
        if names[0].startswith(("white", "black"))
        for marker, corners in markers_mm(page)
        if marker in stones
    ]
    assert len(found) == 4
    for face, corners, page in found:
        x, y = corners.mean(axis=0)
        for side, (across, along) in zip(kit.tops_mm[face.name], ((1, 0), (0, 1)), strict=True):
            for sign in (-1, 1):
                tones = [
                    int(
                        page[
                            round((y + sign * reach * along) * PX_PER_MM),
                            round((x + sign * reach * across) * PX_PER_MM),
                        ]
                    )
                    for reach in (side / 2 - 1.5, side / 2 + 1.5)
                ]
                assert 120 < tones[0] < 175, (face.name, tones)
                assert tones[1] > 240, (face.name, tones)


@needs_poppler
@pytest.mark.parametrize(("name", "letters"), [("arena", "12345678"), ("kahmate", "RRBTFS")])
def test_letters_stand_on_every_side_and_in_the_picture(name: str, letters: str) -> None:
    """A standing player of Kahmate has its name instead on two sides; one that lies, and a robot, the letter on four."""
    pdf = kit_pdf(KITS[name])
    run = subprocess.run(
        ["pdftotext", "-raw", "-", "-"], input=pdf, capture_output=True, check=True
    )
    pages = [page for page in run.stdout.decode().split("\f") if "mm high" in page]
    single = Counter(word for page in pages for word in page.split() if len(word) == 1)
    sides = {"arena": 4 + 4, "kahmate": 2 + 4 + 1}[
        name
    ]  # on the top and, folded down, on the flaps or between the faces
    for letter, times in Counter(letters).items():
        assert single[letter] >= 2 * sides * times, letter


@needs_poppler
def test_letters_of_a_piece_that_lies_leave_its_thin_edge_whole() -> None:
    """Along the middle of the edge, where the letters stand, nothing interrupts it."""
    sheets, pages = printed("kahmate", "a4", 0)
    kit = KITS["kahmate"]
    lying = {marker for face in kit.faces if face.lies for marker in face.markers}
    page = next(
        page for names, page in zip(sheets.names, pages, strict=True) if "blue big" in names
    )
    found = {
        marker: corners.mean(axis=0) for marker, corners in markers_mm(page) if marker in lying
    }
    assert len(found) == 12
    half = kit.tops_mm[next(face for face in kit.faces if face.lies).name][0] / 2 - 0.5
    for marker, (x, y) in found.items():
        for away in (-1.0, 0.0, 1.0):
            tones = [
                int(page[round((y + v) * PX_PER_MM), round((x + u) * PX_PER_MM)])
                for u, v in ((-half, away), (half, away), (away, half))
            ]
            assert max(tones) < 230, (marker, away, tones)


@needs_poppler
def test_a_goal_is_tinted_between_the_corner_markers_only() -> None:
    sheets, pages = printed("kahmate", "a4", 0)
    page = next(
        page for names, page in zip(sheets.names, pages, strict=True) if names == ("board A1",)
    )
    middles = {marker: corners.mean(axis=0) for marker, corners in markers_mm(page)}
    (left, y), (right, _) = (middles[marker] for marker in KITS["kahmate"].board.corners[:2])
    row = page[round((y + 8) * PX_PER_MM)]
    tones = [
        int(row[round(x * PX_PER_MM)]) for x in (left + 14.5, left + 30, right - 30, right - 14.5)
    ]
    assert tones[0] == tones[3] == 255
    assert all(200 < tone < 250 for tone in tones[1:3]), tones


@needs_poppler
def test_pages_say_what_they_are() -> None:
    pdf = kit_pdf(KITS["large"])
    run = subprocess.run(
        ["pdftotext", "-layout", "-", "-"], input=pdf, capture_output=True, check=True
    )
    pages = run.stdout.decode().split("\f")
    assert "Join the board, 6 pages" in pages[0]
    for note in KITS["large"].notes:
        assert note.split()[0] in pages[0]
    assert "board A1 of A1-B3" in pages[1]
    assert (
        "glue B1 on this edge" in " ".join(pages[1].split()) or "glue A2 on this edge" in pages[1]
    )
    assert "board B3 of A1-B3" in pages[6]
    assert "purple robot" in pages[7]
    assert "id 20, 10 mm high" in pages[7]
    for page in pages[:8]:
        assert "Print at 100 %" in page


# ---- the file ---------------------------------------------------------------------------------------------------


def test_equal_kits_give_equal_bytes_of_vectors() -> None:
    pdf = kit_pdf(KITS["standard"])
    assert pdf == kit_pdf(KITS["standard"])
    assert pdf.startswith(b"%PDF-")
    assert b"/Image" not in pdf.replace(b"/ImageB /ImageC /ImageI", b"")


def test_names_tell_what_is_on_each_page() -> None:
    sheets = kit_sheets(KITS["large"])[1]
    assert (sheets.pages, sheets.across, sheets.down) == (8, 2, 3)
    assert sheets.names[0] == ("instructions",)
    assert [names[0] for names in sheets.names[1:7]] == [
        f"board {c}{r}" for r in (1, 2, 3) for c in "AB"
    ]
    assert sheets.names[7] == ("purple robot", "purple flag", "lime robot", "lime flag")


@pytest.mark.parametrize("game", sorted(GAMES))
def test_every_game_has_a_printable_kit(game: str) -> None:
    kit = GAMES[game].kit(GAMES[game].options({}))
    sheets = kit_sheets(kit, KitStyle("letter", 1))[1]
    shown = Counter(name for names in sheets.names for name in names)
    for face, times in Counter(face for piece in kit.pieces for face in piece).items():
        assert shown[face] == 2 * times, face


def test_unknown_paper_and_spares_are_refused() -> None:
    with pytest.raises(Malformed, match="Paper “a5” is unknown: use a4 or letter"):
        kit_pdf(KITS["standard"], KitStyle("a5"))  # type: ignore[arg-type]  # what a careless command line might pass
    for spares in (-1, 10):
        with pytest.raises(Malformed, match=f"{spares} spare sets are not possible: use 0 to 9"):
            kit_pdf(KITS["standard"], KitStyle(spares=spares))


def test_more_pieces_than_markers_are_a_defect_of_the_kit() -> None:
    kit = KITS["standard"]
    twice = Kit(
        kit.game, kit.title, kit.board, kit.sides, kit.faces, (("lime flag",), ("lime flag",))
    )
    with pytest.raises(ValueError, match="more pieces “lime flag” than markers"):
        kit_pdf(twice)


def test_a_kit_without_pieces_is_a_board() -> None:
    kit = KITS["standard"]
    assert kit_sheets(Kit("x", "X", kit.board, kit.sides, ()))[1].names == (
        ("instructions",),
        ("board",),
    )


def test_the_pdf_libraries_are_imported_only_to_print() -> None:
    code = "import sys, companion.printing.kit_printer; print([m for m in ('reportlab', 'svglib', 'lxml') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# ---- geometry -----------------------------------------------------------------------------------------------------


@given(
    size=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    square=st.integers(25, 60),
    gap=st.sampled_from([0.0, 3.0]),
    inside=st.booleans(),
    paper=st.sampled_from(PAPERS),
)
@settings(max_examples=60)
def test_any_board_is_cut_into_pages_that_fit_and_meet(
    size: tuple[int, int], square: int, gap: float, inside: bool, paper: Paper
) -> None:
    board = Board("any", *size, square, gap, (0, 1, 2, 3), labels_in_squares=inside)
    width, height = (side - 2 * MARGIN_MM for side in SIZES_MM[paper])
    tiling = tile_board(board, width, height, FOOT_MM)
    room = (height, width - FOOT_MM) if tiling.landscape else (width, height - FOOT_MM)
    whole = board_extent(board)
    assert sum(w.core.width * w.core.height for w in tiling.windows) == pytest.approx(
        whole.width * whole.height
    )
    for window in tiling.windows:
        assert window.printed.width <= room[0] + 1e-6
        assert window.printed.height <= room[1] + 1e-6
    reach = board.corner_mm / 2 + quiet_mm(board.corner_mm) - 1e-6
    for x, y in board.corner_centres_mm.values():
        assert all(abs(cut - x) >= reach for cut in tiling.cuts_x)
        assert all(abs(cut - y) >= reach for cut in tiling.cuts_y)
    for joint in tiling.joints:
        pages = [
            w
            for w in tiling.windows
            if w.printed.left < joint.x < w.printed.right
            and w.printed.bottom < joint.y < w.printed.top
        ]
        assert len(pages) >= 2, "a cross lies on both pages that it joins"


def test_squares_larger_than_the_paper_are_refused() -> None:
    with pytest.raises(Malformed, match="Squares of 260 mm do not fit the paper"):
        tile_board(Board("huge", 2, 2, 260, 3, (0, 1, 2, 3)), 196, 283, FOOT_MM)


def test_outlines_of_markers_are_their_bits() -> None:
    dictionary = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, DICTIONARY))
    for marker in range(0, 100, 7):
        image = cv2.aruco.generateImageMarker(dictionary, marker, MODULES)
        loops = [np.array(loop, np.float32) for loop in marker_outline(marker)]
        for row, column in product(range(MODULES), repeat=2):
            inside = sum(
                cv2.pointPolygonTest(loop, (column + 0.5, row + 0.5), False) > 0 for loop in loops
            )
            assert (inside % 2 == 1) == (image[row, column] == 0), (marker, row, column)


# ---- what else is printed ----------------------------------------------------------------------------------------


def extras_of(game: str) -> Extras:
    return GAMES[game].extras(GAMES[game].options({}))


@cache
def whole(
    game: str, low_ink: bool = False, language: str = "en", paper: Paper = "a4", dpi: int = DPI
) -> tuple[Sheets, tuple[Image, ...]]:
    kit = GAMES[game].kit(GAMES[game].options({}))
    style = KitStyle(paper=paper, language=language, low_ink=low_ink)
    pdf, sheets = kit_sheets(kit, style, extras_of(game))
    return sheets, rastered(pdf, dpi, 1, 29)


@pytest.mark.parametrize("game", sorted(GAMES))
def test_each_player_has_an_aid_and_what_the_game_holds_in_hand(game: str) -> None:
    kit = GAMES[game].kit(GAMES[game].options({}))
    sheets = kit_sheets(kit, KitStyle(), extras_of(game))[1]
    shown = Counter(name for names in sheets.names for name in names)
    assert shown["aid"] == 2
    assert shown["score sheet"] == 1 + (game == "scouts"), "one on each page that has room for it"
    assert {card: shown[f"strength {card}"] for card in "123456"} == dict.fromkeys(
        "123456", 2 * (game == "kahmate")
    )
    assert (shown["tiles"], shown["walls"]) == ((2, 1) if game == "outbuffered" else (0, 0))
    south, north = (set(aid.points) for aid in extras_of(game).aids.values())
    assert set(extras_of(game).shared_points) == south & north


@needs_poppler
def test_order_tiles_that_the_camera_reads_come_with_how_they_are_used() -> None:
    kit = GAMES["outbuffered"].kit(GAMES["outbuffered"].options({"tiles": True}))
    pdf, sheets = kit_sheets(kit, KitStyle(), extras_of("outbuffered"))
    run = subprocess.run(
        ["pdftotext", "-raw", "-", "-"], input=pdf, capture_output=True, check=True
    )
    page = run.stdout.decode().split("\f")[
        next(n for n, names in enumerate(sheets.names) if "walls" in names)
    ]
    assert "Lay your tiles" in page
    assert "Only then does the camera read" in page


@needs_poppler
def test_strengths_below_zero_have_a_stroke_as_wide_as_the_plus() -> None:
    pdf = kit_pdf(KITS["kahmate"], extras=extras_of("kahmate"))
    run = subprocess.run(
        ["pdftotext", "-raw", "-", "-"], input=pdf, capture_output=True, check=True
    )
    assert "–1" in run.stdout.decode()
    assert "-1" not in run.stdout.decode()


@needs_poppler
@pytest.mark.parametrize(
    ("game", "language", "paper"),
    [
        *((game, "en", "a4") for game in sorted(GAMES)),
        ("arena", "fr", "a4"),
        ("scouts", "de", "a4"),
        ("arena", "en", "letter"),
        ("outbuffered", "en", "letter"),
    ],
)
def test_no_third_of_a_sheet_stays_empty(game: str, language: str, paper: Paper) -> None:
    """Of all sheets but the board's: what a board leaves over is its shape."""
    sheets, pages = whole(game, language=language, paper=paper, dpi=COARSE_DPI)
    px_per_mm = COARSE_DPI / 25.4
    for kind, page in zip(sheets.kinds, pages, strict=False):
        if kind in ("pieces", "extras", "places", "cards"):
            room = page[
                int(MARGIN_MM * px_per_mm) : int(
                    page.shape[0] - (MARGIN_MM + FOOT_MM + 1) * px_per_mm
                )
            ]
            if kind == "places":  # beside each other
                room = room.T
            inked = np.flatnonzero((room < 200).any(axis=1))
            assert max(np.diff(inked).max(), len(room) - inked[-1]) < len(room) / 3


@needs_poppler
def test_a_piece_on_a_high_block_is_seen_from_all_sides() -> None:
    """The top of the robot's block has a flap on each side, as deep as the block is high, with the robot on it."""
    sheets, pages = whole("outbuffered")
    page = pages[sheets.kinds.index("pieces")]
    (corners,) = [corners for marker, corners in markers_mm(page) if marker == 20]
    middle, away = corners.mean(axis=0), (corners[1][0] - corners[0][0]) * 9 / 14 + 1.4 + 5
    for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        left, top = ((middle + np.multiply(away, (x, y)) - 4) * PX_PER_MM).astype(int)
        flap = page[top : top + int(8 * PX_PER_MM), left : left + int(8 * PX_PER_MM)]
        assert 0.1 < (flap < 160).mean() < 0.7, (x, y)


@needs_poppler
@pytest.mark.parametrize("game", ["outbuffered", "arena", "kahmate"])
def test_low_ink_saves_ink_and_keeps_every_marker(game: str) -> None:
    sheets, pages = whole(game)
    lean_sheets, lean_pages = whole(game, low_ink=True)
    assert lean_sheets == sheets
    full = lean = 0.0
    for kind, page, lean_page in zip(sheets.kinds, pages, lean_pages, strict=False):
        if kind in ("pieces", "extras"):
            assert {marker for marker, _ in markers_mm(lean_page)} == {
                marker for marker, _ in markers_mm(page)
            }
            full, lean = full + (255.0 - page).sum(), lean + (255.0 - lean_page).sum()
    assert lean < 0.9 * full, "markers are black in both"


def test_low_ink_leaves_the_backs_of_cards_white() -> None:
    binmat = GAMES["binmat"]
    kit = binmat.kit(binmat.options({}))
    pdf, sheets = kit_sheets(kit, KitStyle(low_ink=True))
    page = 1 + sheets.kinds.index("backs")
    (back,) = rastered(pdf, 40, page, page)
    assert back.mean() > 200


@needs_poppler
@pytest.mark.parametrize(
    ("game", "paper"),
    [("outbuffered", "a4"), ("scouts", "a2"), ("arena", "a2"), ("kahmate", "a2"), ("binmat", "a1")],
)
def test_a_print_shop_gets_the_board_in_one_piece(game: str, paper: Paper) -> None:
    kit = GAMES[game].kit(GAMES[game].options({}))
    assert board_in_one_piece(kit) == paper
    pdf, sheets = kit_sheets(kit, KitStyle(paper, board_only=True), extras_of(game))
    assert (sheets.names, sheets.kinds) == ((("board",),), ("board",))
    (page,) = rastered(pdf, DPI)
    assert sorted(page.shape) == pytest.approx(
        [side * PX_PER_MM for side in SIZES_MM[paper]], abs=1.5
    )
    found = {marker: corners.mean(axis=0) for marker, corners in markers_mm(page)}
    assert sorted(found) == sorted(kit.board.corners)
    assert_distances(found, kit.board, 0.2)


def test_no_sheet_holds_a_huge_board() -> None:
    board = Board("huge", 40, 40, 60, 0, (4, 5, 6, 7))
    assert board_in_one_piece(Kit("x", "X", board, KITS["standard"].sides, ())) is None


@needs_poppler
@pytest.mark.parametrize("game", MANY_SQUARES)
def test_every_piece_is_read_as_it_is_printed(game: str) -> None:
    """Its own sheet's tops, with their names and signs, on a rendered table."""
    kit = KITS[game]
    tops = {marker: unpacked(top) for marker, top in printed_kit(kit).tops.items()}
    assert sorted(tops) == sorted(marker for face in kit.faces for marker in face.markers)
    for face in kit.faces:
        width, depth = kit.tops_mm[face.name]
        for marker in face.markers:
            assert tops[marker].shape[:2] == pytest.approx(
                (depth * CUT_PX_PER_MM, width * CUT_PX_PER_MM), abs=2
            )
            assert [
                found
                for found, _ in markers_mm(cv2.cvtColor(framed(tops[marker]), cv2.COLOR_BGR2GRAY))
            ] == [marker]


def framed(top: Image) -> Image:
    return np.asarray(
        cv2.copyMakeBorder(top, 40, 40, 40, 40, cv2.BORDER_CONSTANT, value=(200, 210, 210)),
        np.uint8,
    )
