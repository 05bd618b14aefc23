"""Test the board reader with unusual lenses, a mirrored camera, and two boards in view.

The lenses are wide ones and fisheyes, for which the usual model with one distortion term is not
enough. Tables are rendered through them with OpenCV's own models.
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
from vision.reading.board_reader import make_board_reader
from vision.simulation.printed import decode_png
from vision.simulation.render import camera_pose
from vision.simulation.view import CameraView

KITS = {kit.game: kit for kit in piece_kits()}
ARENA = KITS["arena"]
SCOUTS = default_kits()["scouts"]


# ---- lenses ----


@pytest.mark.parametrize(
    ("name", "kit"),
    [("wide, two terms", ARENA), ("webcam, rational", SCOUTS), ("webcam, pincushion", SCOUTS)],
)
def test_a_board_is_read_through_unknown_lenses(name: str, kit: Kit) -> None:
    rng = Random(f"{name} 0")
    layout = random_layout(kit, rng, min_share=0.8)
    reading = make_board_reader({kit.game: kit}).read_picture(
        render_through(LENSES[name], kit, layout, wide_view(rng))
    )
    assert dict(reading.seen) == top_faces(kit, layout)


def test_two_corners_and_pieces_show_the_lens() -> None:
    """Read a table where pieces beside the board hide both corner markers of the far side.

    The 22 squares with pieces on them have to be read nevertheless, through an unknown fisheye.
    """
    name = "fisheye of 100 degrees, its own bend"
    kit = KITS["scouts"]
    # the seed gives a view in which both markers are hidden
    rng = Random(f"{name} 0 1")
    layout = random_layout(kit, rng, min_share=0.8)
    luma = render_through(LENSES[name], kit, layout, wide_view(rng))
    tally = Tally(name)
    judge_view(kit, layout, luma, tally)
    assert (tally.pieces, tally.right, tally.wrong) == (22, 22, [])


def test_a_wide_lens_is_stored_with_its_model() -> None:
    """Focal length and k1 alone do not describe such a lens, so the file has to hold more."""
    # read a board through a fisheye of 120 degrees, of which the reader knows nothing
    # (the seed gives a layout by which the lens can be estimated well)
    rng = Random("kept")
    layout = random_layout(ARENA, rng, min_share=0.8)
    reader = make_board_reader({ARENA.game: ARENA})
    # from straight above, the focal length cannot be told from the distance
    view = CameraView(tilt_deg=42.0, turn_deg=20.0, fill=0.95)
    reading = reader.read_picture(
        render_through(LENSES["fisheye of 120 degrees"], ARENA, layout, view)
    )
    assert dict(reading.seen) == top_faces(ARENA, layout)

    # One distortion term is not enough for this lens. The estimate images rays of 5 to 45 degrees
    # where the fisheye does: an angle is proportional to the distance from the middle, and 60
    # degrees are at half the width of the picture, so the factor is 0.5 / radians(60) = 0.4775.
    estimate = reader.lens_estimate
    assert estimate.lens.is_fisheye or estimate.lens.k2
    angles = np.radians(np.arange(5.0, 46.0, 5.0))
    rays = np.column_stack([np.tan(angles), 0 * angles])
    assert estimate.lens.distort(rays)[:, 0] * estimate.lens.focal_ratio == pytest.approx(
        0.4775 * angles, rel=0.02
    )

    # the file keeps the kind of lens and both terms
    stored = msgspec.json.encode(StoredLens.from_lens(estimate.lens, estimate.focal_sigma))
    restored = msgspec.json.decode(stored, type=StoredLens).lens
    assert restored.is_fisheye == estimate.lens.is_fisheye
    assert restored.k2 == pytest.approx(estimate.lens.k2, abs=1e-5)


def test_a_calibrated_lens_is_not_replaced() -> None:
    calibrated = LensEstimate.initial(Lens(0.8), is_calibrated=True)
    assert calibrated.with_fit(Lens(0.4, is_fisheye=True), np.eye(2)).lens == Lens(0.8)


def test_a_lens_stored_without_model_is_not_a_fisheye() -> None:
    """Files of older versions have no `fisheye` and no `k2`."""
    stored = b'{"focal_ratio":0.77,"k1":0.01,"spread":0.004,"exact":false}'
    assert msgspec.json.decode(stored, type=StoredLens).lens == Lens(0.77, 0.01)


# ---- a mirrored camera ----


def test_pictures_of_a_mirrored_camera_are_flipped() -> None:
    """In a mirrored picture no marker decodes. Webcams often mirror what they send."""
    layout = random_layout(ARENA, Random("mirror"))
    table = render_table(ARENA, CameraView(tilt_deg=25.0))
    table.set_up(layout)
    reader = make_board_reader({ARENA.game: ARENA})
    eye = BoardEye(reader)

    # five mirrored pictures, after which the board is read as it lies
    for number in range(5):
        frame = Frame(np.asarray(cv2.flip(table.render_luma(), 1), np.uint8), number / 5, number)
        reading = reader.read(frame)
        eye.record(frame, reading)
    assert reading.quiet
    assert dict(reading.seen) == top_faces(ARENA, layout)

    # people are told, but need not do anything
    board = eye.board()
    assert board is not None
    assert reader.details.note == "The camera mirrors its picture, and the companion turns it back"
    assert board.advice == ()

    # From now on every picture is flipped, so a picture that is not mirrored shows no board. It is
    # moved by 20 px each time, because a still one would not be read again.
    luma = table.render_luma()
    moving = (np.roll(luma, 20 * (number % 2), axis=1) for number in range(7))
    games = [reader.read(Frame(moved, 2.0, 9)).game for moved in moving]
    assert games == [None] * 7


def test_most_pictures_are_not_searched_for_mirroring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sixth picture without a board is also searched mirrored and in negative."""
    # `shows_board` is called for each of these searches. Here it counts them and finds nothing.
    reader = make_board_reader({ARENA.game: ARENA})
    searches = list[int]()
    monkeypatch.setattr(
        "vision.reading.board_reader.shows_board", lambda luma, memory: bool(searches.append(1))
    )
    rng = np.random.default_rng(0)
    for number in range(30):
        reader.read(Frame(rng.integers(0, 255, (180, 320)).astype(np.uint8), number / 5, number))
    # two searches in every sixth of 30 pictures
    assert len(searches) == 30 / 6 * 2


# ---- two boards ----


def add_sheet(kit: Kit, view: CameraView, luma: Luma, offset_mm: tuple[float, float]) -> Luma:
    """Return the picture with another printed board without pieces, at an offset from the first."""
    # from mm on the second board to pixels of the picture, as a homography
    sheet = print_once(kit).board
    pose = camera_pose(kit, view)
    moved = pose.translation.ravel() + pose.axes @ (*offset_mm, 0.0)
    to_picture = pose.matrix @ np.column_stack([pose.axes[:, 0], pose.axes[:, 1], moved])
    # draw its print into the picture, and keep the rest
    grey = np.asarray(cv2.cvtColor(decode_png(sheet.png), cv2.COLOR_BGR2GRAY), np.uint8)
    warp = to_picture @ np.linalg.inv(sheet.to_texture())
    size = luma.shape[::-1]
    drawn = cv2.warpPerspective(grey, warp, size, flags=cv2.INTER_AREA)
    mask = cv2.warpPerspective(np.full_like(grey, 255), warp, size)
    return np.asarray(np.where(mask > 127, drawn, luma), np.uint8)


def render_two_sheets(kit: Kit, layout: Layout, **more: float) -> tuple[Luma, CameraView]:
    """Return a picture of a board with pieces on the left, and the same board bare on the right."""
    width = kit.board.width_mm
    view = CameraView(
        width=1920, height=1080, tilt_deg=15.0, fill=0.55, shift_mm=(-0.75 * width, 0.0), **more
    )  # type: ignore[arg-type]  # numbers only
    table = render_table(kit, view)
    table.set_up(layout)
    return add_sheet(kit, view, table.render_luma(), (1.45 * width, 0.0)), view


@pytest.mark.parametrize(
    ("game", "hidden"),
    [
        ("arena", "nothing"),
        ("arena", "left corners"),
        ("scouts", "far corners"),
        ("kahmate", "near corners"),
    ],
)
def test_a_second_sheet_is_not_read_instead(game: str, hidden: str) -> None:
    """Hide corner markers of the board with pieces, while the bare board shows all of its own.

    The reader may not find a board then, but it must not read the bare one as the board in play.
    """
    kit = KITS[game]
    layout = random_layout(kit, Random(f"twins {game}"), min_share=0.8)
    luma, view = render_two_sheets(kit, layout)

    # paint the hidden markers over in grey
    pose = camera_pose(kit, view)
    board = kit.board
    corners = {
        "nothing": (),
        "near corners": (0, 1),
        "far corners": (2, 3),
        "left corners": (0, 3),
    }[hidden]
    for index in corners:
        quad = pose.to_px(corner_points_mm(board, board.corners[index]))
        cv2.fillConvexPoly(luma, quad.round().astype(np.int32), (120,))

    # the reader says that there are two boards, and reads nothing wrongly
    reader = make_board_reader({game: kit})
    reading = reader.read_picture(luma)
    truth = top_faces(kit, layout)
    if reading.game is not None:
        assert_nothing_wrong(reading, {square: (face,) for square, face in truth.items()})
    assert "two boards" in reader.details.note + reader.details.problem

    # with all markers visible, everything is read
    if hidden == "nothing":
        assert dict(reading.seen) == truth
        assert [advice.weakness for advice in reader.details.advice] == [Weakness.TWIN]


def test_two_bare_sheets_are_refused() -> None:
    luma, _ = render_two_sheets(ARENA, {})
    reader = make_board_reader({ARENA.game: ARENA})
    assert reader.read_picture(luma).game is None
    assert reader.details.problem == "The camera sees two boards “standard”: put one of them away"
