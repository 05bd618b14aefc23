"""The journal: every accepted input on disk, synced, before anybody sees its effect.

One SQLite file per installation (WAL, synchronous FULL) with many games in it, one service at a time. Its format, the
checksums in it and the rescue of a damaged file have modules of their own beside this one.
"""

from __future__ import annotations

import math
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from companion.core.errors import CompanionError, JournalError
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.storage import checksums, migrations
from companion.storage.archive_tables import ArchiveTables
from companion.storage.calendar import ServiceRun, Stamp, first_run, next_run
from companion.storage.checksums import START, Row
from companion.storage.journal_head import CHANGES, HeadFile
from companion.storage.journal_lock import hold
from companion.storage.opening import FORMAT, GAMES, Opening, follow
from companion.storage.sentences import (
    broken_words,
    clock_not_kept,
    input_not_kept,
    key_not_kept,
    no_second_place,
    not_kept,
)
from companion.table.records import AnyRecord, Commit, Contribute, FreeSeat, MoveSeat, NewGame, TakeSeat
from companion.table.reducer import advance
from companion.table.session import Session

__all__ = ["FORMAT", "Entry", "Journal"]

_READ = f"SELECT {checksums.COLUMNS}, ahead_s, is_right FROM entries LEFT JOIN runs USING (run)"
_BUSY_MS = 5000
"""So long a write waits for another program's."""
_SHORT_LOG = 50
"""So many pages the write-ahead log has where there is little room, and not 1,000 (4 MB)."""
_decode = msgspec.json.Decoder(AnyRecord).decode
_encode = msgspec.json.Encoder().encode
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One accepted input: its place in the journal, its game (0: none), Unix time, and the record.

    `is_dated`: the time is no more than the machine's clock allows to tell; between two inputs it is right all the
    same. `now_s` is the monotonic time at which it was accepted (0: an older version kept none).
    """

    id: int
    game: int
    at: float
    record: AnyRecord
    is_dated: bool = True
    now_s: float = 0.0


class Database:
    """The journal's open file; every query and every transaction holds its lock.

    `when_committed` is called with the lock held once a change is on the disk that the second place must know of.
    """

    def __init__(self, connection: sqlite3.Connection, when_committed: Callable[[sqlite3.Connection], None]) -> None:
        self.connection = connection
        self.on_full: Callable[[], bool] = lambda: False
        """Gives free what is held in reserve; answers whether there was something. Called with the lock held."""
        self._when_committed = when_committed
        self._lock = threading.Lock()
        self._has_news = False

    def read(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """The rows of a query; raises `JournalError`."""
        with self._lock:
            try:
                return self.connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise JournalError(say("The journal cannot be read: {error}", error=str(error))) from None

    def look(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Ask several things at once, and change nothing; errors of SQLite pass through."""
        with self._lock:
            return work(self.connection)

    def write(self, work: Callable[[sqlite3.Connection], T], words: Callable[[str], str] = not_kept) -> T:
        """Do it wholly or not at all; raises `JournalError` in the words that are made of SQLite's.

        On a full disk the reserve is given up before anything is refused.
        """
        with self._lock:
            try:
                return self._transact(work)
            except sqlite3.Error as error:
                if not (_is_full(error) and self.on_full()):
                    raise JournalError(words(str(error))) from None
            try:
                self._tighten()
                return self._transact(work)
            except sqlite3.Error as error:
                raise JournalError(words(str(error))) from None

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._has_news = False
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            answer = work(self.connection)
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        if self._has_news:
            self._when_committed(self.connection)
        return answer

    def tell_second_place(self) -> None:
        """What is being written is to be told to the second place; the time of a clock that runs is not."""
        self._has_news = True

    def count_change(self) -> None:
        """Count a change that is no input, in its own transaction: the second place says how many there were."""
        self.connection.execute("INSERT OR IGNORE INTO facts VALUES (?, 0)", (CHANGES,))
        self.connection.execute("UPDATE facts SET value = value + 1 WHERE name = ?", (CHANGES,))
        self.tell_second_place()

    def tighten(self) -> None:
        """Keep the write-ahead log short from now on: there is little room."""
        with self._lock, suppress(sqlite3.Error):
            self._tighten()

    def _tighten(self) -> None:
        self.connection.execute(f"PRAGMA wal_autocheckpoint={_SHORT_LOG}")
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
                self.connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self.connection.close()


class Journal(Closeable):
    """The open journal: `append` is the table's; `archive` are its side tables, `database` is the file under both.

    Raises `JournalError` when another service uses the file, it cannot be written, or a newer program has written it.
    A damaged file is set aside and what can be read of it is kept, a damaged end of the game that is on is cut off:
    `notice` then says so. `read_only` looks at a journal that may be in use, whatever its format.
    `close` may be called twice.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self._lock_file: IO[str] | None = None if read_only else hold(path)
        self._run: ServiceRun | None = None
        self.head = HeadFile(path)
        opening = Opening(path, self.head)
        try:
            connection = opening.to_read() if read_only else opening.connection()
        except BaseException:
            self.head.close()
            if self._lock_file:
                self._lock_file.close()
            raise
        self.notice = opening.notice
        self.database = Database(connection, lambda db: follow(self.head, db))
        self.archive = ArchiveTables(self.database)

    @property
    def weakness(self) -> str:
        """What is not as it should be beside the journal, and stops nothing; empty: nothing."""
        return no_second_place(self.head.trouble) if self.head.trouble else ""

    def checkpoint(self) -> None:
        """Write the log back into the file and empty it: what is in the file no bit of the log can take away.

        Somebody who reads meanwhile is not waited for: the next turn's end comes soon.
        """
        self.database.checkpoint()

    def next_number(self) -> int:
        """The number that the table's next game gets: no game has, or ever had it."""
        return self.archive.next_number()

    def append(self, game: int, record: AnyRecord, at: float, now_s: float | None = None) -> None:
        """Write one record and sync it; raises `JournalError` (disk full, read-only) and then nothing is kept.

        `at` is Unix time, `now_s` the monotonic one by which it is measured (None: it cannot be).
        """
        self.append_together(game, (record,), at, now_s)

    def append_together(self, game: int, records: Sequence[AnyRecord], at: float, now_s: float | None = None) -> None:
        """Write several records as `append` does one: all of them are kept, or none."""
        contents = [_encode(record) for record in records]
        stamp = None if now_s is None else Stamp(now_s, at)

        def add(db: sqlite3.Connection) -> ServiceRun | None:
            run = self._run_of(db, stamp) if stamp else None
            count, link = checksums.end_of(db, game)
            first = (db.execute("SELECT MAX(id) FROM entries").fetchone()[0] or 0) + 1
            for number, content in enumerate(contents, first):
                row = Row(number, game, at, run.number if run else 0, now_s or 0.0, content, b"")
                link = checksums.link_of(link, row)
                db.execute(f"INSERT INTO entries ({checksums.COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", (*row[:-1], link))
            db.execute("INSERT OR REPLACE INTO ends VALUES (?, ?, ?)", (game, count + len(contents), link))
            self.database.tell_second_place()
            return run

        self._run = self.database.write(add, input_not_kept) or self._run

    def _run_of(self, db: sqlite3.Connection, stamp: Stamp) -> ServiceRun:
        """The run of the service to which an input belongs, noted where it is new or the clock was set; lock held."""
        run = self._this_run(db, stamp)
        if run != self._run:
            db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", (run.number, run.ahead_s, run.is_right))
        return run

    def _this_run(self, db: sqlite3.Connection, stamp: Stamp) -> ServiceRun:
        if self._run is None:
            last = db.execute(f"{_READ} ORDER BY id DESC LIMIT 1").fetchone()
            number = (db.execute("SELECT MAX(run) FROM runs").fetchone()[0] or 0) + 1
            before = ServiceRun(last[3], last[7], bool(last[8])) if last and last[7] is not None else None
            ended = 0.0 if last is None else last[2] if before is None else last[4] + before.ahead_s
            return first_run(number, stamp, before, ended)
        return next_run(self._run, stamp)

    def knows_date(self, at: float, now_s: float) -> bool:
        """May what the wall clock says be the date?"""
        return self.database.look(lambda db: self._this_run(db, Stamp(now_s, at)).is_right)

    def clock_was_set(self, at: float, now_s: float) -> bool:
        """Mend the dates of this run if the wall clock was set meanwhile; raises `JournalError`."""
        before = self._run
        if before is None or next_run(before, Stamp(now_s, at)) == before:
            return False
        self._run = self.database.write(lambda db: self._run_of(db, Stamp(now_s, at)))
        return True

    def note_clock(self, moment: str, now_s: float) -> None:
        """Write down that the clock of a turn has come so far; raises `JournalError`."""
        noted = "INSERT OR REPLACE INTO clock VALUES (1, ?, ?)"
        self.database.write(lambda db: db.execute(noted, (moment, now_s)), clock_not_kept)

    def clock_of(self, moment: str) -> float | None:
        """The last time that was noted for the clock of a turn, or None."""
        noted = "SELECT now_s FROM clock WHERE moment = ?"
        row = self.database.look(lambda db: db.execute(noted, (moment,)).fetchone())
        return row[0] if row and math.isfinite(row[0]) else None

    def entries(self, *games: int) -> Iterator[Entry]:
        """The records of some games, or of all, in their order, as far as they are as they were written."""
        found, broken = self._legible(games)
        yield from found
        if broken:
            self.notice = broken

    def after(self, number: int, most: int) -> list[Entry]:
        """The next inputs behind one, at most so many, as far as they can be read; any thread may ask."""
        rows = self.database.read(f"{_READ} WHERE id > ? ORDER BY id LIMIT ?", (number, most))
        return [entry for row in rows if isinstance(entry := _entry_of(row), Entry)]

    def legible(self, game: int) -> tuple[list[Entry], int | None]:
        """The records of one game (0: who sat where) as far as they can be read, and the first entry that cannot."""
        found: list[Entry] = []
        for entry in self._decoded(self._kept((game,))):
            if isinstance(entry, Row):
                return found, entry.id
            found.append(entry)
        return found, None

    def _legible(self, games: tuple[int, ...]) -> tuple[list[Entry], str]:
        found: list[Entry] = []
        for entry in self._decoded(self._kept(games)):
            if isinstance(entry, Row):
                return found, broken_words(entry, _is_legible(entry))
            found.append(entry)
        return found, ""

    def _kept(self, games: tuple[int, ...]) -> list[tuple[object, ...]]:
        which = f"WHERE game IN ({', '.join('?' * len(games))})" if games else ""
        return self.database.read(f"{_READ} {which} ORDER BY id", games)

    def _decoded(self, rows: Iterable[tuple[object, ...]]) -> Iterator[Entry | Row]:
        """Each input; the first that cannot be read or does not follow comes as it is, and is the last."""
        ends: dict[int, bytes] = {}
        for read in rows:
            row = Row(*read[:7])  # type: ignore[arg-type] # damage is found by holds
            if not checksums.holds(ends.get(row.game, START), row):
                yield row
                return
            ends[row.game] = row.link
            entry = _entry_of(read)
            yield entry
            if isinstance(entry, Row):
                return

    def check(self, game: int) -> bool:
        """Are all inputs of a game as they were written, to its end? Raises `JournalError` when nobody can tell now."""
        try:
            return self.database.look(lambda db: checksums.is_whole(db, game))
        except sqlite3.Error as error:
            if migrations.is_damage(error):
                return False
            raise JournalError(say("The journal cannot be read: {error}", error=str(error))) from None

    def games(self) -> list[int]:
        """The numbers of all games, oldest first."""
        return [row[0] for row in self.database.read(GAMES)]

    def restore(self) -> Session:
        """The table as it was: who sits where, and the last game folded from its records."""
        session = Session()
        games = self.games()
        last = games[-1] if games else 0
        for entry in self.entries(0, last):
            if entry.game == last or isinstance(entry.record, TakeSeat | FreeSeat | MoveSeat | Commit | Contribute):
                try:
                    session, _ = advance(session, entry.record)
                except CompanionError as error:
                    self.notice = say(
                        "Game {number} cannot be continued ({kind} entry {entry}): start a new one.",
                        number=last,
                        kind=error.kind,
                        entry=entry.id,
                    )
                    return Session(seats=session.seats)
        return session

    def fold(self, game: int) -> Session:
        """One game folded from its own records; raises `JournalError` when there is no such game."""
        session = Session()
        entries = list(self.entries(game))
        if not entries or not isinstance(entries[0].record, NewGame):
            raise JournalError(say("There is no game {number} in {file}", number=game, file=str(self.path)))
        for entry in entries:
            session, _ = advance(session, entry.record)
        return session

    def key(self, name: str, length: int = 32) -> bytes:
        """A random secret of this installation, made at its first use, and anew where damage has left none."""
        found = self.database.read("SELECT value FROM keys WHERE name = ?", (name,))
        if found and isinstance(found[0][0], bytes) and len(found[0][0]) == length:
            return found[0][0]
        value = secrets.token_bytes(length)
        self.database.write(lambda db: self._put_key(db, name, value))
        return value

    def _put_key(self, db: sqlite3.Connection, name: str, value: bytes) -> None:
        db.execute("INSERT OR REPLACE INTO keys VALUES (?, ?)", (name, value))
        self.database.count_change()

    def keys(self) -> list[tuple[str, bytes]]:
        """All secrets of this installation by their names."""
        found = self.database.read("SELECT name, value FROM keys")
        return [(name, value) for name, value in found if isinstance(name, str) and isinstance(value, bytes)]

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """The file as it is at this moment, whatever is written meanwhile; only of a journal that is looked at."""
        db = self.database.connection
        db.execute("BEGIN")
        try:
            yield db
        finally:
            db.execute("ROLLBACK")

    def renew_key(self, name: str, length: int = 32) -> bytes:
        """Another secret in the place of one: what was made with that of before is worth nothing any more.

        Raises `JournalError`; then the one of before still holds.
        """
        made = secrets.token_bytes(length)
        self.database.write(lambda db: self._put_key(db, name, made), key_not_kept)
        return made

    def close(self) -> None:
        """Close the file and let others use it."""
        self.database.close()
        self.head.close()
        if self._lock_file:
            self._lock_file.close()


def _entry_of(read: tuple[object, ...]) -> Entry | Row:
    """An input as it was read, whatever its checksum; one whose record cannot be read comes as it is."""
    row, (ahead_s, is_right) = Row(*read[:7]), read[7:]  # type: ignore[arg-type] # damage is found by holds
    try:
        record = _decode(row.record)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        return row
    at = row.now_s + ahead_s if isinstance(ahead_s, float) else row.at
    return Entry(row.id, row.game, at, record, is_right != 0, row.now_s)


def _is_legible(row: Row) -> bool:
    try:
        return _decode(row.record) is not None
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        return False


def _is_full(error: sqlite3.Error) -> bool:
    """Was there no room? A quota or a limit on a file's size is told as an error in writing."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
