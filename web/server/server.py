"""The web server: plain waitress on a listener that counts, with a thread for each stream.

What a connection may do is decided where its bytes come in: waitress itself would wait for ever for
somebody who sends a byte a second.
"""

from __future__ import annotations

import errno
import logging
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from flask import Flask
from waitress import create_server, wasyncore

from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.core.ports import Closeable
from web.security.proxies import Front, Proxies
from web.security.rate_limit import OWN_ADDRESSES, address_group, plain_address
from web.server.sse import KEPT, Streams
from web.server.worker import Worker

if TYPE_CHECKING:
    import ssl

    from web.security.tls import TlsTerminator

SPARE_THREADS = 16
"""Threads for requests, beside one for each stream that is allowed."""
SPARE_CONNECTIONS = 16
"""Connections of one address beyond the places for streams."""
SPARE_FILES = 128
"""Open files for everything that is no connection: the journal, cameras, pins."""
MAX_HEADER_BYTES = 32 * 1024
"""Maximum size of headers. The longest address is that of a kit with an own map."""
MAX_UPLOAD_BYTES = 64 * 1024 * 1024
"""Maximum size of a file that the owner brings. Every other route takes 16 KiB."""
IDLE_TIMEOUT_S, SWEEP_S = 60, 5
"""Timeout of a silent connection, and time between two looks for one, in seconds."""
DEAD_PHONE_MS = 20_000
"""Timeout in milliseconds for somebody who does not read or has gone without a word."""
UNREAD_BYTES = 256 * 1024
"""Maximum size of what waitress keeps for somebody who does not read. Then a stream waits."""
UNSENT_BYTES = 64 * 1024
"""Maximum size of what the kernel keeps beside that, which otherwise is some 3 MB for each."""
STOP_TIMEOUT_S = 5.0

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


class PortInUse(SystemTrouble):
    """The pages cannot be served under this address."""

    kind = "port"


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


class Server(Closeable):
    """The pages on a port. `close` may be called twice."""

    def __init__(
        self,
        app: Flask,
        listener: Listener,
        front: Front,
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
            front,
            map=self._sockets,
            sockets=[listener],
            threads=threads,
            max_request_header_size=MAX_HEADER_BYTES,
            max_request_body_size=MAX_UPLOAD_BYTES,
            channel_timeout=IDLE_TIMEOUT_S,
            cleanup_interval=SWEEP_S,
            channel_request_lookahead=1,
            connection_limit=max_connections + SPARE_FILES,
            asyncore_use_poll=True,
            outbuf_high_watermark=UNREAD_BYTES,
            log_socket_errors=False,
            # `Front` has to see that a request came by a proxy
            clear_untrusted_proxy_headers=False,
            ident=None,
        )
        # the listener has them; one end of a pair takes none
        self._waitress.adj.socket_options = []
        self._thread: threading.Thread | None = None
        self._is_open = True

    def start(self) -> None:
        """Serve in a thread of its own."""
        if self._worker:
            self._worker.start()
        self._thread = threading.Thread(target=self._waitress.run, name="web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all streams, answer what is being answered, and free the port."""
        if not self._is_open:
            return
        self._is_open = False
        # streams first: each holds a thread that is waited for below
        self._streams.close()
        dispatcher = self._waitress.task_dispatcher
        dispatcher.shutdown(cancel_pending=True, timeout=STOP_TIMEOUT_S / 2)
        if self._thread is not None:
            self._in_its_thread(
                self._hang_up
            )  # frees threads that write to phones that do not read
            dispatcher.shutdown(timeout=STOP_TIMEOUT_S)
            self._in_its_thread(partial(wasyncore.close_all, self._sockets))
            self._thread.join(timeout=STOP_TIMEOUT_S)
        else:
            wasyncore.close_all(self._sockets)
        if self.listener.tls:
            self.listener.tls.close()
        if self._worker:
            self._worker.close()

    def _in_its_thread(self, act: Callable[[], None]) -> None:
        """Have waitress's own thread do something, and wait for it."""
        is_done = threading.Event()

        def do() -> None:
            try:
                act()
            finally:
                is_done.set()

        self._waitress.trigger.pull_trigger(do)
        is_done.wait(STOP_TIMEOUT_S)

    def _hang_up(self) -> None:
        for channel in list(self._waitress.active_channels.values()):
            channel.handle_close()


def serve(
    app: Flask,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    *,
    proxies: tuple[str, ...] = (),
    path: str = "",
    has_streams: bool = True,
) -> Server:
    """Return a server of the application on a port (0: any free one), not yet started.

    With `tls` it is secured. `proxies` are the addresses of those that may stand in front, `path`
    is the one under which they show the pages. Without streams a few threads and connections are
    enough. Raises `PortInUse`.
    """
    # waitress warns whenever a request has to wait for a thread
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        bound = socket.create_server((host, port), family=family, dualstack_ipv6=host == "::")
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise PortInUse(
                say("Port {port} is in use: choose another one with --port", port=port)
            ) from None
        raise PortInUse(
            say(
                "Cannot listen on {host}, port {port}: {error}",
                host=host,
                port=port,
                error=str(error),
            )
        ) from None
    bound.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )  # connections inherit these from the listener
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_PHONE_MS)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    streams: Streams = app.extensions["streams"]
    max_streams = streams.viewers + sum(KEPT.values()) if has_streams else 0
    max_each = max_streams + SPARE_CONNECTIONS
    max_connections = max_each * 4
    # with TLS each connection has two more ends, those of its pair of sockets
    _allow_files(max_connections * (3 if tls else 1) + SPARE_FILES * 2)
    terminator = None
    if tls:
        from web.security.tls import TlsTerminator  # noqa: PLC0415 - brings an event loop that only those with a certificate need

        terminator = TlsTerminator(tls)
    listener = Listener(bound.detach(), max_each, terminator)
    front = Front(app, Proxies(proxies), "https" if tls else "http", path)
    return Server(app, listener, front, max_connections, max_streams + SPARE_THREADS)


def _allow_files(number: int) -> None:
    """Let this process hold a number of open files, as far as the system permits that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    # raised only, never lowered
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
