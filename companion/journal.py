"""The journal: every accepted input on disk, synced, before anybody sees its effect.

One SQLite file per installation (WAL, synchronous FULL) with many games in it, one service at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from companion.advance import advance
from companion.errors import CompanionError, JournalError
from companion.languages import say
from companion.past.shelf import SHELF, TABLES, Shelf
from companion.records import AnyRecord, FreeSeat, MoveSeat, NewGame, TakeSeat
from companion.session import Session

FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, game INTEGER NOT NULL, at REAL NOT NULL, record BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS entries_game ON entries (game, id);
CREATE TABLE IF NOT EXISTS keys (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS clock (id INTEGER PRIMARY KEY, moment TEXT NOT NULL, now_s REAL NOT NULL);
"""
_decode = msgspec.json.Decoder(AnyRecord).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Entry:
    """One accepted input: its place in the journal, its game (0: none), Unix time, and the record."""

    id: int
    game: int
    at: float
    record: AnyRecord


class Journal(Shelf):
    """The open journal. Only the table writes inputs; `close` may be called twice.

    Raises `JournalError` when another service uses the file or it cannot be written. A damaged file is set aside and
    what can be read of it is kept: `notice` then says so. `read_only` looks at a journal that may be in use.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self.notice = ""
        self._lock = threading.Lock()
        self._lock_file: IO[str] | None = None
        if read_only:
            self._db = _open_to_read(path)
            return
        self._lock_file = hold(path)
        try:
            self._db = self._open()
        except BaseException:
            self._lock_file.close()
            raise

    def _open(self) -> sqlite3.Connection:
        damaged = self.path.exists() and not _is_whole(self.path)
        kept: list[tuple[int, float, bytes]] = []
        shelf: dict[str, list[tuple[object, ...]]] = {}
        if damaged:
            kept, shelf = _salvage(self.path)
            aside = _set_aside(self.path)
            self.notice = say(
                "The journal was damaged. {number} inputs were kept, the old file is {file}: "
                "games after the damage are lost.",
                number=len(kept),
                file=aside.name,
            )
        try:
            db = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            db.executescript(_SCHEMA + SHELF)
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, FORMAT):
                raise JournalError(
                    say(
                        "{file} has format {format}, this program reads {known}: update the program",
                        file=str(self.path),
                        format=version,
                        known=FORMAT,
                    )
                )
            db.execute(f"PRAGMA user_version={FORMAT}")
            if kept or shelf:
                db.execute("BEGIN")
                db.executemany("INSERT INTO entries (game, at, record) VALUES (?, ?, ?)", kept)
                for table, rows in shelf.items():
                    places = ", ".join("?" * len(rows[0]))
                    db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({places})", rows)
                db.execute("COMMIT")
            os.chmod(self.path, 0o600)
        except sqlite3.Error as error:
            raise JournalError(
                say("The journal {file} cannot be opened: {error}", file=str(self.path), error=str(error))
            ) from None
        return db

    def append(self, game: int, record: AnyRecord, at: float) -> None:
        """Write one record and sync it; raises `JournalError` (disk full, read-only) and then nothing is kept."""
        with self._lock:
            try:
                self._db.execute("INSERT INTO entries (game, at, record) VALUES (?, ?, ?)", (game, at, _encode(record)))
            except sqlite3.Error as error:
                raise JournalError(
                    say(
                        "The input could not be kept ({error}): nothing has changed. Free some space on the disk.",
                        error=str(error),
                    )
                ) from None

    def note_clock(self, moment: str, now_s: float) -> None:
        """Write down that the clock of a turn has come so far; raises `JournalError`."""
        with self._lock:
            try:
                self._db.execute("INSERT OR REPLACE INTO clock VALUES (1, ?, ?)", (moment, now_s))
            except sqlite3.Error as error:
                raise JournalError(
                    say("The clock could not be kept ({error}). Free some space on the disk.", error=str(error))
                ) from None

    def clock_of(self, moment: str) -> float | None:
        """The last time that was noted for the clock of a turn, or None."""
        with self._lock:
            row = self._db.execute("SELECT now_s FROM clock WHERE moment = ?", (moment,)).fetchone()
        return float(row[0]) if row else None

    def entries(self, game: int | None = None) -> Iterator[Entry]:
        """The records of one game, or all, in their order."""
        query = "SELECT id, game, at, record FROM entries"
        with self._lock:
            rows = self._db.execute(
                f"{query} WHERE game = ? ORDER BY id" if game is not None else f"{query} ORDER BY id",
                (game,) if game is not None else (),
            ).fetchall()
        for number, of_game, at, blob in rows:
            try:
                yield Entry(number, of_game, at, _decode(blob))
            except (msgspec.DecodeError, UnicodeDecodeError):
                self.notice = say(
                    "Entry {number} of the journal cannot be read: what follows in its game is left out.",
                    number=number,
                )
                return

    def legible(self, game: int) -> tuple[list[Entry], int | None]:
        """The records of one game (0: who sat where) as far as they can be read, and the first entry that cannot."""
        found = []
        for number, of_game, at, blob in self._read(
            "SELECT id, game, at, record FROM entries WHERE game = ? ORDER BY id", (game,)
        ):
            try:
                found.append(Entry(number, of_game, at, _decode(blob)))
            except (msgspec.DecodeError, UnicodeDecodeError):
                return found, number
        return found, None

    def games(self) -> list[int]:
        """The numbers of all games, oldest first."""
        with self._lock:
            rows = self._db.execute("SELECT DISTINCT game FROM entries WHERE game > 0 ORDER BY game").fetchall()
        return [row[0] for row in rows]

    def restore(self) -> Session:
        """The table as it was: who sits where, and the last game folded from its records."""
        session = Session()
        games = self.games()
        last = games[-1] if games else 0
        for entry in self.entries():
            if entry.game == last or isinstance(entry.record, TakeSeat | FreeSeat | MoveSeat):
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
        """A random secret of this installation, made at its first use."""
        with self._lock:
            row = self._db.execute("SELECT value FROM keys WHERE name = ?", (name,)).fetchone()
            if row is None:
                row = (secrets.token_bytes(length),)
                self._db.execute("INSERT INTO keys VALUES (?, ?)", (name, row[0]))
        return bytes(row[0])

    def close(self) -> None:
        """Close the file and let others use it."""
        with self._lock:
            self._db.close()
            if self._lock_file:
                self._lock_file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def hold(path: Path) -> IO[str]:
    """Take a journal for this process until the file that is answered is closed; raises `JournalError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock_file = open(path.with_suffix(".lock"), "w", encoding="ascii")  # noqa: SIM115 - held until close
    except OSError as error:
        raise JournalError(
            say(
                "{folder} cannot be written ({error}): set state_dir to a folder of yours",
                folder=str(path.parent),
                error=error.strerror,
            )
        ) from None
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock_file.close()
        raise JournalError(
            say("Another companion is using {file}: stop it, or set another state_dir", file=str(path))
        ) from None
    return lock_file


def _open_to_read(path: Path) -> sqlite3.Connection:
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
        db.execute("SELECT 1 FROM entries LIMIT 1")
    except sqlite3.Error as error:
        raise JournalError(
            say("The journal {file} cannot be read: {error}", file=str(path), error=str(error))
        ) from None
    return db


def _is_whole(path: Path) -> bool:
    try:
        db = sqlite3.connect(path)
        try:
            return bool(db.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        finally:
            db.close()
    except sqlite3.Error:
        return False


def _salvage(path: Path) -> tuple[list[tuple[int, float, bytes]], dict[str, list[tuple[object, ...]]]]:
    """What can still be read of a damaged file: the entries up to the first that cannot, and the rows beside them."""
    entries: list[tuple[int, float, bytes]] = []
    shelf: dict[str, list[tuple[object, ...]]] = {}
    try:
        db = sqlite3.connect(path)
    except sqlite3.Error:
        return entries, shelf
    for table in ("keys", *TABLES):
        with contextlib.suppress(sqlite3.Error):
            if rows := list(db.execute(f"SELECT * FROM {table}")):
                shelf[table] = rows
    try:
        for row in db.execute("SELECT game, at, record FROM entries ORDER BY id"):
            _decode(row[2])
            entries.append(row)
    except (sqlite3.Error, msgspec.DecodeError):
        pass  # the damage begins here
    finally:
        db.close()
    return entries, shelf


def _set_aside(path: Path) -> Path:
    """Rename a damaged journal, with its write-ahead log, to a name that is free."""
    number = 1
    while (aside := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    for suffix in ("", "-wal", "-shm"):
        old = Path(f"{path}{suffix}")
        if old.exists():
            old.rename(f"{aside}{suffix}")
    return aside
