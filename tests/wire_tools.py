"""Helpers: record all bytes between a table and a NATS server, and read the messages in them.

Tests search the messages for what a table must not send to its hub.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Operations of NATS that carry a payload. The payload follows after the line of the operation, such
# as `PUB a.subject 12`, which ends in its size in bytes. An operation with headers (`H…`) has two
# sizes: that of the headers, and that of headers and content together.
_SIZE_COUNTS = {b"PUB": 1, b"HPUB": 2, b"MSG": 1, b"HMSG": 2}


class WireTap:
    """A relay to a port of this machine that records the bytes of each connection and direction."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.streams: list[bytearray] = []
        self._sockets = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._target_port))
                except OSError:  # NATS is not listening just now, and the client tries again
                    near.close()
                    continue
                self._sockets += [near, far]
                for source, target in ((near, far), (far, near)):
                    stream = bytearray()
                    self.streams.append(stream)
                    threading.Thread(
                        target=_relay, args=(source, target, stream), daemon=True
                    ).start()

    def messages(self) -> list[tuple[bytes, bytes, bytes]]:
        """Return subject, headers and content of every message so far, in both directions."""
        return [message for stream in tuple(self.streams) for message in _messages(bytes(stream))]

    def close(self) -> None:
        for end in self._sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def wire_tap(port: int) -> Iterator[WireTap]:
    """Open a relay to this port that records all bytes, until the end of the block."""
    tap = WireTap(port)
    try:
        yield tap
    finally:
        tap.close()


def _relay(source: socket.socket, target: socket.socket, stream: bytearray) -> None:
    """Pass on and record the bytes of one direction until its sender closes it."""
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            stream += data
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _messages(sent: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield the messages in one direction of a connection, except an incomplete last one."""
    place = 0
    while (end := sent.find(b"\r\n", place)) >= 0:
        words = sent[place:end].split()
        place = end + 2
        size_count = _SIZE_COUNTS.get(words[0].upper() if words else b"", 0)
        if size_count:
            size = int(words[-1])
            header_size = int(words[-2]) if size_count == 2 else 0
            payload = sent[place : place + size]
            place += size + 2
            if place > len(sent):
                return
            yield words[1], payload[:header_size], payload[header_size:]


def mask_random_parts(text: str) -> str:
    """Mask what differs between runs: names of tables and games, keys, salts, ports and times.

    So the messages of two runs, or of two tables, can be compared.
    """
    text = re.sub(r"(\"rtt\":)\d+", r"\1N", text)  # latency between the hub and its NATS server
    # records of several tables are stored in the order of their arrival
    text = re.sub(r"(\"seq\":|Sequence: ?)\d+", r"\1N", text)
    text = re.sub(r"_INBOX[\w.]*", "INBOX", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", text)
    text = re.sub(r"20\d\d-\d\d-\d\d[T ][\d:.]+Z?", "TIME", text)
    text = re.sub(r"(<span>[0-9a-f]{4}</span>){4,}", "MARK", text)  # a receipt as pages show it
    text = re.sub(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}(\.[\w-]{5,}){0,2}", "MARK", text)
    return re.sub(r"[0-9a-f]{16,}", "MARK", text)
