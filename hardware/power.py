"""The table button held for five seconds switches the machine off; lamps, tones and a sentence tell of it before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self

from companion.clock import Clock
from companion.kit import SEATS
from companion.languages import say
from companion.ports import Cue, PadKey, Press, Signal

TELL_S = 3.0
"""Held for so long it begins to be told, while letting go still changes everything."""
OFF_S = 5.0
LOOK_S = 0.05
LOST_S = 20.0
"""A machine that is still there so long after it was asked has not heard; any other sentence is gone by then, too."""


class PowerKey:
    """Follows the table button once it is held; a context manager, `close` may be called twice.

    `is_down` answers whether the button is down now, `signal` plays a cue, `tell` shows a sentence on the pages (empty:
    none any more), and `switch_off` asks the machine and answers whether it could, and what is to be told. With
    `threads=False` nothing happens by itself: `step` does what is due.
    """

    def __init__(
        self,
        clock: Clock,
        is_down: Callable[[], bool],
        signal: Callable[[Signal], None],
        tell: Callable[[str], None],
        switch_off: Callable[[], tuple[bool, str]],
        *,
        threads: bool = True,
    ) -> None:
        self._clock = clock
        self._is_down = is_down
        self._signal = signal
        self._tell = tell
        self._switch_off = switch_off
        self._has_threads = threads
        self.is_on = True
        """Whether the button may do so: a setting."""
        self._lock = threading.Lock()
        self._since_s: float | None = None
        self._is_told = False
        self._asked_s: float | None = None
        self._is_coming = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def pressed(self, press: Press) -> None:
        """A key of the panel; all but a held table button are none of this."""
        if press.key is not PadKey.TABLE or not press.held or not self.is_on or self._stop.is_set():
            return
        with self._lock:
            if self._since_s is not None or self._asked_s is not None:
                return
            self._since_s, self._is_told = press.at_s, False
            if self._has_threads:
                self._thread = threading.Thread(target=self._follow, name="power-key", daemon=True)
                self._thread.start()

    def step(self) -> bool:
        """Do what is due by now; answers whether anything may still come."""
        now_s = self._clock.monotonic_s()
        if self._asked_s is not None:
            if now_s - self._asked_s < LOST_S:
                return True
            self._asked_s = None
            self._tell(say("The machine does not switch off: its log says why.") if self._is_coming else "")
            if self._is_coming:
                self._signal(Signal(Cue.AWAKE, frozenset(SEATS)))
            return False
        if self._since_s is None:
            return False
        held_s = now_s - self._since_s
        if not self._is_down():
            self._let_go()
            return False
        if held_s >= TELL_S and not self._is_told:
            self._is_told = True
            self._signal(Signal(Cue.OFF_WAIT, frozenset(SEATS)))
            self._tell(say("Go on holding the button to switch the table off, or let it go."))
        if held_s >= OFF_S:
            self._since_s, self._asked_s = None, now_s
            self._is_coming, sentence = self._switch_off()
            self._tell(sentence)
            if not self._is_coming:
                self._signal(Signal(Cue.AWAKE, frozenset(SEATS)))
        return True

    def _let_go(self) -> None:
        self._since_s = None
        if self._is_told:
            self._tell("")
            self._signal(Signal(Cue.AWAKE, frozenset(SEATS)))

    def _follow(self) -> None:
        while self.step():
            if self._stop.wait(LOOK_S):
                return

    def close(self) -> None:
        """Follow no more."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
