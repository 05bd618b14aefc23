"""The owner's check of the panel on the page Health.

Every key, lamp and tone can be tried by itself, without any effect on the table. In the messages
between page and service the check is called a trial.
"""

from __future__ import annotations

import threading

from companion.core.clock import Clock
from companion.core.event_cues import EventCue
from companion.core.kit import Seat
from companion.core.ports import Cue, Signal
from companion.maintenance.panel_check import CheckState
from hardware.panel import Panel

# Time in seconds for which a check continues after its page has last renewed it. The page renews it
# every two seconds (`web.routes.owner.check`), so two of these calls may be lost.
LEASE_S = 6.0


class PanelChecker:
    """Checks a panel, real or simulated. Any thread may call.

    It implements `companion.maintenance.panel_check.PanelCheck`.
    """

    def __init__(self, panel: Panel, clock: Clock) -> None:
        self.buttons = panel.buttons
        self.lamps = panel.lamps
        self.has_buzzer = panel.has_buzzer
        self._panel = panel
        self._clock = clock
        self._lock = threading.Lock()
        # Monotonic time at which the check ends unless it is renewed.
        self._ends_at_s = 0.0
        # Names of the lamps that are on.
        self._lit: frozenset[str] = frozenset()

    def begin(self) -> None:
        """Start a check. No key has been tried yet."""
        with self._lock:
            self._ends_at_s = self._clock.monotonic_s() + LEASE_S
            self._lit = self._panel.checked_buttons = frozenset()
            self._update_panel()

    def renew(self) -> None:
        """Extend the check to `LEASE_S` from now. A check that has ended stays ended."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            if now_s < self._ends_at_s:
                self._ends_at_s = now_s + LEASE_S
                self._update_panel()

    def end(self) -> None:
        """End the check. Lamps show the table's state again, and keys have their effect again."""
        with self._lock:
            if self._clock.monotonic_s() < self._ends_at_s:
                self._ends_at_s = 0.0
                self._lit = frozenset()
                self._update_panel()

    def light(self, lamp: str, on: bool) -> None:
        """Switch a lamp on or off."""
        with self._lock:
            self._lit = self._lit | {lamp} if on else self._lit - {lamp}
            self._update_panel()

    def play(self, cue: Cue | EventCue, seats: frozenset[Seat]) -> None:
        """Play a cue (the tone and lights of an event). Lamps that were switched on go out."""
        with self._lock:
            self._lit = frozenset()
            self._update_panel(Signal(cue, seats, 1))

    def state(self) -> CheckState:
        """Return the state of the check, which is off once its time is over."""
        with self._lock:
            if self._clock.monotonic_s() >= self._ends_at_s:
                return CheckState()
            return CheckState(
                True, self._panel.pressed_buttons, self._panel.checked_buttons, self._lit
            )

    def _update_panel(self, signal: Signal | None = None) -> None:
        self._panel.show_check(self._ends_at_s, self._lit, signal)
