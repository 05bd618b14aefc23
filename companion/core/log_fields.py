"""Structured values for a line of the log, which machines can search."""

from __future__ import annotations

from typing import Any


def log_fields(event: str, /, **fields: object) -> dict[str, Any]:
    """Return the value of `extra` for a log call: the event, and values that machines can search.

    >>> log_fields("ready", seconds=1.2)
    {'log_fields': {'event': 'ready', 'seconds': 1.2}}
    """
    return {"log_fields": {"event": event, **fields}}
