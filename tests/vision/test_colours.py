"""Test that pictures for people have colours, with every kind of camera."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from camera_tools import UsbBus, Webcam
from picamera_tools import PiHost
from reading_tools import WatchedTable

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.ports import Frame
from vision.cameras.colours import combine_bgr
from vision.cameras.picamera import PiCamera
from vision.cameras.ribbon import choose_device
from vision.cameras.usb import UsbCamera
from vision.reading.board_reader import flip_colours_back

RED_BGR = (40, 60, 210)
SIZE_PX = (640, 480)


def red_picture(size: tuple[int, int]) -> Any:
    """Return a red picture of (width, height), in BGR."""
    return np.full((size[1], size[0], 3), RED_BGR, np.uint8)


def looks_red(frame: Frame) -> bool:
    """Return whether the frame shows the colour of `red_picture` everywhere."""
    assert frame.colours is not None
    colours = frame.colours()
    assert colours is not None
    assert colours.size * 4 < frame.luma.size, "the colours are not reduced"
    picture = combine_bgr(frame.luma, colours).astype(int)
    return bool(np.abs(picture - RED_BGR).max() <= 16)


@pytest.mark.parametrize("fourcc", ["MJPG", "YUYV"])
def test_a_usb_camera_has_colours_in_every_format(
    fourcc: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    webcam = UsbBus(monkeypatch, tmp_path).plug(0, Webcam(fourcc, SIZE_PX))
    jpeg = cv2.imencode(".jpg", red_picture(SIZE_PX))[1].ravel()[None]
    webcam.sent_instead = jpeg if fourcc == "MJPG" else red_picture(SIZE_PX)
    assert looks_red(UsbCamera(0, CameraSettings(), FakeClock()).frame())


def test_a_ribbon_camera_has_colours_below_its_brightness(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = PiHost(monkeypatch)
    camera = PiCamera(CameraSettings(size="1280x720"), FakeClock(), choose_device(""))
    y, cr, cb = cv2.cvtColor(red_picture((2, 2)), cv2.COLOR_BGR2YCrCb)[0, 0].tolist()

    # YUV420: 720 rows of brightness, and below them 360 rows of half the width for each colour. The
    # rows are padded with sevens, which would show as another colour.
    buffer = np.full((1080, 1344), 7, np.uint8)
    buffer[:720, :1280] = y
    for first_row, value in ((720, cb), (900, cr)):
        buffer[first_row : first_row + 180].reshape(360, 672)[:, :640] = value
    host.opened[0].buffer = buffer
    frame = camera.frame()

    # the camera writes its next picture into the same buffer, which must not change the frame
    buffer[720:] = 0
    assert looks_red(frame)
    camera.close()
    host.close()


# ---- what people see -----------------------------------------------------------------------------


def colourfulness(picture: bytes | None) -> int:
    """Return the largest difference between the channels of a pixel, but for outliers of 0.5 %."""
    decoded = cv2.imdecode(np.frombuffer(picture or b"", np.uint8), cv2.IMREAD_UNCHANGED)
    assert decoded is not None
    assert decoded.ndim == 3, "the picture is grey"
    return int(np.percentile(decoded.max(axis=2).astype(int) - decoded.min(axis=2), 99.5))


def test_live_pictures_and_photographs_have_colours() -> None:
    eye = WatchedTable("outbuffered").watch(12)
    pictures = [eye.picture(), eye.photograph()]
    assert min(map(colourfulness, pictures)) > 60


def test_colours_of_a_mirrored_picture_are_turned_back() -> None:
    # a row of four pixels, whose first colours are 0, 2, 4 and 6
    colours = np.arange(8, dtype=np.uint8).reshape(1, 4, 2)
    colours_of_frame = flip_colours_back(lambda: colours)
    assert colours_of_frame is not None
    turned_colours = colours_of_frame()
    assert turned_colours is not None
    assert turned_colours[0, :, 0].tolist() == [6, 4, 2, 0]
    # a frame without colours stays without them
    assert flip_colours_back(None) is None
