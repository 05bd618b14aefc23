"""Memory and processor: the allocator, detection of small machines, and thread priorities.

`tune_allocator` changes settings of the C library's allocator, whose defaults do not suit this
program. glibc gives each thread an arena of its own, and returns small blocks to the system only
from the end of an arena. Each freed picture also raises the size above which blocks are mapped
separately. So some twenty threads that draw pages and pictures would keep hundreds of megabytes
that are not in use (mallopt(3)). Other C libraries (musl) have no such settings, so nothing is done
there.
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

# Parameters of mallopt, as in malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
# Number of arenas. With more arenas, threads would wait less for each other, but more memory would
# be kept.
_MAX_ARENAS = 1
# Size in bytes above which blocks are mapped separately and returned at once: pictures, whole
# files, documents. It is glibc's own initial value, which no longer grows once it has been set.
_MMAP_THRESHOLD_BYTES = 128 * 1024
# Bytes that may stay free at the end of the arena. With a smaller number, memory would be returned
# that is soon needed again.
_TRIM_THRESHOLD_BYTES = 1024 * 1024
# Memory in MiB below which a machine is small. Boards of 512 MB report 416 to 505, depending on the
# memory of the graphics, the next larger ones 900 and more.
SMALL_MACHINE_MB = 700

# Increment of the nice value for a thread that reads pictures, so that pages and keys go first.
NICE_READING = 5
# Increment of the nice value for a thread whose work may wait for minutes.
NICE_BACKGROUND = 10


def tune_allocator() -> bool:
    """Make the allocator return freed memory to the system. Return whether the C library can.

    Call this before threads are started, because a thread keeps the arena that it gets at its
    start.
    """
    libc = _load_glibc()
    if libc is None:
        return False
    # mallopt returns 1 if it accepts a value. All are set, even if one is refused.
    answers = [
        libc.mallopt(_M_ARENA_MAX, _MAX_ARENAS),
        libc.mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD_BYTES),
        libc.mallopt(_M_TRIM_THRESHOLD, _TRIM_THRESHOLD_BYTES),
    ]
    return answers == [1, 1, 1]


def trim_memory() -> bool:
    """Give free pages back to the system, also those between used ones. Return whether any were.

    It takes some milliseconds, during which other threads cannot allocate. So call it in quiet
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
    return libc if hasattr(libc, "gnu_get_libc_version") else None


@cache
def is_small_machine(root: Path = Path("/")) -> bool:
    """Return whether the machine has so little memory that it should take small pictures.

    It reads `MemTotal` of `/proc/meminfo` below `root`. If that is missing, the machine is not
    small.
    """
    try:
        meminfo = (root / "proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    total = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.MULTILINE)
    return total is not None and int(total[1]) / 1024 < SMALL_MACHINE_MB


def lower_priority(increment: int) -> None:
    """Lower the priority of the calling thread by an increment of its nice value.

    Threads that this thread starts later have the same priority. On other systems than Linux, and
    where the system forbids it, nothing happens.
    """
    with contextlib.suppress(OSError, AttributeError):
        thread = threading.get_native_id()
        nice = os.getpriority(os.PRIO_PROCESS, thread) + increment
        # 19 is the lowest priority (setpriority(2))
        os.setpriority(os.PRIO_PROCESS, thread, min(19, nice))
