"""One thread that writes many streams: it asks each for its messages when they are due and never waits for a reader."""

from __future__ import annotations

import logging
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


@dataclass(eq=False)
class _Stream:
    line: StreamConnection
    messages: Messages
    when_over: Callable[[], None]
    rank: int
    pause: Idle
    due_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.rest(self.pause)

    def rest(self, pause: Idle) -> None:
        """Ask for nothing before this pause is over."""
        self.pause, self.due_s = pause, time.monotonic() + pause.seconds


class Writer:
    """The thread and its streams; it begins with the first one. `close` ends them all and may be called twice.

    `version` says what the table is at; `wake` is to be called when that has changed.
    """

    def __init__(self, name: str, version: Callable[[], int]) -> None:
        self._name = name
        self._version = version
        self._streams: list[_Stream] = []
        self._woken = threading.Condition()
        self._has_news = False
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def take(
        self, line: StreamConnection, messages: Messages, when_over: Callable[[], None], rank: int, pause: Idle
    ) -> None:
        """Write a stream from now on, after this pause; those of the lowest rank come first, `when_over` at its end."""
        stream = _Stream(line, messages, when_over, rank, pause)
        with self._woken:
            if not self._is_closed:
                self._streams.append(stream)
                self._streams.sort(key=lambda each: each.rank)
                self._has_news = True
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()
                self._woken.notify()
                return
        self._end(stream)

    def wake(self) -> None:
        """Something has changed: look at every stream; from any thread."""
        with self._woken:
            self._has_news = True
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
                due_s = min((stream.due_s for stream in self._streams), default=None)
                self._woken.wait_for(
                    lambda: self._has_news or self._is_closed,
                    None if due_s is None else max(0.0, due_s - time.monotonic()),
                )
                self._has_news = False
                streams, is_closed = list(self._streams), self._is_closed
            over = [stream for stream in streams if is_closed or not self._goes_on(stream)]
            for stream in over:
                self._end(stream)
            with self._woken:
                self._streams = [stream for stream in self._streams if stream not in over]
                if is_closed and not self._streams:
                    return

    def _goes_on(self, stream: _Stream) -> bool:
        """Write what a stream has to say now; answers whether there is more to come."""
        pause, now_s = stream.pause, time.monotonic()
        if now_s < stream.due_s and (pause.since is None or pause.since == self._version()):
            return True
        try:
            return self._write(stream)
        except Exception:
            log.exception("A stream ended: it could not be drawn")
            return False

    @staticmethod
    def _write(stream: _Stream) -> bool:
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
    def _end(stream: _Stream) -> None:
        for act in (stream.line.end, stream.when_over):
            try:
                act()
            except Exception:
                log.exception("A stream did not end as it should")
