"""What the disk refuses is named, told with what to do, and never taken for kept."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from inside import journal_of
from table_tools import both_seats, playing

from companion.core.errors import JournalError
from companion.core.kit import Seat
from companion.storage import write_faults
from companion.storage.journal import Journal
from companion.storage.write_faults import WriteFault, fault_of
from companion.table.records import FreeSeat

SEAT = FreeSeat(Seat.SOUTH)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def sqlite_error(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        (errno.EROFS, WriteFault.READ_ONLY),
        (errno.EACCES, WriteFault.FORBIDDEN),
        (errno.EIO, WriteFault.BROKEN),
        (errno.EDQUOT, WriteFault.FULL),
        (errno.ENOSPC, WriteFault.FULL),
        (errno.ENODEV, WriteFault.BROKEN),
    ],
)
def test_the_folder_says_what_sqlite_does_not(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fault: WriteFault
) -> None:
    def refuse(**_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(write_faults.tempfile, "TemporaryFile", refuse)
    for code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_CANTOPEN):
        assert fault_of(sqlite_error(code), path) is fault


@pytest.mark.parametrize(
    ("code", "fault", "todo"),
    [
        (
            sqlite3.SQLITE_IOERR_FSYNC,
            WriteFault.BROKEN,
            "The disk reports errors: save a backup now",
        ),
        (sqlite3.SQLITE_READONLY, WriteFault.FORBIDDEN, "may not write to"),
        (sqlite3.SQLITE_BUSY, WriteFault.BUSY, "Another program is using"),
        (sqlite3.SQLITE_CORRUPT, WriteFault.DAMAGED, "The journal is damaged"),
        (sqlite3.SQLITE_FULL, WriteFault.FULL, "Free some space"),
    ],
)
def test_only_a_full_disk_gives_its_reserve_up(
    path: Path, code: int, fault: WriteFault, todo: str
) -> None:
    def refuse(_: sqlite3.Connection) -> None:
        raise sqlite_error(code)

    given_up = []
    with Journal(path) as journal:
        journal.database.on_full = lambda: bool(given_up.append(1))
        with pytest.raises(JournalError) as told:
            journal.database.write(refuse)
        assert todo in told.value.message
        assert ("Free some space" in told.value.message) is (fault is WriteFault.FULL)
        assert journal.database.fault is fault
        assert len(given_up) == (fault is WriteFault.FULL)
        journal.append(0, SEAT, 1.0)
        assert journal.database.fault is None


def remove(path: Path) -> None:
    path.unlink()


def replace_by_another(path: Path) -> None:
    with Journal(path.with_name("other.sqlite")) as other:
        other.append(0, SEAT, 1.0)
    path.with_name("other.sqlite").replace(path)


def remove_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


@pytest.mark.parametrize("change", [remove, replace_by_another, remove_log])
def test_a_file_that_is_gone_takes_no_input(tmp_path: Path, change: Callable[[Path], None]) -> None:
    with playing(tmp_path) as played:
        both_seats(played)
        played.begin()
        change(journal_of(played.table).path)
        for _ in range(2):
            with pytest.raises(JournalError, match=r"was removed or replaced.*Put the file back"):
                played.hand_in(Seat.SOUTH, "UUS")
        assert played.table.view(Seat.SOUTH).own.sealed is None, "nothing is shown that is not kept"
        assert "removed or replaced" in played.view.devices.notices[0]
