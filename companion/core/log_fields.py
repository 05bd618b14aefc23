"""Values that go with a line of the log, for machines to search by."""

from __future__ import annotations

from typing import Any

SLOW_S = 1.0
"""Seconds after which a request is logged as slow."""


def log_fields(event: str, /, **fields: object) -> dict[str, Any]:
    """Return what to pass as `extra`: the event, and values that a machine may search by.

    >>> log_fields("ready", seconds=1.2)
    {'log_fields': {'event': 'ready', 'seconds': 1.2}}
    """
    return {"log_fields": {"event": event, **fields}}
