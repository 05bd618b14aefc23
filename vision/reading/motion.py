"""First stage: does anything move, and which blocks of the picture are to be looked at?"""

from __future__ import annotations

from dataclasses import replace

from vision.detection.motion import RELIT, Blocks, Stir
from vision.pieces.regions import blocks_over
from vision.reading.look import Look, Memory

_RETRY_FRAMES = 10
"""After so many still frames squares that stayed unknown are looked at again."""


def motion(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Compare a picture with those before it. One that shows nothing new is known."""
    stir = memory.motion.see(look.luma)
    still_frames = 0 if stir.moving else memory.still_frames + 1
    memory = replace(memory, still_frames=still_frames, since_look=memory.since_look + 1)
    settled = memory.settled
    if settled is not None and not stir.moving and not stir.drifted:
        unknown = settled.told.unknown
        if not unknown or (unknown <= memory.resigned and not is_retry_due(memory)):
            return replace(look, is_known=True), memory
    if look.may_glance and still_frames <= 1 and stir.changed is not None and memory.latest is not None:
        return replace(look, is_known=True), replace(memory, votes=(), settled=None)
    due, memory = _due(stir, memory)
    still = not stir.moving or stir.changed is None
    return replace(look, still=still, moving_px=stir.places, due=due), memory


def is_retry_due(memory: Memory) -> bool:
    """Tell whether nothing has been looked at for so long that unknown squares are asked again."""
    return memory.since_look >= _RETRY_FRAMES


def _due(stir: Stir, memory: Memory) -> tuple[Blocks | None, Memory]:
    """Return which blocks to look at; None: all of them.

    What was read while something moved is read once more when all is still, and so is what stayed unknown, but for the
    squares of which no more is to be learned.
    """
    last = memory.last
    if last is None or last.kit is None or last.pose is None or stir.changed is None or abs(stir.light - 1) > RELIT:
        return None, memory
    blocks = stir.changed
    wanted = last.unknown if is_retry_due(memory) else last.unknown - memory.resigned
    if wanted and not stir.moving:
        blocks = blocks | blocks_over(last.kit, last.pose, wanted, blocks.shape)
    fresh = blocks
    if memory.fresh is not None and memory.fresh.shape == blocks.shape:
        fresh = memory.fresh | blocks
    return blocks if stir.moving else fresh, replace(memory, fresh=fresh)
