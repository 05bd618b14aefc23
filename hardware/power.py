"""The table button switches the machine off when it is held for five seconds.

Lamps, tones and a sentence announce it after three. A short press reaches the table only when the
button is released, so a long one changes nothing in the game. On a running chess clock no press can
wait: there it reaches the table at once, however long it lasts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.core.ports import Cue, Press, Signal
from hardware.debounce import KeyEvent


class PowerActions(NamedTuple):
    """Functions that the power key calls. None of them may block."""

    press_table: Callable[[Press], None]
    """Gets each press that is meant for the table."""
    is_urgent: Callable[[], bool]
    """Returns whether a press must reach the table at once, as on a chess clock.

    Any other press reaches it when the button is released, if that is before the warning.
    """
    signal: Callable[[Signal], None]
    """Plays a cue."""
    show_notice: Callable[[str], None]
    """Shows a sentence on the pages. An empty one removes it."""
    switch_off: Callable[[], tuple[bool, str]]
    """Asks the machine to switch off. Returns whether it will, and a sentence."""


class PowerKey:
    """The table button as power key: its presses reach the table, unless they are long.

    A press reaches the table at once, however long it lasts, if it is urgent or if the button may
    not switch the machine off. Any thread may call.
    """

    def __init__(self, actions: PowerActions) -> None:
        self._actions = actions
        self.may_switch_off = True
        """Whether the button may switch the machine off, as the settings say."""
        self._lock = threading.Lock()
        # Whether the current press reaches the table at once.
        self._is_urgent = False
        # Presses that reach the table when the button is released.
        self._delayed_presses: list[Press] = []
        # Whether lamps and pages announce that the machine switches off soon.
        self._is_announced = False
        # Whether the machine has agreed to switch off.
        self._is_switching_off = False
        # Whether the pages still say that the machine cannot be switched off.
        self._is_refused = False

    def handle(self, event: KeyEvent, press: Press) -> None:
        """Process an event of the table button. `press` is the press that it belongs to."""
        with self._lock:
            if self._is_switching_off:  # nothing reaches the table any more
                return
            match event:
                case KeyEvent.PRESSED:
                    self._end_press()  # the last release may have been missed
                    if self._is_refused:
                        self._is_refused = False
                        self._actions.show_notice("")
                    self._is_urgent = not self.may_switch_off or self._actions.is_urgent()
                    self._pass_or_delay(press)
                case KeyEvent.HELD:
                    self._pass_or_delay(press)
                # Drop the delayed presses. An urgent one has reached the table already, but does
                # not prevent the machine from being switched off.
                case KeyEvent.HELD_TO_WARN if self.may_switch_off:
                    self._is_announced = True
                    self._delayed_presses = []
                    self._actions.signal(Signal(Cue.OFF_WAIT, frozenset(SEATS)))
                    self._actions.show_notice(
                        say("Keep holding the button to switch the table off, or let go.")
                    )
                case KeyEvent.HELD_TO_SWITCH_OFF if self._is_announced:
                    self._switch_off()
                case KeyEvent.RELEASED:
                    self._end_press()

    def _pass_or_delay(self, press: Press) -> None:
        if self._is_urgent:
            self._actions.press_table(press)
        else:
            self._delayed_presses.append(press)

    def _switch_off(self) -> None:
        """Ask the machine to switch off, and say what it answers."""
        self._is_announced = False
        self._is_switching_off, sentence = self._actions.switch_off()
        self._actions.show_notice(sentence)
        self._is_refused = not self._is_switching_off
        if self._is_refused:
            self._actions.signal(Signal(Cue.AWAKE, frozenset(SEATS)))

    def _end_press(self) -> None:
        """Take back the announcement, and pass the delayed presses on to the table."""
        presses = self._delayed_presses
        was_announced = self._is_announced
        self._delayed_presses = []
        self._is_announced = False
        if was_announced:
            self._actions.show_notice("")
            self._actions.signal(Signal(Cue.AWAKE, frozenset(SEATS)))
        for press in presses:
            self._actions.press_table(press)
