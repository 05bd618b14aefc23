"""The journal: every accepted input on disk, synced, before anybody sees its effect.

One SQLite file per installation has many games. One service uses it at a time.

Inputs are ordered by number and timed by the monotonic clock. The wall clock only dates them. For
each start of the service (a run) the journal stores the offset of the wall clock from the monotonic
clock. If the clock is set while the service runs, this corrects the dates of the whole run. A date
that is known to be wrong is reported as unknown.
"""

from __future__ import annotations

import math
import secrets
import sqlite3
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

from companion.core.clock import EARLIEST_S
from companion.core.errors import CompanionError, JournalError
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.storage.archive_tables import ArchiveTables
from companion.storage.database import (
    COLUMNS,
    START,
    Database,
    Row,
    end_of,
    holds,
    is_damage,
    is_whole,
    link_of,
)
from companion.storage.opening import GAMES, lock_journal, open_to_read, open_to_write
from companion.storage.recovery import record_of
from companion.table.records import AnyRecord, NewGame
from companion.table.remote.fold import advance
from companion.table.session import Session

JUMP_S = 2.0
"""Drift in seconds between wall clock and monotonic clock above which the wall clock counts as
set.
"""
_READ = (
    f"SELECT {COLUMNS}, ahead_s, is_right, value FROM entries LEFT JOIN runs USING (run)"
    " LEFT JOIN facts ON name = 'run ' || entries.run"
)
_APPEND = f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_pack_run = struct.Struct(">qd?").pack
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Entry:
    """One accepted input: its number in the journal, its game (0 for none), its Unix time, and the
    record.

    `is_dated` is False if the machine's clock was known to be wrong. `now_s` is the monotonic time
    of its acceptance, 0 in older versions.
    """

    id: int
    game: int
    at: float
    record: AnyRecord
    is_dated: bool = True
    now_s: float = 0.0


@dataclass(frozen=True)
class ServiceRun:
    """One start of the service: the offset of the wall clock from the monotonic one in seconds, and
    whether the date may be right.
    """

    number: int
    ahead_s: float
    is_right: bool

    @property
    def checksum(self) -> int:
        """Return the CRC-32 of all fields. It is stored in `facts`, because the dates of all the
        run's inputs depend on them.
        """
        return zlib.crc32(_pack_run(self.number, self.ahead_s, self.is_right))


class Journal(Closeable):
    """The open journal. The table uses `append`. `archive` has the side tables, `database` is the
    file under both.

    Raises `JournalError` if another service uses the file, if it cannot be written, or if a newer
    program has written it. `notice` says what was damaged and what is kept. With `read_only` it
    reads a journal that may be in use. `close` may be called twice.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self.notice = ""
        self._run: ServiceRun | None = None
        self._lock_file: IO[str] | None = None
        if read_only:
            connection = open_to_read(path)
        else:
            self._lock_file = lock_journal(path)
            try:
                connection, self.notice = open_to_write(path)
            except BaseException:
                self._lock_file.close()
                raise
        self.database = Database(connection, path)
        self.archive = ArchiveTables(self.database)
        self.checkpoint = self.database.checkpoint
        self.next_number = self.archive.next_number

    def close(self) -> None:
        """Close the file and release it for others."""
        self.database.close()
        if self._lock_file:
            self._lock_file.close()

    # ---- writing ---------------------------------------------------------------------------------

    def append(self, game: int, record: AnyRecord, at: float, now_s: float | None = None) -> None:
        """Write one record and sync it. If it raises `JournalError` (disk full, read-only), nothing
        is stored.

        `at` is the Unix time, `now_s` the monotonic time (None if unknown).
        """
        self.append_together(game, (record,), at, now_s)

    def append_together(
        self, game: int, records: Sequence[AnyRecord], at: float, now_s: float | None = None
    ) -> None:
        """Write several records as `append` does. Either all of them are stored, or none."""

        def add(db: sqlite3.Connection) -> ServiceRun | None:
            run = None if now_s is None else self._note_run(db, at, now_s)
            count, link = end_of(db, game)
            first = (db.execute("SELECT MAX(id) FROM entries").fetchone()[0] or 0) + 1
            for number, record in enumerate(records, first):
                row = Row(
                    number, game, at, run.number if run else 0, now_s or 0.0, _encode(record), b""
                )
                link = link_of(link, row)
                db.execute(_APPEND, row._replace(link=link))
            db.execute(
                "INSERT OR REPLACE INTO ends VALUES (?, ?, ?)", (game, count + len(records), link)
            )
            return run

        self._run = self.database.write(add) or self._run

    def note_clock(self, moment: str, now_s: float) -> None:
        """Record the time that the clock of a turn has reached. Raises `JournalError`."""
        note = "INSERT OR REPLACE INTO clock VALUES (1, ?, ?)"
        self.database.write(lambda db: db.execute(note, (moment, now_s)))

    def clock_of(self, moment: str) -> float | None:
        """Return the last recorded time of a turn's clock, or None."""
        rows = self.database.read("SELECT now_s FROM clock WHERE moment = ?", (moment,))
        return rows[0][0] if rows and math.isfinite(rows[0][0]) else None

    # ---- dates -----------------------------------------------------------------------------------

    def knows_date(self, at: float, now_s: float) -> bool:
        """Return whether the date of the wall clock may be right."""
        return self.database.look(lambda db: self._run_at(db, at, now_s)).is_right

    def correct_dates(self, at: float, now_s: float) -> bool:
        """Correct the dates of this run if the wall clock was set. Return whether it was. Raises
        `JournalError`.
        """
        if self._run is None or _run_later(self._run, at, now_s) == self._run:
            return False
        self._run = self.database.write(lambda db: self._note_run(db, at, now_s))
        return True

    def _run_at(self, db: sqlite3.Connection, at: float, now_s: float) -> ServiceRun:
        run = self._run
        return _run_begun(db, at, now_s) if run is None else _run_later(run, at, now_s)

    def _note_run(self, db: sqlite3.Connection, at: float, now_s: float) -> ServiceRun:
        """Return the run of the service at a time. Store it if it is new or the clock was set."""
        run = self._run_at(db, at, now_s)
        if run != self._run:
            db.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?)",
                (run.number, run.ahead_s, run.is_right),
            )
            db.execute(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", (f"run {run.number}", run.checksum)
            )
        return run

    # ---- reading ---------------------------------------------------------------------------------

    def entries(self, *games: int) -> list[Entry]:
        """Return the inputs of some games, or of all, up to the first damaged one."""
        entries, broken = self._read(games)
        if broken:
            self.notice = _broken_words(broken, record_of(broken.record) is not None)
        return entries

    def readable_entries(self, game: int) -> tuple[list[Entry], int | None]:
        """Return the readable inputs of one game (0 for the seats), and the number of the first
        damaged one.
        """
        entries, broken = self._read((game,))
        return entries, broken.id if broken else None

    def entries_after(self, number: int, most: int) -> list[Entry]:
        """Return at most `most` readable inputs after one with this number."""
        rows = self.database.read(f"{_READ} WHERE id > ? ORDER BY id LIMIT ?", (number, most))
        return [entry for row in rows if (entry := _entry_of(row)) is not None]

    def _read(self, games: tuple[int, ...]) -> tuple[list[Entry], Row | None]:
        """Return inputs in order up to the first damaged one, and that one."""
        which = f"WHERE game IN ({', '.join('?' * len(games))})" if games else ""
        entries: list[Entry] = []
        links: dict[int, bytes] = {}
        for values in self.database.read(f"{_READ} {which} ORDER BY id", games):
            row, entry = Row(*values[:7]), _entry_of(values)
            if entry is None or not holds(links.get(row.game, START), row):
                return entries, row
            links[row.game] = row.link
            entries.append(entry)
        return entries, None

    def check(self, game: int) -> bool:
        """Return whether all inputs of a game are unchanged. Raises `JournalError` if that cannot
        be checked.
        """
        try:
            return self.database.look(lambda db: is_whole(db, game))
        except JournalError as error:
            if isinstance(error.__cause__, sqlite3.Error) and is_damage(error.__cause__):
                return False
            raise

    def games(self) -> list[int]:
        """Return the numbers of all games, oldest first."""
        return [row[0] for row in self.database.read(GAMES)]

    def restore(self) -> Session:
        """Return the last state of the table: its seats, and the last game folded from its
        records.
        """
        session = Session()
        games = self.games()
        last = games[-1] if games else 0
        for entry in self.entries(0, last):
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
        """Return one game folded from its own records. Raises `JournalError` if there is no such
        game.
        """
        session = Session()
        entries = self.entries(game)
        if not entries or not isinstance(entries[0].record, NewGame):
            raise JournalError(
                say("There is no game {number} in {file}", number=game, file=str(self.path))
            )
        for entry in entries:
            session, _ = advance(session, entry.record)
        return session

    # ---- keys ------------------------------------------------------------------------------------

    def key(self, name: str, length: int = 32) -> bytes:
        """Return a random key of this installation. It is created at the first use, or if damage
        has destroyed it.
        """
        value = dict(self.keys()).get(name, b"")
        return value if len(value) == length else self.renew_key(name, length)

    def keys(self) -> list[tuple[str, bytes]]:
        """Return all keys of this installation by name."""
        rows = self.database.read("SELECT name, value FROM keys")
        return [row for row in rows if isinstance(row[0], str) and isinstance(row[1], bytes)]

    def renew_key(self, name: str, length: int = 32) -> bytes:
        """Replace a key, so that everything made with the old one becomes invalid.

        If it raises `JournalError`, the old one is still valid.
        """
        value = secrets.token_bytes(length)
        put = "INSERT OR REPLACE INTO keys VALUES (?, ?)"
        self.database.write(lambda db: db.execute(put, (name, value)))
        return value


def _entry_of(values: tuple[Any, ...]) -> Entry | None:
    """Return the input in a row, whatever its checksum. None if its record cannot be read."""
    row, run = Row(*values[:7]), _run_of(values)
    record = record_of(row.record)
    if record is None:
        return None
    if run is None:  # only the wall clock's time is known
        return Entry(row.id, row.game, row.at, record, now_s=row.now_s)
    return Entry(row.id, row.game, row.now_s + run.ahead_s, record, run.is_right, row.now_s)


def _run_of(values: tuple[Any, ...]) -> ServiceRun | None:
    """Return the run of the input in a row. None if an older version stored none, or if it is
    damaged.
    """
    number, (ahead_s, is_right, checksum) = values[3], values[7:]
    if not isinstance(ahead_s, float) or not isinstance(number, int):
        return None
    run = ServiceRun(number, ahead_s, is_right != 0)
    return run if checksum in (None, run.checksum) else None  # older versions stored none


def _broken_words(row: Row, is_legible: bool) -> str:
    """Return a sentence on the first damaged input of a game."""
    if not is_legible:
        return say(
            "Entry {number} of the journal cannot be read: the rest of its game is left out.",
            number=row.id,
        )
    return say(
        "Game {game} cannot be continued from entry {number} on: that entry does not follow the "
        "one before it.",
        game=row.game,
        number=row.id,
    )


def _run_later(run: ServiceRun, at: float, now_s: float) -> ServiceRun:
    """Return the run at a later input, with another offset if the clock was set."""
    if abs(at - now_s - run.ahead_s) <= JUMP_S:
        return run
    return ServiceRun(run.number, at - now_s, at >= EARLIEST_S)


def _run_begun(db: sqlite3.Connection, at: float, now_s: float) -> ServiceRun:
    """Return the run of the service that begins at a time, after the last one in the journal.

    A clock that is behind the end of that run was not set. A clock that has kept running since is
    as right as it was.
    """
    number = (db.execute("SELECT MAX(run) FROM runs").fetchone()[0] or 0) + 1
    read = db.execute(f"{_READ} ORDER BY id DESC LIMIT 1").fetchone()
    last, last_at = None, 0.0
    if read is not None:
        row, last = Row(*read[:7]), _run_of(read)
        last_at = row.at if last is None else row.now_s + last.ahead_s
    is_right = at >= max(EARLIEST_S, last_at)
    if last is not None and at >= EARLIEST_S:
        ran_on = abs(at - now_s - last.ahead_s) <= JUMP_S
        is_right = last.is_right if ran_on else is_right
    return ServiceRun(number, at - now_s, is_right)
