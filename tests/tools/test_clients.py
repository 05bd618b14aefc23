"""Test the server with clients that hang, stop halfway, reset or send rubbish, over real sockets.

Other clients must be served meanwhile, and no thread, file or connection may stay open afterwards.
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

# Timeout for the server to close the connections of clients that are gone.
CLOSING_TIMEOUT_S = 60.0


def open_socket(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def send_get(connection: socket.socket, path: str) -> None:
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


def send_half_a_request(connection: socket.socket) -> None:
    connection.sendall(b"GET / HT")


def send_half_a_body(connection: socket.socket) -> None:
    connection.sendall(
        b"POST /api/seat/south/take HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\n"
        b'Content-Length: 900\r\n\r\n{"name": "'
    )


def read_no_answer(connection: socket.socket) -> None:
    for _ in range(5):
        send_get(connection, "/watch")


def reset_a_stream(connection: socket.socket) -> None:
    """Ask for a stream, and let `close` reset the connection (SO_LINGER of 0 s)."""
    send_get(connection, "/live/watch")
    connection.recv(100)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def send_rubbish(connection: socket.socket) -> None:
    connection.sendall(Random(1).randbytes(4000))


def send_an_invalid_chunk(connection: socket.socket) -> None:
    """Send a chunk whose length is no hexadecimal number."""
    connection.sendall(
        b"POST /host HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n"
    )


def send_nothing(connection: socket.socket) -> None:
    """Connect and stay silent."""


RUDE_CLIENTS: tuple[Callable[[socket.socket], None], ...] = (
    send_half_a_request, send_half_a_body, read_no_answer, reset_a_stream, send_rubbish,
    send_an_invalid_chunk, send_nothing,
)  # fmt: skip


def open_file_count() -> int:
    return len(os.listdir("/proc/self/fd"))


def wait_for(done: Callable[[], bool]) -> bool:
    """Wait until `done` holds, but no longer than the timeout. Return whether it holds.

    Streams need half a second to notice that nobody reads them any more.
    """
    end_s, event = time.monotonic() + CLOSING_TIMEOUT_S, threading.Event()
    while not done() and time.monotonic() < end_s:
        event.wait(0.05)
    return done()


def test_rude_clients_leave_nothing_open(tmp_path) -> None:
    with simulated(tmp_path) as companion:
        port = companion.server.port
        polite = Client(f"http://127.0.0.1:{port}")
        assert polite.get("/health")["ok"] is True
        files_before = open_file_count()
        threads_before = {thread.name for thread in threading.enumerate()}
        for _ in range(2):
            connections = [open_socket(port) for _ in RUDE_CLIENTS]
            for misbehave, connection in zip(RUDE_CLIENTS, connections, strict=True):
                misbehave(connection)
            assert polite.get("/health")["ok"] is True, "a polite client is not served meanwhile"
            assert polite.get("/api/view")["phase"] == "lobby"
            for connection in connections:
                connection.close()
        assert wait_for(lambda: open_file_count() <= files_before), (
            f"{open_file_count()} files are open, {files_before} were before"
        )
        new_threads = {thread.name for thread in threading.enumerate()} - threads_before
        # the thread that writes all streams of pages begins with the first of them, and stays
        assert new_threads <= {"streams-pages"}
        polite.post("/api/seat/south/take", name="Mara")
        assert companion.table.view().seats["south"].name == "Mara", (
            "half a request has taken the seat"
        )
