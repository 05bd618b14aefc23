"""The system lamp shows the state of the machine, also before the service starts and after it has
ended.

A process of its own drives it (`companion lamp`). It keeps reading the file in which the service
writes its status as one word (`companion.service.systemd`). So the lamp also shows when the service
has crashed or hangs.

============ ================================== ================================================
state        lamp                               when
============ ================================== ================================================
booting      blinks slowly, 2 s                 no status yet, or the service restarts
ready        on                                 the pages answer and nothing is wrong
hotspot      three flashes every 3 s            ready, and the table's hotspot is open
fault        two flashes every 2 s              camera, pads or disk in trouble, or an old status
stopping     blinks, 0.5 s                      the service ends, the machine switches off: wait
dark         off                                the disks are synced: the cord may be pulled
============ ================================== ================================================
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

from gpiozero import LED

from companion.core.clock import Clock
from companion.core.ports import Closeable, SeatLamps, TurnLamp
from hardware.cues import lasting_light

# Maximum time in seconds until the service writes its first status.
BOOT_TIMEOUT_S = 90.0
# Maximum age in seconds of a status that is not renewed. After that the lamp shows a fault.
MAX_STATUS_AGE_S = 30.0
# Maximum time in seconds that the machine may take to switch off after the service has ended.
STOP_TIMEOUT_S = 120.0
# Maximum time in seconds until the status is read again.
READ_INTERVAL_S = 0.5


class LampState(Enum):
    """State of the system lamp. Its value is its pattern, which is borrowed from a pad's turn lamp.

    The table at the head of this module shows the patterns.
    """

    BOOTING = TurnLamp.OFFERED
    READY = TurnLamp.ON
    HOTSPOT = TurnLamp.HOTSPOT
    FAULT = TurnLamp.TROUBLE
    STOPPING = TurnLamp.LAST
    DARK = TurnLamp.OFF


class StatusReader:
    """Reads the service's status from its file, which may not exist, for the system lamp."""

    def __init__(self, file: Path, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        # Monotonic time at which the last newly written status was read. Before that, the time at
        # which reading began.
        self._renewed_at_s = clock.monotonic_s()
        # What `_read_file` returned last.
        self._last_read: tuple[int, str] | None = None
        # The last status. None until the service has written one.
        self._status: LampState | None = None

    def read_state(self) -> LampState:
        """Read the status and return what the lamp shows now.

        An unknown word is a fault. So is a status that the service has not renewed for
        `MAX_STATUS_AGE_S`. If the file is gone, the service is being started again.
        """
        now_s = self._clock.monotonic_s()
        read = self._read_file()
        if read is not None and read != self._last_read:
            # The file's time comes from the wall clock, which may jump. So its age is not computed
            # from it: any other time than before means that the status was written again.
            _, word = read
            self._renewed_at_s = now_s
            self._status = LampState.__members__.get(word.upper(), LampState.FAULT)
        self._last_read = read
        age_s = now_s - self._renewed_at_s
        if self._status is None:
            return LampState.BOOTING if age_s < BOOT_TIMEOUT_S else LampState.FAULT
        if self._status is LampState.STOPPING:
            return LampState.STOPPING if age_s < STOP_TIMEOUT_S else LampState.FAULT
        if age_s >= MAX_STATUS_AGE_S:
            return LampState.FAULT
        return LampState.BOOTING if read is None else self._status

    def _read_file(self) -> tuple[int, str] | None:
        """Return the file's time in ns, and the word in it. None if it cannot be read."""
        try:
            return self._file.stat().st_mtime_ns, self._file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None


class SystemLamp(Closeable):
    """The lamp on its pin.

    A context manager whose `close` leaves the lamp dark and may be called twice.
    """

    def __init__(self, gpio: int, is_active_low: bool, factory: Any) -> None:
        self._device = LED(gpio, active_high=not is_active_low, pin_factory=factory)
        self._state = LampState.DARK
        self._state_since_s = 0.0

    def show(self, state: LampState, now_s: float) -> float:
        """Drive the lamp for this moment. Return the seconds until it has to be driven again."""
        if state is not self._state:
            self._state = state
            self._state_since_s = now_s
        elapsed_ms = round((now_s - self._state_since_s) * 1000, 3)
        is_lit, change_ms = lasting_light(SeatLamps(turn=state.value), "turn", elapsed_ms)
        self._device.value = is_lit
        return min(READ_INTERVAL_S, max(0.001, change_ms / 1000))

    def close(self) -> None:
        """Switch the lamp off and release its pin."""
        if not self._device.closed:
            self._device.off()
            self._device.close()
