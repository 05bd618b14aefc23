"""The cameras by their names in the settings: which are connected, and how to open and reopen one.

Each gives frames of brightness and raises `CameraError` that says what is wrong, where, and what to
do.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from companion.core.clock import Clock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.files import expand_path
from companion.core.i18n import say
from companion.core.ports import Camera
from vision.cameras.files import PictureCamera
from vision.cameras.picamera import PiCamera
from vision.cameras.ribbon import PiDevice, chosen, pi_devices
from vision.cameras.usb import UsbCamera, usb_devices, usb_number
from vision.network.phone import PHONE, PhoneCamera, PhoneLine
from vision.network.stream import NetworkCamera, is_network


@dataclass(frozen=True)
class CameraChoice:
    """A connected camera: its `source` for `[camera] source`, a name for people, and its probable
    lens model.
    """

    source: str
    name: str
    model: str


def cameras() -> tuple[CameraChoice, ...]:
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
                CameraChoice(
                    source, say("Raspberry Pi camera {sensor}", sensor=camera.sensor), camera.model
                )
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
        devices.append(CameraChoice(source, device.name, "webcam"))
    return tuple(devices)


def open_camera(settings: CameraSettings, clock: Clock) -> Camera:
    """Open the camera that the settings name. Raises `CameraError` when there is none."""
    return CameraOpener(settings, clock).open()


class CameraOpener:
    """Opens the camera of the settings, or another one, as often as it is lost.

    A USB camera that returns under another number is recognised by its vendor, product and serial
    number, one on a ribbon cable by libcamera's id. `phone` is the line of an old phone if one may
    be the camera.
    """

    def __init__(
        self, settings: CameraSettings, clock: Clock, phone: PhoneLine | None = None
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._phone = phone
        self._identities: dict[int, str] = {}
        self._ribbons: dict[str, str] = {}

    def open(self, source: str | None = None) -> Camera:
        """Open the camera of a source, or that of the settings.

        Raises `CameraError` when there is none.
        """
        source = (source or self._settings.source).strip()
        kind, _, which = source.partition(":")
        if source == "none":
            raise CameraError(
                say(
                    "The camera is switched off: set [camera] source to auto, picamera, usb:0 or a "
                    "path"
                )
            )
        if source == "auto":
            return self._first()
        if source == PHONE and self._phone:
            return PhoneCamera(self._phone, self._clock)
        if is_network(source):
            return NetworkCamera(source, self._clock)
        if kind == "picamera":
            return PiCamera(self._settings, self._clock, self._ribbon(which))
        if kind == "usb":
            return self._usb(usb_number(which, usb_devices()))
        try:
            path = expand_path(source)
            path.is_dir()  # what can be no path is told here
        except OSError as error:
            raise CameraError(
                say(
                    "{file}: cannot be read: {error}. Check the path",
                    file=source,
                    error=error.strerror,
                )
            ) from None
        return PictureCamera(path, self._clock)

    def _first(self) -> Camera:
        """Return the first Raspberry Pi camera, or else the first USB camera."""
        try:
            return PiCamera(self._settings, self._clock, self._ribbon(""))
        except CameraError as pi_error:
            plugged = usb_devices()
            try:
                return self._usb(plugged[0].number if plugged else 0)
            except CameraError as usb_error:
                raise CameraError(
                    say(
                        "No camera found: connect one, or set [camera] source. {pi}. {usb}",
                        pi=pi_error.message,
                        usb=usb_error.message,
                    )
                ) from usb_error

    def _ribbon(self, which: str) -> PiDevice:
        """Return the ribbon camera of a word: the same one as before, wherever it is listed now."""
        found = chosen(self._ribbons.get(which, which))
        self._ribbons[which] = found.id
        return found

    def _usb(self, number: int) -> Camera:
        """Open the USB camera of a number: the same one as before, whatever its number is now."""
        before = self._identities.get(number)
        here = {device.number: device.identity for device in usb_devices()}
        moved = [new for new, identity in here.items() if before == identity != here.get(number)]
        camera = UsbCamera(moved[0] if moved else number, self._settings, self._clock)
        self._identities[number] = camera.identity
        return camera
