"""Lenses that one term does not describe, drawn by OpenCV's own models; a mirrored camera; two
boards in view.
"""

from random import Random

import cv2
import msgspec
import numpy as np
import pytest
from bench.reading.pictures import Tally
from bench.reading.scenes import default_kits, piece_kits, random_layout
from bench.reading.wide_lenses import LENSES, judge_view, render_through, top_faces, wide_view
from reading_tools import assert_nothing_wrong, render_table
from table_pictures import print_once

from companion.core.kit import Kit, Layout
from companion.core.ports import Frame, Weakness
from vision.cameras.lenses import StoredLens
from vision.detection.markers import Luma
from vision.diagnosis import BoardEye
from vision.pose.lens_estimate import LensEstimate
from vision.pose.optics import Lens
from vision.pose.pose import corner_points_mm
from vision.reading.board_reader import board_reader
from vision.simulation.printed import decode_png
from vision.simulation.render import camera_pose
from vision.simulation.view import CameraView

KITS = {kit.game: kit for kit in piece_kits()}
ARENA, SCOUTS = KITS["arena"], default_kits()["scouts"]


# ---- lenses ----


@pytest.mark.parametrize(
    ("name", "kit"),
    [("wide, two terms", ARENA), ("webcam, rational", SCOUTS), ("webcam, pincushion", SCOUTS)],
)
def test_a_board_is_read_through_unknown_lenses(name: str, kit: Kit) -> None:
    rng = Random(f"{name} 0")
    layout = random_layout(kit, rng, 0.8, 1.0)
    reading = board_reader({kit.game: kit}).read_picture(
        render_through(LENSES[name], kit, layout, wide_view(rng))
    )
    assert dict(reading.seen) == top_faces(kit, layout)


def test_two_corners_and_pieces_tell_the_lens() -> None:
    """Pieces lie over both corner markers of the far side."""
    name, kit = "fisheye of 100 degrees, its own bend", KITS["scouts"]
    rng = Random(f"{name} 0 1")
    layout = random_layout(kit, rng, 0.8, 1.0)
    luma, tally = render_through(LENSES[name], kit, layout, wide_view(rng)), Tally(name)
    judge_view(kit, layout, luma, tally)
    assert (tally.pieces, tally.right, tally.wrong) == (22, 22, [])


def test_a_wide_lens_is_stored_with_its_model() -> None:
    rng = Random("kept")
    layout = random_layout(ARENA, rng, 0.8, 1.0)
    reader = board_reader({ARENA.game: ARENA})
    # from straight above no view tells a focal length
    view = CameraView(tilt_deg=42.0, turn_deg=20.0, fill=0.95)
    reading = reader.read_picture(
        render_through(LENSES["fisheye of 120 degrees"], ARENA, layout, view)
    )
    assert dict(reading.seen) == top_faces(ARENA, layout)
    estimate = reader.lens_estimate
    assert estimate.lens.is_fisheye or estimate.lens.k2
    angles = np.radians(np.arange(5.0, 46.0, 5.0))
    rays = np.column_stack([np.tan(angles), 0 * angles])
    assert estimate.lens.distort(rays)[:, 0] * estimate.lens.focal_ratio == pytest.approx(
        0.4775 * angles, rel=0.02
    )
    kept = msgspec.json.encode(StoredLens.from_lens(estimate.lens, estimate.focal_sigma))
    again = msgspec.json.decode(kept, type=StoredLens).lens
    assert (again.is_fisheye, again.k2) == (
        estimate.lens.is_fisheye,
        pytest.approx(estimate.lens.k2, abs=1e-5),
    )
    calibrated = LensEstimate.initial(Lens(0.8), is_calibrated=True)
    assert calibrated.with_fit(Lens(0.4, is_fisheye=True), np.eye(2)).lens == Lens(0.8)


def test_a_lens_stored_without_model_is_ordinary() -> None:
    kept = b'{"focal_ratio":0.77,"k1":0.01,"spread":0.004,"exact":false}'
    old = msgspec.json.decode(kept, type=StoredLens)
    assert old.lens == Lens(0.77, 0.01)


# ---- a mirrored camera ----


def test_a_mirrored_camera_is_turned_back() -> None:
    layout = random_layout(ARENA, Random("mirror"))
    table = render_table(ARENA, CameraView(tilt_deg=25.0))
    table.set_up(layout)
    reader = board_reader({ARENA.game: ARENA})
    eye = BoardEye(reader)
    for number in range(5):
        frame = Frame(np.asarray(cv2.flip(table.render_luma(), 1), np.uint8), number / 5, number)
        reading = reader.read(frame)
        eye.record(frame, reading)
    assert reading.quiet
    assert dict(reading.seen) == top_faces(ARENA, layout)
    board = eye.board()
    assert board is not None
    assert reader.details.note == "The camera mirrors its picture, and the companion turns it back"
    assert board.advice == ()
    luma = table.render_luma()
    moving = (np.roll(luma, 20 * (number % 2), axis=1) for number in range(7))
    later = [reader.read(Frame(moved, 2.0, 9)).game for moved in moving]
    assert later == [None] * 7, "what shows the board from now on is a mirror on the table"


def test_a_mirror_is_not_looked_for_every_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, asked = board_reader({ARENA.game: ARENA}), list[int]()
    monkeypatch.setattr(
        "vision.reading.board_reader.shows_board", lambda luma, memory: bool(asked.append(1))
    )
    rng = np.random.default_rng(0)
    for number in range(30):
        reader.read(Frame(rng.integers(0, 255, (180, 320)).astype(np.uint8), number / 5, number))
    assert len(asked) == 10, "its mirror image and its negative, every six frames"


# ---- two boards ----


def with_second_sheet(kit: Kit, view: CameraView, luma: Luma, away_mm: tuple[float, float]) -> Luma:
    """Add another printed board without a piece, so far away on the same table."""
    sheet, pose = print_once(kit).board, camera_pose(kit, view)
    moved = pose.translation.ravel() + pose.axes @ (*away_mm, 0.0)
    to_picture = pose.matrix @ np.column_stack([pose.axes[:, 0], pose.axes[:, 1], moved])
    grey = np.asarray(cv2.cvtColor(decode_png(sheet.png), cv2.COLOR_BGR2GRAY), np.uint8)
    warp, size = to_picture @ np.linalg.inv(sheet.to_texture()), luma.shape[::-1]
    drawn = cv2.warpPerspective(grey, warp, size, flags=cv2.INTER_AREA)
    there = cv2.warpPerspective(np.full_like(grey, 255), warp, size)
    return np.asarray(np.where(there > 127, drawn, luma), np.uint8)


def two_sheets(kit: Kit, layout: Layout, **more: float) -> tuple[Luma, CameraView]:
    """Return a board with pieces on the left, and a bare sheet of the same board on the right."""
    width = kit.board.width_mm
    view = CameraView(
        width=1920, height=1080, tilt_deg=15.0, fill=0.55, shift_mm=(-0.75 * width, 0.0), **more
    )  # type: ignore[arg-type]  # numbers only
    table = render_table(kit, view)
    table.set_up(layout)
    return with_second_sheet(kit, view, table.render_luma(), (1.45 * width, 0.0)), view


@pytest.mark.parametrize(
    ("game", "hidden"),
    [
        ("arena", "nothing"),
        ("arena", "left corners"),
        ("scouts", "far corners"),
        ("kahmate", "near corners"),
    ],
)
def test_a_second_sheet_is_no_empty_board(game: str, hidden: str) -> None:
    kit = KITS[game]
    layout = random_layout(kit, Random(f"twins {game}"), 0.8, 1.0)
    luma, view = two_sheets(kit, layout)
    pose, board = camera_pose(kit, view), kit.board
    corners = {
        "nothing": (),
        "near corners": (0, 1),
        "far corners": (2, 3),
        "left corners": (0, 3),
    }[hidden]
    for index in corners:
        quad = pose.to_px(corner_points_mm(board, board.corners[index]))
        cv2.fillConvexPoly(luma, quad.round().astype(np.int32), (120,))
    reader = board_reader({game: kit})
    reading = reader.read_picture(luma)
    truth = top_faces(kit, layout)
    if reading.game is not None:
        assert_nothing_wrong(reading, {square: (face,) for square, face in truth.items()})
    assert "two boards" in reader.details.note + reader.details.problem
    if hidden == "nothing":
        assert dict(reading.seen) == truth, "the sheet with pieces is played on"
        assert [advice.weakness for advice in reader.details.advice] == [Weakness.TWIN]


def test_two_bare_sheets_are_no_board() -> None:
    luma, _ = two_sheets(ARENA, {})
    reader = board_reader({ARENA.game: ARENA})
    assert reader.read_picture(luma).game is None
    assert reader.details.problem == "The camera sees two boards “standard”: put one of them away"
