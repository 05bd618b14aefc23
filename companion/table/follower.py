"""A thread that acts after each change of the table, for voices, machine players and others."""

from __future__ import annotations

import threading
from collections.abc import Callable

from companion.core.errors import Stale
from companion.table.table import Table

# Timeout in seconds for a running step when the thread ends. Then the thread is left behind, so
# that a hanging device does not keep the service from stopping.
_JOIN_TIMEOUT_S = 5.0


class TableFollower:
    """Calls `step` after every change of the table, and at least every `interval_s` seconds.

    A step may return a pause in seconds, which is limited to `interval_s`. Then the next step
    follows after that pause, even if the table changes sooner.

    The thread ends when a step raises `Stale`, which means that the table closes. Whoever makes a
    follower closes it. `close` may be called twice.
    """

    def __init__(
        self, table: Table, name: str, step: Callable[[], float | None], interval_s: float
    ) -> None:
        self._table = table
        self._name = name
        self._step = step
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, once."""
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def request_stop(self) -> None:
        """Ask the thread to end after the running step, and return at once."""
        self._stop.set()
        if self._thread:
            self._table.redraw()  # wakes the thread

    def close(self) -> None:
        """End the thread, and wait for a step that is running."""
        self.request_stop()
        if self._thread:
            self._thread.join(_JOIN_TIMEOUT_S)
            self._thread = None

    def _run(self) -> None:
        """Take steps until the table or the follower closes. This is the thread."""
        version = -1
        while not self._stop.is_set():
            try:
                pause_s = self._step() or 0.0
            except Stale:  # the table closes
                return
            if pause_s > 0:
                self._stop.wait(min(pause_s, self._interval_s))
            else:
                version = self._table.wait(version, self._interval_s)
