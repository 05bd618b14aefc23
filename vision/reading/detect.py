"""Second stage: find the markers in the blocks that are due, and the kit in view.

A picture is divided into *blocks* of 8 x 8 px. Blocks are *due* if the picture differs there from
what was read before. If few blocks are due and the board has not moved, only these parts of the
picture are searched. Elsewhere the markers of the *reference* still hold, which is an earlier look
at the same board. Otherwise the whole picture is searched.

Limits without a source were chosen by trial on rendered tables. `make bench ARGS=reading` counts
what is read with them, and how long it takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from companion.core.kit import Kit
from vision.detection.markers import (
    NORMAL,
    THOROUGH,
    Luma,
    MarkerFinder,
    Sighting,
    boxes_around,
    is_large,
    remove_shadows,
    scan_parts,
    scan_quickly,
)
from vision.detection.rectified_search import find_missed_corners
from vision.detection.stillness import dilate_blocks
from vision.pieces.regions import extend_by_markers
from vision.pose.pose import Points, corner_points_mm, fit_pose, middle_mm
from vision.reading.locate import confirm_board
from vision.reading.look import NO_SQUARES, Look, Memory

# Maximum shift in px of the corners of a corner marker that has not moved. Larger: a small push of
# the board goes unnoticed. Smaller: noise has the pose confirmed again and again.
_MAX_SHIFT_PX = 0.3

# Maximum share of the picture that is searched in parts. Searching many parts takes longer than one
# quick scan of everything.
_MAX_PART_SHARE = 0.35

# Window in px for removing shadows. It is as wide as two to four modules (the printed squares) of a
# board's markers. Measured under blinds: 13 and 27 px find fewer markers.
_SHADOW_WINDOW_PX = 19

# Margin around the due blocks, in sides of a tag (a piece's marker) in the middle of the board.
_BOX_MARGIN_TAGS = 0.5

# Minimum side of markers that are searched around the due blocks, in the same unit. It is less than
# 1, because tags at the far end of the board are smaller than in its middle.
_MIN_SIDE_TAGS = 0.4


def detect(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find the markers of the picture and the kit in view.

    Search only the blocks that are due, or the whole picture if the board may have moved.
    """
    if look.due_blocks is not None and memory.reference is not None:
        partial = _detect_in_parts(look, memory, memory.reference)
        if partial is not None:
            return partial
    kit, sightings = _detect_in_all(look, memory)
    look = replace(look, due_blocks=None, kit=kit, sightings=sightings)
    return look, replace(memory, given_up_squares=NO_SQUARES, failed_attempts={})


def shows_board(luma: Luma, memory: Memory) -> bool:
    """Return whether at least two corner markers of one board are found.

    The picture is scanned quickly, and as a whole only if that finds no marker at all.
    """
    sightings = scan_quickly(luma) or MarkerFinder().find(luma).sightings
    ids = {sighting.marker for sighting in sightings}
    return any(len(ids & set(kit.board.corners)) >= 2 for kit in memory.kits.values())


def corners_among(kit: Kit, sightings: Iterable[Sighting]) -> dict[int, Points]:
    """Return the corners (4, 2) px of the board's corner markers, by id."""
    corners = {}
    for sighting in sightings:
        if sighting.marker in kit.board.corners:
            corners[sighting.marker] = sighting.corners_px
    return corners


# ---- all of the picture --------------------------------------------------------------------------


def _detect_in_all(look: Look, memory: Memory) -> tuple[Kit | None, tuple[Sighting, ...]]:
    """Return the kit in view, or None, and all markers of the picture.

    Searches at a reduced size first, and then at full size if corners or pieces are missing. A
    thorough reader searches at full size at once.
    """
    luma = look.luma
    quick = None if memory.is_thorough else scan_quickly(luma)
    if quick is not None:
        kit = _kit_in_view(quick, memory)
        if kit is not None and len(corners_among(kit, quick)) >= _min_corners(luma, memory):
            if look.is_still and not kit.deck and not _has_all_pieces(kit, quick):
                # Some pieces may be too small at a reduced size: search again at full size.
                quick = _add_new(quick, MarkerFinder().find(luma).sightings)
            return kit, _add_missed_corners(luma, kit, quick, memory)
    windows = THOROUGH if memory.is_thorough else NORMAL
    sightings = MarkerFinder(windows=windows).find(luma).sightings
    kit = _kit_in_view(sightings, memory)
    if kit is None or len(corners_among(kit, sightings)) < 2:
        # Shadows with sharp edges may spoil the outlines of markers: search again without shadows.
        even = remove_shadows(luma, _SHADOW_WINDOW_PX)
        sightings = _add_new(sightings, scan_quickly(even) or ())
        kit = _kit_in_view(sightings, memory)
    return kit, _add_missed_corners(luma, kit, sightings, memory) if kit else sightings


def _min_corners(luma: Luma, memory: Memory) -> int:
    """Return the number of corner markers that a quick scan has to find to be enough."""
    if is_large(luma):
        return 2
    # A quick scan reduces the picture. In a small picture, some corners are too small then.
    return max(3, memory.pose.markers if memory.pose else 0)


def _add_new(sightings: tuple[Sighting, ...], more: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """Return `sightings`, and the sightings among `more` whose ids are new."""
    known = {sighting.marker for sighting in sightings}
    return (*sightings, *(sighting for sighting in more if sighting.marker not in known))


def _kit_in_view(sightings: Iterable[Sighting], memory: Memory) -> Kit | None:
    """Return the kit with the most corner markers in view. The active kit wins a tie.

    If no corner marker is in view, this is the last kit, or None if there was none.
    """
    ids = {sighting.marker for sighting in sightings}
    kits = dict(memory.kits)
    if memory.active_kit is not None:
        kits[memory.active_kit.game] = memory.active_kit

    def rank(kit: Kit) -> tuple[int, bool]:
        return len(ids & set(kit.board.corners)), kit is memory.active_kit

    best = max(kits.values(), key=rank, default=None)
    if best is None or not ids & set(best.board.corners):
        return memory.last_kit
    return best


def _has_all_pieces(kit: Kit, sightings: Iterable[Sighting]) -> bool:
    # `Kit.tags` has the faces of each piece, and the marker of each face. Only one face is up.
    ids = {sighting.marker for sighting in sightings}
    return all(any(marker in ids for _, marker in tag) for tag in kit.tags)


def _add_missed_corners(
    luma: Luma, kit: Kit, sightings: tuple[Sighting, ...], memory: Memory
) -> tuple[Sighting, ...]:
    """Add corner markers that the scan missed, if at least one was found."""
    corners = corners_among(kit, sightings)
    if not 1 <= len(corners) < len(kit.board.corners):
        return sightings
    # A rough pose from the corners that were found predicts where to search.
    points_mm = np.vstack([corner_points_mm(kit.board, marker) for marker in corners])
    size = (luma.shape[1], luma.shape[0])
    points_px = np.vstack(list(corners.values()))
    lens = memory.location.lens_estimate.lens
    pose = fit_pose(points_mm, points_px, lens, size)
    more = find_missed_corners(kit.board, pose, luma, corners) if pose else ()
    sightings = (*sightings, *more)
    if more and len(corners) == 1:
        # One corner predicts the others badly. Search again, because two predict the rest better.
        return _add_missed_corners(luma, kit, sightings, memory)
    return sightings


# ---- the parts that have changed -----------------------------------------------------------------


def _detect_in_parts(look: Look, memory: Memory, reference: Look) -> tuple[Look, Memory] | None:
    """Find markers in the blocks that are due, and keep those of the reference elsewhere.

    Returns None if this is not enough: if the reference has no board, if too many blocks are due,
    or if the board may have been moved or replaced.
    """
    assert look.due_blocks is not None
    kit = reference.kit
    pose = reference.pose
    luma = look.luma
    if kit is None or pose is None:
        return None

    # The side of a tag in the middle of the board.
    tag_px = kit.tag_mm * float(pose.px_per_mm(middle_mm(kit.board))[0])
    # Markers that reach into the due blocks are searched for again as a whole.
    blocks, touched = extend_by_markers(dilate_blocks(look.due_blocks), reference.sightings)
    boxes = boxes_around(blocks, _BOX_MARGIN_TAGS * tag_px, luma)
    searched_px = 0
    for box in boxes:
        searched_px += luma[box].size
    if searched_px > _MAX_PART_SHARE * luma.size:
        return None

    # Markers outside the due blocks have not moved.
    unmoved = list(reference.sightings)
    for sighting in touched:
        unmoved.remove(sighting)

    new = []
    foreign_ids = set[int]()
    for other_kit in memory.kits.values():
        if other_kit.game != kit.game:
            foreign_ids.update(other_kit.board.corners)
    for sighting in scan_parts(luma, boxes, _MIN_SIDE_TAGS * tag_px):
        if sighting.marker in foreign_ids:
            # A corner marker of another kit: another board is being put on the table.
            return None
        if not any(map(sighting.is_same, unmoved)):
            new.append(sighting)
    sightings = (*unmoved, *new)

    # If corner markers in the due blocks are not where they were, the board may have moved.
    if not _is_unmoved(kit, unmoved, new, touched):
        location = confirm_board(memory.location, kit.board, sightings)
        if location is None:
            return None
        memory = replace(memory, location=location)

    look = replace(
        look,
        reference=reference,
        kit=kit,
        pose=pose,
        sightings=sightings,
        outdated_sightings=frozenset(touched),
    )
    return look, memory


def _is_unmoved(
    kit: Kit, unmoved: Iterable[Sighting], new: Iterable[Sighting], touched: Iterable[Sighting]
) -> bool:
    """Return whether the corner markers that are still seen show that the board has not moved.

    `touched` are the markers of the reference in the due blocks, `new` the markers that are there
    now, and `unmoved` the markers outside of these blocks. One of the latter at least has to be a
    corner marker.
    """
    before = corners_among(kit, touched)
    for marker, corners_px in corners_among(kit, new).items():
        old_px = before.get(marker)
        if old_px is None or np.abs(corners_px - old_px).max() > _MAX_SHIFT_PX:
            return False
    return bool(corners_among(kit, unmoved))
