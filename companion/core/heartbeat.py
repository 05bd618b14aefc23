"""Liveness of the service: each loop reports by a beat. The watchdog and `/health` ask which loops
have stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from companion.core.clock import Clock

TABLE, JOURNAL, CAMERA = "table", "journal", "camera"
BOUNDS_S: Mapping[str, float] = {TABLE: 5.0, JOURNAL: 10.0, CAMERA: 30.0}
"""Maximum time in seconds between two beats. The table's loop beats ten times a second, and the
journal is checked every two seconds. The camera's loop beats with every frame, or every ten seconds
while it retries to open a camera, which may take a while longer.
"""


class Heartbeats:
    """The last beat of each loop. Every method may be called from any thread and never blocks.

    `bounds` are the monitored names with their maximum seconds between beats, counted from the
    creation of this object: a loop that never starts is late as well. `loops` are loops that record
    their last round themselves. Each function returns its monotonic time.
    """

    def __init__(
        self,
        clock: Clock,
        bounds: Mapping[str, float],
        loops: Mapping[str, Callable[[], float]] | None = None,
    ) -> None:
        self._clock = clock
        self._loops = loops or {}
        self._beats_s = dict.fromkeys(bounds, clock.monotonic_s())
        self.bounds = dict(bounds)

    def beat(self, name: str) -> None:
        """Record that this loop has just done a round.

        A name without a bound is recorded but is never late.
        """
        self._beats_s[name] = self._clock.monotonic_s()

    def ages(self) -> Mapping[str, float]:
        """Return the seconds since the last beat of each loop."""
        # a copy, because other threads record beats meanwhile
        beats_s, now_s = self._beats_s.copy(), self._clock.monotonic_s()
        for name, last_round_s in self._loops.items():
            if name in beats_s:
                beats_s[name] = max(beats_s[name], last_round_s())
        return {name: max(0.0, now_s - at_s) for name, at_s in beats_s.items()}

    def late(self) -> Mapping[str, float]:
        """Return the loops that exceed their bound, with the seconds since their last beat.

        Empty if all are alive.

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
