"""The table button switches the machine off when it is held for five seconds. Lamps, tones and a
sentence announce it after three. From then on it is no longer a press for the table, and releasing
the button changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.core.ports import Cue, Press, Signal
from hardware.debounce import Stroke


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


class PowerKey:
    """A filter between the table button and the table. Any thread may call."""

    def __init__(self, actions: PowerActions) -> None:
        self._actions = actions
        self.is_on = True
        """Whether the button may switch the machine off, as the settings say."""
        self._lock = threading.Lock()
        self._is_at_once = False
        """Whether the present press is played at once, instead of when the button is released."""
        self._waiting: list[Press] = []
        self._is_announced = False
        self._is_coming = False
        self._is_refused = False
        """Whether the pages say that the machine cannot be switched off."""

    def take(self, stroke: Stroke, press: Press) -> None:
        """Process what the table button did."""
        with self._lock:
            if self._is_coming:
                return  # the machine switches off: nothing is played any more
            match stroke:
                case Stroke.PRESSED:
                    self._let_go()  # the last release may have been missed
                    if self._is_refused:
                        self._is_refused = False
                        self._actions.tell("")
                    self._is_at_once = not self.is_on or self._actions.is_at_once()
                    self._pass_on(press)
                case Stroke.HELD:
                    self._pass_on(press)
                case Stroke.HELD_TO_WARN if self.is_on:
                    self._is_announced, self._waiting = True, []
                    self._actions.signal(Signal(Cue.OFF_WAIT, frozenset(SEATS)))
                    self._actions.tell(
                        say("Keep holding the button to switch the table off, or let go.")
                    )
                case Stroke.HELD_TO_SWITCH_OFF if self._is_announced:
                    self._switch_off()
                case Stroke.RELEASED:
                    self._let_go()

    def _pass_on(self, press: Press) -> None:
        if self._is_at_once:
            self._actions.play(press)
        else:
            self._waiting.append(press)

    def _switch_off(self) -> None:
        self._is_announced = False
        self._is_coming, sentence = self._actions.switch_off()
        self._actions.tell(sentence)
        self._is_refused = not self._is_coming
        if self._is_refused:
            self._actions.signal(Signal(Cue.AWAKE, frozenset(SEATS)))

    def _let_go(self) -> None:
        presses, was_announced = self._waiting, self._is_announced
        self._waiting, self._is_announced = [], False
        if was_announced:
            self._actions.tell("")
            self._actions.signal(Signal(Cue.AWAKE, frozenset(SEATS)))
        for press in presses:
            self._actions.play(press)
