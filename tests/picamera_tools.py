"""Helpers: a fake of Picamera2 0.3.38, with the shapes and the troubles of the real one.

Picamera2 is the library for a camera on the Raspberry Pi's own cable. It asks libcamera for
pictures. `test_camera_contract` runs on the fake and on the real library, and fails where they
differ. The troubles of the real one are:

- libcamera lists cameras in another order than that of the numbers by which they are opened
- buffers come from contiguous memory, which is limited
- a camera that cannot be opened leaves a pipe open
- `stop` waits for an event loop, even if that has ended
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from camera_tools import striped_picture

# Rows of a stream begin at multiples of this number of bytes.
STRIDE = 64
IMX708 = "/base/soc/i2c0mux/i2c@1/imx708@1a"
IMX219 = "/base/soc/i2c0mux/i2c@0/imx219@10"
# Size of the fast pictures of an imx708 that show the whole width of its sensor.
WIDE_PX = (2304, 1296)


def stride_of(width: int) -> int:
    """Return the bytes from one row to the next, which are always more than the picture's width."""
    return (width + 1 + STRIDE - 1) // STRIDE * STRIDE


class FakeRequest:
    """A fake of a completed request, that is, of a picture: YUV420, with the luma on top.

    The buffer has the shape (height * 3 / 2, stride). It must be released once it is read.
    """

    def __init__(self, camera: FakePicamera2) -> None:
        main = camera.configuration["main"]
        width, height = main["size"]
        self.buffer = np.full((height * 3 // 2, main["stride"]), 200, np.uint8)
        camera.count += 1
        picture = (striped_picture((width, height)).astype(np.float32) * camera.light).clip(0, 255)
        picture[:, 0] = camera.count % 7 if camera.noise else 0
        self.buffer[:height, :width] = picture
        self.released = 0
        self.stamp_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self.camera = camera

    def get_metadata(self) -> dict[str, Any]:
        return {"SensorTimestamp": self.stamp_ns, **self.camera.metadata}

    def release(self) -> None:
        self.released += 1


class FakeLibcameraCamera:
    """A fake of libcamera's camera, which only one program at a time can acquire.

    `identity` is libcamera's name for it, such as `IMX708`.
    """

    def __init__(self, host: PiHost, identity: str) -> None:
        self.host = host
        self.id = identity

    def acquire(self) -> None:
        if self.id in self.host.busy or self.id in self.host.acquired:
            raise RuntimeError("Failed to acquire camera: Device or resource busy")
        self.host.acquired.add(self.id)

    def stop(self) -> None:
        self.host.running.discard(self.id)

    def release(self) -> None:
        if self.id in self.host.running:
            raise RuntimeError("Failed to release camera: Device or resource busy")
        self.host.acquired.discard(self.id)


class FakePicamera2:
    """A fake of Picamera2, as far as the program uses it.

    The names of its attributes and methods are those of Picamera2, except for these: `trouble`,
    `buffer`, `light` and `noise`, by which tests choose what it delivers, `calls`, `requests` and
    `pending`, by which they see what the program has done, and `end_loop`. `number` is the index in
    `global_camera_info`.
    """

    host: PiHost

    def __init__(self, number: int = 0) -> None:
        self.notifyme_r, self.notifyme_w = os.pipe2(os.O_NONBLOCK)
        self.notifymeread = os.fdopen(self.notifyme_r, "rb")
        self.is_open = False
        self.started = False
        self.loop_runs = self.loop_is_dead = False
        self.close_lock = threading.Lock()
        if number >= len(listed := self.global_camera_info()):
            raise RuntimeError(f"No camera number {number} found")
        self.number = number
        self.camera_idx = listed[number]["Num"]
        info = self.host.info[self.camera_idx]
        self.camera: Any = FakeLibcameraCamera(self.host, info["Id"])
        try:
            if self.host.opening_error:
                raise self.host.opening_error
            self.camera.acquire()
        except RuntimeError as error:
            raise RuntimeError("Camera __init__ sequence did not complete.") from error
        self.is_open = True
        self.controls: list[dict[str, Any]] = []
        self.requests: list[FakeRequest] = []
        self.calls: list[str] = []
        self.trouble: Exception | None = None
        """The error that waiting for a picture raises, if any."""
        self.buffer: Any = None
        """The buffer of every request, or None for one with a picture."""
        self.pending = 0
        self.light = 1.0
        self.noise = True
        self.count = 0
        self.configuration: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {
            "ExposureTime": 12000,
            "AnalogueGain": 2.5,
            "LensPosition": 1.7,
            "AfState": 2,
            "ScalerCrop": (0, 0, 4608, 2592),
        }
        self.camera_properties = {"PixelArraySize": (4608, 2592), "Model": info["Model"]}
        # the minimum, the maximum and the default of each control
        controls: dict[str, Any] = {
            "AfMode": (0, 2, 0),
            "LensPosition": (0.0, 15.0, 1.0),
            "AeEnable": (False, True, None),
            "AeExposureMode": (0, 3, 0),
            "AeFlickerMode": (0, 1, 0),
            "AeFlickerPeriod": (100, 1000000, None),
            "ExposureTime": (26, 220417486, None),
            "AnalogueGain": (1.12, 16.0, None),
            "FrameDurationLimits": (17849, 220535845, None),
        }
        self.camera_controls = {
            name: range_
            for name, range_ in controls.items()
            if name not in self.host.missing_controls
        }
        self.host.opened.append(self)

    @classmethod
    def global_camera_info(cls) -> list[dict[str, Any]]:
        """List the cameras sorted as by Picamera2. `Num` is the index in libcamera's list."""
        listed = [{**info, "Num": number} for number, info in enumerate(cls.host.info)]
        return sorted(listed, key=lambda info: ("/usb" not in info["Id"], info["Id"]), reverse=True)

    def create_video_configuration(self, **streams: Any) -> dict[str, Any]:
        return {"buffer_count": 6, "sensor": {}, **streams}

    def configure(self, configuration: dict[str, Any]) -> None:
        """Set the sizes of the pictures, which needs contiguous memory for all their buffers."""
        assert not self.started, "Picamera2 refuses to configure a camera that runs"
        width, height = configuration["main"]["size"]
        output = (configuration.get("sensor") or {}).get("output_size", (width, height))
        self.configuration = {}
        needed_bytes = configuration["buffer_count"] * (
            stride_of(width) * height * 3 // 2 + output[0] * output[1] * 5 // 4
        )
        if needed_bytes > self.host.contiguous_bytes:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        self.configuration = {
            **configuration,
            "main": {**configuration["main"], "stride": stride_of(width)},
        }

    def camera_configuration(self) -> dict[str, Any]:
        return self.configuration

    def start(self) -> None:
        self.loop_runs = True
        self.started = True
        self.host.running.add(self.camera.id)
        self.calls.append("start")

    def end_loop(self) -> None:
        """End its event loop without a notice to anybody who waits for it, as a crash does."""
        self.loop_is_dead = True

    def cancel_all_and_flush(self) -> None:
        self.calls.append("cancel_all_and_flush")
        self.pending = 0

    def stop(self) -> None:
        """Ask the event loop, if there is one, to stop, and wait for its answer."""
        if self.started and self.loop_runs:
            assert not self.pending, "stop waits for ever behind a request that is not answered"
            if self.loop_is_dead:
                self.host.never.wait()
        self.calls.append("stop")
        self.camera.stop()
        self.started = False

    def close(self) -> None:
        """End the event loop, stop and release the camera, and close its pipe."""
        self.loop_runs = False
        with self.close_lock:
            if not self.is_open:
                return
            if self.host.close_hangs:
                self.host.never.wait()
            self.stop()
            self.camera.release()
            self.is_open = False
            self.camera = None
            self.notifymeread.close()
            os.close(self.notifyme_w)
            self.calls.append("close")

    def set_controls(self, controls: dict[str, Any]) -> None:
        for name in controls:
            if name not in self.camera_controls:
                raise RuntimeError(f"Control {name} is not advertised by libcamera")
        self.controls.append(controls)

    def capture_request(self, wait: bool) -> Any:
        """Ask for a picture. Return a job whose `get_result` waits for it or raises `trouble`."""
        assert wait is False
        self.pending += 1

        def result(timeout: float) -> FakeRequest:
            assert timeout <= 5
            if self.loop_is_dead or self.camera.id not in self.host.running:
                raise TimeoutError
            if self.trouble:
                raise self.trouble
            self.pending -= 1
            self.requests.append(FakeRequest(self))
            if self.buffer is not None:
                self.requests[-1].buffer = self.buffer
            return self.requests[-1]

        return SimpleNamespace(get_result=result)


class FakeMappedArray:
    """A fake of `picamera2.MappedArray`. The program must not map a buffer for writing."""

    def __init__(self, request: FakeRequest, stream: str, write: bool = True) -> None:
        assert stream == "main"
        assert not write, "a buffer that is only read needs no flush of the processor's caches"
        self.array = request.buffer

    def __enter__(self) -> FakeMappedArray:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class PiHost:
    """A fake of a Raspberry Pi, with the cameras on its cables and those that were opened.

    It replaces the module `picamera2`, which is only installed on a Raspberry Pi.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.info: list[dict[str, Any]] = [
            {"Model": "imx708", "Location": 2, "Rotation": 180, "Id": IMX708}
        ]
        """The cameras in libcamera's order, which may differ at every boot."""
        self.opened: list[FakePicamera2] = []
        self.contiguous_bytes = 512 << 20
        self.busy: set[str] = set()
        """Ids of the cameras that another program has acquired."""
        self.acquired: set[str] = set()
        self.running: set[str] = set()
        self.missing_controls: set[str] = set()
        """Names of the controls that these cameras do not have."""
        self.opening_error: Exception | None = None
        """The cause of the error that opening a camera raises, or None if it can be opened."""
        self.close_hangs = False
        self.never = threading.Event()
        """What a hanging camera waits for. It is set only by `close`, so that no thread is left."""
        self.kind = type("Picamera2", (FakePicamera2,), {"host": self})
        monkeypatch.setitem(
            sys.modules,
            "picamera2",
            SimpleNamespace(Picamera2=self.kind, MappedArray=FakeMappedArray),
        )

    def close(self) -> None:
        """Wake every hanging camera, and close those that a test has left open."""
        self.never.set()
        self.close_hangs = False
        for device in self.opened:
            device.pending = 0
            device.close()
