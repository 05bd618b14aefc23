"""Photographs of the board after each turn, stored as evidence and for the replay.

A photograph is taken when the pieces of a turn have been moved. It is one JPEG of about 30 kB,
`photographs/GAME/MOMENT.jpg` in the state directory. `MOMENT` is the moment of the finished turn,
which is the id of its decision, such as `3.7` in game 3. For the set-up of that game it is `3.0`.
Files are written in a separate thread. If the disk is full, no photographs are taken, which is
reported once. The game goes on.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from companion.core.clock import Clock
from companion.core.files import replace_file
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.core.resources import NICE_BACKGROUND, lower_priority
from companion.table.follower import TableFollower
from companion.table.session import Phase
from companion.table.table import Table
from companion.table.table_view import Progress

log = logging.getLogger(__name__)

# Maximum interval in seconds between two steps.
_STEP_INTERVAL_S = 0.5
# Timeout in seconds for the board to lie still. After that no photograph of the turn is taken.
_STILL_TIMEOUT_S = 20.0

# A moment `GAME.TICK`, and the file name of its photograph.
_MOMENT = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")
_PHOTOGRAPH = re.compile(rf"{_MOMENT.pattern}\.jpg")
_MEGABYTE = 1_000_000


class PhotographAlbum:
    """The photographs on disk, one for each turn.

    `limit_mb` is their maximum size in megabytes, 0 to store none. `has_disk_space` returns whether
    the disk has room for optional files.
    """

    def __init__(
        self, folder: Path, limit_mb: int = 200, has_disk_space: Callable[[], bool] = lambda: True
    ) -> None:
        self.folder = folder
        self.trouble = ""
        """Sentence on why photographs cannot be written. Empty if they can."""
        self._limit_bytes = limit_mb * _MEGABYTE
        self._has_disk_space = has_disk_space

    def moments(self, game: int) -> tuple[str, ...]:
        """Return the moments of a game that have a photograph, oldest first."""
        return tuple(path.stem for path in _photographs_in(self.folder / str(game)))

    def games(self) -> tuple[int, ...]:
        """Return the numbers of all games with photographs, oldest first."""
        return tuple(int(path.name) for path in self._game_folders())

    def photograph(self, game: int, moment: str) -> bytes | None:
        """Return the JPEG of the board after a turn, or None."""
        if not _MOMENT.fullmatch(moment):
            return None
        try:
            return self.path(game, moment).read_bytes()
        except OSError:
            return None

    def path(self, game: int, moment: str) -> Path:
        """Return the path of a moment's photograph, whether or not it exists."""
        return self.folder / str(game) / f"{moment}.jpg"

    def store(self, game: int, moment: str, picture: bytes) -> None:
        """Write a photograph atomically, and delete the oldest if needed. Raises `OSError`.

        Nothing is written if the limit is 0, or for a text that is not a moment.
        """
        if not self._limit_bytes or not _MOMENT.fullmatch(moment):
            return
        if not self._has_disk_space():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        path = self.path(game, moment)
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, picture, 0o644)
        oldest_first = [path for folder in self._game_folders() for path in _photographs_in(folder)]
        sizes_bytes = [path.stat().st_size for path in oldest_first]
        total_bytes = sum(sizes_bytes)
        # the newest one stays, whatever the limit
        for old, size_bytes in zip(oldest_first[:-1], sizes_bytes, strict=False):
            if total_bytes <= self._limit_bytes:
                break
            total_bytes -= size_bytes
            old.unlink()
            with contextlib.suppress(OSError):  # the folder still has other photographs
                old.parent.rmdir()

    def remove(self, game: int) -> None:
        """Remove all photographs of a game. Raises `OSError`."""
        for path in _photographs_in(self.folder / str(game)):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            (self.folder / str(game)).rmdir()

    def _game_folders(self) -> list[Path]:
        """Return the folders of all games with photographs, oldest game first."""
        folders = [
            path for path in _paths_in(self.folder) if path.name.isascii() and path.name.isdecimal()
        ]
        return sorted(folders, key=lambda path: int(path.name))


def _photographs_in(game_folder: Path) -> list[Path]:
    """Return the paths of a game's photographs, oldest first."""
    files = [path for path in _paths_in(game_folder) if _PHOTOGRAPH.fullmatch(path.name)]
    # the moment GAME.TICK is the name without suffix
    return sorted(files, key=lambda path: int(path.stem.partition(".")[2]))


def _paths_in(folder: Path) -> list[Path]:
    """Return the contents of a folder, or an empty list if it is missing or cannot be read."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


class _DueTurn(NamedTuple):
    """A turn whose photograph is still to be taken."""

    game: int
    moment: str
    since_s: float
    """Monotonic time at which the turn ended."""


class Photographer(Closeable):
    """Takes the photographs: follows the table, requests pictures, and writes them.

    `take_picture` returns a JPEG, or None while the board is not in view or not still. `start` runs
    a separate thread. Without it the caller does the work with `step`. `report_trouble` gets a
    sentence when photographs cannot be written, and an empty string when they can again. `close`
    may be called twice.
    """

    def __init__(
        self,
        table: Table,
        album: PhotographAlbum,
        take_picture: Callable[[], bytes | None],
        clock: Clock,
        report_trouble: Callable[[str], None],
    ) -> None:
        self._table = table
        self._album = album
        self._take_picture = take_picture
        self._clock = clock
        self._report_trouble = report_trouble
        self._last_progress: Progress | None = None
        self._due: _DueTurn | None = None
        self._follower = TableFollower(table, "photographer", self._step_safely, _STEP_INTERVAL_S)

    def start(self) -> None:
        """Start the thread. A second call does nothing."""
        self._follower.start()

    def close(self) -> None:
        """Stop the thread. A photograph that is being written is finished."""
        self._follower.close()

    def _step_safely(self) -> None:
        """Take a step in the thread, with a low priority and without raising anything."""
        lower_priority(NICE_BACKGROUND)
        try:
            self.step()
        except Exception:  # photographs are optional: no error may stop the table
            log.exception("A photograph could not be taken")

    def step(self) -> None:
        """Detect a finished turn, and photograph it once the board is right and lies still.

        If the board does not lie still within `_STILL_TIMEOUT_S`, or if the moment changes again
        before, no photograph of the turn is taken.
        """
        now = self._table.progress()
        before = self._last_progress
        self._last_progress = now
        if before is not None and before.moment != now.moment:
            self._note_turn(before, now)
        due = self._due
        if due is None:
            return
        if self._clock.monotonic_s() - due.since_s > _STILL_TIMEOUT_S:
            self._due = None
            return
        picture = self._take_picture() if now.is_board_right else None
        if picture is not None:
            self._due = None
            self._write(due, picture)

    def _note_turn(self, before: Progress, now: Progress) -> None:
        """Note that the set-up or the turn that has just ended has to be photographed.

        `before` and `now` are the progress at the last step and at this one.
        """
        self._due = None
        # A turn has ended if the same game (`number`) asks for new orders, or is over.
        if before.number != now.number or now.phase not in (Phase.ORDERS, Phase.OVER):
            return
        is_set_up = before.phase is Phase.SETUP and not before.turn_numbers
        # `turn_numbers` has the moments of this game's turns, without those that were taken back.
        if is_set_up or before.moment in now.turn_numbers:
            self._due = _DueTurn(now.number, before.moment, self._clock.monotonic_s())

    def _write(self, due: _DueTurn, picture: bytes) -> None:
        """Write a photograph, and report when that becomes impossible or possible again."""
        album = self._album
        had_trouble = bool(album.trouble)
        trouble = ""
        try:
            album.store(due.game, due.moment, picture)
        except OSError as error:
            trouble = say(
                "Photographs of the turns cannot be kept ({error}): free some space on the disk.",
                error=error.strerror or str(error),
            )
        if bool(trouble) != had_trouble:
            album.trouble = trouble
            self._report_trouble(trouble)
            if trouble:
                log.warning("%s", trouble)
        if not trouble and self._table.progress().phase is Phase.OVER:
            self._table.redraw()  # the finale shows the photograph
