"""The key that calls the staff of a café: called, answered, taken back, and forgotten after a
while.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum

from companion.core.clock import Clock
from companion.core.errors import wrong_phase
from companion.core.i18n import say

FORGOTTEN_S = 300.0
"""Time in seconds after which a call that nobody ends is forgotten."""


class Call(StrEnum):
    """How a call stands."""

    NONE = "none"
    CALLED = "called"
    COMING = "coming"
    """Somebody has answered."""


class StaffBell:
    """One call at a time; every method may be called from any thread.

    `when_changed` is called after every change, in the thread that made it.
    """

    def __init__(self, clock: Clock, when_changed: Callable[[], None] = lambda: None) -> None:
        self._clock = clock
        self.when_changed = when_changed
        self._lock = threading.Lock()
        self.call = Call.NONE
        self.by = ""
        """Who has called: a seat, `table` or `host`."""
        self._since_s = 0.0
        self.number = 0
        """Counts the calls since the start."""
        self._ears: frozenset[str] = frozenset()
        self.is_heard = False
        """Whether there is anybody who would hear the key."""

    def sentence(self) -> str:
        """Return what the pages say of it. Empty: nobody is called."""
        sentences = {
            Call.CALLED: say("The staff has been called."),
            Call.COMING: say("Somebody is coming."),
        }
        return sentences.get(self.call, "")

    def hear(self, is_heard: bool, by: str = "broker") -> None:
        """Note that somebody hears the key, or does not any more.

        A call that stands goes with the last who hears it.
        """
        with self._lock:
            ears = self._ears | {by} if is_heard else self._ears - {by}
            if ears == self._ears:
                return
            self._ears, self.is_heard = ears, bool(ears)
            if not ears:
                self.call, self.by = Call.NONE, ""
        self.when_changed()

    def ring(self, by: str) -> None:
        """Call somebody. While somebody is called already it changes nothing. Raises `Illegal`."""
        now_s = self._clock.monotonic_s()
        with self._lock:
            if not self._ears:
                raise wrong_phase(
                    say("Nobody can be called from here now: ask somebody in person.")
                )
            if self.call is not Call.NONE:
                return
            self.number += 1
            self._set(Call.CALLED, by, now_s)
        self.when_changed()

    def cancel(self) -> None:
        """End a call, as whoever called or as the staff."""
        with self._lock:
            if self.call is Call.NONE:
                return
            self._set(Call.NONE, "", self._clock.monotonic_s())
        self.when_changed()

    def answer(self) -> None:
        """Note that somebody of the staff comes. Without a call it changes nothing."""
        with self._lock:
            if self.call is not Call.CALLED:
                return
            self._set(Call.COMING, self.by, self._clock.monotonic_s())
        self.when_changed()

    def step(self) -> None:
        """Forget a call that has stood too long."""
        if self.call is not Call.NONE and self._clock.monotonic_s() - self._since_s >= FORGOTTEN_S:
            self.cancel()

    def _set(self, call: Call, by: str, now_s: float) -> None:
        self.call, self.by, self._since_s = call, by, now_s
