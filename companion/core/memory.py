"""Is this a board with little memory, such as a Raspberry Pi Zero 2 W or 3A+?"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SMALL_MB = 700
"""Boards of 512 MB tell of 416 to 505, according to what the graphics take; the next larger ones of 900 and more."""


@cache
def is_small_machine(root: Path = Path("/")) -> bool:
    """Has it so little memory that pictures should be small and few be kept?

    By `MemTotal` of `/proc/meminfo` below `root`; where that is not told, it has enough.
    """
    try:
        told = (root / "proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    found = re.search(r"^MemTotal:\s+(\d+) kB", told, re.MULTILINE)
    return found is not None and int(found[1]) / 1024 < SMALL_MB
