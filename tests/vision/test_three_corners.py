"""Three corner markers: where the printed lines of each quarter of the board agree with them, that is the pose."""

from dataclasses import replace
from random import Random

import cv2
import numpy as np
import pytest
from bench.reading.corners import cover_corner
from bench.reading.scenes import default_kits, kits

from companion.core.grid import Square
from companion.core.ports import Frame
from companion.printing.printed_kit import printed_table
from vision.detection.markers import MarkerFinder
from vision.pose.board_fit import Evidence
from vision.pose.lens_choice import checked_fit
from vision.pose.optics import LENSES, Lens
from vision.pose.pose import Pose, corner_points_mm, flat, rough_pose, solve_pose
from vision.reading.board_reader import board_reader
from vision.simulation.render import camera_pose
from vision.simulation.view import View

ARENA = next(kit for kit in kits() if kit.game == "arena")
VIEW = View(width=1920, height=1080, tilt_deg=25.0)
SPREAD = np.array([0.05, 0.02, 1e-6])
Picture = np.ndarray[tuple[int, int], np.dtype[np.uint8]]


@pytest.fixture(scope="module")
def picture() -> tuple[Picture, Pose]:
    """A bare board and its true pose."""
    table = printed_table(ARENA, VIEW)
    table.set_up({})
    return table.render_luma(), camera_pose(ARENA, VIEW)


def three_corners(true: Pose, off_px: float) -> tuple[Evidence, Pose]:
    """All corner markers but the last, the first of them off by so much, and the pose that they tell."""
    points_mm = np.vstack(
        [corner_points_mm(ARENA.board, marker) for marker in ARENA.board.corners[:3]]
    )
    points_px = true.to_px(points_mm)
    points_px[:4] += off_px
    pose = solve_pose(points_mm, points_px, true.lens, true.size)
    assert pose is not None
    return Evidence(points_mm, points_px), pose


def far_px(pose: Pose, true: Pose) -> float:
    """By how much a pose puts the ends of the board wrong."""
    ends = flat(np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])) * (
        ARENA.board.width_mm,
        ARENA.board.height_mm,
        0.0,
    )
    return float(np.linalg.norm(pose.to_px(ends) - true.to_px(ends), axis=1).max())


@pytest.mark.parametrize("off_px", [0.0, 0.8])
def test_lines_that_agree_make_the_pose_better(
    picture: tuple[Picture, Pose], off_px: float
) -> None:
    luma, true = picture
    seen, pose = three_corners(true, off_px)
    fit = checked_fit(luma, ARENA.board, seen, pose, SPREAD)
    assert fit is not None
    assert far_px(fit.pose, true) <= max(0.5, far_px(pose, true))
    assert fit.pose.covariance is not None
    assert fit.pose.covariance.shape == (9, 9)


def test_a_corner_that_is_bent_is_not_taken_for_true(picture: tuple[Picture, Pose]) -> None:
    luma, true = picture
    seen, pose = three_corners(true, 8.0)
    assert far_px(pose, true) > 4
    assert checked_fit(luma, ARENA.board, seen, pose, SPREAD) is None


@pytest.mark.parametrize("quarter", range(4))
def test_every_quarter_of_the_board_has_to_agree(
    picture: tuple[Picture, Pose], quarter: int
) -> None:
    luma, true = picture
    seen, pose = three_corners(true, 0.0)
    covered, board = luma.copy(), ARENA.board
    x, y = (
        (0.0 if quarter % 2 else board.width_mm / 2),
        (0.0 if quarter // 2 else board.height_mm / 2),
    )
    low, high = (
        true.to_px(
            flat(np.array([(x, y), (x + board.width_mm / 2, y + board.height_mm / 2)]))
        ).astype(int)[n]
        for n in (0, 1)
    )
    rows, columns = sorted((low[1], high[1])), sorted((low[0], high[0]))
    covered[slice(*rows), slice(*columns)] = 90
    assert checked_fit(covered, board, seen, pose, SPREAD) is None


@pytest.mark.parametrize("hidden", range(4))
def test_a_board_with_a_hidden_corner_is_read_whole(
    picture: tuple[Picture, Pose], hidden: int
) -> None:
    luma, true = picture
    luma = luma.copy()
    cover_corner(luma, true, ARENA, ARENA.board.corners[hidden], Random(hidden))
    reader = board_reader({ARENA.game: ARENA})
    reading = reader.read_picture(luma)
    assert reader.pose is not None
    assert reader.pose.markers == 3
    assert far_px(reader.pose, true) < 1.5
    assert reading.seen == {}
    assert len(reading.unknown) <= 1, "the square at the hidden corner may be unsure"


@pytest.mark.parametrize("hidden", range(4))
def test_three_corners_tell_roughly_where_the_fourth_is_whatever_the_lens(hidden: int) -> None:
    board, lens = ARENA.board, LENSES["webcam"]
    for focal_ratio in (0.6, 0.75, 0.95):
        true = camera_pose(ARENA, replace(VIEW, focal_ratio=focal_ratio))
        points_mm = np.vstack(
            [corner_points_mm(board, m) for n, m in enumerate(board.corners) if n != hidden]
        )
        pose = rough_pose(points_mm, true.to_px(points_mm).round(1), lens, true.size)
        assert pose is not None
        marker = corner_points_mm(board, board.corners[hidden])
        side = float(np.linalg.norm(true.to_px(marker[:1]) - true.to_px(marker[1:2])))
        assert np.abs(pose.to_px(marker) - true.to_px(marker)).max() < 0.5 * side


@pytest.mark.parametrize(
    "lens",
    [LENSES["webcam"], Lens(0.8, -0.05), Lens(0.405, -0.03), Lens(0.5, is_fisheye=True)],
    ids=str,
)
@pytest.mark.parametrize("tilt_deg", [20.0, 55.0])
def test_places_between_those_worked_out_are_right(lens: Lens, tilt_deg: float) -> None:
    true = camera_pose(
        ARENA, View(width=1920, height=1080, tilt_deg=tilt_deg, focal_ratio=lens.focal_ratio)
    )
    pose = Pose(true.rotation, true.translation, lens, true.size)
    board = ARENA.board
    for low, high, scale in (
        ((-20.0, -20.0), (board.width_mm + 20, board.height_mm + 20), 1.6),
        ((9, 9), (41, 50), 2),
    ):
        maps = pose.plane_maps(low, high, 3.0, scale)
        height, width = maps.pixels.shape[:2]
        places = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=2).reshape(-1, 2)
        exact = pose.to_px(flat(maps.to_board(places.astype(np.float64)), 3.0)).reshape(
            height, width, 2
        )
        assert np.abs(maps.pixels - exact).max() < 0.05


@pytest.mark.parametrize("covered", [0, 1, 2])
def test_a_corner_marker_is_found_although_the_edge_of_a_card_touches_it(covered: int) -> None:
    """Its edges join the marker's outline, which is no quadrangle then. One other corner is enough to go by."""
    kit, view = default_kits()["binmat"], replace(VIEW, tilt_deg=0.0)
    table, true = printed_table(kit, view), camera_pose(kit, view)
    for card in table.pieces():
        table.nudge(card.id, 3000.0, 0.0)
    luma, (marker, *others) = table.render_luma(), kit.board.corners
    for other in others[:covered]:
        cover_corner(luma, true, kit, other, Random(other))
    x, y = kit.board.corner_centres_mm[marker]
    half = kit.board.corner_mm / 2
    edges = np.array([(x - half, y + 3 * half), (x - half, y + half), (x + 5 * half, y + half)])
    cv2.polylines(luma, [true.to_px(flat(edges)).round().astype(np.int32)], False, (25,), 2)
    assert marker not in {sighting.marker for sighting in MarkerFinder().find(luma).sightings}, (
        "nothing touches it"
    )
    reader = board_reader({kit.game: kit})
    assert reader.read_picture(luma).game == kit.game
    assert reader.pose is not None
    assert reader.pose.markers == len(kit.board.corners) - covered
    place = corner_points_mm(kit.board, marker)
    assert np.abs(reader.pose.to_px(place) - true.to_px(place)).max() < 1.5


@pytest.mark.parametrize(
    ("dark", "soft_px"),
    [
        pytest.param(
            0.2,
            1.0,
            marks=pytest.mark.xfail(reason="so dark and sharp it hides the outline of two squares"),
        ),
        (0.2, 3.0),
        (0.35, 1.0),
    ],
)
def test_where_a_shadow_ends_along_a_line_all_squares_are_told(dark: float, soft_px: float) -> None:
    kit, view = default_kits()["scouts"], replace(VIEW, width=1280, height=720)
    table, true, board = printed_table(kit, view), camera_pose(kit, view), kit.board
    table.set_up({})
    edge_mm = board.centre_mm(Square(2, 0))[0] - board.pitch_mm / 2
    ends = flat(np.array([(edge_mm, -200.0), (edge_mm, 900.0), (2000.0, 900.0), (2000.0, -200.0)]))
    light = np.ones((view.height, view.width), np.float32)
    cv2.fillConvexPoly(light, true.to_px(ends).round().astype(np.int32), dark)
    luma = (table.render_luma() * cv2.GaussianBlur(light, (0, 0), soft_px)).astype(np.uint8)
    reader = board_reader({kit.game: kit})
    unknown = [len(reader.read(Frame(luma, number / 5, number)).unknown) for number in range(16)]
    assert unknown[-2:] == [0, 0], "a few squares with every picture"
