"""Findings, their grades, and the health of the service.

The doctor is everything that examines machine and service. People see its findings with the
command `companion doctor` and on the page Health. Programs ask `/health`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Grade(StrEnum):
    """Severity of a finding, from the least to the most serious.

    `OK` means that this works, `NOTE` that it is good to know, `WARN` that it needs attention soon,
    and `FAIL` that it does not work.
    """

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    topic: str
    """What was checked, such as `disk`, in the words of the doctor's output."""
    grade: Grade
    text: str
    """What was seen and what to do, as a sentence."""


def ok(topic: str, text: str) -> Finding:
    """Return a finding that something works."""
    return Finding(topic, Grade.OK, text)


def note(topic: str, text: str) -> Finding:
    """Return a finding that is good to know."""
    return Finding(topic, Grade.NOTE, text)


def warn(topic: str, text: str) -> Finding:
    """Return a finding that something needs attention soon."""
    return Finding(topic, Grade.WARN, text)


def fail(topic: str, text: str) -> Finding:
    """Return a finding that something does not work."""
    return Finding(topic, Grade.FAIL, text)


# Exit statuses of `companion doctor`. 2 is left out, because it means wrong usage, as for all
# commands.
EXIT_STATUS: Mapping[Grade, int] = {Grade.OK: 0, Grade.NOTE: 0, Grade.WARN: 3, Grade.FAIL: 1}


def worst_grade(findings: Iterable[Finding]) -> Grade:
    """Return the most serious grade of the findings. `OK` if there are none.

    >>> worst_grade([Finding("clock", Grade.NOTE, ""), Finding("disk", Grade.WARN, "")])
    <Grade.WARN: 'warn'>
    """
    grades = (finding.grade for finding in findings)
    return max(grades, key=list(Grade).index, default=Grade.OK)


class Status(StrEnum):
    """Overall state of the service.

    `DEGRADED` means that it works, but something needs attention. `FAILING` means that a loop hangs
    or that the journal cannot be written.
    """

    OK = "ok"
    DEGRADED = "degraded"
    FAILING = "failing"


@dataclass(frozen=True)
class Health:
    """State of the service for programs (`/health`), without anything about games."""

    status: Status
    version: str
    uptime_s: float
    late: Mapping[str, float]
    """Loops that are late, with the seconds since their last round: `table`, `journal`, `camera`.

    Empty if all are alive.
    """
    journal: str
    """`ok`, `full` (no new game can begin), `unwritable` or `silent` (it does not answer)."""
    camera: str
    """`ok`, `none`, `trouble` or `no_board`."""
    pins: str
    """`ok`, `none` or `trouble`."""
    disk_free_mb: int | None
    """None if it is not known."""
    machine: Grade
    """The worst grade found on the machine."""


class HealthSource(Protocol):
    """What pages may ask about the health of the service, from any thread."""

    def health(self) -> Health:
        """Return the state at the last checks, at once."""

    def run_checks(self) -> tuple[Finding, ...]:
        """Run all checks and return their findings. This takes up to some seconds."""

    def worst_finding(self) -> str:
        """Return the worst problem at the last checks, as a sentence. Empty if there is none.

        This returns at once.
        """

    def support_zip(self) -> bytes:
        """Return the ZIP file that an owner sends to somebody who helps.

        This takes up to some seconds.
        """
