"""Cameras on ribbon cables: which there are, and how Picamera2 opens and closes one without leaving
anything behind.

What Picamera2 0.3.38 does, as real ones on libcamera's virtual cameras have shown:

* `Picamera2(n)` counts in the order of `global_camera_info()`, which is sorted by `Id`; an entry's
  `Num` counts in
  libcamera's own order, which may be another one at every boot.
* One whose `__init__` fails never closes the writing end of its pipe (`notifyme_w`), and names the
  reason only as the
  cause of its error.
* `stop()` waits for its event loop, for ever when that has ended; `close()` ends the loop first and
  then stops by
  itself.
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
from vision.cameras.sensors import lens_of

_log = logging.getLogger(__name__)

CLOSE_S = 5.0
"""Maximum time for closing a camera in seconds. Picamera2 needs about 0.3 s."""


@dataclass(frozen=True)
class PiDevice:
    """A camera on a ribbon cable. `id` is libcamera's: it names socket and sensor and stays the
    same at every boot. `number` is its present place in Picamera2's list.
    """

    number: int
    sensor: str
    id: str

    @property
    def identity(self) -> str:
        """Key of its lens in the file of lenses."""
        return f"{self.sensor} {self.id}".strip()

    @property
    def model(self) -> str:
        """Its name among `vision.pose.optics.LENSES`."""
        return lens_of(self.sensor)


def picamera2() -> Any:
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
    module = picamera2()
    try:
        listed = module.Picamera2.global_camera_info()
    except Exception as error:  # libcamera raises RuntimeError, IndexError and its own kinds
        raise CameraError(
            say(
                "The Raspberry Pi's cameras cannot be listed: {error}: restart the Pi",
                error=str(error),
            )
        ) from error
    devices = (
        PiDevice(place, str(model.get("Model", "")), str(model.get("Id", "")))
        for place, model in enumerate(listed)
    )
    # libcamera lists USB cameras as well
    return tuple(device for device in devices if "usb" not in device.id.lower())


def chosen(which: str) -> PiDevice:
    """Return the camera that `picamera:WORD` in the settings names: by its id, sensor or place. An
    empty word is the first one.

    Raises `CameraError` when it is not connected.
    """
    here = pi_devices()
    if not which:
        devices = here[:1]
    elif which.isdecimal():
        devices = here[int(which) : int(which) + 1]
    else:
        devices = tuple(device for device in here if which in (device.id, device.sensor))
    if devices:
        return devices[0]
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
            here=", ".join(device.id for device in here) or say("none"),
        )
    )


# ---- opening -------------------------------------------------------------------------------------


def open_device(wanted: PiDevice) -> Any:
    """Open exactly this camera with Picamera2.

    Raises `CameraError` with the true reason, and then leaves nothing open.
    """
    kind = picamera2().Picamera2
    device = kind.__new__(kind)  # held before `__init__` may fail, for what it leaves open then
    try:
        device.__init__(wanted.number)
    except Exception as error:
        _clear_away(device)
        raise CameraError(
            say(
                "The Raspberry Pi camera cannot be opened: {reason}, check the ribbon cable",
                reason=reason_of(error),
            )
        ) from error
    return device


def _clear_away(device: Any) -> None:
    """Close the parts of a `Picamera2` that failed to start."""
    if getattr(device, "is_open", False):
        with contextlib.suppress(Exception):  # nothing to release when it was let go before
            device.camera.release()
    device.is_open = False  # else its end, whenever it is collected, tries to close it once more
    for attribute, closing in (
        ("notifymeread", lambda file: file.close()),
        ("notifyme_w", os.close),
    ):
        if (held := getattr(device, attribute, None)) is not None:
            with contextlib.suppress(OSError):
                closing(held)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, back to the first one."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        yield error
        error = error.__cause__ or error.__context__


def reason_of(error: BaseException) -> str:
    """Return why a camera does not open or start, and what to do. The first cause of the error
    decides.
    """
    causes = list(_causes(error))
    if _is(causes, errno.EBUSY):
        return say("it is in use by another program: close that one")
    if _is(causes, errno.ENOMEM):
        return say(
            "the contiguous memory is too small (CMA): set dtoverlay=vc4-kms-v3d,cma-128 in "
            "config.txt"
        )
    return str(causes[-1]) or type(causes[-1]).__name__


def is_short_of_memory(error: BaseException) -> bool:
    """Return whether an error comes from too little memory."""
    return _is(list(_causes(error)), errno.ENOMEM)


def _is(causes: list[BaseException], number: int) -> bool:
    """Return whether one of the causes is of this kind. libcamera passes its errors on only as
    words.
    """
    return any(
        getattr(cause, "errno", None) == number or os.strerror(number) in str(cause)
        for cause in causes
    )


# ---- closing -------------------------------------------------------------------------------------


def close_device(device: Any, limit_s: float = CLOSE_S) -> None:
    """Close a camera. Raises `CameraError` if that fails or takes longer than `limit_s`.

    Requests that nobody waits for are cancelled first, because Picamera2 serves its queue in order.
    `stop` is not used: see the head of this file.
    """
    failed: list[Exception] = []

    def close() -> None:
        for step in ("cancel_all_and_flush", "close"):
            try:
                getattr(device, step)()
            except Exception as error:
                failed.append(error)

    thread = threading.Thread(target=close, name="camera-close", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        _log.error("The Raspberry Pi camera does not close: its thread is left behind")
        failed.append(TimeoutError(f"{limit_s:.0f} s"))
    if failed:
        raise CameraError(
            say(
                "The Raspberry Pi camera cannot be closed: {error}: restart the program",
                error=str(failed[0]),
            )
        ) from failed[0]
