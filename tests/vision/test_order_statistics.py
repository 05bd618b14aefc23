"""Quantiles, medians and counts are those of numpy, only faster."""

import numpy as np
import pytest

from vision.order_statistics import counts, median, medians_of_known, quantiles


@pytest.mark.parametrize("size", [1, 2, 7, 100])
@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
def test_quantiles_lie_between_numbers_by_proportion(size: int, kind: type) -> None:
    values = np.random.default_rng(size).uniform(0, 255, size).astype(kind)
    assert quantiles(values, 0.0, 0.1, 0.75, 1.0) == pytest.approx(np.percentile(values, (0, 10, 75, 100)), rel=1e-6)
    assert median(values) == pytest.approx(float(np.median(values)), rel=1e-6)


def test_rows_are_counted_and_their_medians_are_of_what_is_known() -> None:
    masks = np.random.default_rng(1).uniform(size=(5, 300)) < 0.4
    assert counts(masks).tolist() == masks.sum(axis=1).tolist()
    assert counts(np.zeros((0, 12), bool)).tolist() == []
    values = np.array([[1, np.nan, 3, 2], [np.nan] * 4, [4, 1, np.nan, np.nan]], np.float32)
    assert medians_of_known(values).tolist() == [2, 0, 2.5]
