"""Oddities of cameras, by name, sensor or USB id. A new one is one entry of `ODDITIES`.

An oddity is a sentence for the camera page and the doctor. It never changes what is read in a
picture. It has only one other effect: if a USB camera stamps its pictures by another clock, these
stamps are ignored.

What can be detected in the pictures themselves needs no entry: `vision.reading.board_reader`
detects mirrored pictures, `vision.cameras.usb` damaged ones, and `vision.cameras.camera_link`
cameras that freeze.
"""

from __future__ import annotations

from typing import NamedTuple

from companion.core.i18n import say


class Oddity(NamedTuple):
    """What is odd about a kind of camera."""

    name_part: str
    """Its USB id VID:PID, its sensor, or a part of its name. Case does not matter."""
    sentence: str
    """What is odd, and what helps, for the owner of the table."""
    uses_machine_clock: bool = True
    """Whether it stamps its pictures by the machine’s clock."""


_OTHER_CLOCK = say("It stamps its pictures by another clock, so how old they are is not known.")
ODDITIES = (
    # Logitech C270. Source: issue 265 of crowsnest, a camera service for 3D printers.
    Oddity("046d:0825", say("It may send nothing after a start: unplug it and plug it in again.")),
    # Logitech C920. Source: issue 96 of crowsnest.
    Oddity(
        "C920", say("It takes a focus only while it sends pictures: lock it again if it blurs.")
    ),
    # PlayStation 3 Eye.
    Oddity(
        "1415:2000", say("Its pictures have 640 x 480 pixels, which is too few for most boards.")
    ),
    # Camera Module 1. Source: Raspberry Pi's data sheet.
    Oddity("ov5647", say("Its focus is fixed: it is sharp from about 1 m on.")),
    # HQ Camera. Source: Raspberry Pi's data sheet.
    Oddity("imx477", say("Its focus is set by hand, at the lens.")),
    Oddity("droidcam", _OTHER_CLOCK, uses_machine_clock=False),
    Oddity("obs virtual", _OTHER_CLOCK, uses_machine_clock=False),
    # v4l2loopback: whoever writes to it sets the time.
    Oddity("dummy video device", _OTHER_CLOCK, uses_machine_clock=False),
)


def find_oddity(*names: str) -> Oddity | None:
    """Return what is odd about the camera with these names, or None.

    >>> find_oddity("UVC Camera (046d:0825)", "usb 046d:0825:AEEF80A0").name_part
    '046d:0825'
    >>> find_oddity("Some Webcam", "") is None
    True
    """
    all_names = " ".join(names).lower()
    return next((oddity for oddity in ODDITIES if oddity.name_part.lower() in all_names), None)
