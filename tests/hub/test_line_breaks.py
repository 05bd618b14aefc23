"""What ends or breaks in the line's loop leaves no connection open, and nothing of it in the log."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from typing import cast

import pytest
from nats.aio.client import Client
from nats.errors import ConnectionClosedError

from companion.hub.loop_thread import LoopThread, hang_up, note_fault


def test_a_fault_is_in_the_log_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    for error in (ConnectionClosedError(), OSError("gone"), ValueError("an order")):
        asyncio.run(note_fault(error))
    assert caplog.text.count("could not be dealt with") == 1
    assert "ValueError" in caplog.text
    assert "an order" not in caplog.text


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
        assert over.wait(60)
        thread.close(0)
        gc.collect()
    assert kept.pop().is_closed
