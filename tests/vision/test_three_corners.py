"""Three corner markers, a corner that something touches, and views from above of what lies
between.
"""

from random import Random

import cv2
import numpy as np
import pytest
from bench.reading.corners import cover_corner
from reading_tools import KITS, Seen

from vision.detection.markers import MarkerFinder
from vision.pose.pose import corner_points_mm, flat
from vision.simulation.render import camera_pose

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


@pytest.mark.parametrize("covered", [0, 1, 2])
def test_a_corner_marker_is_found_although_the_edge_of_a_card_touches_it(covered: int) -> None:
    """Its edges join the marker's outline, which is no quadrangle then. One other corner is enough
    to go by.
    """
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
