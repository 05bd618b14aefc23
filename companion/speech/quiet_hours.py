"""Quiet hours by the machine's own clock on the wall."""

from __future__ import annotations

from datetime import datetime, tzinfo

from companion.core.config import QuietSettings


def is_quiet(hours: QuietSettings, wall_s: float, zone: tzinfo | None = None) -> bool:
    """Return whether the quiet hours hold at a Unix time. `zone` None: where the machine stands.

    They may go over midnight. What counts is the clock on the wall: where it is put forward or back
    in the night, they are an hour shorter or longer.

    >>> from datetime import UTC
    >>> [is_quiet(QuietSettings("22:00", "08:00"), hour * 3600.0, UTC) for hour in (21, 22, 31, 32)]
    [False, True, True, False]
    """
    if not hours.begin or not hours.end:
        return False
    now = datetime.fromtimestamp(wall_s, zone).strftime("%H:%M")
    if hours.begin < hours.end:
        return hours.begin <= now < hours.end
    return now >= hours.begin or now < hours.end
