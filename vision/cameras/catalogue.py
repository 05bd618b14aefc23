"""The cameras by their names in the settings: which are connected, and how to open one.

Each gives frames of brightness and raises `CameraError` that says what is wrong, where, and what to
do.
"""

from __future__ import annotations

import contextlib

from companion.core.clock import Clock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.files import expand_path
from companion.core.i18n import say
from companion.core.ports import Camera, CameraOffer
from vision.cameras.files import PictureCamera
from vision.cameras.picamera import PiCamera
from vision.cameras.ribbon import chosen, pi_devices
from vision.cameras.usb import UsbCamera, usb_devices, usb_number
from vision.network.phone import PHONE, PhoneCamera, PhoneLine
from vision.network.stream import NetworkCamera, is_network


def cameras() -> tuple[CameraOffer, ...]:
    """Return the connected cameras, those of the Raspberry Pi first.

    No camera is opened, so one that is in use does no harm.
    """
    devices = []
    with contextlib.suppress(CameraError):  # no Raspberry Pi
        own = pi_devices()
        for camera in own:
            # The id stays the same whatever the order at the next boot.
            source = f"picamera:{camera.id}" if len(own) > 1 else "picamera"
            devices.append(
                CameraOffer(source, say("Raspberry Pi camera {sensor}", sensor=camera.sensor))
            )
    plugged = usb_devices()
    names = [device.name for device in plugged]
    for device in plugged:
        # The name stays the same when the number changes, unless two cameras have it.
        alone = (
            sum(device.name.lower() in name.lower() for name in names) == 1
            and not device.name.isdecimal()
        )
        source = f"usb:{device.name}" if alone else f"usb:{device.number}"
        devices.append(CameraOffer(source, device.name))
    return tuple(devices)


def open_camera(
    settings: CameraSettings, clock: Clock, source: str = "", phone: PhoneLine | None = None
) -> Camera:
    """Open the camera of a source, or that of the settings. `phone` is the line of an old phone if
    one may be the camera.

    Raises `CameraError` when there is none.
    """
    source = (source or settings.source).strip()
    kind, _, which = source.partition(":")
    if source == "none":
        raise CameraError(
            say(
                "The camera is switched off: set [camera] source to auto, picamera, usb:0 or a path"
            )
        )
    if source == "auto":
        return _first_camera(settings, clock)
    if source == PHONE and phone:
        return PhoneCamera(phone, clock)
    if is_network(source):
        return NetworkCamera(source, clock)
    if kind == "picamera":
        return PiCamera(settings, clock, chosen(which))
    if kind == "usb":
        return UsbCamera(usb_number(which, usb_devices()), settings, clock)
    try:
        path = expand_path(source)
        path.is_dir()  # what can be no path is told here
    except OSError as error:
        raise CameraError(
            say(
                "{file}: cannot be read: {error}. Check the path", file=source, error=error.strerror
            )
        ) from None
    return PictureCamera(path, clock)


def _first_camera(settings: CameraSettings, clock: Clock) -> Camera:
    """Return the first Raspberry Pi camera, or else the first USB camera."""
    try:
        return PiCamera(settings, clock)
    except CameraError as pi_error:
        plugged = usb_devices()
        try:
            return UsbCamera(plugged[0].number if plugged else 0, settings, clock)
        except CameraError as usb_error:
            raise CameraError(
                say(
                    "No camera found: connect one, or set [camera] source. {pi}. {usb}",
                    pi=pi_error.message,
                    usb=usb_error.message,
                )
            ) from usb_error
