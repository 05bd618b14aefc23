"""Test the simulated table: how its pieces are moved, and what its pictures show.

The pictures are examined with OpenCV instead of the program's own reader.
"""

import cv2
import numpy as np
import pytest
from bench.reading.ground_truth import prints_of
from bench.reading.scenery import change_view
from reading_tools import KITS, render_table

from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.kit import DICTIONARY
from companion.core.ports import WorldPiece
from vision.detection.markers import get_dictionary
from vision.simulation.objects import fill_outline
from vision.simulation.table import RenderedCamera, SimulatedTable
from vision.simulation.view import CameraView

KIT = KITS["outbuffered"]
A1, B2, C4 = Square(0, 0), Square(1, 1), Square(2, 3)
START = {
    A1: ("purple robot",),
    Square(1, 0): ("purple flag",),
    C4: ("lime robot",),
    Square(1, 3): ("lime flag",),
}


def find_piece(table: SimulatedTable, face: str) -> WorldPiece:
    return next(piece for piece in table.pieces() if piece.face == face)


@pytest.fixture
def table() -> SimulatedTable:
    """A table without noise, with the pieces of `START` on the board."""
    table = render_table(KIT, CameraView(noise=0))
    table.set_up(START)
    return table


def test_set_up_puts_other_pieces_beside_the_board(table: SimulatedTable) -> None:
    assert {piece.square: piece.face for piece in table.pieces()} == {
        square: faces[-1] for square, faces in START.items()
    }

    # a robot on a flag, and the other two pieces beside the board
    table.set_up({B2: ("lime flag", "purple robot")})
    stack = [piece.face for piece in table.pieces() if piece.square == B2]
    assert stack == ["lime flag", "purple robot"]
    beside = [piece.face for piece in table.pieces() if piece.square is None]
    assert sorted(beside) == ["lime robot", "purple flag"]

    # hands replace only the upper piece
    before = find_piece(table, "lime flag").id
    table.set_up({B2: ("lime flag", "purple flag")}, by_hand=True)
    assert find_piece(table, "lime flag").id == before, "the lower piece was replaced"

    # there is only one purple robot
    with pytest.raises(KeyError, match="no piece left that can show “purple robot”"):
        table.set_up({A1: ("purple robot",), B2: ("purple robot",)})


def test_a_piece_moves_where_it_is_dragged(table: SimulatedTable) -> None:
    # moved to a square, it lies in its middle, and above all pieces that lay there before
    robot = find_piece(table, "purple robot")
    table.move_to(robot.id, C4)
    moved = find_piece(table, "purple robot")
    assert moved.square == C4
    assert (moved.x_mm, moved.y_mm) == KIT.board.centre_mm(C4)
    assert table.pieces()[-1].id == robot.id
    with pytest.raises(KeyError, match="there is no piece 99 on the table"):
        table.move_to(99, A1)

    # dragged to a pixel 6 px to the right of a centre, it does not snap into place
    x, y = table.square_px(B2)
    table.drag_to(robot.id, x + 6, y)
    moved = find_piece(table, "purple robot")
    assert moved.square == B2
    centre_mm = KIT.board.centre_mm(B2)
    assert 1 < moved.x_mm - centre_mm[0] < 5
    assert abs(moved.y_mm - centre_mm[1]) < 0.1

    # dragged out of the picture, it has no square
    table.drag_to(robot.id, -50, 700)
    assert find_piece(table, "purple robot").square is None


VIEWS = {
    "steep": CameraView(noise=0, tilt_deg=55, turn_deg=20),
    "worn prints under a window": change_view(
        CameraView(noise=0),
        {"kind": "newspaper", "shadow_edge": (70.0, 100.0, 40.0, 0.5), "wear": 0.1, "curl_mm": 0.3},
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_opencv_finds_markers_where_prints_are(name: str) -> None:
    """Compare `prints_of`, the ground truth by which readings are judged, with OpenCV's detector.

    Prints that are hidden in part or veiled by a reflection are left out.
    """
    table = render_table(KIT, VIEWS[name])
    table.set_up(START)
    detector = cv2.aruco.ArucoDetector(get_dictionary(DICTIONARY))
    corners, ids, _ = detector.detectMarkers(table.render_luma())
    found = dict(zip(np.asarray(ids).ravel().tolist(), corners, strict=True))
    prints = prints_of(table)
    visible = [print_ for print_ in prints if print_.visible_share > 0.999 and print_.veil < 100]
    assert len(visible) >= 6
    for print_ in visible:
        errors_px = np.abs(print_.corners_px - found[print_.marker].reshape(4, 2)).max(axis=1)
        assert np.median(errors_px) < 1.5, f"marker {print_.marker} is somewhere else"


def test_a_hand_hides_its_square(table: SimulatedTable) -> None:
    clear = table.render_bgr()
    for square in (A1, B2, C4):
        table.hold_hand(square)
        # every pixel within 8 px of its centre has another colour than without the hand
        x, y = table.square_px(square)
        patch = (slice(int(y) - 8, int(y) + 8), slice(int(x) - 8, int(x) + 8))
        assert np.abs(table.render_bgr()[patch].astype(int) - clear[patch]).max(axis=2).min() > 10
    table.hold_hand(None)
    assert (table.render_bgr() == clear).all()


def test_seeded_noise_changes_from_frame_to_frame() -> None:
    """Two cameras of the same seed have the same frames, but two frames of one camera differ.

    The difference of two frames with noise of 3 levels has a deviation of 3 * sqrt(2) = 4.2.
    """
    view = CameraView(noise=3, seed=5)
    camera, twin = (RenderedCamera(render_table(KIT, view), FakeClock()) for _ in range(2))
    luma = camera.frame().luma
    assert (luma == twin.frame().luma).all()
    change = luma.astype(int) - camera.frame().luma
    assert 3.5 < change.std() < 5


def test_a_filled_outline_includes_its_edge() -> None:
    mask = np.zeros((64, 64), np.uint8)
    fill_outline(mask, np.array([(10.0, 20.0), (50.0, 20.0), (50.0, 40.0), (10.0, 40.0)]))
    assert cv2.boundingRect(mask & 128) == (10, 20, 41, 21)
