"""Lists the connected cameras, and opens one by its source in the settings.

The errors of all cameras are `CameraError`. They say what is wrong, where, and what to do.
"""

from __future__ import annotations

import contextlib

from companion.core.clock import Clock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.files import expand_path
from companion.core.i18n import say
from companion.core.ports import Camera, CameraOffer
from vision.cameras.files import PictureCamera, unreadable_error
from vision.cameras.picamera import PiCamera
from vision.cameras.ribbon import choose_device, pi_devices
from vision.cameras.usb import UsbCamera, find_usb_number, usb_devices
from vision.network.phone import PHONE, PhoneCamera, PhoneLink
from vision.network.stream import NetworkCamera, is_network


def list_cameras() -> tuple[CameraOffer, ...]:
    """Return the connected cameras, those of the Raspberry Pi first.

    No camera is opened, so one that is in use is listed too.
    """
    offers = []
    # On another machine than a Raspberry Pi, `pi_devices` raises an error.
    with contextlib.suppress(CameraError):
        pi_cameras = pi_devices()
        for camera in pi_cameras:
            # The index in the list may be another one at the next boot, but the id is the same.
            source = f"picamera:{camera.id}" if len(pi_cameras) > 1 else "picamera"
            title = say("Raspberry Pi camera {sensor}", sensor=camera.sensor)
            offers.append(CameraOffer(source, title))
    usb_cameras = usb_devices()
    names = [device.name.lower() for device in usb_cameras]
    for device in usb_cameras:
        # Offer the name, because it stays the same when the number changes. If it also matches
        # another camera, or could be read as a number, offer the number.
        match_count = sum(device.name.lower() in name for name in names)
        is_name_unique = match_count == 1 and not device.name.isdecimal()
        source = f"usb:{device.name}" if is_name_unique else f"usb:{device.number}"
        offers.append(CameraOffer(source, device.name))
    return tuple(offers)


def open_camera(
    settings: CameraSettings, clock: Clock, source: str = "", phone: PhoneLink | None = None
) -> Camera:
    """Open the camera of a source. An empty text stands for the source of the settings.

    `phone` is the link to an old phone if one may be the camera. Raises `CameraError` if there is
    no such camera, or if it cannot be opened.
    """
    source = (source or settings.source).strip()
    kind, _, which = source.partition(":")

    # Words that stand for no camera, any camera, a phone, or an address.
    if source == "none":
        raise CameraError(
            say(
                "The camera is switched off: set [camera] source to auto, picamera, usb:0 or a path"
            )
        )
    if source == "auto":
        return _first_camera(settings, clock)
    # Without a link, the source is the path of a file, like any other word.
    if source == PHONE and phone:
        return PhoneCamera(phone, clock)
    if is_network(source):
        return NetworkCamera(source, clock)

    # A kind of camera, and which of them. Anything else is a path.
    if kind == "picamera":
        return PiCamera(settings, clock, choose_device(which))
    if kind == "usb":
        return UsbCamera(find_usb_number(which, usb_devices()), settings, clock)
    try:
        path = expand_path(source)
        # This raises for a text that cannot be a path.
        path.is_dir()
    except OSError as error:
        raise unreadable_error(source, error) from None
    return PictureCamera(path, clock)


def _first_camera(settings: CameraSettings, clock: Clock) -> Camera:
    """Return the first Raspberry Pi camera, or else the first USB camera. Raises `CameraError`."""
    try:
        return PiCamera(settings, clock)
    except CameraError as pi_error:
        usb_cameras = usb_devices()
        try:
            return UsbCamera(usb_cameras[0].number if usb_cameras else 0, settings, clock)
        except CameraError as usb_error:
            raise CameraError(
                say(
                    "No camera found: connect one, or set [camera] source. {pi}. {usb}",
                    pi=pi_error.message,
                    usb=usb_error.message,
                )
            ) from usb_error
