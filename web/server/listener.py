"""The listening socket of the web server: counts connections by address and ends those that misuse
their place.

Waitress accepts connections from it as from any other socket. What a connection may do is decided
here, where bytes come in: waitress itself would wait for ever for somebody who sends a byte a
second.
"""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from web.security.rate_limit import OWN_ADDRESSES, address_group, plain_address

if TYPE_CHECKING:
    from web.security.tls import TlsTerminator

REQUEST_TIMEOUT_S = 20.0
"""Timeout in seconds for a request to come in. `MIN_BYTES_PER_S` gives a larger one longer."""
MIN_BYTES_PER_S = 4096
"""Bytes per second that a long upload must reach on average."""
MAX_SMALL_BYTES = 96 * 1024
"""Maximum size of a request that is no upload: 32 KiB of headers and a page's form."""
MAX_UPLOADS = 4
"""Maximum number of uploads at once: the pictures of a phone, and files that the owner brings."""
MAX_UPLOADS_EACH = 2
"""Maximum number of them from one address, so that no stranger keeps the others out alone."""
TLS_GREETING = 0x16
"""First byte of a TLS handshake (RFC 8446, 5.1). No HTTP request begins with it."""


class Listener(socket.socket):
    """A listening socket that admits `max_each` connections of one address.

    With `tls` each connection is unwrapped on its way to the web server.
    """

    def __init__(self, fileno: int, max_each: int, tls: TlsTerminator | None = None) -> None:
        super().__init__(fileno=fileno)
        self.tls = tls
        self.max_each = max_each
        self.connections: set[Connection] = set()
        self.uploads: set[Connection] = set()
        """Connections whose large request has begun to come in and is not answered yet."""
        self._by_address: Counter[str] = Counter()
        self._lock = threading.Lock()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises `ConnectionAbortedError` if its address has too many."""
        conn, peer = super().accept()
        address = plain_address(peer[0])
        is_own = address in OWN_ADDRESSES
        if not is_own and self.count_of(address) >= self.max_each:
            conn.close()
            raise ConnectionAbortedError(errno.ECONNABORTED, "Too many connections of one address")
        if self.tls:
            conn = self.tls.unwrap(conn, is_own)
        connection = Connection(conn.detach(), self, address)
        with self._lock:
            self.connections.add(connection)
            self._by_address[connection.group] += 1
        return connection, (address, *peer[1:])

    def count_of(self, address: str) -> int:
        """Return how many connections of an address are open."""
        return self._by_address[address_group(address)]

    def forget(self, connection: Connection) -> None:
        """Count a connection out."""
        with self._lock:
            self.uploads.discard(connection)
            self.connections.discard(connection)
            self._by_address[connection.group] -= 1
            if not self._by_address[connection.group]:
                del self._by_address[connection.group]


class Connection(socket.socket):
    """An accepted connection: knows when it began to ask, and how much has come in since the last
    answer.
    """

    def __init__(self, fileno: int, listener: Listener, address: str) -> None:
        super().__init__(fileno=fileno)
        self.group = address_group(address)
        self._listener = listener
        self._began_s = 0.0
        self._unanswered_bytes = 0
        self._is_counted = True

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive bytes. Raises `ConnectionResetError` if the request takes too long or brings too
        much.
        """
        data = super().recv(size, flags)
        now_s = time.monotonic()
        # the first bytes after an answer begin another request
        if not self._unanswered_bytes:
            self._began_s = now_s
            if data[:1] and data[0] == TLS_GREETING:
                raise ConnectionResetError(errno.ECONNRESET, "TLS is spoken on a port without it")
        self._unanswered_bytes += len(data)
        # what is large gets longer, as long as it keeps up the least speed
        allowed_s = REQUEST_TIMEOUT_S + self._unanswered_bytes / MIN_BYTES_PER_S
        if now_s - self._began_s > allowed_s:
            raise ConnectionResetError(errno.ECONNRESET, "A request took too long to come in")
        if self._unanswered_bytes > MAX_SMALL_BYTES:
            uploads = self._listener.uploads
            uploads.add(self)
            # a copy: answers in other threads take theirs out meanwhile; this one counts, too
            own = sum(upload.group == self.group for upload in tuple(uploads))
            if len(uploads) > MAX_UPLOADS or own > MAX_UPLOADS_EACH:
                raise ConnectionResetError(errno.ECONNRESET, "Too much is being uploaded")
        return data

    def send(self, data: Any, flags: int = 0) -> int:
        """Send bytes of an answer: what came in before is answered now."""
        self._unanswered_bytes = 0
        self._listener.uploads.discard(self)
        return super().send(data, flags)

    def close(self) -> None:
        """Close the connection and count it out."""
        super().close()
        if self._is_counted:
            self._is_counted = False
            self._listener.forget(self)
