"""Cameras of the network: MJPEG by HTTP, and RTSP. Each has a thread that keeps its newest picture.

Only the settings file and the command line name them, since the table asks whatever address stands
there.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import cv2

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.i18n import say
from vision.cameras import colours
from vision.cameras.colours import Colours
from vision.cameras.files import decode_picture
from vision.cameras.source import Device, Taken
from vision.detection.markers import Luma
from vision.network.newest import SILENCE_S, Newest

ANSWER_TIMEOUT_S = 3.0
"""Timeout in seconds for a connection, and for the next bytes on it."""
CHUNK_BYTES = 64 * 1024
MAX_PART_BYTES = 4_000_000
"""Maximum size of a picture with the lines before it. A JPEG of 1920 x 1080 pixels has some 500 kB.
"""
MAX_BYTES_PER_S = 30_000_000
"""Thirty pictures of a megabyte each. Who sends more keeps a small machine from everything else."""
BEGIN_TIMEOUT_S = 8.0
"""Timeout in seconds for the first picture: FFmpeg looks at some of a video before it gives any."""
RTSP_OPTIONS = (
    f"rtsp_transport;tcp|protocol_whitelist;rtsp,rtp,tcp|timeout;{int(ANSWER_TIMEOUT_S * 1e6)}"
    "|analyzeduration;500000|fflags;nobuffer"
)
"""For FFmpeg: one connection to the address that was given, and no other. Microseconds."""
_LENGTH = re.compile(rb"content-length:\s*(\d{1,8})", re.IGNORECASE)


class NetworkCamera(Device):
    """A camera at an address.

    Must be overridden: `_receive`, `_decoded`. May be overridden: `_hang_up`.
    """

    def __init__(self, address: str, clock: Clock) -> None:
        super().__init__(clock)
        self._address = urlsplit(address)
        host, port = _place_of(self._address)
        self._host, self._port = host, port
        self.name = (
            f"{host}:{port}" if port else host
        )  # without name and password, which an address may hold
        self.identity = f"network {self.name}{self._address.path}"
        self._newest = Newest[Any](clock)
        self._has_begun = False
        self._thread = threading.Thread(target=self._run, name="network-camera", daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        """Put pictures into `_newest` until the camera is closed. Raises `CameraError`."""
        raise NotImplementedError

    def _decoded(self, sent: Any) -> tuple[Luma, Callable[[], Colours | None]]:
        """Return the brightness of what was put, and what works out its colours."""
        raise NotImplementedError

    def _hang_up(self) -> None:
        """Have the thread end soon."""

    def _run(self) -> None:
        try:
            self._receive()
            error = CameraError(
                say("The camera {name} has hung up: start its app again", name=self.name)
            )
        except CameraError as known:
            error = known
        except ConnectionRefusedError:
            error = CameraError(
                say(
                    "The camera {name} refuses the connection: start its app and check the address",
                    name=self.name,
                )
            )
        except TimeoutError:
            error = self._too_slow()
        except http.client.HTTPException:
            error = self._no_picture()
        except (OSError, ValueError):
            error = CameraError(
                say(
                    "The camera {name} cannot be reached: check the address and the Wi-Fi",
                    name=self.name,
                )
            )
        self._newest.fail(error)

    def _take(self) -> Taken:
        sent = self._newest.take(SILENCE_S if self._has_begun else BEGIN_TIMEOUT_S)
        if sent is None:
            raise self._too_slow()
        self._has_begun = True
        try:
            luma, tint = self._decoded(sent.what)
        except CameraError:
            raise self._no_picture() from None
        return Taken(luma, tint, self._clock.monotonic_s() - sent.at_s)

    def _too_slow(self) -> CameraError:
        return CameraError(
            say(
                "The camera {name} is too slow: no picture for {seconds} s. Bring it closer to the "
                "Wi-Fi",
                name=self.name,
                seconds=f"{SILENCE_S:.0f}",
            )
        )

    def _no_picture(self) -> CameraError:
        return CameraError(
            say(
                "The camera {name} sends something that is not a picture: give the address of its "
                "video",
                name=self.name,
            )
        )

    def _release(self) -> None:
        self._hang_up()
        self._thread.join(2 * ANSWER_TIMEOUT_S)


class MjpegCamera(NetworkCamera):
    """A stream of JPEGs by HTTP (`multipart/x-mixed-replace`), as most apps that make a phone a
    camera send it."""

    def __init__(self, address: str, clock: Clock) -> None:
        self._socket: socket.socket | None = None
        super().__init__(address, clock)

    def _receive(self) -> None:
        line = http.client.HTTPConnection(self._host, self._port or 80, timeout=ANSWER_TIMEOUT_S)
        try:
            line.connect()
            self._socket = line.sock
            target = (self._address.path or "/") + (
                f"?{self._address.query}" if self._address.query else ""
            )
            line.request("GET", target, headers=_credentials(self._address))
            with line.getresponse() as answer:
                self._read(answer)
        finally:
            line.close()

    def _read(self, answer: http.client.HTTPResponse) -> None:
        """Keep the pictures of an answer until it ends."""
        if answer.status in (401, 403):
            raise CameraError(
                say(
                    "The camera {name} asks for a password: write it into the address",
                    name=self.name,
                )
            )
        if answer.status != 200:
            raise CameraError(
                say(
                    "The camera {name} answers {status}: check the address",
                    name=self.name,
                    status=answer.status,
                )
            )
        boundary = answer.headers.get_param("boundary")
        if answer.headers.get_content_maintype() != "multipart" or not isinstance(boundary, str):
            raise self._no_picture()
        for jpeg in self._parts(answer, b"--" + boundary.strip('"').removeprefix("--").encode()):
            if not jpeg.startswith(b"\xff\xd8"):
                raise self._no_picture()
            self._newest.put(jpeg, self._clock.monotonic_s())

    def _parts(self, answer: http.client.HTTPResponse, boundary: bytes) -> Iterator[bytes]:
        """Yield what stands between two boundaries, as soon as it is whole."""
        held = bytearray()
        second_s, count = time.monotonic(), 0
        while not self._closed and (chunk := answer.read1(CHUNK_BYTES)):
            held += chunk
            count += len(chunk)
            if count > MAX_BYTES_PER_S:
                raise CameraError(
                    say("The camera {name} sends too much: choose smaller pictures", name=self.name)
                )
            if time.monotonic() - second_s >= 1:
                second_s, count = time.monotonic(), 0
            while (part := _cut_part(held, boundary)) is not None:
                if part:
                    yield part
            if len(held) > MAX_PART_BYTES:
                raise self._no_picture()

    def _decoded(self, sent: Any) -> tuple[Luma, Callable[[], Colours | None]]:
        return decode_picture(sent)

    def _hang_up(self) -> None:
        if self._socket:
            with contextlib.suppress(OSError):  # it is closed already
                self._socket.shutdown(socket.SHUT_RDWR)


class RtspCamera(NetworkCamera):
    """A video by RTSP.

    FFmpeg receives and decodes it, in OpenCV, and no JPEG decoder of OpenCV is asked.
    """

    def _receive(self) -> None:
        with socket.create_connection((self._host, self._port or 554), ANSWER_TIMEOUT_S):
            pass  # FFmpeg would not say why it cannot connect
        timeout_ms = int(1000 * ANSWER_TIMEOUT_S)
        video = cv2.VideoCapture()
        try:
            os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = (
                RTSP_OPTIONS  # OpenCV reads them nowhere else
            )
            timeouts = [
                cv2.CAP_PROP_OPEN_TIMEOUT_MSEC,
                timeout_ms,
                cv2.CAP_PROP_READ_TIMEOUT_MSEC,
                timeout_ms,
            ]
            if not video.open(self._address.geturl(), cv2.CAP_FFMPEG, timeouts):
                raise self._no_picture()
            while not self._closed:
                good, picture = video.read()
                if not good or picture is None:
                    raise self._too_slow()
                self._newest.put(picture, self._clock.monotonic_s())
        finally:
            video.release()

    def _decoded(self, sent: Any) -> tuple[Luma, Callable[[], Colours | None]]:
        luma = cv2.cvtColor(sent, cv2.COLOR_BGR2GRAY)
        return luma, lambda: colours.of_bgr(sent)


def network_camera(address: str, clock: Clock) -> NetworkCamera:
    """Return the camera at an address that begins with `http://` or `rtsp://`."""
    kind = MjpegCamera if address.lower().startswith("http://") else RtspCamera
    return kind(address, clock)


def is_network(source: str) -> bool:
    """Return whether a word of the settings is the address of such a camera."""
    return source.strip().lower().startswith(("http://", "rtsp://"))


def _place_of(address: SplitResult) -> tuple[str, int | None]:
    """Return host and port. Raises `CameraError` for an address without any."""
    try:
        host, port = address.hostname, address.port
    except ValueError:
        host, port = None, None
    if not host:
        raise CameraError(say("[camera] source is no address: write http://192.0.2.7:8080/video"))
    return host, port


def _credentials(address: SplitResult) -> dict[str, str]:
    if address.username is None:
        return {}
    credentials = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}


def _cut_part(held: bytearray, boundary: bytes) -> bytes | None:
    """Take the first whole part off, without its head.

    Returns None while there is none, and nothing for what was no part.
    """
    begin = held.find(boundary)
    if begin < 0:
        return None
    head_end = held.find(b"\r\n\r\n", begin)
    if head_end < 0:
        return None
    body = head_end + 4
    length = _LENGTH.search(held, begin, head_end)
    end = body + int(length[1]) if length else held.find(b"\r\n" + boundary, body)
    if end < 0 or end > len(held):
        return None
    part = bytes(held[body:end])
    del held[:end]
    return part
