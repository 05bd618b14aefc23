"""One thread that writes many streams: it asks each for its messages when they are due and never waits for a reader.

They may follow several tables: a change of one table is looked for in its own streams alone.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

log = logging.getLogger(__name__)
FULL_AGAIN_S = 0.1
"""How soon a stream is looked at again whose viewer has not read enough."""
MOST_AT_ONCE = 8
"""So many messages a stream writes at most before the others have their turn."""


@dataclass(frozen=True)
class Idle:
    """A stream has nothing to say for so many seconds; with `since`, until the table is no longer at this version."""

    seconds: float
    since: int | None = None


Messages = Iterator["str | Idle"]


class StreamConnection(Protocol):
    """The connection on which a stream is written."""

    @property
    def is_open(self) -> bool:
        """Is the viewer still there?"""

    @property
    def is_full(self) -> bool:
        """Has the viewer so much to read that nothing more is written?"""

    def write(self, text: str) -> None:
        """Send a message without waiting for the viewer; one who is gone gets nothing."""

    def end(self) -> None:
        """Say that nothing more comes, and hang up once everything is read."""


class Versioned(Protocol):
    """What streams follow, such as a table."""

    @property
    def version(self) -> int:
        """Another one after every change."""


@dataclass(eq=False)
class Stream:
    """A stream from now on: it rests for `pause` first; among those of a table the lowest rank comes first.

    `when_over` is called at its end.
    """

    line: StreamConnection
    messages: Messages
    when_over: Callable[[], None]
    table: Versioned
    rank: int = 0
    pause: Idle = Idle(0.0)
    due_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.rest(self.pause)

    def rest(self, pause: Idle) -> None:
        """Ask for nothing before this pause is over."""
        self.pause, self.due_s = pause, time.monotonic() + pause.seconds


class Writer:
    """The thread and its streams; it begins with the first one. `close` ends them all and may be called twice."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._streams: dict[Versioned, list[Stream]] = {}
        self._news: dict[Versioned, None] = {}
        """Tables that have changed, in the order in which they did."""
        self._due_s = math.inf
        """Before this none is due, unless its table changes."""
        self._woken = threading.Condition()
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def take(self, stream: Stream) -> None:
        """Write it from now on."""
        with self._woken:
            if not self._is_closed:
                streams = self._streams.setdefault(stream.table, [])
                streams.append(stream)
                streams.sort(key=lambda each: each.rank)
                self._due_s = min(self._due_s, stream.due_s)
                self._news[stream.table] = None
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()
                self._woken.notify()
                return
        self._end(stream)

    def wake(self, table: Versioned) -> None:
        """It has changed: look at its streams; from any thread."""
        with self._woken:
            if table in self._streams:
                self._news[table] = None
                self._woken.notify()

    def close(self) -> None:
        """End every stream, and the thread."""
        with self._woken:
            self._is_closed = True
            self._woken.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._woken:
                self._woken.wait_for(lambda: self._news or self._is_closed, self._rest_s())
                is_closed, has_due = self._is_closed, time.monotonic() >= self._due_s
                tables = list(self._streams) if is_closed or has_due else list(self._news)
                streams = [stream for table in tables for stream in self._streams.get(table, ())]
                self._news = {}
                if has_due:
                    self._due_s = math.inf
            over = [stream for stream in streams if is_closed or not self._goes_on(stream)]
            for stream in over:
                self._end(stream)
            with self._woken:
                for stream in over:
                    self._forget(stream)
                self._due_s = min([self._due_s, *(stream.due_s for stream in streams)])
                if is_closed and not self._streams:
                    return

    def _rest_s(self) -> float | None:
        return None if self._due_s == math.inf else max(0.0, self._due_s - time.monotonic())

    def _forget(self, stream: Stream) -> None:
        left = self._streams[stream.table]
        left.remove(stream)
        if not left:
            del self._streams[stream.table]

    def _goes_on(self, stream: Stream) -> bool:
        """Write what a stream has to say now; answers whether there is more to come."""
        pause, now_s = stream.pause, time.monotonic()
        if now_s < stream.due_s and (pause.since is None or pause.since == stream.table.version):
            return True
        try:
            return self._write(stream)
        except Exception:
            log.exception("A stream ended: it could not be drawn")
            return False

    @staticmethod
    def _write(stream: Stream) -> bool:
        for _ in range(MOST_AT_ONCE):
            if not stream.line.is_open:
                return False
            if stream.line.is_full:
                stream.rest(Idle(FULL_AGAIN_S))
                return True
            news = next(stream.messages, None)
            if news is None:
                return False
            if isinstance(news, Idle):
                stream.rest(news)
                return True
            stream.line.write(news)
        stream.rest(Idle(0.0))
        return True

    @staticmethod
    def _end(stream: Stream) -> None:
        for act in (stream.line.end, stream.when_over):
            try:
                act()
            except Exception:
                log.exception("A stream did not end as it should")
