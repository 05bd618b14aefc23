"""Pages that follow the table: server-sent events, and the web server that carries them.

A page opens one stream. It gets the whole fragment at once, then after every change of the table; a viewer who is too
slow for every change gets the newest, unless the last changes are kept. A stream is begun by the thread that answers
its request, then one thread writes all that follow the table, and one each those of the camera and of the panels, which
look more often or take longer. Streams are counted; some places are kept for seats and table screens, so that
spectators never take them.
"""

from __future__ import annotations

import errno
import logging
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from flask import Flask, Response

from companion.core.errors import CompanionError, SystemTrouble
from companion.core.i18n import say, speaking, spoken
from companion.core.ports import Closeable
from web.security.admission import Admission
from web.security.proxies import Proxies
from web.security.rate_limit import OWN_ADDRESSES, address_group
from web.server import connections as channels
from web.server.held_stream import HeldStream, StreamBody
from web.server.stream_writer import Idle, Messages, Writer

if TYPE_CHECKING:
    import ssl

    from web.security.tls import TlsListener

ARRIVED = channels.ARRIVED
HAND_OVER = channels.HAND_OVER
PAGES, CAMERA, PANELS = "pages", "camera", "panels"
"""The threads that write streams: of what follows the table, of the camera's page, of panels and workbench."""
LOOK_S = 0.5
"""How often a stream asks whether its viewer is still there."""
PING_LOOKS = 20
DEAD_PHONE_MS = 20_000
THREADS = 16
"""They answer requests; streams need none."""
SPARE_CONNECTIONS = 16
"""One address may have so many more than there are places for streams."""
SPARE_FILES = 128
"""For everything that is no connection: the journal, cameras, pins."""
UNREAD_BYTES = 256 * 1024
"""So much of an answer is kept for somebody who does not read."""
UNSENT_BYTES = 64 * 1024
"""So much more the kernel keeps; without a limit it takes some 3 MB for each who does not read."""
RETRY_MS = 1000
ANSWERS_S, ENDS_S = 2.0, 5.0
"""At the end: so long what is being answered may take, and then every thread to notice that its connection is gone."""
PING = "event: here\ndata: .\n\n"
"""Says that the service is there; a page that hears nothing for long asks anew."""


class PortInUse(SystemTrouble):
    """The pages cannot be served under this address."""

    kind = "port"


class TooManyViewers(CompanionError, RuntimeError):
    """All streams are taken."""

    kind = "too_many_viewers"


class Audience(Enum):
    """Whom a stream is for."""

    SPECTATOR = "spectator"
    TABLE = "table"
    """Table screens: anybody may open one, so these have places of their own."""
    SEAT = "seat"
    """Seats and the host, who have shown who they are."""


RANK = {Audience.SEAT: 0, Audience.TABLE: 1, Audience.SPECTATOR: 2}
"""In this order streams are written: seats never wait for spectators."""
KEPT = {Audience.TABLE: 4, Audience.SEAT: 12}
"""Places that spectators do not get; when they are taken, their kind takes those of spectators."""
OWN_TABLES = 1
"""Of the places for table screens so many are for the machine's own screen."""
SEATS_EACH = 8
"""Of the places for seats one address has at most so many: both seats and the host with a page to spare each."""
SHARE = 0.75
"""Of the places for spectators one address has at most this share: a café's guests may come by one."""


class Followed(Protocol):
    """What pages follow, such as a table: `version` is another one after every change."""

    @property
    def version(self) -> int:
        """The number of the newest change."""

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until it has changed since `version`, at most so long; answers the newest."""

    def when_changed(self, call: Callable[[], None]) -> None:
        """Have this called after every change."""


Changes = Sequence[tuple[int, Callable[[], str]]]
"""Versions of what is followed, and how each is told: as a message that is ready."""


class Streams:
    """The open streams of one application; `close` ends them all and may be called twice.

    Those that follow many tables, each with streams of its own, may have one `writer` in common; it is closed with any.
    """

    def __init__(self, table: Followed, viewers: int, writer: Writer | None = None) -> None:
        self.table = table
        self._left = {Audience.SPECTATOR: viewers, **KEPT}
        self.held: Counter[tuple[str, Audience]] = Counter()
        self._lock = threading.Lock()
        self._round = 0
        self.viewers = viewers
        self.closing = threading.Event()
        self._writers = {PAGES: writer} if writer else {}
        table.when_changed(self._wake)

    @property
    def has_room(self) -> bool:
        """Is there a place for one more spectator?"""
        return self._left[Audience.SPECTATOR] > 0

    @property
    def open(self) -> int:
        """How many streams are followed now."""
        return self.viewers + sum(KEPT.values()) - sum(self._left.values())

    def close(self) -> None:
        """End every stream; one that has no writer ends within half a second."""
        self.closing.set()
        with self._lock:
            writers = list(self._writers.values())
        for writer in writers:
            writer.close()

    def renew(self) -> None:
        """Let every stream end; pages open theirs anew by themselves, and only where they still may."""
        self._round += 1

    def _wake(self) -> None:
        """The table has changed; those of the camera and of the panels look by themselves."""
        if writer := self._writers.get(PAGES):
            writer.wake(self.table)

    def writer(self, name: str) -> Writer:
        """The thread that writes the streams of this kind."""
        with self._lock:
            if name not in self._writers:
                self._writers[name] = Writer(f"streams-{name}")
                if self.closing.is_set():
                    self._writers[name].close()
            return self._writers[name]

    def follow(
        self,
        environ: Mapping[str, Any],
        render: Callable[[], str],
        place: Audience = Audience.SPECTATOR,
        when_over: Callable[[], None] = lambda: None,
    ) -> Response:
        """A stream of fragments, one after every change of the table; raises `TooManyViewers`."""

        def newest(shown: int) -> Changes:
            return () if shown == self.table.version else ((self.table.version, lambda: message(render())),)

        return self.follow_each(environ, newest, place, when_over)

    def follow_each(
        self,
        environ: Mapping[str, Any],
        changes: Callable[[int], Changes],
        place: Audience = Audience.SPECTATOR,
        when_over: Callable[[], None] = lambda: None,
    ) -> Response:
        """A stream of what `changes` answers for the version that was shown last (-1: none), the oldest first."""
        return self.hold(environ, lambda is_gone: self._messages(changes, is_gone), place, when_over)

    def hold(
        self,
        environ: Mapping[str, Any],
        messages: Callable[[Callable[[], bool]], Messages],
        place: Audience = Audience.SPECTATOR,
        when_over: Callable[[], None] = lambda: None,
        writer: str = PAGES,
    ) -> Response:
        """A stream of ready messages in the language spoken now, with pauses in which it is not asked.

        `messages` is given a question that is true once nobody listens any more; `when_over` is called at the end.
        Between two pauses it must be quick: it is asked in the thread that writes all streams of this `writer`.
        """
        address = str(environ.get("REMOTE_ADDR", ""))
        taken = None if self.closing.is_set() else self._take(place, address)
        if taken is None:
            when_over()
            raise TooManyViewers(say("Too many people are watching: close a page, or try again in a minute"))

        def release() -> None:
            self._give_back(taken, address)
            when_over()

        has_left: Callable[[], bool] = environ.get("waitress.client_disconnected", lambda: False)
        began = self._round
        told = _spoken_on(messages(lambda: self.closing.is_set() or self._round != began or has_left()))
        held = HeldStream(told, release, self.table, RANK[place], self._rest)
        hand_over = environ.get(HAND_OVER)
        body = held.beginning(partial(hand_over, held, lambda: self.writer(writer))) if hand_over else held.whole()
        stream = Response(StreamBody(body, held), mimetype="text/event-stream")
        stream.headers["Cache-Control"] = "no-store"
        stream.headers["X-Accel-Buffering"] = "no"
        return stream

    def _take(self, place: Audience, address: str) -> Audience | None:
        """A place of this kind, else a spectator's; None: all are taken, or those that this address may have."""
        with self._lock:
            found = next((each for each in (place, Audience.SPECTATOR) if self._may_have(each, address)), None)
            if found:
                self._left[found] -= 1
                self.held[address_group(address), found] += 1
        return found

    def _may_have(self, place: Audience, address: str) -> bool:
        left, held = self._left[place], self.held[address_group(address), place]
        if address in OWN_ADDRESSES or not left:
            return left > 0
        if place is Audience.TABLE:
            return left > OWN_TABLES
        return held < (SEATS_EACH if place is Audience.SEAT else max(1, int(self.viewers * SHARE)))

    def _give_back(self, place: Audience, address: str) -> None:
        name = address_group(address)
        with self._lock:
            self._left[place] += 1
            self.held[name, place] -= 1
            if not self.held[name, place]:
                del self.held[name, place]

    def _rest(self, pause: Idle) -> None:
        """Wait out a pause in the caller's thread."""
        if pause.since is None:
            self.closing.wait(pause.seconds)
        else:
            self.table.wait(pause.since, pause.seconds)

    def _messages(self, changes: Callable[[int], Changes], is_gone: Callable[[], bool]) -> Messages:
        shown, looks = -1, 0
        yield f"retry: {RETRY_MS}\n\n"
        while not is_gone():
            news = changes(shown)
            for version, told in news:
                yield told()
                shown = version
            if news:
                looks = 0
            elif looks >= PING_LOOKS:
                yield PING
                looks = 0
            looks += 1
            yield Idle(LOOK_S, since=shown)


def _spoken_on(messages: Messages) -> Messages:
    """The same messages, all made in the language that is spoken now, whichever thread asks for them."""
    language = spoken()

    def told() -> Messages:
        try:
            while True:
                with speaking(language):
                    news = next(messages, None)
                if news is None:
                    return
                yield news
        finally:
            if hasattr(messages, "close"):
                messages.close()

    return told()


@lru_cache(maxsize=16)
def message(text: str, event: str = "") -> str:
    """One server-sent event; every line of `text` becomes a data line. Many viewers get the same text."""
    head = f"event: {event}\n" if event else ""
    body = "\n".join(f"data: {line}" for line in text.splitlines() if line.strip())
    return f"{head}{body}\n\n"


class Server(Closeable):
    """The pages on a port; `close` may be called twice."""

    def __init__(
        self,
        app: Flask,
        listener: socket.socket,
        connections: int,
        tls: ssl.SSLContext | None = None,
        proxies: tuple[str, ...] = (),
    ) -> None:
        self._app = app
        self._sockets: dict[int, Any] = {}
        now_s = app.extensions["now_s"]
        self.gated = channels.GatedServer(
            app,
            Admission(app.extensions["guard"], time.monotonic, connections),
            now_s,
            Proxies(proxies),
            map=self._sockets,
            _sock=listener,
            sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
            bind_socket=False,
            threads=THREADS,
            max_request_header_size=channels.MAX_HEADER_BYTES,
            max_request_body_size=channels.MAX_SMALL_BYTES,
            channel_timeout=channels.IDLE_S,
            cleanup_interval=channels.SWEEP_S,
            channel_request_lookahead=1,
            connection_limit=connections * 4,
            asyncore_use_poll=True,
            outbuf_high_watermark=UNREAD_BYTES,
            ident=None,
        )
        self.gated.door = _secure_door(self.gated, tls) if tls else None
        self.port: int = listener.getsockname()[1]
        self._thread: threading.Thread | None = None
        self._is_open = True

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(target=self.gated.run, name="web", daemon=True)
        self._thread.start()

    @property
    def streams_open(self) -> int:
        """How many pages follow the table now."""
        streams: Streams = self._app.extensions["streams"]
        return streams.open

    def close(self) -> None:
        """End all streams, answer what is being answered, and free the port."""
        if not self._is_open:
            return
        self._is_open = False
        self._app.extensions["streams"].close()
        self.gated.task_dispatcher.shutdown(cancel_pending=True, timeout=ANSWERS_S)
        if self.gated.door:
            self.gated.door.close()
        self.gated.end()
        if self._thread is not None:
            self._thread.join(timeout=ENDS_S)
        self.gated.close_all()
        self.gated.task_dispatcher.shutdown(timeout=ENDS_S)  # some wrote to phones that do not read


def _secure_door(server: channels.GatedServer, tls: ssl.SSLContext) -> TlsListener:
    """What unwraps the connections of a server."""
    from web.security.tls import TlsListener  # noqa: PLC0415 - brings an event loop that only those with a certificate need

    def hand_over(*connection: Any) -> None:
        server.pull_trigger(lambda: server.open_channel(*connection))

    return TlsListener(tls, hand_over, server.gate.leave)


def serve(
    app: Flask,
    host: str,
    port: int,
    viewers: int,
    tls: ssl.SSLContext | None = None,
    *,
    proxies: tuple[str, ...] = (),
) -> Server:
    """The application on a port (0: any free one), not yet started; raises `PortInUse`.

    With `tls` it is secured. `proxies` are the addresses of those that may stand in front.
    """
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, dualstack_ipv6=host == "::")
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise PortInUse(say("Port {port} is in use: choose another one with --port", port=port)) from None
        raise PortInUse(
            say("Cannot listen on {host}, port {port}: {error}", host=host, port=port, error=str(error))
        ) from None
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; connections inherit these from the listener
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_PHONE_MS)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    connections = viewers + sum(KEPT.values()) + SPARE_CONNECTIONS
    _allow_files(connections * (12 if tls else 4) + SPARE_FILES)
    return Server(app, listener, connections, tls, proxies)


def _allow_files(number: int) -> None:
    """Let this process hold so many open files, as far as the system permits that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
