"""The journal's open file. Every query and every transaction holds its lock, so any thread may call."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from companion.core.errors import JournalError
from companion.core.i18n import joined, say
from companion.storage.sentences import not_kept, replaced_words
from companion.storage.write_faults import WriteFault, advice, fault_of

BUSY_MS = 5000
"""Timeout in milliseconds for a write while another program writes."""
SHORT_LOG_PAGES = 50
"""Length of the write-ahead log where there is little room. SQLite's own limit is 1,000 pages (4 MB)."""
T = TypeVar("T")


class Database:
    """One SQLite file with one connection. `path` is where the file was when it was opened.

    `fault`: why the last write was refused. None: it was not.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path
        self.fault: WriteFault | None = None
        self._log = path.with_name(f"{path.name}-wal")
        self._places = {path: _place_of(path)}
        """Which files were written last. SQLite makes its log at the first write."""
        self._copy: Path | None = None
        self.on_full: Callable[[], bool] = lambda: False
        """Frees what is held in reserve. Answers whether there was something. Called with the lock held."""
        self._lock = threading.Lock()

    def read(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return the rows of a query. Raises `JournalError`."""
        return self.look(lambda db: db.execute(query, values).fetchall())

    def look(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Ask several things at once and change nothing. Raises `JournalError`."""
        with self._lock:
            try:
                return work(self.connection)
            except sqlite3.Error as error:
                raise JournalError(say("The journal cannot be read: {error}", error=str(error))) from error

    def write(self, work: Callable[[sqlite3.Connection], T], words: Callable[[str], str] = not_kept) -> T:
        """Do some work wholly or not at all. Raises `JournalError` in `words`, which are given SQLite's own.

        On a full disk the reserve is given up before anything is refused. A file that was removed or replaced takes
        nothing any more: what was written would be gone with it.
        """
        with self._lock:
            if gone := self.gone_file():
                self.fault = WriteFault.GONE
                raise JournalError(replaced_words(gone, self.path, self._copied()))
            try:
                answer = self._transact_with_reserve(work)
            except sqlite3.Error as error:
                self.fault = fault_of(error, self.path)
                raise JournalError(joined(" ", (words(str(error)), advice(self.fault, self.path)))) from None
            self.fault = None
            if place := _place_of(self._log):
                self._places[self._log] = place
            return answer

    def gone_file(self) -> Path | None:
        """Return a file of the journal that was removed or replaced since it was written last. None: all are there."""
        return next((file for file, place in self._places.items() if _place_of(file) != place), None)

    def _transact_with_reserve(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._transact(work)
        except sqlite3.Error as error:
            if fault_of(error, self.path) is not WriteFault.FULL or not self.on_full():
                raise
        self._shorten_log()
        return self._transact(work)

    def _copied(self) -> Path | None:
        """Copy what the open file holds beside its old place, once. None: that cannot be done."""
        if self._copy is None:
            copy = self.path.with_name(f"{self.path.stem}-saved{self.path.suffix}")
            with suppress(sqlite3.Error, OSError):
                copy.unlink(missing_ok=True)
                copy.touch(mode=0o600)
                self.connection.execute("VACUUM INTO ?", (str(copy),))
                self._copy = copy
        return self._copy

    def try_to_write(self) -> None:
        """Find out whether something can be written again, or no longer. Changes nothing. Raises `JournalError`."""
        (version,) = self.look(lambda db: db.execute("PRAGMA user_version").fetchone())
        self.write(lambda db: db.execute(f"PRAGMA user_version={version}"))

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            answer = work(self.connection)
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        return answer

    def tighten(self) -> None:
        """Keep the write-ahead log short from now on, because there is little room."""
        with self._lock, suppress(sqlite3.Error):
            self._shorten_log()

    def _shorten_log(self) -> None:
        self.connection.execute(f"PRAGMA wal_autocheckpoint={SHORT_LOG_PAGES}")
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def shrink(self, pages: int) -> None:
        """Give some pages that are free in the file back to the disk."""
        with self._lock, suppress(sqlite3.Error):
            if self.connection.execute("PRAGMA freelist_count").fetchone()[0]:
                self.connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()

    def checkpoint(self) -> None:
        """Write the log back into the file and empty it, unless somebody is reading just now."""
        with self._lock, suppress(sqlite3.Error):
            self.connection.execute("PRAGMA busy_timeout=0")
            try:
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self.connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")

    def close(self) -> None:
        """Close the file. It may be closed twice."""
        with self._lock:
            self.connection.close()


def _place_of(path: Path) -> tuple[int, int] | None:
    """Return which file is at a path. None: there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the file itself is at fault, and not a lock, the memory or a full disk."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # Python's own word for bytes that should be text
        return str(error).startswith("Could not decode")
    return code == sqlite3.SQLITE_IOERR_READ or code & 0xFF in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_TOOBIG,
    )
