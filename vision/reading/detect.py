"""Second stage: the markers in what is due, and whose board they show."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from companion.core.kit import Kit
from vision.detection.marker_scan import area_of, boxes_of, is_large
from vision.detection.markers import Found, Luma, Sighting
from vision.pieces.regions import grown, touched_by, with_markers
from vision.pieces.tags import tags_of
from vision.pose.pose import Points, corner_points_mm, nearest_pose, rough_pose
from vision.reading.look import Look, Memory

_UNMOVED_PX = 0.3
"""A corner marker that is found this close to where it was has not moved."""
_PART = 0.35
"""When more than this share of the picture would be looked at again, all of it is."""


def detect(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find markers in the blocks that are due; in all of the picture where the board may lie elsewhere."""
    if look.due is not None and memory.last is not None and memory.placer is not None:
        part = _in_parts(look, memory, memory.last)
        if part is not None:
            return part, memory
    kit, sightings = _in_all(look, memory)
    look = replace(look, due=None, kit=kit, sightings=sightings)
    return look, replace(memory, resigned=frozenset(), times={})


def shows_board(luma: Luma, memory: Memory) -> bool:
    """Tell whether two corner markers or more of one board are in a picture, at a quick look."""
    ids = {sighting.marker for sighting in _quick(luma, memory).sightings}
    return any(len(ids & set(kit.board.corners)) >= 2 for kit in memory.kits.values())


def shows_board_in_place(luma: Luma, memory: Memory) -> bool:
    """Tell whether they are those of the board that was in view last, where they were then."""
    if memory.kit is None:
        return False
    corners = corners_among(memory.kit, _quick(luma, memory).sightings)
    return memory.locator.is_in_place(corners, (luma.shape[1], luma.shape[0]))


def _quick(luma: Luma, memory: Memory) -> Found:
    return memory.scanner.quickly(luma) or memory.scanner.whole(luma)


def corners_among(kit: Kit, sightings: Iterable[Sighting]) -> dict[int, Points]:
    """Return the places (4, 2) of the board's corner markers, by id."""
    return {s.marker: s.corners_px for s in sightings if s.marker in kit.board.corners}


# ---- all of the picture ----------------------------------------------------------------------------------------------


def _in_all(look: Look, memory: Memory) -> tuple[Kit | None, tuple[Sighting, ...]]:
    """Find the kit in view and the markers: in half the size first, in full where that misses corners or pieces."""
    luma, scanner = look.luma, memory.scanner
    quick, before = scanner.quickly(luma), memory.pose.markers if memory.pose else 0
    least = 2 if is_large(luma) else max(3, before)
    kit = _kit_in_view(quick.sightings, memory) if quick else None
    if quick is not None and kit is not None and len(corners_among(kit, quick.sightings)) >= least:
        found = quick.sightings
        if look.still and not kit.deck and not _has_all_pieces(kit, found):
            found = (*found, *_others(scanner.whole(luma).sightings, found))
        return kit, _with_corners(luma, kit, found, memory)
    found = scanner.whole(luma).sightings
    kit = _kit_in_view(found, memory)
    if kit is None or len(corners_among(kit, found)) < 2:
        found = (*found, *_others(scanner.with_effort(luma).sightings, found))
        kit = _kit_in_view(found, memory)
    return kit, _with_corners(luma, kit, found, memory) if kit else found


def _kit_in_view(sightings: Iterable[Sighting], memory: Memory) -> Kit | None:
    """Return the kit whose corner markers are seen most, the active one in doubt; the last one when none is seen."""
    ids = {sighting.marker for sighting in sightings}
    kits = dict(memory.kits)
    if memory.active is not None:
        kits[memory.active.game] = memory.active
    best = max(kits.values(), key=lambda k: (len(ids & set(k.board.corners)), k is memory.active), default=None)
    if best is None or not ids & set(best.board.corners):
        return memory.kit
    return best


def _has_all_pieces(kit: Kit, sightings: Iterable[Sighting]) -> bool:
    ids = {sighting.marker for sighting in sightings}
    return all(any(marker in ids for _, marker in tag) for tag in tags_of(kit))


def _with_corners(luma: Luma, kit: Kit, found: tuple[Sighting, ...], memory: Memory) -> tuple[Sighting, ...]:
    """Add corner markers that the picture does not show by itself, when there is one at least to go by."""
    corners = corners_among(kit, found)
    if not 1 <= len(corners) < len(kit.board.corners):
        return found
    points_mm = np.vstack([corner_points_mm(kit.board, marker) for marker in corners])
    size = (luma.shape[1], luma.shape[0])
    solve = rough_pose if len(corners) > 2 else nearest_pose
    pose = solve(points_mm, np.vstack(list(corners.values())), memory.locator.lens, size)
    more = memory.closer.corners(kit.board, pose, luma, corners) if pose else ()
    # A single corner says little about where the others are: a second one tells better.
    return _with_corners(luma, kit, found + more, memory) if more and len(corners) == 1 else found + more


def _others(sightings: Iterable[Sighting], known: Collection[Sighting]) -> tuple[Sighting, ...]:
    """Return those whose markers are not known yet."""
    ids = {sighting.marker for sighting in known}
    return tuple(sighting for sighting in sightings if sighting.marker not in ids)


# ---- the parts that have changed -------------------------------------------------------------------------------------


def _in_parts(look: Look, memory: Memory, last: Look) -> Look | None:
    """Find markers in the blocks that are due; None when these are too many, or when the board may have moved."""
    assert look.due is not None
    kit, pose = last.kit, last.pose
    if kit is None or pose is None or memory.locator.is_rough:
        return None
    tag_px = kit.tag_mm * pose.px_per_mm(kit.board.width_mm / 2, kit.board.height_mm / 2)
    wide = grown(look.due)
    touched = touched_by(wide, last.sightings)
    boxes = boxes_of(with_markers(wide, touched), 0.5 * tag_px, look.luma)
    if area_of(boxes) > _PART * look.luma.size:
        return None
    gone = frozenset(id(sighting) for sighting in touched)
    kept = tuple(sighting for sighting in last.sightings if id(sighting) not in gone)
    found = memory.scanner.parts(look.luma, boxes, 0.4 * tag_px).sightings
    new = tuple(s for s in found if not any(_same(s, other) for other in kept))
    if any(s.marker in other.board.corners for s in new for other in memory.kits.values() if other is not kit):
        return None
    if not _is_held(kit, kept, new, touched):
        size = (look.luma.shape[1], look.luma.shape[0])
        if memory.locator.locate(kit, (*kept, *new), size) is not pose:
            return None
    # Next to these blocks things have changed too little to count.
    return replace(look, before=last, kit=kit, pose=pose, sightings=(*kept, *new), gone=gone)


def _is_held(kit: Kit, kept: Iterable[Sighting], new: Iterable[Sighting], touched: Iterable[Sighting]) -> bool:
    """Tell whether corner markers that are still seen say that the board lies where it lay."""
    before = {s.marker: s.corners_px for s in touched if s.marker in kit.board.corners}
    for sighting in new:
        if sighting.marker in kit.board.corners:
            was = before.get(sighting.marker)
            if was is None or np.abs(sighting.corners_px - was).max() > _UNMOVED_PX:
                return False
    return any(sighting.marker in kit.board.corners for sighting in kept)


def _same(one: Sighting, other: Sighting) -> bool:
    """Tell whether these are one marker in one place."""
    return one.marker == other.marker and bool(np.abs(one.centre_px - other.centre_px).max() < other.side_px / 2)
