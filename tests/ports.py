"""Helper: free ports for programs that cannot choose one themselves."""

from __future__ import annotations

import secrets
import socket


def free_port() -> int:
    """Return a free port below those of outgoing connections (`ip_local_port_range`).

    A connection could take a port of that range before the program listens there. Even the
    connection that tests whether the program listens could take it, and would reach itself then.
    """
    while True:
        port = 10_000 + secrets.randbelow(22_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
