"""The simulated table: what hands do to it, and that its pictures show the truth, measured with OpenCV alone."""

import cv2
import numpy as np
import pytest
from bench.reading.ground_truth import prints_of
from bench.reading.scenery import changed_view

from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.kit import DICTIONARY, Kit
from companion.core.ports import WorldPiece
from companion.games import GAMES
from companion.games.outbuffered import Outbuffered
from companion.printing.printed_kit import printed_table
from vision.detection.markers import dictionary_of
from vision.simulation.table import RenderedCamera, SimulatedTable
from vision.simulation.view import View

GAME = Outbuffered()
KIT: Kit = GAME.kit(GAME.options({}))
A1, B2, C4 = Square(0, 0), Square(1, 1), Square(2, 3)
START = {
    A1: ("purple robot",),
    Square(1, 0): ("purple flag",),
    C4: ("lime robot",),
    Square(1, 3): ("lime flag",),
}


def piece(table: SimulatedTable, face: str) -> WorldPiece:
    return next(p for p in table.pieces() if p.face == face)


@pytest.fixture
def table() -> SimulatedTable:
    table = printed_table(KIT, View(noise=0))
    table.set_up(START)
    return table


def test_set_up_places_what_the_layout_says_and_the_rest_beside_the_board(
    table: SimulatedTable,
) -> None:
    assert {p.square: p.face for p in table.pieces()} == {
        square: faces[-1] for square, faces in START.items()
    }
    table.set_up({B2: ("lime flag", "purple robot")})
    assert [p.face for p in table.pieces() if p.square == B2] == ["lime flag", "purple robot"]
    beside = [p for p in table.pieces() if p.square is None]
    assert sorted(p.face for p in beside) == ["lime robot", "purple flag"]
    width, height = table.size_px()
    corners = np.array([corner for p in beside for corner in p.outline_px])
    assert (corners >= 0).all()
    assert (corners <= (width, height)).all(), "pieces beside the board are in the picture"


def test_by_hand_what_lies_right_stays_and_what_comes_is_laid_on_it() -> None:
    scouts = GAMES["scouts"]
    table, white = printed_table(scouts.kit(scouts.options({})), View(noise=0)), "white scout"
    table.set_up({A1: (white,), B2: (white,), C4: (white,)})
    before = {p.square: p.id for p in table.pieces()}
    table.set_up({A1: (white, white), C4: (white,)}, by_hand=True)
    assert next(p.id for p in table.pieces() if p.square == A1) == before[A1], (
        "the lower one has not moved"
    )
    assert [p.id for p in table.pieces() if p.square == C4] == [before[C4]]


def test_pieces_that_are_not_there_are_refused(table: SimulatedTable) -> None:
    with pytest.raises(KeyError, match="there is no piece 99 on the table"):
        table.move_to(99, A1)
    with pytest.raises(KeyError, match="no piece left that can show “purple robot”"):
        table.set_up({A1: ("purple robot",), B2: ("purple robot",)})


def test_a_piece_moves_to_the_middle_of_a_square_and_on_top(table: SimulatedTable) -> None:
    robot = piece(table, "purple robot")
    table.move_to(robot.id, C4)
    moved = piece(table, "purple robot")
    assert moved.square == C4
    assert (moved.x_mm, moved.y_mm) == KIT.board.centre_mm(C4)
    assert table.pieces()[-1].id == robot.id
    below = np.array(piece(table, "lime robot").outline_px)
    assert np.array(moved.outline_px)[:, 1].mean() < below[:, 1].mean(), (
        "what stands higher is drawn further up"
    )


def test_dragging_puts_a_piece_where_the_picture_shows_the_table(table: SimulatedTable) -> None:
    robot = piece(table, "purple robot")
    x, y = table.square_px(B2)
    table.drag_to(robot.id, x + 6, y)
    moved = piece(table, "purple robot")
    assert moved.square == B2
    across, along = (
        v - c for v, c in zip((moved.x_mm, moved.y_mm), KIT.board.centre_mm(B2), strict=True)
    )
    assert 1 < across < 5, "nothing snaps into place"
    assert abs(along) < 0.1
    table.drag_to(robot.id, -50, 700)
    assert piece(table, "purple robot").square is None


TROUBLE = {
    "steep": View(noise=0, tilt_deg=55, turn_deg=20),
    "in hard trouble": changed_view(
        View(noise=0),
        {"kind": "newspaper", "window": (70.0, 100.0, 40.0, 0.5), "wear": 0.1, "curl_mm": 0.3},
    ),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_prints_tell_where_opencv_finds_the_markers(trouble: str) -> None:
    table = printed_table(KIT, TROUBLE[trouble])
    table.set_up(START)
    detector = cv2.aruco.ArucoDetector(dictionary_of(DICTIONARY))
    corners, ids, _ = detector.detectMarkers(table.render_luma())
    found = dict(zip(np.asarray(ids).ravel().tolist(), corners, strict=True))
    prints = prints_of(table)
    assert [p.face for p in prints[:4]] == [None] * 4
    assert {p.marker for p in prints} == {0, 1, 2, 3, 20, 21, 22, 23}
    seen = [p for p in prints if p.shown > 0.999 and p.veil < 100]
    assert len(seen) >= 6
    missing = [p.marker for p in seen if p.marker not in found]
    assert not missing, f"{trouble}: OpenCV does not find {missing}"
    for print_ in seen:
        error = np.abs(print_.corners_px - found[print_.marker].reshape(4, 2)).max(axis=1)
        assert np.median(error) < 1.5, f"{trouble}: marker {print_.marker}"
        if print_.face:
            outline = np.array(piece(table, print_.face).outline_px)
            assert np.abs(outline.mean(axis=0) - print_.corners_px.mean(axis=0)).max() < 1.5


def test_flipping_shows_the_next_face() -> None:
    faces = ("purple robot", "purple flag")
    kit = Kit("two", "Two", KIT.board, KIT.sides, KIT.faces, (faces,))
    table = printed_table(kit)
    for expected in ("purple flag", "purple robot"):
        table.flip(0)
        assert table.pieces()[0].face == expected


def test_a_hand_hides_its_square_and_goes_away_again(table: SimulatedTable) -> None:
    clear = table.render_bgr()
    for square in (A1, B2, C4):
        table.hold_hand(square)
        x, y = table.square_px(square)
        patch = (slice(int(y) - 8, int(y) + 8), slice(int(x) - 8, int(x) + 8))
        assert np.abs(table.render_bgr()[patch].astype(int) - clear[patch]).max(axis=2).min() > 10
    table.hold_hand(None)
    assert (table.render_bgr() == clear).all()


def test_noise_is_seeded_and_changes_from_frame_to_frame() -> None:
    frames = []
    for _ in range(2):
        camera = RenderedCamera(printed_table(KIT, View(noise=3, seed=5)), FakeClock())
        frames.append([camera.frame().luma, camera.frame().luma])
    assert (frames[0][0] == frames[1][0]).all()
    assert (frames[0][1] == frames[1][1]).all()
    change = frames[0][0].astype(int) - frames[0][1]
    assert 3.5 < change.std() < 5


def test_the_board_is_in_the_middle_of_the_picture() -> None:
    board, table = KIT.board, printed_table(KIT, View(tilt_deg=55.0))
    width, height = board.width_mm, board.height_mm
    ends = table.to_px(np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]))
    middle = (ends.min(axis=0) + ends.max(axis=0)) / 2
    assert np.abs(middle - (640, 360)).max() < 40
