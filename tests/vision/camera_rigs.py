"""Helpers: rigs with two ribbon cameras for the contract tests of Picamera2.

`FakeRig` has the fake of `picamera_tools`, `RealRig` the real Picamera2 on libcamera's virtual
cameras. The real one is used only in the virtual machine of `make appliance`, where `REAL_CAMERAS`
is set (`tests/appliance/cameras`).
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import pytest
from picamera_tools import IMX219, IMX708, PiHost

from companion.core.clock import RealClock
from companion.core.config import CameraSettings
from vision.cameras.picamera import PiCamera
from vision.cameras.ribbon import choose_device, close_device, open_device

SETTINGS = CameraSettings(size="1280x720")


def open_pi(which: str = "") -> PiCamera:
    """Open a camera as the program does. `which` is empty or the id of a camera."""
    return PiCamera(SETTINGS, RealClock(), choose_device(which))


class FakeRig:
    """A rig with fake cameras, which libcamera lists in another order than Picamera2."""

    repetitions = 1000
    """Number of times that a test repeats a step to see whether anything leaks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.host = PiHost(monkeypatch)
        self.host.info[:] = [{"Model": "imx219", "Id": IMX219}, {"Model": "imx708", "Id": IMX708}]

    @contextmanager
    def taken_elsewhere(self, identity: str) -> Iterator[None]:
        """Let another program hold a camera during the block."""
        self.host.busy.add(identity)
        yield
        self.host.busy.discard(identity)

    def silence(self, camera: PiCamera) -> None:
        """Stop a camera behind Picamera2's back, so that no more pictures come."""
        camera.device.camera.stop()

    def end_loop(self, camera: PiCamera) -> None:
        """End Picamera2's event loop."""
        camera.device.end_loop()

    def close(self) -> None:
        self.host.close()


class RealRig:
    """A rig with the real Picamera2, on the cameras of `virtual.yaml`."""

    repetitions = 100

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "picamera2", real_module())

    @contextmanager
    def taken_elsewhere(self, identity: str) -> Iterator[None]:
        """Hold a camera with a second Picamera2 of this program during the block.

        libcamera does not protect virtual cameras from other programs.
        """
        device = open_device(choose_device(identity))
        yield
        close_device(device)

    def silence(self, camera: PiCamera) -> None:
        camera.device.camera.stop()

    def end_loop(self, camera: PiCamera) -> None:
        def fail(_: object) -> None:
            raise RuntimeError("the event loop dies")

        camera.device.process_requests = fail
        camera.device._preview.thread.join(60)

    def close(self) -> None:
        """Do nothing, because each test closes its cameras."""


@cache
def real_module() -> ModuleType:
    """Return the real Picamera2, changed so that it works with virtual cameras.

    Virtual cameras have no raw modes, no YUV420 and no contiguous memory.
    """
    # Picamera2 imports these, but the tests use none of them: replace those that are not installed
    for name in (
        "pykms", "prctl", "pidng", "pidng.camdefs", "pidng.core", "av", "piexif", "simplejpeg",
        "libarchive", "libarchive.read", "tqdm", "jsonschema", "OpenEXR", "PIL", "PIL.Image",
    ):  # fmt: skip
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = MagicMock()
    import libcamera  # noqa: PLC0415 - installed in the virtual machine only
    import picamera2  # noqa: PLC0415
    from picamera2.allocators import DmaAllocator  # noqa: PLC0415

    class TwoPlanes(DmaAllocator):  # type: ignore[misc]
        """The default allocator, with a second plane in the same buffer for NV12."""

        def allocate(self, configured: Any, _: Any) -> None:
            self.libcamera_fds = []
            self.cleanup()
            for descriptor in self.open_fds:
                os.close(descriptor)
            self.frame_buffers, self.open_fds = {}, []
            for stream in configured:
                self.frame_buffers[stream.stream] = [
                    self._buffer(stream, index) for index in range(stream.buffer_count)
                ]

        def _buffer(self, stream: Any, index: int) -> Any:
            handle = self.dmaHeap.alloc(f"p-{index}", stream.frame_size)
            self.open_fds.append(handle.get())
            # the first plane is the brightness, the second one the colours
            luma_bytes, planes = stream.stride * stream.size.height, []
            for offset, length in ((0, luma_bytes), (luma_bytes, stream.frame_size - luma_bytes)):
                plane = libcamera.FrameBuffer.Plane()
                plane.fd, plane.offset, plane.length = handle.get(), offset, length
                planes.append(plane)
            buffer = libcamera.FrameBuffer(planes)
            self.libcamera_fds.append(buffer.planes[0].fd)
            self.mapped_buffers_used[buffer.planes[0].fd] = False
            self.mapped_buffers[buffer] = mmap.mmap(
                handle.get(), stream.frame_size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE
            )
            return buffer

    class Shimmed(picamera2.Picamera2):  # type: ignore[misc]
        """The real Picamera2, with another allocator, a raw mode, and NV12 instead of YUV420."""

        sensor_modes = property(lambda _: [])

        def __init__(self, camera_num: int = 0) -> None:
            super().__init__(camera_num)
            self.allocator = TwoPlanes()

        def _get_raw_modes(self) -> list[dict[str, Any]]:
            return [{"format": "SRGGB10", "size": (1920, 1080)}]

        def create_video_configuration(self, **streams: Any) -> Any:
            if "main" in streams:
                streams["main"] = {**streams["main"], "format": "NV12"}
            return super().create_video_configuration(**streams)

    module = ModuleType("picamera2")
    module.__dict__.update(Picamera2=Shimmed, MappedArray=picamera2.MappedArray)
    return module


Rig = FakeRig | RealRig
RIGS: dict[str, Any] = {
    "fake": FakeRig,
    **({"real": RealRig} if os.environ.get("REAL_CAMERAS") else {}),
}
