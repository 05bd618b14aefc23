"""First stage: detect movement, and choose the blocks of the picture to look at.

A camera's picture of a still table always changes a little. Changes of light and noise are removed
first, see `vision.detection.stillness`. A movement is a cluster of blocks that differ by more. A
faint one has to last for two pictures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Luma
from vision.detection.stillness import (
    BLOCK_PX,
    SAMPLE,
    Background,
    Blocks,
    Noise,
    Small,
    bounds_of,
    exposure_between,
    learn_noise,
    middle_of,
    unexplained,
    wider,
)
from vision.pieces.regions import blocks_over
from vision.pose.pose import Points
from vision.reading.look import EACH, Look, Memory

RELIT = 0.04
"""Relative change of brightness since the whole picture was read, from which all of it is read
again.
"""
_RELIT_FRAMES, _RELIT_AT_ONCE = 5, 0.12
"""Number of frames for which the change has to last, as lamps flicker, or the change that needs no
wait. No flicker of a whole picture is that strong, and beyond it squares look different.
"""
_MIN_CLUSTER, _MIN_CLEAR = 3.0, 6.0
"""Thresholds of a movement and of a clear movement. The squares of the changes, relative to the
noise bound, are summed over three by three blocks.
"""
_MIN_PART = 0.3
"""Minimum squared change of a block in a cluster to count as part of the movement."""
_LIGHT_TOLERANCE = 0.15
"""Share of a change of light by which a block may differ in addition."""
_AVERAGE_WEIGHT = 0.33
"""Weight of a still frame in the running average for the next comparison. Something that moves
slowly runs ahead of its own average.
"""
_MAX_AVERAGED = 12
"""Maximum number of still frames averaged into what a block looked like when it was read."""
_LEARNING_FRAMES, _LEARNING_INTERVAL = 20, 4
"""Number of still frames after which noise is learned less often, and the interval from then on."""
_RETRY_FRAMES = 10
"""Number of still frames after which squares that stayed unknown are looked at again."""


class Movement(NamedTuple):
    """The differences of a picture from those before it."""

    moving: bool
    """Whether it differs from the frames before."""
    drifted: bool
    """Whether it differs from what was read last."""
    places: Points | None
    """(N, 2) px that have moved since the frames before. None if nothing has."""
    changed: Blocks | None
    """(rows, columns): the blocks that differ from what was read last. None if nothing is known of
    them.
    """


def motion(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Compare a picture with those before it. A picture that shows nothing new is known."""
    movement, background = compare(memory.background, look.luma)
    still_frames = 0 if movement.moving else memory.still_frames + 1
    since_look = memory.since_look + 1
    memory = replace(
        memory, background=background, still_frames=still_frames, since_look=since_look
    )
    is_retry_due = since_look >= _RETRY_FRAMES

    # Nothing new: the board is settled, and nothing has changed since.
    settled = memory.settled
    if settled is not None and not movement.moving and not movement.drifted:
        unknown = settled.told.unknown
        if not unknown or (unknown <= memory.resigned and not is_retry_due):
            return replace(look, is_known=True), memory
    if (
        look.may_glance
        and still_frames <= 1
        and movement.changed is not None
        and memory.latest is not None
    ):
        return replace(look, is_known=True), replace(memory, votes=(), settled=None)

    # Something has changed, or the board is not settled yet.
    due, memory = _due(movement, memory, is_retry_due)
    still = not movement.moving or movement.changed is None
    look = replace(look, still=still, moving_px=movement.places, due=due)
    return look, memory


def _due(movement: Movement, memory: Memory, is_retry_due: bool) -> tuple[Blocks | None, Memory]:
    """Return the blocks to look at. None means all of them.

    Blocks that were read while something moved are read again when all is still. So are the unknown
    squares, except those that are given up.
    """
    last = memory.last
    lights = memory.background.lights
    is_relit = len(lights) == _RELIT_FRAMES or (
        bool(lights) and abs(lights[-1] - 1) > _RELIT_AT_ONCE
    )
    if (
        last is None
        or last.kit is None
        or last.pose is None
        or movement.changed is None
        or is_relit
        or memory.located.models
    ):
        return None, memory

    # Blocks where the picture differs from what was read.
    blocks = movement.changed
    wanted = last.unknown if is_retry_due else last.unknown - memory.resigned
    if wanted and not movement.moving:
        # Squares that were asked least often come first: no picture has time for all of a dark
        # board.
        first = sorted(wanted, key=lambda square: (memory.times.get(square, 0), square))
        squares = first[: EACH.closer]
        blocks = blocks | blocks_over(last.kit, last.pose, squares, blocks.shape)

    # Add what was read while something moved.
    fresh = blocks
    if memory.fresh is not None and memory.fresh.shape == blocks.shape:
        fresh = memory.fresh | blocks
    return blocks if movement.moving else fresh, replace(memory, fresh=fresh)


# ---- comparing pictures --------------------------------------------------------------------------


def compare(past: Background, luma: Luma) -> tuple[Movement, Background]:
    """Compare the next (height, width) picture with those before.

    The first one counts as moving.
    """
    now = _block_means(luma)
    if past.read is None or past.read.shape != now.shape:
        return Movement(True, True, None, None), replace(past, now=now, before=now, read=None)

    # Changes of light are removed first, then differences above the noise are searched for.
    exposure = exposure_between(past.read, now)
    rest, shift = unexplained(past.read, now, exposure)
    changed, faint = _find_clusters(past.noise, rest, shift, past.faint_read)
    lights = _lights(past, now)
    background = replace(past, now=now, exposure=exposure, faint_read=faint, lights=lights)
    places, near = None, None
    if changed is None:
        # While nothing differs from what was read last, nothing moves either: one comparison is
        # enough.
        movement = Movement(False, len(lights) == _RELIT_FRAMES, None, np.zeros(now.shape, bool))
        background = _learn_still_picture(background, rest)
    else:
        moving, rest, background = _detect_movement(background, now)
        if moving is not None:
            # Noise is learned, and the picture averaged, only where nothing moves.
            near = wider(moving)
            rows, columns = np.nonzero(moving)
            places = np.column_stack([columns, rows]) * np.float64(BLOCK_PX) + (BLOCK_PX - 1) / 2
        movement = Movement(moving is not None, True, places, changed)

    # The next frame is compared with the running average, except where something has moved.
    average = now - rest * np.float32(1 - _AVERAGE_WEIGHT)
    before = average if near is None else np.where(near, now, average)
    return movement, replace(background, before=before)


def _lights(past: Background, now: Small) -> tuple[float, ...]:
    """Return the brightness of the last pictures, relative to when the whole picture was read."""
    light, lights = 1.0, past.lights
    if past.whole is not None:
        # The median over the blocks. One level more avoids division by zero in black blocks.
        light = middle_of((now[::SAMPLE, ::SAMPLE] + 1) / (past.whole[::SAMPLE, ::SAMPLE] + 1))
    is_lit = abs(light - 1) <= RELIT
    # The history restarts when the brightness returns to normal, or changes in the other direction.
    if is_lit or (lights and (light > 1) != (lights[-1] > 1)):
        lights = ()
    return lights if is_lit else (*lights, light)[-_RELIT_FRAMES:]


def _learn_still_picture(background: Background, rest: Small) -> Background:
    """Update the noise and the averages of the blocks while nothing differs from what was read."""
    assert background.read is not None
    assert background.looks is not None
    calm, noise, read, looks = (
        background.calm + 1,
        background.noise,
        background.read,
        background.looks,
    )
    if calm < _LEARNING_FRAMES or calm % _LEARNING_INTERVAL == 0:
        noise = learn_noise(noise, rest, None)
    # Blocks that average only a few pictures: each further one makes their mean less noisy.
    young = looks < _MAX_AVERAGED
    if young.any():
        read = read + np.where(young, rest / (looks + 1), 0)
        looks = looks + young
    return replace(background, noise=noise, read=read, looks=looks, calm=calm, faint_before=None)


def _detect_movement(background: Background, now: Small) -> tuple[Blocks | None, Small, Background]:
    """Return the blocks that differ from the frames before, or None, and the difference of every
    block.

    The noise of the other blocks is learned.
    """
    assert background.before is not None
    exposure = exposure_between(background.before, now)
    rest, shift = unexplained(background.before, now, exposure)
    moving, faint = _find_clusters(background.noise, rest, shift, background.faint_before)
    noise = learn_noise(background.noise, rest, None if moving is None else wider(moving))
    return moving, rest, replace(background, noise=noise, faint_before=faint)


def _find_clusters(
    noise: Noise, rest: Small, shift: Small, faint: Blocks | None
) -> tuple[Blocks | None, Blocks | None]:
    """Return the connected blocks that changed by more than noise, and the faint ones. None if
    there are no such blocks.

    Blocks that were not `faint` in the frame before have to be clear.
    """
    # A strong change of light may be uneven, so it widens the bounds.
    bounds = bounds_of(noise, rest) + np.float32(_LIGHT_TOLERANCE) * shift

    # Relative to the bound: noise alone rarely exceeds 1.
    share = rest / bounds
    share *= share
    sums = cv2.boxFilter(share, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)

    # Faint clusters, and those that are clear or last for two pictures.
    cores = sums >= _MIN_CLUSTER
    if not cores.any():
        return None, None
    lasting = sums >= _MIN_CLEAR
    if faint is not None and faint.shape == cores.shape:
        lasting |= cores & faint
    near = wider(cores, 3)
    if not lasting.any():
        return None, near

    # Everything connected with a movement belongs to it.
    around = wider(lasting, 5)
    cluster = around & near & (share >= _MIN_PART)
    return cluster, near & ~around


def _block_means(luma: Luma) -> Small:
    """Return the mean of each block, (rows, columns).

    The picture is halved three times, which is much faster in OpenCV than scaling to an eighth. The
    last step uses floats, since a mean is far less noisy than a level.
    """
    height, width = luma.shape
    small: NDArray[Any] = luma
    for factor in (2, 4, BLOCK_PX):
        if factor == BLOCK_PX:
            small = small.astype(np.float32)
        if min(small.shape) > 1 and small.shape[0] > height // BLOCK_PX:
            half = max(1, width // factor), max(1, height // factor)
            small = cv2.resize(small, half, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float32)


def mark_read(past: Background, blocks: Blocks | None = None) -> Background:
    """Use the last picture, or these (rows, columns) blocks of it, as the reference for later
    pictures.
    """
    now, read = past.now, past.read
    if now is None:
        return past
    if read is None or past.exposure is None or past.looks is None or blocks is None:
        looks = np.ones(now.shape, np.float32)
        return replace(past, read=now, whole=now, looks=looks, faint_read=None, lights=())
    # The reference was read in another light: convert the new blocks to that light.
    there = (now - past.exposure.offset) / past.exposure.gain
    read = np.where(blocks, there, read)
    looks = np.where(blocks, np.float32(1), past.looks)
    return replace(past, read=read, looks=looks, faint_read=None)
