"""Models how pictures of a still table differ: changes of light, sensor noise, codec steps.

Pictures are compared by blocks, see `BLOCK_PX`. First, changes of light are compensated: exposure,
lamps, bands. The remaining difference is noise, up to a bound learned for each block and its
neighbours. The bound is limited by the noise of the whole picture. A trembling hand or a shadow
that keeps moving in one place therefore does not become noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

BLOCK_PX = 8
"""Side of a block."""
Small = NDArray[np.float32]
"""Mean brightness, 0 to 255, of each block (rows, columns)."""
Blocks = NDArray[np.bool_]
"""Mask (rows, columns) of the blocks of a picture."""

# ---- light ----
SAMPLE = 6
"""Sampling interval of rows and columns when the light of a whole picture is estimated."""
_SATURATED = 245.0
"""A brighter block may be saturated."""
_MIN_CONTRAST = 25.0
"""Minimum difference between the dark and the bright third of a picture to separate gain from
offset.
"""
_SAME_LIGHT = 0.5
"""Light is unchanged if the median block differs by fewer levels, of 255. No block with such a
difference counts as changed.
"""
_GAINS = 0.5, 2.0
_MAX_OFFSET = 20.0
"""Maximum gains and offset of a change of light. Beyond them something is in front of the
camera.
"""
_SMALL_OFFSET = 1.0
"""An offset of fewer levels does not disturb the gains of the rows."""
_MIN_BRIGHTNESS = 4.0
"""Minimum brightness of a block in a ratio, because a ratio of black blocks is all noise."""
_SMOOTH_ROWS = 5
_MAX_RESIDUAL_RATIO = 0.8
"""A global gain and offset is used only if its residual is below this share of that of the row
gains.
"""

# ---- noise ----
_MIN_BOUND, _MAX_BOUND = 3.5, 16.0
"""Bounds of the noise threshold, in levels of 255. No smaller change of a block ever counts."""
_BOUND_SIGMAS = 5.0
"""Noise threshold in standard deviations of a block's noise."""
_BOUND_STEPS = 1.75
"""Minimum noise threshold in codec steps."""
_THIRD_QUARTILE = 1.15
"""Three quarters of Gaussian values are within this many standard deviations of the mean."""
_INITIAL_RATIO = 1.5
"""Assumed ratio of a block's noise to the typical noise, before anything is learned."""
_AVERAGED_FRAMES = 16
"""Number of frames over which the noise is averaged."""
_MAX_NOISE_RATIO, _STEP_SHARE, _MIN_NOISE_CAP = 3.0, 0.6, 0.8
"""Upper bound of a block's noise: the maximum of this multiple of the picture's noise, this share
of a codec's step, and this number of levels.
"""
_MIN_JUMP = 4.0, 1.0
"""Minimum change of a codec step in standard deviations and in levels. No neighbour of its block
changes as much.
"""
_MIN_JUMPS = 12
"""Minimum number of single steps before they count as a codec's."""
_MAX_STEP = 9.0
_RISE_RATE, _FALL_RATE = 0.5, 0.03
"""Learning rates for larger and for smaller codec steps. In averaged frames the steps only seem
smaller.
"""
_MAX_GROWTH = 1.5
"""Maximum growth of the picture's noise from frame to frame."""
_MIN_CORRELATION = 0.15
"""Changes are noise if the correlation of neighbouring blocks is below this."""
_MIN_MOVED = 0.02
"""Minimum share of the picture that must change for this test."""


def wider(blocks: Blocks, side: int = 3) -> Blocks:
    """Return these blocks and their neighbours. Each block is dilated to a square of `side`
    blocks.
    """
    return np.asarray(cv2.dilate(blocks.view(np.uint8), np.ones((side, side), np.uint8)), bool)


class Exposure(NamedTuple):
    """Change of light from one picture to another: multiply by `gain`, add `offset`, (rows, 1)
    each.
    """

    gain: Small
    offset: Small


def exposure_between(before: Small, now: Small) -> Exposure:
    """Return the change of light from `before` to `now`.

    Changes in less than half of the picture are ignored.

    Each row of blocks has its own gain: lamps on alternating current light a picture in bands,
    because its rows are exposed one after the other. The rest gives a global gain and offset, from
    the medians of the dark and the bright third of all blocks. A hand that covers half of either
    third distorts them. They are therefore used only if they explain most of the picture much
    better than the row gains alone.
    """
    some = slice(None, None, SAMPLE)
    if middle_of(np.abs(now[some, some] - before[some, some])) < _SAME_LIGHT:
        return Exposure(np.ones((len(now), 1), np.float32), np.zeros((len(now), 1), np.float32))

    # row gains, from every fourth block
    rows = _gains_of_rows(before[:, 2::4], now[:, 2::4])
    plain = Exposure(rows, np.zeros_like(rows))
    # The remaining change may be a global gain and offset.
    lit = (before[::SAMPLE, ::SAMPLE] * rows[::SAMPLE]).ravel()
    gain, offset = _gain_and_offset(lit, now[::SAMPLE, ::SAMPLE].ravel())
    whole = Exposure((rows * np.float32(gain)).clip(*_GAINS), np.full_like(rows, offset))
    if abs(offset) >= _SMALL_OFFSET:
        # The offset distorted the row gains, so estimate them again without it.
        more = _gains_of_rows(before[:, 2::4] * whole.gain + whole.offset, now[:, 2::4])
        whole = Exposure((whole.gain * more).clip(*_GAINS), whole.offset)

    # median residual of either model
    misfits = []
    for gains, offsets in (whole, plain):
        lit = before[some, some] * gains[some] + offsets[some]
        misfits.append(middle_of(np.abs(now[some, some] - lit)))
    return whole if misfits[0] < _MAX_RESIDUAL_RATIO * misfits[1] else plain


def _gains_of_rows(before: Small, now: Small) -> Small:
    """Return (rows, 1): the gain of each row, from its median and smoothed over rows."""
    # median of each row by partition
    ratios = now / np.maximum(before, np.float32(_MIN_BRIGHTNESS))
    middle = ratios.shape[1] // 2
    rows = np.partition(ratios, middle, axis=1)[:, middle].clip(*_GAINS)
    # A band is wider than a few rows.
    smooth = cv2.blur(rows[:, None], (1, _SMOOTH_ROWS), borderType=cv2.BORDER_REPLICATE)
    return np.asarray(smooth, np.float32)


def _gain_and_offset(before: Small, now: Small) -> tuple[float, float]:
    """Return gain and offset between two sets of N blocks, from medians of the dark and bright
    third.
    """
    # Saturated blocks contain no information about the light. Keep them only if nearly all are
    # saturated.
    clear = (before < _SATURATED) & (now < _SATURATED)
    if np.count_nonzero(clear) > before.size // 4:
        before, now = before[clear], now[clear]
    order = np.argsort(before)
    third = before.size // 3
    dark, bright = order[:third], order[-third:]

    # medians of the dark and the bright third
    dark_was = float(before[dark[third // 2]])
    bright_was = float(before[bright[third // 2]])
    if bright_was - dark_was < _MIN_CONTRAST:
        # There is too little contrast for a gain, so estimate an offset only.
        offset = middle_of(now - before)
        return 1.0, float(np.clip(offset, -_MAX_OFFSET, _MAX_OFFSET))
    dark_is = middle_of(now[dark])
    bright_is = middle_of(now[bright])
    gain = float(np.clip((bright_is - dark_is) / (bright_was - dark_was), *_GAINS))
    offset = bright_is - gain * bright_was
    return gain, float(np.clip(offset, -_MAX_OFFSET, _MAX_OFFSET))


def middle_of(values: NDArray[Any]) -> float:
    """Return the median (the upper one for an even number). `np.median` is several times slower for
    small arrays.
    """
    place = values.size // 2
    return float(np.partition(values, place, axis=None)[place])


def unexplained(before: Small, now: Small, exposure: Exposure) -> tuple[Small, Small]:
    """Return the unexplained difference of `now` from `before`, and the effect of the light alone.

    Both are (rows, columns).
    """
    # `before` in the light of `now`
    lit = np.minimum(before * exposure.gain + exposure.offset, np.float32(255))
    shift = np.asarray(cv2.absdiff(lit, before), np.float32)
    rest = np.asarray(cv2.subtract(now, lit), np.float32)
    is_saturated = before > _SATURATED
    if is_saturated.any():
        # A saturated block may have been much brighter, so it need not darken like the rest.
        rest[is_saturated & (rest > 0) & (now <= before + 2)] = 0
    return rest, shift


@dataclass(frozen=True, eq=False)
class Noise:
    """Learned differences between the pictures of a camera while nothing moves."""

    power: Small | None = None
    """Mean square difference of each block, (rows, columns)."""
    typical: float = 0.0
    """Standard deviation of the picture as a whole."""
    step: float = 0.0
    """Size of a codec's step in a single block."""
    frames: int = 0
    bounds: Small | None = None
    """Minimum significant change of each block (rows, columns). None before anything is learned."""


def bounds_of(noise: Noise, rest: Small) -> Small:
    """Return (rows, columns): the minimum significant change of each block.

    Before anything is learned, it is estimated from the changes `rest`.
    """
    if noise.bounds is not None and noise.bounds.shape == rest.shape:
        return noise.bounds
    # The standard deviation of Gaussian noise is its median absolute deviation divided by 0.6745.
    size = np.abs(rest)
    typical = float(np.median(size[::2, ::2])) / 0.6745
    step = _step_of(size, typical) or 0.0
    # one bound for all blocks, before each has its own
    least = min(
        max(_MIN_BOUND, _BOUND_SIGMAS * _INITIAL_RATIO * typical, _BOUND_STEPS * step), _MAX_BOUND
    )
    return np.full(rest.shape, least, np.float32)


def learn_noise(noise: Noise, rest: Small, moved: Blocks | None) -> Noise:
    """Return the noise model, updated with the changes of a frame.

    Blocks that `moved` (None: none) are excluded, unless the movement is noise itself.
    """
    size, before = np.abs(rest), noise.power
    if moved is not None and is_incoherent(rest, moved):
        # The movement is only noise.
        moved = None
    if before is None or before.shape != rest.shape:
        before = np.zeros(rest.shape, np.float32)
        noise = replace(noise, frames=0)

    # A ninth of the blocks is enough to estimate the noise of the picture.
    some = size[::3, ::3]
    part = some.ravel() if moved is None else some[~moved[::3, ::3]]
    if part.size < 0.5 * some.size:
        return noise  # the rest may not represent the picture
    frames = noise.frames + 1
    rate = 1 / min(frames, _AVERAGED_FRAMES)
    typical, step = _typical_and_step(noise, size, part, rate)

    # Limit each block by the noise of the picture, so that something waving in place is not
    # learned.
    cap = max(_MAX_NOISE_RATIO * typical, _STEP_SHARE * step, _MIN_NOISE_CAP)
    limited = np.minimum(rest * rest, np.float32(cap**2))
    power = np.asarray(cv2.addWeighted(before, 1 - rate, limited, rate, 0), np.float32)
    if moved is not None:
        # Do not learn where something moves.
        power = np.where(moved, before, power)

    # A block is at least as noisy as its neighbourhood.
    local = np.asarray(cv2.max(power, cv2.blur(power, (5, 5))), np.float32)
    least = max(_MIN_BOUND, _BOUND_STEPS * step)
    bounds = (np.sqrt(local) * np.float32(_BOUND_SIGMAS)).clip(least, _MAX_BOUND)
    return Noise(power, typical, step, frames, bounds)


def _typical_and_step(noise: Noise, size: Small, part: Small, rate: float) -> tuple[float, float]:
    """Return the updated noise of the whole picture and step of its codec.

    `part` holds the changes of blocks without movement. `rate` is the weight of the frame.
    """
    # third quartile of the changes
    place = 3 * part.size // 4
    typical = float(np.partition(part, place)[place]) / _THIRD_QUARTILE
    if noise.frames:
        typical = min(typical, _MAX_GROWTH * noise.typical + 0.1)
    typical = noise.typical + rate * (typical - noise.typical)
    # A codec changes single blocks among unchanged ones.
    shown = _step_of(size, typical) or 0.0
    speed = max(rate, _RISE_RATE) if shown > noise.step else _FALL_RATE
    return typical, noise.step + speed * (shown - noise.step)


def _step_of(size: Small, typical: float) -> float | None:
    """Return the size of changes in isolated blocks.

    Returns None if they are few, which may be chance. Moving objects are larger than a block and
    have no effect.
    """
    jumps = np.asarray(size > max(_MIN_JUMP[0] * typical, _MIN_JUMP[1]), np.uint8)
    if np.count_nonzero(jumps) < _MIN_JUMPS:
        return None
    # number of jumps in each block and its neighbours
    around = cv2.boxFilter(jumps, -1, (3, 3), normalize=False)
    alone = size[(around == 1) & (jumps > 0)]
    if len(alone) < _MIN_JUMPS:
        return None
    # 95th percentile
    place = 19 * len(alone) // 20
    return min(float(np.partition(alone, place)[place]), _MAX_STEP)


def is_incoherent(rest: Small, moved: Blocks) -> bool:
    """Return whether apparent movement is only noise.

    Adjacent parts of real objects change alike.
    """
    if np.count_nonzero(moved) < _MIN_MOVED * moved.size:
        return False
    # In noise, neighbouring blocks change independently.
    values = np.where(moved, rest, 0)
    power = float((values * values).mean())
    # correlation with the next block, to the right and below
    across = float((values[:, 1:] * values[:, :-1]).mean())
    down = float((values[1:] * values[:-1]).mean())
    return (across + down) / 2 < _MIN_CORRELATION * power


@dataclass(frozen=True, eq=False)
class Background:
    """The pictures with which the next one is compared.

    All are arrays (rows, columns) of blocks.
    """

    noise: Noise = field(default_factory=Noise)
    now: Small | None = None
    """The last picture."""
    before: Small | None = None
    """Running mean of the last pictures, which contains little noise."""
    read: Small | None = None
    """Each block as it was last read, in the light of that time. None if nothing was read."""
    whole: Small | None = None
    """The picture at the time when all of it was last read."""
    looks: Small | None = None
    """Number of still pictures averaged in each block of `read`."""
    exposure: Exposure | None = None
    """Change of light from `read` to the last picture."""
    calm: int = 0
    """Number of pictures without any difference from `read`."""
    faint_read: Blocks | None = None
    """Blocks where the last picture differed faintly from `read`. The difference counts only if the
    next picture repeats it.
    """
    faint_before: Blocks | None = None
    """The same for `before`."""
    lights: tuple[float, ...] = ()
    """Relative brightness of the last pictures, while all are brighter, or all darker, than when
    the board was read.
    """
