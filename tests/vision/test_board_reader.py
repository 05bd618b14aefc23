"""From pictures to layouts: rendered tables with a truth table, and what must never happen."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from reading_tools import KITS, ReadTable, assert_nothing_wrong, lay, tops

from companion.core.errors import ConfigError
from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from companion.games import GAMES
from vision.detection.markers import Luma, MarkerFinder
from vision.pose.pose import corner_points_mm
from vision.reading.board_reader import board_reader
from vision.simulation.render import camera_pose
from vision.simulation.view import CameraView, Shadow

SMALL = KITS["outbuffered"]
WALLS_MAP = "..N.n\n.....\n#.#.#\n.....\ns.S.."
WALLS: Kit = GAMES["outbuffered"].kit(GAMES["outbuffered"].options({"board": WALLS_MAP}))
BOTH = {"outbuffered": SMALL, "arena": KITS["arena"]}
START = lay(a1="purple robot", b1="purple flag", c4="lime robot", b4="lime flag")
B2, C4 = Square(1, 1), Square(2, 3)


def start(layout: Layout = START, **view: Any) -> ReadTable:
    return ReadTable(SMALL, layout, BOTH, **view)


CONDITIONS: dict[str, dict[str, Any]] = {
    "from above": {"tilt_deg": 0.0},
    "from the side": {"tilt_deg": 45.0, "turn_deg": 30.0},
    "the other way round": {"turn_deg": 180.0},
    "board askew": {"board_turn_deg": 25.0, "shift_mm": (15.0, 10.0), "fill": 0.8},
    "wide lens": {"focal_ratio": 0.62, "k1": -0.05},
    "defocus": {"defocus_px": 1.5},
    "motion": {"motion_px": 4.0, "motion_deg": 30.0},
    "low light": {"light": 0.3, "noise": 4.0},
    "shadow": {"shadow": Shadow(60.0, 100.0, 60.0, 0.4)},
    "jpeg": {"jpeg_quality": 30},
    "640 x 360": {"width": 640, "height": 360},
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_piece_is_read_under_ordinary_trouble(condition: str) -> None:
    reading = start(**CONDITIONS[condition]).read(3)
    assert_nothing_wrong(reading, START)
    assert reading.game == "outbuffered"
    assert dict(reading.seen) == tops(START)
    assert reading.quiet
    assert len(reading.unknown) <= 1
    assert reading.beside == ()


# ---- hands, glare, shadows, edges ----------------------------------------------------------------


@pytest.mark.parametrize("number", range(3))
def test_a_hand_over_a_square_means_unknown(number: int) -> None:
    """Each of three skins over a sixth of the squares, before and after the board was learned."""
    scene = start(skin_bgr=((122, 158, 208), (60, 80, 120), (170, 190, 235))[number])
    for square in SMALL.board.squares[number::6]:
        for is_learned in (False, True):
            if is_learned:
                scene.table.hold_hand(None)
                scene.read(4)
            else:
                scene.reader = board_reader(BOTH)
            scene.table.hold_hand(square)
            for frames in (1, 3):
                reading = scene.read(frames)
                assert square in reading.unknown
                assert_nothing_wrong(reading, START)


def test_a_piece_without_visible_marker_is_unknown() -> None:
    faces = tuple(replace(face, markers=(face.markers[0] + 60,)) for face in SMALL.faces)
    scene = ReadTable(replace(SMALL, faces=faces), lay(b2="purple robot"))
    scene.reader = board_reader({SMALL.game: SMALL})
    reading = scene.read(3)
    assert B2 in reading.unknown
    assert 80 in reading.strangers


def test_a_piece_between_two_squares_is_on_neither() -> None:
    scene = start(lay(b2="lime flag"))
    scene.table.nudge(scene.piece("lime flag").id, SMALL.board.pitch_mm / 2, 0)
    reading = scene.read(3)
    assert reading.seen == {}
    assert {B2, Square(2, 1)} <= reading.unknown
    assert reading.beside == ("lime robot", "purple flag", "purple robot")


def test_a_piece_put_down_askew_is_read() -> None:
    scene = start(lay(b2="lime robot"), tilt_deg=45.0)
    robot = scene.piece("lime robot").id
    for x, y, turn in ((15.0, 14.0, 30.0), (-30.0, 0.0, 200.0), (14.0, -29.0, -75.0)):
        scene.table.nudge(robot, x, y)
        scene.table.turn(robot, turn)
        assert scene.read(3).seen == {B2: "lime robot"}


def test_squares_outside_the_picture_are_unknown() -> None:
    reading = start(shift_mm=(0.0, -70.0)).read(3)
    assert {Square(file, 0) for file in range(3)} <= reading.unknown
    assert_nothing_wrong(reading, START)


def test_a_marker_seen_twice_is_a_stranger() -> None:
    twin = replace(SMALL, pieces=(*SMALL.pieces, ("purple robot",)))
    reading = ReadTable(twin, lay(b2="purple robot", c4="purple robot")).read(3)
    assert (reading.strangers, reading.seen) == ((20,), {})
    assert {B2, C4} <= reading.unknown


def test_duplicate_pieces_have_the_right_scale() -> None:
    twins = replace(SMALL, pieces=SMALL.pieces[:1] * 4)
    name = SMALL.pieces[0][0]
    scene = ReadTable(twins, dict.fromkeys(SMALL.board.squares[2:18:4], (name,)))
    assert scene.read(3).strangers
    assert "100 %" not in scene.reader.details.note


# ---- pose and board ------------------------------------------------------------------------------


def cover_corners(luma: Luma, view: CameraView, corners: tuple[int, ...]) -> Luma:
    """Hide some corner markers in the picture under dark things."""
    pose, picture = camera_pose(SMALL, view), luma.copy()
    for corner in corners:
        quad = pose.to_px(corner_points_mm(SMALL.board, corner))
        cv2.fillPoly(picture, [quad.astype(np.int32)], 70)
    return picture


def test_a_known_board_needs_no_corner_markers() -> None:
    scene = start()
    scene.read(3)
    frame = scene.camera.frame()
    dark = cover_corners(frame.luma, scene.table.view, (0, 1, 2))
    reading = scene.reader.read(replace(frame, luma=dark))
    assert (reading.game, dict(reading.seen)) == ("outbuffered", tops(START))


@pytest.mark.parametrize("hidden", [(0,), (3,), (0, 2), (0, 1), (0, 1, 2)])
def test_a_partly_hidden_board_is_never_read_wrongly(hidden: tuple[int, ...]) -> None:
    scene = start(tilt_deg=40.0, focal_ratio=0.9)
    dark = cover_corners(scene.table.render_luma(), scene.table.view, hidden)
    reading = scene.reader.read_picture(dark)
    if len(hidden) == 3:
        assert (reading.game, reading.unknown) == (None, frozenset(SMALL.board.squares))
        assert scene.reader.details.problem.startswith(
            "Only one corner of the board is in the picture"
        )
    else:
        assert_nothing_wrong(reading, START)
    if len(hidden) == 1:
        assert dict(reading.seen) == tops(START)


def test_a_bumped_board_is_found_at_once() -> None:
    scene = start()
    scene.read(4)
    scene.table.set_view(replace(scene.table.view, shift_mm=(12.0, 5.0), board_turn_deg=4.0))
    reading = scene.read()
    assert (reading.quiet, dict(reading.seen)) == (False, tops(START))
    assert scene.read(3).quiet


def test_another_board_of_the_game_is_refused() -> None:
    scene = ReadTable(WALLS, lay(b2="purple robot"), BOTH)
    scene.reader.use(SMALL)
    assert scene.read(3).game is None
    assert (
        "The corner markers do not lie as on the board “standard”" in scene.reader.details.problem
    )
    scene.reader.use(WALLS)
    assert scene.read(3).seen == {B2: "purple robot"}


def test_another_games_board_is_recognised_by_its_corners() -> None:
    scene = ReadTable(KITS["arena"], {}, BOTH)
    for preferred in (SMALL, None):
        scene.reader.use(preferred)
        assert scene.read(3).game == "arena"


def test_an_unknown_camera_model_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model “phone” is unknown: expected one of camera-mod"):
        board_reader(BOTH, "phone")


# ---- over frames ---------------------------------------------------------------------------------


def test_a_new_board_needs_three_equal_frames() -> None:
    scene = start()
    assert [scene.read().quiet for _ in range(4)] == [False, False, True, True]
    scene.table.move_to(scene.piece("purple flag").id, B2)
    assert [scene.read().quiet for _ in range(3)] == [False, True, True]


def test_a_still_frame_is_only_stamped_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = start()
    scene.read(4)
    monkeypatch.setattr(MarkerFinder, "find", lambda *_: pytest.fail("a still frame was read"))
    first, second = scene.read(), scene.read()
    assert (second.frame, second.seen) == (first.frame + 1, first.seen)


def test_unknown_squares_of_still_boards_are_judged_again() -> None:
    scene = start()
    scene.table.hold_hand(B2)
    assert B2 in scene.read(14).unknown
    scene.table.hold_hand(None)
    assert scene.read(4).unknown == frozenset()


def test_a_glance_reads_nothing_that_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = start()
    before = scene.read(4)

    def glance() -> Any:
        return scene.reader.read(scene.camera.frame(), glance=True)

    with monkeypatch.context() as patch:
        patch.setattr("vision.reading.board_reader.detect", lambda *_: pytest.fail("it was read"))
        scene.table.hold_hand(B2)
        assert (glance().seen, scene.reader.is_moving) == (before.seen, True)
        scene.table.move_to(scene.piece("lime robot").id, B2)
        scene.table.hold_hand(None)
        assert not glance().quiet
        assert not glance().quiet
        assert not scene.reader.is_moving, "it lies still, or a hand rests for one picture"
    readings = [glance() for _ in range(2)]
    assert readings[-1].quiet
    assert readings[-1].seen[B2] == "lime robot"
    assert C4 not in {*readings[-1].seen, *readings[-1].unknown}


def test_a_white_on_black_print_is_named() -> None:
    scene = start()
    assert scene.reader.read_picture(255 - scene.table.render_luma()).game is None
    assert "white on black" in scene.reader.details.problem


def test_pieces_of_another_scale_are_named() -> None:
    kit = KITS["arena"]
    faces = (names[:1] for names in kit.pieces)
    scene = ReadTable(kit, dict(zip(kit.board.squares[::7], faces, strict=False)))
    reader = board_reader({kit.game: replace(kit, tag_mm=kit.tag_mm / 0.85)})
    reader.read_picture(scene.table.render_luma())
    assert "100 %" in reader.details.note
    assert any("100 %" in advice.text for advice in reader.details.advice)
