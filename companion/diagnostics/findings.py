"""What the doctor finds, how serious it is, and what the pages ask of the service's health."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Grade(StrEnum):
    """How serious a finding is. Only `FAIL` keeps the companion from running. `WARN` wants to be
    seen to soon.
    """

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `text` says what was seen and what to do."""

    topic: str
    grade: Grade
    text: str


EXIT_STATUS: Mapping[Grade, int] = {Grade.OK: 0, Grade.NOTE: 0, Grade.WARN: 3, Grade.FAIL: 1}
"""What `companion doctor` ends with. 2 is wrong usage, as everywhere."""


def worst(findings: Iterable[Finding]) -> Grade:
    """Return the most serious grade.

    >>> worst([Finding("clock", Grade.NOTE, ""), Finding("disk", Grade.WARN, "")])
    <Grade.WARN: 'warn'>
    """
    order = list(Grade)
    return max((finding.grade for finding in findings), key=order.index, default=Grade.OK)


class Status(StrEnum):
    """How the service is as a whole: `FAILING` cannot go on by itself."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILING = "failing"


@dataclass(frozen=True)
class Health:
    """What a machine may know of the service, nothing of any game.

    `late`: who of the table's loop, the journal and the camera has fallen silent, with the seconds
    since it was heard. `journal` is `ok`, `full` (no other game can begin), `unwritable` or
    `silent`; `camera` and `pins` are `ok`, `none` or `trouble`, a camera also `no_board`; `machine`
    is the worst that was found on it.
    """

    status: Status
    version: str
    uptime_s: float
    late: Mapping[str, float]
    journal: str
    camera: str
    pins: str
    disk_free_mb: int
    machine: Grade


class RefusalCounter:
    """Counts what was refused, by kind and without its words. From any thread."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._told: Counter[str] = Counter()
        self._lock = threading.Lock()

    def refused(self, kind: str) -> None:
        """Count a refused request."""
        with self._lock:
            self._counts[kind] += 1

    def news(self) -> Mapping[str, int]:
        """Return how many of each kind since this was asked last."""
        with self._lock:
            fresh, self._told = self._counts - self._told, self._counts.copy()
        return dict(sorted(fresh.items()))


class HealthRoom(Protocol):
    """What the pages ask of the service's health, from any thread."""

    tally: RefusalCounter

    def state(self) -> Health:
        """Return how it is now. Costs next to nothing."""

    def examine(self) -> tuple[Finding, ...]:
        """Look at everything. Takes up to some seconds."""

    def line(self) -> str:
        """Return the worst that is known to be wrong, as a sentence.

        Empty: nothing is. Costs nothing.
        """

    def bundle(self) -> bytes:
        """Return the ZIP file that an owner sends when something is wrong.

        Takes up to some seconds.
        """
