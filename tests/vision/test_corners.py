"""Test readings of boards of which only two or three corner markers are visible.

The pose is then refined with the printed lines of the squares. A square is unknown if neither
markers nor lines show where it is.
"""

from dataclasses import replace
from itertools import pairwise
from random import Random

import cv2
import numpy as np
import pytest
from bench.reading.corners import corner_view, cover_corner, judge_view
from bench.reading.pictures import Tally, wrong_entries
from bench.reading.scenes import piece_kits
from reading_tools import KITS, BoardRig, render_table

from companion.core.grid import Square
from companion.core.kit import Board
from companion.core.ports import Frame
from vision.detection.markers import Luma, MarkerFinder
from vision.pieces.regions import find_vague_squares
from vision.pose.board_fit import LensPrior, Observations, fit_board, fit_lines
from vision.pose.optics import LENSES
from vision.pose.pose import Pose, at_height, corner_points_mm
from vision.pose.printed_lines import confirm_squares, printed_lines_of
from vision.reading.board_reader import make_board_reader
from vision.reading.judge import judge
from vision.simulation.render import camera_pose
from vision.simulation.view import CameraView

# Views of `corner_view` by their numbers. With their two corner markers alone, the pose puts the
# far end of the board 5 to 40 px away from where it is. In 177 the lines are found in several
# rounds, from the markers outwards. In 229 the pairs of lines between squares have little contrast.
HARD_VIEWS = (27, 177, 229)
KAHMATE = next(kit for kit in piece_kits() if kit.game == "kahmate")
ARENA = KITS["arena"]
# What is known of a webcam's lens before a fit, as standard deviations of log focal length, k1, k2.
WEBCAM_SIGMAS = np.array([0.2, 0.06, 1e-6])


def max_error_px(board: Board, pose: Pose, true_pose: Pose) -> float:
    """Return the largest error of a pose at the four corners of the board in pixels."""
    width = board.width_mm
    height = board.height_mm
    corners = at_height(np.array([(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]))
    errors_px = np.linalg.norm(pose.to_px(corners) - true_pose.to_px(corners), axis=1)
    return float(errors_px.max())


@pytest.mark.parametrize("number", HARD_VIEWS)
def test_two_corners_are_enough_for_every_piece(number: int) -> None:
    """The board is found, every readable piece is read, and nothing is wrong."""
    tally = Tally()
    judge_view(corner_view(number), tally)
    assert tally.wrong == []
    assert (tally.found, tally.right) == (1, tally.pieces)


def test_each_picture_tries_one_more_lens_model() -> None:
    """A search for the lens model takes several pictures, so that none of them takes too long.

    While the search goes on, every square is unknown. The count of models is 0 when it ends.
    """
    kit, luma, prints = corner_view(10)
    reader, models_tried = make_board_reader({kit.game: kit}), []
    for number in range(6):
        reading = reader.read(Frame(luma, number / 5, number))
        models_tried.append(reader.memory.location.models_tried)
        assert wrong_entries(reading, prints, kit) == []
        if models_tried[-1]:
            assert reading.unknown >= set(kit.board.squares)
            assert not reading.quiet

    # the count grows by one with each picture until the search ends
    assert (models_tried[0], models_tried[-1]) == (1, 0)
    assert all(now in (0, before + 1) for before, now in pairwise(models_tried))

    # then every piece is read
    assert reading.quiet
    tally = Tally()
    tally.add(reading, prints, kit)
    assert tally.right == tally.pieces


def observe_two_corners(true_pose: Pose, noise_px: float, seed: int) -> Observations:
    """Return the two southern corner markers of Kahmate's board, with noise on their corners."""
    board = KAHMATE.board
    points_mm = np.vstack([corner_points_mm(board, marker) for marker in board.corners[:2]])
    noise = np.random.default_rng(seed).normal(0, noise_px, (8, 2))
    return Observations(points_mm, true_pose.to_px(points_mm) + noise)


def render_bare_board(view: CameraView) -> Luma:
    """Return a picture of Kahmate's board without a piece on it."""
    table = render_table(KAHMATE, view)
    table.set_up({})
    return table.render_luma()


@pytest.mark.parametrize("seed", range(4))
def test_printed_lines_correct_noisy_corners(seed: int) -> None:
    """Two noisy corner markers put the board more than 5 px off, printed lines less than 1.5 px.

    The lens is not known beforehand, either. The lines show its focal length to 2 %.
    """
    view = CameraView(tilt_deg=40.0, focal_ratio=0.95, k1=-0.05)
    true_pose = camera_pose(KAHMATE, view)
    board = KAHMATE.board
    observations = observe_two_corners(true_pose, 1.0, seed)
    prior = LensPrior(LENSES["webcam"], WEBCAM_SIGMAS)
    by_markers = fit_board(observations, replace(true_pose, lens=prior.lens), prior.sigmas)
    by_lines = fit_lines(render_bare_board(view), board, observations, by_markers, prior)
    assert max_error_px(board, by_markers.pose, true_pose) > 5
    assert max_error_px(board, by_lines.pose, true_pose) < 1.5
    assert by_lines.pose.lens.focal_ratio == pytest.approx(0.95, rel=0.02)


def test_the_uncertainty_of_a_pose_covers_its_errors() -> None:
    """Fit poses to 60 noisy pairs of corner markers, with the lens among the unknowns.

    At the far end of the board, at most three of their errors exceed three standard deviations.
    """
    outliers = 0
    board = KAHMATE.board
    far_end_mm = np.array([[board.width_mm, board.height_mm, 0.0]])
    true_pose = camera_pose(KAHMATE, CameraView(tilt_deg=35.0, focal_ratio=0.9))
    for seed in range(60):
        observations = observe_two_corners(true_pose, 0.8, seed)
        start = replace(true_pose, lens=LENSES["webcam"])
        pose = fit_board(observations, start, WEBCAM_SIGMAS).pose
        measured_mm = pose.to_plane(true_pose.to_px(far_end_mm))[0]
        error_mm = float(np.linalg.norm(measured_mm - far_end_mm[0, :2]))
        max_error_mm = 3 * float(pose.sigma_mm(far_end_mm)[0])
        outliers += error_mm > max_error_mm
        assert max_error_mm > 0.25 * board.pitch_mm, "too certain for a pose of two corners"
    assert outliers <= 3


def test_squares_beyond_shifted_lines_are_not_confirmed() -> None:
    """Shift the lines of two ranks, as if the pose were off by half a square there.

    A pose that is off by a whole square at the far end looks like this: the lines fit again there,
    but not in between. Ranks are counted from 0. The lines around ranks 4 and 5 are shifted, so the
    chain of good squares from South ends with rank 3. Rank 4 is confirmed as its neighbour.
    """
    view = CameraView(tilt_deg=0.0, focal_ratio=0.9, noise=1.0)
    board = KAHMATE.board
    printed = printed_lines_of(KAHMATE.board)
    south = (Square(0, 0), Square(board.files - 1, 0))

    # with the true pose all squares are confirmed
    reach_px = np.full(len(printed.middles_mm), 4.0)
    lines = printed.measure(render_bare_board(view), camera_pose(KAHMATE, view), reach_px)
    limits = {"max_offset_px": 1.5, "min_share": 0.5}
    assert confirm_squares(board, lines, corners=south, **limits) == set(board.squares)

    # lines between 3.9 and 6.1 pitches from South are off by 3 px, which is too much
    ranks = printed.middles_mm[:, 1] / board.pitch_mm
    offsets_px = np.where((ranks > 3.9) & (ranks < 6.1), 3.0, lines.offsets_px)
    shifted = replace(lines, offsets_px=offsets_px)
    confirmed = confirm_squares(board, shifted, corners=south, **limits)
    assert {square.rank for square in confirmed} == set(range(5))


def test_an_uncertain_pose_leaves_no_square_empty() -> None:
    """If it is not known where a square is, a piece could lie beside the area that is examined."""
    # with a good pose, a bare board is read as empty
    reader = make_board_reader({KAHMATE.game: KAHMATE})
    table = render_table(KAHMATE, CameraView())
    table.set_up({})
    luma = table.render_luma()
    assert not reader.read_picture(luma).unknown
    assert reader.pose is not None

    # variances of the rotation in rad² and of the translation in mm²
    uncertain_pose = replace(reader.pose, covariance=np.diag([1e-4] * 3 + [60.0] * 3))
    all_squares = frozenset(KAHMATE.board.squares)
    assert find_vague_squares(KAHMATE.board, uncertain_pose) == all_squares

    # squares that are vague for this reason stay unknown, although they look empty
    last_look = reader.memory.reference
    assert last_look is not None
    look = replace(last_look, vague_squares=all_squares, squares_to_judge=all_squares)
    assert judge(look, reader.memory)[0].unknown_squares == all_squares


def test_squares_beyond_a_wide_cover_are_unknown() -> None:
    """Cover the northern corner markers and, from edge to edge, ranks 3 to 6, counted from 0.

    Two corner markers remain, and no chain of lines leads to the ranks beyond the cover.
    """
    view = CameraView(tilt_deg=20.0)
    table = render_table(KAHMATE, view)
    table.set_up({Square(3, 9): ("blue big",)})
    luma, true_pose, board = table.render_luma(), camera_pose(KAHMATE, view), KAHMATE.board

    # a grey cover over ranks 3 to 6, from edge to edge of the picture
    low = 3 * board.pitch_mm
    high = 7 * board.pitch_mm
    right = board.width_mm + 90
    cover = at_height(np.array([(-90.0, low), (right, low), (right, high), (-90.0, high)]))
    rows = true_pose.to_px(cover)[:, 1].round().astype(int)
    luma[rows.min() : rows.max()] = 150

    # another one over all that is beyond the northern edge
    north_edge = true_pose.to_px(at_height(np.array([(0.0, board.height_mm)])))[0, 1]
    luma[: int(north_edge)] = 150

    # the piece on rank 9 is visible, but nobody knows exactly where its square is
    reader = make_board_reader({KAHMATE.game: KAHMATE})
    reading = reader.read_picture(luma)
    assert reading.game == "kahmate"
    assert {square for square in board.squares if square.rank >= 8} <= reading.unknown
    assert "show a third one" in reader.details.note
    assert [advice.text for advice in reader.details.advice] == ["Show a third corner of the board"]


@pytest.mark.parametrize("hidden", range(4))
def test_three_corner_markers_show_the_whole_board(hidden: int) -> None:
    rig = BoardRig(ARENA, {}, width=1920, height=1080, tilt_deg=25.0)
    board = ARENA.board
    luma = rig.table.render_luma()
    true_pose = camera_pose(ARENA, rig.table.view)
    cover_corner(luma, true_pose, ARENA, board.corners[hidden], Random(hidden))
    reading = rig.reader.read_picture(luma)
    pose = rig.reader.pose
    assert pose is not None
    assert pose.markers == 3
    assert max_error_px(board, pose, true_pose) < 1.5
    assert reading.seen == {}
    # the square at the hidden corner may be uncertain
    assert len(reading.unknown) <= 1


@pytest.mark.parametrize("covered", [0, 1, 2])
def test_a_touched_corner_marker_is_found(covered: int) -> None:
    """Draw lines that touch a corner marker, so that its outline is not a quadrangle any more.

    One other corner marker is enough to know where to look for it, so up to two of the three others
    are covered.
    """
    kit = KITS["binmat"]
    rig = BoardRig(kit, {}, width=1920, height=1080, tilt_deg=0.0)
    rig.clear()
    luma = rig.table.render_luma()
    true_pose = camera_pose(kit, rig.table.view)
    marker, *others = kit.board.corners
    for other in others[:covered]:
        cover_corner(luma, true_pose, kit, other, Random(other))

    # a dark line that comes down to the marker's upper left corner, and follows its upper edge
    x, y = kit.board.corner_centres_mm[marker]
    half = kit.board.corner_mm / 2
    edges = np.array([(x - half, y + 3 * half), (x - half, y + half), (x + 5 * half, y + half)])
    edges_px = true_pose.to_px(at_height(edges)).round().astype(np.int32)
    cv2.polylines(luma, [edges_px], isClosed=False, color=(25,), thickness=2)
    found = {sighting.marker for sighting in MarkerFinder().find(luma).sightings}
    assert marker not in found, "the lines do not spoil the marker's outline"

    # the reader finds the marker, and its pose is right there
    assert rig.reader.read_picture(luma).game == kit.game
    pose = rig.reader.pose
    points_mm = corner_points_mm(kit.board, marker)
    assert pose is not None
    assert pose.markers == len(kit.board.corners) - covered
    assert np.abs(pose.to_px(points_mm) - true_pose.to_px(points_mm)).max() < 1.5
