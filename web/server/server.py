"""The web server: waitress, unchanged, on a listening socket that limits its connections.

Waitress has a pool of threads, with one for each possible stream and some for other requests. It
would wait forever for a client that sends one byte a second. So the sockets that it gets from the
listener enforce limits on time and size themselves.
"""

from __future__ import annotations

import errno
import logging
import resource
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from flask import Flask
from waitress import create_server, wasyncore

from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.core.ports import Closeable
from web.security.proxies import Proxies, ProxyMiddleware
from web.security.rate_limit import OWN_ADDRESSES, UsageCounts, address_group, plain_address
from web.server.sse import RESERVED_PLACES, Streams
from web.server.worker import Worker

if TYPE_CHECKING:
    import ssl

    from web.security.tls import TlsTerminator

# ---- limits of threads, connections and files ----------------------------------------------------

# Threads for requests, in addition to one per stream.
SPARE_THREADS = 16
# Connections allowed per address, in addition to those for streams.
SPARE_CONNECTIONS = 16
# Open files for everything except connections: the journal, cameras, pins.
SPARE_FILES = 128
# Timeout in seconds for the server's threads to end when it is closed.
STOP_TIMEOUT_S = 5.0

# ---- limits that waitress enforces ---------------------------------------------------------------

# Maximum size of headers. The longest address is for a kit whose board is a map of the owner's own.
MAX_HEADER_BYTES = 32 * 1024
# Maximum size of a file uploaded by the owner. The default limit of routes is 16 KiB.
MAX_UPLOAD_BYTES = 64 * 1024 * 1024
# Timeout in seconds for an idle connection.
IDLE_TIMEOUT_S = 60
# Interval in seconds between two checks for idle connections.
IDLE_CHECK_INTERVAL_S = 5
# Maximum size of waitress's buffer for a client that does not read. A stream then waits.
MAX_UNREAD_BYTES = 256 * 1024

# ---- limits that the kernel enforces, see `_open_port` -------------------------------------------

# Timeout in milliseconds for a client that does not read or has vanished.
DEAD_CLIENT_TIMEOUT_MS = 20_000
# Maximum size of the kernel's buffer for unsent bytes, which otherwise is some 3 MB per connection.
MAX_UNSENT_BYTES = 64 * 1024

# ---- limits that `Connection` enforces on each request -------------------------------------------

# Timeout in seconds for receiving a request. Each byte adds some time, see `MIN_BYTES_PER_S`.
REQUEST_TIMEOUT_S = 20.0
# Minimum average speed of a long upload. A byte adds the time that it takes at this speed.
MIN_BYTES_PER_S = 4096
# Maximum size of a request that does not count as an upload: 32 KiB of headers and a page's form.
MAX_SMALL_BYTES = 96 * 1024
# Maximum number of concurrent uploads: the pictures of a phone, and the owner's files.
MAX_UPLOADS = 4
# Maximum number of uploads per address, so that no stranger alone can block all others.
MAX_UPLOADS_PER_ADDRESS = 2

# ---- the server ----------------------------------------------------------------------------------

# First byte of a TLS handshake (RFC 8446, 5.1). No HTTP request begins with it.
TLS_GREETING = b"\x16"


class PortInUse(SystemTrouble):
    """The port or address of the pages cannot be used."""

    kind = "port"


class Listener(socket.socket):
    """A listening socket that limits the number of connections per address.

    An address of another machine may have at most `max_per_address` connections. With `tls` each
    connection is decrypted on its way to the web server. Waitress calls `accept` in its thread.
    """

    def __init__(self, fileno: int, max_per_address: int, tls: TlsTerminator | None = None) -> None:
        super().__init__(fileno=fileno)
        self.tls = tls
        self.max_per_address = max_per_address
        self.uploads: set[Connection] = set()
        """Connections with a large request that has not been answered yet."""
        self._by_address = UsageCounts[str]()
        self._lock = threading.Lock()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises `ConnectionAbortedError` if its address has too many."""
        raw_socket, peer = super().accept()
        address = plain_address(peer[0])
        is_own = address in OWN_ADDRESSES
        if not is_own and self.count_of(address) >= self.max_per_address:
            raw_socket.close()
            raise ConnectionAbortedError(errno.ECONNABORTED, "Too many connections of one address")
        if self.tls:
            raw_socket = self.tls.unwrap(raw_socket, is_own)
        connection = Connection(raw_socket.detach(), self, address)
        with self._lock:
            self._by_address[connection.group] += 1
        return connection, (address, *peer[1:])

    def count_of(self, address: str) -> int:
        """Return the number of open connections of an address."""
        return self._by_address[address_group(address)]

    def forget(self, connection: Connection) -> None:
        """Remove a closed connection from the counts."""
        with self._lock:
            self.uploads.discard(connection)
            self._by_address.release(connection.group)


class Connection(socket.socket):
    """An accepted connection, which limits the duration and size of the current request.

    Raising an error from `recv` makes waitress close the connection. Waitress calls `recv` in its
    own thread, and `send` in the threads of requests.
    """

    def __init__(self, fileno: int, listener: Listener, address: str) -> None:
        super().__init__(fileno=fileno)
        self.group = address_group(address)
        self._listener = listener
        self._request_began_at_s = 0.0
        # Bytes received since the last answer.
        self._unanswered_bytes = 0
        self._is_counted = True

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive bytes of a request.

        Raises `ConnectionResetError` if the request takes too long, is one upload too many, or
        begins with a TLS handshake.
        """
        data = super().recv(size, flags)
        now_s = time.monotonic()
        # the first bytes after an answer start a new request
        if not self._unanswered_bytes:
            self._request_began_at_s = now_s
            if data[:1] == TLS_GREETING:
                raise ConnectionResetError(errno.ECONNRESET, "TLS is spoken on a port without it")
        self._unanswered_bytes += len(data)
        # a large request has more time as long as it keeps the minimum speed
        allowed_s = REQUEST_TIMEOUT_S + self._unanswered_bytes / MIN_BYTES_PER_S
        if now_s - self._request_began_at_s > allowed_s:
            raise ConnectionResetError(errno.ECONNRESET, "A request took too long to come in")
        if self._unanswered_bytes > MAX_SMALL_BYTES:
            uploads = self._listener.uploads
            uploads.add(self)
            # count in a copy, because an answer in another thread may remove its upload meanwhile
            from_address = sum(upload.group == self.group for upload in tuple(uploads))
            if len(uploads) > MAX_UPLOADS or from_address > MAX_UPLOADS_PER_ADDRESS:
                raise ConnectionResetError(errno.ECONNRESET, "Too much is being uploaded")
        return data

    def send(self, data: Any, flags: int = 0) -> int:
        """Send bytes of an answer, which ends the current request."""
        self._unanswered_bytes = 0
        self._listener.uploads.discard(self)
        return super().send(data, flags)

    def close(self) -> None:
        """Close the connection, and remove it from the listener's counts the first time."""
        super().close()
        if self._is_counted:
            self._is_counted = False
            self._listener.forget(self)


class Server(Closeable):
    """The web server of an application on a port. Made by `open_server`.

    It owns the threads of waitress, the application's worker and the listener with its TLS, and
    closes all of them. `close` may be called twice.
    """

    def __init__(
        self,
        app: Flask,
        listener: Listener,
        middleware: ProxyMiddleware,
        max_connections: int,
        threads: int,
    ) -> None:
        self.app = app
        self.listener = listener
        self.port: int = listener.getsockname()[1]
        self._streams: Streams = app.extensions["streams"]
        self._worker: Worker | None = app.extensions.get("worker")
        self._sockets: dict[int, Any] = {}
        self._waitress = create_server(
            middleware,
            map=self._sockets,
            sockets=[listener],
            threads=threads,
            max_request_header_size=MAX_HEADER_BYTES,
            max_request_body_size=MAX_UPLOAD_BYTES,
            channel_timeout=IDLE_TIMEOUT_S,
            cleanup_interval=IDLE_CHECK_INTERVAL_S,
            channel_request_lookahead=1,
            # Waitress also counts two sockets of its own and the connections from this machine,
            # which `Listener` does not limit. So its limit is higher than `max_connections`.
            connection_limit=max_connections + SPARE_FILES,
            asyncore_use_poll=True,
            outbuf_high_watermark=MAX_UNREAD_BYTES,
            log_socket_errors=False,
            # `ProxyMiddleware` needs these headers to recognise a proxy
            clear_untrusted_proxy_headers=False,
            ident=None,
        )
        # Waitress would set options on each connection. That fails with TLS, where a connection is
        # one end of a socket pair, which takes no TCP options. It is not needed either, because
        # connections inherit the listener's options.
        self._waitress.adj.socket_options = []
        self._thread: threading.Thread | None = None
        self._is_open = True

    def start(self) -> None:
        """Start serving in a separate thread."""
        if self._worker:
            self._worker.start()
        self._thread = threading.Thread(target=self._waitress.run, name="web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all streams, finish current answers, and free the port."""
        if not self._is_open:
            return
        self._is_open = False
        # streams come first, because each occupies one of the threads that have to end
        self._streams.close()
        dispatcher = self._waitress.task_dispatcher
        # wait until the threads have finished their answers, but not for threads that are stuck
        dispatcher.shutdown(cancel_pending=True, timeout=STOP_TIMEOUT_S / 2)
        if self._thread is not None:
            # a thread is stuck if its client does not read: closing the connection frees it
            self._run_in_server_thread(self._close_connections)
            dispatcher.shutdown(timeout=STOP_TIMEOUT_S)
            self._run_in_server_thread(partial(wasyncore.close_all, self._sockets))
            self._thread.join(timeout=STOP_TIMEOUT_S)
        else:
            wasyncore.close_all(self._sockets)
        if self.listener.tls:
            self.listener.tls.close()
        if self._worker:
            self._worker.close()

    def _run_in_server_thread(self, work: Callable[[], None]) -> None:
        """Run a function in waitress's own thread, and wait until it has returned.

        Waitress's connections may only be closed in that thread.
        """
        is_done = threading.Event()

        def run() -> None:
            try:
                work()
            finally:
                is_done.set()

        self._waitress.trigger.pull_trigger(run)
        is_done.wait(STOP_TIMEOUT_S)

    def _close_connections(self) -> None:
        for channel in list(self._waitress.active_channels.values()):
            channel.handle_close()


def open_server(
    app: Flask,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    *,
    proxies: tuple[str, ...] = (),
    path: str = "",
    has_streams: bool = True,
) -> Server:
    """Open a port for an application, and return its server, which the caller starts.

    Port 0 means any free port. With `tls` the server speaks HTTPS. `proxies` are the addresses of
    trusted proxies, and `path` is the path under which they serve the pages. `has_streams` is
    whether the application has streams, for which the server needs more threads and connections.
    Raises `PortInUse`.
    """
    # keep waitress from warning whenever a request has to wait for a thread
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    port_socket = _open_port(host, port)
    streams: Streams = app.extensions["streams"]
    max_streams = streams.max_spectators + sum(RESERVED_PLACES.values()) if has_streams else 0
    max_per_address = max_streams + SPARE_CONNECTIONS
    # four times as many in all, so that one address alone cannot take all connections
    max_connections = max_per_address * 4
    # With TLS each connection needs two more files, for its socket pair. The spare files count
    # twice: once for everything that is no connection, and once for the connections that waitress
    # accepts beyond `max_connections` (see `connection_limit`).
    _raise_file_limit(max_connections * (3 if tls else 1) + SPARE_FILES * 2)
    terminator = None
    if tls:
        from web.security.tls import TlsTerminator  # noqa: PLC0415 - brings an event loop that only those with a certificate need

        terminator = TlsTerminator(tls)
    listener = Listener(port_socket.detach(), max_per_address, terminator)
    middleware = ProxyMiddleware(app, Proxies(proxies), "https" if tls else "http", path)
    return Server(app, listener, middleware, max_connections, max_streams + SPARE_THREADS)


def _open_port(host: str, port: int) -> socket.socket:
    """Listen on a port. Raises `PortInUse`.

    Connections inherit the options of the listening socket. With these options the kernel drops
    clients that have vanished.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, dualstack_ipv6=host == "::")
    except (OSError, OverflowError) as error:
        text = say(
            "Cannot listen on {host}, port {port}: {error}", host=host, port=port, error=str(error)
        )
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            text = say("Port {port} is in use: choose another one with --port", port=port)
        raise PortInUse(text) from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_CLIENT_TIMEOUT_MS)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT_BYTES)
    return listening


def _raise_file_limit(files: int) -> None:
    """Raise this process's limit on open files, as far as the system permits. Never lower it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    new_limit = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < new_limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, hard))
