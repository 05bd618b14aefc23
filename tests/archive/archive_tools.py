"""Helpers: a table with the archive of its games."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from history_tools import play

from companion.archive.history import History
from companion.archive.photographs import PhotographAlbum
from companion.core.clock import FakeClock
from companion.storage.journal import Journal
from companion.table.table import Table


class ArchiveRig:
    """A table with its journal, history and photographs."""

    def __init__(self, folder: Path, journal: Journal, table: Table, clock: FakeClock) -> None:
        self.journal = journal
        self.table = table
        self.clock = clock
        self.folder = folder
        self.album = PhotographAlbum(folder / "photographs")
        self.history = self.reopened_history()

    def reopened_history(self) -> History:
        """Reopen the history as after a restart."""
        return History(
            self.journal,
            self.folder / "history",
            self.clock,
            find_current_game=lambda: self.table.progress().number,
            album=self.album,
        )

    def play(
        self, name: str = "outbuffered", turns: int = 2, seed: int = 1, end: str = "resign"
    ) -> None:
        """Play some turns at random, and end the game (see `history_tools.play`)."""
        play(self.table, self.clock, name, turns, seed, end)


@contextmanager
def open_archive(folder: Path) -> Iterator[ArchiveRig]:
    """Open a table with a journal in this folder, and the archive of its games."""
    clock = FakeClock()
    with Journal(folder / "journal.sqlite") as journal, Table(journal, clock) as table:
        yield ArchiveRig(folder, journal, table, clock)
