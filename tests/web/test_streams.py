"""Streams and their writers: one thread writes them all, and nobody waits for a viewer who does not read."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from service import until
from web_fixtures import open_place

from web.server import sse
from web.server.connections import Channel, StreamLine
from web.server.sse import serve
from web.server.stream_writer import MOST_AT_ONCE, Idle, Messages, Stream, Writer

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
def writer() -> Iterator[Writer]:
    opened = Writer("test")
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
    writer.wake(table)


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
            while b"Mara" not in answer.readline():
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
        writer.take(Stream(line, versions(table), nothing, table, rank, Idle(60.0, since=0)))
    change(table, writer)
    until("all three", lambda: len(told) == 3)
    assert told == ["seat 1", "table 1", "spectator 1"]


def test_who_does_not_read_misses_what_comes_meanwhile_and_delays_nobody(writer: Writer, table: Table) -> None:
    sleeper, reader = FakeLine(), FakeLine()
    sleeper.is_full = True
    for line in (sleeper, reader):
        writer.take(Stream(line, versions(table), nothing, table, pause=Idle(60.0, since=0)))
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
    writer.take(Stream(bad, broken(), lambda: over.append("bad"), table))
    writer.take(Stream(good, versions(table), lambda: over.append("good"), table, 1, Idle(60.0, since=0)))
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
    writer.take(Stream(greedy, endless(), nothing, table))
    writer.take(Stream(other, versions(table), nothing, table, 1, Idle(60.0, since=0)))
    change(table, writer)
    until("the other", lambda: other.told == ["1"])


def test_gone_viewers_and_the_end_give_everything_back(table: Table) -> None:
    writer, over = Writer("test"), []
    lines = [FakeLine() for _ in range(3)]
    for number, line in enumerate(lines):
        is_over = partial(over.append, number)
        writer.take(Stream(line, versions(table), is_over, table, pause=Idle(60.0, since=0)))
    lines[1].is_open = False
    change(table, writer)
    assert lines[1].over.wait(10)
    until("the others", lambda: lines[0].told == lines[2].told == ["1"])
    assert over == [1]
    writer.close()
    writer.close()
    assert sorted(over) == [0, 1, 2]
    late = FakeLine()
    writer.take(Stream(late, versions(table), lambda: over.append("late"), table))
    assert late.over.is_set()
    assert over[-1] == "late"


def test_one_thread_writes_the_streams_of_many_tables_and_wakes_those_that_changed(writer: Writer) -> None:
    quiet, busy = Table(), Table()
    asked = list[str]()

    class Watched(FakeLine):
        @property
        def is_open(self) -> bool:  # type: ignore[override]
            asked.append(self.name)
            return True

        def __init__(self, name: str) -> None:
            self.name = name
            vars(self).update(told=[], is_full=False, over=threading.Event())

    lines = {table: Watched(name) for table, name in ((quiet, "quiet"), (busy, "busy"))}
    for table, line in lines.items():
        writer.take(Stream(line, versions(table), nothing, table, pause=Idle(60.0, since=0)))
    for number in (1, 2):
        change(busy, writer)
        until("the busy one", lambda number=number: lines[busy].told[-1:] == [str(number)])
    quiet.version += 1  # nobody says so yet
    change(busy, writer)
    until("the busy one", lambda: lines[busy].told == ["1", "2", "3"])
    assert set(asked) == {"busy"}
    writer.wake(quiet)
    until("the quiet one", lambda: lines[quiet].told == ["1"])


def test_what_a_viewer_takes_at_once_is_sent_without_being_kept_and_the_rest_follows() -> None:
    """The server's thread leaves a connection alone that is being written: it cannot have its lock then."""
    sent, woken, takes = list[bytes](), list[int](), [9, 4, 0]
    channel = Channel.__new__(Channel)

    def send(data: bytes, do_close: bool) -> int:
        assert not channel.writable()
        assert not do_close
        sent.append(data)
        return takes[len(sent) - 1]

    def keep(data: bytes) -> None:
        channel.total_outbufs_len += len(data)

    vars(channel).update(total_outbufs_len=0, connected=True, will_close=False, close_when_flushed=False)
    vars(channel).update(outbuf_lock=threading.RLock(), send=send, write_soon=keep)
    vars(channel).update(server=SimpleNamespace(pull_trigger=lambda: woken.append(channel.total_outbufs_len)))
    line = StreamLine(SimpleNamespace(channel=channel, chunked_response=True))  # type: ignore[arg-type]
    for wholly, left in ((True, 0), (False, 6), (False, 16)):
        line.write("word" if wholly else "words")
        assert (channel.writable(), woken[-1:]) == (left > 0, [left] if left else [])
    assert sent == [b"4\r\nword\r\n", b"5\r\nwords\r\n"]  # the third waits behind the second


def test_a_viewer_who_is_gone_is_hung_up_on() -> None:
    woken = list[bool]()
    channel = Channel.__new__(Channel)

    def send(_data: bytes, do_close: bool) -> int:
        raise OSError("no route to host")

    vars(channel).update(total_outbufs_len=0, connected=True, will_close=False, close_when_flushed=False)
    vars(channel).update(outbuf_lock=threading.RLock(), send=send)
    vars(channel).update(server=SimpleNamespace(pull_trigger=lambda: woken.append(channel.will_close)))
    line = StreamLine(SimpleNamespace(channel=channel, chunked_response=True))  # type: ignore[arg-type]
    line.write("word")
    assert (woken, line.is_open, channel.writable()) == ([True], False, True)
