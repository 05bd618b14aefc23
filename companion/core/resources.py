"""Memory and processor: what is saved of them, how much there is, and which threads go first.

The C library's allocator is told to give back what is freed: a service of many threads would keep
it.

glibc gives each thread an arena of its own and returns memory of small blocks only from the end of
an arena; pictures raise the size from which blocks are mapped for themselves. So without a word to
it some twenty threads that draw pages and pictures keep hundreds of megabytes that nobody uses
(mallopt(3), "Environment variables"). Said here by the program itself, so that it holds however it
is started. Other C libraries (musl) know no such settings: nothing is done.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Names of malloc.h."""
ARENAS = 1
MAPPED_BYTES = 128 * 1024
"""Blocks from this size on are mapped for themselves and given back at once: pictures, whole files,
documents."""
SPARE_BYTES = 1024 * 1024
"""Bytes that may stay free at the arena's end."""
SMALL_MB = 700
"""Boards of 512 MB tell of 416 to 505, according to what the graphics take; the next larger ones of
900 and more."""

READING = 5
"""Steps of `nice` by which a thread that reads pictures gives way."""
TIDYING = 10
"""Steps of `nice` of a thread whose work may wait for minutes."""


def save_memory() -> bool:
    """Have freed memory given back.

    Return whether this C library can be told. Call it before threads are begun.
    """
    libc = _glibc()
    if libc is None:
        return False
    settings = (
        (_ARENA_MAX, ARENAS),
        (_MMAP_THRESHOLD, MAPPED_BYTES),
        (_TRIM_THRESHOLD, SPARE_BYTES),
    )
    answers = [libc.mallopt(name, value) for name, value in settings]
    return answers == [1] * len(settings)


def give_back() -> bool:
    """Give back whole pages that are free between others, too. Return whether there were any.

    It takes some milliseconds, in which other threads wait for memory: for quiet moments.
    """
    libc = _glibc()
    return libc is not None and libc.malloc_trim(0) == 1


@cache
def _glibc() -> Any:
    """Return the C library where it is glibc, else None."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    names = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return libc if all(hasattr(libc, name) for name in names) else None


@cache
def is_small_machine(root: Path = Path("/")) -> bool:
    """Return whether it has so little memory that pictures should be small and few be kept.

    By `MemTotal` of `/proc/meminfo` below `root`; where that is not told, it has enough.
    """
    try:
        meminfo = (root / "proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    total = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    return total is not None and int(total[1]) / 1024 < SMALL_MB


def give_way(by: int) -> None:
    """Let others go before the calling thread and before those that it starts.

    On Linux alone.
    """
    with contextlib.suppress(OSError, AttributeError):
        thread = threading.get_native_id()
        nice = os.getpriority(os.PRIO_PROCESS, thread) + by
        # 19 is the lowest priority (setpriority(2))
        os.setpriority(os.PRIO_PROCESS, thread, min(19, nice))
