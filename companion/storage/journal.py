"""The journal: every accepted input on disk, synced, before anybody sees its effect.

One SQLite file per installation with many games in it, used by one service at a time.
"""

from __future__ import annotations

import math
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from companion.core.errors import CompanionError, JournalError
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.storage import checksums
from companion.storage.archive_tables import ArchiveTables
from companion.storage.calendar import ServiceRun, Stamp, first_run, next_run
from companion.storage.checksums import START, Row
from companion.storage.database import Database, is_damage
from companion.storage.opening import GAMES, hold, open_to_read, open_to_write
from companion.storage.sentences import broken_words, clock_not_kept, input_not_kept, key_not_kept
from companion.table.records import AnyRecord, Commit, Contribute, FreeSeat, MoveSeat, NewGame, TakeSeat
from companion.table.reducer import advance
from companion.table.session import Session

_READ = f"SELECT {checksums.COLUMNS}, ahead_s, is_right FROM entries LEFT JOIN runs USING (run)"
_decode = msgspec.json.Decoder(AnyRecord).decode
_encode = msgspec.json.Encoder().encode


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


class Journal(Closeable):
    """The open journal. `append` is the table's, `archive` are its side tables, `database` is the file under both.

    Raises `JournalError` when another service uses the file, it cannot be written, or a newer program has written it.
    `notice` says what was found damaged and what is kept. `read_only` looks at a journal that may be in use.
    `on_written_s` is called with the seconds that each input took to be on disk. `close` may be called twice.
    """

    def __init__(
        self, path: Path, read_only: bool = False, on_written_s: Callable[[float], None] | None = None
    ) -> None:
        self.path = path
        self.notice = ""
        self._on_written_s = on_written_s
        self._run: ServiceRun | None = None
        self._lock_file: IO[str] | None = None
        if read_only:
            connection = open_to_read(path)
        else:
            self._lock_file = hold(path)
            try:
                connection, self.notice = open_to_write(path)
            except BaseException:
                self._lock_file.close()
                raise
        self.database = Database(connection)
        self.archive = ArchiveTables(self.database)

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
            return run

        begun_s = time.perf_counter()
        self._run = self.database.write(add, input_not_kept) or self._run
        if self._on_written_s:
            self._on_written_s(time.perf_counter() - begun_s)

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
        except JournalError as error:
            if isinstance(error.__cause__, sqlite3.Error) and is_damage(error.__cause__):
                return False
            raise

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

    def keys(self) -> list[tuple[str, bytes]]:
        """All secrets of this installation by their names."""
        found = self.database.read("SELECT name, value FROM keys")
        return [(name, value) for name, value in found if isinstance(name, str) and isinstance(value, bytes)]

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
