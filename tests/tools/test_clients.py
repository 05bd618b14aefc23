"""Browsers that hang, send half, reset or walk off: no thread, file or connection is left, and
others are served.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from random import Random

from service import Client
from simulated_room import simulated

PATIENCE_S = 60.0


def open_socket(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def ask(line: socket.socket, path: str, rest: str = "") -> None:
    line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{rest}\r\n".encode())


def half_a_request(line: socket.socket) -> None:
    line.sendall(b"GET / HT")


def half_a_body(line: socket.socket) -> None:
    line.sendall(
        b"POST /api/seat/south/take HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\n"
        b'Content-Length: 900\r\n\r\n{"name": "'
    )


def no_answer_is_read(line: socket.socket) -> None:
    for _ in range(5):
        ask(line, "/watch")


def reset_in_a_stream(line: socket.socket) -> None:
    ask(line, "/live/watch")
    line.recv(100)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def rubbish(line: socket.socket) -> None:
    line.sendall(Random(1).randbytes(4000))


def a_chunk_that_is_none(line: socket.socket) -> None:
    line.sendall(
        b"POST /host HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n"
    )


def nothing(line: socket.socket) -> None:
    """Connect and stay silent."""


MANNERS: tuple[Callable[[socket.socket], None], ...] = (
    half_a_request, half_a_body, no_answer_is_read, reset_in_a_stream, rubbish,
    a_chunk_that_is_none, nothing,
)  # fmt: skip


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def wait_for(done: Callable[[], bool]) -> bool:
    """Look again and again, for a bounded time; streams notice within half a second that nobody is
    there.
    """
    end_s, event = time.monotonic() + PATIENCE_S, threading.Event()
    while not done() and time.monotonic() < end_s:
        event.wait(0.05)
    return done()


def test_twenty_rude_clients_leave_nothing_behind(tmp_path) -> None:
    with simulated(tmp_path) as companion:
        port = companion.server.port
        polite = Client(f"http://127.0.0.1:{port}")
        assert polite.get("/health")["ok"] is True
        held, threads = files(), {each.name for each in threading.enumerate()}
        for _ in range(2):
            lines = [open_socket(port) for _ in MANNERS]
            for manner, line in zip(MANNERS, lines, strict=True):
                manner(line)
            assert polite.get("/health")["ok"] is True, "others are served meanwhile"
            assert polite.get("/api/view")["phase"] == "lobby"
            for line in lines:
                line.close()
        assert wait_for(lambda: files() <= held), f"{files()} files are open, {held} were"
        begun = [each.name for each in threading.enumerate() if each.name not in threads]
        assert set(begun) <= {"streams-pages"}, "one thread writes all streams of pages, and stays"
        polite.post("/api/seat/south/take", name="Mara")
        assert companion.table.view().seats["south"].name == "Mara", (
            "half a request has taken no seat"
        )
