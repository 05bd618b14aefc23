"""Quantiles, medians and counts of small arrays; numpy's own take up to ten times as long for such."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray


def quantiles(values: NDArray[Any], *shares: float) -> list[float]:
    """What so large shares (0 to 1) of some numbers, at least one, are less than; between two of them by proportion."""
    last = values.size - 1
    places = [(share * last, int(share * last), min(int(share * last) + 1, last)) for share in shares]
    ordered = values.flatten()
    ordered.partition([index for _, *both in places for index in both])
    ends = [(place - low, ordered.item(low), ordered.item(high)) for place, low, high in places]
    return [lower + part * (upper - lower) for part, lower, upper in ends]


def median(values: NDArray[Any]) -> float:
    """The middle of some numbers, at least one."""
    return quantiles(values, 0.5)[0]


def counts(masks: NDArray[np.bool_]) -> NDArray[np.int_]:
    """(N,): how many of each row (N, M) are true."""
    if not masks.size:
        return np.zeros(len(masks), int)
    rows = np.ascontiguousarray(masks).view(np.uint8)
    return np.asarray(cv2.reduce(rows, 1, cv2.REDUCE_SUM, dtype=cv2.CV_32S), int).ravel()


def medians_of_known(values: NDArray[np.float32] | NDArray[np.uint8]) -> NDArray[np.float32]:
    """(N,): the median of each row's values (N, M) that are not NaN; 0 where all are."""
    number = (~np.isnan(values)).sum(axis=1)
    ordered, rows = np.sort(values, axis=1), np.arange(len(values))  # NaN comes last
    last = np.maximum(number - 1, 0)
    middle = np.add(ordered[rows, last // 2], ordered[rows, (last + 1) // 2], dtype=np.float32) / 2
    return np.where(number > 0, middle, np.float32(0)).astype(np.float32)
