"""Alarms that wait for their time, and those that have begun. Pure: no pin, no thread, no clock."""

from __future__ import annotations

import math
from collections.abc import Sequence

from companion.core.kit import Seat
from companion.core.ports import Alarm
from hardware.cues import SHORT_LAMPS, seats_of

_ROUNDING_S = 1e-6


class Schedule:
    """The alarms that are pending, in order of their time (monotonic seconds)."""

    def __init__(self) -> None:
        self._waiting: list[Alarm] = []
        self._begun: frozenset[Alarm] = frozenset()

    def replace(self, alarms: Sequence[Alarm]) -> None:
        """Take these alarms instead of all others.

        One that has begun is known again and does not begin anew.
        """
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
        """Return when the next alarm is due. Infinite: never."""
        return self._waiting[0].at_s if self._waiting else math.inf

    @property
    def short(self) -> frozenset[Seat]:
        """Return the seats whose time has been said to be short, by an alarm that is still held."""
        return frozenset(
            seat
            for alarm in self._begun
            if alarm.signal.cue in SHORT_LAMPS
            for seat in seats_of(alarm.signal)
        )
