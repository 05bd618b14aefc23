"""Third stage: find the pose of the board, and the squares for which it is not certain enough.

Two or more corner markers give a pose. If some corners are hidden, pieces and printed lines refine
it. One corner marker, or two pieces that have not moved, only confirm the last pose.
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
from vision.pose.board_fit import Belief, Evidence, Fit, Tag, fit_board, fit_lines
from vision.pose.lens_choice import (
    best_start,
    confirmed_squares,
    is_explained,
    try_model,
)
from vision.pose.lens_tuner import LensTuner
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose, corner_points_mm, nearest_pose, refined_pose, solve_pose
from vision.reading.look import EACH, NO_SQUARES, SPENT, Located, Look, Memory

_MAX_SHIFT = 1.0 / 1280
"""Maximum RMS shift, as a share of the picture width, of corners that have not moved since the pose
was found.
"""
_MAX_ANCHOR_SHIFT = 2.0 / 1280
_MIN_MISFIT, _OUTLIER_FACTOR = 0.3 / 1280, 3.0
"""Residual of four corner markers, as a share of the picture width, above which one may have been
moved. By the pose from the best three, its corners are off by more than this many times the median.
"""
_MAX_RESIDUAL_PX, _MAX_RESIDUAL_SHARE = 2.5, 0.01
"""Residual in px, or as a share of the diagonal between the corners, above which they do not lie as
on the board.
"""
_MAX_TRIES = 4
"""Maximum number of searches in a row for another lens model."""
_MIN_LINES, _MIN_CONFIRMED_SHARE = 60, 0.8
"""Minimum number of lines, and minimum share of the squares, for a view to teach the lens although
corners are hidden.
"""
_CORNERS_COVARIANCE = np.diag([0.1, 0.05]) ** 2
"""(2, 2): covariance of a lens of another angle that is known from corner markers alone, see
`LensTuner.told`.
"""


def locate(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find the pose from the corner markers.

    Printed lines refine it if corners are hidden or the lens does not fit.
    """
    kit = look.kit
    if kit is None:
        # Something hides the board. While any marker is seen it may still be there.
        return look, memory if look.sightings else replace(memory, pose=None)
    pose = look.pose
    if look.before is None:
        pose, located = find_pose(
            memory.located, kit, look.sightings, (look.luma.shape[1], look.luma.shape[0])
        )
        if pose is not None and not located.is_aligned:
            located = _align_to_lines(located, look.luma, kit.board, look.budget.models)
            if look.budget is EACH and located.best[1]:
                # The rest of the picture waits for the next one, or a series would stall.
                look = replace(look, budget=SPENT)
            pose = located.pose
        memory = replace(memory, located=located)
    memory = replace(memory, pose=pose)
    if pose is None:
        return look, memory
    if memory.vague is None or memory.vague[0] is not pose:
        # Computed once for each pose.
        memory = replace(memory, vague=(pose, vague_squares(kit.board, pose)))
    assert memory.vague is not None
    vague = memory.located.unconfirmed | memory.vague[1]
    return replace(look, pose=pose, vague=vague), memory


def with_lens(lens: Lens, exact: bool = False) -> Located:
    """Return the initial state for a camera with this lens. An `exact` lens is not refined."""
    return Located(lens, LensTuner.of(lens, exact))


def forget_board(located: Located) -> Located:
    """Return the state that holds for another board or picture size: only the lens."""
    return Located(located.nominal, located.tuner, tries=located.tries)


# ---- corner markers ------------------------------------------------------------------------------


def find_pose(
    located: Located, kit: Kit, sightings: Iterable[Sighting], size: tuple[int, int]
) -> tuple[Pose | None, Located]:
    """Return the pose of a kit's board, or None, from all sightings of a picture of (width, height)
    px.
    """
    board = kit.board
    if board is not located.board or (located.pose is not None and located.pose.size != size):
        # Another board, or pictures of another size: the old pose is invalid.
        located = replace(forget_board(located), board=board)
    located = replace(located, problem="", twin="")
    own, others = _split_markers(board, sightings)
    corners: Corners = _single_markers(own)

    # A marker that is there twice cannot be used before it is known which one is the board's.
    known = _confirm_pose(located, board, corners, others) if len(corners) == len(own) else None
    if known is None:
        # The board may have been moved, or there may be two boards.
        corners, located = _own_corners(located, kit, own, others, size)
        known = _confirm_pose(located, board, corners, others)
    if known is not None:
        return known.pose, known
    if len(corners) >= 2:
        # A single corner can only confirm a pose. Two or more give a new one.
        return _solve(located, kit, corners, others, size)
    if len(corners) == 1 and not located.twin:
        problem = say("Only one corner of the board is in the picture: show at least two")
        located = replace(located, problem=problem)
    return None, located


def held(located: Located, board: Board, sightings: Iterable[Sighting]) -> Located | None:
    """Return the state of the board if all these markers are where they were when its pose was
    found.

    Otherwise None.
    """
    own, others = _split_markers(board, sightings)
    corners = _single_markers(own)
    return _confirm_pose(located, board, corners, others) if len(corners) == len(own) else None


def _split_markers(
    board: Board, sightings: Iterable[Sighting]
) -> tuple[list[Sighting], dict[int, Points]]:
    """Return the board's corner markers, and the corners (4, 2) px of other markers that are seen
    exactly once, by id.
    """
    every = without_duplicates(sightings)
    own = [sighting for sighting in every if sighting.marker in board.corners]
    return own, _single_markers(
        [sighting for sighting in every if sighting.marker not in board.corners]
    )


def _confirm_pose(
    located: Located, board: Board, corners: Corners, others: Mapping[int, Points]
) -> Located | None:
    pose = located.pose

    # There are more corners than the pose rests on: a new pose will be more accurate.
    if pose is None or len(corners) > pose.markers:
        return None
    if corners:
        known = located.corners
        expected = [
            known[m] if m in known else pose.to_px(corner_points_mm(board, m)) for m in corners
        ]
        # Root mean square of the shifts.
        error = np.vstack(expected) - np.vstack(list(corners.values()))
        is_same = np.sqrt((error**2).sum(axis=1).mean()) <= _MAX_SHIFT * pose.size[0]
    else:
        off = [
            np.abs(px - located.anchors[m]).max()
            for m, px in others.items()
            if m in located.anchors
        ]
        # All corners are hidden: pieces that have not moved confirm the pose.
        is_same = len(off) >= 2 and max(off) <= _MAX_ANCHOR_SHIFT * pose.size[0]
    return replace(located, anchors={**located.anchors, **others}) if is_same else None


def _single_markers(sightings: Collection[Sighting]) -> dict[int, Points]:
    """Return the corners of the markers that are seen exactly once, by id."""
    times = Counter(sighting.marker for sighting in sightings)
    return {s.marker: s.corners_px for s in sightings if times[s.marker] == 1}


def _own_corners(
    located: Located,
    kit: Kit,
    corners: list[Sighting],
    others: Mapping[int, Points],
    size: tuple[int, int],
) -> tuple[Corners, Located]:
    """Return the corner markers, by id, of the board that is played on.

    Empty if two copies of the board cannot be told apart.
    """
    single, lens = _single_markers(corners), located.tuner.lens
    times = Counter(sighting.marker for sighting in corners)

    # Each marker is printed once on a board.
    has_twins = max(times.values(), default=0) > 1
    if not has_twins and _fits_one(located.tuner, kit.board, single, size):
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
    return own or {}, replace(located, twin=twin, problem=twin)


def _fits_one(tuner: LensTuner, board: Board, corners: Corners, size: tuple[int, int]) -> bool:
    """Return whether all these corners can belong to one board. Fewer than three always can."""
    if len(corners) < 3 or not (tuner.views or tuner.exact):
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
    """Return the pose from at least two corner markers, which may also teach the lens."""
    board, tuner = kit.board, located.tuner

    points_mm = np.vstack([corner_points_mm(board, marker) for marker in corners])
    points_px = np.vstack(list(corners.values()))
    before, limit = _pose_of(board, corners, tuner.lens, size)
    # With a lens that is not known yet, residuals prove nothing.
    if (
        (tuner.exact or tuner.views)
        and before is not None
        and before.rms_px > _MIN_MISFIT * size[0]
    ):
        points_mm, points_px, before = _drop_moved_marker(
            board, corners, before, points_mm, points_px
        )

    # Evidence for the pose: corner markers, and pieces where corners are hidden.
    evidence = Evidence(points_mm, points_px, _tags(kit, others))
    # Only views with a small residual may teach the lens.
    if len(corners) >= 3 and before is not None and before.rms_px <= 3 * limit:
        tuner = tuner.with_view(points_mm, points_px, before)
    pose = solve_pose(points_mm, points_px, tuner.lens, size, located.pose)
    if (pose is None or pose.rms_px > limit) and not tuner.exact and located.tries < _MAX_TRIES:
        # No pose fits: the assumed lens may be wrong.
        wide = best_start(evidence, located.nominal, size)
        if wide is None or wide[1].pose.rms_px > limit:
            located = replace(located, tries=located.tries + 1)
        else:
            pose = wide[1].pose
            tuner = LensTuner.of(located.nominal).with_fit(
                pose.lens, _CORNERS_COVARIANCE, by_lines=False
            )
    if pose is None or pose.rms_px > limit:
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
        seen=evidence,
        anchors=others,
        corners=corners,
        is_aligned=False,
        models=0,
        unconfirmed=NO_SQUARES,
    )


def _tags(kit: Kit, others: Mapping[int, Points]) -> list[Tag]:
    """Return those of these markers that belong to pieces."""
    tags = []
    for marker, px in others.items():
        face = kit.face_of_marker(marker)
        if face is not None:
            tags.append(Tag(px, face.height_mm, kit.tag_mm))
    return tags


def _drop_moved_marker(
    board: Board, corners: Corners, pose: Pose, points_mm: Points, points_px: Points
) -> tuple[Points, Points, Pose | None]:
    """Leave out a corner marker that was moved: something touches one of four or hides a part of
    it.

    Returns the other points and their pose.
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
    """Return the pose from corner markers, and the maximum residual in px."""
    points_mm = np.vstack([corner_points_mm(board, marker) for marker in corners])
    points_px = np.vstack(list(corners.values()))
    # Uneven paper and an assumed lens leave larger residuals on large boards.
    diagonal_px = float(np.linalg.norm(np.ptp(points_px, axis=0)))
    return nearest_pose(points_mm, points_px, lens, size), max(
        _MAX_RESIDUAL_PX, _MAX_RESIDUAL_SHARE * diagonal_px
    )


# ---- printed lines -------------------------------------------------------------------------------


def _align_to_lines(located: Located, luma: Luma, board: Board, models: int) -> Located:
    """Correct the last pose by the printed lines.

    Used if corner markers are hidden, or if the lens does not fit. Tries at most so many lens
    models. The others wait for the next picture.
    """
    if located.models:
        return _fit_lens(located, luma, board, models)
    pose, evidence, tuner = located.pose, located.seen, located.tuner
    assert pose is not None
    assert evidence is not None
    located = replace(located, is_aligned=True, best=(math.inf, None))
    if pose.markers >= 4:
        # Four corners: lines only check whether the lens is right.
        if tuner.exact or located.tries >= _MAX_TRIES or is_explained(luma, board, pose):
            return located
        return _fit_lens(located, luma, board, models)
    spread = _lens_spread(tuner)
    # Fewer corners: pieces and lines have to locate the rest of the board.
    by_markers = fit_board(evidence, pose, spread)
    located = replace(located, pose=replace(by_markers.pose, markers=pose.markers))
    if not is_explained(luma, board, by_markers.pose):
        return _fit_lens(located, luma, board, models)
    fit = fit_lines(luma, board, evidence, by_markers, Belief(tuner.lens, spread))
    return _use_fit(located, board, fit)


def _lens_spread(tuner: LensTuner) -> Points:
    """Return (3,): the standard deviations of the assumed lens, see `fit_board`."""
    if tuner.exact:
        return np.array([1e-3, 1e-3, 1e-6])
    if tuner.views == 0:
        return np.array([0.2, 0.06, 1e-6])
    return np.array([*np.maximum(0.01, tuner.spreads), 1e-6])


def _fit_lens(located: Located, luma: Luma, board: Board, models: int) -> Located:
    """Use a lens that explains the lines, and count the failed searches in a row.

    Until the search is done, no square is certain.
    """
    evidence, tried, best = located.seen, located.models, located.best
    assert evidence is not None
    believed = Belief(located.tuner.lens, _lens_spread(located.tuner))
    is_done = False
    while not is_done and tried < located.models + models:
        fit, cost, is_done = try_model(luma, board, evidence, believed, tried)
        tried += 1
        if cost < best[0]:
            best = cost, fit
    located = replace(located, is_aligned=is_done, models=0 if is_done else tried, best=best)
    if not is_done:
        return replace(located, unconfirmed=frozenset(board.squares) - board.holes)
    fit = best[1]
    # A fit that explains the lines no better than before has failed too.
    is_good = fit is not None and is_explained(luma, board, fit.pose)
    tries = 0 if is_good else located.tries + 1
    located = replace(located, tries=tries, unconfirmed=NO_SQUARES)
    return located if fit is None else _use_fit(located, board, fit)


def _use_fit(located: Located, board: Board, fit: Fit) -> Located:
    """Use the pose of a fit, which may also teach the lens."""
    assert located.pose is not None
    markers = located.pose.markers
    middles = np.array([board.corner_centres_mm[marker] for marker in located.corners])
    # Squares around which the lines are where the pose predicts them.
    confirmed = confirmed_squares(board, fit, middles)
    squares = frozenset(board.squares) - board.holes
    are_most = len(confirmed) >= _MIN_CONFIRMED_SHARE * len(squares)
    if markers >= 4 and not are_most:
        return located  # four corners stay unless lines clearly contradict them
    located = replace(located, pose=replace(fit.pose, markers=markers))
    if markers == 2:
        # Two corners alone may misplace the far end of the board.
        located = replace(located, unconfirmed=squares - confirmed)
    # A board that is nearly all confirmed determines the lens better than corners do.
    is_sure = fit.lines is not None and fit.lines.is_found.sum() >= _MIN_LINES
    if is_sure and are_most and not located.tuner.exact:
        located = replace(located, tuner=located.tuner.with_fit(fit.pose.lens, fit.lens_covariance))
    return located
