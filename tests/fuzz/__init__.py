"""Fuzzing: generated requests, events, files and texts for everything that reads them.

`make fuzz N=1000000` runs a million cases. `fuzz.running` says what targets, probes and batches
are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.running import Target


def every_target() -> tuple[Target, ...]:
    """Return all targets. They are imported late, because they import the whole program."""
    from fuzz import doors, files, hub, tables, texts  # noqa: PLC0415

    return (*doors.TARGETS, *hub.TARGETS, *tables.TARGETS, *files.TARGETS, *texts.TARGETS)
