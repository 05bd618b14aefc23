"""The journal's open file, and the chain of links over the entries of each game.

Every query and every transaction holds the file's lock, so any thread may call.

The chain detects entries that were lost, duplicated, swapped or altered on disk. An entry has a
link, which is a hash that also covers the link of the entry before it in the same game:

    link of entry 1 = hash of (NO_LINK,         fields of entry 1)
    link of entry 2 = hash of (link of entry 1, fields of entry 2)
    …

So a changed entry does not match its own link, and a missing one leaves the next without a match.
The table `ends` has the number of entries and the last link of each game, so that a lost end is
detected as well. No key is used, so this detects damage but does not prevent forgery.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from companion.core.errors import JournalError
from companion.core.i18n import joined, say
from companion.table.records import AnyRecord

# Timeout in milliseconds for a write while another program writes, such as a backup.
BUSY_TIMEOUT_MS = 5000
# Stands for the previous link at the first entry of a game.
NO_LINK = bytes(16)
# Columns of the table `entries`, in the order of `Row`.
ENTRY_COLUMNS = "id, game, at, run, now_s, record, link"

_decode = msgspec.json.Decoder(AnyRecord).decode
# Encodes the numbers of a row for its link: id, game, at, run, now_s.
_pack = struct.Struct(">qqdqd").pack
T = TypeVar("T")


class Database:
    """One SQLite file with one connection. The journal opens and closes it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path
        """Path of the file when it was opened."""
        self.is_failing = False
        """Whether the last write has failed."""
        self._wal = path.with_name(f"{path.name}-wal")
        # Device and inode of the file and of its write-ahead log at the last write. The first write
        # creates the log.
        self._file_ids = {path: _file_id(path)}
        self._lock = threading.Lock()

    def query(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return all rows of an SQL query. Raises `JournalError`."""
        return self.read(lambda db: db.execute(sql, values).fetchall())

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `work`, which may only read. Raises `JournalError`.

        It is called under the lock, so its queries see one state of the file.
        """
        with self._lock:
            try:
                return work(self.connection)
            except sqlite3.Error as error:
                raise JournalError(
                    say("The journal cannot be read: {error}", error=str(error))
                ) from error

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction, and return its result.

        If this raises `JournalError`, nothing has changed.
        """
        with self._lock:
            self._require_same_files()
            try:
                result = self._transact(work)
            except sqlite3.Error as error:
                self.is_failing = True
                words = say(
                    "That could not be saved ({error}): nothing has changed.", error=str(error)
                )
                raise JournalError(joined(" ", (words, _remedy(error, self.path)))) from None
            self.is_failing = False
            if log_id := _file_id(self._wal):
                self._file_ids[self._wal] = log_id
            return result

    def _require_same_files(self) -> None:
        """Raise `JournalError` if the file or its log was removed or replaced since it was opened.

        SQLite would go on writing to the removed file, and everything would be lost.
        """
        for file, file_id in self._file_ids.items():
            if _file_id(file) != file_id:
                self.is_failing = True
                words = say(
                    "{file} was removed or replaced while the companion was running: nothing more "
                    "is saved.",
                    file=str(file),
                )
                remedy = say("Put the file back, then restart the companion.")
                raise JournalError(joined(" ", (words, remedy)))

    def check_writable(self) -> None:
        """Raise `JournalError` unless the file can be written. Its content does not change."""
        # Write the number of the format that it already has.
        (format_number,) = self.query("PRAGMA user_version")[0]
        self.write(lambda db: db.execute(f"PRAGMA user_version={format_number}"))

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction, which is rolled back if anything raises."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(self.connection)
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        return result

    def shrink(self, pages: int) -> None:
        """Return at most this number of the file's free pages to the disk, if possible."""
        with self._lock, suppress(sqlite3.Error):
            if self.connection.execute("PRAGMA freelist_count").fetchone()[0]:
                self.connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()

    def checkpoint(self) -> None:
        """Move the content of the write-ahead log into the file, unless somebody is reading."""
        with self._lock, suppress(sqlite3.Error):
            self.connection.execute("PRAGMA busy_timeout=0")
            try:
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self.connection.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")

    def close(self) -> None:
        """Close the file. It may be called twice."""
        with self._lock:
            self.connection.close()


def _file_id(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file. None if it cannot be found."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _remedy(error: sqlite3.Error, path: Path) -> str:
    """Return a sentence on what to do about a failed write."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
        return say("Free some space on the disk.")
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        return say(
            "The companion may not write to {file}: make the file and its folder its user's own.",
            file=str(path),
        )
    return say("Restart the machine. If that does not help, save a backup and use a new card.")


# ---- the chain of links --------------------------------------------------------------------------


class Row(NamedTuple):
    """One row of the table `entries`. Values from a damaged file may have other types."""

    id: int
    """Its number in the journal."""
    game: int
    """Number of its game, or `SEATS_GAME`."""
    at: float
    """Unix time in seconds."""
    run: int
    """0, but in entries of version 1.0 the number of the service's start."""
    now_s: float
    """Monotonic time at which the table accepted it, in seconds. 0 if unknown."""
    record: bytes
    """The record as JSON."""
    link: bytes
    """Hash over the entry and the link of the one before it in its game, see `compute_link`."""


def compute_link(previous_link: bytes, row: Row) -> bytes:
    """Return the link that belongs in a row: 16 bytes.

    It is a BLAKE2b hash over the link of the entry before it in the same game, and its own fields.
    """
    digest = hashlib.blake2b(previous_link, digest_size=16)
    digest.update(_pack(row.id, row.game, row.at, row.run, row.now_s))
    digest.update(row.record)
    return digest.digest()


def is_row_intact(previous_link: bytes, row: Row) -> bool:
    """Return whether an entry is unchanged, and follows the entry with this link in its game."""
    try:
        return compute_link(previous_link, row) == row.link
    except (struct.error, TypeError, OverflowError):  # a value of another type: damage
        return False


def decode_record(content: bytes) -> AnyRecord | None:
    """Decode a record that is stored as JSON.

    Return None if it is damaged, or of a kind that only a newer version knows.
    """
    try:
        record: AnyRecord = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
        # A damaged value may be of any type.
        return None
    return record


def rebuild_links(db: sqlite3.Connection) -> None:
    """Compute all links of the file and its table `ends` anew.

    It is for a file whose entries this program has just written or changed.
    """
    ends: dict[int, tuple[int, bytes]] = {}
    links = []
    for values in db.execute(f"SELECT {ENTRY_COLUMNS} FROM entries ORDER BY id"):
        row = Row(*values)
        count, previous_link = ends.get(row.game, (0, NO_LINK))
        link = compute_link(previous_link, row)
        ends[row.game] = (count + 1, link)
        links.append((link, row.id))
    db.executemany("UPDATE entries SET link = ? WHERE id = ?", links)
    db.execute("DELETE FROM ends")
    db.executemany(
        "INSERT INTO ends VALUES (?, ?, ?)", [(game, *end) for game, end in ends.items()]
    )


def select_rows(db: sqlite3.Connection, game: int) -> list[Row]:
    """Return the stored entries of a game, in order."""
    query = f"SELECT {ENTRY_COLUMNS} FROM entries WHERE game = ? ORDER BY id"
    return [Row(*values) for values in db.execute(query, (game,))]


def chain_end(db: sqlite3.Connection, game: int) -> tuple[int, bytes]:
    """Return the number of entries written for a game, and the link of the last one.

    They are 0 and `NO_LINK` for a game without entries.
    """
    row = db.execute("SELECT entries, link FROM ends WHERE game = ?", (game,)).fetchone()
    return row or (0, NO_LINK)


def is_chain_intact(db: sqlite3.Connection, game: int) -> bool:
    """Return whether no entry of a game is missing or changed. Records are not decoded."""
    count = 0
    last_link = NO_LINK
    for row in select_rows(db, game):
        if not is_row_intact(last_link, row):
            return False
        count += 1
        last_link = row.link
    return (count, last_link) == chain_end(db, game)
