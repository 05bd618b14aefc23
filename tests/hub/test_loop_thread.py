"""A loop that ends leaves no connection behind, whatever its task was doing."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, cast

import pytest
from nats.aio.client import Client

from companion.hub.loop_thread import LoopThread, hang_up


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def run(work: Callable[[], Coroutine[Any, Any, None]], over: threading.Event) -> None:
    """To be ended once it is `over`. What is not closed is found by its destructor, and pytest makes an error of that."""
    thread = LoopThread("test", work)
    thread.start()
    assert over.wait(60)
    thread.close(0)
    gc.collect()


def test_a_connection_that_another_task_is_closing_is_closed(port: int) -> None:
    async def close_later(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.close()

    kept, over = [], threading.Event()

    async def work() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        kept.append((writer, asyncio.create_task(close_later(writer))))
        over.set()

    run(work, over)
    assert kept.pop()[0].is_closing()


def test_hanging_up_goes_on_where_its_task_is_cancelled(port: int) -> None:
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

    run(work, over)
    assert kept.pop().is_closed
