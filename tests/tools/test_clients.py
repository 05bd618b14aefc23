"""Test the server with clients that hang, stop halfway, reset or send rubbish, over real sockets.

Meanwhile other clients must be served. Afterwards no thread, file or connection may stay open.
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
    """Send five requests, and never read the answers."""
    for _ in range(5):
        send_get(connection, "/watch")


def reset_a_stream(connection: socket.socket) -> None:
    """Ask for a stream, and prepare that `close` resets the connection (SO_LINGER of 0 s)."""
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


def count_open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def wait_for(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds, but no longer than the timeout. Return whether it holds.

    Streams need half a second to notice that nobody reads them any more.
    """
    end_s, event = time.monotonic() + CLOSING_TIMEOUT_S, threading.Event()
    while not condition() and time.monotonic() < end_s:
        event.wait(0.05)
    return condition()


def test_rude_clients_leave_nothing_open(tmp_path) -> None:
    with simulated(tmp_path) as companion:
        port = companion.server.port
        polite = Client(f"http://127.0.0.1:{port}")
        assert polite.get("/health")["ok"] is True
        files_before = count_open_files()
        threads_before = {thread.name for thread in threading.enumerate()}

        # twice, all rude clients misbehave at once, and a polite one is served meanwhile
        for _ in range(2):
            connections = [
                socket.create_connection(("127.0.0.1", port), timeout=60) for _ in RUDE_CLIENTS
            ]
            for misbehave, connection in zip(RUDE_CLIENTS, connections, strict=True):
                misbehave(connection)
            assert polite.get("/health")["ok"] is True, "a polite client is not served meanwhile"
            assert polite.get("/api/view")["phase"] == "lobby"
            for connection in connections:
                connection.close()

        # nothing stays open but one thread
        assert wait_for(lambda: count_open_files() <= files_before), (
            f"{count_open_files()} files are open, {files_before} were before"
        )
        new_threads = {thread.name for thread in threading.enumerate()} - threads_before
        # one thread writes all streams of pages. It begins with the first stream, and stays
        assert new_threads <= {"streams-pages"}

        # the request of which only half had come has done nothing
        polite.post("/api/seat/south/take", name="Mara")
        assert companion.table.view().seats["south"].name == "Mara", (
            "half a request has taken the seat"
        )
