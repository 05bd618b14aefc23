"""The system lamp shows the state of the machine, also before the service starts and after it has
ended.

A process of its own drives it (`companion lamp`). It reads the word that the service writes again
and again under `/run` (`companion.service.systemd`), so that it also shows when the service has
crashed or hangs.

============ ================================== ================================================
shown        lamp                               when
============ ================================== ================================================
booting      blinks slowly, 2 s                 no word yet, or the service restarts
ready        on                                 the pages answer and nothing is wrong
hotspot      three flashes every 3 s            the same, and the table has opened its own Wi-Fi
fault        two flashes every 2 s              camera, pads or disk in trouble, or no word left
stopping     blinks, 0.5 s                      the service ends, the machine switches off: wait
dark         off                                the disks are synced: the cord may be pulled
============ ================================== ================================================
"""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import Any

from gpiozero import LED

from companion.core.clock import Clock
from companion.core.ports import Closeable, SeatLamps, TurnLamp
from hardware.cues import steady

BOOT_S = 90.0
"""Seconds that the service may take to write its first word."""
SILENT_S = 30.0
"""Seconds after which a word that is not renewed, or a missing service, is a fault."""
END_S = 120.0
"""Seconds that the machine may take to switch off after the service has ended."""
LOOK_S = 0.5


class LampState(Enum):
    """State of the system lamp with its pattern. The patterns are those of the pads' lamps."""

    BOOTING = TurnLamp.OFFERED
    READY = TurnLamp.ON
    HOTSPOT = TurnLamp.HOTSPOT
    FAULT = TurnLamp.TROUBLE
    STOPPING = TurnLamp.LAST
    DARK = TurnLamp.OFF


class StatusReader:
    """Decides what the lamp shows from the service's word, in a file that may come and go."""

    def __init__(self, word: Path, clock: Clock) -> None:
        self._word = word
        self._clock = clock
        self._renewed_s = clock.monotonic_s()
        self._last_read: tuple[int, str] | None = None
        self._last: LampState | None = None

    def state(self) -> LampState:
        """Read the word and return the state."""
        now_s = self._clock.monotonic_s()
        mark = self._read()
        if mark is not None and mark != self._last_read:
            self._renewed_s, self._last = (
                now_s,
                LampState.__members__.get(mark[1].upper(), LampState.FAULT),
            )
        self._last_read = mark
        silent_s = now_s - self._renewed_s
        if self._last is None:
            return LampState.BOOTING if silent_s < BOOT_S else LampState.FAULT
        if self._last is LampState.STOPPING:
            return LampState.STOPPING if silent_s < END_S else LampState.FAULT
        if silent_s >= SILENT_S:
            return LampState.FAULT
        return LampState.BOOTING if mark is None else self._last

    def _read(self) -> tuple[int, str] | None:
        """Return when the word was written, and the word. None if there is no file.

        The wall clock may jump, so only changes of the time count.
        """
        try:
            return self._word.stat().st_mtime_ns, self._word.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None


class SystemLamp(Closeable):
    """The lamp on its pin. A context manager whose `close` may be called twice and leaves it
    dark.
    """

    def __init__(self, pin: int, is_active_low: bool, factory: Any) -> None:
        self._device = LED(pin, active_high=not is_active_low, pin_factory=factory)
        self._shown = LampState.DARK
        self._since_s = 0.0

    def show(self, shown: LampState, now_s: float) -> float:
        """Drive the lamp for this moment. Return the seconds until it has to be driven again."""
        if shown is not self._shown:
            self._shown, self._since_s = shown, now_s
        t_ms = round((now_s - self._since_s) * 1000, 3)
        is_lit, left_ms = steady(SeatLamps(turn=shown.value), "turn", t_ms)
        self._device.value = is_lit
        return LOOK_S if math.isinf(left_ms) else min(LOOK_S, max(0.001, left_ms / 1000))

    def close(self) -> None:
        """Switch the lamp off and release its pin."""
        if not self._device.closed:
            self._device.off()
            self._device.close()
