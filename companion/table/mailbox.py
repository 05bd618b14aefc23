"""One thread that owns a state, and the queue by which everybody else speaks to it."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from companion.core.errors import CompanionError, Stale, trace_of
from companion.core.i18n import say

log = logging.getLogger(__name__)
T = TypeVar("T")

BEAT_S = 0.1
ANSWER_S = 30.0


class Mailbox:
    """Does everything that is asked of it one after the other, and `on_beat` after each and at least every 0.1 s.

    `on_beat` answers in how many seconds it wants to be called again.

    Without `start` (tests, fast simulation) the caller's thread does the work. `close` may be called twice.
    """

    def __init__(self, name: str, on_beat: Callable[[], float]) -> None:
        self._name = name
        self._on_beat = on_beat
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._turn = threading.RLock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._pause_s = BEAT_S
        self.on_round: Callable[[], None] = lambda: None
        """Called after every round, whatever went wrong in it: the owner is alive."""

    @property
    def has_work(self) -> bool:
        """Does anything wait that came in before?"""
        return not self._queue.empty()

    @property
    def waiting(self) -> int:
        """How much waits that came in before."""
        return self._queue.qsize()

    def tell(self, work: Callable[[], None]) -> None:
        """Have something done some time soon; what goes wrong is logged."""
        self._queue.put(work)

    def ask(self, work: Callable[[], T]) -> T:
        """Have something done and wait for its answer or its error; raises `Stale` after `close`."""
        if self._closed:
            raise Stale(say("The companion is shutting down"))
        future: Future[T] = Future()

        def settle() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        self._queue.put(settle)
        if self._thread is None:
            self.step()
        return future.result(timeout=ANSWER_S)

    def now(self, work: Callable[[], None]) -> None:
        """Do something at once in the caller's thread while the owner waits."""
        with self._turn:
            work()

    def start(self) -> None:
        """Run the owner's thread."""
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def step(self) -> None:
        """Do everything that is queued, and one beat, in the caller's thread."""
        while True:
            try:
                work = self._queue.get_nowait()
            except queue.Empty:
                break
            if work is not None:
                self._do(work)
        self._do(self._beat)

    def close(self) -> None:
        """Finish what is queued and end the thread."""
        self._closed = True
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while True:
            try:
                work = self._queue.get(timeout=self._pause_s)
                if work is None:
                    return
                self._do(work)
            except queue.Empty:
                pass  # nothing came in: time alone has passed
            self._do(self._beat)
            self.on_round()

    def _beat(self) -> None:
        self._pause_s = BEAT_S
        self._pause_s = min(BEAT_S, max(0.0005, self._on_beat()))

    def _do(self, work: Callable[[], None]) -> None:
        """Nothing that one input does may stop the others."""
        with self._turn:
            try:
                work()
            except CompanionError as error:
                log.warning("%s: refused: %s", self._name, error.kind)
            except Exception as error:
                log.error("%s: an input failed, the rest goes on: %s", self._name, trace_of(error))
