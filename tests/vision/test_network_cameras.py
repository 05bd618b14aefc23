"""Test network cameras on small servers that send video, or refuse, hang, flood or send garbage."""

from __future__ import annotations

import contextlib
import io
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image
from ports import free_port
from service import until

from companion.core.clock import RealClock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from vision.cameras.catalogue import open_camera
from vision.network import stream

# The head of a stream of JPEGs, as network cameras send them. `cut` separates its parts.
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=cut\r\n\r\n"
# What a server does with each connection.
Serve = Callable[[socket.socket], None]


def grey_jpeg(tone: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (160, 120), tone).save(file, "JPEG")
    return file.getvalue()


def stream_part(jpeg: bytes, has_length: bool = True) -> bytes:
    """Return one picture as a part of the stream that `STREAM_HEAD` begins."""
    length = f"Content-Length: {len(jpeg)}\r\n".encode() if has_length else b""
    return b"--cut\r\nContent-Type: image/jpeg\r\n" + length + b"\r\n" + jpeg + b"\r\n"


@contextlib.contextmanager
def server(serve: Serve) -> Iterator[int]:
    """Listen on a port during the block, and yield its number.

    `serve` is called for each connection, in a thread of its own. When the block ends, all
    connections are cut and all threads have ended.
    """
    threads: list[threading.Thread] = []
    connections: list[socket.socket] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connections.append(connection)
            threads.append(threading.Thread(target=answer, args=(connection,)))
            threads[-1].start()

    def answer(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            serve(connection)

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        accepting.join()
        for thread in threads:
            thread.join()
        for connection in connections:
            connection.close()


@contextlib.contextmanager
def camera_at(port: int, kind: str = "http") -> Iterator[Any]:
    source = f" {kind.upper()}://ann:secret@127.0.0.1:{port}/video"
    camera = open_camera(CameraSettings(source=source), RealClock())
    try:
        yield camera
    finally:
        camera.close()


def error_of(serve: Serve, kind: str = "http") -> str:
    """Read pictures from a server until an error is raised, and return its message."""
    with server(serve) as port, camera_at(port, kind) as camera:
        while True:
            try:
                camera.frame()
            except CameraError as error:
                message = str(error)
                break
    assert "secret" not in message, "the message shows the password"
    return message


def send_and_wait(*parts: bytes) -> Serve:
    """Return a server that sends these bytes, and then waits until the camera disconnects."""

    def serve(connection: socket.socket) -> None:
        connection.recv(4096)
        for part in parts:
            connection.sendall(part)
        connection.recv(1)

    return serve


@pytest.mark.parametrize("has_length", [True, False])
def test_the_newest_picture_of_a_stream_is_read(has_length: bool) -> None:
    """Send dark pictures until one was read, and then ever lighter ones."""
    first_is_read, requests = threading.Event(), []

    def serve(connection: socket.socket) -> None:
        requests.append(connection.recv(4096))
        connection.sendall(STREAM_HEAD)
        # FFmpeg examines some kilobytes before it returns a first picture
        for _ in range(40):
            connection.sendall(stream_part(grey_jpeg(10), has_length))
        first_is_read.wait(60)
        for tone in (60, 120, *(200,) * 9):
            connection.sendall(stream_part(grey_jpeg(tone), has_length))
        connection.recv(1)

    with server(serve) as port, camera_at(port) as camera:
        first = camera.frame()
        assert first.luma.shape == (120, 160)
        assert abs(int(first.luma[0, 0]) - 10) < 3
        assert first.colours is not None

        # read until the lightest one comes
        first_is_read.set()
        tones: list[int] = []

        def is_newest() -> bool:
            tones.append(int(camera.frame().luma[0, 0]))
            return abs(tones[-1] - 200) < 3

        until("the newest", is_newest)
        assert tones == sorted(tones), "an older picture came after a newer one"
        assert camera.name == f"127.0.0.1:{port}"
        assert camera.identity == f"network 127.0.0.1:{port}/video"
    assert any(b"GET /video HTTP/1.1" in request for request in requests)


@pytest.mark.parametrize("kind", ["http", "rtsp"])
def test_a_refused_connection_is_reported(kind: str) -> None:
    with (
        camera_at(free_port(), kind) as camera,
        pytest.raises(CameraError, match="refuses the connection"),
    ):
        camera.frame()


# a server that sends nothing at all, and one that stops before the empty line after its head
@pytest.mark.parametrize("parts", [(), (STREAM_HEAD[:-2],)])
def test_a_silent_server_is_reported(
    parts: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "ANSWER_TIMEOUT_S", 0.3)
    assert "is too slow: no picture for 0 s" in error_of(send_and_wait(*parts))


@pytest.mark.parametrize(
    "parts",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",),
        (b"HTTP/1.1 401 Unauthorized\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300 + b"\r\n",),
    ],
)
def test_an_answer_without_video_is_reported(parts: tuple[bytes, ...]) -> None:
    """The answers are a web page, a refused password, and a head of 300 fields."""

    def serve(connection: socket.socket) -> None:
        connection.recv(4096)
        for part in parts:
            connection.sendall(part)
        connection.shutdown(socket.SHUT_RDWR)

    assert "sends no video: check the address, its name and password" in error_of(serve)


def test_a_flood_of_pictures_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_PICTURES_PER_S", 20)
    part = stream_part(grey_jpeg(9))

    def serve(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(STREAM_HEAD)
        while True:
            connection.sendall(part * 20)

    assert "sends too many pictures: choose fewer a second" in error_of(serve)


def test_rtsp_without_video_is_reported() -> None:
    assert "sends no video" in error_of(send_and_wait(b"RTSP/1.0 404 Not Found\r\n\r\n"), "rtsp")


@pytest.mark.parametrize(
    "source", ["http://", "http://[", "rtsp:///video", "http://a:b", "http://192.0.2.1:99999/"]
)
def test_a_malformed_address_is_reported(source: str) -> None:
    with pytest.raises(CameraError, match="is no address"):
        open_camera(CameraSettings(source=source), RealClock())


# ---- video by RTSP -------------------------------------------------------------------------------


def encode_video(folder: Path) -> list[bytes]:
    """Return the four pictures of a bright grey video, encoded in MPEG-4.

    OpenCV writes the video to an AVI file, in which each picture is a chunk with the name `00dc`.
    """
    path = folder / "film.avi"
    film = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"XVID"), 10, (320, 240))
    assert film.isOpened()
    for number in range(4):
        film.write(np.full((240, 320, 3), 150 + number, np.uint8))
    film.release()

    # look for the chunks with pictures
    content, pictures, offset = path.read_bytes(), [], 0
    while (offset := content.find(b"00dc", offset)) >= 0:
        (length,) = struct.unpack("<I", content[offset + 4 : offset + 8])
        # a picture begins with a start code, while entries of the index have the same name
        if content[offset + 8 : offset + 11] == b"\x00\x00\x01":
            pictures.append(content[offset + 8 : offset + 8 + length])
        offset += 4
    return pictures


def rtsp_server(pictures: list[bytes]) -> Serve:
    """Return a server that repeats a video in one connection (RFC 2326 and 3016).

    It answers only what FFmpeg needs.
    """
    sdp = (
        b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n"
        b"m=video 0 RTP/AVP 96\r\na=rtpmap:96 MP4V-ES/90000\r\n"
    )
    fields = {
        b"OPTIONS": b"Public: DESCRIBE, SETUP, PLAY\r\n",
        b"DESCRIBE": b"Content-Type: application/sdp\r\nContent-Length: %d\r\n" % len(sdp),
        b"SETUP": b"Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 1\r\n",
        b"PLAY": b"Session: 1\r\n",
    }

    def serve(connection: socket.socket) -> None:
        reader: Any = connection.makefile("rb")
        with reader:
            # answer each request, which is a line, fields and an empty line, until video is wanted
            while line := reader.readline():
                method = line.split(b" ")[0]
                sequence = b""
                while (field := reader.readline()).strip():
                    if field.lower().startswith(b"cseq"):
                        sequence = field
                body = sdp if method == b"DESCRIBE" else b""
                connection.sendall(
                    b"RTSP/1.0 200 OK\r\n" + sequence + fields.get(method, b"") + b"\r\n" + body
                )
                if method == b"PLAY":
                    break
            number = 0
            pause = threading.Event()
            # Send 25 pictures a second, until sending fails. An RTP packet has a head with its
            # number and its time, and is sent behind a `$`, the channel and its length.
            while not pause.wait(0.04):
                packet = struct.pack(">BBHII", 0x80, 0xE0, number & 0xFFFF, number * 9000, 7)
                packet += pictures[number % len(pictures)]
                connection.sendall(struct.pack(">cBH", b"$", 0, len(packet)) + packet)
                number += 1

    return serve


def test_rtsp_video_is_read(tmp_path: Path) -> None:
    pictures = encode_video(tmp_path)
    with server(rtsp_server(pictures)) as port, camera_at(port, "rtsp") as camera:
        frame = camera.frame()
        assert frame is not None
        assert frame.luma.shape == (240, 320)
        assert abs(int(frame.luma.mean()) - 151) < 8
        assert frame.colours is not None
