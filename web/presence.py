"""Whose phone is gone: seats whose pages have had no stream for a while, during a game."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase
from companion.table.table import Table

AWAY_S = 30.0
"""Seconds without a stream after which a seat's phone counts as gone."""


class Presence:
    """Counts the streams of each seat. `look` is to be called every few seconds."""

    def __init__(self, table: Table, now_s: Callable[[], float]) -> None:
        self._table = table
        self._now_s = now_s
        self._open: Counter[Seat] = Counter()
        self._there: dict[Seat, tuple[str, float]] = {}
        """The last sitting with a stream, see `SeatView.sitting`, and its time."""
        self._lock = threading.Lock()
        self.gone: frozenset[Seat] = frozenset()

    def begin(self, *seats: Seat) -> Callable[[], None]:
        """Count a stream of these seats, and return what ends it."""
        self._count(seats, 1)
        return lambda: self._count(seats, -1)

    def _count(self, seats: tuple[Seat, ...], change: int) -> None:
        with self._lock:
            for seat in seats:
                self._open[seat] += change
        self.look()

    def look(self) -> None:
        """Find out who is gone, and have all pages drawn anew when that has changed."""
        view, now_s = self._table.view(), self._now_s()
        is_on = view.phase not in (Phase.LOBBY, Phase.OVER)
        with self._lock:
            for seat in SEATS:
                shown = view.seats[seat]
                is_there = not is_on or shown.door != "phone" or self._open[seat] > 0
                if is_there or self._there.get(seat, ("", 0.0))[0] != shown.sitting:
                    self._there[seat] = (shown.sitting, now_s)
            gone = frozenset(
                seat for seat, (_, at_s) in self._there.items() if now_s - at_s >= AWAY_S
            )
            is_new, self.gone = gone != self.gone, gone
        if is_new:
            self._table.redraw()
