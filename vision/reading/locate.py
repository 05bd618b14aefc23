"""Third stage: where the board is, and of which squares that is not sure enough."""

from __future__ import annotations

from dataclasses import replace

from vision.pieces.vague_squares import vague_squares
from vision.reading.look import Look, Memory


def locate(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Find the pose from the corner markers, sharpened by printed lines where some are hidden or the lens misfits."""
    if look.kit is None:
        # Something hides the board: as long as any marker is seen it may still lie there.
        return look, memory if look.sightings else replace(memory, pose=None)
    pose = look.pose
    if look.before is None:
        pose = memory.locator.locate(look.kit, look.sightings, (look.luma.shape[1], look.luma.shape[0]))
        if pose is not None:
            pose = memory.locator.align(look.luma, look.kit.board)
    memory = replace(memory, pose=pose)
    if pose is None:
        return look, memory
    if memory.vague is None or memory.vague[0] is not pose:
        vague = memory.locator.unconfirmed | vague_squares(look.kit.board, pose)
        memory = replace(memory, vague=(pose, vague))
    assert memory.vague is not None
    return replace(look, pose=pose, vague=memory.vague[1]), memory
