"""Test that writes which the disk refuses are reported with advice, and never shown as stored."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from internals import journal_of
from table_tools import open_table_rig, seat_both

from companion.core.errors import JournalError
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.table.records import SEATS_GAME, FreeSeat

RECORD = FreeSeat(Seat.SOUTH)


# An error of SQLite, whether the file's folder is writable, and words of the advice.
@pytest.mark.parametrize(
    ("code", "may_write", "advice"),
    [
        (sqlite3.SQLITE_FULL, True, "Free some space"),
        (sqlite3.SQLITE_READONLY, False, "may not write to"),
        (sqlite3.SQLITE_IOERR_FSYNC, True, "Restart the machine."),
    ],
)
def test_a_refused_write_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, may_write: bool, advice: str
) -> None:
    def refuse(_: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        raise error

    with Journal(tmp_path / "journal.sqlite") as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda *_: may_write)
            with pytest.raises(JournalError, match=advice):
                journal.database.write(refuse)
        # The next write succeeds.
        assert journal.database.is_failing
        journal.append(SEATS_GAME, [RECORD], at=1.0)
        assert not journal.database.is_failing


def remove_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def replace_by_copy(path: Path) -> None:
    """Put a copy in the place of the file, as a program for backups may do."""
    shutil.copyfile(path, path.with_name("other"))
    path.with_name("other").replace(path)


@pytest.mark.parametrize("change", [Path.unlink, remove_log, replace_by_copy])
def test_a_removed_file_takes_no_input(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """SQLite would go on writing to a file that has no name any more, and all would be lost."""
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        rig.begin()
        change(journal_of(rig.table).path)
        for _ in range(2):
            with pytest.raises(JournalError, match=r"was removed or replaced.*Put the file back"):
                rig.hand_in(Seat.SOUTH, "UUS")
        assert rig.table.view(Seat.SOUTH).own.sealed is None, (
            "an order that is not stored must not be shown as sealed"
        )
        assert "was removed or replaced" in rig.view.devices.notices[0]
