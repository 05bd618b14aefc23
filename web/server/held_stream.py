"""A stream that holds a place among the viewers, and its way from the thread that begins it to the one that goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from web.server.stream_writer import Idle, Messages, Stream, StreamConnection, Versioned, Writer

BEGINNING = 2
"""So many messages are written by the thread that answers the request: when to come back, and the whole fragment."""


class HeldStream:
    """A stream with its place, which it gives back exactly once, even when nobody ever asked it for anything.

    The web server's own connections take it over after its beginning; any other WSGI server asks for the whole.
    """

    def __init__(
        self,
        messages: Messages,
        release: Callable[[], None],
        table: Versioned,
        rank: int,
        rest: Callable[[Idle], None],
    ) -> None:
        self._messages = messages
        self._release = release
        self._table = table
        self._rank = rank
        self._rest = rest
        self._pause = Idle(0.0)
        self._lock = threading.Lock()
        self._is_open = True
        self.is_handed_over = False

    def beginning(self, hand_over: Callable[[], None]) -> Iterator[str]:
        """The first messages; then the rest is handed over."""
        for _ in range(BEGINNING):
            news = next(self._messages, None)
            if news is None:
                return
            if isinstance(news, Idle):
                self._pause = news
                break
            yield news
        self.is_handed_over = True
        hand_over()

    def whole(self) -> Iterator[str]:
        """Every message, in the thread that asks."""
        for news in self._messages:
            if isinstance(news, Idle):
                self._rest(news)
            else:
                yield news

    def go_on(self, writer: Writer, line: StreamConnection) -> None:
        """The rest is written there."""
        writer.take(Stream(line, self._messages, self.close, self._table, self._rank, self._pause))

    def close(self) -> None:
        """End the stream and give its place back."""
        with self._lock:
            was_open, self._is_open = self._is_open, False
        if was_open:
            self._release()
            if hasattr(self._messages, "close"):
                self._messages.close()


class StreamBody:
    """What the web server asks for the stream; once that is handed over, its end is not the stream's."""

    def __init__(self, messages: Iterator[str], held: HeldStream) -> None:
        self._messages = messages
        self._held = held

    def __iter__(self) -> Iterator[str]:
        return self._messages

    def close(self) -> None:
        """Called by the web server, also when the viewer is gone."""
        if not self._held.is_handed_over:
            self._held.close()
