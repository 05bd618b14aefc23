"""The thread that drives lamps and buzzer in time, on behalf of all other threads.

The other threads can ask for three things, with the types of `companion.core.ports`:

- the lasting state of the lamps (`show`),
- a cue, the tone and lights of one event (`signal`),
- alarms (`set_alarms`). An alarm is a cue that this thread plays by itself when it is due, even if
  the table is busy then.

The owner can check lamps and buzzer on the page Health. During a check they show nothing of the
table.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple

from companion.core.clock import Clock
from companion.core.config import PanelSettings
from companion.core.kit import Seat
from companion.core.ports import Alarm, SeatLamps, Signal
from hardware.cue_player import CuePlayer
from hardware.cues import SHORT_TIME_LAMPS, concerned_seats
from hardware.wiring import Buzzer, Lamp, LampPin

_log = logging.getLogger(__name__)

# Allowance for sums of times that are not exact in floating point.
_ROUNDING_S = 1e-6
# Interval in seconds after which Python switches between threads. It is shorter than Python's own 5
# ms, so that this thread gets its turn sooner. Measured: with 5 ms the lamp of a key came 2 to 3 ms
# later, and 7 ms later if the process had only a fifth of a core.
SWITCH_INTERVAL_S = 0.0005
# Maximum time in seconds for which a change of the table waits until its lamps are lit. If it did
# not wait, the threads that draw pages would run first. Measured on a fifth of a core: the lamp of
# a key came after 43 ms (99th percentile) without this wait, and after 15 ms with it.
LAMPS_TIMEOUT_S = 0.004


class AlarmSchedule:
    """Decides which alarm of the table is due when. Times are monotonic seconds."""

    def __init__(self) -> None:
        # Alarms that are not due yet, the next one first.
        self._pending: list[Alarm] = []
        self._started: frozenset[Alarm] = frozenset()

    def replace(self, alarms: Sequence[Alarm]) -> None:
        """Replace all alarms.

        An alarm that has started and is also among the new ones does not start again.
        """
        self._started &= frozenset(alarms)
        self._pending = sorted(frozenset(alarms) - self._started, key=lambda alarm: alarm.at_s)

    def start_due(self, now_s: float) -> tuple[Alarm, ...]:
        """Mark the alarms that are due now as started, and return them in order."""
        due = tuple(alarm for alarm in self._pending if alarm.at_s <= now_s + _ROUNDING_S)
        self._pending = self._pending[len(due) :]
        self._started |= frozenset(due)
        return due

    @property
    def next_at_s(self) -> float:
        """Time of the next alarm. Infinite if there is none."""
        return self._pending[0].at_s if self._pending else math.inf

    @property
    def seats_short_of_time(self) -> frozenset[Seat]:
        """Seats for which an alarm has started that says that their time is short."""
        return frozenset(
            seat
            for alarm in self._started
            if alarm.signal.cue in SHORT_TIME_LAMPS
            for seat in concerned_seats(alarm.signal)
        )


class _PanelCheck(NamedTuple):
    """A check of the panel by the owner."""

    until_s: float
    """Monotonic time at which it ends."""
    lamps: frozenset[str]
    """Names of the lamps that are on until then."""


class PanelOutputs:
    """Drives the lamps and the buzzer of a panel, which opens and closes them.

    Any thread may say what to show, which is put into a queue. Only one thread takes it from there
    and drives the pins: the panel's thread in `run`, or a test by `step`.

    :param on_failure: called with the name and the error of a lamp or buzzer that has failed. It is
        not used any more
    """

    def __init__(
        self,
        lamps: Mapping[LampPin, Lamp],
        buzzer: Buzzer | None,
        settings: PanelSettings,
        clock: Clock,
        on_failure: Callable[[str, Exception], None],
    ) -> None:
        self._lamps = lamps
        self._buzzer = buzzer
        self._clock = clock
        self._on_failure = on_failure
        self._failed: set[str] = set()
        # Functions that change what is shown. Each gets the present time in ms. None ends the
        # thread.
        self._updates: SimpleQueue[Callable[[float], None] | None] = SimpleQueue()
        self._has_thread = False
        # Set whenever the thread has applied all updates in the queue and driven the pins.
        self._is_up_to_date = threading.Event()
        # What the table shows. During a check this player goes on, but its result is not shown.
        self._table_player = CuePlayer(settings.silent)
        self._schedule = AlarmSchedule()
        self._check: _PanelCheck | None = None
        self._check_player = CuePlayer()

    # ---- from any thread ----

    def signal(self, signal: Signal) -> None:
        """Queue a cue."""
        self._updates.put(partial(self._table_player.signal, signal))

    def show(self, lamps: Mapping[Seat, SeatLamps], has_trouble: bool = False) -> None:
        """Replace the lasting state of both seats' lamps.

        If the thread runs, this method waits until the lamps are lit, but at most for
        `LAMPS_TIMEOUT_S`. So the lamp of a key comes before pages are drawn.

        :param lamps: the lamps of each seat. A seat that is omitted is dark
        :param has_trouble: whether all turn lamps show trouble instead
        """
        self._is_up_to_date.clear()
        self._updates.put(partial(self._table_player.show, dict(lamps), has_trouble))
        if self._has_thread:
            self._is_up_to_date.wait(LAMPS_TIMEOUT_S)

    def set_alarms(self, alarms: Sequence[Alarm]) -> None:
        """Replace all pending alarms. Each is played at its own time.

        An alarm that has started and is also among the new ones continues. If it is not among them,
        a turn lamp that blinks because of it stops blinking.
        """
        called_at_s = self._clock.monotonic_s()

        def replace_alarms(now_ms: float) -> None:
            # Alarms that were due before this call are still played, although the thread comes to
            # this update only later.
            self._play_due(called_at_s)
            self._schedule.replace(tuple(alarms))
            self._table_player.end_short_time(self._schedule.seats_short_of_time, now_ms)

        self._updates.put(replace_alarms)

    def set_silent(self, is_silent: bool) -> None:
        """Switch tones off or on."""
        self._updates.put(lambda _: self._table_player.set_silent(is_silent))

    def show_check(self, until_s: float, lamps: frozenset[str], signal: Signal | None) -> None:
        """Show these lamps and this cue until a monotonic time, and nothing of the table.

        :param signal: the cue. If it is None, the cue of the last call plays on
        """

        def set_check(now_ms: float) -> None:
            self._check = _PanelCheck(until_s, lamps)
            if signal is not None:
                self._check_player = CuePlayer()
                self._check_player.signal(signal, now_ms)

        self._updates.put(set_check)

    def end(self) -> None:
        """Tell the thread to end, without waiting for it."""
        self._updates.put(None)

    # ---- from one thread ----

    def step(self) -> None:
        """Apply all updates, then play and show what is due now."""
        while not self._updates.empty():
            update = self._updates.get()
            if update is not None:
                self._apply(update)
        self._play_due(self._clock.monotonic_s())
        self._render()

    def run(self) -> None:
        """Play everything at its time until the thread is told to end.

        For the whole process, Python then switches threads after `SWITCH_INTERVAL_S`.
        """
        self._has_thread = True
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        while True:
            try:
                update = self._updates.get(timeout=self._pause_s())
                while update is not None:
                    self._apply(update)
                    update = self._updates.get(block=False)
                return
            except Empty:
                # Either all updates are applied now, or the pause is over and something is due.
                self._play_due(self._clock.monotonic_s())
                self._render()
                self._is_up_to_date.set()

    # ---- time ----

    def _pause_s(self) -> float | None:
        """Return the seconds until something is due. None if nothing is."""
        now_s = self._clock.monotonic_s()
        now_ms = _to_ms(now_s)
        change_at_ms = self._shown_player(now_s).next_change_at_ms(now_ms)
        change_s = (change_at_ms - now_ms) / 1000
        if self._check is not None:
            change_s = min(change_s, self._check.until_s - now_s)
        alarm_s = self._schedule.next_at_s - now_s
        pause_s = max(0.001, min(change_s, alarm_s))
        return pause_s if math.isfinite(pause_s) else None

    # ---- updates ----

    def _apply(self, update: Callable[[float], None]) -> None:
        try:
            update(_to_ms(self._clock.monotonic_s()))
        except Exception:  # one bad update must not end the lamps
            _log.exception("An update of the panel's lamps and tones failed")

    def _play_due(self, until_s: float) -> None:
        """Play now all alarms that are due at a monotonic time or before."""
        for alarm in self._schedule.start_due(until_s):
            self._table_player.signal(alarm.signal, _to_ms(self._clock.monotonic_s()))

    # ---- pins ----

    def _render(self) -> None:
        """Drive all outputs for this moment, the buzzer first."""
        now_s = self._clock.monotonic_s()
        now_ms = _to_ms(now_s)
        self._table_player.advance(now_ms)
        player = self._shown_player(now_s)
        if self._buzzer is not None:
            self._drive("buzzer", partial(self._buzzer.sound, player.tone_hz(now_ms)))
        for pin, lamp in self._lamps.items():
            is_checked = self._check is not None and pin.name in self._check.lamps
            is_lit = is_checked or player.is_lit(pin.seat, pin.lamp, now_ms)
            self._drive(pin.name, partial(lamp.show, is_lit))

    def _shown_player(self, now_s: float) -> CuePlayer:
        """Return the player whose lamps and tones are shown: the table's, or that of a check."""
        if self._check is not None and now_s >= self._check.until_s:
            self._check = None
            self._check_player = CuePlayer()
        return self._table_player if self._check is None else self._check_player

    def _drive(self, name: str, action: Callable[[], None]) -> None:
        """Drive one lamp or the buzzer, unless it has failed before."""
        if name in self._failed:
            return
        try:
            action()
        except Exception as error:
            self._failed.add(name)
            self._on_failure(name, error)


def _to_ms(time_s: float) -> float:
    # rounded to microseconds, to remove floating point noise
    return round(time_s * 1000, 3)
