"""Third stage: find the pose of the board, and the squares for which it is not certain enough.

Two or more corner markers give a pose. If some corners are hidden, pieces and printed lines refine
it. One corner marker, or two pieces that have not moved, only confirm the last pose.

Limits that are shares of the picture's width are written for pictures 1280 px wide. They were
chosen by trial on rendered views with hidden, touched and moved corners
(`tests/bench/reading/corners.py`) and with unknown lenses (`wide_lenses.py` there).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from companion.core.i18n import say
from companion.core.kit import Board, Kit
from vision.detection.markers import Luma, Sighting
from vision.pieces.regions import vague_squares
from vision.pose.board_copies import Corners, boards_among, copy_in_play, without_duplicates
from vision.pose.board_fit import Evidence, Fit, LensPrior, Tag, fit_board, fit_lines
from vision.pose.lens_choice import (
    best_wide_fit,
    confirmed_squares,
    is_explained,
    try_model,
)
from vision.pose.lens_tuner import LensTuner
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose, corner_points_mm, nearest_pose, refined_pose, solve_pose
from vision.reading.look import NO_SQUARES, SERIES_BUDGET, SPENT_BUDGET, Located, Look, Memory

# Maximum RMS shift, as a share of the picture width, of corners that have not moved since the pose
# was found. Larger: a small push of the board goes unnoticed. Smaller: noise causes new poses.
_MAX_SHIFT = 1.0 / 1280

# Maximum shift of each corner of a piece's marker, as a share of the picture width, that confirms
# the pose. It is larger than `_MAX_SHIFT` because it bounds the worst corner and not the mean.
_MAX_ANCHOR_SHIFT = 2.0 / 1280

# Residual of four corner markers, as a share of the picture width, above which one of them may have
# been moved.
_MIN_MISFIT = 0.3 / 1280

# A corner has been moved or is partly hidden if it is off by more than this many times the median,
# by the pose from the best three markers.
_OUTLIER_FACTOR = 3.0

# Maximum residual of corners that lie as on the board: the larger of this many px, and this share
# of the diagonal between the corners.
_MAX_RESIDUAL_PX, _MAX_RESIDUAL_SHARE = 2.5, 0.01

# Views with a residual of up to this many times that maximum may teach the lens, as a wrong lens
# causes residuals too.
_TEACHING_FACTOR = 3.0

# Maximum number of failed searches in a row for another lens model. A search takes several
# pictures, so a view that no lens explains must not be searched forever.
_MAX_FAILED_SEARCHES = 4

# Minimum number of lines found, and minimum share of the squares confirmed, for a view to teach the
# lens although corners are hidden.
_MIN_LINES, _MIN_CONFIRMED_SHARE = 60, 0.8

# (2, 2): covariance of log focal length and k1 of a lens that is known from corner markers alone,
# see `LensTuner.with_fit`. Such a lens may be wrong by a tenth.
_CORNERS_COVARIANCE = np.diag([0.1, 0.05]) ** 2

# (3,): standard deviations of log focal length, k1 and k2 of a calibrated lens. Not zero, as they
# are divisors.
_EXACT_SPREADS = np.array([1e-3, 1e-3, 1e-6])

# (3,): the same before any view of the board. Webcams differ by about a fifth in focal length.
_UNKNOWN_SPREADS = np.array([0.2, 0.06, 1e-6])


def locate(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find the pose from the corner markers, and the squares for which it is too uncertain.

    Printed lines refine it if corners are hidden or the lens does not fit.
    """
    kit = look.kit
    if kit is None:
        # Something hides the board. While any marker is seen it may still be there.
        return look, memory if look.sightings else replace(memory, pose=None)
    pose = look.pose
    if look.reference is None:
        height, width = look.luma.shape
        pose, located = find_pose(memory.located, kit, look.sightings, (width, height))
        if pose is not None and not located.is_aligned:
            located = _align_to_lines(located, look.luma, kit.board, look.budget.lens_models)
            if look.budget is SERIES_BUDGET and located.best_model[1]:
                # A lens model was tried. The rest of the picture waits for the next one, or a
                # series would stall.
                look = replace(look, budget=SPENT_BUDGET)
            pose = located.pose
        memory = replace(memory, located=located)
    memory = replace(memory, pose=pose)
    if pose is None:
        return look, memory
    if memory.vague_squares is None or memory.vague_squares[0] is not pose:
        # Computed once for each pose.
        memory = replace(memory, vague_squares=(pose, vague_squares(kit.board, pose)))
    assert memory.vague_squares is not None
    vague = memory.located.unconfirmed_squares | memory.vague_squares[1]
    return replace(look, pose=pose, vague_squares=vague), memory


def start_with_lens(lens: Lens, exact: bool = False) -> Located:
    """Return the initial state for a camera with this lens. An `exact` lens is not refined."""
    return Located(lens, LensTuner.of(lens, exact))


def forget_board(located: Located) -> Located:
    """Return the state without board and pose. Only what is known of the lens stays."""
    return Located(located.nominal, located.tuner, failed_searches=located.failed_searches)


# ---- corner markers ------------------------------------------------------------------------------


def find_pose(
    located: Located, kit: Kit, sightings: Iterable[Sighting], size: tuple[int, int]
) -> tuple[Pose | None, Located]:
    """Return the pose of a kit's board, or None, and the new state.

    `sightings` are all those of a picture, and `size` is its (width, height) in px.
    """
    board = kit.board
    if board is not located.board or (located.pose is not None and located.pose.size != size):
        # Another board, or pictures of another size: the old pose is invalid.
        located = replace(forget_board(located), board=board)
    located = replace(located, problem="", twin_advice="")
    own, others = _split_markers(board, sightings)
    corners: Corners = _single_markers(own)
    has_twins = len(corners) < len(own)

    # A marker that is there twice cannot be used before it is known which one is the board's.
    known = None if has_twins else _confirm_pose(located, board, corners, others)
    if known is None:
        # The board may have been moved, or there may be two boards.
        corners, located = _own_corners(located, kit, own, others, size)
        known = _confirm_pose(located, board, corners, others)
    if known is not None:
        return known.pose, known
    if len(corners) >= 2:
        # A single corner can only confirm a pose. Two or more give a new one.
        return _solve(located, kit, corners, others, size)
    if len(corners) == 1 and not located.twin_advice:
        problem = say("Only one corner of the board is in the picture: show at least two")
        located = replace(located, problem=problem)
    return None, located


def confirm_board(located: Located, board: Board, sightings: Iterable[Sighting]) -> Located | None:
    """Return the new state if the sightings confirm the last pose of the board. Otherwise None."""
    own, others = _split_markers(board, sightings)
    corners = _single_markers(own)
    if len(corners) < len(own):
        # A corner marker is there twice.
        return None
    return _confirm_pose(located, board, corners, others)


def _split_markers(
    board: Board, sightings: Iterable[Sighting]
) -> tuple[list[Sighting], dict[int, Points]]:
    """Return the board's corner markers, and the corners (4, 2) px of other markers that are seen
    exactly once, by id.
    """
    distinct = without_duplicates(sightings)
    own = [sighting for sighting in distinct if sighting.marker in board.corners]
    others = [sighting for sighting in distinct if sighting.marker not in board.corners]
    return own, _single_markers(others)


def _confirm_pose(
    located: Located, board: Board, corners: Corners, others: Mapping[int, Points]
) -> Located | None:
    """Return the new state if these markers, (4, 2) px by id, are where the last pose puts them.

    Returns None if they are not, or if a new pose will be better.
    """
    pose = located.pose

    # There are more corners than the pose rests on: a new pose will be more accurate.
    if pose is None or len(corners) > pose.markers:
        return None
    if corners:
        shifts = []
        for marker, px in corners.items():
            # Where it was, or where the pose puts it if it was hidden.
            expected_px = located.corners_px.get(marker)
            if expected_px is None:
                expected_px = pose.to_px(corner_points_mm(board, marker))
            shifts.append(expected_px - px)
        rms_px = np.sqrt((np.vstack(shifts) ** 2).sum(axis=1).mean())
        is_same = rms_px <= _MAX_SHIFT * pose.size[0]
    else:
        # All corners are hidden: pieces that have not moved confirm the pose.
        shifts_px = []
        for marker, px in others.items():
            if marker in located.anchors_px:
                shifts_px.append(np.abs(px - located.anchors_px[marker]).max())
        is_same = len(shifts_px) >= 2 and max(shifts_px) <= _MAX_ANCHOR_SHIFT * pose.size[0]
    return replace(located, anchors_px={**located.anchors_px, **others}) if is_same else None


def _single_markers(sightings: Collection[Sighting]) -> dict[int, Points]:
    """Return the corners (4, 2) px of the markers that are seen exactly once, by id."""
    times = Counter(sighting.marker for sighting in sightings)
    single = [sighting for sighting in sightings if times[sighting.marker] == 1]
    return {sighting.marker: sighting.corners_px for sighting in single}


def _own_corners(
    located: Located,
    kit: Kit,
    corners: list[Sighting],
    others: Mapping[int, Points],
    size: tuple[int, int],
) -> tuple[Corners, Located]:
    """Return the corner markers, by id, of the board that is played on, and the new state.

    `corners` are all its corner markers in the picture, and `others` those of pieces, by id. The
    result is empty if two copies of the board cannot be told apart.
    """
    single, lens = _single_markers(corners), located.tuner.lens
    times = Counter(sighting.marker for sighting in corners)

    # Each marker is printed once on a board.
    has_twins = max(times.values(), default=0) > 1
    if not has_twins and _fit_one_board(located.tuner, kit.board, single, size):
        return single, located

    # Some do not belong to the board: group those that fit together.
    groups = boards_among(kit.board, corners, lens, size)
    if len(groups) == 1 and len(groups[0]) == len(corners):
        return groups[0], located
    if not groups or not has_twins:
        return {} if has_twins else single, located
    twin = say("The camera sees two boards “{board}”: put one of them away", board=kit.board.name)

    # Choose the board by the last pose, or by the pieces on it.
    own = copy_in_play(kit, groups, others, lens, located.pose or size)
    return own or {}, replace(located, twin_advice=twin, problem=twin)


def _fit_one_board(tuner: LensTuner, board: Board, corners: Corners, size: tuple[int, int]) -> bool:
    """Return whether all these corners can belong to one board. Fewer than three always can."""
    if len(corners) < 3 or not (tuner.views or tuner.is_exact):
        return True
    pose, limit = _pose_of(board, corners, tuner.lens, size)
    return pose is not None and pose.rms_px <= limit


def _solve(
    located: Located,
    kit: Kit,
    corners: Corners,
    others: Mapping[int, Points],
    size: tuple[int, int],
) -> tuple[Pose | None, Located]:
    """Return the pose from at least two corner markers, and the new state.

    The view may also teach the lens.
    """
    board, tuner = kit.board, located.tuner

    # A first pose with the lens as it is known so far.
    points_mm = np.vstack([corner_points_mm(board, marker) for marker in corners])
    points_px = np.vstack(list(corners.values()))
    first, limit_px = _pose_of(board, corners, tuner.lens, size)
    # With a lens that is not known yet, residuals prove nothing.
    is_lens_known = tuner.is_exact or tuner.views > 0
    if is_lens_known and first is not None and first.rms_px > _MIN_MISFIT * size[0]:
        points_mm, points_px, first = _drop_moved_marker(
            board, corners, first, points_mm, points_px
        )

    # Evidence for the pose: corner markers, and pieces where corners are hidden.
    evidence = Evidence(points_mm, points_px, _tags(kit, others))
    # Only views with a small residual may teach the lens.
    is_teaching = first is not None and first.rms_px <= _TEACHING_FACTOR * limit_px
    if len(corners) >= 3 and first is not None and is_teaching:
        tuner = tuner.with_view(points_mm, points_px, first)
    pose = solve_pose(points_mm, points_px, tuner.lens, size, located.pose)
    is_fitting = pose is not None and pose.rms_px <= limit_px
    if not is_fitting and not tuner.is_exact and located.failed_searches < _MAX_FAILED_SEARCHES:
        # No pose fits: the assumed lens may be wrong.
        fit = best_wide_fit(evidence, located.nominal, size)
        if fit is None or fit.pose.rms_px > limit_px:
            located = replace(located, failed_searches=located.failed_searches + 1)
        else:
            pose = fit.pose
            tuner = LensTuner.of(located.nominal).with_fit(
                pose.lens, _CORNERS_COVARIANCE, by_lines=False
            )
    if pose is None or pose.rms_px > limit_px:
        problem = located.problem or say(
            "The corner markers do not lie as on the board “{board}”: "
            "put down the board that is being played, flat, and check that it was printed at 100 %",
            board=board.name,
        )
        return None, replace(located, problem=problem)

    # The printed lines have not been compared with this pose yet.
    pose = replace(pose, markers=len(corners))
    return pose, replace(
        located,
        tuner=tuner,
        pose=pose,
        evidence=evidence,
        anchors_px=others,
        corners_px=corners,
        is_aligned=False,
        models_tried=0,
        unconfirmed_squares=NO_SQUARES,
    )


def _tags(kit: Kit, others: Mapping[int, Points]) -> list[Tag]:
    """Return those of these markers, (4, 2) px by id, that belong to pieces."""
    tags = []
    for marker, px in others.items():
        face = kit.face_of_marker(marker)
        if face is not None:
            tags.append(Tag(px, face.height_mm, kit.tag_mm))
    return tags


def _drop_moved_marker(
    board: Board, corners: Corners, pose: Pose, points_mm: Points, points_px: Points
) -> tuple[Points, Points, Pose | None]:
    """Leave out the corners of a marker that was moved or partly hidden.

    Of four markers, one that something touches can be found. With fewer, nothing is left out.
    Returns the other points, (N, 3) mm and (N, 2) px, and their pose.
    """
    if len(corners) < 4:
        return points_mm, points_px, pose
    # The three markers that fit best predict where the fourth has to be.
    for hidden in corners:
        rest = {marker: px for marker, px in corners.items() if marker != hidden}
        other, _ = _pose_of(board, rest, pose.lens, pose.size)
        if other is not None and other.rms_px < pose.rms_px:
            pose = other
    off_px = np.linalg.norm(pose.to_px(points_mm) - points_px, axis=1)
    least_px = _MIN_MISFIT * pose.size[0]
    is_good = off_px <= max(least_px, _OUTLIER_FACTOR * float(np.median(off_px)))
    points_mm, points_px = points_mm[is_good], points_px[is_good]
    return points_mm, points_px, refined_pose(pose, points_mm, points_px, pose.lens)


def _pose_of(
    board: Board, corners: Corners, lens: Lens, size: tuple[int, int]
) -> tuple[Pose | None, float]:
    """Return the pose from corner markers, or None, and the maximum residual in px that is good."""
    points_mm = np.vstack([corner_points_mm(board, marker) for marker in corners])
    points_px = np.vstack(list(corners.values()))
    # Uneven paper and an assumed lens leave larger residuals on large boards.
    diagonal_px = float(np.linalg.norm(np.ptp(points_px, axis=0)))
    limit_px = max(_MAX_RESIDUAL_PX, _MAX_RESIDUAL_SHARE * diagonal_px)
    return nearest_pose(points_mm, points_px, lens, size), limit_px


# ---- printed lines -------------------------------------------------------------------------------


def _align_to_lines(located: Located, luma: Luma, board: Board, models: int) -> Located:
    """Correct the last pose by the printed lines.

    Used if corner markers are hidden, or if the lens does not fit. Tries at most `models` lens
    models. The others wait for the next picture.
    """
    if located.models_tried:
        return _fit_lens(located, luma, board, models)
    pose, evidence, tuner = located.pose, located.evidence, located.tuner
    assert pose is not None
    assert evidence is not None
    located = replace(located, is_aligned=True, best_model=(math.inf, None))
    if pose.markers >= 4:
        # Four corners: lines only check whether the lens is right.
        may_search = not tuner.is_exact and located.failed_searches < _MAX_FAILED_SEARCHES
        if not may_search or is_explained(luma, board, pose):
            return located
        return _fit_lens(located, luma, board, models)
    spread = _lens_spread(tuner)
    # Fewer corners: pieces and lines have to locate the rest of the board.
    by_markers = fit_board(evidence, pose, spread)
    located = replace(located, pose=replace(by_markers.pose, markers=pose.markers))
    if not is_explained(luma, board, by_markers.pose):
        return _fit_lens(located, luma, board, models)
    fit = fit_lines(luma, board, evidence, by_markers, LensPrior(tuner.lens, spread))
    return _use_fit(located, board, fit)


def _lens_spread(tuner: LensTuner) -> Points:
    """Return (3,): standard deviations of log focal length, k1 and k2 of the assumed lens."""
    if tuner.is_exact:
        return _EXACT_SPREADS
    if tuner.views == 0:
        return _UNKNOWN_SPREADS
    # No view is trusted to less than a hundredth.
    return np.array([*np.maximum(0.01, tuner.spreads), 1e-6])


def _fit_lens(located: Located, luma: Luma, board: Board, models: int) -> Located:
    """Try up to `models` lens models, and use the best one when the search is done.

    The failed searches in a row are counted. Until the search is done, no square is certain.
    """
    evidence, tried, best = located.evidence, located.models_tried, located.best_model
    assert evidence is not None
    prior = LensPrior(located.tuner.lens, _lens_spread(located.tuner))
    is_done = False
    while not is_done and tried < located.models_tried + models:
        fit, cost, is_done = try_model(luma, board, evidence, prior, tried)
        tried += 1
        best_cost, _ = best
        if cost < best_cost:
            best = cost, fit
    located = replace(
        located, is_aligned=is_done, models_tried=0 if is_done else tried, best_model=best
    )
    if not is_done:
        return replace(located, unconfirmed_squares=frozenset(board.squares) - board.holes)
    _, fit = best
    # A fit that explains the lines no better than before has failed too.
    is_good = fit is not None and is_explained(luma, board, fit.pose)
    failed = 0 if is_good else located.failed_searches + 1
    located = replace(located, failed_searches=failed, unconfirmed_squares=NO_SQUARES)
    return located if fit is None else _use_fit(located, board, fit)


def _use_fit(located: Located, board: Board, fit: Fit) -> Located:
    """Use the pose of a fit, which may also teach the lens."""
    assert located.pose is not None
    markers = located.pose.markers
    middles = np.array([board.corner_centres_mm[marker] for marker in located.corners_px])
    # Squares around which the lines are where the pose predicts them.
    confirmed = confirmed_squares(board, fit, middles)
    squares = frozenset(board.squares) - board.holes
    are_most = len(confirmed) >= _MIN_CONFIRMED_SHARE * len(squares)
    if markers >= 4 and not are_most:
        return located  # four corners stay unless lines clearly contradict them
    located = replace(located, pose=replace(fit.pose, markers=markers))
    if markers == 2:
        # Two corners alone may misplace the far end of the board.
        located = replace(located, unconfirmed_squares=squares - confirmed)
    # A board that is nearly all confirmed determines the lens better than corners do.
    is_sure = fit.lines is not None and fit.lines.is_found.sum() >= _MIN_LINES
    if is_sure and are_most and not located.tuner.is_exact:
        located = replace(located, tuner=located.tuner.with_fit(fit.pose.lens, fit.lens_covariance))
    return located
