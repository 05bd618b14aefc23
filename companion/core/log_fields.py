"""Structured values for a line of the log, which machines can search."""

from __future__ import annotations

from typing import Any

SLOW_S = 1.0
"""Seconds after which a request is logged as slow."""


def log_fields(event: str, /, **fields: object) -> dict[str, Any]:
    """Return the value of `extra` for a log call: the event, and values that machines can search.

    >>> log_fields("ready", seconds=1.2)
    {'log_fields': {'event': 'ready', 'seconds': 1.2}}
    """
    return {"log_fields": {"event": event, **fields}}
