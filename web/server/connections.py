"""The web server's connections: when a request came in, how big it may be, and whether it is answered now or later."""

from __future__ import annotations

import contextlib
import copy
import logging
import os
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer
from waitress.task import WSGITask
from werkzeug.http import parse_cookie

from web.security.admission import Admission, Asker
from web.security.host_names import OWN_ADDRESS, asked_host
from web.security.proxies import Caller, Proxies
from web.security.rate_limit import OWN_ADDRESSES, plain_address
from web.server.refused import RefusedTask

if TYPE_CHECKING:
    from web.security.tls import TlsListener
    from web.server.held_stream import HeldStream
    from web.server.stream_writer import Writer

log = logging.getLogger(__name__)

ARRIVED = "companion.at_s"
"""Where a request's environment says when it came in, by the table's clock."""
STREAM_UNREAD_BYTES = 64 * 1024
"""So much is kept for a viewer who does not read; then the stream waits, and misses what comes meanwhile."""
HAND_OVER = "companion.hand_over"
"""Where it says who takes a stream over, so that it holds no thread: called with it and its future writer's getter."""
MAX_HEADER_BYTES = 32 * 1024
"""The longest address is that of a kit with a map of one's own."""
MAX_SMALL_BYTES = 64 * 1024
"""More than any form or JSON may have; so much of a body is read before anybody looks at the request."""
ARRIVES_S, UPLOADS_S = 20.0, 900.0
"""So long a request may take to come in; a phone that sends a letter a second holds no place for ever."""
IDLE_S, SWEEP_S = 60, 5
"""A connection on which nothing is asked is closed after so long; how often somebody looks."""
CROWDED_CLOSES = 64
"""So many connections of strangers on which nothing is asked are closed at once to let others in."""
CROWDED_ARRIVES_S = 2.0
"""So long a stranger's request may take to come in while others cannot come in at all."""
OWNER_KEEPS = 8
"""So many connections of a seat or the host stay open in a crowd: their next request is not to wait at the door."""


class _Arrival(HTTPRequestParser):  # type: ignore[misc]  # waitress comes without types
    """A request that knows when its first bytes came in, and reads no more than its kind may have."""

    def __init__(self, server: GatedServer, address: str) -> None:
        super().__init__(server.adj)
        self.at_s = server.now_s()
        self.began_s = time.monotonic()
        self.is_upload = False
        self.asker: Asker | None = None
        self.caller = Caller(address)
        self._server = server
        self._address = address

    def parse_header(self, header_plus: bytes) -> None:
        """Read the header; from now on the body counts against the limit of its kind.

        Raises `ParsingError`, which is answered by 400, also for a request that does not say once and plainly for which
        host it is: whatever stands behind may take another one for the right one.
        """
        try:
            super().parse_header(header_plus)
        except ValueError:  # an address with half a bracket
            raise ParsingError("Request target is invalid") from None
        if self.header_bytes_received < MAX_HEADER_BYTES:  # else it is refused for that
            self._require_host()
        self.caller = self._server.proxies.caller(self._address, self.headers)
        key = self.headers.get("X_HOST_KEY")
        most_bytes = self._server.gate.may_bring(self.path, self.caller.address, self.cookies, key)
        self.is_upload = most_bytes > 0
        self.adj = self._server.adjusted(most_bytes or MAX_SMALL_BYTES)

    def _require_host(self) -> None:
        host = self.headers.get("HOST", "")
        if not asked_host(host):
            raise ParsingError("Host is missing, repeated or invalid")
        if self.request_uri.startswith("/") or self.request_uri == "*":
            return
        if self.proxy_scheme not in ("http", "https") or self.proxy_netloc.lower() != host.lower():
            raise ParsingError("Request target is invalid, or another host than Host")

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies that came along."""
        return dict(parse_cookie(self.headers.get("COOKIE", "")))


class _HandedOver(BaseException):
    """Leaves a worker's work on a request that goes on as a stream; nothing but `Channel.service` catches it."""


class _StampedTask(WSGITask):  # type: ignore[misc]  # waitress comes without types
    """Tells the application when its request came in and how: it may have waited for a free thread since.

    An answer that is a stream is only begun here; then it is handed over to its writer.
    """

    _stream: tuple[HeldStream, Callable[[], Writer]] | None = None

    def get_environment(self) -> dict[str, Any]:
        environ: dict[str, Any] = super().get_environment()
        environ[ARRIVED] = self.request.at_s
        environ[OWN_ADDRESS] = self.channel.own_address
        environ[HAND_OVER] = self._take_over
        if self.channel.is_secure:
            environ["wsgi.url_scheme"] = "https"
        caller: Caller = self.request.caller
        environ["REMOTE_ADDR"] = environ["REMOTE_HOST"] = caller.address
        if caller.scheme:
            environ["wsgi.url_scheme"] = caller.scheme
        if asked_host(caller.host):
            environ["HTTP_HOST"] = caller.host
        return environ

    def _take_over(self, held: HeldStream, writer: Callable[[], Writer]) -> None:
        self._stream = held, writer

    def service(self) -> None:
        """Answer the request; raises `_HandedOver` when it goes on as a stream."""
        try:
            super().service()
        except BaseException:
            if self._stream:
                self._stream[0].close()
            raise
        if self._stream:
            held, writer = self._stream
            self.channel.is_streaming = True
            held.go_on(writer(), StreamLine(self))
            raise _HandedOver

    def finish(self) -> None:
        """Say that the answer is whole, unless it goes on."""
        if self._stream is None:
            super().finish()
        elif not self.wrote_header:
            self.write(b"")


class StreamLine:
    """The connection of a stream: written by the streams' thread, sent on by the server's own where that is full."""

    def __init__(self, task: _StampedTask) -> None:
        self._task = task
        self._channel: Channel = task.channel

    @property
    def is_open(self) -> bool:
        """Is the viewer still there?"""
        return bool(self._channel.connected) and not self._channel.will_close

    @property
    def is_full(self) -> bool:
        """Has the viewer so much to read that a writer would have to wait?"""
        return bool(self._channel.total_outbufs_len > STREAM_UNREAD_BYTES)

    def write(self, text: str) -> None:
        """Send a message; one who is gone gets nothing."""
        channel = self._channel
        channel.is_written = True
        try:
            with contextlib.suppress(ClientDisconnected):
                channel.write_now(_encoded(text, bool(self._task.chunked_response)))
        finally:
            channel.is_written = False
        if channel.total_outbufs_len or channel.will_close:
            channel.server.pull_trigger()

    def end(self) -> None:
        """Say that the answer is whole, and hang up once it is read."""
        channel = self._channel
        if self._task.chunked_response and not self.is_full:
            with contextlib.suppress(ClientDisconnected):
                channel.write_soon(b"0\r\n\r\n")
        with channel.requests_lock:
            channel.is_streaming = False
            channel.close_when_flushed = True
            for request in channel.requests:
                request.close()
            channel.requests = []
        channel.last_activity = time.time()
        channel.server.pull_trigger()


@lru_cache(maxsize=8)
def _encoded(text: str, is_chunked: bool) -> bytes:
    """A message as it is sent; many viewers get the same one."""
    told = text.encode()
    return b"%X\r\n%b\r\n" % (len(told), told) if is_chunked else told


class Channel(HTTPChannel):  # type: ignore[misc]  # waitress comes without types
    """A connection: its address counts as long as it is open."""

    task_class = _StampedTask
    error_task_class = RefusedTask
    is_streaming = False
    """Is its answer a stream, which no thread of the server writes any more?"""
    is_written = False
    """Does the streams' thread write on it just now?"""
    admitted: tuple[Asker, str]
    """Who asks for what a thread answers now, and at which path."""
    owner = ""
    """Which seat, or the host, has asked here last; empty: a stranger."""

    def __init__(self, server: GatedServer, sock: socket.socket, addr: tuple[Any, ...], own_address: str, **how: Any):
        self.is_secure: bool = how.pop("is_secure", False)
        self.own_address = own_address
        self._counts = True
        self._gated = server
        super().__init__(server, sock, addr, server.adj, **how)

    def parser_class(self, _: Any) -> _Arrival:
        """A request that begins to come in."""
        return _Arrival(self._gated, self.addr[0])

    def asker(self) -> Asker:
        """Who asks what is to be answered next."""
        request = self.requests[0]
        if request.asker is None:
            request.asker = self._gated.gate.asker(request.caller.address, request.cookies)
        asker: Asker = request.asker
        self.owner = asker.name if asker.is_owner else ""
        return asker

    def service(self) -> None:
        """Answer the next request, in a thread of the server."""
        asker, path = self.admitted
        try:
            with contextlib.suppress(_HandedOver):
                super().service()
        finally:
            self._gated.has_answered(asker, path)

    def writable(self) -> bool:
        """Has the server's own thread something to send here?

        Not while another one writes and has the lock: it would ask again and again, and take the time that one needs.
        """
        return not self.is_written and bool(super().writable())

    def write_now(self, data: bytes) -> None:
        """Send without a copy what the viewer takes at once, and keep the rest; raises `ClientDisconnected`."""
        with self.outbuf_lock:
            if self.connected and not self.total_outbufs_len:
                try:
                    sent = self.send(data, do_close=False)
                except OSError:
                    self.will_close = True
                    raise ClientDisconnected from None
                self.last_activity = time.time()
                if sent == len(data):
                    return
                data = data[sent:]
            self.write_soon(data)

    def handle_read(self) -> None:
        """Something has come in; where that is a viewer's end, the stream has nobody any more."""
        try:
            super().handle_read()
        except OSError as error:  # a long body waits in a file
            log.warning("What a browser sends cannot be kept: %s", error.strerror)
            self.handle_close()
        if self.is_streaming and not self.connected:
            self.handle_close()

    def close(self) -> None:
        """End it, also for the thread that waits for somebody to read what it has written."""
        self.handle_close()

    def del_channel(self, map: Any = None) -> None:
        """The connection is closed."""
        super().del_channel(map)
        if self._counts:
            self._counts = False
            self._gated.gate.leave(self.addr[0])


class GatedServer(TcpWSGIServer):  # type: ignore[misc]  # waitress comes without types
    """The web server: every request goes through the gate before it gets a thread."""

    def __init__(self, app: Any, gate: Admission, now_s: Callable[[], float], proxies: Proxies, **how: Any) -> None:
        self.gate = gate
        self.proxies = proxies
        self.now_s = now_s
        self.door: TlsListener | None = None
        self._waiting: deque[Channel] = deque()
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._waking = threading.Lock()
        self._adjusted: dict[int, Any] = {}
        super().__init__(app, **how)
        os.set_blocking(self.trigger.trigger, False)

    def adjusted(self, most_bytes: int) -> Any:
        """How requests are read that may bring so much."""
        if most_bytes not in self._adjusted:
            self._adjusted[most_bytes] = copy.copy(self.adj)
            self._adjusted[most_bytes].max_request_body_size = most_bytes
        return self._adjusted[most_bytes]

    # ---- its own thread ----

    def run(self) -> None:
        """Serve until `end`."""
        while self._map and not self._ending.is_set():
            wasyncore.loop(self.adj.asyncore_loop_timeout, use_poll=True, map=self._map, count=1)

    def pull_trigger(self, thunk: Callable[[], None] | None = None) -> None:
        """Wake the server's own thread, which then does this; from any thread, also after the end.

        Waitress writes to the number of a pipe, which may be another file's once the pipe is closed.
        """
        with self._waking:
            if not self.trigger._closed:
                with contextlib.suppress(BlockingIOError):  # the pipe is full: it wakes anyway
                    self.trigger.pull_trigger(thunk)

    def end(self) -> None:
        """Have the server's own thread end; from any thread."""
        self._ending.set()
        self.pull_trigger()

    def close_all(self) -> None:
        """Close the port and every connection, once nobody serves them any more."""
        self.trigger.handle_read()  # what was handed over meanwhile is closed with the rest
        with self._waking:
            wasyncore.close_all(self._map)

    # ---- connections ----

    def handle_accept(self) -> None:
        """Somebody connects."""
        try:
            accepted = self.accept()
            if accepted is None:
                return
            conn, addr = accepted
            self.set_socket_options(conn)
            addr = (plain_address(addr[0]), *addr[1:])
            own_address = plain_address(conn.getsockname()[0])
        except OSError:
            return  # gone again already
        if not self.gate.enter(addr[0]):
            conn.close()
            return
        self.welcome(conn, addr, own_address)

    def welcome(self, conn: socket.socket, addr: tuple[Any, ...], own_address: str) -> None:
        """A connection that the gate has counted in; with a certificate it is unwrapped first."""
        if self.door:
            self.door.welcome(conn, addr, own_address)
        else:
            self.open_channel(conn, addr, own_address)

    def open_channel(
        self, conn: socket.socket, addr: tuple[Any, ...], own_address: str, is_secure: bool = False
    ) -> None:
        """Listen to what is asked on a connection; only in the server's own thread."""
        try:
            Channel(self, conn, addr, own_address, map=self._map, is_secure=is_secure)
        except OSError:
            conn.close()
            self.gate.leave(addr[0])

    # ---- requests ----

    def add_task(self, task: Channel) -> None:
        """A request has come in wholly: it is answered, or waits."""
        with self._lock:
            self._waiting.append(task)
        self._let_in()

    def has_answered(self, asker: Asker, path: str) -> None:
        """A request is answered; another one may have its thread."""
        self.gate.end(asker, path)
        if self._waiting:
            self.pull_trigger()

    def readable(self) -> bool:
        """Called in every round of the server's own thread."""
        self._let_in()
        is_accepting = bool(super().readable())
        if self.in_connection_overflow:
            self._make_room()
        return is_accepting

    def _let_in(self) -> None:
        """Give threads to those whose turn it is, in the order in which they came."""
        if not self._waiting:
            return
        with self._lock:
            for _ in range(len(self._waiting)):
                channel = self._waiting.popleft()
                if not channel.connected or not channel.requests:
                    for request in channel.requests:
                        request.close()
                    continue
                asker, path = channel.asker(), getattr(channel.requests[0], "path", "")
                if self.gate.begin(asker, path):
                    channel.admitted = asker, path
                    self.task_dispatcher.add_task(channel)
                else:
                    self._waiting.append(channel)

    def maintenance(self, now: float) -> None:
        """Close what has been idle for long, and what takes too long to say what it wants."""
        super().maintenance(now)
        now_s = time.monotonic()
        for channel in list(self.active_channels.values()):
            request = channel.request
            if request is not None and now_s - request.began_s > (UPLOADS_S if request.is_upload else ARRIVES_S):
                channel.will_close = True

    def _make_room(self) -> None:
        """Close connections of strangers on which nothing is asked, those that have been silent longest first, and then
        those on which a request takes long to come in.
        """
        late_s, kept = time.monotonic() - CROWDED_ARRIVES_S, Counter[str]()
        idle, slow = list[Channel](), list[Channel]()
        for channel in sorted(self.active_channels.values(), key=lambda each: each.last_activity, reverse=True):
            if channel.requests or channel.addr[0] in OWN_ADDRESSES:
                continue
            if channel.owner and kept[channel.owner] < OWNER_KEEPS:
                kept[channel.owner] += 1
            elif channel.request is None:
                idle.append(channel)
            elif channel.request.began_s < late_s:
                slow.append(channel)
        slow.sort(key=lambda each: each.request.began_s, reverse=True)
        for channel in [*slow, *idle][-CROWDED_CLOSES:]:
            channel.will_close = True
