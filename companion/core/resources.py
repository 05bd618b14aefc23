"""Memory and processor: saving memory, detecting small machines, and thread priorities.

The C library's allocator is set to return freed memory to the system, which a service of many
threads would otherwise keep.

glibc gives each thread its own arena and returns memory of small blocks only from the end of an
arena. Pictures raise the size above which blocks are mapped separately. With the defaults, some
twenty threads that draw pages and pictures keep hundreds of megabytes that are not in use
(mallopt(3), "Environment variables"). The program sets this itself, so that it works however it is
started. Other C libraries (musl) have no such settings, so nothing is done there.
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
"""Parameters of mallopt in malloc.h: `M_TRIM_THRESHOLD`, `M_MMAP_THRESHOLD`, `M_ARENA_MAX`."""
ARENAS = 1
MAPPED_BYTES = 128 * 1024
"""Size in bytes above which blocks are mapped separately and returned at once: pictures, whole
files, documents.
"""
SPARE_BYTES = 1024 * 1024
"""Bytes that may stay free at the end of the arena."""
SMALL_MB = 700
"""Memory in MiB below which a machine is small. Boards of 512 MB report 416 to 505, depending on
the memory of the graphics, the next larger ones 900 and more.
"""

READING = 5
"""Increment of the nice value for a thread that reads pictures."""
TIDYING = 10
"""Increment of the nice value for a thread whose work may wait for minutes."""


def save_memory() -> bool:
    """Make the allocator return freed memory to the system. Call it before threads are started.

    Return whether this C library supports it.
    """
    libc = _load_glibc()
    if libc is None:
        return False
    settings = (
        (_ARENA_MAX, ARENAS),
        (_MMAP_THRESHOLD, MAPPED_BYTES),
        (_TRIM_THRESHOLD, SPARE_BYTES),
    )
    answers = [libc.mallopt(name, value) for name, value in settings]
    return answers == [1] * len(settings)


def return_memory() -> bool:
    """Return free pages to the system, also those between used ones. Return whether there were any.

    It takes some milliseconds during which other threads cannot allocate, so call it in quiet
    moments.
    """
    libc = _load_glibc()
    return libc is not None and libc.malloc_trim(0) == 1


@cache
def _load_glibc() -> Any:
    """Return the C library if it is glibc, else None."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    names = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return libc if all(hasattr(libc, name) for name in names) else None


@cache
def is_small_machine(root: Path = Path("/")) -> bool:
    """Return whether the machine has so little memory that pictures should be small and few be
    cached.

    It reads `MemTotal` in `/proc/meminfo` below `root`. If that is missing, the machine is not
    small.
    """
    try:
        meminfo = (root / "proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    total = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    return total is not None and int(total[1]) / 1024 < SMALL_MB


def lower_priority(by: int) -> None:
    """Lower the priority of the calling thread, and of threads that it starts later. Works only on
    Linux.
    """
    with contextlib.suppress(OSError, AttributeError):
        thread = threading.get_native_id()
        nice = os.getpriority(os.PRIO_PROCESS, thread) + by
        # 19 is the lowest priority (setpriority(2))
        os.setpriority(os.PRIO_PROCESS, thread, min(19, nice))
