"""How bright a picture is along short lines, such as those across the edges of markers and across printed lines."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray


def profiles(
    luma: NDArray[np.uint8],
    places: NDArray[np.floating],
    ways: NDArray[np.floating],
    steps: NDArray[np.floating],
    border: int = cv2.BORDER_REPLICATE,
) -> NDArray[np.uint8]:
    """(N, K): between the pixels of a (height, width) picture, at (N, 2) `places` px and so many `steps` (K,) of their
    (N, 2) px `ways` from there.

    Both coordinates of all places are worked out step by step: numpy takes seven times as long for the two of each.
    """
    x, y = (
        (at + steps[:, None] * way).astype(np.float32, copy=False) for at, way in zip(places.T, ways.T, strict=True)
    )
    return np.ascontiguousarray(cv2.remap(luma, x, y, cv2.INTER_LINEAR, borderMode=border).T, np.uint8)
