"""An old phone as the camera. Its browser sends JPEGs, and the newest one is read.

A phone sends a picture, waits for the answer to it, and only then sends the next one. So pictures
do not queue up when the Wi-Fi is slow.
"""

from __future__ import annotations

from collections.abc import Callable

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.i18n import say
from vision.cameras.files import MAX_STREAM_PIXELS, decode_picture
from vision.cameras.source import Capture, PhysicalCamera
from vision.network.latest_picture import LatestPicture

# The source of an old phone in `open_camera`.
PHONE = "phone"
# Seconds between two pictures while nothing moves.
STILL_PERIOD_S = 0.25
# Seconds between two pictures while something moves.
MOVING_PERIOD_S = 0.1
# Timeout in seconds for a picture of the phone.
PICTURE_TIMEOUT_S = 3.0
# Maximum size of a picture in bytes. One of 1280 x 960 pixels has about 300 kB.
MAX_JPEG_BYTES = 2_000_000


class PhoneLink:
    """The connection between the phone's page and the camera that the watcher reads.

    The routes put pictures in, in any thread. The watcher's thread takes them out.
    """

    def __init__(self, clock: Clock) -> None:
        self.latest_picture = LatestPicture[bytes](clock)
        """The phone's latest JPEG."""
        self.phone = ""
        """Identity of the phone, under which its lens is kept."""
        self.is_moving = True
        """Whether something moves, so that pictures are needed often."""
        self.on_return: Callable[[], None] = lambda: None
        """Called when a picture arrives after the watcher has waited for one in vain."""

    @property
    def period_s(self) -> float:
        """Seconds between two pictures that the reader needs now."""
        return MOVING_PERIOD_S if self.is_moving else STILL_PERIOD_S

    def put(self, jpeg: bytes, at_s: float) -> None:
        """Replace the last picture. Ignore one that is too old, or has a time in the future."""
        was_overdue = self.latest_picture.is_overdue
        if self.latest_picture.put(jpeg, at_s) and was_overdue:
            self.on_return()


class PhoneCamera(PhysicalCamera):
    """The phone at the other end of a link. Its browser locks focus and exposure where it can."""

    name = PHONE

    def __init__(self, link: PhoneLink, clock: Clock) -> None:
        super().__init__(clock)
        self.identity = f"phone {link.phone}"
        self._link = link
        link.is_moving = True

    def adapt_rate(self, is_moving: bool) -> None:
        """Request pictures more often while something moves."""
        self._link.is_moving = is_moving

    def _capture(self) -> Capture:
        stamped = self._link.latest_picture.take(PICTURE_TIMEOUT_S)
        if stamped is None:
            raise CameraError(
                say(
                    "The phone sends no pictures: unlock it, open its camera page, and bring it "
                    "closer to the Wi-Fi"
                )
            )
        try:
            picture = decode_picture(stamped.picture, PHONE, ("JPEG",), MAX_STREAM_PIXELS)
        except CameraError:
            raise CameraError(
                say("The phone sends no pictures that can be read: open its page again")
            ) from None
        return picture._replace(age_s=self._clock.monotonic_s() - stamped.at_s)
