"""Lines to NATS that break, begin anew or end between two steps, each moment held on purpose."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hub_tools import until
from inside import journal_of, session_of
from nats.aio.client import Client
from nats.errors import ConnectionClosedError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError
from table_tools import playing

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.hub.loop_thread import LoopThread
from companion.hub.membership import Membership
from companion.hub.pair_line import PairLine
from companion.hub.pairing import Pair, PairAnswer
from companion.hub.sender import HubLine
from companion.hub.subjects import news_subject
from companion.hub_server.nats_server import NatsServer
from companion.hub_server.store import HubStore
from companion.storage.journal import Journal
from companion.table.session import Phase
from companion.table.table import Table

WAIT_S = 60.0


class Nats:
    """As much of NATS' client, and of its streams, as both ends use; `on_subscribe` is called with each subject."""

    def __init__(self, on_subscribe: Callable[[Nats], None]) -> None:
        self._on_subscribe = on_subscribe
        self.is_connected = self.is_closed = False
        self.published: list[str] = []
        self.heard: set[str] = set()
        self.answers: list[bytes] = []
        self.callbacks: dict[str, Any] = {}

    async def connect(self, *_: Any, **callbacks: Any) -> None:
        self.is_connected, self.callbacks = True, callbacks

    async def subscribe(self, subject: str, **_: Any) -> Any:
        self._on_subscribe(self)
        if self.is_closed:
            raise ConnectionClosedError
        self.heard.add(subject)

        async def unsubscribe() -> None:
            self.heard.remove(subject)

        return SimpleNamespace(unsubscribe=unsubscribe)

    async def publish(self, subject: str, *_: Any, **__: Any) -> None:
        self.published.append(subject)

    async def flush(self, *_: Any) -> None:
        pass

    async def request(self, *_: Any, **__: Any) -> Any:
        return SimpleNamespace(data=self.answers.pop(0))

    async def close(self) -> None:
        self.is_connected, self.is_closed = False, True

    def jetstream(self, **_: Any) -> Nats:
        return self

    async def get_msg(self, *_: Any, **__: Any) -> None:
        raise NotFoundError

    async def stream_info(self, _: str, **__: Any) -> Any:
        state = SimpleNamespace(last_seq=0, messages=0, bytes=0, subjects={})
        return SimpleNamespace(state=state, config=SimpleNamespace(as_dict=dict))

    async def update_stream(self, _: Any) -> None:
        """It is as it was."""


class Lines:
    """The lines that were made, the newest last; the first `broken` ones are closed while somebody subscribes."""

    def __init__(self, broken: int = 0) -> None:
        self.made: list[Nats] = []
        self.may_subscribe = threading.Event()
        self.may_subscribe.set()
        self._broken = broken

    def __call__(self) -> Nats:
        self.made.append(Nats(self._subscribed))
        return self.made[-1]

    def _subscribed(self, line: Nats) -> None:
        assert self.may_subscribe.wait(WAIT_S)
        if len(self.made) <= self._broken:
            line.is_connected, line.is_closed = False, True


class Room:
    """Who is told what tables say: nobody; `on_round` does what a test wants, in the line's thread."""

    def __init__(self) -> None:
        self.on_round: Callable[[], None] = lambda: None
        self.members = SimpleNamespace(ids=tuple, shut_out=lambda _: None)
        self.league = SimpleNamespace(results=SimpleNamespace(sequence=0, keep=lambda: None))
        self.room = SimpleNamespace(is_in_trouble=lambda _: None)


@contextmanager
def store_on(
    lines: Lines, room: Room, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HubStore]:
    monkeypatch.setattr("companion.hub_server.store.SteadyClient", lines)
    server = SimpleNamespace(
        url="nats://x", start=lambda: None, check=lambda: True, close=lambda: None
    )
    store = HubStore(folder, cast(NatsServer, server), "", 64)
    begun = threading.Thread(target=store.start, args=(room,))
    begun.start()
    try:
        yield store
    finally:
        lines.may_subscribe.set()
        begun.join()
        store.close()


def test_a_hubs_line_that_closes_while_it_subscribes_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, room = Lines(broken=2), Room()
    with store_on(lines, room, tmp_path, monkeypatch) as store:
        until("a line is heard", store.is_ready.is_set, WAIT_S)
        assert len(lines.made) == 3


def test_a_fault_in_what_was_heard_is_in_the_log_without_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lines = Lines()
    with store_on(lines, Room(), tmp_path, monkeypatch) as store:
        until("the line is heard", store.is_ready.is_set, WAIT_S)
        for error in (ConnectionClosedError(), OSError("gone"), ValueError("an order")):
            asyncio.run(lines.made[0].callbacks["error_cb"](error))
    told = [
        each.getMessage()
        for each in caplog.records
        if "could not be dealt with" in each.getMessage()
    ]
    assert len(told) == 1
    assert "ValueError" in told[0]
    assert "an order" not in caplog.text


# ---- a table's end ----


class Pairs:
    """A table of no game at two tables; its line is called to one while it asks for one the first time."""

    pause_s = 10.0
    line: HubLine
    looks = 0

    async def look(self, _: Any) -> None:
        self.looks += 1
        if self.looks == 1:
            self.line.look_for_pair()

    async def exchange(self, *_: Any) -> None:
        """There is nothing to tell."""

    async def claim(self, _: Any) -> None: ...

    def connected(self, *_: Any) -> None: ...

    broken = close = connected


@contextmanager
def line_on(
    lines: Lines, pairs: Pairs, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HubLine]:
    monkeypatch.setattr("companion.hub.sender.SteadyClient", lines)
    with Journal(folder / "journal.sqlite") as journal:
        member = Membership("http://hub", "a-table", 1, "Our club", ("nats://x",), "")
        line = HubLine(
            member,
            journal,
            FakeClock(),
            cast(PairLine, pairs),
            state=lambda: b"{}",
            command=lambda _: None,
            connected=lambda _: None,
        )
        pairs.line = line
        line.start()
        try:
            yield line
        finally:
            line.close()
            line.close()


def test_a_table_that_is_called_to_a_game_while_it_asks_for_one_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = Pairs()
    with line_on(Lines(), pairs, tmp_path, monkeypatch):
        until("it asks again", lambda: pairs.looks > 1, WAIT_S)


def test_a_tables_line_that_closes_while_it_subscribes_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines(broken=2)
    with line_on(lines, Pairs(), tmp_path, monkeypatch) as line:
        until("the hub hears us", lambda: line.is_connected, WAIT_S)
        assert len(lines.made) == 3
        lines.made[-1].is_connected = False
        asyncio.run(lines.made[-1].callbacks["closed_cb"]())
        until("it is made once more", lambda: len(lines.made) == 4 and line.is_connected, WAIT_S)
    assert not line.is_connected


def test_a_hub_that_answered_too_late_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Pairs):
        exchanges = 0

        async def exchange(self, *_: Any) -> None:
            self.exchanges += 1
            if self.exchanges == 1:
                raise NatsTimeout

    monkeypatch.setattr("companion.hub.sender.KEEPS_AGAIN_S", 0.05)
    slow = Slow()
    with line_on(Lines(), slow, tmp_path, monkeypatch) as line:
        until("it is asked again", lambda: slow.exchanges > 1 and not line.trouble, WAIT_S)


def test_a_line_that_is_cut_while_an_answer_is_waited_for_is_no_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cut(Pairs):
        async def exchange(self, *_: Any) -> None:
            await lines.made[-1].callbacks["closed_cb"]()
            raise NatsTimeout

    lines = Lines()
    with line_on(lines, Cut(), tmp_path, monkeypatch) as line:
        until("it is said", lambda: line.trouble, WAIT_S)
        assert (
            line.trouble == "The connection to the hub was lost. What is played here is sent later."
        )


def act(table: Table) -> None:
    """Hands follow, or whoever is due acts."""
    session = session_of(table)
    if session.phase in (Phase.SETUP, Phase.STAGES):
        table.confirm("host", session.moment, session.stage, force=True)
        return
    (seat,) = session.awaited
    action = session.playing.random_action(session.state, seat, Random(session.tick))
    table.hand_in(seat, session.moment, session.playing.format(action))


def test_a_table_hears_of_no_game_but_the_one_that_was_agreed_on_last(tmp_path: Path) -> None:
    own, other, nats = "0" * 16, "1" * 16, Nats(lambda _: None)
    games = ["a" * 16, "b" * 16]
    pairs = [Pair(each, "scouts", {}, 1, {Seat.SOUTH: own, Seat.NORTH: other}) for each in games]
    nats.answers = [msgspec.json.encode(PairAnswer(each)) for each in pairs]

    async def agree_twice(line: PairLine) -> None:
        line.connected()
        for game in games:
            await line.look(cast(Client, nats))
            await line.exchange(cast(Client, nats), cast(JetStreamContext, nats))
            assert nats.heard == {news_subject(own, game, "*")}

    with playing(tmp_path) as played:
        asyncio.run(
            agree_twice(
                PairLine(played.table, journal_of(played.table), played.clock, own, lambda: None)
            )
        )


# ---- the end of a loop ----


def test_what_a_task_begins_while_it_is_cancelled_ends_too() -> None:
    begun: list[asyncio.Task[None]] = []

    async def sleeps() -> None:
        await asyncio.sleep(WAIT_S)

    async def begins_another() -> None:
        try:
            await sleeps()
        finally:
            begun.append(asyncio.create_task(sleeps()))

    async def work() -> None:
        begun.append(asyncio.create_task(begins_another()))
        await asyncio.sleep(0)

    thread = LoopThread("test", work)
    thread.start()
    thread.close(WAIT_S)
    assert [task.cancelled() for task in begun] == [True, True]


def test_what_is_called_after_the_end_is_not_done() -> None:
    async def work() -> None:
        """There is nothing to do."""

    thread, done = LoopThread("test", work), threading.Event()
    thread.call(done.set)
    thread.start()
    thread.close(WAIT_S)
    thread.call(done.set)
    thread.close(WAIT_S)
    assert not done.is_set()
