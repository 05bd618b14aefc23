"""From pictures to layouts: rendered tables with a truth table, and what must never happen."""

import math
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from companion.core.clock import FakeClock
from companion.core.errors import ConfigError
from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit, Layout, Seat
from companion.core.ports import Reading
from companion.games import GAMES
from companion.games.outbuffered import Outbuffered
from companion.printing.printed_kit import printed_table
from vision.detection.markers import MarkerFinder
from vision.pose.pose import corner_points_mm, flat, solve_pose
from vision.reading.board_reader import board_reader
from vision.simulation.render import camera_pose
from vision.simulation.table import RenderedCamera
from vision.simulation.view import View

GAME = Outbuffered()
SMALL: Kit = GAME.kit(GAME.options({}))
WALLS: Kit = GAME.kit(GAME.options({"board": "..N.n\n.....\n#.#.#\n.....\ns.S.."}))
LARGE = Kit(
    "large",
    "Large",
    Board("8 x 10", 8, 10, 25.0, 0.0, (4, 5, 6, 7), corner_mm=20, strip_mm=40),
    SMALL.sides,
    tuple(
        Face(f"{name} {n + 1}", "disc", (first + n,), 6.0, seat)
        for seat, name, first in ((Seat.SOUTH, "white", 40), (Seat.NORTH, "black", 50))
        for n in range(5)
    ),
    pieces=tuple((f"{name} {n + 1}",) for name in ("white", "black") for n in range(5)),
    tag_mm=15.0,
)
KITS = {"outbuffered": SMALL, "large": LARGE}
START: Layout = {
    Square(0, 0): ("purple robot",),
    Square(1, 0): ("purple flag",),
    Square(2, 3): ("lime robot",),
    Square(1, 3): ("lime flag",),
}
B2, C4 = Square(1, 1), Square(2, 3)


class Seen:
    """A rendered table, its camera and a reader."""

    def __init__(self, kit: Kit = SMALL, layout: Layout = START, **view: Any) -> None:
        self.kit = kit
        self.table = printed_table(kit, View(**view))
        self.table.set_up(layout)
        self.camera = RenderedCamera(self.table, FakeClock())
        self.reader = board_reader(KITS)
        self.reader.use(kit)

    def read(self, frames: int = 3) -> Reading:
        for _ in range(frames - 1):
            self.reader.read(self.camera.frame())
        return self.reader.read(self.camera.frame())

    def piece(self, face: str) -> int:
        return next(p.id for p in self.table.pieces() if p.face == face)


def truth_of(layout: Layout) -> dict[Square, str]:
    return {square: faces[-1] for square, faces in layout.items()}


def assert_nothing_wrong(reading: Reading, layout: Layout, where: str) -> None:
    """No face on a wrong square, and no occupied square called empty."""
    truth = truth_of(layout)
    wrong = {str(s): f for s, f in reading.seen.items() if truth.get(s) != f}
    assert not wrong, f"{where}: wrong entries {wrong}"
    lost = [str(s) for s in truth if s not in reading.seen and s not in reading.unknown]
    assert not lost, f"{where}: called empty although occupied: {lost}"


# ---- a truth table of conditions --------------------------------------------------------------------------------

CONDITIONS: dict[str, dict[str, Any]] = {
    "clean": {},
    "from above": {"tilt_deg": 0.0},
    "tilt 47": {"tilt_deg": 47.0},
    "from the side": {"tilt_deg": 45.0, "turn_deg": 30.0},
    "the other way round": {"turn_deg": 180.0},
    "board askew": {"board_turn_deg": 25.0, "shift_mm": (15.0, 10.0), "fill": 0.8},
    "long lens": {"focal_ratio": 0.95, "tilt_deg": 40.0},
    "wide lens": {"focal_ratio": 0.62, "k1": -0.05},
    "defocus": {"defocus_px": 1.5},
    "motion": {"motion_px": 4.0, "motion_deg": 30.0},
    "low light": {"light": 0.3, "noise": 4.0},
    "gradient": {"gradient": 0.5},
    "shadow": {"shadow": (60.0, 100.0, 60.0, 0.4)},
    "jpeg": {"jpeg_quality": 30},
    "colour cast": {"cast_bgr": (0.6, 0.9, 1.1)},
    "640 x 360": {"width": 640, "height": 360},
}
LARGE_START: Layout = {
    Square(file, rank): (f"{name} {number + 1}",)
    for name, rank in (("white", 0), ("black", 9))
    for number, file in enumerate((0, 2, 3, 5, 7))
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_piece_is_read_under_ordinary_trouble(condition: str) -> None:
    scene = Seen(**CONDITIONS[condition])
    reading = scene.read()
    assert_nothing_wrong(reading, START, condition)
    assert reading.game == "outbuffered"
    assert dict(reading.seen) == truth_of(START)
    assert reading.quiet
    assert len(reading.unknown) <= 1, (
        f"{condition}: {sorted(map(str, reading.unknown))} not told to be empty"
    )


@pytest.mark.parametrize("condition", ["clean", "tilt 47", "defocus", "jpeg"])
def test_small_squares_are_read_too(condition: str) -> None:
    scene = Seen(LARGE, LARGE_START, **CONDITIONS[condition])
    reading = scene.read(5)
    assert_nothing_wrong(reading, LARGE_START, condition)
    missing = set(LARGE_START) - set(reading.seen)
    assert len(missing) <= 1, f"{condition}: {sorted(map(str, missing))} not read"


@pytest.mark.parametrize(
    "view", [{}, {"tilt_deg": 50.0}, {"focal_ratio": 0.92, "tilt_deg": 45.0}, {"light": 0.4}]
)
def test_pieces_that_hide_the_far_corner_markers_do_no_harm(view: dict[str, float]) -> None:
    kit = replace(LARGE, board=replace(LARGE.board, strip_mm=26.0))
    scene = Seen(kit, LARGE_START, **view)
    first = scene.read(1)
    assert_nothing_wrong(first, LARGE_START, "before the lines have been used")
    corners = {s.marker for s in MarkerFinder().find(scene.table.render_luma()).sightings} & set(
        kit.board.corners
    )
    assert corners == {4, 5}, "this test wants both far corner markers hidden"
    reading = scene.read(5)
    assert dict(reading.seen) == truth_of(LARGE_START)
    assert len(reading.unknown) <= 2
    true = camera_pose(kit, scene.table.view)
    squares = flat(np.array([kit.board.centre_mm(square) for square in kit.board.squares]))
    pose = scene.reader.pose
    assert pose is not None
    assert np.abs(pose.to_plane(true.to_px(squares)) - squares[:, :2]).max() < 1.2, (
        "mm on the board"
    )


# ---- hands, glare, shadows, edges --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("learned", [False, True])
def test_a_hand_over_a_square_means_unknown(number: int, learned: bool) -> None:
    """Each of three skins over a third of the squares: all of them, before and after the board was learned."""
    scene = Seen(skin_bgr=((122, 158, 208), (60, 80, 120), (170, 190, 235))[number])
    for square in SMALL.board.squares[number::3]:
        if learned:
            scene.table.hold_hand(None)
            scene.read(4)
        else:
            scene.reader = board_reader(KITS)
        scene.table.hold_hand(square)
        for reading in (scene.read(1), scene.read(3)):
            assert square in reading.unknown, (
                f"a hand over {square}: {reading.seen.get(square, 'empty')}"
            )
            assert_nothing_wrong(reading, START, f"hand over {square}")


def test_a_piece_without_its_marker_in_sight_is_unknown() -> None:
    stranger = replace(
        SMALL, faces=tuple(replace(f, markers=(f.markers[0] + 60,)) for f in SMALL.faces)
    )
    scene = Seen(stranger, {B2: ("purple robot",)})
    scene.reader.use(SMALL)
    reading = scene.read()
    assert B2 in reading.unknown
    assert 80 in reading.strangers
    blank = np.asarray(scene.table.render_luma()).copy()
    outline = np.array(scene.table.pieces()[-1].outline_px).astype(np.int32)
    cv2.fillPoly(blank, [outline], 60)
    assert B2 in board_reader(KITS).read_picture(blank).unknown


def test_glare_on_a_marker_means_unknown() -> None:
    scene = Seen(glare=(23.0, 26.0, 22.0))
    reading = scene.read()
    assert Square(0, 0) in reading.unknown
    assert_nothing_wrong(reading, START, "glare")


def test_a_shadow_that_comes_later_hides_nothing() -> None:
    scene = Seen()
    scene.read(4)
    scene.table.hold_view(shadow=(100.0, 80.0, 60.0, 0.45))
    reading = scene.read(4)
    assert dict(reading.seen) == truth_of(START)
    assert reading.unknown == frozenset()


def test_a_piece_between_two_squares_is_on_neither() -> None:
    scene = Seen(layout={B2: ("lime flag",)})
    scene.table.nudge(scene.piece("lime flag"), SMALL.board.pitch_mm / 2, 0)
    reading = scene.read()
    assert reading.seen == {}
    assert {B2, Square(2, 1)} <= reading.unknown


def test_a_piece_put_down_askew_is_still_on_its_square() -> None:
    scene = Seen(layout={B2: ("lime robot",)}, tilt_deg=45.0)
    robot = scene.piece("lime robot")
    for x, y, turn in ((15.0, 14.0, 30.0), (-30.0, 0.0, 200.0), (14.0, -29.0, -75.0)):
        scene.table.nudge(robot, x, y)
        scene.table.turn(robot, turn)
        assert scene.read().seen == {B2: "lime robot"}


def test_a_robot_on_a_flag_hides_it() -> None:
    layout: Layout = {C4: ("purple flag", "lime robot"), B2: ("lime flag", "purple robot")}
    assert dict(Seen(layout=layout).read().seen) == truth_of(layout)


def test_squares_outside_the_picture_are_unknown() -> None:
    scene = Seen(shift_mm=(0.0, -70.0))
    reading = scene.read()
    assert {Square(file, 0) for file in range(3)} <= reading.unknown
    assert_nothing_wrong(reading, START, "board half outside")


def test_pieces_beside_the_board_are_named() -> None:
    reading = Seen(layout={B2: ("purple robot",)}).read()
    assert reading.beside == ("lime flag", "lime robot", "purple flag")


def test_a_marker_seen_twice_is_a_stranger_and_counts_nowhere() -> None:
    twin = replace(SMALL, pieces=(*SMALL.pieces, ("purple robot",)))
    scene = Seen(twin, {B2: ("purple robot",), C4: ("purple robot",)})
    scene.reader.use(SMALL)
    reading = scene.read()
    assert reading.strangers == (20,)
    assert {B2, C4} <= reading.unknown
    assert reading.seen == {}


# ---- pose and board ---------------------------------------------------------------------------------------------


def covered(
    luma: np.ndarray[Any, Any], kit: Kit, view: View, corners: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """The picture with some corner markers hidden under dark things."""
    pose, picture = camera_pose(kit, view), luma.copy()
    for corner in corners:
        cv2.fillPoly(
            picture, [pose.to_px(corner_points_mm(kit.board, corner)).astype(np.int32)], 70
        )
    return picture


@pytest.mark.parametrize("hidden", [(0,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_hidden_corner_markers_do_no_harm_once_the_board_is_known(hidden: tuple[int, ...]) -> None:
    scene = Seen()
    scene.read()
    frame = scene.camera.frame()
    dark = covered(frame.luma, SMALL, scene.table.view, hidden)
    reading = scene.reader.read(replace(frame, luma=dark))
    assert reading.game == "outbuffered"
    assert dict(reading.seen) == truth_of(START)


def test_half_a_corner_is_no_corner_and_the_board_is_found_where_it_was_once_all_of_it_is_seen() -> (
    None
):
    """A sleeve lies over the rim of the last marker that is free: it looks smaller, as if the board had moved."""
    scene = Seen()
    scene.read()
    frame = scene.camera.frame()
    one_free = covered(frame.luma, SMALL, scene.table.view, (0, 1, 2))
    corner = corner_points_mm(SMALL.board, 3)
    rim = corner.copy()
    rim[1:3] = corner[[0, 3]] + 0.08 * (corner[[1, 2]] - corner[[0, 3]])
    half_free = one_free.copy()
    cv2.fillPoly(
        half_free, [camera_pose(SMALL, scene.table.view).to_px(rim).round().astype(np.int32)], 230
    )
    lost = scene.reader.read(replace(frame, luma=half_free))
    assert (lost.game, lost.seen) == (None, {})
    found = scene.reader.read(replace(frame, luma=one_free))
    assert dict(found.seen) == truth_of(START)


@pytest.mark.parametrize("hidden", [(0,), (3,), (0, 2), (0, 1), (0, 1, 2)])
def test_a_board_first_seen_in_part_is_never_read_wrongly(hidden: tuple[int, ...]) -> None:
    scene = Seen(tilt_deg=40.0, focal_ratio=0.9)
    dark = covered(scene.table.render_luma(), SMALL, scene.table.view, hidden)
    reading = scene.reader.read_picture(dark)
    if len(hidden) == 3:
        assert reading.game is None
        assert reading.unknown == frozenset(SMALL.board.squares)
        assert (
            scene.reader.seen.problem
            == "Only one corner of the board is in the picture: show at least two"
        )
    else:
        assert_nothing_wrong(reading, START, f"corners {hidden} hidden")
    if len(hidden) == 1:
        assert dict(reading.seen) == truth_of(START)


def test_no_board_means_no_knowledge() -> None:
    reader = board_reader(KITS)
    empty = Seen().camera.frame()
    reading = reader.read(replace(empty, luma=np.full((720, 1280), 120, np.uint8)))
    assert (reading.game, reading.seen, reading.quiet) == (None, {}, False)


def test_a_bumped_board_is_found_again_in_the_next_frame() -> None:
    scene = Seen()
    scene.read(4)
    scene.table.hold_view(shift_mm=(12.0, 5.0), board_turn_deg=4.0)
    reading = scene.read(1)
    assert not reading.quiet
    assert dict(reading.seen) == truth_of(START)
    assert scene.read(3).quiet


def test_another_board_of_the_same_game_is_not_taken_for_it() -> None:
    scene = Seen(WALLS, {Square(1, 1): ("purple robot",)})
    scene.reader.use(SMALL)
    reading = scene.read()
    assert reading.game is None
    assert "The corner markers do not lie as on the board “standard”" in scene.reader.seen.problem
    scene.reader.use(WALLS)
    assert scene.read().seen == {Square(1, 1): "purple robot"}


def test_another_games_board_is_told_by_its_corners() -> None:
    scene = Seen(LARGE, LARGE_START)
    scene.reader.use(SMALL)
    assert scene.read().game == "large"
    scene.reader.use(None)
    assert scene.read().game == "large"


def test_an_unknown_camera_model_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"model “phone” is unknown: expected one of camera-module-1"
    ):
        board_reader(KITS, "phone")


@pytest.mark.parametrize(
    ("tilt", "focal", "k1"), [(35.0, 0.80, 0.0), (45.0, 0.62, -0.05), (40.0, 0.95, 0.0)]
)
def test_the_lens_is_learned_from_the_board(tilt: float, focal: float, k1: float) -> None:
    scene = Seen(layout={}, tilt_deg=tilt, focal_ratio=focal, k1=k1)
    scene.read()
    assert math.isclose(scene.reader.seen.lens.focal_ratio, focal, rel_tol=0.04)
    pose = camera_pose(SMALL, scene.table.view)
    points = np.vstack([corner_points_mm(SMALL.board, m) for m in SMALL.board.corners])
    guess = solve_pose(points, pose.to_px(points), scene.reader.seen.lens, (1280, 720))
    assert guess is not None
    squares = np.array([SMALL.board.centre_mm(square) for square in SMALL.board.squares])
    at_height = guess.to_plane(pose.to_px(flat(squares, 10.0)), 10.0)
    assert np.abs(at_height - squares).max() < 1.0, "mm at the height of a robot"


# ---- over frames ------------------------------------------------------------------------------------------------


def test_a_new_board_and_a_removal_need_three_equal_frames_and_a_piece_put_down_two() -> None:
    scene = Seen()
    assert [scene.read(1).quiet for _ in range(4)] == [False, False, True, True]
    scene.table.nudge(scene.piece("purple robot"), 8.0, 0)
    assert [scene.read(1).quiet for _ in range(3)] == [False, True, True]
    scene.table.take_off(scene.piece("purple flag"))
    assert [scene.read(1).quiet for _ in range(4)] == [False, False, True, True]
    scene.table.move_to(scene.piece("purple flag"), Square(1, 2))
    assert [scene.read(1).quiet for _ in range(3)] == [False, True, True]
    scene.table.move_to(scene.piece("purple robot"), B2)
    moving = scene.read(1)
    assert (moving.quiet, moving.seen.get(B2)) == (False, "purple robot")


def test_a_still_frame_is_not_read_again_but_stamped_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Seen(layout=START)
    scene.read(4)
    calls: list[object] = []
    monkeypatch.setattr(MarkerFinder, "find", lambda *args: calls.append(args))
    first, second = scene.read(1), scene.read(1)
    assert calls == []
    assert second.frame == first.frame + 1
    assert second.seen == first.seen


def test_unknown_squares_are_looked_at_again_while_nothing_moves() -> None:
    scene = Seen()
    scene.table.hold_hand(B2)
    assert B2 in scene.read(14).unknown
    scene.table.hold_hand(None)
    assert scene.read(4).unknown == frozenset()


# ---- machines that are too slow for every picture ----------------------------------------------------------------


def test_at_a_glance_what_moves_is_not_read_until_it_lies_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = Seen()
    for _ in range(4):
        reading = seen.reader.read(seen.camera.frame())
    assert reading.quiet
    with monkeypatch.context() as patch:
        patch.setattr(
            "vision.reading.board_reader.detect",
            lambda *_: pytest.fail("a moving picture was read"),
        )
        seen.table.hold_hand(B2)
        glanced = seen.reader.read(seen.camera.frame(), glance=True)
        assert (glanced.quiet, glanced.seen, glanced.frame) == (
            False,
            reading.seen,
            reading.frame + 1,
        )
        assert seen.reader.is_stirred
        seen.table.move_to(next(p.id for p in seen.table.pieces() if p.face == "lime robot"), B2)
        seen.table.hold_hand(None)
        assert not seen.reader.read(seen.camera.frame(), glance=True).quiet
        assert not seen.reader.read(seen.camera.frame(), glance=True).quiet
        assert not seen.reader.is_stirred, (
            "it lies still, or a hand rests for the time of one picture"
        )
    for _ in range(2):
        reading = seen.reader.read(seen.camera.frame(), glance=True)
    assert reading.quiet
    assert reading.seen[B2] == "lime robot"
    assert C4 not in reading.seen
    assert C4 not in reading.unknown


# ---- how a kit was printed -------------------------------------------------------------------------------------------


def test_a_board_that_is_printed_white_on_black_is_told_so() -> None:
    kit = GAMES["arena"].kit(GAMES["arena"].options({}))
    table = printed_table(kit, View())
    reader = board_reader({kit.game: kit})
    assert reader.read_picture(255 - table.render_luma()).game is None
    assert "white on black" in reader.seen.problem


def test_pieces_of_another_scale_than_their_board_are_told_so() -> None:
    kit = GAMES["arena"].kit(GAMES["arena"].options({}))
    squares = kit.board.squares[::7]
    table = printed_table(kit, View())
    table.set_up(dict(zip(squares, (faces[:1] for faces in kit.pieces), strict=False)))
    reader = board_reader({kit.game: replace(kit, tag_mm=kit.tag_mm / 0.85)})
    reader.read_picture(table.render_luma())
    assert "100 %" in reader.seen.note
    assert any("100 %" in advice.text for advice in reader.seen.advice)
