"""Pending and running alarms. Pure: no pin, no thread, no clock."""

from __future__ import annotations

import math
from collections.abc import Sequence

from companion.core.kit import Seat
from companion.core.ports import Alarm
from hardware.cues import SHORT_LAMPS, seats_of

_ROUNDING_S = 1e-6


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
