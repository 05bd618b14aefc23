"""A thread with an event loop that runs one task, and connections to NATS in such a loop.

Tables and hubs use both.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError

from companion.core.errors import CompanionError, format_trace

log = logging.getLogger(__name__)
# Timeout in seconds for connecting. NATS takes a whole number.
CONNECT_TIMEOUT_S = 5
# Timeout in seconds for a loop's connections to close at its end.
CLOSE_TIMEOUT_S = 1.0


class LoopThread:
    """Runs the coroutine function `work` in an event loop, until it ends or `close` is called.

    `name` is the name of the thread. `call` may be used from any thread. Before the start and after
    the end it does nothing.
    """

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether the work is still running."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread and its event loop."""
        self._runner = asyncio.Runner(loop_factory=asyncio.SelectorEventLoop)
        self._loop = self._runner.get_loop()
        self._thread.start()

    def call(self, function: Callable[[], Any]) -> None:
        """Schedule a function in the loop. Does nothing before the start and after the end."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            if self._loop:
                self._loop.call_soon_threadsafe(function)

    def close(self, timeout_s: float) -> None:
        """Wait `timeout_s` for the work to end, then cancel it. May be called twice."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)
            self.call(self._cancel)
            self._thread.join()

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()

    def _run(self) -> None:
        with self._runner, contextlib.suppress(asyncio.CancelledError):
            self._runner.run(self._run_work())

    async def _run_work(self) -> None:
        """Run the work, then wait until the library's tasks have closed their connections."""
        self._task = asyncio.current_task()
        try:
            await self._work()
        finally:
            ends_at_s = loop_time_s() + CLOSE_TIMEOUT_S
            # this task itself is the last one
            while len(asyncio.all_tasks()) > 1 and loop_time_s() < ends_at_s:
                await asyncio.sleep(0.005)


def loop_time_s() -> float:
    """Return the running loop's time in seconds.

    Connections measure their intervals by this time, and not by the table's clock, which tests may
    replace.
    """
    return asyncio.get_running_loop().time()


class TolerantClient(Client):
    """A NATS client that drops a message's headers if they are malformed.

    The library's own client would stop reading from its connection.
    """

    async def _process_headers(self, headers: bytes) -> dict[str, str] | None:
        try:
            return await super()._process_headers(headers)
        except (UnicodeDecodeError, IndexError):
            return None


async def log_client_error(error: Exception) -> None:
    """Log an error that the NATS client passes to `error_cb`.

    Network errors are not logged, because awaited calls raise them as well. An error that is
    neither one of ours nor of the network is a bug.
    """
    if isinstance(error, CompanionError):
        log.warning("Hub: %s", error)
    elif not isinstance(error, NatsError | OSError):
        log.error("Hub: a message could not be handled: %s", format_trace(error))


@contextlib.asynccontextmanager
async def nats_client(
    servers: Iterable[str], private_key: str, when_lost: Callable[[], None], **options: Any
) -> AsyncIterator[Client]:
    """Connect a client to NATS with its private key, and close the connection at the end.

    The library does not reconnect by itself, because the caller has to set everything up again
    after a reconnect. `when_lost` is called when the connection breaks or is closed. Raises
    `OSError`, or `NatsError` of the library, if the client cannot connect.
    """

    async def note_lost(*_: object) -> None:
        when_lost()

    client = TolerantClient()
    try:
        await client.connect(
            list(servers),
            nkeys_seed_str=private_key,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=CONNECT_TIMEOUT_S,
            error_cb=log_client_error,
            closed_cb=note_lost,
            disconnected_cb=note_lost,
            **options,
        )
        yield client
    finally:
        await close_client(client)


async def close_client(client: Client) -> None:
    """Close a connection completely.

    It is closed even if this task is cancelled meanwhile, or if the library is closing it already.
    """
    if not client.is_closed:
        await asyncio.shield(client.close())
