"""Colour planes of a picture, kept apart from its brightness. They are stored at a quarter of its
width and height, because the readers need only brightness, and for people that is sharp enough.

`Colours` are (height, width, 2) uint8, Cr and Cb as in OpenCV (128 is grey). They show the same
view as the brightness at about a quarter of its width and height.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vision.detection.markers import Luma

Colours = NDArray[np.uint8]
# Factor by which colours are smaller in each direction.
COLOUR_REDUCTION = 4


def from_bgr(picture: Any) -> Colours:
    """Return the colours of a BGR picture (height, width, 3) uint8."""
    small = np.ascontiguousarray(picture[::COLOUR_REDUCTION, ::COLOUR_REDUCTION])
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2YCrCb)[:, :, 1:], np.uint8)


def from_planes(u: Any, v: Any) -> Colours:
    """Return the colours of planes U (Cb) and V (Cr), of half the picture's width and height."""
    step = COLOUR_REDUCTION // 2
    return np.dstack([v[::step, ::step], u[::step, ::step]])


def from_jpeg(jpeg: bytes) -> Colours | None:
    """Return the colours of a webcam's JPEG, decoded at a quarter of its size.

    Returns None if the JPEG is damaged.
    """
    try:
        small = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_REDUCED_COLOR_4)
    except cv2.error:
        return None
    if small is None:
        return None
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2YCrCb)[:, :, 1:], np.uint8)


def combine_bgr(luma: Luma, colours: Colours | None) -> NDArray[np.uint8]:
    """Combine brightness and colours of the same view into a BGR picture (height, width, 3).

    Without colours return the brightness, (height, width).
    """
    if colours is None:
        return luma
    height, width = luma.shape
    wide = cv2.resize(colours, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(cv2.cvtColor(np.dstack([luma, wide]), cv2.COLOR_YCrCb2BGR), np.uint8)
