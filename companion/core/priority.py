"""Which threads go first where the processor has not time for all: keys, lamps and clocks before pictures."""

from __future__ import annotations

import contextlib
import os
import threading

READING = 5
"""How much a thread that reads pictures gives way (in steps of `nice`)."""
TIDYING = 10
"""And one whose work may wait for minutes."""


def give_way(by: int) -> None:
    """Let others go before the calling thread from now on, and before those that it starts; on Linux alone."""
    with contextlib.suppress(OSError, AttributeError):
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(19, os.getpriority(os.PRIO_PROCESS, thread) + by))
