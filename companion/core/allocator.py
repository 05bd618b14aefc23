"""The C library's allocator, told to give back what is freed: a service of many threads would keep it.

glibc gives each thread an arena of its own and returns memory of small blocks only from the end of an arena; pictures
raise the size from which blocks are mapped for themselves. So without a word to it some twenty threads that draw pages
and pictures keep hundreds of megabytes that nobody uses (mallopt(3), "Environment variables"). Said here by the
program itself, so that it holds however it is started. Other C libraries (musl) know no such settings: nothing is done.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Names of malloc.h."""
ARENAS = 1
MAPPED_BYTES = 128 * 1024
"""Blocks from this size on are mapped for themselves and given back at once: pictures, whole files, documents."""
SPARE_BYTES = 1024 * 1024
"""So much may stay free at the arena's end."""


def save_memory() -> bool:
    """Have freed memory given back; answers whether this C library can be told. Call it before threads are begun."""
    libc = _glibc()
    if libc is None:
        return False
    settings = ((_ARENA_MAX, ARENAS), (_MMAP_THRESHOLD, MAPPED_BYTES), (_TRIM_THRESHOLD, SPARE_BYTES))
    answers = [libc.mallopt(name, value) for name, value in settings]
    return answers == [1] * len(settings)


def give_back() -> bool:
    """Give back whole pages that are free between others, too; answers whether there were any.

    It takes some milliseconds, in which other threads wait for memory: for quiet moments.
    """
    libc = _glibc()
    return libc is not None and libc.malloc_trim(0) == 1


@cache
def _glibc() -> Any:
    """The C library where it is glibc, else None."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)
    return libc if all(hasattr(libc, name) for name in ("gnu_get_libc_version", "mallopt", "malloc_trim")) else None
