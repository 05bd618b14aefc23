"""What makes a still table look different from picture to picture: its light, a sensor's noise, a
codec's steps.

Pictures are compared by blocks, see `BLOCK_PX`. First the light is taken off: exposure, lamps,
bands. What is left is noise up to the bounds that are learned for each block, with what its
neighbours show, and never beyond what the whole picture shows: a hand that trembles or a shadow
that waves in one place for ever does not become noise.
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
"""(rows, columns) of 0 to 255: the mean brightness of each block."""
Blocks = NDArray[np.bool_]
"""(rows, columns): which blocks of a picture."""

# ---- light ----
SAMPLE = 6
"""Every so many rows and columns are enough to tell the light of a whole picture."""
_BURNT = 245.0
"""A block that is lighter than this may hide how bright it is."""
_CONTRAST = 25.0
"""The dark and the bright third of a picture must differ by so much to tell a gain from an offset.
"""
_SAME = 0.5
"""Where the middling block differs by fewer levels, of 255, the light is the same: no block counts
that differs so."""
_GAINS = 0.5, 2.0
_MOST_OFFSET = 20.0
"""What counts as light: beyond these factors and levels something has come before the camera."""
_SLIGHT = 1.0
"""An offset of fewer levels has not disturbed the gains of the rows."""
_DARKEST = 4.0
"""Blocks are taken to be as bright as this at least: a ratio of black blocks is all noise."""
_SMOOTH_ROWS = 5
_MUCH_BETTER = 0.8
"""A gain and an offset of the whole picture must leave less than this share of what the gains of
its rows leave."""

# ---- noise ----
_LEAST, _MOST = 3.5, 16.0
"""Bounds of the noise threshold, in levels of 255: no smaller change of a block ever counts."""
_SIGMAS = 5.0
"""A block may differ by so many standard deviations of its noise."""
_STEPS = 1.75
"""And by so many of the steps in which a codec changes single blocks."""
_QUARTERS = 1.15
"""Three quarters of the values of a Gaussian are nearer to its middle than this, by its standard
deviation."""
_UNKNOWN = 1.5
"""So much noisier than the middle of the picture blocks may be before anything is learned."""
_SLOWLY = 16
"""Frames after which what is newly learned counts as much as what was known."""
_BEYOND, _OF_STEP, _FLOOR = 3.0, 0.6, 0.8
"""A block's noise is at most so many times the picture's, such a part of a codec's step, or so many
levels."""
_ALONE = 4.0, 1.0
"""A block that differs by so many standard deviations, and so many levels, while none next to it
does, is a step."""
_FEWEST = 12
"""So many of them make a codec."""
_MOST_STEP = 9.0
_RISE, _FALL = 0.5, 0.03
"""How fast it is believed that a codec's steps are larger, or smaller: where frames were averaged,
they seem to be."""
_GROWTH = 1.5
"""The picture's noise grows by no more than this factor from frame to frame."""
_INCOHERENT = 0.15
"""Changes of neighbouring blocks that go together less than this (correlation) are noise."""
_MANY = 0.02
"""That can be told of this share of the picture."""


def wider(blocks: Blocks, side: int = 3) -> Blocks:
    """Return these blocks and those around them, `side` being that of the square which each one
    becomes."""
    return np.asarray(cv2.dilate(blocks.view(np.uint8), np.ones((side, side), np.uint8)), bool)


class Exposure(NamedTuple):
    """How a picture is brought to the light of another: `gain` times it plus `offset`, (rows, 1)
    each."""

    gain: Small
    offset: Small


def exposure_between(before: Small, now: Small) -> Exposure:
    """Return the light of `now` by that of `before`.

    What differs in less than half of the picture does not count.

    Each row of blocks has a gain of its own, since lamps on alternating current light a picture in
    bands when its rows are exposed one after the other; what is left tells a gain and an offset, by
    the medians of the dark and the bright third of all blocks. A hand that covers half of either
    bends these, so that they count only where they explain what most of the picture shows much
    better than the rows' gains alone.
    """
    some = slice(None, None, SAMPLE)
    if middle_of(np.abs(now[some, some] - before[some, some])) < _SAME:
        return Exposure(np.ones((len(now), 1), np.float32), np.zeros((len(now), 1), np.float32))

    # Each row by itself, by every fourth block.
    rows = _gains_of_rows(before[:, 2::4], now[:, 2::4])
    plain = Exposure(rows, np.zeros_like(rows))
    # What that leaves may be a gain and an offset of the whole picture.
    lit = (before[::SAMPLE, ::SAMPLE] * rows[::SAMPLE]).ravel()
    gain, offset = _gain_and_offset(lit, now[::SAMPLE, ::SAMPLE].ravel())
    whole = Exposure((rows * np.float32(gain)).clip(*_GAINS), np.full_like(rows, offset))
    if abs(offset) >= _SLIGHT:
        # The offset has bent the rows' gains: once more without it.
        more = _gains_of_rows(before[:, 2::4] * whole.gain + whole.offset, now[:, 2::4])
        whole = Exposure((whole.gain * more).clip(*_GAINS), whole.offset)

    # By how much the middling block differs in either light.
    misfits = []
    for gains, offsets in (whole, plain):
        lit = before[some, some] * gains[some] + offsets[some]
        misfits.append(middle_of(np.abs(now[some, some] - lit)))
    return whole if misfits[0] < _MUCH_BETTER * misfits[1] else plain


def _gains_of_rows(before: Small, now: Small) -> Small:
    """Return (rows, 1): the gain of each row by the median along it. Bands are wide."""
    # The median of each row, by its middle value.
    ratios = now / np.maximum(before, np.float32(_DARKEST))
    middle = ratios.shape[1] // 2
    rows = np.partition(ratios, middle, axis=1)[:, middle].clip(*_GAINS)
    # A band is wider than a few rows.
    smooth = cv2.blur(rows[:, None], (1, _SMOOTH_ROWS), borderType=cv2.BORDER_REPLICATE)
    return np.asarray(smooth, np.float32)


def _gain_and_offset(before: Small, now: Small) -> tuple[float, float]:
    """Return what makes of N blocks the others, by the medians of the dark and the bright third."""
    # What is burnt out tells nothing of the light, unless that is nearly all.
    clear = (before < _BURNT) & (now < _BURNT)
    if np.count_nonzero(clear) > before.size // 4:
        before, now = before[clear], now[clear]
    order = np.argsort(before)
    third = before.size // 3
    dark, bright = order[:third], order[-third:]

    # The middle of the dark third, and that of the bright one.
    dark_was = float(before[dark[third // 2]])
    bright_was = float(before[bright[third // 2]])
    if bright_was - dark_was < _CONTRAST:
        # Too even to tell a gain from an offset: an offset it is.
        offset = middle_of(now - before)
        return 1.0, float(np.clip(offset, -_MOST_OFFSET, _MOST_OFFSET))
    dark_is = middle_of(now[dark])
    bright_is = middle_of(now[bright])
    gain = float(np.clip((bright_is - dark_is) / (bright_was - dark_was), *_GAINS))
    offset = bright_is - gain * bright_was
    return gain, float(np.clip(offset, -_MOST_OFFSET, _MOST_OFFSET))


def middle_of(values: NDArray[Any]) -> float:
    """Return the median. `np.median` takes several times as long for so few."""
    place = values.size // 2
    return float(np.partition(values, place, axis=None)[place])


def unexplained(before: Small, now: Small, exposure: Exposure) -> tuple[Small, Small]:
    """Return (rows, columns) twice: how `now` differs from `before` in the same light, and what
    that light changes."""
    # What `before` would look like in this light.
    lit = np.minimum(before * exposure.gain + exposure.offset, np.float32(255))
    shift = np.asarray(cv2.absdiff(lit, before), np.float32)
    rest = np.asarray(cv2.subtract(now, lit), np.float32)
    burnt = before > _BURNT
    if burnt.any():
        # What was burnt out may have been much brighter: it need not have become as dark as the
        # rest.
        rest[burnt & (rest > 0) & (now <= before + 2)] = 0
    return rest, shift


@dataclass(frozen=True, eq=False)
class Noise:
    """How much the blocks of a camera's pictures differ while nothing moves, as learned so far."""

    power: Small | None = None
    """(rows, columns): the mean square of what each block differs by."""
    typical: float = 0.0
    """Standard deviation of the picture as a whole."""
    step: float = 0.0
    """By how much a codec changes single blocks."""
    frames: int = 0
    bounds: Small | None = None
    """(rows, columns): the least changes that count; None before anything is learned."""


def bounds_of(noise: Noise, rest: Small) -> Small:
    """Return (rows, columns): the least changes that count.

    `rest` are those in question, for a first idea.
    """
    if noise.bounds is not None and noise.bounds.shape == rest.shape:
        return noise.bounds
    # The standard deviation of Gaussian noise is its median deviation by 0.6745.
    size = np.abs(rest)
    typical = float(np.median(size[::2, ::2])) / 0.6745
    step = _step_of(size, typical) or 0.0
    # One bound for all blocks, before each has one of its own.
    least = min(max(_LEAST, _SIGMAS * _UNKNOWN * typical, _STEPS * step), _MOST)
    return np.full(rest.shape, least, np.float32)


def learn_noise(noise: Noise, rest: Small, moved: Blocks | None) -> Noise:
    """Return what is known after a frame with these changes.

    What has `moved` (None: nothing) teaches nothing unless it is noise itself.
    """
    size, before = np.abs(rest), noise.power
    if moved is not None and is_incoherent(rest, moved):
        # All of it is noise.
        moved = None
    if before is None or before.shape != rest.shape:
        before = np.zeros(rest.shape, np.float32)
        noise = replace(noise, frames=0)

    # A ninth of the blocks is enough to tell the noise of the picture.
    some = size[::3, ::3]
    part = some.ravel() if moved is None else some[~moved[::3, ::3]]
    if part.size < 0.5 * some.size:
        return noise  # what is left may be all sky
    frames = noise.frames + 1
    rate = 1 / min(frames, _SLOWLY)
    typical, step = _typical_and_step(noise, size, part, rate)

    # No single block is noisier than the picture allows: what waves there is no noise.
    cap = max(_BEYOND * typical, _OF_STEP * step, _FLOOR)
    limited = np.minimum(rest * rest, np.float32(cap**2))
    power = np.asarray(cv2.addWeighted(before, 1 - rate, limited, rate, 0), np.float32)
    if moved is not None:
        # Where something moves, nothing is learned.
        power = np.where(moved, before, power)

    # A block is as noisy as its neighbours at least.
    local = np.asarray(cv2.max(power, cv2.blur(power, (5, 5))), np.float32)
    least = max(_LEAST, _STEPS * step)
    bounds = (np.sqrt(local) * np.float32(_SIGMAS)).clip(least, _MOST)
    return Noise(power, typical, step, frames, bounds)


def _typical_and_step(noise: Noise, size: Small, part: Small, rate: float) -> tuple[float, float]:
    """Return the noise of the picture as a whole, and the steps of its codec, after a frame of
    these changes.

    `part` are those of blocks in which nothing moves, `rate` is how much the frame counts.
    """
    # Three quarters of the blocks tell the noise of all.
    place = 3 * part.size // 4
    typical = float(np.partition(part, place)[place]) / _QUARTERS
    if noise.frames:
        typical = min(typical, _GROWTH * noise.typical + 0.1)
    typical = noise.typical + rate * (typical - noise.typical)
    # A codec's steps stand alone among blocks in which nothing changes.
    shown = _step_of(size, typical) or 0.0
    speed = max(rate, _RISE) if shown > noise.step else _FALL
    return typical, noise.step + speed * (shown - noise.step)


def _step_of(size: Small, typical: float) -> float | None:
    """Return how much single blocks differ that stand alone.

    None when there are few: that is chance.

    Whatever moves is larger than a block, so that nothing of this is learned of it.
    """
    jumps = np.asarray(size > max(_ALONE[0] * typical, _ALONE[1]), np.uint8)
    if np.count_nonzero(jumps) < _FEWEST:
        return None
    # How many of each block and its neighbours have jumped.
    around = cv2.boxFilter(jumps, -1, (3, 3), normalize=False)
    alone = size[(around == 1) & (jumps > 0)]
    if len(alone) < _FEWEST:
        return None
    # Nineteen of twenty are smaller.
    place = 19 * len(alone) // 20
    return min(float(np.partition(alone, place)[place]), _MOST_STEP)


def is_incoherent(rest: Small, moved: Blocks) -> bool:
    """Tell whether what seems to move is nothing but noise.

    Things have parts next to each other that change alike.
    """
    if np.count_nonzero(moved) < _MANY * moved.size:
        return False
    # Noise has no neighbours that change alike.
    values = np.where(moved, rest, 0)
    power = float((values * values).mean())
    # Correlation with the next block, to the right and below.
    across = float((values[:, 1:] * values[:, :-1]).mean())
    down = float((values[1:] * values[:-1]).mean())
    return (across + down) / 2 < _INCOHERENT * power


@dataclass(frozen=True, eq=False)
class Background:
    """What the next picture is compared with.

    All pictures are (rows, columns) of blocks.
    """

    noise: Noise = field(default_factory=Noise)
    now: Small | None = None
    """The last picture."""
    before: Small | None = None
    """The pictures before it, their noise taken off."""
    read: Small | None = None
    """Each block as it was when it was read last, in the light of then; None: nothing was read."""
    whole: Small | None = None
    """The picture when all of it was read last."""
    looks: Small | None = None
    """How many still pictures each block of `read` is the mean of."""
    exposure: Exposure | None = None
    """The light of the last picture by that of `read`."""
    calm: int = 0
    """How many pictures differed in nothing from what was read."""
    faint_read: Blocks | None = None
    """Where the last picture differed so faintly from `read` that the next one has to differ there
    as well."""
    faint_before: Blocks | None = None
    """The same for `before`."""
    lights: tuple[float, ...] = ()
    """How bright the last pictures were that were all brighter, or all darker, than when the board
    was read."""
