"""Network cameras: MJPEG by HTTP, and RTSP. A thread receives their latest picture.

No page may set their address, because the table connects to any address that is set.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import cv2

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.i18n import say
from vision.cameras import colours
from vision.cameras.source import Capture, PhysicalCamera
from vision.network.latest_picture import LatestPicture

# Timeout in seconds for a connection, and for the next picture on it.
ANSWER_TIMEOUT_S = 3.0
# Maximum number of pictures per second. More would keep a small machine from all other work.
MAX_PICTURES_PER_S = 100
# Timeout in seconds for a picture. FFmpeg reads some of a video before it returns the first.
TAKE_TIMEOUT_S = 8.0
# Default port of each scheme.
PORTS = {"http": 80, "rtsp": 554}


class NetworkCamera(PhysicalCamera):
    """A camera at an address, received and decoded by FFmpeg in OpenCV.

    A thread of its own receives from the start until `close`. If it fails, `frame` raises its
    error. The constructor raises `CameraError` for an address without host, or with a bad port.
    """

    def __init__(self, address: str, clock: Clock) -> None:
        super().__init__(clock)
        address = address.strip()
        self._host, self._port, path = _split_address(address)
        # FFmpeg needs the scheme in lower case, as `geturl` returns it.
        self._address = urlsplit(address).geturl()
        # Without user name and password, which an address may hold.
        self.name = f"{self._host}:{self._port}"
        self.identity = f"network {self.name}{path}"
        self._latest = LatestPicture[Any](clock)
        self._thread = threading.Thread(target=self._run, name="network-camera", daemon=True)
        self._thread.start()

    # ---- the thread ----

    def _run(self) -> None:
        """Receive pictures. Pass an error on to the watcher's thread."""
        try:
            self._receive()
        except CameraError as error:
            self._latest.fail(error)
        except ConnectionRefusedError:
            sentence = say(
                "The camera {name} refuses the connection: start its app and check the address",
                name=self.name,
            )
            self._latest.fail(CameraError(sentence))
        except OSError:
            sentence = say(
                "The camera {name} cannot be reached: check the address and the Wi-Fi",
                name=self.name,
            )
            self._latest.fail(CameraError(sentence))

    def _receive(self) -> None:
        """Put pictures into `_latest` until the camera is closed. Raises `CameraError`, OSError."""
        # Try to connect first, because FFmpeg does not say why it cannot.
        socket.create_connection((self._host, self._port), ANSWER_TIMEOUT_S).close()
        timeout_ms = int(1000 * ANSWER_TIMEOUT_S)
        # FFmpeg may use one connection, and only to this address. OpenCV takes FFmpeg's options
        # only from this variable. Times are in microseconds.
        os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = (
            "rtsp_transport;tcp|protocol_whitelist;http,rtsp,rtp,tcp"
            f"|timeout;{1000 * timeout_ms}|analyzeduration;500000|fflags;nobuffer"
        )
        timeouts = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, timeout_ms]
        timeouts += [cv2.CAP_PROP_READ_TIMEOUT_MSEC, timeout_ms]
        began_at_s = time.monotonic()
        video = cv2.VideoCapture()
        try:
            if not video.open(self._address, cv2.CAP_FFMPEG, timeouts):
                is_late = time.monotonic() - began_at_s >= ANSWER_TIMEOUT_S
                raise self._too_slow() if is_late else self._no_picture()
            self._read(video)
        finally:
            video.release()

    def _read(self, video: Any) -> None:
        """Put pictures into `_latest` until the camera is closed. Raises `CameraError`."""
        # When the current second began, and the number of pictures in it.
        second_began_at_s = time.monotonic()
        count = 0
        while not self._closed:
            is_good, picture = video.read()
            if not is_good or picture is None:
                raise self._too_slow()
            now_s = time.monotonic()
            if now_s - second_began_at_s >= 1:
                second_began_at_s = now_s
                count = 0
            count += 1
            if count > MAX_PICTURES_PER_S:
                raise CameraError(
                    say(
                        "The camera {name} sends too many pictures: choose fewer a second",
                        name=self.name,
                    )
                )
            self._latest.put(picture, self._clock.monotonic_s())

    # ---- the watcher's thread ----

    def _capture(self) -> Capture:
        latest = self._latest.take(TAKE_TIMEOUT_S)
        if latest is None:
            raise self._too_slow()
        picture = latest.picture
        luma = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
        age_s = self._clock.monotonic_s() - latest.at_s
        return Capture(luma, lambda: colours.from_bgr(picture), age_s)

    def _release(self) -> None:
        # The thread may wait for the connection and then for its first picture.
        self._thread.join(2 * ANSWER_TIMEOUT_S)

    def _too_slow(self) -> CameraError:
        return CameraError(
            say(
                "The camera {name} is too slow: no picture for {seconds} s. Bring it closer to the "
                "Wi-Fi",
                name=self.name,
                seconds=f"{ANSWER_TIMEOUT_S:.0f}",
            )
        )

    def _no_picture(self) -> CameraError:
        return CameraError(
            say(
                "The camera {name} sends no video: check the address, its name and password",
                name=self.name,
            )
        )


def is_network(source: str) -> bool:
    """Return whether a source in the settings is the address of a network camera."""
    return source.strip().lower().startswith(("http://", "rtsp://"))


def _split_address(address: str) -> tuple[str, int, str]:
    """Return host, port and path of an address. Raises `CameraError` if it is malformed."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
        port = parts.port or PORTS[parts.scheme]
    except ValueError:
        host = None
    if not host:
        raise CameraError(say("[camera] source is no address: write http://192.0.2.7:8080/video"))
    return host, port, parts.path
