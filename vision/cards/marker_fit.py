"""Where a card's marker lies, finer than its four corners tell: by all of its black rim.

The corners of a marker of 12.5 mm tell a card's direction to within some degrees only, and a card's
far end is seven times as far away. Its size is known, so that nothing is asked but its middle and
its direction, and a hundred places along its sides say the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Luma
from vision.pose.pose import Points
from vision.pose.printed_lines import profiles

_ALONG = np.linspace(-0.42, 0.42, 13)
"""Places along a side, by its length; not where it meets the next one."""
_REACH = 0.115
"""So far inwards and outwards of a side its edge is looked for, by its length: less than the rim is
wide."""
_PROFILE = np.linspace(-1.0, 1.0, 17, dtype=np.float32)
_ROUNDS = 2
_FAR = 0.6
"""An edge that lies so far from a side, by the reach, is not its own."""
_LEAST = 26
"""So many of the 52 places must show an edge."""
_CONTRAST = 0.5
"""An edge changes by so much of the difference between the black and the white of its marker."""


def _sides() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (52, 2) each: places on the sides of a square of side 1 at the origin, the upper one
    first, y down.

    The ways outwards from them.
    """
    top = np.column_stack([_ALONG, np.full(len(_ALONG), -0.5)])
    quarter = np.array([[0.0, 1.0], [-1.0, 0.0]])
    turns = [np.linalg.matrix_power(quarter, n) for n in range(4)]
    ways = np.repeat([np.array([0.0, -1.0]) @ turn for turn in turns], len(_ALONG), axis=0)
    return np.vstack([top @ turn for turn in turns]), ways


_PLACES, _WAYS = _sides()
_LEVERS = _PLACES[:, 0] * _WAYS[:, 1] - _PLACES[:, 1] * _WAYS[:, 0]
"""How far a place moves outwards when the square turns by one radian."""
_MODEL = np.column_stack([_WAYS, _LEVERS])
_CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def fitted_squares(view: Luma, quads: Sequence[Points], side_px: float) -> list[Points]:
    """Return each marker, (4, 2) px of an (h, w) view from straight above, as the square of
    `side_px` that fits its rim best.

    The corners stay in their order. A marker whose rim is not seen all around keeps its middle and
    direction.
    """
    if not len(quads):
        return []
    every = np.stack(quads)
    middles = every.mean(axis=1)
    right = every[:, 1] - every[:, 0] + every[:, 2] - every[:, 3]
    down = every[:, 3] - every[:, 0] + every[:, 2] - every[:, 1]
    ways = right + np.column_stack([down[:, 1], -down[:, 0]])
    turns = np.arctan2(ways[:, 1], ways[:, 0])
    for _ in range(_ROUNDS):
        shifts, bends = _misfit(view, middles, turns, side_px)
        middles, turns = middles + shifts, turns + bends
    return list(middles[:, None] + side_px * _CORNERS @ _axes(turns))


def _axes(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N, 2, 2): what turns offsets on a square into those in the view."""
    cosine, sine = np.cos(turns), np.sin(turns)
    return np.stack([np.stack([cosine, sine], axis=1), np.stack([-sine, cosine], axis=1)], axis=1)


def _misfit(
    view: Luma, middles: Points, turns: NDArray[np.float64], side_px: float
) -> tuple[Points, NDArray[np.float64]]:
    """Return (N, 2) px and (N,) radians: by how much squares must be moved and turned to lie on the
    edges of the rims."""
    axes = _axes(turns)
    is_edge, offsets = _edges(view, middles, axes, side_px)
    found = np.zeros((len(middles), 3))
    whole = np.flatnonzero(is_edge.sum(axis=1) >= _LEAST)
    if len(whole):
        is_edge, offsets = is_edge[whole], offsets[whole]
        off = np.abs(offsets - _fit(is_edge, offsets) @ _MODEL.T)
        usual = np.nanmedian(np.where(is_edge, off, np.nan), axis=1)[:, None]
        found[whole] = _fit(is_edge & (off <= np.maximum(0.3, 2.5 * usual)), offsets)
    return np.asarray((found[:, None, :2] @ axes)[:, 0]), found[:, 2] / side_px


def _edges(
    view: Luma, middles: Points, axes: NDArray[np.float64], side_px: float
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return (N, 52) twice: whether an edge is seen at each place along the sides, and how far
    outwards, px."""
    reach_px = _REACH * side_px
    places = (middles[:, None] + side_px * _PLACES @ axes).astype(np.float32)
    outwards = (reach_px * _WAYS @ axes).astype(np.float32)
    seen = profiles(view, places.reshape(-1, 2), outwards.reshape(-1, 2), _PROFILE)
    grey = seen.reshape(len(middles), len(_PLACES), len(_PROFILE)).astype(np.float32)
    black = np.median(seen[:, :2].reshape(len(middles), -1), axis=1)[:, None, None]
    white = np.median(seen[:, -2:].reshape(len(middles), -1), axis=1)[:, None, None]
    shares = ((grey - black) / np.maximum(white - black, 1.0)).clip(0, 1)
    offsets = reach_px * (1 - 2 * shares.mean(axis=2))  # the part that is black, from within
    is_edge = shares[..., -1] - shares[..., 0] >= _CONTRAST
    is_edge &= np.abs(offsets) <= _FAR * reach_px
    return np.asarray(is_edge), np.asarray(offsets, np.float64)


def _fit(counts: NDArray[np.bool_], offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (N, 3): how to move and turn each square so that the edges (N, 52) that count lie
    where they are seen."""
    # With two opposite sides alone nothing says where along them it lies: it stays.
    normal = (counts[:, None] * _MODEL.T) @ _MODEL + 1e-6 * np.eye(3)
    return np.asarray(np.linalg.solve(normal, ((counts * offsets) @ _MODEL)[..., None])[..., 0])
