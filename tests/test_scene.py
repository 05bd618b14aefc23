"""The simulated table: what hands do to it, and that its pictures show the truth, measured with OpenCV alone."""

import threading

import cv2
import numpy as np
import pytest

from companion.clock import FakeClock
from companion.errors import CameraError
from companion.games.outbuffered import Outbuffered
from companion.grid import Square
from companion.kit import Kit
from companion.ports import World, WorldPiece
from vision.markers import MarkerFinder, marker_modules
from vision.pose import corner_points_mm
from vision.render import View, camera_pose
from vision.scene import RenderedCamera, SimulatedTable

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
    table = SimulatedTable(KIT, View(noise=0))
    table.set_up(START)
    return table


def test_it_is_a_world(table: SimulatedTable) -> None:
    world: World = table
    assert world.size_px() == (1280, 720)
    assert world.jpeg()[:2] == b"\xff\xd8"


def test_set_up_places_what_the_layout_says_and_the_rest_beside_the_board(table: SimulatedTable) -> None:
    assert {p.square: p.face for p in table.pieces()} == {square: faces[-1] for square, faces in START.items()}
    table.set_up({B2: ("lime flag", "purple robot")})
    assert [p.face for p in table.pieces() if p.square == B2] == ["lime flag", "purple robot"]
    beside = [p for p in table.pieces() if p.square is None]
    assert sorted(p.face for p in beside) == ["lime robot", "purple flag"]
    width, height = table.size_px()
    corners = np.array([corner for p in beside for corner in p.outline_px])
    assert (corners >= 0).all()
    assert (corners <= (width, height)).all(), "pieces beside the board are in the picture"


def test_a_layout_with_too_many_pieces_is_refused(table: SimulatedTable) -> None:
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
    assert np.array(moved.outline_px)[:, 1].mean() < below[:, 1].mean(), "what stands higher is drawn further up"


def test_dragging_puts_a_piece_where_the_picture_shows_the_table(table: SimulatedTable) -> None:
    robot = piece(table, "purple robot")
    x, y = table.square_px(B2)
    table.drag_to(robot.id, x + 6, y)
    moved = piece(table, "purple robot")
    assert moved.square == B2
    across, along = (v - c for v, c in zip((moved.x_mm, moved.y_mm), KIT.board.centre_mm(B2), strict=True))
    assert 1 < across < 5, "nothing snaps into place"
    assert abs(along) < 0.1
    table.drag_to(robot.id, -50, 700)
    assert piece(table, "purple robot").square is None


def test_an_unknown_piece_is_refused(table: SimulatedTable) -> None:
    with pytest.raises(KeyError, match="there is no piece 99 on the table"):
        table.move_to(99, A1)


@pytest.mark.parametrize("view", [View(noise=0), View(noise=0, tilt_deg=47, turn_deg=25, k1=-0.06), View(turn_deg=180)])
def test_the_picture_shows_every_marker_where_the_geometry_says(view: View) -> None:
    table = SimulatedTable(KIT, view)
    table.set_up({Square(1, 2): ("purple robot",), B2: ("lime flag",)})
    luma = cv2.cvtColor(table.render_bgr(), cv2.COLOR_BGR2GRAY)
    found = {s.marker: s.corners_px for s in MarkerFinder().find(np.asarray(luma, np.uint8)).sightings}
    assert set(found) >= {0, 1, 2, 3, 20, 23}
    pose = camera_pose(KIT, view)
    for marker in KIT.board.corners:
        error = np.abs(found[marker] - pose.to_px(corner_points_mm(KIT.board, marker)))
        # Corners next to a tile's outline are drawn to it by the refinement, by up to 2 px; the others are exact.
        assert np.median(error) < 0.6, f"corner marker {marker} is {np.median(error):.2f} px off"
        assert error.max() < 2.0
    for face, marker in (("purple robot", 20), ("lime flag", 23)):
        outline = np.array(piece(table, face).outline_px)
        top, tag = outline.mean(axis=0), found[marker].mean(axis=0)
        assert np.abs(top - tag).max() < 1.0, f"the outline of the {face} is {np.abs(top - tag).max():.2f} px off"


def test_south_is_below_and_a_turned_camera_has_north_below() -> None:
    for turn, order in ((0.0, 1), (180.0, -1)):
        table = SimulatedTable(KIT, View(turn_deg=turn))
        assert (table.square_px(A1)[1] - table.square_px(Square(0, 3))[1]) * order > 100


def test_flipping_shows_the_next_face() -> None:
    faces = ("purple robot", "purple flag")
    kit = Kit("two", "Two", KIT.board, KIT.sides, KIT.faces, (faces,))
    table = SimulatedTable(kit)
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
        camera = RenderedCamera(SimulatedTable(KIT, View(noise=3, seed=5)), FakeClock())
        frames.append([camera.frame().luma, camera.frame().luma])
    assert (frames[0][0] == frames[1][0]).all()
    assert (frames[0][1] == frames[1][1]).all()
    change = frames[0][0].astype(int) - frames[0][1]
    assert 3.5 < change.std() < 5


@pytest.mark.parametrize(
    ("view", "darker"),
    [(View(noise=0, light=0.5), True), (View(noise=0, glare=(75.0, 98.0, 20.0)), False)],
)
def test_light_changes_the_middle_of_the_board(table: SimulatedTable, view: View, darker: bool) -> None:
    x, y = (int(v) for v in table.square_px(B2))
    before = int(table.render_luma()[y - 20, x])
    table.look(view)
    after = int(table.render_luma()[y - 20, x])
    assert (after < before - 50) if darker else (after == 255)


def test_a_closed_camera_refuses_frames() -> None:
    camera = RenderedCamera(SimulatedTable(KIT), FakeClock(3.0))
    frame = camera.frame()
    assert (frame.at_s, frame.number, frame.luma.shape) == (3.0, 1, (720, 1280))
    assert frame.luma.dtype == np.uint8
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match="is closed: open it again"):
        camera.frame()


def test_threads_may_move_and_look_at_the_same_time() -> None:
    table = SimulatedTable(KIT, View(width=320, height=180))
    errors: list[Exception] = []

    def stir(number: int) -> None:
        try:
            for turn in range(15):
                table.move_to(number, Square(turn % 3, number))
                table.jpeg()
                table.pieces()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=stir, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert sorted(p.id for p in table.pieces()) == [0, 1, 2, 3]


def test_marker_prints_have_a_black_rim() -> None:
    print_ = marker_modules(20)
    assert print_.shape == (7, 7)
    assert not print_[[0, -1]].any()
    assert not print_[:, [0, -1]].any()
