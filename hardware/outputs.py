"""Lamps and buzzer in time. Any thread may hand in cues, states and alarms, and one thread plays
them.

An alarm is played at its due time, however busy the machine is.
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
from hardware.cues import SHORT_LAMPS, seats_of
from hardware.player import CuePlayer
from hardware.wiring import Buzzer, Lamp, LampPin

_log = logging.getLogger(__name__)

_ROUNDING_S = 1e-6
SWITCH_S = 0.0005
"""Interval in seconds after which Python switches threads while lamps wait.

With Python's own 5 ms the lamp of a key came 2 to 3 ms later, and 7 ms later on a fifth of a core.
"""
LAMPS_FIRST_S = 0.004
"""Maximum time in seconds for which a change of the table waits until its lamps are lit.

Without it the threads that draw pages run first: on a fifth of a core the lamp of a key came after
43 ms (99th percentile), with it after 15 ms.
"""


class Schedule:
    """The pending alarms in order of their time (monotonic seconds)."""

    def __init__(self) -> None:
        self._waiting: list[Alarm] = []
        self._begun: frozenset[Alarm] = frozenset()

    def replace(self, alarms: Sequence[Alarm]) -> None:
        """Replace all alarms. One that is running does not begin again."""
        self._begun &= frozenset(alarms)
        self._waiting = sorted(frozenset(alarms) - self._begun, key=lambda alarm: alarm.at_s)

    def due(self, now_s: float) -> tuple[Alarm, ...]:
        """Return the alarms that have begun since the last call, in order."""
        due = tuple(alarm for alarm in self._waiting if alarm.at_s <= now_s + _ROUNDING_S)
        self._waiting = self._waiting[len(due) :]
        self._begun |= frozenset(due)
        return due

    @property
    def next_s(self) -> float:
        """Return when the next alarm is due. Infinite for never."""
        return self._waiting[0].at_s if self._waiting else math.inf

    @property
    def short(self) -> frozenset[Seat]:
        """Return the seats that are short of time by an alarm that still applies."""
        return frozenset(
            seat
            for alarm in self._begun
            if alarm.signal.cue in SHORT_LAMPS
            for seat in seats_of(alarm.signal)
        )


class _Trial(NamedTuple):
    """Until a monotonic time these lamps are on, and nothing of the table is shown."""

    until_s: float
    lamps: frozenset[str]


class Outputs:
    """Opened lamps and an opened buzzer. What is to be shown may be said from any thread, and
    returns at once; `step`, or else `run`, is called from one.

    `lose` is called once with the name of a lamp or buzzer that fails, which is not used any more.
    """

    def __init__(
        self,
        lamps: Mapping[LampPin, Lamp],
        buzzer: Buzzer | None,
        settings: PanelSettings,
        clock: Clock,
        lose: Callable[[str, Exception], None],
    ) -> None:
        self._lamps = lamps
        self._buzzer = buzzer
        self._clock = clock
        self._lose = lose
        self._failed: set[str] = set()
        self._orders: SimpleQueue[Callable[[float], None] | None] = SimpleQueue()
        """What changes what is shown, given the time in ms. None ends the thread."""
        self._has_thread = False
        self._is_shown = threading.Event()
        """Set whenever the thread has shown all orders that it knew of."""
        self._player = CuePlayer(settings.silent)
        self._schedule = Schedule()
        self._tried_out: _Trial | None = None
        self._trial = CuePlayer()

    # ---- from any thread ----

    def signal(self, signal: Signal) -> None:
        """Queue a cue."""
        self._orders.put(partial(self._player.signal, signal))

    def show(self, lamps: Mapping[Seat, SeatLamps], trouble: bool = False) -> None:
        """Set the lasting lamps of both seats. A seat that is left out is dark.

        Returns when they are lit, after `LAMPS_FIRST_S` at the latest, so that a key's lamp comes
        before pages are drawn.
        """
        self._is_shown.clear()
        self._orders.put(partial(self._player.show, dict(lamps), trouble))
        if self._has_thread:
            self._is_shown.wait(LAMPS_FIRST_S)

    def alarms(self, alarms: Sequence[Alarm]) -> None:
        """Replace all pending alarms. Each is played at its own time.

        A running alarm that is handed in again continues. A running cue of a short time that is not
        handed in any more stops blinking.
        """
        at_s = self._clock.monotonic_s()

        def set_alarms(now_ms: float) -> None:
            self._play_due(at_s)  # what was due before still plays
            self._schedule.replace(tuple(alarms))
            self._player.keep_short(self._schedule.short, now_ms)

        self._orders.put(set_alarms)

    def be_silent(self, silent: bool) -> None:
        """Switch tones off or on."""
        self._orders.put(lambda _: self._player.be_silent(silent))

    def try_out(self, until_s: float, lamps: frozenset[str], signal: Signal | None) -> None:
        """Show these lamps and this cue until a monotonic time, and nothing of the table."""

        def begin(now_ms: float) -> None:
            self._tried_out = _Trial(until_s, lamps)
            if signal is not None:
                self._trial = CuePlayer()
                self._trial.signal(signal, now_ms)

        self._orders.put(begin)

    def end(self) -> None:
        """End the thread."""
        self._orders.put(None)

    # ---- from one thread ----

    def step(self) -> None:
        """Process all orders, then play and show what is due now."""
        while not self._orders.empty():
            if (order := self._orders.get()) is not None:
                self._obey(order)
        self._play_due(self._clock.monotonic_s())
        self._render()

    def run(self) -> None:
        """Play everything at its time until the thread is told to end."""
        self._has_thread = True
        sys.setswitchinterval(SWITCH_S)
        while True:
            try:
                order = self._orders.get(timeout=self._rest_s())
                while order is not None:
                    self._obey(order)
                    order = self._orders.get(block=False)
                return
            except Empty:
                self._play_due(self._clock.monotonic_s())
                self._render()
                self._is_shown.set()

    # ---- time ----

    def _rest_s(self) -> float | None:
        """Return the seconds until something is due. None if nothing is."""
        now_s = self._clock.monotonic_s()
        change_s = (self._shown(now_s).next_change_ms(_ms(now_s)) - _ms(now_s)) / 1000
        if self._tried_out is not None:
            change_s = min(change_s, self._tried_out.until_s - now_s)
        alarm_s = self._schedule.next_s - now_s
        rest_s = max(0.001, min(change_s, alarm_s))
        return rest_s if math.isfinite(rest_s) else None

    # ---- orders ----

    def _obey(self, order: Callable[[float], None]) -> None:
        try:
            order(_ms(self._clock.monotonic_s()))
        except Exception:  # one bad order must not end the lamps
            _log.exception("The panel cannot show what it was told")

    def _play_due(self, until_s: float) -> None:
        for alarm in self._schedule.due(until_s):
            self._player.signal(alarm.signal, _ms(self._clock.monotonic_s()))

    # ---- pins ----

    def _render(self) -> None:
        """Drive all outputs for this moment, the buzzer first."""
        now_s = self._clock.monotonic_s()
        self._player.advance(_ms(now_s))
        patterns = self._shown(now_s)
        if self._buzzer is not None:
            self._drive("buzzer", partial(self._buzzer.sound, patterns.tone_hz(_ms(now_s))))
        for pin, lamp in self._lamps.items():
            is_tried = self._tried_out is not None and pin.name in self._tried_out.lamps
            is_lit = is_tried or patterns.is_lit(pin.seat, pin.lamp, _ms(now_s))
            self._drive(pin.name, partial(lamp.show, is_lit))

    def _shown(self, now_s: float) -> CuePlayer:
        """Return the player whose lamps and tones are shown: the table's, or that of a check."""
        if self._tried_out is not None and now_s >= self._tried_out.until_s:
            self._tried_out, self._trial = None, CuePlayer()
        return self._player if self._tried_out is None else self._trial

    def _drive(self, name: str, driving: Callable[[], None]) -> None:
        if name not in self._failed:
            try:
                driving()
            except Exception as error:
                self._failed.add(name)
                self._lose(name, error)


def _ms(at_s: float) -> float:
    return round(at_s * 1000, 3)
