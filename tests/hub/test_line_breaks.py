"""Lines to NATS that break, begin anew or end between two steps, each moment held on purpose."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hub_tools import until
from nats.aio.client import Client
from nats.errors import ConnectionClosedError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.errors import NotFoundError

from companion.core.clock import FakeClock
from companion.hub.loop_thread import LoopThread, hang_up
from companion.hub.membership import Membership
from companion.hub.pair_line import PairLine
from companion.hub.sender import HubLine
from companion.hub_server.nats_server import NatsServer
from companion.hub_server.store import HubStore
from companion.storage.journal import Journal

WAIT_S = 60.0


class Nats:
    """As much of NATS' client, and of its streams, as both ends use; `on_subscribe` is called with each subject."""

    def __init__(self, on_subscribe: Callable[[Nats], None]) -> None:
        self._on_subscribe = on_subscribe
        self.is_connected = self.is_closed = False
        self.callbacks: dict[str, Any] = {}

    async def connect(self, *_: Any, **callbacks: Any) -> None:
        self.is_connected, self.callbacks = True, callbacks

    async def subscribe(self, *_: Any, **__: Any) -> None:
        self._on_subscribe(self)
        if self.is_closed:
            raise ConnectionClosedError

    async def publish(self, *_: Any, **__: Any) -> None: ...

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
        self._broken = broken

    def __call__(self) -> Nats:
        self.made.append(Nats(self._subscribed))
        return self.made[-1]

    def _subscribed(self, line: Nats) -> None:
        if len(self.made) <= self._broken:
            line.is_connected, line.is_closed = False, True


@contextmanager
def store_on(lines: Lines, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubStore]:
    nobody = SimpleNamespace(
        on_round=lambda: None,
        members=SimpleNamespace(ids=tuple, shut_out=lambda _: None),
        league=SimpleNamespace(results=SimpleNamespace(sequence=0, keep=lambda: None)),
        room=SimpleNamespace(is_in_trouble=lambda _: None),
    )
    monkeypatch.setattr("companion.hub_server.store.SteadyClient", lines)
    server = SimpleNamespace(
        url="nats://x", start=lambda: None, check=lambda: True, close=lambda: None
    )
    store = HubStore(folder, cast(NatsServer, server), "", 64)
    with closing(store):
        store.start(cast(Any, nobody))
        yield store


def test_a_hubs_line_that_closes_while_it_subscribes_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines(broken=2)
    with store_on(lines, tmp_path, monkeypatch):
        assert len(lines.made) == 3


def test_a_fault_in_what_was_heard_is_in_the_log_without_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lines = Lines()
    with store_on(lines, tmp_path, monkeypatch):
        for error in (ConnectionClosedError(), OSError("gone"), ValueError("an order")):
            asyncio.run(lines.made[0].callbacks["error_cb"](error))
    assert caplog.text.count("could not be dealt with") == 1
    assert "ValueError" in caplog.text
    assert "an order" not in caplog.text


# ---- a table's end ----


class Pairs:
    """A table of no game at two tables; the first answer about them comes too late."""

    pause_s = 10.0
    exchanges = 0

    async def exchange(self, *_: Any) -> None:
        self.exchanges += 1
        if self.exchanges == 1:
            raise NatsTimeout

    async def look(self, _: Any) -> None: ...

    claim = look

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
        line.start()
        try:
            yield line
        finally:
            line.close()


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
    monkeypatch.setattr("companion.hub.sender.KEEPS_AGAIN_S", 0.05)
    slow = Pairs()
    with line_on(Lines(), slow, tmp_path, monkeypatch) as line:
        until("it is asked again", lambda: slow.exchanges > 1 and not line.trouble, WAIT_S)


# ---- the end of a loop ----


def test_hanging_up_goes_on_where_its_task_is_cancelled() -> None:
    """A connection that is not closed is found by its destructor, of which pytest makes an error."""

    class SlowClient:
        is_closed = False

        def __init__(self, writer: asyncio.StreamWriter) -> None:
            self.writer = writer

        async def close(self) -> None:
            over.set()
            await asyncio.sleep(0.1)
            self.writer.close()
            self.is_closed = True

    kept, over = [], threading.Event()

    async def work() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        kept.append(SlowClient(writer))
        await hang_up(cast(Client, kept[0]))

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        thread = LoopThread("test", work)
        thread.start()
        assert over.wait(WAIT_S)
        thread.close(0)
        gc.collect()
    assert kept.pop().is_closed
