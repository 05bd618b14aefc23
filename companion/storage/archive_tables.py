"""What the journal's file keeps beside the accepted inputs: games brought in from elsewhere, and what is gone.

Inputs are never rewritten. A game that was removed leaves its number behind, so that no other game ever gets it; a
player who wants to be forgotten leaves a mark of the name, and the last game up to which it holds.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from companion.core.errors import JournalError
from companion.core.i18n import say
from companion.storage.journal_head import CHANGES

SHELF = """
CREATE TABLE IF NOT EXISTS imported (
    game INTEGER PRIMARY KEY, at REAL NOT NULL, digest TEXT NOT NULL UNIQUE, file BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS removed (game INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS forgotten (salt BLOB PRIMARY KEY, mark BLOB NOT NULL, game INTEGER NOT NULL);
"""
TABLES = ("imported", "removed", "forgotten")
T = TypeVar("T")


_SHORT_LOG = 50
"""So many pages the write-ahead log has where there is little room, and not 1,000 (4 MB)."""
_STAMPS = """
WITH RECURSIVE played(game) AS (
    SELECT MIN(game) FROM entries WHERE game > 0
    UNION ALL SELECT (SELECT MIN(game) FROM entries WHERE game > played.game) FROM played WHERE game IS NOT NULL)
SELECT game, id, COALESCE(now_s + ahead_s, at), is_right FROM entries LEFT JOIN runs USING (run) WHERE id IN (
    SELECT (SELECT MAX(id) FROM entries WHERE entries.game = played.game) FROM played WHERE game IS NOT NULL)
"""
"""Leaps from game to game in the index: some milliseconds for 500 games; grouping would go through every input."""


def _not_kept(why: str) -> str:
    return say("That could not be saved ({error}): nothing has changed. Free some space on the disk.", error=why)


def is_full(error: sqlite3.Error) -> bool:
    """Was there no room? A quota or a limit on a file's size is told as an error in writing."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def _stamp(last: int, at: object) -> str:
    return f"{last}-{at:.6f}" if isinstance(at, float) else f"{last}-damaged"


@dataclass(frozen=True)
class Kept:
    """A game from elsewhere: when it was brought in (Unix time), and the digest by which it is known again."""

    at: float
    digest: str


@dataclass(frozen=True)
class Forgotten:
    """A name of which nothing is kept but a salted digest, and the last game for which it is to be forgotten."""

    salt: bytes
    mark: bytes
    game: int

    def covers(self, name: str, game: int) -> bool:
        """Is it this name, in a game of that time?"""
        return game <= self.game and hmac.compare_digest(_mark(self.salt, name), self.mark)


@lru_cache(maxsize=1024)
def _mark(salt: bytes, name: str) -> bytes:
    return hashlib.sha256(salt + name.strip().casefold().encode()).digest()


class Shelf:
    """The side tables of the journal; every method may be called from any thread and holds the lock for one query."""

    _db: sqlite3.Connection
    _lock: threading.Lock
    _promised = 0
    _has_news = False
    """Is what is being written to be told to the second place? Not the time of a clock that runs."""
    on_full: Callable[[], bool] = staticmethod(lambda: False)
    """Gives free what is held in reserve; answers whether there was something. Called with the lock held."""

    def _count_change(self) -> None:
        """Count a change that is no input, in its own transaction: the second place says how many there were."""
        self._db.execute("INSERT OR IGNORE INTO facts VALUES (?, 0)", (CHANGES,))
        self._db.execute("UPDATE facts SET value = value + 1 WHERE name = ?", (CHANGES,))
        self._has_news = True

    def _committed(self) -> None:
        """Something was written and is on the disk; the lock is held."""

    def next_number(self) -> int:
        """The number that the table's next game gets: no game has, or ever had it."""
        with self._lock:
            self._promised = self._highest() + 1
        return self._promised

    def stamps(self) -> dict[int, str]:
        """A text for every game that was played here, which changes with each of its inputs, and with a clock that is
        set: the last one's number and time. Two journals never have the same."""
        return {int(game): _stamp(last, at) for game, last, at, _ in self._read(_STAMPS)}

    def stamp(self, game: int) -> str | None:
        """The text of one game; None: it was not played here."""
        rows = self._read(
            "SELECT id, COALESCE(now_s + ahead_s, at) FROM entries LEFT JOIN runs USING (run) "
            "WHERE game = ? ORDER BY id DESC LIMIT 1",
            (game,),
        )
        return _stamp(*rows[0]) if rows and game > 0 else None

    def ended(self) -> list[tuple[int, float]]:
        """The games that were played here and the Unix time of each one's last input, the oldest first.

        Games of which that is not known are left out.
        """
        rows = self._read(_STAMPS)
        return sorted((int(game), float(at)) for game, _, at, is_right in rows if is_right != 0)

    def count(self, what: str) -> int:
        """Count something once more; answers how often it was. Raises `JournalError`."""

        def add() -> int:
            row = self._db.execute("SELECT value FROM facts WHERE name = ?", (what,)).fetchone()
            times = (row[0] if row and isinstance(row[0], int) else 0) + 1
            self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (what, times))
            return times

        return self._write(add)

    def shrink(self, pages: int) -> None:
        """Give some pages that are free in the file back to the disk."""
        with self._lock, suppress(sqlite3.Error):
            if self._db.execute("PRAGMA freelist_count").fetchone()[0]:
                self._db.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()

    def imported(self) -> dict[int, Kept]:
        """The games from elsewhere by their number."""
        rows = self._read("SELECT game, at, digest FROM imported ORDER BY game")
        return {int(game): Kept(float(at), str(digest)) for game, at, digest in rows}

    def imported_digest(self, game: int) -> str | None:
        """By what a game from elsewhere is known again; None: there is none of that number."""
        rows = self._read("SELECT digest FROM imported WHERE game = ?", (game,))
        return str(rows[0][0]) if rows else None

    def imported_file(self, game: int) -> bytes | None:
        """A game from elsewhere as it was kept; None: there is none of that number."""
        rows = self._read("SELECT file FROM imported WHERE game = ?", (game,))
        return bytes(rows[0][0]) if rows else None

    def keep_imported(self, file: bytes, digest: str, at: float) -> int:
        """Keep a game from elsewhere; answers its number. Raises `JournalError` (disk full) and then nothing is kept.

        Never the number that the table is about to give to a game of its own.
        """

        def keep() -> int:
            number = max(self._highest(), self._promised) + 1
            self._db.execute("INSERT INTO imported VALUES (?, ?, ?, ?)", (number, at, digest, file))
            self._count_change()
            return number

        return self._write(keep)

    def remove_game(self, game: int) -> None:
        """Remove every input of a game, or a game from elsewhere; its number is never given again."""

        def remove() -> None:
            self._db.execute("INSERT OR IGNORE INTO removed VALUES (?)", (game,))
            for table in ("entries", "ends", "cut"):
                self._db.execute(f"DELETE FROM {table} WHERE game = ? AND game > 0", (game,))
            self._db.execute("DELETE FROM imported WHERE game = ?", (game,))
            self._count_change()

        self._write(remove)

    def forgotten(self) -> tuple[Forgotten, ...]:
        """The names to be forgotten."""
        rows = self._read("SELECT salt, mark, game FROM forgotten ORDER BY game")
        return tuple(Forgotten(bytes(salt), bytes(mark), int(game)) for salt, mark, game in rows)

    def forget(self, name: str) -> None:
        """Forget a name, whatever its capitals, in every game up to now."""
        salt = secrets.token_bytes(16)
        mark = _mark(salt, name)

        def forget() -> None:
            self._db.execute("INSERT INTO forgotten VALUES (?, ?, ?)", (salt, mark, self._highest()))
            self._count_change()

        self._write(forget)

    def _highest(self) -> int:
        """The highest number that was ever given; the lock is held."""
        numbers = [self._db.execute("SELECT MAX(game) FROM entries").fetchone()[0]]
        for table in ("imported", "removed", "ends"):
            numbers.append(self._db.execute(f"SELECT MAX(game) FROM {table}").fetchone()[0])
        return max(number or 0 for number in numbers)

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise JournalError(say("The journal cannot be read: {error}", error=str(error))) from None

    def _write(self, work: Callable[[], T], words: Callable[[str], str] = _not_kept) -> T:
        """Do it wholly or not at all; raises `JournalError` in the words that are made of SQLite's.

        On a full disk the reserve is given up before anything is refused.
        """
        with self._lock:
            try:
                return self._transact(work)
            except sqlite3.Error as error:
                if not (is_full(error) and self.on_full()):
                    raise JournalError(words(str(error))) from None
            try:
                self._tighten()
                return self._transact(work)
            except sqlite3.Error as error:
                raise JournalError(words(str(error))) from None

    def tighten(self) -> None:
        """Keep the write-ahead log short from now on: there is little room."""
        with self._lock, suppress(sqlite3.Error):
            self._tighten()

    def _tighten(self) -> None:
        self._db.execute(f"PRAGMA wal_autocheckpoint={_SHORT_LOG}")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _transact(self, work: Callable[[], T]) -> T:
        self._has_news = False
        self._db.execute("BEGIN IMMEDIATE")
        try:
            answer = work()
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        if self._has_news:
            self._committed()
        return answer
