"""The simulated table: what hands do to it, and that its pictures show the truth, measured with OpenCV alone."""

import threading

import cv2
import numpy as np
import pytest
from bench.reading.ground_truth import prints_of
from bench.reading.scenery import changed_view

from companion.core.clock import FakeClock
from companion.core.errors import CameraError
from companion.core.grid import Square
from companion.core.kit import DICTIONARY, Kit
from companion.core.ports import WorldPiece
from companion.games import GAMES
from companion.games.outbuffered import Outbuffered
from companion.printing.printed_kit import printed_table
from vision.detection.markers import MarkerFinder, dictionary_of
from vision.pose.pose import corner_points_mm
from vision.simulation.objects import draw_hand, fill_outline
from vision.simulation.render import camera_pose, lit
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


def test_an_unknown_piece_is_refused(table: SimulatedTable) -> None:
    with pytest.raises(KeyError, match="there is no piece 99 on the table"):
        table.move_to(99, A1)


@pytest.mark.parametrize(
    "view", [View(noise=0), View(noise=0, tilt_deg=47, turn_deg=25, k1=-0.06), View(turn_deg=180)]
)
def test_the_picture_shows_every_marker_where_the_geometry_says(view: View) -> None:
    table = printed_table(KIT, view)
    table.set_up({Square(1, 2): ("purple robot",), B2: ("lime flag",)})
    luma = cv2.cvtColor(table.render_bgr(), cv2.COLOR_BGR2GRAY)
    found = {
        s.marker: s.corners_px for s in MarkerFinder().find(np.asarray(luma, np.uint8)).sightings
    }
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
        assert np.abs(top - tag).max() < 1.0, (
            f"the outline of the {face} is {np.abs(top - tag).max():.2f} px off"
        )


TROUBLE = {
    "wide and bent": View(noise=0, focal_ratio=0.45, k1=-0.08, tilt_deg=30),
    "steep": View(noise=0, tilt_deg=55, turn_deg=20),
    "in coloured, flickering light": View(noise=0, cast_bgr=(0.4, 0.8, 1.1), flicker=0.2),
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
        assert np.median(error) < 1.5, (
            f"{trouble}: marker {print_.marker} is {np.median(error):.1f} px off"
        )


def test_prints_tell_squares_and_what_is_hidden(table: SimulatedTable) -> None:
    by_face = {p.face: p for p in prints_of(table) if p.face}
    assert {face: p.squares for face, p in by_face.items()} == {
        faces[0]: (square,) for square, faces in START.items()
    }
    assert all(p.shown == 1 for p in by_face.values())
    assert 4 < by_face["lime robot"].module_px < 7
    table.move_to(piece(table, "purple robot").id, C4)
    table.hold_hand(A1)
    by_face = {p.face: p for p in prints_of(table) if p.face}
    assert by_face["lime robot"].shown < 0.2, "the purple robot stands on it"
    assert by_face["purple robot"].shown == 1
    assert by_face["purple flag"].shown < 0.95, "the arm reaches over it"
    table.take_off(piece(table, "purple robot").id)
    assert next(p for p in prints_of(table) if p.face == "purple robot").squares == ()
    table.hold_hand(None)
    table.drag_to(piece(table, "lime flag").id, 1279, 300)
    assert 0.2 < next(p for p in prints_of(table) if p.face == "lime flag").shown < 0.8, (
        "half of it is in the picture"
    )


def test_a_big_piece_is_printed_on_all_its_squares() -> None:
    kit = GAMES["scouts"].kit(GAMES["scouts"].options({}))
    table = printed_table(kit)
    corner = Square(2, 2)
    table.set_up({corner: ("white boulder",)})
    (boulder,) = (p for p in prints_of(table) if p.face == "white boulder")
    assert set(boulder.squares) == {
        corner,
        corner.shifted(1, 0),
        corner.shifted(0, 1),
        corner.shifted(1, 1),
    }


def test_reflections_are_told_where_they_lie() -> None:
    table = printed_table(KIT, View(noise=0, glare=(72.0, 74.5, 20.0)))
    table.set_up({B2: ("lime flag",)})
    veils = {p.face or p.marker: p.veil for p in prints_of(table)}
    assert veils["lime flag"] > 200
    assert veils[0] == 0


def test_flicker_moves_from_picture_to_picture() -> None:
    table = printed_table(KIT, View(noise=0, flicker=0.3))
    one, other = table.render_luma().astype(float), table.render_luma().astype(float)
    assert np.abs(one - other).max() > 20
    assert table.render_bgr().shape == (720, 1280, 3)
    assert (table.render_luma() <= printed_table(KIT, View(noise=0)).render_luma()).all()


def test_south_is_below_and_a_turned_camera_has_north_below() -> None:
    for turn, order in ((0.0, 1), (180.0, -1)):
        table = printed_table(KIT, View(turn_deg=turn))
        assert (table.square_px(A1)[1] - table.square_px(Square(0, 3))[1]) * order > 100


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


@pytest.mark.parametrize("square", ["a1", "c4", "e2"])
def test_a_hand_looks_as_if_drawn_over_the_whole_picture(square: str) -> None:
    """It is drawn where it is alone, and softened towards its edges: the part must be large enough for that."""
    table = printed_table(KIT, View(noise=0, tilt_deg=40, glare=(60, 60, 50)))
    table.set_up(START)
    plain = table.render_bgr()
    table.hold_hand(Square.parse(square))
    stage, outline = table.staged(), table.hand_px()
    assert outline is not None
    cover = np.zeros(plain.shape[:2], np.uint8)
    fill_outline(cover, outline)
    soft = cv2.GaussianBlur(cover, (0, 0), 6).astype(np.float32)[..., None] / 255
    skin = np.asarray(np.array(stage.view.skin_bgr) * (0.62 + 0.38 * soft), np.float32)
    plain[cover > 127] = lit(skin, stage.light, stage.veil)[cover > 127]
    assert np.array_equal(table.render_bgr(), plain)


def test_a_hand_outside_the_picture_changes_nothing(table: SimulatedTable) -> None:
    picture = table.render_bgr().copy()
    draw_hand(picture, table.staged(), np.array([[-90.0, -90.0], [-40.0, -90.0], [-40.0, -40.0]]))
    assert np.array_equal(picture, table.render_bgr())


def test_noise_is_seeded_and_changes_from_frame_to_frame() -> None:
    frames = []
    for _ in range(2):
        camera = RenderedCamera(printed_table(KIT, View(noise=3, seed=5)), FakeClock())
        frames.append([camera.frame().luma, camera.frame().luma])
    assert (frames[0][0] == frames[1][0]).all()
    assert (frames[0][1] == frames[1][1]).all()
    change = frames[0][0].astype(int) - frames[0][1]
    assert 3.5 < change.std() < 5


def test_a_closed_camera_refuses_frames() -> None:
    camera = RenderedCamera(printed_table(KIT), FakeClock(3.0))
    frame = camera.frame()
    assert (frame.at_s, frame.number, frame.luma.shape) == (3.0, 1, (720, 1280))
    assert frame.luma.dtype == np.uint8
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match="is closed: open it again"):
        camera.frame()


def test_threads_may_move_and_look_at_the_same_time() -> None:
    table = printed_table(KIT, View(width=320, height=180))
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
