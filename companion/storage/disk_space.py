"""Free space on the disk for games and photographs. Photographs stop before games do."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from companion.core.i18n import say

# Minimum free space in bytes for taking photographs.
MIN_PHOTOGRAPH_FREE_BYTES = 64_000_000
# Minimum free space in bytes for starting a game. The longest game takes 0.1 MB, so every game that
# has begun can be finished.
MIN_GAME_FREE_BYTES = 24_000_000
# Factor on the limits for returning to a better level, so that a disk near the limit does not
# switch with every file.
_RECOVERY_FACTOR = 1.25


class DiskLevel(StrEnum):
    """The level of free space. At `SHORT` photographs stop, at `FULL` no game may start."""

    PLENTY = "plenty"
    SHORT = "short"
    FULL = "full"


def free_bytes(folder: Path) -> int:
    """Return the free bytes on the disk of a folder, for users without privileges.

    Raises `OSError`.
    """
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


class DiskSpace:
    """The free space on the disk of one folder, in three levels. The service measures it regularly.

    `count_free` returns the free bytes of a folder's disk. Tests replace it.
    """

    def __init__(self, folder: Path, count_free: Callable[[Path], int] = free_bytes) -> None:
        self.level = DiskLevel.PLENTY
        self._folder = folder
        self._count_free = count_free

    @property
    def allows_photographs(self) -> bool:
        """Whether there is room for photographs."""
        return self.level is DiskLevel.PLENTY

    @property
    def allows_new_game(self) -> bool:
        """Whether there is room for another game."""
        return self.level is not DiskLevel.FULL

    @property
    def warning(self) -> str:
        """The warning for people, empty if there is plenty of space.

        It has no figures, because every new figure would be shown and spoken again.
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

    def measure(self) -> DiskLevel:
        """Measure the free space, and return its level.

        A folder that cannot be read counts as full.
        """
        try:
            bytes_left = self._count_free(self._folder)
        except OSError:
            bytes_left = 0
        if bytes_left < _limit_bytes(MIN_GAME_FREE_BYTES, self.level is DiskLevel.FULL):
            self.level = DiskLevel.FULL
        elif bytes_left < _limit_bytes(
            MIN_PHOTOGRAPH_FREE_BYTES, self.level is not DiskLevel.PLENTY
        ):
            self.level = DiskLevel.SHORT
        else:
            self.level = DiskLevel.PLENTY
        return self.level


def _limit_bytes(limit_bytes: int, is_below: bool) -> float:
    """Return a limit in bytes, raised by `_RECOVERY_FACTOR` while the free space is below it."""
    return limit_bytes * _RECOVERY_FACTOR if is_below else limit_bytes
