"""Lamps and buzzer in time. Any thread may hand in cues, states and alarms, and one thread plays
them.

An alarm is played at its due time, however busy the machine is.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple

from companion.core.clock import Clock
from companion.core.config import PanelSettings
from companion.core.kit import Seat
from companion.core.ports import Alarm, SeatLamps, Signal
from hardware.player import CuePlayer
from hardware.schedule import Schedule
from hardware.wiring import Buzzer, Lamp, LampPin

_log = logging.getLogger(__name__)

SWITCH_S = 0.0005
"""Interval in seconds after which Python switches threads while lamps wait.

With Python's own 5 ms the lamp of a key came 2 to 3 ms later, and 7 ms later on a fifth of a core.
"""
LATE_S = 0.25
"""Delay in seconds beyond which an alarm makes no sound, as after the machine slept. It still
shows.
"""


class Show(NamedTuple):
    """The lasting lamps of both seats."""

    lamps: Mapping[Seat, SeatLamps]
    trouble: bool


class SetAlarms(NamedTuple):
    """All alarms that are pending after `at_s`. What was due before is still played."""

    alarms: tuple[Alarm, ...]
    at_s: float


class SetSilent(NamedTuple):
    """Whether tones are off."""

    silent: bool


class TryOut(NamedTuple):
    """What lamps and buzzer show during a check, until a monotonic time: lamps that are on, and a
    cue.
    """

    until_s: float
    lamps: frozenset[str]
    signal: Signal | None


_Order = Signal | Show | SetAlarms | SetSilent | TryOut


class Outputs:
    """The opened lamps and buzzer. Any thread may fill `orders`. Everything else belongs to one
    thread.

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
        self.orders: SimpleQueue[_Order | None] = SimpleQueue()
        """Queue of what is to be shown. None ends the thread."""
        self.is_shown = threading.Event()
        """Set whenever all orders that the thread knew of are shown."""
        self._player = CuePlayer(settings.silent)
        self._schedule = Schedule()
        self._tried_out: TryOut | None = None
        self._trial = CuePlayer()

    def step(self) -> None:
        """Process all orders, then play and show what is due now."""
        while not self.orders.empty():
            if (order := self.orders.get()) is not None:
                self._obey(order)
        self._play_due(self._clock.monotonic_s())
        self._render()

    def run(self) -> None:
        """Play everything at its time until the thread is told to end."""
        sys.setswitchinterval(SWITCH_S)
        while True:
            try:
                order = self.orders.get(timeout=self._rest_s())
                while order is not None:
                    self._obey(order)
                    order = self.orders.get(block=False)
                return
            except Empty:
                self._play_due(self._clock.monotonic_s())
                self._render()
                self.is_shown.set()

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

    def _obey(self, order: _Order) -> None:
        now_ms = _ms(self._clock.monotonic_s())
        try:
            match order:
                case Signal():
                    self._player.signal(order, now_ms)
                case Show():
                    self._player.show(order.lamps, order.trouble, now_ms)
                case SetAlarms():
                    self._play_due(order.at_s)
                    self._schedule.replace(order.alarms)
                    self._player.keep_short(self._schedule.short, now_ms)
                case SetSilent():
                    self._player.be_silent(order.silent)
                case TryOut():
                    self._tried_out = order
                    if order.signal is not None:
                        self._trial = CuePlayer()
                        self._trial.signal(order.signal, now_ms)
        except Exception:  # one bad order must not end the lamps
            _log.exception("The panel cannot show %s", order)

    def _play_due(self, until_s: float) -> None:
        for alarm in self._schedule.due(until_s):
            now_s = self._clock.monotonic_s()
            self._player.signal(alarm.signal, _ms(now_s), is_late=now_s - alarm.at_s > LATE_S)

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
