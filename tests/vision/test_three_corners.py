"""Three corner markers, a corner that something touches, and views from above of what lies between."""

from random import Random

import cv2
import numpy as np
import pytest
from bench.reading.corners import cover_corner
from reading_tools import KITS, Seen

from companion.core.grid import Square
from companion.core.ports import Frame
from vision.detection.markers import MarkerFinder
from vision.pose.optics import Lens
from vision.pose.pose import Pose, corner_points_mm, flat
from vision.simulation.render import camera_pose
from vision.simulation.view import View

ARENA = KITS["arena"]
VIEW = {"width": 1920, "height": 1080, "tilt_deg": 25.0}


@pytest.mark.parametrize("hidden", range(4))
def test_a_board_with_a_hidden_corner_is_read_whole(hidden: int) -> None:
    seen, board = Seen(ARENA, {}, **VIEW), ARENA.board
    luma, true = seen.table.render_luma(), camera_pose(ARENA, seen.table.view)
    cover_corner(luma, true, ARENA, board.corners[hidden], Random(hidden))
    reading, pose = seen.reader.read_picture(luma), seen.reader.pose
    assert pose is not None
    assert pose.markers == 3
    width, height = board.width_mm, board.height_mm
    ends = flat(np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]))
    assert np.linalg.norm(pose.to_px(ends) - true.to_px(ends), axis=1).max() < 1.5
    assert reading.seen == {}
    assert len(reading.unknown) <= 1, "the square at the hidden corner may be unsure"


@pytest.mark.parametrize("lens", [Lens(0.405, -0.03), Lens(0.5, is_fisheye=True)], ids=str)
@pytest.mark.parametrize("tilt_deg", [20.0, 55.0])
def test_places_between_those_worked_out_are_right(lens: Lens, tilt_deg: float) -> None:
    view = View(width=1920, height=1080, tilt_deg=tilt_deg, focal_ratio=lens.focal_ratio)
    true, board = camera_pose(ARENA, view), ARENA.board
    pose = Pose(true.rotation, true.translation, lens, true.size)
    beyond = board.width_mm + 20, board.height_mm + 20
    for low, high, scale in (((-20.0, -20.0), beyond, 1.6), ((9, 9), (41, 50), 2)):
        maps = pose.plane_maps(low, high, 3.0, scale)
        rows, columns = np.indices(maps.pixels.shape[:2])
        places = np.column_stack([columns.ravel(), rows.ravel()]).astype(np.float64)
        exact = pose.to_px(flat(maps.to_board(places), 3.0))
        assert np.abs(maps.pixels.reshape(-1, 2) - exact).max() < 0.05


@pytest.mark.parametrize("covered", [0, 1, 2])
def test_a_corner_marker_is_found_although_the_edge_of_a_card_touches_it(covered: int) -> None:
    """Its edges join the marker's outline, which is no quadrangle then. One other corner is enough to go by."""
    kit = KITS["binmat"]
    seen = Seen(kit, {}, width=1920, height=1080, tilt_deg=0.0)
    seen.clear()
    luma, true = seen.table.render_luma(), camera_pose(kit, seen.table.view)
    marker, *others = kit.board.corners
    for other in others[:covered]:
        cover_corner(luma, true, kit, other, Random(other))
    x, y = kit.board.corner_centres_mm[marker]
    half = kit.board.corner_mm / 2
    edges = np.array([(x - half, y + 3 * half), (x - half, y + half), (x + 5 * half, y + half)])
    cv2.polylines(luma, [true.to_px(flat(edges)).round().astype(np.int32)], False, (25,), 2)
    found = {sighting.marker for sighting in MarkerFinder().find(luma).sightings}
    assert marker not in found, "nothing touches it"
    assert seen.reader.read_picture(luma).game == kit.game
    pose, place = seen.reader.pose, corner_points_mm(kit.board, marker)
    assert pose is not None
    assert pose.markers == len(kit.board.corners) - covered
    assert np.abs(pose.to_px(place) - true.to_px(place)).max() < 1.5


@pytest.mark.parametrize(
    ("dark", "soft_px", "lost"), [(0.2, 1.0, 2), (0.2, 3.0, 0), (0.35, 1.0, 0)]
)
def test_where_a_shadow_ends_along_a_line_squares_are_told(
    dark: float, soft_px: float, lost: int
) -> None:
    """Eight squares a picture, of some forty. So dark and sharp it hides the outlines of two as well."""
    seen = Seen(KITS["scouts"], {}, tilt_deg=25.0)
    view, board = seen.table.view, seen.kit.board
    edge_mm = board.centre_mm(Square(2, 0))[0] - board.pitch_mm / 2
    ends = flat(np.array([(edge_mm, -200.0), (edge_mm, 900.0), (2000.0, 900.0), (2000.0, -200.0)]))
    ends_px = camera_pose(seen.kit, view).to_px(ends)
    light = np.ones((view.height, view.width), np.float32)
    cv2.fillConvexPoly(light, ends_px.round().astype(np.int32), dark)
    luma = (seen.table.render_luma() * cv2.GaussianBlur(light, (0, 0), soft_px)).astype(np.uint8)
    frames = (Frame(luma, number / 5, number) for number in range(10))
    unknown = [len(seen.reader.read(frame).unknown) for frame in frames]
    assert unknown[7:] == [lost] * 3
