"""The web server: plain waitress on a listener that counts, with a thread for each stream."""

from __future__ import annotations

import errno
import logging
import resource
import socket
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from flask import Flask
from waitress import create_server, wasyncore

from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.core.ports import Closeable
from web.security.proxies import Front, Proxies
from web.server.listener import Listener
from web.server.sse import KEPT, Streams
from web.server.worker import Worker

if TYPE_CHECKING:
    import ssl

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


class PortInUse(SystemTrouble):
    """The pages cannot be served under this address."""

    kind = "port"


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
