"""Structured values for a line of the log, which machines can search.

`companion/service/logs.py` writes them to the systemd journal as fields of their own, beside the
sentence for people: `log.info("Ready", extra=log_fields("ready", seconds=1.2))`.
"""

from __future__ import annotations

from typing import Any


def log_fields(event: str, /, **fields: object) -> dict[str, Any]:
    """Return the value of `extra` for a log call: the name of the event, and its values.

    >>> log_fields("ready", seconds=1.2)
    {'log_fields': {'event': 'ready', 'seconds': 1.2}}
    """
    return {"log_fields": {"event": event, **fields}}
