"""The key that calls the staff of a café. A call is answered or cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum

from companion.core.errors import wrong_phase
from companion.core.i18n import say


class Call(StrEnum):
    """The state of a call."""

    NONE = "none"
    CALLED = "called"
    COMING = "coming"
    """Somebody has answered."""


class StaffBell:
    """Handles one call at a time. Its methods may be called from any thread.

    `when_changed` is called after every change, in the thread that made it.
    """

    def __init__(self, when_changed: Callable[[], None] = lambda: None) -> None:
        self.when_changed = when_changed
        self._lock = threading.Lock()
        self.call = Call.NONE
        self.by = ""
        """The caller: a seat, `table` or `host`."""
        self.number = 0
        """Number of calls since the start."""
        self._ears: frozenset[str] = frozenset()
        self.is_heard = False
        """Whether anybody would hear a call."""

    def sentence(self) -> str:
        """Return the sentence on the pages about the call. Empty without a call."""
        sentences = {
            Call.CALLED: say("The staff has been called."),
            Call.COMING: say("Somebody is coming."),
        }
        return sentences.get(self.call, "")

    def hear(self, is_heard: bool, by: str = "broker") -> None:
        """Note that somebody hears calls, or no longer does.

        An open call ends with the last listener.
        """
        with self._lock:
            if (by in self._ears) == is_heard:
                return
            self._ears ^= {by}
            self.is_heard = bool(self._ears)
        if not self.is_heard:
            self.cancel()
        self.when_changed()

    def ring(self, by: str) -> None:
        """Call the staff. An open call stays as it is. Raises `Illegal` if nobody would hear the
        call.
        """
        if not self.is_heard:
            raise wrong_phase(say("Nobody can be called from here now: ask somebody in person."))
        self._change(Call.CALLED, (Call.NONE,), by)

    def cancel(self) -> None:
        """End a call, as its caller or as the staff."""
        self._change(Call.NONE, (Call.CALLED, Call.COMING))

    def answer(self) -> None:
        """Note that somebody of the staff is coming. Without a call it changes nothing."""
        self._change(Call.COMING, (Call.CALLED,), self.by)

    def _change(self, call: Call, before: tuple[Call, ...], by: str = "") -> None:
        """Set the call, if it is in one of these states."""
        with self._lock:
            if self.call not in before:
                return
            self.number += call is Call.CALLED
            self.call, self.by = call, by
        self.when_changed()
