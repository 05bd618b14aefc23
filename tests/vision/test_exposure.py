"""Test what the program does about pictures that are dark, overexposed or frozen.

`ExposureControl` is tested with a camera that records what it is asked to do, in fake time.
"""

from __future__ import annotations

import pytest
from camera_tools import Webcam, striped_picture

from companion.core.clock import FakeClock
from companion.core.errors import CameraError
from vision.cameras.camera_link import CameraLink, Cameras
from vision.cameras.exposure import DARK_SENTENCE, ExposureControl
from vision.cameras.source import Capture, PhysicalCamera
from vision.reading.board_reader import make_board_reader

SMALL_PICTURE = striped_picture((1920, 1080))[::6, ::6]


class MeteringCamera(PhysicalCamera):
    """A camera that records each request to measure the light."""

    can_meter = True

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.requests: list[bool] = []
        """For each request, whether the exposure may be long."""

    def meter(self, slow: bool) -> bool:
        self.requests.append(slow)
        return self.can_meter


class Room:
    """A room whose light the tests set, and an exposure control that gets ten pictures a second."""

    def __init__(self) -> None:
        self.webcam = Webcam()
        self.webcam.scene = SMALL_PICTURE.copy
        self.camera = MeteringCamera()
        self.control = ExposureControl(self.camera, 100.0)
        self.now_s = 100.0

    def watch(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            self.control.check(self.webcam.luma((320, 180)), self.now_s)
            self.now_s += 0.1


def test_a_moment_in_the_dark_changes_nothing() -> None:
    """Three checks, one a second, have to agree. A hand over the lens covers fewer."""
    room = Room()
    room.watch(10)
    room.webcam.light = 0.1
    room.watch(1.9)
    room.webcam.light = 1.0
    room.watch(20)
    assert room.camera.requests == []
    assert room.control.sentence == ""


def test_in_the_dark_the_camera_exposes_longer() -> None:
    """The camera is asked once, then people are. Brighter light ends the long exposures."""
    # for the first seconds, a camera that was just opened still measures by itself
    room = Room()
    room.webcam.light = 0.3
    room.watch(7)
    assert room.camera.requests == []

    # then it is asked to expose for longer
    room.watch(5)
    assert room.camera.requests == [True]
    assert room.control.sentence == ""

    # it is still dark, so people are asked for light
    room.watch(20)
    assert room.camera.requests == [True], "the camera was asked again"
    assert room.control.sentence == DARK_SENTENCE

    # somebody switches on a lamp
    room.webcam.light = 0.8
    room.watch(5)
    assert room.control.sentence == ""

    # bright light overexposes the picture, so the camera measures again without long exposures
    room.webcam.light = 9.0
    room.watch(5)
    assert room.camera.requests == [True, False], "long exposures go on in bright light"
    room.webcam.light = 1.0
    room.watch(15)
    assert room.control.sentence == ""


def test_without_controls_people_are_asked_for_light() -> None:
    room = Room()
    room.camera.can_meter = False
    room.webcam.light = 0.3
    room.watch(12)
    assert room.control.sentence == DARK_SENTENCE
    room.webcam.light = 9.0
    room.watch(12)
    assert room.control.sentence == "The picture is overexposed: turn the lamp away from the board"


@pytest.mark.parametrize(("light", "words"), [(0.3, "It is dark"), (9.0, "overexposed")])
def test_an_exposure_locked_by_hand_stays(light: float, words: str) -> None:
    room = Room()
    room.control.is_locked = True
    room.webcam.light = light
    room.watch(20)
    assert room.camera.requests == []
    assert words in room.control.sentence


def test_two_lock_requests_before_a_picture_both_count() -> None:
    clock = FakeClock()
    applied: list[tuple[bool | None, bool | None]] = []

    class Lockable(PhysicalCamera):
        def _capture(self) -> Capture:
            return Capture(SMALL_PICTURE)

        def lock(self, focus: bool | None, exposure: bool | None) -> None:
            applied.append((focus, exposure))

    link = CameraLink(Cameras(lambda _source: Lockable(clock)), clock, make_board_reader({}))
    link.grab()
    link.lock(focus=True)
    link.lock(exposure=False)
    link.lock(exposure=True)
    assert applied == []

    # the next picture applies all requests at once, and the one after it nothing
    link.grab()
    link.grab()
    assert applied == [(True, True)]


def test_a_frozen_camera_is_opened_again() -> None:
    """A picture that is repeated for five seconds is a fault, unless it is all of one tone."""
    clock, opened_at_s = FakeClock(), []
    picture = striped_picture((1280, 720))

    class Frozen(PhysicalCamera):
        def _capture(self) -> Capture:
            return Capture(picture.copy())

    def open_frozen(_source: str) -> PhysicalCamera:
        opened_at_s.append(clock.monotonic_s())
        return Frozen(clock)

    # the same picture for five seconds
    link = CameraLink(Cameras(open_frozen), clock, make_board_reader({}))
    for _ in range(5):
        link.grab()
        clock.advance(1.0)

    # after that it is a fault, also in the first picture of the camera that was opened again
    for pause_s in (0.5, 1.0):
        with pytest.raises(CameraError, match=r"again and again: unplug it and plug it in again"):
            link.grab()
        assert link.handle_fault() == pause_s

    # one pixel changes, so the camera works again
    picture[3, 3] += 1
    link.grab()
    assert len(opened_at_s) == 3

    # a white picture may be repeated for nine seconds
    picture[:] = 255
    for _ in range(9):
        link.grab()
        clock.advance(1.0)
