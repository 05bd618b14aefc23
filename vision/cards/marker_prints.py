"""Whole markers read at once, where it is known where they may lie: what decodes here need not be
searched for.

OpenCV's detector takes a tenth of a millisecond for each quadrangle that it finds, and finds all
the print of a card.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Luma, Sighting, marker_modules
from vision.pose.pose import Points

_MODULES = 7
"""Along a side, the black rim included."""
_WITHIN = np.array([0.25, 0.5, 0.75])
"""Where in a module its brightness is taken, along both of its sides."""
_ALONG = (np.arange(_MODULES)[:, None] + _WITHIN).ravel() / _MODULES
_DOWN, _ACROSS = (each.ravel() for each in np.meshgrid(_ALONG, _ALONG, indexing="ij"))
_SHARES = np.stack(
    [(1 - _DOWN) * (1 - _ACROSS), (1 - _DOWN) * _ACROSS, _DOWN * _ACROSS, _DOWN * (1 - _ACROSS)],
    axis=1,
)
"""(N, 4): how much each of a marker's corners counts for each of these places, row by row."""
_LEAST_RANGE = 60.0
"""Between the darkest and the brightest module, of 255."""
_CLEAR = 0.08
"""Every module is so far from the middle of that range, by its width."""
_WEIGHTS = 2.0 ** np.arange(_MODULES**2)


class MarkerPrints:
    """The prints of these `markers` of a dictionary, in each turn."""

    def __init__(self, dictionary: str, markers: Sequence[int]) -> None:
        self._turned = _turned(dictionary, tuple(markers))

    def decoded(self, view: Luma, quads: Sequence[Points]) -> Iterator[Sighting]:
        """The markers of the (4, 2) px quadrangles of a (h, w) view that show one, no module wrong
        or doubtful."""
        for number, marker, turns in self.told(view, quads):
            yield Sighting(marker, np.roll(quads[number], turns, axis=0))

    def told(
        self, view: Luma, quads: Sequence[Points], clear: float = _CLEAR
    ) -> Iterator[tuple[int, int, int]]:
        """The same: which of the quadrangles, the marker, and by how many corners its first one is
        the first."""
        if not len(quads):
            return
        means = _modules(view, np.stack(quads))
        low, high = means.min(axis=1), means.max(axis=1)
        off = means - ((low + high) / 2)[:, None]
        is_clear = (high - low >= _LEAST_RANGE) & (np.abs(off).min(axis=1) >= clear * (high - low))
        for number in np.flatnonzero(is_clear).tolist():
            found = self._turned.get(float((off[number] > 0) @ _WEIGHTS))
            if found is not None:
                # rot90 turns counter-clockwise: the print's upper left corner has gone to so many
                # before the first.
                yield number, *found


@lru_cache(maxsize=4)
def _turned(dictionary: str, markers: tuple[int, ...]) -> dict[float, tuple[int, int]]:
    """The marker and how often it is turned, by what its modules make."""
    whites = {marker: marker_modules(marker, dictionary) > 0 for marker in markers}
    return {
        float(np.rot90(white, turns).ravel() @ _WEIGHTS): (marker, turns)
        for marker, white in whites.items()
        for turns in range(4)
    }


def _modules(view: Luma, corners: Points) -> NDArray[np.float64]:
    """(N, 49): how bright the modules of (N, 4, 2) px quadrangles are, row by row from the first
    corner."""
    at = (_SHARES @ corners).reshape(-1, len(_ALONG), 2).astype(np.float32)
    grey = cv2.remap(view, at, None, cv2.INTER_LINEAR)  # type: ignore[call-overload]  # stubs deny None
    shape = len(corners), _MODULES, len(_WITHIN), _MODULES, len(_WITHIN)
    return np.asarray(
        grey.reshape(shape).mean(axis=(2, 4), dtype=np.float64).reshape(len(corners), -1)
    )
