"""Ports for what can only be told a number: they stay free until it listens there."""

from __future__ import annotations

import secrets
import socket


def free_port() -> int:
    """Return a port that nobody uses, below those of outgoing connections (`ip_local_port_range`).

    One of those may be taken again before anybody listens there: by any other test's connection,
    and even by the one that tries whether somebody listens already, which then speaks to itself.
    """
    while True:
        port = 10_000 + secrets.randbelow(22_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
