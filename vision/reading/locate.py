"""Third stage: find the pose of the board, and the squares for which it is not certain enough.

1. If the markers are where the last pose puts them, that pose still holds (`confirm_board`). One
   corner marker, or two pieces that have not moved, are enough for this.
2. If two copies of the board are in view, choose the one that is played on (`_corners_in_play`).
3. Two or more corner markers give a new pose. Each new pose also teaches a little about the lens,
   which is not known exactly at first (`_locate_by_corners`, `vision.pose.lens_estimate`).
4. Compare the new pose with the printed lines of the board. If some of the four corner markers are
   hidden, pieces and lines refine the pose (`_refine_by_lines`).
5. If the lines do not fit, try other models of the lens (`_search_lens_model`,
   `vision.pose.lens_choice`).
6. Find the squares for which the pose is too uncertain.

A *residual* is the distance in px between where a corner of a marker is seen and where the pose
puts it. `Pose.rms_px` is the root mean square of the residuals of all corners.

Limits that are shares of the picture's width are written for pictures 1280 px wide. All limits were
chosen by trial on rendered views with hidden, touched and moved corners
(`tests/bench/reading/corners.py`) and with unknown lenses (`wide_lenses.py` there).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from companion.core.i18n import say
from companion.core.kit import Board, Kit
from vision.detection.markers import Luma, Sighting
from vision.pieces.regions import find_vague_squares
from vision.pose.board_copies import (
    Quads,
    corner_correspondences,
    drop_duplicates,
    find_copy_in_play,
    group_by_board,
)
from vision.pose.board_fit import Fit, LensPrior, Observations, Tag, fit_board, fit_lines
from vision.pose.lens_choice import (
    UNKNOWN_SIGMAS,
    agrees_with_lines,
    best_wide_fit,
    confirmed_squares,
    try_model,
)
from vision.pose.lens_estimate import LensEstimate
from vision.pose.optics import Lens, Size
from vision.pose.pose import (
    Floats,
    Points,
    Pose,
    corner_points_mm,
    fit_pose,
    refine_pose,
    solve_pose,
)
from vision.reading.look import (
    NO_SQUARES,
    SPENT_BUDGET,
    BestModel,
    Location,
    Look,
    Memory,
    VagueSquares,
)

# Maximum RMS shift, as a share of the picture width, of corners that have not moved since the pose
# was found. Larger: a small push of the board goes unnoticed. Smaller: noise causes new poses.
_MAX_SHIFT_WIDTHS = 1.0 / 1280

# Maximum shift of each corner of a piece's marker, as a share of the picture width, that confirms
# the pose. It is larger than `_MAX_SHIFT_WIDTHS`, as it bounds the worst corner and not the mean.
_MAX_ANCHOR_SHIFT_WIDTHS = 2.0 / 1280

# Residual of four corner markers, as a share of the picture width, above which one of them may have
# been moved. A corner with a smaller residual never counts as moved.
_MIN_MISFIT_WIDTHS = 0.3 / 1280

# A corner has been moved or is partly hidden if its residual, by the pose from the best three
# markers, is larger than this many times the median.
_OUTLIER_FACTOR = 3.0

# Maximum residual of a pose that fits, if `_MAX_RESIDUAL_SHARE` allows no more.
_MAX_RESIDUAL_PX = 2.5

# The same as a share of the diagonal of all corners in the picture. Uneven paper and an assumed
# lens leave larger residuals on large boards.
_MAX_RESIDUAL_SHARE = 0.01

# A view may teach the lens if its residual is at most this many times that maximum. It may be
# larger than the maximum, because a wrong lens causes residuals, too.
_TEACHING_FACTOR = 3.0

# Maximum number of failed searches in a row for another lens model. A search takes several
# pictures, so a view that no lens explains must not be searched forever.
_MAX_FAILED_SEARCHES = 4

# Minimum number of printed lines that have to be found for a fit to them to teach the lens.
_MIN_LINES = 60

# Minimum share of the squares that the lines of a fit have to confirm, so that the fit teaches the
# lens, or replaces a pose from four corner markers.
_MIN_CONFIRMED_SHARE = 0.8

# (2, 2): covariance of log focal length and k1 of a lens that is known from corner markers alone,
# see `LensEstimate.with_fit`. Such a lens may be wrong by a tenth.
_CORNERS_COVARIANCE = np.diag([0.1, 0.05]) ** 2

# (3,): standard deviations of log focal length, k1 and k2 of a calibrated lens. Not zero, as they
# are divisors.
_CALIBRATED_SIGMAS = np.array([1e-3, 1e-3, 1e-6])


def locate(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find the pose from the corner markers, and the squares for which it is too uncertain.

    Printed lines refine the pose if corners are hidden or the lens does not fit. If the picture is
    read in parts, `detect` has confirmed the last pose already.
    """
    kit = look.kit
    pose = look.pose
    if kit is None:
        if not look.sightings:
            # Nothing of the board is in sight. While any marker is, it may still be there.
            memory = replace(memory, pose=None)
        return look, memory
    if look.reference is None:
        # The whole picture was searched: the board may be somewhere else.
        location = _find_pose(memory.location, kit, look)
        if location.is_confirmed and not location.is_aligned:
            if not location.models_tried:
                location = _refine_by_lines(location, kit.board, look.luma)
            if not location.is_aligned:
                # The lens does not fit. The search for another model may take several pictures.
                max_models = look.budget.lens_models
                location = _search_lens_model(location, kit.board, look.luma, max_models)
            if look.budget.has_next_picture and location.best_model is not None:
                # Fitting a lens model is slow. If other slow steps did not wait for the next
                # picture, this one would take too long.
                look = replace(look, budget=SPENT_BUDGET)
        pose = location.pose if location.is_confirmed else None
        memory = replace(memory, location=location)
    memory = replace(memory, pose=pose)
    if pose is None:
        return look, memory

    # For which squares is this pose certain enough?
    vague = memory.vague_squares
    if vague is None or vague.pose is not pose:
        # The vague squares are computed once for each pose.
        vague = VagueSquares(pose, find_vague_squares(kit.board, pose))
        memory = replace(memory, vague_squares=vague)
    squares = memory.location.unconfirmed_squares | vague.squares
    return replace(look, pose=pose, vague_squares=squares), memory


def initial_location(lens: Lens, is_calibrated: bool = False) -> Location:
    """Return the first location of a camera with this lens. A calibrated lens is not refined."""
    return Location(lens, LensEstimate.initial(lens, is_calibrated))


def forget_board(location: Location) -> Location:
    """Return the location without board and pose. Only what is known of the lens stays."""
    return Location(
        location.nominal, location.lens_estimate, failed_searches=location.failed_searches
    )


# ---- corner markers ------------------------------------------------------------------------------


def _find_pose(location: Location, kit: Kit, look: Look) -> Location:
    """Return the new location after a search for a kit's board among all markers of a picture.

    It is confirmed if the last pose still holds, or if there is a new one.
    """
    board = kit.board
    height, width = look.luma.shape
    size = width, height
    if board is not location.board or (location.pose is not None and location.pose.size != size):
        # Another board, or pictures of another size: the old pose is invalid.
        location = replace(forget_board(location), board=board)
    location = replace(location, is_confirmed=False, problem="", twin_advice="")
    confirmed = confirm_board(location, board, look.sightings)
    if confirmed is not None:
        return confirmed

    # The board may have been moved, or there may be two boards.
    board_markers, other_quads = _split_markers(board, look.sightings)
    corners, location = _corners_in_play(location, kit, board_markers, other_quads, size)
    confirmed = _confirm_pose(location, board, corners, other_quads)
    if confirmed is not None:
        return confirmed
    if len(corners) >= 2:
        # A single corner can only confirm a pose. Two or more give a new one.
        return _locate_by_corners(location, kit, corners, other_quads, size)
    if len(corners) == 1 and not location.twin_advice:
        problem = say("Only one corner of the board is in the picture: show at least two")
        location = replace(location, problem=problem)
    return location


def confirm_board(
    location: Location, board: Board, sightings: Iterable[Sighting]
) -> Location | None:
    """Return the new location if the sightings confirm the last pose. Otherwise None."""
    board_markers, other_quads = _split_markers(board, sightings)
    corners = _unique_markers(board_markers)
    if len(corners) < len(board_markers):
        # A corner marker is seen twice. It is not known yet which one is the board's.
        return None
    return _confirm_pose(location, board, corners, other_quads)


def _split_markers(
    board: Board, sightings: Iterable[Sighting]
) -> tuple[list[Sighting], dict[int, Points]]:
    """Return the board's corner markers, and the other markers that are seen exactly once.

    The other markers are returned as their corners (4, 2) px, by id.
    """
    board_markers = list[Sighting]()
    other_markers = list[Sighting]()
    for sighting in drop_duplicates(sightings):
        if sighting.marker in board.corners:
            board_markers.append(sighting)
        else:
            other_markers.append(sighting)
    return board_markers, _unique_markers(other_markers)


def _confirm_pose(
    location: Location, board: Board, corners: Quads, other_quads: Quads
) -> Location | None:
    """Return the new location if these markers are where the last pose puts them.

    `corners` are the board's corner markers, and `other_quads` the markers of pieces. Returns None
    if there is no last pose, if the markers are elsewhere or too few, or if a new pose from them
    will be better than the last one.
    """
    pose = location.pose

    # If there are more corners than the last pose rests on, a new pose will be more accurate.
    if pose is None or len(corners) > pose.markers:
        return None
    if corners:
        shifts = []
        for marker, quad_px in corners.items():
            # Where the marker was, or where the pose puts it if it was hidden.
            expected_px = location.corners_px.get(marker)
            if expected_px is None:
                expected_px = pose.to_px(corner_points_mm(board, marker))
            shifts.append(expected_px - quad_px)
        rms_px = np.sqrt((np.vstack(shifts) ** 2).sum(axis=1).mean())
        is_same = rms_px <= _MAX_SHIFT_WIDTHS * pose.width_px
    else:
        # All corners are hidden: pieces that have not moved confirm the pose.
        shifts_px = []
        for marker, quad_px in other_quads.items():
            if marker in location.anchors_px:
                shifts_px.append(np.abs(quad_px - location.anchors_px[marker]).max())
        is_same = len(shifts_px) >= 2 and max(shifts_px) <= _MAX_ANCHOR_SHIFT_WIDTHS * pose.width_px
    if not is_same:
        return None
    return replace(location, is_confirmed=True, anchors_px={**location.anchors_px, **other_quads})


def _unique_markers(sightings: Collection[Sighting]) -> dict[int, Points]:
    """Return the corners (4, 2) px of the markers that are seen exactly once, by id."""
    counts = Counter(sighting.marker for sighting in sightings)
    return {
        sighting.marker: sighting.corners_px
        for sighting in sightings
        if counts[sighting.marker] == 1
    }


def _corners_in_play(
    location: Location,
    kit: Kit,
    board_markers: list[Sighting],
    other_quads: Quads,
    size: Size,
) -> tuple[Quads, Location]:
    """Return the corner markers of the board that is played on, and the new location.

    `board_markers` are all corner markers in the picture, some of which may belong to a twin, a
    second copy of the board. `other_quads` are the markers of pieces. Returns no markers if one is
    seen twice and no group fits a board, or if board and twin cannot be told apart.
    """
    unique = _unique_markers(board_markers)
    lens = location.lens_estimate.lens

    # Each marker is printed once on a board.
    has_twins = len(unique) < len(board_markers)
    if not has_twins and _may_be_one_board(location.lens_estimate, kit.board, unique, size):
        return unique, location

    # Some do not belong to the board: group those that fit together.
    groups = group_by_board(kit.board, board_markers, lens, size)
    if len(groups) == 1 and len(groups[0]) == len(board_markers):
        return groups[0], location
    if not has_twins:
        return unique, location
    if not groups:
        return {}, location
    advice = say("The camera sees two boards “{board}”: put one of them away", board=kit.board.name)

    # Choose the board by the last pose, or by the pieces on it.
    in_play = find_copy_in_play(kit, groups, other_quads, lens, size, last_pose=location.pose)
    return in_play or {}, replace(location, twin_advice=advice, problem=advice)


def _may_be_one_board(estimate: LensEstimate, board: Board, corners: Quads, size: Size) -> bool:
    """Return whether all these corners can belong to one board.

    One or two corner markers always can. So can any number of them while the lens is unknown,
    because a wrong lens would make them seem not to fit.
    """
    if len(corners) < 3 or not estimate.is_lens_known:
        return True
    pose, limit_px = _pose_and_limit(board, corners, estimate.lens, size)
    return pose is not None and pose.rms_px <= limit_px


def _locate_by_corners(
    location: Location,
    kit: Kit,
    corners: Quads,
    other_quads: Quads,
    size: Size,
) -> Location:
    """Return the new location with the pose from two or more corner markers, or with the problem.

    `corners` are the board's corner markers, and `other_quads` the markers of pieces. If a pose
    fits, the view also teaches the lens.
    """
    board = kit.board
    estimate = location.lens_estimate
    observations = Observations(
        *corner_correspondences(board, corners), _tags_among(kit, other_quads)
    )

    # A first pose with the lens as it is known so far.
    start, limit_px = _pose_and_limit(board, corners, estimate.lens, size)
    # If the residual is large, a marker may have been moved. Before the lens is known, the lens may
    # be the cause, too.
    if (
        estimate.is_lens_known
        and start is not None
        and start.rms_px > _MIN_MISFIT_WIDTHS * start.width_px
    ):
        observations, start = _drop_moved_marker(board, corners, start, observations)
    if len(corners) >= 3 and start is not None and start.rms_px <= _TEACHING_FACTOR * limit_px:
        estimate = estimate.with_view(observations.points_mm, observations.points_px, start)
    pose = solve_pose(
        observations.points_mm, observations.points_px, estimate.lens, size, location.pose
    )
    if pose is None or pose.rms_px > limit_px:
        fit, location = _search_wide_lens(location, observations, size, limit_px)
        if fit is None:
            problem = location.problem or say(
                "The corner markers do not lie as on the board “{board}”: put down the board that "
                "is being played, flat, and check that it was printed at 100 %",
                board=board.name,
            )
            return replace(location, problem=problem)
        pose = fit.pose
        estimate = LensEstimate.initial(location.nominal)
        estimate = estimate.with_fit(pose.lens, _CORNERS_COVARIANCE, by_lines=False)

    # The printed lines have not been compared with this pose yet. `markers` also counts a moved
    # marker that was dropped. Otherwise there would seem to be one more marker than the pose rests
    # on, and every picture in which it is seen would be located anew.
    return replace(
        location,
        lens_estimate=estimate,
        pose=replace(pose, markers=len(corners)),
        is_confirmed=True,
        observations=observations,
        anchors_px=other_quads,
        corners_px=corners,
        is_aligned=False,
        models_tried=0,
        best_model=None,
        unconfirmed_squares=NO_SQUARES,
    )


def _search_wide_lens(
    location: Location, observations: Observations, size: Size, limit_px: float
) -> tuple[Fit | None, Location]:
    """Return a fit with a lens of a wider angle than the assumed one, and the new location.

    This is used if no pose fits, because the assumed lens may be wrong. The fit is None if no fit
    has a residual of at most `limit_px`, or if there may be no search (see `_may_search`). Failed
    searches are counted.
    """
    if not _may_search(location):
        return None, location
    fit = best_wide_fit(observations, location.nominal, size)
    if fit is None or fit.pose.rms_px > limit_px:
        return None, replace(location, failed_searches=location.failed_searches + 1)
    return fit, location


def _may_search(location: Location) -> bool:
    """Return whether to search for another lens model.

    There is none if the lens was calibrated, or if too many searches in a row have failed.
    """
    return (
        not location.lens_estimate.is_calibrated and location.failed_searches < _MAX_FAILED_SEARCHES
    )


def _tags_among(kit: Kit, other_quads: Quads) -> list[Tag]:
    """Return the markers of pieces among these markers, which are (4, 2) px by id."""
    tags = []
    for marker, quad_px in other_quads.items():
        face = kit.face_by_marker.get(marker)
        if face is not None:
            tags.append(Tag(quad_px, face.height_mm, kit.tag_mm))
    return tags


def _drop_moved_marker(
    board: Board, corners: Quads, pose: Pose, observations: Observations
) -> tuple[Observations, Pose | None]:
    """Return the observations without corners of a marker that was moved or partly hidden.

    Also returns the pose from the other corners, or None if they give no pose. A marker that was
    moved does not fit the three others. With fewer than four markers it cannot be told which one
    was moved, so nothing is left out.
    """
    if len(corners) < 4:
        return observations, pose
    # The three markers that fit best predict where the fourth has to be.
    for left_out in corners:
        three = {marker: quad_px for marker, quad_px in corners.items() if marker != left_out}
        candidate, _ = _pose_and_limit(board, three, pose.lens, pose.size)
        if candidate is not None and candidate.rms_px < pose.rms_px:
            pose = candidate
    points_mm = observations.points_mm
    points_px = observations.points_px
    # (16,): the residual of each corner of the four markers.
    residuals_px = np.linalg.norm(pose.to_px(points_mm) - points_px, axis=1)
    min_misfit_px = _MIN_MISFIT_WIDTHS * pose.width_px
    is_good = residuals_px <= max(min_misfit_px, _OUTLIER_FACTOR * float(np.median(residuals_px)))
    points_mm = points_mm[is_good]
    points_px = points_px[is_good]
    refined = refine_pose(pose, points_mm, points_px, pose.lens)
    return replace(observations, points_mm=points_mm, points_px=points_px), refined


def _pose_and_limit(
    board: Board, corners: Quads, lens: Lens, size: Size
) -> tuple[Pose | None, float]:
    """Return the pose from corner markers or None, and the maximum residual of a pose that fits.

    The residual of the returned pose may be larger than that.
    """
    points_mm, points_px = corner_correspondences(board, corners)
    diagonal_px = float(np.linalg.norm(np.ptp(points_px, axis=0)))
    limit_px = max(_MAX_RESIDUAL_PX, _MAX_RESIDUAL_SHARE * diagonal_px)
    return fit_pose(points_mm, points_px, lens, size), limit_px


# ---- printed lines -------------------------------------------------------------------------------


def _refine_by_lines(location: Location, board: Board, luma: Luma) -> Location:
    """Return the location with the new pose checked or corrected by the printed lines.

    If the lens does not explain the lines, the location is not aligned, and another lens model has
    to be searched for. If no search is allowed, a pose from four corners is not even checked.
    """
    pose = location.pose
    observations = location.observations
    estimate = location.lens_estimate
    assert pose is not None
    assert observations is not None
    if pose.markers >= 4:
        # Four corners: lines only check whether the lens is right.
        is_aligned = not _may_search(location) or agrees_with_lines(luma, board, pose)
        return replace(location, is_aligned=is_aligned)
    sigmas = _lens_sigmas(estimate)
    # Fewer corners: pieces and lines have to locate the rest of the board.
    by_markers = fit_board(observations, pose, sigmas)
    location = replace(location, pose=replace(by_markers.pose, markers=pose.markers))
    if not agrees_with_lines(luma, board, by_markers.pose):
        return location
    fit = fit_lines(luma, board, observations, by_markers, LensPrior(estimate.lens, sigmas))
    return _use_fit(replace(location, is_aligned=True), board, fit)


def _lens_sigmas(estimate: LensEstimate) -> Floats:
    """Return (3,): standard deviations of log focal length, k1 and k2 of the assumed lens.

    k1 and k2 are the terms of its distortion, see `Lens`.
    """
    if estimate.is_calibrated:
        return _CALIBRATED_SIGMAS
    if estimate.views == 0:
        return UNKNOWN_SIGMAS
    # No view is trusted to less than a hundredth.
    return np.array([*np.maximum(0.01, estimate.sigmas), 1e-6])


def _search_lens_model(location: Location, board: Board, luma: Luma, max_models: int) -> Location:
    """Try up to `max_models` more lens models, and use the best one when the search is done.

    Returns the new location. Until the search is done, no square is confirmed. Failed searches in a
    row are counted.
    """
    observations = location.observations
    tried = location.models_tried
    best = location.best_model
    assert observations is not None
    prior = LensPrior(location.lens_estimate.lens, _lens_sigmas(location.lens_estimate))
    is_done = False
    while not is_done and tried < location.models_tried + max_models:
        fit, cost, is_done = try_model(luma, board, observations, prior, tried)
        tried += 1
        if fit is not None and (best is None or cost < best.cost):
            best = BestModel(cost, fit)
    models_tried = 0 if is_done else tried
    location = replace(location, is_aligned=is_done, models_tried=models_tried, best_model=best)
    if not is_done:
        return replace(location, unconfirmed_squares=frozenset(board.squares) - board.holes)
    # If not even the best model agrees with the lines, the search has failed.
    is_good = best is not None and agrees_with_lines(luma, board, best.fit.pose)
    failed = 0 if is_good else location.failed_searches + 1
    location = replace(location, failed_searches=failed, unconfirmed_squares=NO_SQUARES)
    return location if best is None else _use_fit(location, board, best.fit)


def _use_fit(location: Location, board: Board, fit: Fit) -> Location:
    """Return the location with the pose of a fit, which may also teach the lens.

    A pose from four corners stays, unless the lines of most of the board confirm the pose of the
    fit.
    """
    assert location.pose is not None
    markers = location.pose.markers
    centres_mm = np.array([board.corner_centres_mm[marker] for marker in location.corners_px])
    # Squares around which the lines are where the pose predicts them.
    confirmed = confirmed_squares(board, fit, centres_mm)
    squares = frozenset(board.squares) - board.holes
    confirms_most = len(confirmed) >= _MIN_CONFIRMED_SHARE * len(squares)
    if markers >= 4 and not confirms_most:
        return location
    location = replace(location, pose=replace(fit.pose, markers=markers))
    if markers == 2:
        # Two corners alone may misplace the far end of the board.
        location = replace(location, unconfirmed_squares=squares - confirmed)
    # A board that is nearly all confirmed determines the lens better than corners do.
    has_lines = fit.lines is not None and fit.lines.is_found.sum() >= _MIN_LINES
    if has_lines and confirms_most and not location.lens_estimate.is_calibrated:
        location = replace(
            location,
            lens_estimate=location.lens_estimate.with_fit(fit.pose.lens, fit.lens_covariance),
        )
    return location
