"""Test how a camera is chosen by the setting `source`, and the list of cameras to choose from.

A source is a picture, a folder of pictures, or a camera by its kind and by its name or number.
"""

from pathlib import Path

import cv2
import numpy as np
import pytest
from camera_tools import UsbBus, Webcam
from picamera_tools import IMX219, IMX708, PiHost

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.ports import Camera, CameraOffer
from vision.cameras.catalogue import list_cameras, open_camera
from vision.oddities import find_oddity


def write_picture(path: Path, tone: int) -> Path:
    """Write a picture of 64 x 48 px of one grey tone, and return its path."""
    cv2.imwrite(str(path), np.full((48, 64, 3), tone, np.uint8))
    return path


def open_source(source: Path | str) -> Camera:
    return open_camera(CameraSettings(source=str(source)), FakeClock(5.0))


# ---- pictures and folders ------------------------------------------------------------------------


def test_a_single_picture_repeats_under_new_numbers(tmp_path: Path) -> None:
    camera = open_source(write_picture(tmp_path / "a.png", 90))
    frames = [camera.frame() for _ in range(3)]
    assert [frame.number for frame in frames if frame] == [1, 2, 3]
    assert frames[0]
    assert frames[0].luma.shape == (48, 64)
    assert frames[0].at_s == 5.0
    # a closed camera may be closed again, but sends no more pictures
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match="is closed: open it again"):
        camera.frame()


def test_a_folder_stays_on_its_last_picture(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The last picture is repeated, so that the board stays in view after the end."""
    # three pictures, another file, and a damaged picture
    for name, tone in (("b.png", 20), ("a.jpg", 10), ("c.bmp", 30)):
        write_picture(tmp_path / name, tone)
    (tmp_path / "notes.txt").write_text("not a picture")
    (tmp_path / "aa.png").write_bytes(b"\x89PNG damaged")

    # the pictures come in the order of their names, and the last one is repeated
    camera = open_source(tmp_path)
    tones = [int(camera.frame().luma.mean()) for _ in range(5)]
    assert tones == [10, 20, 30, 30, 30]
    assert "aa.png: is not a picture that can be read: use PNG or JPEG" in caplog.text

    # an empty folder and a missing file are refused
    (tmp_path / "empty").mkdir()
    with pytest.raises(CameraError, match="holds no pictures: put PNG or JPEG files into it"):
        open_source(tmp_path / "empty")
    with pytest.raises(CameraError, match=r"cannot be read: No such file .* Check the path"):
        open_source(tmp_path / "gone.png")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("none", "The camera is switched off"),
        (
            "usb:front",
            r"no USB camera of this name is plugged in \(none\)\. Plug it in, or write usb:0",
        ),
        ("picamera:front", "Picamera2 is missing"),
        ("usb:77", r"USB camera 77 is missing \(/dev/video77\): plug it in"),
    ],
)
def test_a_missing_camera_is_reported(source: str, words: str) -> None:
    with pytest.raises(CameraError, match=words):
        open_source(source)


# ---- which cameras there are ---------------------------------------------------------------------


def test_cameras_are_listed_without_opening_them(bus: UsbBus, pi: PiHost) -> None:
    """The list must not disturb a camera that is in use, by this program or another one.

    A USB camera that libcamera lists as well appears only once.
    """
    pi.info.insert(0, {"Model": "imx219", "Id": IMX219})
    pi.info.append(
        {"Model": "HD Webcam", "Id": "/base/scb/pcie@7d500000/usb@0,0-1.4:1.0-046d:0825"}
    )
    webcam = bus.plug(0, Webcam(), "HD Webcam")
    bus.plug(2, Webcam(), "Other: Cam", "B2").busy = True
    assert list_cameras() == (
        CameraOffer(f"picamera:{IMX708}", "Raspberry Pi camera imx708"),
        CameraOffer(f"picamera:{IMX219}", "Raspberry Pi camera imx219"),
        CameraOffer("usb:HD Webcam", "HD Webcam"),
        CameraOffer("usb:Other: Cam", "Other: Cam"),
    )
    assert not webcam.opened
    assert not pi.opened


def test_a_named_ribbon_camera_is_opened(pi: PiHost) -> None:
    """A camera is named by its sensor, its id or its number, and always the right one is opened.

    That is not trivial, because libcamera lists two cameras in another order than Picamera2.
    """
    pi.info.insert(0, {"Model": "imx219", "Id": IMX219})
    listed = [(camera["Num"], camera["Model"]) for camera in pi.kind.global_camera_info()]
    assert listed == [(1, "imx708"), (0, "imx219")]

    for source, expected in (
        ("picamera:imx219", IMX219),
        (f"picamera:{IMX708}", IMX708),
        ("picamera:1", IMX219),
    ):
        with open_source(source):
            assert pi.opened[-1].camera.id == expected

    # the error lists the cameras that are connected
    with pytest.raises(
        CameraError,
        match=r"No Raspberry Pi camera imx477 is connected \(.*imx708@1a, .*imx219@10\)",
    ):
        open_source("picamera:imx477")


def test_cameras_of_the_same_name_are_numbered(bus: UsbBus) -> None:
    bus.plug(0, Webcam(), "Cam")
    bus.plug(2, Webcam(), "Cam", "B2")
    assert [offer.source for offer in list_cameras()] == ["usb:0", "usb:2"]


def test_decoders_and_sensors_are_not_usb_cameras(bus: UsbBus) -> None:
    """A Raspberry Pi has video devices of its own, which do not belong to a USB device."""
    for number, name in ((10, "bcm2835-codec-decode"), (0, "unicam")):
        folder = bus.folder / f"devices/platform/soc/{name}/video4linux/video{number}"
        folder.mkdir(parents=True)
        (folder / "name").write_text(name)
        (bus.folder / f"class/video{number}").symlink_to(folder)
    assert list_cameras() == ()


def test_auto_prefers_a_ribbon_camera_to_usb(bus: UsbBus, pi: PiHost) -> None:
    # with both kinds
    bus.plug(2, Webcam())
    assert open_source("auto").name == "picamera"
    # with a USB camera alone
    pi.info.clear()
    assert open_source("auto").name == "usb:2"
    # without any camera, the error says what is missing of either kind
    bus.pull(2)
    with pytest.raises(
        CameraError, match=r"No camera found: .*No Raspberry Pi camera.*USB camera 0 is missing"
    ):
        open_source("auto")


def test_a_part_of_its_name_finds_a_camera(bus: UsbBus) -> None:
    bus.plug(0, Webcam(), "Laptop", "B2")
    bus.plug(2, Webcam(), "HD Pro Webcam C920")
    assert open_source("usb:c920").name == "usb:2"
    with pytest.raises(
        CameraError, match=r"no USB camera of this name .*\(Laptop, HD Pro Webcam C920\)"
    ):
        open_source("usb:C270")


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        (("usb 046d:0825:AEEF80A0", "UVC Camera"), "unplug it and plug it in again"),
        (("usb 046d:082d", "HD Pro Webcam C920"), "lock it again"),
        (("v4l2 Droidcam", "Droidcam"), "another clock"),
        (("imx477",), "by hand"),
        (("imx708",), ""),
        (("", ""), ""),
    ],
)
def test_an_oddity_is_found_by_camera_name(names: tuple[str, ...], advice: str) -> None:
    """The names of a camera are its identity and what it calls itself. Most have no oddity."""
    oddity = find_oddity(*names)
    assert bool(oddity) == bool(advice)
    assert oddity is None or advice in oddity.sentence
