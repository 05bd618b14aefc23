"""Second stage: find the markers in the blocks that are due, and the kit in view."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from companion.core.kit import Kit
from vision.detection.markers import (
    Luma,
    MarkerFinder,
    Sighting,
    boxes_of,
    is_large,
    scan_parts,
    scan_quickly,
    without_shadows,
)
from vision.detection.rectified_search import lost_corners
from vision.detection.stillness import wider
from vision.pieces.regions import with_markers
from vision.pose.pose import Points, corner_points_mm, nearest_pose
from vision.reading.locate import held
from vision.reading.look import NO_SQUARES, Look, Memory

_MAX_SHIFT_PX = 0.3
"""Maximum shift in px of a corner marker that has not moved."""
_MAX_PART = 0.35
"""Share of the picture above which all of it is searched again."""
_EVENING_PX = 19
"""Window in px for evening the light, two to four modules of a board's markers. Measured under
blinds: 13 and 27 px find fewer markers.
"""


def detect(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find markers in the blocks that are due.

    If the board may have moved, search the whole picture.
    """
    if look.due is not None and memory.last is not None:
        # Search a part of the picture, if the board has not moved.
        part = _in_parts(look, memory, memory.last)
        if part is not None:
            return part
    kit, sightings = _in_all(look, memory)
    look = replace(look, due=None, kit=kit, sightings=sightings)
    return look, replace(memory, resigned=NO_SQUARES, times={})


def shows_board(luma: Luma, memory: Memory) -> bool:
    """Return whether a quick scan finds at least two corner markers of one board."""
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


def _in_all(look: Look, memory: Memory) -> tuple[Kit | None, tuple[Sighting, ...]]:
    """Return the kit in view and the markers.

    Scans at half size first, then at full size if corners or pieces are missing.
    """
    luma = look.luma
    quick = None if memory.thorough else scan_quickly(luma)
    if quick is not None:
        kit, before = _kit_in_view(quick, memory), memory.pose.markers if memory.pose else 0
        # A small picture loses corners when it is halved.
        least = 2 if is_large(luma) else max(3, before)
        if kit is not None and len(corners_among(kit, quick)) >= least:
            if look.still and not kit.deck and not _has_all_pieces(kit, quick):
                # Some pieces may be too small at half size: scan again at full size.
                quick = _add_new(quick, MarkerFinder().find(luma).sightings)
            return kit, _add_lost_corners(luma, kit, quick, memory)
    sightings = MarkerFinder(thorough=memory.thorough).find(luma).sightings
    kit = _kit_in_view(sightings, memory)
    if kit is None or len(corners_among(kit, sightings)) < 2:
        # Sharp edges of shadows join the outlines of markers: scan again in evened light.
        even = without_shadows(luma, _EVENING_PX)
        sightings = _add_new(sightings, scan_quickly(even) or ())
        kit = _kit_in_view(sightings, memory)
    return kit, _add_lost_corners(luma, kit, sightings, memory) if kit else sightings


def _add_new(sightings: tuple[Sighting, ...], more: Iterable[Sighting]) -> tuple[Sighting, ...]:
    """Return `sightings` and those of `more` whose ids are new."""
    known = {sighting.marker for sighting in sightings}
    return (*sightings, *(sighting for sighting in more if sighting.marker not in known))


def _kit_in_view(sightings: Iterable[Sighting], memory: Memory) -> Kit | None:
    """Return the kit with the most corner markers in view. The active kit wins a tie.

    If no corner marker is in view, it is the last kit.
    """
    ids = {sighting.marker for sighting in sightings}
    kits = dict(memory.kits)
    if memory.active is not None:
        kits[memory.active.game] = memory.active
    # The board with the most corners in view. The active kit is the tie-break.
    best = max(
        kits.values(),
        key=lambda k: (len(ids & set(k.board.corners)), k is memory.active),
        default=None,
    )
    if best is None or not ids & set(best.board.corners):
        return memory.kit
    return best


def _has_all_pieces(kit: Kit, sightings: Iterable[Sighting]) -> bool:
    ids = {sighting.marker for sighting in sightings}
    return all(any(marker in ids for _, marker in tag) for tag in kit.tags)


def _add_lost_corners(
    luma: Luma, kit: Kit, sightings: tuple[Sighting, ...], memory: Memory
) -> tuple[Sighting, ...]:
    """Add corner markers that the scan missed, if at least one was found."""
    corners = corners_among(kit, sightings)
    if not 1 <= len(corners) < len(kit.board.corners):
        return sightings
    # A rough pose from the corners that were found predicts where to search.
    points_mm = np.vstack([corner_points_mm(kit.board, marker) for marker in corners])
    size = (luma.shape[1], luma.shape[0])
    points_px, lens = np.vstack(list(corners.values())), memory.located.tuner.lens
    pose = nearest_pose(points_mm, points_px, lens, size)
    more = lost_corners(kit.board, pose, luma, corners) if pose else ()
    # One corner predicts the others badly. With a second one the prediction is better.
    return (
        _add_lost_corners(luma, kit, (*sightings, *more), memory)
        if more and len(corners) == 1
        else (*sightings, *more)
    )


# ---- the parts that have changed -----------------------------------------------------------------


def _in_parts(look: Look, memory: Memory, last: Look) -> tuple[Look, Memory] | None:
    """Find markers in the blocks that are due.

    Returns None if the blocks are too many, or if the board may have moved.
    """
    assert look.due is not None
    kit, pose, luma = last.kit, last.pose, look.luma
    if kit is None or pose is None:
        return None
    middle = np.array([[kit.board.width_mm / 2, kit.board.height_mm / 2, 0.0]])

    # The size of a marker in px.
    tag_px = kit.tag_mm * float(pose.px_per_mm(middle)[0])
    # Markers that reach into the due blocks are searched for again as a whole.
    wide, touched = with_markers(wider(look.due), last.sightings)
    boxes = boxes_of(wide, 0.5 * tag_px, luma)
    area = 0
    for rows, columns in boxes:
        area += (rows.stop - rows.start) * (columns.stop - columns.start)
    if area > _MAX_PART * luma.size:
        return None

    # All others have not moved.
    gone = frozenset(touched)
    unmoved = [*last.sightings]
    for sighting in touched:
        unmoved.remove(sighting)

    # Corner markers of other kits: another board is being put on the table.
    new, foreign = [], set[int]()
    for other in memory.kits.values():
        if other.game != kit.game:
            foreign.update(other.board.corners)
    for sighting in scan_parts(luma, boxes, 0.4 * tag_px):
        if sighting.marker in foreign:
            return None
        if not any(sighting.is_same(other) for other in unmoved):
            new.append(sighting)
    sightings = (*unmoved, *new)

    # Corners in the due blocks may have moved with the board.
    if not _is_unmoved(kit, unmoved, new, touched):
        located = held(memory.located, kit.board, sightings)
        if located is None:
            return None
        memory = replace(memory, located=located)

    # The blocks around the due ones have changed too little to count.
    return replace(look, before=last, kit=kit, pose=pose, sightings=sightings, gone=gone), memory


def _is_unmoved(
    kit: Kit, unmoved: Iterable[Sighting], new: Iterable[Sighting], touched: Iterable[Sighting]
) -> bool:
    """Return whether the corner markers that are still seen show that the board has not moved."""
    before = corners_among(kit, touched)
    for marker, corners_px in corners_among(kit, new).items():
        was = before.get(marker)
        if was is None or np.abs(corners_px - was).max() > _MAX_SHIFT_PX:
            return False
    return bool(corners_among(kit, unmoved))
