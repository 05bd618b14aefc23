"""The bell that calls the staff of a café. A call is answered or cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum

from companion.core.errors import wrong_phase
from companion.core.i18n import say


# The name of this class and its docstring are in the API's description.
class Call(StrEnum):
    """The state of a call."""

    NONE = "none"
    CALLED = "called"  # nobody has answered yet
    COMING = "coming"  # somebody has answered


class StaffBell:
    """The bell by which players call the staff. It handles one call at a time.

    Pages ring it. A broker or a hub listens and answers. Its methods may be called from any thread.
    """

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self.on_change = on_change
        """Called after every change, in the thread that made it."""
        self._lock = threading.Lock()
        self.call = Call.NONE
        """The state of the call."""
        self.caller = ""
        """Who has called: a seat, `table` or `host` (the owner). Empty without a call."""
        self.number = 0
        """Number of calls since the start of the program."""
        self._listeners: frozenset[str] = frozenset()
        self.has_listener = False
        """Whether anybody would hear a call."""

    def sentence(self) -> str:
        """Return the sentence on the pages about the call. Empty without a call."""
        sentences = {
            Call.CALLED: say("The staff has been called."),
            Call.COMING: say("Somebody is coming."),
        }
        return sentences.get(self.call, "")

    def set_listening(self, is_listening: bool, listener: str = "broker") -> None:
        """Note whether a listener of this name hears calls.

        An open call ends with the last listener.
        """
        with self._lock:
            if (listener in self._listeners) == is_listening:
                return
            self._listeners ^= {listener}
            self.has_listener = bool(self._listeners)
        if not self.has_listener:
            self.cancel()
        self.on_change()

    def ring(self, by: str) -> None:
        """Call the staff.

        An open call stays as it is. Raises `Illegal` if nobody would hear the call.
        """
        if not self.has_listener:
            raise wrong_phase(say("Nobody can be called from here now: ask somebody in person."))
        self._set_call(Call.CALLED, (Call.NONE,), by)

    def cancel(self) -> None:
        """End a call, for its caller or for the staff. Without a call it changes nothing."""
        self._set_call(Call.NONE, (Call.CALLED, Call.COMING))

    def answer(self) -> None:
        """Note that somebody of the staff is coming. Without a call it changes nothing."""
        self._set_call(Call.COMING, (Call.CALLED,), self.caller)

    def _set_call(self, call: Call, allowed_before: tuple[Call, ...], caller: str = "") -> None:
        """Set the state of the call, if its present one is among those `allowed_before`."""
        with self._lock:
            if self.call not in allowed_before:
                return
            if call is Call.CALLED:
                self.number += 1
            self.call = call
            self.caller = caller
        self.on_change()
