"""Free space for the games, and a reserve for the game that is running.

The reserve is an empty file of some megabytes beside the journal. It is deleted when the disk is
full, so that the running game has room to its end. No other game may begin then. Photographs and
pictures of games stop earlier.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from companion.core.i18n import say

RESERVE_BYTES = 8_000_000
"""Size of the reserve: far more than the longest game (0.1 MB), its write-ahead log, and other
files of that time.
"""
SHORT_BYTES, FULL_BYTES = 64_000_000, 24_000_000
"""Minimum free bytes for photographs and pictures of games, and for starting a game."""
_EASE = 1.25
"""Factor on the limits for returning to a better level, so that a disk near the limit does not
switch with every file.
"""


class DiskLevel(StrEnum):
    """The level of free space. At `SHORT` photographs stop, at `FULL` no game may start."""

    PLENTY = "plenty"
    SHORT = "short"
    FULL = "full"


def free_bytes(folder: Path) -> int:
    """Return the free bytes, for users without privileges, on the disk of a folder. Raises
    `OSError`.
    """
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


class DiskSpace:
    """The free space beside one journal. `look` is called at intervals, `free_reserve` when a write
    finds the disk full.

    Any thread may call. `free` returns the free bytes of a folder.
    """

    def __init__(self, journal: Path, free: Callable[[Path], int] = free_bytes) -> None:
        self.reserve = journal.with_name(f"{journal.stem}.reserve")
        self.level = DiskLevel.PLENTY
        self._free = free
        self._lock = threading.Lock()
        self._was_full = False

    @property
    def has_room(self) -> bool:
        """Return whether there is room for photographs and pictures of games."""
        return self.level is DiskLevel.PLENTY

    @property
    def may_begin(self) -> bool:
        """Return whether there is room for another game."""
        return self.level is not DiskLevel.FULL

    @property
    def sentence(self) -> str:
        """Return the warning for people, or an empty string.

        It has no figures, because each change would be shown and spoken again.
        """
        if self.level is DiskLevel.FULL:
            return say(
                "The disk is full: the current game can be finished, but no new one can start. "
                "Remove old games or other files."
            )
        if self.level is DiskLevel.SHORT:
            return say(
                "The disk is almost full: no photographs are taken. Remove old games or other "
                "files."
            )
        return ""

    def look(self) -> DiskLevel:
        """Measure the free space, and restore the reserve if there is room for it."""
        with self._lock:
            try:
                free = self._free(self.reserve.parent)
            except OSError:
                free = 0
            # Restore the reserve only if enough space remains beside it.
            has_reserve = self._has_reserve() or (
                free >= self._bound(FULL_BYTES, self._was_full) + RESERVE_BYTES
                and self._make_reserve()
            )
            if not has_reserve or free < self._bound(FULL_BYTES, self.level is DiskLevel.FULL):
                self.level = DiskLevel.FULL
            elif free < self._bound(SHORT_BYTES, self.level is not DiskLevel.PLENTY):
                self.level = DiskLevel.SHORT
            else:
                self.level = DiskLevel.PLENTY
            self._was_full = self.level is DiskLevel.FULL
            return self.level

    def free_reserve(self) -> bool:
        """Delete the reserve, and return whether there was one. The level is `FULL` until `look`
        finds room.
        """
        self.level = DiskLevel.FULL
        try:
            self.reserve.unlink()
        except OSError:
            return False
        return True

    def _bound(self, limit: int, is_below: bool) -> int:
        return int(limit * _EASE) if is_below else limit

    def _has_reserve(self) -> bool:
        try:
            return self.reserve.stat().st_size >= RESERVE_BYTES
        except OSError:
            return False

    def _make_reserve(self) -> bool:
        try:
            with self.reserve.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
                os.fsync(file.fileno())
        except OSError:
            self.reserve.unlink(missing_ok=True)
            return False
        return True
