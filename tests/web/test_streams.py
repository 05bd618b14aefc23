"""Streams and their writers: one thread writes them all, and nobody waits for a viewer who does not read."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from service import until
from web_fixtures import open_place

from web.server import sse
from web.server.connections import Channel, StreamLine
from web.server.sse import serve
from web.server.stream_writer import MOST_AT_ONCE, Idle, Messages, Writer

VIEWERS = 30


class FakeLine:
    """A connection that keeps what is written."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.is_open, self.is_full = True, False
        self.over = threading.Event()

    def write(self, text: str) -> None:
        self.told.append(text)

    def end(self) -> None:
        self.over.set()


class Table:
    """Something that changes."""

    version = 0


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def writer(table: Table) -> Iterator[Writer]:
    opened = Writer("test", lambda: table.version)
    yield opened
    opened.close()


def versions(table: Table) -> Messages:
    """What follows the table: its version, whenever that changes."""
    while True:
        shown = table.version
        yield str(shown)
        yield Idle(60.0, since=shown)


def nothing() -> None:
    """What is to be done at the end of a stream that holds nothing."""


def change(table: Table, writer: Writer) -> None:
    table.version += 1
    writer.wake()


def test_thirty_viewers_take_no_thread_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "THREADS", 2)
    before = threading.active_count()
    with open_place(tmp_path, viewers=VIEWERS) as place, serve(place.app, "127.0.0.1", 0, VIEWERS) as server:
        server.start()
        lines = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=20) for _ in range(VIEWERS)]
        answers = []
        for line in lines:
            line.request("GET", "/live/watch")
            answers.append(line.getresponse())
        until("all of them", lambda: server.streams_open == VIEWERS)
        own = {"the server's own", "two that answer", "one that writes"}
        assert threading.active_count() - before <= len(own) + 1
        place.sit("south", "Mara")
        for answer in answers:
            while b"North: take your seat" not in answer.readline():
                pass
        for line, answer in zip(lines, answers, strict=True):
            answer.close()
            line.close()
        until("their end", lambda: server.streams_open == 0)


def test_a_change_is_written_to_all_those_of_seats_first(writer: Writer, table: Table) -> None:
    told: list[str] = []
    lines = [FakeLine() for _ in range(3)]
    for line, name, rank in zip(lines, ("spectator", "seat", "table"), (2, 0, 1), strict=True):
        line.write = lambda text, name=name: told.append(f"{name} {text}")  # type: ignore[method-assign]
        writer.take(line, versions(table), nothing, rank, Idle(60.0, since=0))
    change(table, writer)
    until("all three", lambda: len(told) == 3)
    assert told == ["seat 1", "table 1", "spectator 1"]


def test_who_does_not_read_misses_what_comes_meanwhile_and_delays_nobody(writer: Writer, table: Table) -> None:
    sleeper, reader = FakeLine(), FakeLine()
    sleeper.is_full = True
    for line in (sleeper, reader):
        writer.take(line, versions(table), nothing, 0, Idle(60.0, since=0))
    for number in (1, 2, 3):
        change(table, writer)
        until("the reader", lambda number=number: reader.told[-1:] == [str(number)])
    assert sleeper.told == []
    sleeper.is_full = False
    until("the newest", lambda: sleeper.told == ["3"])


def test_a_stream_that_fails_ends_alone(writer: Writer, table: Table, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Messages:
        yield "begun"
        raise ValueError("cannot be drawn")

    bad, good, over = FakeLine(), FakeLine(), []
    writer.take(bad, broken(), lambda: over.append("bad"), 0, Idle(0.0))
    writer.take(good, versions(table), lambda: over.append("good"), 1, Idle(60.0, since=0))
    assert bad.over.wait(10)
    change(table, writer)
    until("the other", lambda: good.told == ["1"])
    assert (bad.told, over) == (["begun"], ["bad"])
    assert "cannot be drawn" in caplog.text


def test_an_endless_stream_leaves_turns_to_the_others(writer: Writer, table: Table) -> None:
    def endless() -> Messages:
        while True:
            yield "x"

    greedy, other = FakeLine(), FakeLine()
    greedy.write = lambda text: greedy.told.append(text) if len(greedy.told) < 10 * MOST_AT_ONCE else None  # type: ignore[method-assign]
    writer.take(greedy, endless(), nothing, 0, Idle(0.0))
    writer.take(other, versions(table), nothing, 1, Idle(60.0, since=0))
    change(table, writer)
    until("the other", lambda: other.told == ["1"])


def test_gone_viewers_and_the_end_give_everything_back(table: Table) -> None:
    writer, over = Writer("test", lambda: table.version), []
    lines = [FakeLine() for _ in range(3)]
    for number, line in enumerate(lines):
        writer.take(line, versions(table), lambda number=number: over.append(number), 0, Idle(60.0, since=0))
    lines[1].is_open = False
    change(table, writer)
    assert lines[1].over.wait(10)
    until("the others", lambda: lines[0].told == lines[2].told == ["1"])
    assert over == [1]
    writer.close()
    writer.close()
    assert sorted(over) == [0, 1, 2]
    late = FakeLine()
    writer.take(late, versions(table), lambda: over.append("late"), 0, Idle(0.0))
    assert late.over.is_set()
    assert over[-1] == "late"


def test_the_servers_thread_leaves_a_connection_alone_that_is_being_written() -> None:
    """It cannot have its lock then, and would ask for it in a circle; what is left over it is told of afterwards."""
    channel = Channel.__new__(Channel)
    seen, woken, sends = list[bool](), list[int](), [5, 2]
    vars(channel).update(total_outbufs_len=0, will_close=False, close_when_flushed=False)
    vars(channel).update(server=SimpleNamespace(pull_trigger=lambda: woken.append(channel.total_outbufs_len)))

    def write(data: bytes) -> None:
        channel.total_outbufs_len = len(data)
        seen.append(channel.writable())
        channel.total_outbufs_len -= sends.pop(0)

    line = StreamLine(SimpleNamespace(channel=channel, write=write))  # type: ignore[arg-type]
    for left in (0, 3):
        line.write("words")
        assert (seen.pop(), channel.writable(), woken) == (False, left > 0, [left] if left else [])
