"""What pictures say about the light and the camera: dark, burnt out, frozen."""

from __future__ import annotations

import pytest
from camera_tools import Webcam, striped_picture

from companion.core.clock import FakeClock
from companion.core.errors import CameraError
from vision.cameras.camera_link import CameraLink, Cameras
from vision.cameras.exposure import DARK_SENTENCE, ExposureControl
from vision.cameras.source import Capture, PhysicalCamera
from vision.reading.board_reader import board_reader

SMALL = striped_picture((1920, 1080))[::6, ::6]


class Willing(PhysicalCamera):
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
        self.keeper = ExposureControl(self.device, 100.0)
        self.now_s = 100.0

    def watch(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            self.keeper.check(self.webcam.luma((320, 180)), self.now_s)
            self.now_s += 0.1


def test_a_moment_in_the_dark_changes_nothing() -> None:
    room = Room()
    room.watch(10)
    room.webcam.light = 0.1
    room.watch(1.9)
    room.webcam.light = 1.0
    room.watch(20)
    assert room.device.asked == []
    assert room.keeper.sentence == ""


def test_in_the_dark_the_camera_exposes_longer() -> None:
    room = Room()
    room.webcam.light = 0.3
    room.watch(7)
    assert room.device.asked == [], "a camera that was just opened is still measuring"
    room.watch(5)
    assert room.device.asked == [True]
    assert room.keeper.sentence == ""
    room.watch(20)
    assert room.device.asked == [True], "asked once"
    assert room.keeper.sentence == DARK_SENTENCE
    room.webcam.light = 0.8
    room.watch(5)
    assert room.keeper.sentence == ""
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
    assert room.keeper.sentence == DARK_SENTENCE
    room.webcam.light = 9.0
    room.watch(12)
    assert room.keeper.sentence == "The picture is overexposed: turn the lamp away from the board"


@pytest.mark.parametrize(("light", "words"), [(0.3, "It is dark"), (9.0, "overexposed")])
def test_an_exposure_held_by_hand_is_left_alone(light: float, words: str) -> None:
    room = Room()
    room.keeper.is_locked = True
    room.webcam.light = light
    room.watch(20)
    assert room.device.asked == []
    assert words in room.keeper.sentence


def test_two_lock_requests_before_a_picture_both_count() -> None:
    clock = FakeClock()
    applied: list[tuple[bool | None, bool | None]] = []

    class Lockable(PhysicalCamera):
        def _capture(self) -> Capture:
            return Capture(SMALL)

        def lock(self, focus: bool | None, exposure: bool | None) -> None:
            applied.append((focus, exposure))

    link = CameraLink(Cameras(lambda _source: Lockable(clock)), clock, board_reader({}))
    link.grab()
    link.lock(focus=True)
    link.lock(exposure=False)
    link.lock(exposure=True)
    assert applied == []
    link.grab()
    link.grab()
    assert applied == [(True, True)]


def test_a_frozen_camera_is_opened_anew() -> None:
    clock, opened = FakeClock(), []
    picture = striped_picture((1280, 720))

    class Frozen(PhysicalCamera):
        def _capture(self) -> Capture:
            return Capture(picture.copy())

    def open_frozen(_source: str) -> PhysicalCamera:
        opened.append(clock.monotonic_s())
        return Frozen(clock)

    link = CameraLink(Cameras(open_frozen), clock, board_reader({}))
    for _ in range(5):
        link.grab()
        clock.advance(1.0)
    for pause_s in (0.5, 1.0):
        with pytest.raises(CameraError, match=r"again and again: unplug it and plug it in again"):
            link.grab()
        assert link.handle_fault() == pause_s
    picture[3, 3] += 1
    link.grab()
    assert len(opened) == 3
    picture[:] = 255
    for _ in range(9):
        link.grab()
        clock.advance(1.0)
