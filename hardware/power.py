"""The table button switches the machine off when it is held for five seconds. Lamps, tones and a
sentence announce it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from companion.core.clock import Clock
from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.core.ports import Closeable, Cue, Press, Signal

TELL_S = 3.0
"""Seconds after which holding is announced and is no longer a press for the table. Releasing the
button then changes nothing.
"""
OFF_S = 5.0
LOOK_S = 0.05
LOST_S = 20.0
"""Seconds after which a machine that still runs has ignored the request. The sentence on the pages
ends then, too.
"""


@dataclass(frozen=True)
class PowerActions:
    """What the button does. None of these functions may block.

    `play` gets each press that is meant for the table. It comes when the button is released, or at
    once if `is_at_once` says that a press cannot wait. `signal` plays a cue, `tell` shows a
    sentence on the pages (empty to remove it), and `switch_off` asks the machine and returns
    whether it will, with a sentence.
    """

    play: Callable[[Press], None]
    is_at_once: Callable[[], bool]
    signal: Callable[[Signal], None]
    tell: Callable[[str], None]
    switch_off: Callable[[], tuple[bool, str]]


class PowerKey(Closeable):
    """A filter between the table button and the table. A context manager whose `close` may be
    called twice.

    `is_down` returns whether the button is down now and may not block. With `threads=False` nothing
    happens by itself: `step` does what is due.
    """

    def __init__(
        self,
        clock: Clock,
        is_down: Callable[[], bool],
        actions: PowerActions,
        *,
        threads: bool = True,
    ) -> None:
        self._clock = clock
        self._is_down = is_down
        self._actions = actions
        self.is_on = True
        """Whether the button may switch the machine off, as the settings say."""
        self._lock = threading.Lock()
        self._since_s: float | None = None
        self._waiting: list[Press] = []
        self._is_told = False
        self._asked_s: float | None = None
        self._is_coming = False
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread = (
            threading.Thread(target=self._follow, name="power-key", daemon=True)
            if threads
            else None
        )
        if self._thread:
            self._thread.start()

    def pressed(self, press: Press) -> None:
        """Process a press of the table button."""
        with self._lock:
            self._take(press)
        self._wake.set()

    def _take(self, press: Press) -> None:
        if self._is_coming:
            return  # the machine switches off: nothing is played any more
        if press.held and self._since_s is not None:
            self._waiting += [press] if self._waiting else []
            return
        self._let_go()  # a new press says so before anybody has looked
        if not self.is_on or self._stop.is_set():
            self._actions.play(press)
        elif press.held:
            self._since_s = press.at_s
            self._actions.play(press)
        elif self._actions.is_at_once():
            self._actions.play(press)
        else:
            self._since_s, self._waiting = press.at_s, [press]

    def step(self) -> bool:
        """Do what is due now. Return whether something is still pending."""
        now_s = self._clock.monotonic_s()
        with self._lock:
            if self._asked_s is not None and now_s - self._asked_s >= LOST_S:
                self._is_still_there()
            if self._since_s is not None and not self._is_down():
                self._let_go()
            elif self._since_s is not None:
                self._go_on(now_s, now_s - self._since_s)
            return self._since_s is not None or self._asked_s is not None

    def _go_on(self, now_s: float, held_s: float) -> None:
        if held_s >= TELL_S and not self._is_told:
            self._is_told, self._waiting, self._asked_s = True, [], None
            self._actions.signal(Signal(Cue.OFF_WAIT, frozenset(SEATS)))
            self._actions.tell(say("Keep holding the button to switch the table off, or let go."))
        if held_s >= OFF_S:
            self._since_s, self._is_told, self._asked_s = None, False, now_s
            self._is_coming, sentence = self._actions.switch_off()
            self._actions.tell(sentence)
            if not self._is_coming:
                self._actions.signal(Signal(Cue.AWAKE, frozenset(SEATS)))

    def _let_go(self) -> None:
        presses, was_told = self._waiting, self._is_told
        self._since_s, self._waiting, self._is_told = None, [], False
        if was_told:
            self._actions.tell("")
            self._actions.signal(Signal(Cue.AWAKE, frozenset(SEATS)))
        for press in presses:
            self._actions.play(press)

    def _is_still_there(self) -> None:
        self._actions.tell(
            say("The machine does not switch off: its log says why.") if self._is_coming else ""
        )
        if self._is_coming:
            self._actions.signal(Signal(Cue.AWAKE, frozenset(SEATS)))
        self._asked_s, self._is_coming = None, False

    def _follow(self) -> None:
        while not self._stop.is_set():
            if self.step():
                self._stop.wait(LOOK_S)
            else:
                self._wake.wait()
                self._wake.clear()

    def close(self) -> None:
        """Stop watching the button."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
