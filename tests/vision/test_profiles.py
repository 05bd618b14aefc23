"""Brightness along short lines across edges."""

import numpy as np

from vision.pose.printed_lines import profiles


def test_brightness_is_that_between_the_pixels_of_each_place() -> None:
    luma = np.array([[10 * x + 60 * y for x in range(6)] for y in range(4)], np.uint8)
    places, ways = np.array([[1.0, 1.0], [4.0, 2.0]]), np.array([[1.0, 0.0], [0.0, -1.0]])
    seen = profiles(luma, places, ways, np.array([-1.0, 0.0, 0.5]))
    assert seen.tolist() == [[60, 70, 75], [220, 160, 130]]


def test_beyond_the_picture_it_is_that_of_the_edge() -> None:
    luma = np.full((4, 6), 90, np.uint8)
    assert profiles(
        luma, np.array([[0.0, 0.0]]), np.array([[-3.0, 0.0]]), np.array([0.0, 1.0])
    ).tolist() == [[90, 90]]
