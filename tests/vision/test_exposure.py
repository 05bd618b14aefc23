"""What pictures say about the camera's eye and the light: black, frozen, dark, burnt out."""

from __future__ import annotations

import numpy as np
import pytest
from camera_tools import Webcam, shown

from companion.core.clock import FakeClock
from vision.cameras.blank_detector import BlankDetector
from vision.cameras.exposure import ExposureControl
from vision.cameras.source import Device

SIZE = (1280, 720)
SMALL = shown((1920, 1080))[::6, ::6]


class Willing(Device):
    """A camera that measures its light anew as asked, and writes it down."""

    can = True

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.asked: list[bool] = []

    def meter(self, slow: bool) -> bool:
        self.asked.append(slow)
        return self.can


class Room:
    """Ten pictures a second of a webcam, and what is made of them."""

    def __init__(self) -> None:
        self.webcam = Webcam()
        self.webcam.scene = SMALL.copy
        self.device = Willing()
        self.keeper = ExposureControl(self.device)
        self.now_s = 100.0

    def watch(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            self.keeper.see(self.webcam.luma((320, 180)), self.now_s)
            self.now_s += 0.1


def test_good_light_and_a_moment_in_the_dark_ask_for_nothing() -> None:
    room = Room()
    room.watch(10)
    room.webcam.light = 0.1
    room.watch(1.9)
    room.webcam.light = 1.0
    room.watch(20)
    assert room.device.asked == []
    assert room.keeper.sentence == ""


def test_in_the_dark_the_camera_exposes_longer_and_then_somebody_is_asked() -> None:
    room = Room()
    room.webcam.light = 0.3
    room.watch(7)
    assert room.device.asked == [], "a camera that was just opened is still measuring"
    room.watch(5)
    assert room.device.asked == [True]
    assert room.keeper.sentence == "It is dark: the camera exposes longer"
    room.watch(20)
    assert room.device.asked == [True], "asked once"
    assert room.keeper.sentence == "It is dark even at the longest exposure: switch on a lamp"
    room.webcam.light = 0.8
    room.watch(5)
    assert room.keeper.sentence == "It is dark: the camera exposes longer"
    room.webcam.light = 9.0
    room.watch(5)
    assert room.device.asked == [True, False], "the lamp was switched on"
    room.webcam.light = 1.0
    room.watch(15)
    assert room.keeper.sentence == ""


def test_a_camera_without_controls_leaves_it_to_people() -> None:
    room = Room()
    room.device.can = False
    room.webcam.light = 0.3
    room.watch(12)
    assert room.keeper.sentence == "It is dark: switch on a lamp"
    room.webcam.light = 9.0
    room.watch(12)
    assert room.keeper.sentence == "The picture is overexposed: turn the lamp away from the board"


@pytest.mark.parametrize(("light", "words"), [(0.3, "It is dark"), (9.0, "It is too bright")])
def test_an_exposure_that_is_held_by_hand_is_left_alone(light: float, words: str) -> None:
    room = Room()
    room.keeper.held = True
    room.webcam.light = light
    room.watch(20)
    assert room.device.asked == []
    assert room.keeper.sentence == f"{words}: unlock the exposure on the camera page"


# ---- black and frozen ----------------------------------------------------------------------------


def test_a_frozen_camera_is_opened_anew_every_quarter_of_a_minute() -> None:
    sight = BlankDetector()
    picture = shown(SIZE)
    sight.begin(0.0)
    reopened = []
    for second in range(60):
        words = sight.trouble("usb:0", picture.copy(), float(second))
        assert bool(words) == (second >= 6)
        if second == 7:
            assert words.endswith("the same picture for 5 s: unplug it and plug it in again")
        if sight.wants_reopening(float(second)):
            reopened.append(second)
            sight.begin(float(second))
    assert reopened == [16, 31, 46]
    picture[3, 3] += 1
    assert sight.trouble("usb:0", picture, 61.0) == ""


def test_a_covered_lens_is_not_called_frozen() -> None:
    sight = BlankDetector()
    black = np.full((720, 1280), 16, np.uint8)
    told = {sight.trouble("usb:0", black.copy(), float(second)) for second in range(20)}
    assert told == {"", "The camera sees only black: take off the lens cap, or switch on a lamp"}
    assert sight.trouble("usb:0", shown(SIZE), 21.0) == ""
