"""Models how pictures of a still table differ: changes of light, sensor noise, codec steps.

Pictures are compared by the mean brightness of blocks of `BLOCK_PX` pixels:

1. Estimate how the light has changed: exposure, lamps, bands (`estimate_light_change`).
2. Compensate for that change. What remains is the *residual* (`compensate_light`).
3. A residual within the bound of its block is noise (`noise_bounds`). Anything larger is a change
   of the scene, see `vision.reading.motion`.
4. Learn the bounds from blocks in which nothing moves (`learn_noise`). The noise of the whole
   picture limits them, so a hand that trembles in one place for long does not become noise.

A *codec step* is the sudden change of a single block that a video codec causes when it codes the
block anew. A *level* is one step of brightness, from 0 to 255.

The limits were chosen by trial on rendered still tables: noise, JPEG, video codecs, flicker and
lamps are in `tests/bench/reading/sensors.py`. With higher noise bounds pale pieces are missed, with
lower ones there seems to be movement where there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

# Side of a block in px, the size of a block in JPEG. It averages noise over 64 pixels and is still
# smaller than a piece.
BLOCK_PX = 8

# Mean brightness of each block, or a difference of it, in levels: (rows, columns) float32.
BlockMeans = NDArray[np.float32]

# Mask of the blocks of a picture: (rows, columns) bool.
BlockMask = NDArray[np.bool_]

# ---- light ----

# Sampling interval of rows and columns of blocks when the light of a whole picture is estimated.
# One block in 36 is enough for a median, and saves time.
LIGHT_SAMPLING = 6

# Level above which a block may be saturated: a few of its pixels are at 255.
_SATURATED = 245.0

# Minimum difference in levels between the dark and the bright third of a picture, from which a gain
# can be told from an offset. With less contrast the gain is mostly noise.
_MIN_CONTRAST = 25.0

# The light counts as unchanged if the median block differs by less than this. So small a difference
# never makes a block count as changed.
_MAX_SAME_LIGHT = 0.5

# Minimum and maximum gain of a change of light. Beyond them something is in front of the camera.
_GAINS = 0.5, 2.0

# Maximum offset in levels of a change of light.
_MAX_OFFSET = 20.0

# An offset of fewer levels does not disturb the gains of the rows.
_SMALL_OFFSET = 1.0

# Minimum brightness by which a block is divided, because a ratio of black blocks is all noise.
_MIN_BRIGHTNESS = 4.0

# Number of rows of blocks over which gains are averaged. Bands of lamps are wider.
_SMOOTH_ROWS = 5

# A global gain and offset are used only if their residual is below this share of the residual of
# the row gains. Otherwise a hand that covers much of the picture would look like a change of light.
_MAX_RESIDUAL_RATIO = 0.8

# ---- noise ----

# Minimum noise bound of a block in levels. No smaller change ever counts.
_MIN_BOUND = 3.5

# Maximum noise bound of a block in levels. Any larger change counts. Larger: pale pieces are missed
# before a noisy camera.
_MAX_BOUND = 16.0

# Noise bound in standard deviations of a block's noise. A picture has thousands of blocks, so
# chance must exceed this bound less than once in a million.
_BOUND_SIGMAS = 5.0

# Minimum noise bound in codec steps. Two steps of a block may add up to 2, but seldom do.
_BOUND_STEPS = 1.75

# Three quarters of Gaussian values are within this many standard deviations of the mean.
_THIRD_QUARTILE = 1.15

# Half of Gaussian values are within this many standard deviations of the mean.
_MEDIAN_DEVIATION = 0.6745

# Assumed ratio of a block's noise to the typical noise, before anything is learned.
_INITIAL_RATIO = 1.5

# Number of frames over which the noise is averaged. Larger: it follows a change of the camera's
# gain more slowly.
_AVERAGED_FRAMES = 16

# Upper limit of a block's standard deviation, as a multiple of the picture's. Of this limit and the
# next two, the largest counts.
_MAX_NOISE_RATIO = 3.0

# The same, as a share of a codec step.
_STEP_SHARE = 0.6

# The same, in levels.
_MIN_NOISE_CAP = 0.8

# Minimum change of a block that may be a codec step, in standard deviations of the picture. No
# neighbour of the block changes as much.
_MIN_JUMP_SIGMAS = 4.0

# The same, in levels.
_MIN_JUMP = 1.0

# Minimum number of single jumps in a picture before they count as codec steps. Fewer may be chance.
_MIN_JUMPS = 12

# Maximum codec step in levels, so that the noise bound stays below `_MAX_BOUND`.
_MAX_STEP = 9.0

# Learning rate for larger codec steps.
_RISE_RATE = 0.5

# Learning rate for smaller codec steps. The estimate falls slowly, because steps may only seem
# smaller where frames are averaged.
_FALL_RATE = 0.03

# Maximum factor by which the picture's noise grows from frame to frame. A hand that comes in must
# not count as noise.
_MAX_GROWTH = 1.5

# Levels by which it may grow in addition, for a picture without noise.
_GROWTH_LEVELS = 0.1

# Minimum share of the picture without movement from which noise is learned.
_MIN_STILL_SHARE = 0.5

# Changes are noise if the correlation of neighbouring blocks is below this. Independent noise has a
# correlation of 0, objects of many blocks one near 1.
_MIN_CORRELATION = 0.15

# Minimum share of the picture that must have changed for the test of this correlation, which is not
# reliable for a few blocks.
_MIN_MOVED_SHARE = 0.02


def dilate_blocks(blocks: BlockMask, side: int = 3) -> BlockMask:
    """Return these blocks and their neighbours, within squares of `side` blocks around each."""
    return np.asarray(cv2.dilate(blocks.view(np.uint8), np.ones((side, side), np.uint8)), bool)


def block_centres_px(blocks: BlockMask) -> NDArray[np.float64]:
    """Return (N, 2): the centres (x, y) in the picture of these N blocks."""
    rows, columns = np.nonzero(blocks)
    # The centre of the first pixel is (0, 0).
    return np.column_stack([columns, rows]) * np.float64(BLOCK_PX) + (BLOCK_PX - 1) / 2


class LightChange(NamedTuple):
    """Change of light from one picture to another: now = before * gain + offset."""

    gain: BlockMeans
    """(rows, 1): the gain of each row of blocks."""
    offset: BlockMeans
    """(rows, 1): the offset of each row of blocks, in levels."""


def estimate_light_change(before: BlockMeans, now: BlockMeans) -> LightChange:
    """Estimate the change of light from `before` to `now`, both (rows, columns).

    Changes in less than half of the picture are ignored.

    Each row of blocks has its own gain: lamps on alternating current light a picture in bands,
    because its rows are exposed one after the other. From what these gains do not explain, a gain
    and an offset of the whole picture are estimated, by the medians of the dark and of the bright
    third of all blocks. A hand that covers half of a third distorts its median. Gain and offset are
    therefore used only if they explain most of the picture much better than the row gains alone.
    """
    sampling = slice(None, None, LIGHT_SAMPLING)
    if fast_median(np.abs(now[sampling, sampling] - before[sampling, sampling])) < _MAX_SAME_LIGHT:
        return LightChange(np.ones((len(now), 1), np.float32), np.zeros((len(now), 1), np.float32))

    # Row gains, from every fourth block.
    row_gains = _estimate_row_gains(before[:, 2::4], now[:, 2::4])
    by_rows = LightChange(row_gains, np.zeros_like(row_gains))
    # The remaining change may be a global gain and offset.
    predicted = (before[sampling, sampling] * row_gains[sampling]).ravel()
    gain, offset = _estimate_gain_and_offset(predicted, now[sampling, sampling].ravel())
    by_both = LightChange(
        (row_gains * np.float32(gain)).clip(*_GAINS), np.full_like(row_gains, offset)
    )
    if abs(offset) >= _SMALL_OFFSET:
        # The offset distorted the row gains, so estimate them again without it.
        correction = _estimate_row_gains(
            before[:, 2::4] * by_both.gain + by_both.offset, now[:, 2::4]
        )
        by_both = LightChange((by_both.gain * correction).clip(*_GAINS), by_both.offset)

    # Which of the two models leaves the smaller median residual?
    residuals = []
    for gains, offsets in (by_both, by_rows):
        predicted = before[sampling, sampling] * gains[sampling] + offsets[sampling]
        residuals.append(fast_median(np.abs(now[sampling, sampling] - predicted)))
    residual_of_both, residual_of_rows = residuals
    return by_both if residual_of_both < _MAX_RESIDUAL_RATIO * residual_of_rows else by_rows


def _estimate_row_gains(before: BlockMeans, now: BlockMeans) -> BlockMeans:
    """Return (rows, 1): the gain of each row, from its median and smoothed over rows."""
    # The median of each row, by partition.
    ratios = now / np.maximum(before, np.float32(_MIN_BRIGHTNESS))
    middle = ratios.shape[1] // 2
    rows = np.partition(ratios, middle, axis=1)[:, middle].clip(*_GAINS)
    # A band is wider than a few rows.
    smooth = cv2.blur(rows[:, None], (1, _SMOOTH_ROWS), borderType=cv2.BORDER_REPLICATE)
    return np.asarray(smooth, np.float32)


def _estimate_gain_and_offset(before: BlockMeans, now: BlockMeans) -> tuple[float, float]:
    """Return gain and offset between two sets of blocks (N,), from their dark and bright thirds."""
    # Saturated blocks contain no information about the light. Keep them only if they are three
    # quarters or more.
    clear = (before < _SATURATED) & (now < _SATURATED)
    if np.count_nonzero(clear) > before.size // 4:
        before = before[clear]
        now = now[clear]
    order = np.argsort(before)
    third = before.size // 3
    dark = order[:third]
    bright = order[-third:]

    # The medians of both thirds, before and now. `dark` and `bright` are sorted by `before`.
    dark_before = float(before[dark[third // 2]])
    bright_before = float(before[bright[third // 2]])
    if bright_before - dark_before < _MIN_CONTRAST:
        # There is too little contrast for a gain, so estimate an offset only.
        offset = fast_median(now - before)
        return 1.0, float(np.clip(offset, -_MAX_OFFSET, _MAX_OFFSET))
    dark_now = fast_median(now[dark])
    bright_now = fast_median(now[bright])
    gain = float(np.clip((bright_now - dark_now) / (bright_before - dark_before), *_GAINS))
    offset = bright_now - gain * bright_before
    return gain, float(np.clip(offset, -_MAX_OFFSET, _MAX_OFFSET))


def fast_median(values: NDArray[Any]) -> float:
    """Return the median of an array, or the upper median for an even number of values.

    `np.median` is several times slower for small arrays.
    """
    middle = values.size // 2
    return float(np.partition(values, middle, axis=None)[middle])


def compensate_light(
    before: BlockMeans, now: BlockMeans, light_change: LightChange
) -> tuple[BlockMeans, BlockMeans]:
    """Return the residual from `before` to `now`, and how much of the change the light explains.

    Both are (rows, columns) in levels. The residual has a sign, the second array has none.
    """
    # `before` in the light of `now`.
    predicted = np.minimum(before * light_change.gain + light_change.offset, np.float32(255))
    light_shift = np.asarray(cv2.absdiff(predicted, before), np.float32)
    residual = np.asarray(cv2.subtract(now, predicted), np.float32)
    is_saturated = before > _SATURATED
    if is_saturated.any():
        # A saturated block may really have been much brighter than its 255 levels. So when the
        # light falls, the block need not become darker as the rest does.
        residual[is_saturated & (residual > 0) & (now <= before + 2)] = 0
    return residual, light_shift


@dataclass(frozen=True, eq=False)
class Noise:
    """Learned differences between the pictures of a camera while nothing moves. In levels."""

    mean_square: BlockMeans | None = None
    """Mean square difference of each block, (rows, columns)."""
    picture_sigma: float = 0.0
    """Typical standard deviation of a block, over the whole picture."""
    codec_step: float = 0.0
    """Size of a codec step. 0 if there are none."""
    frames: int = 0
    """Number of frames from which it was learned."""
    bounds: BlockMeans | None = None
    """Minimum significant change of each block, (rows, columns). None before anything is learned.
    """


def noise_bounds(noise: Noise, residual: BlockMeans) -> BlockMeans:
    """Return (rows, columns): the minimum significant change of each block, in levels.

    Before anything is learned, one bound for all blocks is estimated from the `residual` of this
    frame.
    """
    if noise.bounds is not None and noise.bounds.shape == residual.shape:
        return noise.bounds
    magnitudes = np.abs(residual)
    sigma = float(np.median(magnitudes[::2, ::2])) / _MEDIAN_DEVIATION
    step = _estimate_codec_step(magnitudes, sigma)
    # One bound for all blocks, before each has its own.
    bound = max(_MIN_BOUND, _BOUND_SIGMAS * _INITIAL_RATIO * sigma, _BOUND_STEPS * step)
    return np.full(residual.shape, min(bound, _MAX_BOUND), np.float32)


def learn_noise(noise: Noise, residual: BlockMeans, moved: BlockMask | None) -> Noise:
    """Return the noise model, updated with the `residual` of a frame.

    Blocks in which something `moved` are left out, unless the movement itself is only noise. None
    means that nothing moved. If less than half of the picture is still, nothing is learned.
    """
    magnitudes = np.abs(residual)
    before = noise.mean_square
    if moved is not None and is_only_noise(residual, moved):
        # The movement is only noise.
        moved = None
    if before is None or before.shape != residual.shape:
        before = np.zeros(residual.shape, np.float32)
        noise = replace(noise, frames=0)

    # A ninth of the blocks is enough to estimate the noise of the picture.
    sample = magnitudes[::3, ::3]
    still_sample = sample.ravel() if moved is None else sample[~moved[::3, ::3]]
    if still_sample.size < _MIN_STILL_SHARE * sample.size:
        # The still blocks may not represent the whole picture.
        return noise
    frames = noise.frames + 1
    rate = 1 / min(frames, _AVERAGED_FRAMES)
    sigma, step = _sigma_and_step(noise, magnitudes, still_sample, rate)

    # Limit each block by the noise of the picture, so that something waving in place is not
    # learned.
    cap = max(_MAX_NOISE_RATIO * sigma, _STEP_SHARE * step, _MIN_NOISE_CAP)
    limited = np.minimum(residual * residual, np.float32(cap**2))
    mean_square = np.asarray(cv2.addWeighted(before, 1 - rate, limited, rate, 0), np.float32)
    if moved is not None:
        # Do not learn where something moves.
        mean_square = np.where(moved, before, mean_square)

    # A block is at least as noisy as its neighbourhood.
    around = cv2.blur(mean_square, (5, 5))
    highest = np.asarray(cv2.max(mean_square, around), np.float32)
    min_bound = max(_MIN_BOUND, _BOUND_STEPS * step)
    bounds = (np.sqrt(highest) * np.float32(_BOUND_SIGMAS)).clip(min_bound, _MAX_BOUND)
    return Noise(
        mean_square=mean_square,
        picture_sigma=sigma,
        codec_step=step,
        frames=frames,
        bounds=bounds,
    )


def _sigma_and_step(
    noise: Noise, magnitudes: BlockMeans, still_sample: BlockMeans, rate: float
) -> tuple[float, float]:
    """Return the updated standard deviation of the whole picture, and its codec step.

    `magnitudes` (rows, columns) are the changes of all blocks without their sign. `still_sample`
    (N,) are those of some blocks in which nothing moves. `rate` is the weight of this frame.
    """
    # The third quartile of the changes.
    index = 3 * still_sample.size // 4
    sigma = float(np.partition(still_sample, index)[index]) / _THIRD_QUARTILE
    if noise.frames:
        sigma = min(sigma, _MAX_GROWTH * noise.picture_sigma + _GROWTH_LEVELS)
    sigma = noise.picture_sigma + rate * (sigma - noise.picture_sigma)
    step = _estimate_codec_step(magnitudes, sigma)
    step_rate = max(rate, _RISE_RATE) if step > noise.codec_step else _FALL_RATE
    return sigma, noise.codec_step + step_rate * (step - noise.codec_step)


def _estimate_codec_step(magnitudes: BlockMeans, sigma: float) -> float:
    """Return the size of codec steps: large changes of single blocks between still neighbours.

    Returns 0 if there are few of them, which may be chance. Objects that move are larger than a
    block, so they do not count. `sigma` is the standard deviation of the picture's noise.
    """
    jumps = np.asarray(magnitudes > max(_MIN_JUMP_SIGMAS * sigma, _MIN_JUMP), np.uint8)
    if np.count_nonzero(jumps) < _MIN_JUMPS:
        return 0.0
    # The number of jumps in each block and its neighbours.
    around = cv2.boxFilter(jumps, -1, (3, 3), normalize=False)
    alone = magnitudes[(around == 1) & (jumps > 0)]
    if len(alone) < _MIN_JUMPS:
        return 0.0
    # The 95th percentile.
    index = 19 * len(alone) // 20
    return min(float(np.partition(alone, index)[index]), _MAX_STEP)


def is_only_noise(residual: BlockMeans, moved: BlockMask) -> bool:
    """Return whether the apparent movement of the `moved` blocks is only noise.

    Adjacent parts of real objects change alike, while noise changes each block by itself.
    """
    if np.count_nonzero(moved) < _MIN_MOVED_SHARE * moved.size:
        return False
    values = np.where(moved, residual, 0)
    power = float((values * values).mean())
    # The covariance with the next block, to the right and below.
    across = float((values[:, 1:] * values[:, :-1]).mean())
    down = float((values[1:] * values[:-1]).mean())
    return (across + down) / 2 < _MIN_CORRELATION * power


@dataclass(frozen=True, eq=False)
class Background:
    """The pictures with which the next one is compared, by blocks (rows, columns).

    A block counts as changed if it differs from `as_read`, and as moving if it differs from
    `running_mean`.
    """

    noise: Noise = field(default_factory=Noise)
    """What was learned of the camera's noise."""
    current: BlockMeans | None = None
    """The last picture. None before the first one."""
    running_mean: BlockMeans | None = None
    """What the last pictures showed, averaged so that it contains little noise. Moving blocks are
    those of the last picture.
    """
    as_read: BlockMeans | None = None
    """Each block as it was last read, averaged with the still pictures after it, in the light in
    which the whole picture was last read. None if nothing was read.
    """
    whole_as_read: BlockMeans | None = None
    """The picture at the time when all of it was last read."""
    averaged_pictures: BlockMeans | None = None
    """Number of still pictures averaged in each block of `as_read`."""
    light_change: LightChange | None = None
    """Change of light from `as_read` to the last picture."""
    unchanged_pictures: int = 0
    """Number of pictures without any difference from what was read."""
    faint_since_reading: BlockMask | None = None
    """Blocks where the last picture differed faintly from `as_read`. The difference counts only if
    the next picture repeats it.
    """
    faint_since_last: BlockMask | None = None
    """The same for `running_mean`."""
    light_ratios: tuple[float, ...] = ()
    """Brightness of the last pictures relative to `whole_as_read`, oldest first. Empty unless all
    of them are clearly brighter, or all clearly darker.
    """
