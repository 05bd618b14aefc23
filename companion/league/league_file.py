"""Storage of a league in one SQLite database in the hub's folder.

Each change is one transaction. The tables of the database:

- `people`, `tournaments`: players' cards and tournaments as JSON.
- `shown`: at which tables of the hub a card was shown.
- `results`: one row for each finished game.
- `followed`: how far each table's records (the inputs that it has accepted) have been processed.
- `kept`: single numbers by name.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from companion.core.errors import SystemTrouble
from companion.core.files import describe_os_error
from companion.core.i18n import say
from companion.league.people import PlayerCard
from companion.league.results import GameResult, StoredResult, TableProgress
from companion.league.tournament import Tournament

T = TypeVar("T")
FILE = "league.sqlite"
# Version of the database's format. It is stored as `user_version`.
FORMAT = 1

_SCHEMA = """
CREATE TABLE kept (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE followed (tableid TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE people (number INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE shown (card TEXT, tableid TEXT, PRIMARY KEY (card, tableid)) STRICT;
CREATE TABLE tournaments (number INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE results (
    key TEXT PRIMARY KEY, tableid TEXT NOT NULL, game TEXT NOT NULL, ended_s REAL NOT NULL,
    south INTEGER, north INTEGER, winner TEXT NOT NULL, void INTEGER NOT NULL DEFAULT 0, data BLOB NOT NULL
) STRICT;
CREATE INDEX results_ended ON results (game, ended_s);
CREATE INDEX results_south ON results (south);
CREATE INDEX results_north ON results (north);
"""  # noqa: E501


# One statement of SQL with its values. The functions below return statements, so that a caller can
# run several in one transaction (see `LeagueFile.write`).
Statement = tuple[str, tuple[object, ...]]


def put(table: str, key: int | str, value: msgspec.Struct) -> Statement:
    """Return the statement that stores a value under its key in a table of the database."""
    return f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (key, msgspec.json.encode(value))


def put_number(name: str, value: int) -> Statement:
    """Return the statement that stores a number by name."""
    return "INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, value)


def put_shown(card_id: str, table_id: str) -> Statement:
    """Return the statement that stores that a card was shown at a table."""
    return "INSERT OR IGNORE INTO shown VALUES (?, ?)", (card_id, table_id)


def put_result(stored: StoredResult) -> Statement:
    """Return the statement that stores a result.

    A game may be reported again, but only by the table that reported it first. If another table has
    reported it, the statement changes nothing.
    """
    result = stored.result
    query = (
        "INSERT INTO results (key, tableid, game, ended_s, south, north, winner, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET ended_s ="
        " excluded.ended_s, south = excluded.south, north = excluded.north, winner ="
        " excluded.winner, data = excluded.data WHERE results.tableid = excluded.tableid"
    )
    values = (
        result.key,
        result.table,
        result.game,
        result.ended_s,
        stored.south,
        stored.north,
        result.winner or "",
        msgspec.json.encode(result),
    )
    return query, values


def delete_result(result: GameResult) -> Statement:
    """Return the statement that deletes the result of a game, if this table has reported it."""
    query = "DELETE FROM results WHERE key = ? AND tableid = ?"
    return query, (result.key, result.table)


def put_void(key: str, is_void: bool) -> Statement:
    """Return the statement that stores whether a result is void."""
    return "UPDATE results SET void = ? WHERE key = ?", (is_void, key)


class LeagueFile:
    """The database file. It may be used from any thread.

    Every method that reads or writes raises `SystemTrouble` if the file cannot be used. `close` may
    be called twice.
    """

    def __init__(self, folder: Path, when_changed: Callable[[], None] = lambda: None) -> None:
        self._path = folder / FILE
        self.notify = when_changed
        """Function that the league's parts call after every change that a page could show."""
        self.lock = threading.RLock()
        """Lock that the league's parts hold while they make a change, until it is written."""
        with self._translated_errors():
            # create the file before SQLite does, so that no other user can ever read it
            self._path.touch(mode=0o600)
            self._db = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA trusted_schema=OFF")
            self._db.execute("PRAGMA journal_mode=WAL")
            # a commit returns only when the data would survive a power failure
            self._db.execute("PRAGMA synchronous=FULL")
            # overwrite deleted data, such as the name of somebody who is forgotten
            self._db.execute("PRAGMA secure_delete=ON")
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version={FORMAT}; COMMIT;")
            elif version != FORMAT:
                raise SystemTrouble(
                    say("{file} is from a newer version of the program", file=str(self._path))
                )

    def close(self) -> None:
        """Close the database. Returns when running queries are done."""
        with self.lock:
            self._db.close()

    def cards(self) -> list[PlayerCard]:
        """Return all players' cards, sorted by number."""
        return self._values_by_number("people", PlayerCard)

    def tournaments(self) -> list[Tournament]:
        """Return all tournaments, oldest first."""
        return self._values_by_number("tournaments", Tournament)

    def shown_cards(self) -> set[tuple[str, str]]:
        """Return each card's id with each table where the card was shown."""
        return set(self._rows("SELECT card, tableid FROM shown"))

    def progress(self) -> dict[str, TableProgress]:
        """Return for each table how far its records have been processed."""
        rows = self._rows("SELECT tableid, data FROM followed")
        return {table: _decode(data, TableProgress) for table, data in rows}

    def number(self, name: str) -> int:
        """Return a number that `put_number` has stored by name, or 0 if it was never stored."""
        rows = self._rows("SELECT value FROM kept WHERE name = ?", (name,))
        return int(rows[0][0]) if rows else 0

    def counted_results(self, game: str) -> list[StoredResult]:
        """Return the results of a game that are not void."""
        return self._results("WHERE game = ? AND NOT void", (game,))

    def result(self, key: str) -> StoredResult | None:
        """Return the result with this key, or None."""
        return next(iter(self._results("WHERE key = ?", (key,))), None)

    def results(self, limit: int, person: int | None = None) -> list[StoredResult]:
        """Return up to `limit` results, newest first, and only those of `person` if it is given."""
        condition = "" if person is None else "WHERE south = ? OR north = ?"
        people = () if person is None else (person, person)
        return self._results(f"{condition} ORDER BY ended_s DESC, key LIMIT ?", (*people, limit))

    def write(self, *statements: Statement) -> None:
        """Run all statements in one transaction, or none if an error occurs.

        Raises `SystemTrouble`.
        """
        with self.lock, self._translated_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                for query, values in statements:
                    self._db.execute(query, values)
                self._db.execute("COMMIT")
            except BaseException:
                # after some errors SQLite itself has rolled back
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def empty_log(self) -> None:
        """Empty the write-ahead log. It may still hold what has been overwritten in the file."""
        with self.lock, self._translated_errors():
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[Any]:
        with self.lock, self._translated_errors():
            return self._db.execute(query, values).fetchall()

    def _values_by_number(self, table: str, kind: type[T]) -> list[T]:
        rows = self._rows(f"SELECT data FROM {table} ORDER BY number")
        return [_decode(data, kind) for (data,) in rows]

    def _results(self, clauses: str, values: tuple[object, ...]) -> list[StoredResult]:
        rows = self._rows(f"SELECT data, south, north, void FROM results {clauses}", values)
        return [
            StoredResult(_decode(data, GameResult), south, north, bool(void))
            for data, south, north, void in rows
        ]

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turn errors of SQLite and the disk into `SystemTrouble` with a sentence for people."""
        try:
            yield
        except SystemTrouble:
            raise
        except (sqlite3.Error, OSError) as error:
            why = describe_os_error(error) if isinstance(error, OSError) else str(error)
            raise SystemTrouble(
                say("{file} cannot be used: {error}", file=str(self._path), error=why)
            ) from None


def _decode(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise SystemTrouble(
            say("{file} cannot be used: {error}", file=FILE, error=str(error))
        ) from None
