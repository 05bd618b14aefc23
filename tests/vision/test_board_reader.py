"""Test what the board reader reads in pictures of rendered tables, whose layouts are known.

A piece or square that is hidden, moving or ambiguous has to be unknown, never wrong.
"""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from reading_tools import KITS, BoardRig, assert_nothing_wrong, faces_on_top, lay

from companion.core.errors import ConfigError
from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from companion.games import GAMES
from vision.detection.markers import Luma, MarkerFinder
from vision.pose.pose import corner_points_mm
from vision.reading.board_reader import make_board_reader
from vision.simulation.render import camera_pose
from vision.simulation.view import CameraView, Shadow

OUTBUFFERED = KITS["outbuffered"]
WALLS_MAP = "..N.n\n.....\n#.#.#\n.....\ns.S.."
WALLS: Kit = GAMES["outbuffered"].kit(GAMES["outbuffered"].options({"board": WALLS_MAP}))
TWO_KITS = {"outbuffered": OUTBUFFERED, "arena": KITS["arena"]}
START = lay(a1="purple robot", b1="purple flag", c4="lime robot", b4="lime flag")
B2 = Square(1, 1)
C4 = Square(2, 3)


def outbuffered_rig(layout: Layout = START, **view: Any) -> BoardRig:
    return BoardRig(OUTBUFFERED, layout, TWO_KITS, **view)


CONDITIONS: dict[str, dict[str, Any]] = {
    "from above": {"tilt_deg": 0.0},
    "from the side": {"tilt_deg": 45.0, "turn_deg": 30.0},
    "from North": {"turn_deg": 180.0},
    "board askew": {"board_turn_deg": 25.0, "shift_mm": (15.0, 10.0), "fill": 0.8},
    "wide lens": {"focal_ratio": 0.62, "k1": -0.05},
    "defocus": {"defocus_px": 1.5},
    "motion": {"motion_px": 4.0, "motion_deg": 30.0},
    "low light": {"light": 0.3, "noise": 4.0},
    "shadow": {"shadow": Shadow(x_mm=60.0, y_mm=100.0, radius_mm=60.0, strength=0.4)},
    "jpeg": {"jpeg_quality": 30},
    "640 x 360": {"width": 640, "height": 360},
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_piece_is_read_in_ordinary_conditions(condition: str) -> None:
    reading = outbuffered_rig(**CONDITIONS[condition]).read(3)
    assert_nothing_wrong(reading, START)
    assert reading.game == "outbuffered"
    assert dict(reading.seen) == faces_on_top(START)
    assert reading.quiet
    assert len(reading.unknown) <= 1
    assert reading.beside == ()


# ---- hands, glare, shadows, edges ----------------------------------------------------------------


SKINS_BGR = ((122, 158, 208), (60, 80, 120), (170, 190, 235))


@pytest.mark.parametrize("skin_index", range(3))
def test_a_square_under_a_hand_is_unknown(skin_index: int) -> None:
    """Hold hands of three tones of skin over every sixth square, each over others.

    Do so with a new reader, and with one that has seen the board without a hand. The square has to
    be unknown at once, and three frames later.
    """
    rig = outbuffered_rig(skin_bgr=SKINS_BGR[skin_index])
    for square in OUTBUFFERED.board.squares[skin_index::6]:
        for has_seen_board in (False, True):
            if has_seen_board:
                rig.table.hold_hand(None)
                rig.read(4)
            else:
                rig.reader = make_board_reader(TWO_KITS)
            rig.table.hold_hand(square)
            for frames in (1, 3):
                reading = rig.read(frames)
                assert square in reading.unknown
                assert_nothing_wrong(reading, START)


def test_a_piece_with_a_foreign_marker_is_unknown() -> None:
    # the pieces on the table have other ids than the reader knows: the purple robot has 80, not 20
    faces = tuple(replace(face, markers=(face.markers[0] + 60,)) for face in OUTBUFFERED.faces)
    rig = BoardRig(replace(OUTBUFFERED, faces=faces), lay(b2="purple robot"))
    rig.reader = make_board_reader({OUTBUFFERED.game: OUTBUFFERED})
    reading = rig.read(3)
    assert B2 in reading.unknown
    assert 80 in reading.strangers


def test_a_piece_between_two_squares_leaves_both_unknown() -> None:
    rig = outbuffered_rig(lay(b2="lime flag"))
    rig.table.nudge(rig.piece("lime flag").id, OUTBUFFERED.board.pitch_mm / 2, 0)
    reading = rig.read(3)
    assert reading.seen == {}
    assert {B2, Square(2, 1)} <= reading.unknown
    assert reading.beside == ("lime robot", "purple flag", "purple robot")


def test_a_piece_put_down_askew_is_read() -> None:
    rig = outbuffered_rig(lay(b2="lime robot"), tilt_deg=45.0)
    robot = rig.piece("lime robot").id
    for x_mm, y_mm, turn_deg in ((15.0, 14.0, 30.0), (-30.0, 0.0, 200.0), (14.0, -29.0, -75.0)):
        rig.table.nudge(robot, x_mm, y_mm)
        rig.table.turn(robot, turn_deg)
        assert rig.read(3).seen == {B2: "lime robot"}


def test_squares_outside_the_picture_are_unknown() -> None:
    reading = outbuffered_rig(shift_mm=(0.0, -70.0)).read(3)
    assert {Square(file, 0) for file in range(3)} <= reading.unknown
    assert_nothing_wrong(reading, START)


def test_a_marker_seen_twice_is_a_stranger() -> None:
    kit = replace(OUTBUFFERED, pieces=(*OUTBUFFERED.pieces, ("purple robot",)))
    reading = BoardRig(kit, lay(b2="purple robot", c4="purple robot")).read(3)
    assert (reading.strangers, reading.seen) == ((20,), {})
    assert {B2, C4} <= reading.unknown


def test_duplicate_pieces_are_not_called_wrongly_scaled() -> None:
    """Lay the same piece on the board four times.

    Its markers count as strangers. They have the right size, so nobody is advised to print them
    again at 100 %.
    """
    kit = replace(OUTBUFFERED, pieces=OUTBUFFERED.pieces[:1] * 4)
    face = OUTBUFFERED.pieces[0][0]
    rig = BoardRig(kit, dict.fromkeys(OUTBUFFERED.board.squares[2:18:4], (face,)))
    assert rig.read(3).strangers
    assert "100 %" not in rig.reader.details.note


# ---- pose and board ------------------------------------------------------------------------------


def cover_corners(luma: Luma, view: CameraView, corners: tuple[int, ...]) -> Luma:
    """Return the picture with these corner markers painted over in dark grey."""
    pose = camera_pose(OUTBUFFERED, view)
    picture = luma.copy()
    for corner in corners:
        quad = pose.to_px(corner_points_mm(OUTBUFFERED.board, corner))
        cv2.fillPoly(picture, [quad.astype(np.int32)], 70)
    return picture


def test_one_corner_marker_keeps_a_known_board() -> None:
    """The pose is known from earlier frames, so one marker confirms that the board lies there."""
    rig = outbuffered_rig()
    rig.read(3)
    frame = rig.camera.frame()
    luma = cover_corners(frame.luma, rig.table.view, (0, 1, 2))
    reading = rig.reader.read(replace(frame, luma=luma))
    assert (reading.game, dict(reading.seen)) == ("outbuffered", faces_on_top(START))


@pytest.mark.parametrize("hidden", [(0,), (3,), (0, 2), (0, 1), (0, 1, 2)])
def test_a_partly_hidden_board_is_never_read_wrongly(hidden: tuple[int, ...]) -> None:
    """`hidden` are the ids of corner markers that are covered from the first picture on."""
    rig = outbuffered_rig(tilt_deg=40.0, focal_ratio=0.9)
    luma = cover_corners(rig.table.render_luma(), rig.table.view, hidden)
    reading = rig.reader.read_picture(luma)
    if len(hidden) == 3:
        # one marker is not enough to find a board
        assert (reading.game, reading.unknown) == (None, frozenset(OUTBUFFERED.board.squares))
        assert rig.reader.details.problem.startswith(
            "Only one corner of the board is in the picture"
        )
    else:
        # with two or three markers, squares may be unknown but not wrong
        assert_nothing_wrong(reading, START)
    if len(hidden) == 1:
        # three markers are as good as four
        assert dict(reading.seen) == faces_on_top(START)


def test_a_bumped_board_is_found_at_once() -> None:
    rig = outbuffered_rig()
    rig.read(4)
    rig.table.set_view(replace(rig.table.view, shift_mm=(12.0, 5.0), board_turn_deg=4.0))
    # the first picture after the bump shows all pieces, but is not settled yet
    reading = rig.read()
    assert (reading.quiet, dict(reading.seen)) == (False, faces_on_top(START))
    assert rig.read(3).quiet


def test_another_board_of_the_game_is_refused() -> None:
    """The board with walls has the same corner markers as the standard board, in other places."""
    rig = BoardRig(WALLS, lay(b2="purple robot"), TWO_KITS)
    rig.reader.use(OUTBUFFERED)
    assert rig.read(3).game is None
    assert "The corner markers do not lie as on the board “standard”" in rig.reader.details.problem
    # with the right kit the same board is read
    rig.reader.use(WALLS)
    assert rig.read(3).seen == {B2: "purple robot"}


def test_another_games_board_is_recognised_by_its_corners() -> None:
    rig = BoardRig(KITS["arena"], {}, TWO_KITS)
    for preferred in (OUTBUFFERED, None):
        rig.reader.use(preferred)
        assert rig.read(3).game == "arena"


def test_an_unknown_camera_model_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model “phone” is unknown: expected one of camera-mod"):
        make_board_reader(TWO_KITS, "phone")


# ---- series of frames ----------------------------------------------------------------------------


def test_a_new_board_needs_three_equal_frames() -> None:
    rig = outbuffered_rig()
    assert [rig.read().quiet for _ in range(4)] == [False, False, True, True]
    # a piece that has moved on a known board needs only two
    rig.table.move_to(rig.piece("purple flag").id, B2)
    assert [rig.read().quiet for _ in range(3)] == [False, True, True]


def test_a_still_frame_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = outbuffered_rig()
    rig.read(4)
    monkeypatch.setattr(MarkerFinder, "find", lambda *_: pytest.fail("a still frame was read"))
    before = rig.read()
    after = rig.read()
    assert (after.frame, after.seen) == (before.frame + 1, before.seen)


def test_a_square_is_known_after_the_hand_leaves() -> None:
    rig = outbuffered_rig()
    rig.table.hold_hand(B2)
    assert B2 in rig.read(14).unknown
    rig.table.hold_hand(None)
    assert rig.read(4).unknown == frozenset()


def test_a_glance_skips_pictures_with_movement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine only glances at pictures while hands move.

    The two pictures after the hand has left are not read either. The next two are, and settle the
    board.
    """
    rig = outbuffered_rig()
    before = rig.read(4)

    def glance() -> Any:
        return rig.reader.read(rig.camera.frame(), glance=True)

    with monkeypatch.context() as patch:
        patch.setattr(
            "vision.reading.board_reader.detect", lambda *_: pytest.fail("movement was read")
        )
        # while the hand is there, the reader repeats what it knew before
        rig.table.hold_hand(B2)
        assert (glance().seen, rig.reader.is_moving) == (before.seen, True)

        # the hand leaves a robot on b2, and two pictures later nothing moves any more
        rig.table.move_to(rig.piece("lime robot").id, B2)
        rig.table.hold_hand(None)
        assert not glance().quiet
        assert not glance().quiet
        assert not rig.reader.is_moving

    # two pictures are read, in which the robot has moved from c4 to b2
    readings = [glance() for _ in range(2)]
    assert readings[-1].quiet
    assert readings[-1].seen[B2] == "lime robot"
    assert C4 not in {*readings[-1].seen, *readings[-1].unknown}


def test_a_white_on_black_print_is_reported() -> None:
    rig = outbuffered_rig()
    assert rig.reader.read_picture(255 - rig.table.render_luma()).game is None
    assert "white on black" in rig.reader.details.problem


def test_pieces_of_another_scale_are_reported() -> None:
    """The printed markers have 85 % of the size that the reader expects."""
    kit = KITS["arena"]
    faces = (names[:1] for names in kit.pieces)
    rig = BoardRig(kit, dict(zip(kit.board.squares[::7], faces, strict=False)))
    reader = make_board_reader({kit.game: replace(kit, tag_mm=kit.tag_mm / 0.85)})
    reader.read_picture(rig.table.render_luma())
    assert "100 %" in reader.details.note
    assert any("100 %" in advice.text for advice in reader.details.advice)
