"""Pages that follow the table: server-sent events, and the web server that carries them.

A page opens one stream. It gets the whole fragment at once, then after every change of the table; a viewer who is too
slow for every change gets the newest. Streams hold a thread each, so they are counted; some places are kept for seats
and table screens, so that spectators never take them.
"""

from __future__ import annotations

import errno
import logging
import resource
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from flask import Flask, Response
from waitress import create_server
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import WSGITask
from waitress.wasyncore import close_all

from companion.errors import CompanionError, SystemTrouble
from companion.languages import say, speaking, spoken
from companion.table import Table

LOOK_S = 0.5
"""How often a stream asks whether its viewer is still there."""
PING_LOOKS = 20
DEAD_PHONE_MS = 20_000
SPARE_THREADS = 16
SPARE_FILES = 128
"""For everything that is no connection: the journal, cameras, pins."""
UNREAD_BYTES = 256 * 1024
"""So much is kept for a viewer that does not read; then its thread waits, and misses what comes meanwhile."""
RETRY_MS = 1000
PING = "event: here\ndata: .\n\n"
"""Says that the service is there; a page that hears nothing for long asks anew."""
ARRIVED = "companion.at_s"
"""Where a request's environment says when it came in, by the table's clock."""


class PortInUse(SystemTrouble):
    """The pages cannot be served under this address."""

    kind = "port"


class TooManyViewers(CompanionError, RuntimeError):
    """All streams are taken."""

    kind = "too_many_viewers"


class Place(Enum):
    """Whom a stream is for."""

    SPECTATOR = "spectator"
    TABLE = "table"
    """Table screens: anybody may open one, so these have places of their own."""
    SEAT = "seat"
    """Seats and the host, who have shown who they are."""


KEPT = {Place.TABLE: 4, Place.SEAT: 12}
"""Places that spectators do not get; when they are taken, their kind takes those of spectators."""


class Streams:
    """The open streams of one application; `close` ends them all and may be called twice."""

    def __init__(self, table: Table, viewers: int) -> None:
        self._table = table
        self._left = {Place.SPECTATOR: viewers, **KEPT}
        self._lock = threading.Lock()
        self.viewers = viewers
        self.closing = threading.Event()

    @property
    def has_room(self) -> bool:
        """Is there a place for one more spectator?"""
        return self._left[Place.SPECTATOR] > 0

    def close(self) -> None:
        """Let every stream end within half a second."""
        self.closing.set()

    def follow(
        self,
        environ: Mapping[str, Any],
        render: Callable[[], str],
        place: Place = Place.SPECTATOR,
        when_over: Callable[[], None] = lambda: None,
    ) -> Response:
        """A stream of fragments, one after every change of the table; raises `TooManyViewers`."""
        return self.hold(environ, lambda is_gone: self._fragments(render, is_gone), place, when_over)

    def hold(
        self,
        environ: Mapping[str, Any],
        messages: Callable[[Callable[[], bool]], Iterator[str]],
        place: Place = Place.SPECTATOR,
        when_over: Callable[[], None] = lambda: None,
    ) -> Response:
        """A stream of ready messages in the language spoken now.

        `messages` is given a question that is true once nobody listens any more; `when_over` is called at the end.
        """
        taken = None if self.closing.is_set() else self._take(place)
        if taken is None:
            when_over()
            raise TooManyViewers(say("Too many people are watching: close a page, or try again in a minute"))

        def release() -> None:
            with self._lock:
                self._left[taken] += 1
            when_over()

        has_left: Callable[[], bool] = environ.get("waitress.client_disconnected", lambda: False)
        stream = Response(
            _Held(_spoken_on(messages(lambda: self.closing.is_set() or has_left())), release),
            mimetype="text/event-stream",
        )
        stream.headers["Cache-Control"] = "no-store"
        stream.headers["X-Accel-Buffering"] = "no"
        return stream

    def _take(self, place: Place) -> Place | None:
        """A place of this kind, else a spectator's; None: all are taken."""
        with self._lock:
            found = next((each for each in (place, Place.SPECTATOR) if self._left[each]), None)
            if found:
                self._left[found] -= 1
        return found

    def _fragments(self, render: Callable[[], str], is_gone: Callable[[], bool]) -> Iterator[str]:
        shown, looks = -1, 0
        yield f"retry: {RETRY_MS}\n\n"
        while not is_gone():
            version = self._table.version
            if version != shown:
                yield message(render())
                shown, looks = version, 0
            elif looks >= PING_LOOKS:
                yield PING
                looks = 0
            looks += 1
            self._table.wait(shown, LOOK_S)


def _spoken_on(messages: Iterator[str]) -> Iterator[str]:
    """The same messages, all made in the language that is spoken now, whichever thread asks for them."""
    language = spoken()

    def told() -> Iterator[str]:
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


class _Held:
    """An iterable that gives its place back exactly once, even when nobody ever asked it for anything."""

    def __init__(self, messages: Iterator[str], release: Callable[[], None]) -> None:
        self._messages = messages
        self._release = release
        self._lock = threading.Lock()
        self._is_open = True

    def __iter__(self) -> Iterator[str]:
        return self._messages

    def close(self) -> None:
        """End the stream; called by the web server, also when the viewer is gone."""
        with self._lock:
            was_open, self._is_open = self._is_open, False
        if was_open:
            self._release()
            if hasattr(self._messages, "close"):
                self._messages.close()


@lru_cache(maxsize=16)
def message(text: str, event: str = "") -> str:
    """One server-sent event; every line of `text` becomes a data line. Many viewers get the same text."""
    head = f"event: {event}\n" if event else ""
    body = "\n".join(f"data: {line}" for line in text.splitlines() if line.strip())
    return f"{head}{body}\n\n"


class _Arrival(HTTPRequestParser):  # type: ignore[misc]  # waitress comes without types
    """A request that knows when its first bytes came in."""

    at_s = 0.0


class _StampedTask(WSGITask):  # type: ignore[misc]  # waitress comes without types
    """Tells the application when its request came in: it may have waited for a free thread since."""

    def get_environment(self) -> dict[str, Any]:
        environ: dict[str, Any] = super().get_environment()
        environ[ARRIVED] = self.request.at_s
        return environ


class Server:
    """The pages on a port; `close` may be called twice."""

    def __init__(self, app: Flask, listener: socket.socket, threads: int) -> None:
        self._app = app
        self._sockets: dict[int, Any] = {}
        self._server = create_server(
            app,
            map=self._sockets,
            sockets=[listener],
            threads=threads,
            channel_request_lookahead=1,
            connection_limit=threads * 4,
            asyncore_use_poll=True,
            outbuf_high_watermark=UNREAD_BYTES,
            ident=None,
        )
        self._server.channel_class = _channel_of(app.extensions["now_s"])
        self.port: int = listener.getsockname()[1]
        self._thread: threading.Thread | None = None
        self._is_open = True

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(target=self._server.run, name="web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End all streams, answer what is being answered, and free the port."""
        if not self._is_open:
            return
        self._is_open = False
        self._app.extensions["streams"].close()
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=5)
        if self._thread is None:
            close_all(self._sockets)
            return
        self._server.trigger.pull_trigger(lambda: close_all(self._sockets))
        self._thread.join(timeout=5)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _channel_of(now_s: Callable[[], float]) -> type[HTTPChannel]:
    """Connections that stamp each request as soon as the server's own thread hears of it."""

    def arrive(settings: Any) -> _Arrival:
        request = _Arrival(settings)
        request.at_s = now_s()
        return request

    class Stamped(HTTPChannel):  # type: ignore[misc]  # waitress comes without types
        task_class = _StampedTask
        parser_class = staticmethod(arrive)

    return Stamped


def serve(app: Flask, host: str, port: int, viewers: int) -> Server:
    """The application on a port (0: any free one), not yet started; raises `PortInUse`."""
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise PortInUse(say("Port {port} is in use: choose another one with --port", port=port)) from None
        raise PortInUse(
            say("Cannot listen on {host}, port {port}: {error}", host=host, port=port, error=str(error))
        ) from None
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux; connections inherit it from the listener
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_PHONE_MS)
    threads = viewers + sum(KEPT.values()) + SPARE_THREADS
    _allow_files(threads * 4 + SPARE_FILES)
    return Server(app, listener, threads)


def _allow_files(number: int) -> None:
    """Let this process hold so many open files, as far as the system permits that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
