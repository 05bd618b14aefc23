"""Test USB cameras with fake webcams: formats of pictures, errors, focus and exposure."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from camera_tools import UsbBus, Webcam, striped_picture

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from vision.cameras.source import Locks
from vision.cameras.usb import UsbCamera, find_usb_number, usb_devices


def open_usb(fps: float = 10.0, mains_hz: int = 50) -> UsbCamera:
    settings = CameraSettings(fps=fps, mains_hz=50 if mains_hz == 50 else 60)
    return UsbCamera(0, settings, FakeClock())


@pytest.mark.parametrize("fourcc", ["MJPG", "YUYV"])
@pytest.mark.parametrize("size", [None, (640, 480)])
def test_brightness_is_read_from_each_format(
    bus: UsbBus, fourcc: str, size: tuple[int, int] | None
) -> None:
    bus.plug(0, Webcam(fourcc, size))
    frame = open_usb().frame()
    width, height = size or (1920, 1080)
    assert frame.luma.shape == (height, width)
    assert frame.luma.flags.c_contiguous
    # the first 8 columns are noise
    errors = np.abs(frame.luma[:, 8:].astype(int) - striped_picture((width, height))[:, 8:])
    assert errors.max() <= (12 if fourcc == "MJPG" else 0)
    assert errors.mean() <= 0.5


def test_a_picture_is_stamped_when_taken(bus: UsbBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's stamp is used, unless it is in the future, very old or missing."""
    webcam = bus.plug(0, Webcam())
    clock = FakeClock(50.0)
    camera = UsbCamera(0, CameraSettings(), clock)
    monkeypatch.setattr("vision.cameras.usb.time.monotonic", lambda: 7000.0)
    for stamp_ms, expected in (
        (6_999_920.0, 49.92),
        (7_000_010.0, 50.0),
        (1000.0, 50.0),
        (0.0, 50.0),
    ):
        webcam.controls[cv2.CAP_PROP_POS_MSEC] = stamp_ms
        assert camera.frame().at_s == pytest.approx(expected), f"{stamp_ms} ms"


def test_settings_choose_the_size_of_pictures(bus: UsbBus) -> None:
    webcam = bus.plug(0, Webcam())
    camera = UsbCamera(0, CameraSettings(size="1280x720"), FakeClock())
    settings = webcam.opened[0].settings
    assert settings[cv2.CAP_PROP_FOURCC] == cv2.VideoWriter.fourcc(*"MJPG")
    assert (settings[cv2.CAP_PROP_FRAME_WIDTH], settings[cv2.CAP_PROP_FRAME_HEIGHT]) == (1280, 720)
    assert settings[cv2.CAP_PROP_BUFFERSIZE] == 1
    camera.close()
    camera.close()
    assert webcam.opened[0].released == 1


def test_incomplete_pictures_are_skipped(bus: UsbBus) -> None:
    webcam = bus.plug(0, Webcam())
    camera = open_usb()
    webcam.incomplete_pictures = 3
    assert (camera.frame().luma[-1, 8:] > 20).all(), "the lower half of the picture is missing"
    webcam.incomplete_pictures = 9
    with pytest.raises(
        CameraError, match=r"sends only damaged pictures: use a shorter cable, another socket"
    ):
        camera.frame()


@pytest.mark.parametrize(
    ("sends", "words"),
    [
        (
            np.zeros((1080, 1920, 4), np.uint8),
            "sends what is not read here: choose a camera that sends MJPG or YUYV",
        ),
        (np.zeros((48, 30), np.uint8), "is not read here"),
        (np.frombuffer(b"RIFF" + b"\1" * 5000, np.uint8)[None], "only damaged pictures"),
    ],
)
def test_data_that_is_not_a_picture_is_reported(bus: UsbBus, sends: object, words: str) -> None:
    bus.plug(0, Webcam()).sent_instead = sends
    with pytest.raises(CameraError, match=words):
        open_usb().frame()


def test_an_unplugged_camera_is_reported(bus: UsbBus) -> None:
    bus.plug(0, Webcam())
    camera = open_usb()
    camera.frame()
    bus.pull(0)
    with pytest.raises(CameraError, match="usb:0 sends no pictures: check its plug and cable"):
        camera.frame()
    with pytest.raises(CameraError, match=r"USB camera 0 is missing \(/dev/video0\): plug it in"):
        open_usb()


def test_the_only_camera_is_found_under_another_number(bus: UsbBus) -> None:
    bus.plug(2, Webcam())
    assert find_usb_number("0", usb_devices()) == 2
    bus.plug(4, Webcam(), serial="B2")
    assert find_usb_number("0", usb_devices()) == 0, "one of two cameras was guessed"


def test_a_busy_camera_is_released(bus: UsbBus) -> None:
    webcam = bus.plug(0, Webcam())
    webcam.busy = True
    with pytest.raises(CameraError, match=r"cannot be opened .* close other programs"):
        open_usb()
    assert webcam.opened[0].released == 1


# ---- controls ------------------------------------------------------------------------------------


def test_focus_and_exposure_are_locked_and_released(bus: UsbBus) -> None:
    """Locking holds both at their present values, without bands from flickering lamps."""
    webcam = bus.plug(0, Webcam())
    camera = open_usb()
    assert camera.locks == Locks(False, False)

    # The focus is locked where it is. The exposure, in units of 0.1 ms, was 15.7 ms and becomes
    # 10 ms, because lamps on 50 Hz flicker every 10 ms and would show bands.
    camera.lock(True, True)
    assert camera.locks == Locks(True, True)
    assert webcam.controls[cv2.CAP_PROP_FOCUS] == 30
    assert webcam.controls[cv2.CAP_PROP_EXPOSURE] == 100

    # both are made automatic again, one by one: 3 is an automatic exposure
    camera.lock(False, None)
    assert camera.locks == Locks(False, True)
    camera.lock(None, False)
    assert camera.locks == Locks(False, False)
    assert webcam.controls[cv2.CAP_PROP_AUTO_EXPOSURE] == 3


def test_missing_controls_cannot_be_locked(bus: UsbBus) -> None:
    webcam = bus.plug(0, Webcam())
    del webcam.controls[cv2.CAP_PROP_AUTOFOCUS]
    camera = open_usb()
    assert camera.locks == Locks(None, False)
    camera.lock(True, None)
    assert cv2.CAP_PROP_AUTOFOCUS not in webcam.controls
    webcam.controls.clear()
    assert camera.locks is None
    assert not camera.meter(slow=True)


@pytest.mark.parametrize(("fps", "mains_hz", "expected"), [(15, 50, 600), (14, 60, 667)])
def test_longer_exposures_are_whole_periods_within_a_frame(
    bus: UsbBus, fps: float, mains_hz: int, expected: int
) -> None:
    """`expected` is in units of 0.1 ms.

    At 15 pictures a second a frame lasts 66.7 ms, which has six periods of 10 ms. At 14 it lasts
    71.4 ms, which has eight periods of 8.33 ms.
    """
    # 1 is an exposure by hand
    webcam = bus.plug(0, Webcam())
    camera = open_usb(fps, mains_hz)
    assert camera.meter(slow=True)
    assert webcam.controls[cv2.CAP_PROP_AUTO_EXPOSURE] == 1
    assert webcam.controls[cv2.CAP_PROP_EXPOSURE] == expected

    # 3 is an automatic one
    camera.meter(slow=False)
    assert webcam.controls[cv2.CAP_PROP_AUTO_EXPOSURE] == 3
