"""First stage: detect movement, and choose the blocks of the picture to look at.

A camera's picture of a still table always changes a little. Pictures are compared by *blocks*,
squares of `BLOCK_PX` (8) pixels:

1. Average the brightness in each block.
2. Compare it with what was *read* last, to find what has changed since. Changes of light and noise
   are removed first, see `vision.detection.stillness`. A change is a cluster of blocks that differ
   by more than noise. A faint cluster has to last for two pictures.
3. If something has changed, compare the picture in the same way with a running average of the
   frames just before, to find what moves now.
4. Choose the blocks to read again (`detect_motion`), or skip a picture that shows nothing new.

All arrays have one value for each block, (rows, columns). Brightness is in levels, from 0 to 255.

The limits were chosen by trial on rendered tables with noise, JPEG, flicker and changing lamps:
`tests/bench/reading/stillness.py` counts still tables that seem to move and moves that are missed.
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
    LIGHT_SAMPLING,
    Background,
    BlockMask,
    BlockMeans,
    Noise,
    block_centres_px,
    compensate_light,
    dilate_blocks,
    estimate_light_change,
    fast_median,
    learn_noise,
    noise_bounds,
)
from vision.pieces.regions import blocks_over
from vision.pose.pose import Points
from vision.reading.look import SERIES_BUDGET, Look, Memory

# Relative change of brightness since the whole picture was read, above which all of it is read
# again. Larger: squares are compared with pictures in another light. Smaller: clouds and dimmers
# cause whole pictures to be read.
_MAX_LIGHT_CHANGE = 0.04

# Number of frames for which such a change has to last, as lamps flicker.
_RELIT_FRAMES = 5

# Change of brightness that does not have to last. No flicker of a whole picture is that strong, and
# beyond it squares look different.
_IMMEDIATE_LIGHT_CHANGE = 0.12

# Threshold of a movement: the sum, over three by three blocks, of the squared changes relative to
# the noise bound. One block at its bound counts 1. Larger: pale pieces on pale squares are missed.
# Smaller: noise looks like movement.
_MIN_CLUSTER = 3.0

# Threshold of a clear movement, which counts at once.
_MIN_CLEAR_CLUSTER = 6.0

# Minimum squared change, relative to the noise bound, of a block that belongs to a cluster.
_MIN_MEMBER = 0.3

# Where the light has changed, a block may differ by this share of that change in addition to noise,
# because lamps rarely light all of a table alike.
_LIGHT_TOLERANCE = 0.15

# Weight of a still frame in the running average for the next comparison. Larger: the average
# follows something that moves slowly so closely that the movement is taken for noise.
_AVERAGE_WEIGHT = 0.33

# Maximum number of still frames averaged into what a block looked like when it was read. More of
# them hardly make it less noisy.
_MAX_AVERAGED = 12

# Number of still frames from which noise is learned one by one. Later it is learned less often, to
# save time.
_LEARNING_FRAMES = 20

# Interval in frames at which noise is learned after that.
_LEARNING_INTERVAL = 4

# Number of frames without a reading after which squares that were given up are looked at again: one
# second at ten frames a second.
_RETRY_FRAMES = 10


class Movement(NamedTuple):
    """The differences of a picture from those before it."""

    is_moving: bool
    """Whether it differs from the frames just before it."""
    has_changed: bool
    """Whether it differs from what was read last, in some blocks or in its light."""
    moving_px: Points | None
    """(N, 2): centres in px of the blocks that have moved since the frames before. None if nothing
    has.
    """
    changed_blocks: BlockMask | None
    """(rows, columns) bool: the blocks that differ from what was read last. None if there is no
    earlier picture of this size.
    """


def detect_motion(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Compare a picture with those before it, and choose the blocks to look at.

    A picture that shows nothing new is skipped by all other stages.
    """
    movement, background = compare_pictures(memory.background, look.luma)
    still_frames = 0 if movement.is_moving else memory.still_frames + 1
    frames = memory.frames_since_reading + 1
    memory = replace(
        memory, background=background, still_frames=still_frames, frames_since_reading=frames
    )
    is_retry_due = frames >= _RETRY_FRAMES

    # Nothing new: the board is settled, and nothing has changed since.
    settled = memory.settled_look
    if settled is not None and not movement.is_moving and not movement.has_changed:
        unknown = settled.joint_vote.unknown
        if not unknown or (unknown <= memory.given_up_squares and not is_retry_due):
            return replace(look, is_skipped=True), memory

    # Something moves, or has moved in the frame before, and the picture may be skipped then.
    if (
        look.may_glance
        and still_frames <= 1
        and movement.changed_blocks is not None
        and memory.latest_look is not None
    ):
        return replace(look, is_skipped=True), replace(memory, votes=(), settled_look=None)

    # Something has changed, or the board is not settled yet.
    due_blocks, memory = _due_blocks(movement, memory, is_retry_due)
    # A first picture, which cannot be compared, counts as still here.
    is_still = not movement.is_moving or movement.changed_blocks is None
    look = replace(look, is_still=is_still, moving_px=movement.moving_px, due_blocks=due_blocks)
    return look, memory


def _due_blocks(
    movement: Movement, memory: Memory, is_retry_due: bool
) -> tuple[BlockMask | None, Memory]:
    """Return the blocks to read, (rows, columns) or None for all of them, and the new memory.

    Besides the blocks that have changed, two others are read again when all is still: blocks that
    were read while something moved, and those of unknown squares. Unknown squares that were given
    up have to wait until `is_retry_due`.
    """
    reference = memory.reference

    # All blocks are read if there is nothing to compare with, if the light has changed for long
    # enough or strongly enough, or while a lens model is searched for.
    ratios = memory.background.light_ratios
    is_relit = len(ratios) == _RELIT_FRAMES
    if ratios:
        is_relit |= abs(ratios[-1] - 1) > _IMMEDIATE_LIGHT_CHANGE
    if (
        reference is None
        or reference.kit is None
        or reference.pose is None
        or movement.changed_blocks is None
        or is_relit
        or memory.location.models_tried
    ):
        return None, memory

    # Otherwise these are the blocks where the picture differs from what was read, and the blocks of
    # some unknown squares.
    blocks = movement.changed_blocks
    wanted = reference.unknown_squares
    if not is_retry_due:
        wanted = wanted - memory.given_up_squares
    if wanted and not movement.is_moving:
        # Squares with the fewest attempts come first. If most of the board is unknown, as in the
        # dark, no picture has time for all of it.
        attempts = memory.failed_attempts
        ranked = sorted(wanted, key=lambda square: (attempts.get(square, 0), square))
        squares = ranked[: SERIES_BUDGET.closer_squares]
        blocks = blocks | blocks_over(reference.kit, reference.pose, squares, blocks.shape)

    # Add what was read since the board was last settled.
    unsettled = blocks
    if memory.unsettled_blocks is not None and memory.unsettled_blocks.shape == blocks.shape:
        unsettled = memory.unsettled_blocks | blocks
    due_blocks = blocks if movement.is_moving else unsettled
    return due_blocks, replace(memory, unsettled_blocks=unsettled)


# ---- comparing pictures --------------------------------------------------------------------------


def compare_pictures(past: Background, luma: Luma) -> tuple[Movement, Background]:
    """Compare the next (height, width) picture with those before, and add it to the background.

    The first picture, or the first one of another size, counts as moving.
    """
    current = _block_means(luma)
    if past.as_read is None or past.as_read.shape != current.shape:
        movement = Movement(is_moving=True, has_changed=True, moving_px=None, changed_blocks=None)
        return movement, replace(past, current=current, running_mean=current, as_read=None)

    # Compare with what was read last: remove the change of light, and find what exceeds the noise.
    light_change = estimate_light_change(past.as_read, current)
    residual, light_shift = compensate_light(past.as_read, current, light_change)
    changed_blocks, faint = _find_clusters(
        past.noise, residual, light_shift, past.faint_since_reading
    )
    ratios = _light_ratios(past, current)
    background = replace(
        past,
        current=current,
        light_change=light_change,
        faint_since_reading=faint,
        light_ratios=ratios,
    )

    # Compare with the frames just before. This is only needed if something has changed, because
    # otherwise nothing moves, either.
    moving_blocks = None
    if changed_blocks is None:
        background = _learn_still_picture(background, residual)
    else:
        moving_blocks, residual, background = _detect_movement(background, current)
    movement = Movement(
        is_moving=moving_blocks is not None,
        has_changed=changed_blocks is not None or len(ratios) == _RELIT_FRAMES,
        moving_px=None if moving_blocks is None else block_centres_px(moving_blocks),
        changed_blocks=np.zeros(current.shape, bool) if changed_blocks is None else changed_blocks,
    )

    # The next frame is compared with a running average: what was expected, plus a share of the
    # residual. Where something moves, it is compared with this frame itself.
    mean = current - residual * np.float32(1 - _AVERAGE_WEIGHT)
    if moving_blocks is not None:
        mean = np.where(dilate_blocks(moving_blocks), current, mean)
    return movement, replace(background, running_mean=mean)


def _light_ratios(past: Background, current: BlockMeans) -> tuple[float, ...]:
    """Return the brightness of the last pictures, relative to when the whole picture was read.

    There is one ratio for each picture since the light has changed, oldest first. If the light has
    not changed, there are none.
    """
    ratio = 1.0
    ratios = past.light_ratios
    if past.whole_as_read is not None:
        # The median over some blocks. One level more avoids division by zero in black blocks.
        sampling = slice(None, None, LIGHT_SAMPLING)
        before = past.whole_as_read[sampling, sampling]
        now = current[sampling, sampling]
        ratio = fast_median((now + 1) / (before + 1))
    if abs(ratio - 1) <= _MAX_LIGHT_CHANGE:
        return ()
    # The history restarts when the brightness changes in the other direction.
    if ratios and (ratio > 1) != (ratios[-1] > 1):
        ratios = ()
    return (*ratios, ratio)[-_RELIT_FRAMES:]


def _learn_still_picture(background: Background, residual: BlockMeans) -> Background:
    """Update the noise and the averages of the blocks while nothing differs from what was read.

    `residual` (rows, columns) is the difference from `as_read` that light does not explain.
    """
    assert background.as_read is not None
    assert background.averaged_pictures is not None
    unchanged = background.unchanged_pictures + 1
    noise = background.noise
    as_read = background.as_read
    averaged = background.averaged_pictures
    if unchanged < _LEARNING_FRAMES or unchanged % _LEARNING_INTERVAL == 0:
        noise = learn_noise(noise, residual, None)
    # Where only a few pictures were averaged, each further one makes the mean less noisy.
    is_young = averaged < _MAX_AVERAGED
    if is_young.any():
        as_read = as_read + np.where(is_young, residual / (averaged + 1), 0)
        averaged = averaged + is_young
    return replace(
        background,
        noise=noise,
        as_read=as_read,
        averaged_pictures=averaged,
        unchanged_pictures=unchanged,
        faint_since_last=None,
    )


def _detect_movement(
    background: Background, current: BlockMeans
) -> tuple[BlockMask | None, BlockMeans, Background]:
    """Compare the current blocks with the running mean of the frames before, and learn the noise.

    Returns the moving blocks or None, the difference of every block that light does not explain,
    and the updated background. Noise is learned only where nothing moves.
    """
    assert background.running_mean is not None
    light_change = estimate_light_change(background.running_mean, current)
    residual, light_shift = compensate_light(background.running_mean, current, light_change)
    noise = background.noise
    moving_blocks, faint = _find_clusters(noise, residual, light_shift, background.faint_since_last)
    noise = learn_noise(
        noise, residual, None if moving_blocks is None else dilate_blocks(moving_blocks)
    )
    return moving_blocks, residual, replace(background, noise=noise, faint_since_last=faint)


def _find_clusters(
    noise: Noise, residual: BlockMeans, light_shift: BlockMeans, faint: BlockMask | None
) -> tuple[BlockMask | None, BlockMask | None]:
    """Return the connected blocks that changed by more than noise, and the faintly changed ones.

    Either is None if there are no such blocks. `residual` and `light_shift` are those of
    `compensate_light`. A cluster counts at once if it is clear, otherwise only where blocks were
    already `faint` in the frame before.
    """
    # A strong change of light may be uneven, so it widens the bounds.
    bounds = noise_bounds(noise, residual) + np.float32(_LIGHT_TOLERANCE) * light_shift

    # The squared difference relative to the bound. Noise alone rarely exceeds 1.
    power = residual / bounds
    power *= power
    sums = cv2.boxFilter(power, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)

    # Faint clusters, and those that are clear or last for two pictures.
    cores = sums >= _MIN_CLUSTER
    if not cores.any():
        return None, None
    lasting = sums >= _MIN_CLEAR_CLUSTER
    if faint is not None and faint.shape == cores.shape:
        lasting |= cores & faint
    near = dilate_blocks(cores)
    if not lasting.any():
        return None, near

    # Everything connected with a movement belongs to it.
    around = dilate_blocks(lasting, 5)
    cluster = around & near & (power >= _MIN_MEMBER)
    return cluster, near & ~around


def _block_means(luma: Luma) -> BlockMeans:
    """Return the mean of each block of a (height, width) picture, (rows, columns) float32.

    The picture is halved three times, which is much faster in OpenCV than scaling to an eighth. The
    last step uses floats, since a mean is far less noisy than a level.
    """
    height, width = luma.shape
    small: NDArray[Any] = luma
    for factor in (2, 4, BLOCK_PX):
        if factor == BLOCK_PX:
            small = small.astype(np.float32)
        if min(small.shape) > 1 and small.shape[0] > height // BLOCK_PX:
            size = max(1, width // factor), max(1, height // factor)
            small = cv2.resize(small, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float32)


def mark_read(past: Background, blocks: BlockMask | None = None) -> Background:
    """Return the background after the last picture was read, so that later ones are compared to it.

    If `blocks` (rows, columns) are given, only these blocks were read.
    """
    current = past.current
    as_read = past.as_read
    light_change = past.light_change
    averaged = past.averaged_pictures
    if current is None:
        return past
    if as_read is None or light_change is None or averaged is None or blocks is None:
        return replace(
            past,
            as_read=current,
            whole_as_read=current,
            averaged_pictures=np.ones(current.shape, np.float32),
            faint_since_reading=None,
            light_ratios=(),
        )
    # All of `as_read` is in the light in which the whole picture was read. Convert the new blocks
    # to that light.
    in_old_light = (current - light_change.offset) / light_change.gain
    as_read = np.where(blocks, in_old_light, as_read)
    averaged = np.where(blocks, np.float32(1), averaged)
    return replace(past, as_read=as_read, averaged_pictures=averaged, faint_since_reading=None)
