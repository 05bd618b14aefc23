"""What people look at has colours, whatever the camera sends; what is read from costs what it
did.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from camera_tools import UsbBus, Webcam
from picamera_tools import PiHost
from test_diagnosis import WatchedTable

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.ports import Frame
from vision.cameras.colours import combine_bgr
from vision.cameras.picamera import PiCamera
from vision.cameras.ribbon import choose_device
from vision.cameras.usb import UsbCamera
from vision.reading.board_reader import flip_colours_back

RED_BGR = (40, 60, 210)
SIZE = (640, 480)


def red(size: tuple[int, int]) -> Any:
    """Return a picture of one colour, in BGR."""
    return np.full((size[1], size[0], 3), RED_BGR, np.uint8)


def looks_red(frame: Frame) -> bool:
    """Do people see the colour that was in front of the camera, in all of the picture?"""
    assert frame.colours is not None
    colours = frame.colours()
    assert colours is not None
    assert colours.size * 4 < frame.luma.size, "colours are small"
    picture = combine_bgr(frame.luma, colours).astype(int)
    return bool(np.abs(picture - RED_BGR).max() <= 16)


@pytest.mark.parametrize("fourcc", ["MJPG", "YUYV"])
def test_a_usb_camera_has_colours_in_every_format(
    fourcc: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    webcam = UsbBus(monkeypatch, tmp_path).plug(0, Webcam(fourcc, SIZE))
    jpeg = cv2.imencode(".jpg", red(SIZE))[1].ravel()[None]
    webcam.sends = jpeg if fourcc == "MJPG" else red(SIZE)
    assert looks_red(UsbCamera(0, CameraSettings(), FakeClock()).frame())


def test_a_ribbon_camera_has_colours_below_its_brightness(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = PiHost(monkeypatch)
    camera = PiCamera(CameraSettings(size="1280x720"), FakeClock(), choose_device(""))
    y, cr, cb = (int(part) for part in cv2.cvtColor(red((2, 2)), cv2.COLOR_BGR2YCrCb)[0, 0])
    # rows are padded, and what is in the padding is nobody's colour
    buffer = np.full((1080, 1344), 7, np.uint8)
    buffer[:720, :1280] = y
    for low, value in ((720, cb), (900, cr)):
        buffer[low : low + 180].reshape(360, 672)[:, :640] = value
    host.opened[0].buffer = buffer
    frame = camera.frame()
    buffer[720:] = 0
    assert looks_red(frame), "the buffer goes back to the camera"
    camera.close()
    host.close()


# ---- what people see -----------------------------------------------------------------------------


def hues(picture: bytes | None) -> int:
    """Return how far the most colourful pixels are from grey."""
    decoded = cv2.imdecode(np.frombuffer(picture or b"", np.uint8), cv2.IMREAD_UNCHANGED)
    assert decoded is not None
    assert decoded.ndim == 3, "grey"
    return int(np.percentile(decoded.max(axis=2).astype(int) - decoded.min(axis=2), 99.5))


def test_live_picture_and_photographs_are_in_colour() -> None:
    eye = WatchedTable("outbuffered").look(12)
    pictures = [eye.picture(), eye.photograph()]
    assert min(map(hues, pictures)) > 60


def test_colours_of_a_mirrored_picture_are_turned_back() -> None:
    colours = np.arange(8, dtype=np.uint8).reshape(1, 4, 2)
    turned = flip_colours_back(lambda: colours)
    assert turned is not None
    told = turned()
    assert told is not None
    assert told[0, :, 0].tolist() == [6, 4, 2, 0]
    assert flip_colours_back(None) is None
