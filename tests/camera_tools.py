"""Helpers: fakes of webcams, of OpenCV's access to them, and of the USB bus.

A test plugs a `Webcam` into the `UsbBus`, sets what is wrong with it, and lets the program open it.
The fakes have the shapes of pictures, the controls and the troubles of real webcams.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

# What every fake camera looks at: grey stripes of 8 px from dark to light.
STRIPES = np.tile((np.arange(1920, dtype=np.uint16) // 8 % 200 + 30).astype(np.uint8), (1080, 1))


def striped_picture(size: tuple[int, int]) -> Any:
    """Return the part of `STRIPES` that a picture of (width, height) shows."""
    return STRIPES[: size[1], : size[0]].copy()


# ---- V4L2 through OpenCV -------------------------------------------------------------------------


class Webcam:
    """A fake of a webcam: what it sees, which controls it has, and what is wrong with it.

    A webcam that is `busy` belongs to another program, and one that is `silent` sends nothing.
    `size` is the only size (width, height) of its pictures. With None it sends any size.
    """

    def __init__(self, fourcc: str = "MJPG", size: tuple[int, int] | None = None) -> None:
        self.fourcc = fourcc
        self.size = size
        self.plugged = True
        self.busy = False
        self.silent = False
        self.incomplete_pictures = 0
        """Number of the next pictures that are cut off in the middle."""
        self.sent_instead: Any = None
        """What it sends instead of pictures, or None to send pictures."""
        self.scene: Callable[[], Any] | None = None
        """Returns what it sees, as luma. None stands for `STRIPES`."""
        self.light = 1.0
        """Factor of the brightness of its pictures."""
        self.noise = True
        """Whether each picture differs from the one before, as those of a real sensor do."""
        self.controls = {
            cv2.CAP_PROP_AUTOFOCUS: 1.0,
            cv2.CAP_PROP_FOCUS: 30.0,
            cv2.CAP_PROP_AUTO_EXPOSURE: 3.0,
            cv2.CAP_PROP_EXPOSURE: 157.0,
        }
        self.opened: list[FakeCapture] = []
        """Every connection that was opened to it, in order."""
        self.count = 0
        """Number of pictures so far."""

    def luma(self, size: tuple[int, int]) -> Any:
        """Return the next picture, of this size if it shows `STRIPES`."""
        self.count += 1
        scene = striped_picture(size) if self.scene is None else self.scene()
        picture = scene.astype(np.float32) * self.light
        if self.noise:
            # the stripe on the left has another brightness in each picture
            picture[:, :8] += self.count % 7
        return picture.clip(0, 255).astype(np.uint8)


class FakeCapture:
    """A fake of the part of `cv2.VideoCapture` that the program uses, connected to a webcam.

    Like OpenCV, it refuses to set a control that the webcam does not have, and accepts all other
    settings, even a size that the webcam does not send. `calls` has everything that was set.
    """

    def __init__(self, webcam: Webcam) -> None:
        self.webcam = webcam
        self.settings: dict[int, float] = {
            cv2.CAP_PROP_FRAME_WIDTH: 640,
            cv2.CAP_PROP_FRAME_HEIGHT: 480,
        }
        self.calls: list[tuple[int, float]] = []
        self.released = 0
        webcam.opened.append(self)

    def isOpened(self) -> bool:  # noqa: N802 - OpenCV's name
        return self.webcam.plugged and not self.webcam.busy

    def set(self, key: int, value: float) -> bool:
        self.calls.append((key, value))
        if key in (
            cv2.CAP_PROP_AUTOFOCUS,
            cv2.CAP_PROP_FOCUS,
            cv2.CAP_PROP_AUTO_EXPOSURE,
            cv2.CAP_PROP_EXPOSURE,
        ):
            if key not in self.webcam.controls:
                return False
            self.webcam.controls[key] = value
            return True
        self.settings[key] = value
        return True

    def get(self, key: int) -> float:
        if key == cv2.CAP_PROP_FOURCC:
            return float(cv2.VideoWriter.fourcc(*self.webcam.fourcc))
        if key in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT):
            return float(self.size[0 if key == cv2.CAP_PROP_FRAME_WIDTH else 1])
        return self.webcam.controls.get(key, -1.0)

    @property
    def size(self) -> tuple[int, int]:
        requested_px = (
            int(self.settings[cv2.CAP_PROP_FRAME_WIDTH]),
            int(self.settings[cv2.CAP_PROP_FRAME_HEIGHT]),
        )
        return self.webcam.size or requested_px

    def read(self) -> tuple[bool, Any]:
        webcam = self.webcam
        if not webcam.plugged or webcam.silent or self.released:
            return False, None
        if webcam.sent_instead is not None:
            return True, webcam.sent_instead
        luma = webcam.luma(self.size)
        if self.settings.get(cv2.CAP_PROP_CONVERT_RGB, 1):
            return True, cv2.cvtColor(luma, cv2.COLOR_GRAY2BGR)
        return True, self._raw(luma)

    def _raw(self, luma: Any) -> Any:
        """Return a picture as the kernel delivers it: for MJPG of shape (1, bytes)."""
        assert self.webcam.fourcc == "MJPG"
        data = cv2.imencode(
            ".jpg", cv2.cvtColor(luma, cv2.COLOR_GRAY2BGR), [cv2.IMWRITE_JPEG_QUALITY, 95]
        )[1].ravel()
        if self.webcam.incomplete_pictures:
            self.webcam.incomplete_pictures -= 1
            data = data[: len(data) // 2]
        # the kernel's buffer is longer than the picture
        return np.concatenate([data, np.zeros(37, np.uint8)])[None]

    def release(self) -> None:
        self.released += 1


class UsbBus:
    """A fake of the USB bus: webcams by number, as OpenCV, /dev and /sys show them.

    `number` is that of the device, such as 0 for `/dev/video0`.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self.webcams: dict[int, Webcam] = {}
        (folder / "class").mkdir()

        def is_video_device(path: str | Path) -> bool:
            return int(str(path).removeprefix("/dev/video")) in self.webcams

        monkeypatch.setattr("vision.cameras.usb.SYSFS", folder / "class")
        monkeypatch.setattr("vision.cameras.usb.is_video_device", is_video_device)
        monkeypatch.setattr(cv2, "VideoCapture", self._open)
        monkeypatch.setenv("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "3")

    def _open(self, number: int, backend: int) -> FakeCapture:
        assert backend == cv2.CAP_V4L2
        return FakeCapture(self.webcams[number])

    def plug(
        self, number: int, webcam: Webcam, name: str = "HD Webcam", serial: str = "A1"
    ) -> Webcam:
        """Plug in a webcam, and make the files below /sys by which the program finds it.

        Like the kernel, give it two nodes: one for pictures, and the next one for metadata, from
        which no picture can be read.
        """
        webcam.plugged = True
        self.webcams[number] = webcam
        unit = self.folder / f"devices/usb1/1-{serial}"
        for node, index in ((number, 0), (number + 1, 1)):
            place = unit / f"1-{serial}:1.0/video4linux/video{node}"
            place.mkdir(parents=True, exist_ok=True)
            (place / "name").write_text(f"{name}\n")
            (place / "index").write_text(f"{index}\n")
            if not (place / "device").is_symlink():
                (place / "device").symlink_to(unit / f"1-{serial}:1.0")
            (self.folder / f"class/video{node}").unlink(missing_ok=True)
            (self.folder / f"class/video{node}").symlink_to(place)
        for part, value in (("idVendor", "046d"), ("idProduct", "082d"), ("serial", serial)):
            (unit / part).write_text(f"{value}\n")
        return webcam

    def pull(self, number: int) -> None:
        """Unplug a webcam, and remove both its nodes."""
        self.webcams.pop(number).plugged = False
        for node in (number, number + 1):
            (self.folder / f"class/video{node}").unlink()
