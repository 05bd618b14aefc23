"""The journal: every accepted input on disk, synced, before anybody sees its effect.

One SQLite file per installation (WAL, synchronous FULL) with many games in it, one service at a time. Its format, the
checksums in it and the rescue of a damaged file are in `companion.disk`.
"""

from __future__ import annotations

import logging
import math
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import msgspec

from companion.core.errors import CompanionError, JournalError
from companion.core.i18n import joined, say
from companion.storage import checksums, migrations
from companion.storage.archive_tables import Shelf
from companion.storage.calendar import ServiceRun, Stamp, first_run, next_run
from companion.storage.checksums import START, Row
from companion.storage.foreign_rows import open_to_read
from companion.storage.guarded_sqlite import harden
from companion.storage.journal_head import Head, HeadFile, Lost, head_of, lost, read_head
from companion.storage.journal_lock import hold, keep_private
from companion.storage.recovery import finish_rescue, keep_if_short, rescue
from companion.storage.sentences import (
    broken_words,
    clock_not_kept,
    cut_words,
    input_not_kept,
    key_not_kept,
    lost_words,
    no_second_place,
    rescue_words,
)
from companion.table.records import AnyRecord, Commit, Contribute, FreeSeat, MoveSeat, NewGame, TakeSeat
from companion.table.reducer import advance
from companion.table.session import Session

log = logging.getLogger(__name__)

FORMAT = migrations.FORMAT
"""The newest format that this program reads, and the one it writes."""
_READ = f"SELECT {checksums.COLUMNS}, ahead_s, is_right FROM entries LEFT JOIN runs USING (run)"
_GAMES = "SELECT DISTINCT game FROM entries WHERE game > 0 ORDER BY game"
_BUSY_MS = 5000
"""So long a write waits for another program's."""
_decode = msgspec.json.Decoder(AnyRecord).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Entry:
    """One accepted input: its place in the journal, its game (0: none), Unix time, and the record.

    `is_dated`: the time is no more than the machine's clock allows to tell; between two inputs it is right all the
    same.
    """

    id: int
    game: int
    at: float
    record: AnyRecord
    is_dated: bool = True


class Journal(Shelf):
    """The open journal. Only the table writes inputs; `close` may be called twice.

    Raises `JournalError` when another service uses the file, it cannot be written, or a newer program has written it.
    A damaged file is set aside and what can be read of it is kept, a damaged end of the game that is on is cut off:
    `notice` then says so. `read_only` looks at a journal that may be in use, whatever its format.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self.notice = ""
        self._lock = threading.Lock()
        self._lock_file: IO[str] | None = None
        self._run: ServiceRun | None = None
        self._head = HeadFile(path)
        self._lost: Lost | None = None
        if read_only:
            head = read_head(path)  # first: meanwhile the journal may have come further
            self._db = open_to_read(path)
            self._tell_lost(_lost_of(self._db, head), None)
            return
        self._lock_file = hold(path)
        try:
            self._db = self._open()
        except BaseException:
            self._head.close()
            self._lock_file.close()
            raise

    def _open(self) -> sqlite3.Connection:
        migrations.refuse_newer(self.path)
        try:
            finish_rescue(self.path)
            keep_private(self.path)
            head = read_head(self.path)
            evidence = keep_if_short(self.path, head)
            if not migrations.is_sound(self.path, migrations.is_marked(self.path), mend=True):
                self._rescue()
            migrations.unmark(self.path)
            try:
                db = self._opened(head)
            except sqlite3.Error as error:  # on a page of a large file, at which nobody has looked before
                if not migrations.is_damage(error):
                    raise
                self._rescue()
                db = self._opened(head)
            self._tell_lost(self._lost, evidence)
            self._write_head(db)
            return db
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(
                say("The journal {file} cannot be opened: {error}", file=str(self.path), error=str(error))
            ) from None

    def _opened(self, head: Head | None) -> sqlite3.Connection:
        """The file in today's format; what a table is restored from can be read."""
        db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
        try:
            harden(db)
            if not migrations.version_of(db):
                db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            if head and head.format < FORMAT:  # the second place knows of a new format first
                self._head.write(replace(head, format=FORMAT))
            migrations.migrate(db, self.path)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            self._lost = _lost_of(db, head)
            if head and self._lost:  # nobody else gets the number of a game that was
                db.execute("INSERT OR IGNORE INTO removed SELECT ? WHERE ? > ?", (*[head.game] * 2, _last_game(db)))
            self._cut_ends(db)
            db.execute(_GAMES).fetchall()
        except BaseException:
            db.close()
            raise
        return db

    def _tell_lost(self, found: Lost | None, evidence: Path | None) -> None:
        if found:
            self.notice = joined(" ", (self.notice, lost_words(found, evidence)))
            log.error("%s", self.notice)

    def _write_head(self, db: sqlite3.Connection) -> None:
        """Say in the second place how far the journal has come; where that is impossible, say so once."""
        was = self._head.trouble
        self._head.write(head_of(db, FORMAT))
        if self._head.trouble and self._head.trouble != was:
            log.warning("%s", no_second_place(self._head.trouble))

    def _committed(self) -> None:
        """The second place follows what is on the disk, before anybody sees its effect."""
        self._write_head(self._db)

    @property
    def weakness(self) -> str:
        """What is not as it should be beside the journal, and stops nothing; empty: nothing."""
        return no_second_place(self._head.trouble) if self._head.trouble else ""

    def checkpoint(self) -> None:
        """Write the log back into the file and empty it: what is in the file no bit of the log can take away.

        Somebody who reads meanwhile is not waited for: the next turn's end comes soon.
        """
        with self._lock, suppress(sqlite3.Error):
            self._db.execute("PRAGMA busy_timeout=0")
            try:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._db.execute(f"PRAGMA busy_timeout={_BUSY_MS}")

    def _rescue(self) -> None:
        is_foreign = migrations.has_strangers(self.path)
        kept, aside = rescue(self.path)
        told = rescue_words(len(kept.rows), kept.games, aside, is_foreign)
        self.notice = joined(" ", (self.notice, told))

    def _cut_ends(self, db: sqlite3.Connection) -> None:
        """Have the game that is on, and who sits where, end with the last input that is as it was written."""
        for game in sorted({0, _last_game(db)}):
            if checksums.is_whole(db, game):
                continue
            db.execute("REINDEX entries_game")  # damage to the index alone loses nothing
            if checksums.is_whole(db, game):
                continue
            db.execute("BEGIN IMMEDIATE")
            aside, missing = checksums.cut(db, game)
            db.execute("COMMIT")
            self.notice = joined(" ", (self.notice, cut_words(game, aside + missing)))

    def append(self, game: int, record: AnyRecord, at: float, now_s: float | None = None) -> None:
        """Write one record and sync it; raises `JournalError` (disk full, read-only) and then nothing is kept.

        `at` is Unix time, `now_s` the monotonic one by which it is measured (None: it cannot be).
        """
        content = _encode(record)
        stamp = None if now_s is None else Stamp(now_s, at)

        def add() -> ServiceRun | None:
            run = self._run_of(stamp) if stamp else None
            count, before = checksums.end_of(self._db, game)
            number = (self._db.execute("SELECT MAX(id) FROM entries").fetchone()[0] or 0) + 1
            row = Row(number, game, at, run.number if run else 0, now_s or 0.0, content, b"")
            link = checksums.link_of(before, row)
            self._db.execute(
                f"INSERT INTO entries ({checksums.COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", (*row[:-1], link)
            )
            self._db.execute("INSERT OR REPLACE INTO ends VALUES (?, ?, ?)", (game, count + 1, link))
            self._has_news = True
            return run

        self._run = self._write(add, input_not_kept) or self._run

    def _run_of(self, stamp: Stamp) -> ServiceRun:
        """The run of the service to which an input belongs, noted where it is new or the clock was set; lock held."""
        run = self._this_run(stamp)
        if run != self._run:
            self._db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", (run.number, run.ahead_s, run.is_right))
        return run

    def _this_run(self, stamp: Stamp) -> ServiceRun:
        if self._run is None:
            last = self._db.execute(f"{_READ} ORDER BY id DESC LIMIT 1").fetchone()
            number = (self._db.execute("SELECT MAX(run) FROM runs").fetchone()[0] or 0) + 1
            before = ServiceRun(last[3], last[7], bool(last[8])) if last and last[7] is not None else None
            ended = 0.0 if last is None else last[2] if before is None else last[4] + before.ahead_s
            return first_run(number, stamp, before, ended)
        return next_run(self._run, stamp)

    def knows_date(self, at: float, now_s: float) -> bool:
        """May what the wall clock says be the date?"""
        with self._lock:
            return self._this_run(Stamp(now_s, at)).is_right

    def clock_was_set(self, at: float, now_s: float) -> bool:
        """Mend the dates of this run if the wall clock was set meanwhile; raises `JournalError`."""
        before = self._run
        if before is None or next_run(before, Stamp(now_s, at)) == before:
            return False
        self._run = self._write(lambda: self._run_of(Stamp(now_s, at)))
        return True

    def note_clock(self, moment: str, now_s: float) -> None:
        """Write down that the clock of a turn has come so far; raises `JournalError`."""
        self._write(
            lambda: self._db.execute("INSERT OR REPLACE INTO clock VALUES (1, ?, ?)", (moment, now_s)), clock_not_kept
        )

    def clock_of(self, moment: str) -> float | None:
        """The last time that was noted for the clock of a turn, or None."""
        with self._lock:
            row = self._db.execute("SELECT now_s FROM clock WHERE moment = ?", (moment,)).fetchone()
        return row[0] if row and isinstance(row[0], float) and math.isfinite(row[0]) else None

    def entries(self, *games: int) -> Iterator[Entry]:
        """The records of some games, or of all, in their order, as far as they are as they were written."""
        found, broken = self._legible(games)
        yield from found
        if broken:
            self.notice = broken

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
        return self._read(f"{_READ} {which} ORDER BY id", games)

    def _decoded(self, rows: Iterable[tuple[object, ...]]) -> Iterator[Entry | Row]:
        """Each input; the first that cannot be read or does not follow comes as it is, and is the last."""
        ends: dict[int, bytes] = {}
        for read in rows:
            row, (ahead_s, is_right) = Row(*read[:7]), read[7:]  # type: ignore[arg-type] # damage is found by holds
            if not checksums.holds(ends.get(row.game, START), row):
                yield row
                return
            ends[row.game] = row.link
            try:
                record = _decode(row.record)
            except (msgspec.DecodeError, UnicodeDecodeError):
                yield row
                return
            at = row.now_s + ahead_s if isinstance(ahead_s, float) else row.at
            yield Entry(row.id, row.game, at, record, is_right != 0)

    def check(self, game: int) -> bool:
        """Are all inputs of a game as they were written, to its end? Raises `JournalError` when nobody can tell now."""
        with self._lock:
            try:
                return checksums.is_whole(self._db, game)
            except sqlite3.Error as error:
                if migrations.is_damage(error):
                    return False
                raise JournalError(say("The journal cannot be read: {error}", error=str(error))) from None

    def games(self) -> list[int]:
        """The numbers of all games, oldest first."""
        return [row[0] for row in self._read(_GAMES)]

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
        found = self._read("SELECT value FROM keys WHERE name = ?", (name,))
        if found and isinstance(found[0][0], bytes) and len(found[0][0]) == length:
            return found[0][0]
        value = secrets.token_bytes(length)
        self._write(lambda: self._put_key(name, value))
        return value

    def _put_key(self, name: str, value: bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO keys VALUES (?, ?)", (name, value))
        self._count_change()

    def keys(self) -> list[tuple[str, bytes]]:
        """All secrets of this installation by their names."""
        found = self._read("SELECT name, value FROM keys")
        return [(name, value) for name, value in found if isinstance(name, str) and isinstance(value, bytes)]

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """The file as it is at this moment, whatever is written meanwhile; only of a journal that is looked at."""
        self._db.execute("BEGIN")
        try:
            yield self._db
        finally:
            self._db.execute("ROLLBACK")

    def renew_key(self, name: str, length: int = 32) -> bytes:
        """Another secret in the place of one: what was made with that of before is worth nothing any more.

        Raises `JournalError`; then the one of before still holds.
        """
        made = secrets.token_bytes(length)
        self._write(lambda: self._put_key(name, made), key_not_kept)
        return made

    def close(self) -> None:
        """Close the file and let others use it."""
        with self._lock:
            self._db.close()
            self._head.close()
            if self._lock_file:
                self._lock_file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_legible(row: Row) -> bool:
    try:
        return _decode(row.record) is not None
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        return False


def _lost_of(db: sqlite3.Connection, head: Head | None) -> Lost | None:
    try:
        return None if head is None else lost(db, head)
    except sqlite3.Error:  # damage, which is told otherwise
        return None


def _last_game(db: sqlite3.Connection) -> int:
    """The newest game, also where no input of it can be found any more."""
    found = [db.execute(f"SELECT MAX(game) FROM {table}").fetchone()[0] for table in ("entries", "ends")]
    return max(game for game in (0, *found) if isinstance(game, int))
