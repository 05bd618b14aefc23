"""What of the service is alive: each loop says so by a beat, the watchdog and `/health` ask who has
fallen silent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from companion.core.clock import Clock

TABLE, JOURNAL, CAMERA = "table", "journal", "camera"
BOUNDS_S: Mapping[str, float] = {TABLE: 5.0, JOURNAL: 10.0, CAMERA: 30.0}
"""How long each may be silent. The table's loop beats ten times a second, the journal is asked
every two seconds, and the camera's loop beats with every frame, or every ten seconds while it waits
to open a camera once more: to open one may take a while longer."""


class Heartbeats:
    """When each loop was heard last. Every method may be called from any thread, none waits for
    anything.

    `bounds` are the names that are listened for with the seconds that each may be silent, counted
    from the making of this object: a loop that never begins is late as well. `loops` are those that
    note their last round themselves: each function returns its monotonic time.
    """

    def __init__(
        self,
        clock: Clock,
        bounds: Mapping[str, float],
        loops: Mapping[str, Callable[[], float]] | None = None,
    ) -> None:
        self._clock = clock
        self._loops = loops or {}
        self._heard_s = dict.fromkeys(bounds, clock.monotonic_s())
        self.bounds = dict(bounds)

    def beat(self, name: str) -> None:
        """Note that this loop has just done a round.

        A name without a bound is heard and never late.
        """
        self._heard_s[name] = self._clock.monotonic_s()

    def ages(self) -> Mapping[str, float]:
        """Return how many seconds ago each was heard."""
        # a copy, because other threads note their beats meanwhile
        heard_s, now_s = self._heard_s.copy(), self._clock.monotonic_s()
        for name, last_round_s in self._loops.items():
            if name in heard_s:
                heard_s[name] = max(heard_s[name], last_round_s())
        return {name: max(0.0, now_s - at_s) for name, at_s in heard_s.items()}

    def late(self) -> Mapping[str, float]:
        """Return who was not heard for longer than its bound, with the seconds since then.

        Empty: all are alive.

        >>> from companion.core.clock import FakeClock
        >>> clock = FakeClock(); vitals = Heartbeats(clock, {"table": 5.0, "camera": 30.0})
        >>> clock.advance(6.0); vitals.late()
        {'table': 6.0}
        >>> vitals.beat("table"); vitals.late()
        {}
        """
        return {
            name: age_s
            for name, age_s in self.ages().items()
            if age_s > self.bounds.get(name, float("inf"))
        }
