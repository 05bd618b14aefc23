"""Free ports for programs that cannot choose one themselves."""

from __future__ import annotations

import secrets
import socket


def free_port() -> int:
    """Return a free port below those of outgoing connections (`ip_local_port_range`).

    A port of that range could be taken by another connection before the program listens there, even
    by the one that asks whether it listens already. That one would then talk to itself.
    """
    while True:
        port = 10_000 + secrets.randbelow(22_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
