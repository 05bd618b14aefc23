"""A thread that runs one task of an event loop, for both ends of the line between a table and its hub."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import struct
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

_C = ctypes.PyDLL(None)  # its calls keep the interpreter's lock: a thread that waits for it is not let in between


class LoopThread:
    """Runs `work` until it ends or `close`; `call` may be used from any thread, before the start and after the end."""

    def __init__(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: _Timer | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def is_alive(self) -> bool:
        """Is the work still going on?"""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin."""
        self._loop = asyncio.new_event_loop()
        self._timer = _Timer(self._loop)
        self._thread.start()

    def call(self, act: Callable[[], Any]) -> None:
        """Have the loop do something; nothing where it has not begun or has ended."""
        with contextlib.suppress(RuntimeError):  # it has ended
            if self._loop:
                self._loop.call_soon_threadsafe(act)

    def call_later(self, delay_s: float, act: Callable[[], Any]) -> None:
        """Have the loop do something so much later, once for all calls until then; its thread sleeps on meanwhile."""
        if self._timer:
            self._timer.set(delay_s, act)

    def close(self, goodbye_s: float) -> None:
        """Wait so long for the work to end by itself, then cancel it; may be called twice."""
        if self._thread.is_alive():
            self._thread.join(goodbye_s)
            self.call(self._cancel)
            self._thread.join()

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()

    def _run(self) -> None:
        loop, timer = self._loop, self._timer
        assert loop is not None
        assert timer is not None
        asyncio.set_event_loop(loop)
        self._task = loop.create_task(self._work())
        try:
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(self._task)
        finally:
            timer.close()
            _end(loop)


class _Timer:
    """Linux' timerfd, which Python has from 3.13 on: any thread sets it, and a loop wakes up only when it is due."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._act: Callable[[], Any] | None = None
        self._lock = threading.Lock()
        self._file = _C.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        loop.add_reader(self._file, self._is_due)

    def set(self, delay_s: float, act: Callable[[], Any]) -> None:
        with self._lock:
            if self._file < 0 or self._act is not None:
                return
            self._act = act
            _C.timerfd_settime(self._file, 0, struct.pack("4l", 0, 0, 0, round(delay_s * 1e9)), None)

    def close(self) -> None:
        with self._lock:
            self._loop.remove_reader(self._file)
            os.close(self._file)
            self._file = -1

    def _is_due(self) -> None:
        os.read(self._file, 8)
        with self._lock:
            act, self._act = self._act, None
        if act:
            act()


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Close a loop, and what still runs in it: the library leaves tasks behind."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
