"""Cameras on ribbon cables: lists them, and opens and closes one with Picamera2 without leaking
anything.

What Picamera2 0.3.38 does, as seen with the real library on libcamera's virtual cameras:

* `Picamera2(n)` counts in the order of `global_camera_info()`, which is sorted by `Id`. An entry's
  `Num` counts in libcamera's own order, which may be another one at every boot.
* If its `__init__` fails, the writing end of its pipe (`notifyme_w`) stays open, and the reason is
  only in the cause of the error.
* `stop()` waits for its event loop, forever when that has ended. `close()` ends the loop first and
  then stops by itself.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from companion.core.errors import CameraError
from companion.core.i18n import say
from vision.cameras.sensors import lens_name_of

log = logging.getLogger(__name__)

# Maximum time for closing a camera in seconds. Picamera2 needs about 0.3 s.
CLOSE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class PiDevice:
    """A camera on a ribbon cable."""

    index: int
    """Its current index in Picamera2's list."""
    sensor: str
    """Picamera2's name of its sensor, such as `imx708_wide`."""
    id: str
    """libcamera's id. It names socket and sensor and stays the same at every boot."""

    @property
    def identity(self) -> str:
        """Key of its lens in the file of lenses."""
        return f"{self.sensor} {self.id}".strip()

    @property
    def lens_name(self) -> str:
        """Name of its lens in `vision.pose.optics.LENSES`."""
        return lens_name_of(self.sensor)


def import_picamera2() -> Any:
    """Import Picamera2. Raises `CameraError` that says how to install it."""
    try:
        return importlib.import_module("picamera2")
    except Exception as error:  # it exists but does not import where libcamera is missing
        raise CameraError(
            say(
                "Picamera2 is missing: on a Raspberry Pi install python3-picamera2 and make the "
                "environment with --system-site-packages"
            )
        ) from error


def pi_devices() -> tuple[PiDevice, ...]:
    """Return the cameras on ribbon cables, without opening one.

    Raises `CameraError` where Picamera2 is missing or fails.
    """
    module = import_picamera2()
    try:
        entries = module.Picamera2.global_camera_info()
    except Exception as error:  # libcamera raises RuntimeError, IndexError and its own kinds
        raise CameraError(
            say(
                "The Raspberry Pi's cameras cannot be listed: {error}: restart the Pi",
                error=str(error),
            )
        ) from error
    devices = (
        PiDevice(index, str(entry.get("Model", "")), str(entry.get("Id", "")))
        for index, entry in enumerate(entries)
    )
    # The list has USB cameras, too.
    return tuple(device for device in devices if "usb" not in device.id.lower())


def choose_device(which: str) -> PiDevice:
    """Return the camera that `picamera:WHICH` in the settings names.

    `which` is the camera's id, its sensor or its index in the list. If it is empty, the first
    camera is meant. Raises `CameraError` when that camera is not connected, or when the cameras
    cannot be listed.
    """
    connected = pi_devices()
    if not which:
        devices = connected[:1]
    elif which.isdecimal():
        devices = connected[int(which) :][:1]
    else:
        devices = tuple(device for device in connected if which in (device.id, device.sensor))
    if devices:
        return devices[0]

    # The camera is not connected.
    if not which:
        raise CameraError(
            say(
                "No Raspberry Pi camera is connected: check the ribbon cable, contacts and "
                "direction"
            )
        )
    raise CameraError(
        say(
            "No Raspberry Pi camera {which} is connected ({here}): check the ribbon cable, "
            "contacts and direction",
            which=which,
            here=", ".join(device.id for device in connected) or say("none"),
        )
    )


# ---- opening -------------------------------------------------------------------------------------


def open_device(wanted: PiDevice) -> Any:
    """Open exactly this camera with Picamera2.

    Raises `CameraError` with the true reason, and then leaves nothing open.
    """
    picamera_class = import_picamera2().Picamera2
    # Create the object without `__init__`: if that fails, what it has opened is still in the object
    # and can be closed.
    device = picamera_class.__new__(picamera_class)
    try:
        device.__init__(wanted.index)
    except Exception as error:
        _close_partial(device)
        raise CameraError(
            say("The Raspberry Pi camera cannot be opened: {reason}", reason=failure_reason(error))
        ) from error
    return device


def _close_partial(device: Any) -> None:
    """Close what a `Picamera2` has opened before its `__init__` failed."""
    if getattr(device, "is_open", False):
        with contextlib.suppress(Exception):  # the camera may already be released
            device.camera.release()
    # Otherwise `__del__` would try to close it once more.
    device.is_open = False
    for attribute, close in (
        ("notifymeread", lambda file: file.close()),
        ("notifyme_w", os.close),
    ):
        if (pipe_end := getattr(device, attribute, None)) is not None:
            with contextlib.suppress(OSError):
                close(pipe_end)


def _cause_chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, back to the first one."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        yield error
        error = error.__cause__ or error.__context__


def failure_reason(error: BaseException) -> str:
    """Return why a camera does not open or start, and what to do, as a part of a sentence.

    If one of the error's causes is known here, it is reported, or else the first of all causes.
    """
    causes = list(_cause_chain(error))
    if _has_errno(causes, errno.EBUSY):
        return say("it is in use by another program, so close that one")
    if _has_errno(causes, errno.ENOMEM):
        return say(
            "the contiguous memory is too small (CMA), so set dtoverlay=vc4-kms-v3d,cma-128 in "
            "config.txt"
        )
    first = causes[-1]
    return say("{error}, check the ribbon cable", error=str(first) or type(first).__name__)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error comes from too little memory."""
    return _has_errno(list(_cause_chain(error)), errno.ENOMEM)


def _has_errno(causes: list[BaseException], code: int) -> bool:
    """Return whether one of the causes has this code of `errno`.

    libcamera reports some errors only as text, so the text of the code counts, too.
    """
    return any(
        getattr(cause, "errno", None) == code or os.strerror(code) in str(cause) for cause in causes
    )


# ---- closing -------------------------------------------------------------------------------------


def close_device(device: Any, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
    """Close a camera. Raises `CameraError` if that fails or takes longer than `timeout_s`.

    Requests that nobody waits for are cancelled first, because Picamera2 serves its queue in order,
    so closing would wait for them. `stop` is not called, as the head of this file explains.
    """
    errors: list[Exception] = []

    def close() -> None:
        for step in ("cancel_all_and_flush", "close"):
            try:
                getattr(device, step)()
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=close, name="camera-close", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        log.error("The Raspberry Pi camera does not close: its thread is left behind")
        errors.append(TimeoutError(f"{timeout_s:.0f} s"))
    if errors:
        raise CameraError(
            say(
                "The Raspberry Pi camera cannot be closed: {error}: restart the program",
                error=str(errors[0]),
            )
        ) from errors[0]
