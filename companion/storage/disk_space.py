"""How much room is left where the games are kept, and what is held in reserve for the game that is
on.

A file of some megabytes lies beside the journal and holds nothing: when the disk is full it is
given up, and the game that is on has room to its end, while no other one may begin. Comforts stop
earlier: photographs, pictures of games.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from companion.core.i18n import say

RESERVE_BYTES = 8_000_000
"""Room for the longest game many times over (0.1 MB), its write-ahead log, and what else is written
meanwhile."""
SHORT_BYTES, FULL_BYTES = 64_000_000, 24_000_000
"""With less than that, comforts stop. With less than that no game begins."""
_EASE = 1.25
"""Factor by which more room is wanted to go back: a disk at the limit must not change its mind with
every file."""


class DiskLevel(StrEnum):
    """How much room there is: `SHORT` has none for comforts, `FULL` none for another game."""

    PLENTY = "plenty"
    SHORT = "short"
    FULL = "full"


def free_bytes(folder: Path) -> int:
    """Return the bytes that are free for everybody on the disk of a folder. Raises `OSError`."""
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


class DiskSpace:
    """The room beside one journal. `look` is called now and then, `give_up` by whoever finds the
    disk full.

    Any thread may call. `free` answers the free bytes of a folder.
    """

    def __init__(self, journal: Path, free: Callable[[Path], int] = free_bytes) -> None:
        self.reserve = journal.with_name(f"{journal.stem}.reserve")
        self.level = DiskLevel.PLENTY
        self._free = free
        self._lock = threading.Lock()
        self._was_full = False

    @property
    def has_room(self) -> bool:
        """Return whether there is room for what can be done without."""
        return self.level is DiskLevel.PLENTY

    @property
    def may_begin(self) -> bool:
        """Return whether there is room for another game."""
        return self.level is not DiskLevel.FULL

    @property
    def sentence(self) -> str:
        """Return what people are told. Empty: nothing. A figure in it would be told, and spoken, at
        each change.
        """
        if self.level is DiskLevel.FULL:
            return say(
                "The disk is full: the current game can be finished, but no new one can start. "
                "Remove "
                "old games or other files."
            )
        if self.level is DiskLevel.SHORT:
            return say(
                "The disk is almost full: no photographs are taken. Remove old games or other "
                "files."
            )
        return ""

    def look(self) -> DiskLevel:
        """Measure anew, and lay the reserve aside again where there is room for it."""
        with self._lock:
            try:
                free = self._free(self.reserve.parent)
            except OSError:
                free = 0
            # the reserve is laid aside again only where it leaves room enough
            has_reserve = self._has_reserve() or (
                free >= self._bound(FULL_BYTES, self._was_full) + RESERVE_BYTES
                and self._lay_aside()
            )
            if not has_reserve or free < self._bound(FULL_BYTES, self.level is DiskLevel.FULL):
                self.level = DiskLevel.FULL
            elif free < self._bound(SHORT_BYTES, self.level is not DiskLevel.PLENTY):
                self.level = DiskLevel.SHORT
            else:
                self.level = DiskLevel.PLENTY
            self._was_full = self.level is DiskLevel.FULL
            return self.level

    def give_up(self) -> bool:
        """Give the reserve up, and return whether there was one. The disk is full then until `look`
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

    def _lay_aside(self) -> bool:
        try:
            with self.reserve.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
                os.fsync(file.fileno())
        except OSError:
            self.reserve.unlink(missing_ok=True)
            return False
        return True
