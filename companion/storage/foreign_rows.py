"""What a file holds, taken over row by row into a file that this program has made itself.

A backup, a damaged journal, a copy to try a new release on: none of them ever becomes the journal. Of the tables that
this program knows, and of those alone, every value is read, held against the type and the bounds of its column, and
written into a new file with this program's own schema. What else is in the file is never read, let alone run.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from companion.core.errors import JournalError
from companion.core.i18n import say
from companion.storage import migrations
from companion.storage.guarded_sqlite import MOST_ROW_BYTES, open_foreign, trust
from companion.storage.migrations import made, make, schema_of

Row = tuple[Any, ...]
Change = Callable[[str, Row], Row | None]
"""What a table's row is to be in the new file; None: it is left out."""
_TYPES: dict[str, type] = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes}
_MOST_BYTES = {"record": 200_000, "link": 64, "value": 65_536, "name": 64, "digest": 128, "mark": 64, "salt": 64}
"""The longest value of a column; a record is an input, of which the pages take 16 KB. The file of a game from
elsewhere may have `MOST_ROW_BYTES`."""
_CREATED = re.compile(r"^CREATE (TABLE|INDEX) (\S+)", re.IGNORECASE)


class Strange(sqlite3.DatabaseError):
    """A value in a file is none that this program writes: damage, or somebody's work."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    sqlite_errorname = "SQLITE_CORRUPT"
    entry: int | None = None
    """The number of the input that it is in, as far as it is in one."""


# ---- the tables ------------------------------------------------------------------------------------------------------


def columns_of(version: int) -> dict[str, list[tuple[str, str]]]:
    """Every table of a format with its columns: their names and types, in their order."""
    with closing(made(version)) as right:
        tables = [str(row[1]) for row in schema_of(right) if row[0] == "table"]
        return {table: [(row[1], row[2]) for row in _columns(right, table)] for table in tables}


def _columns(db: sqlite3.Connection, table: str) -> list[Row]:
    """Of each column: number, name, type, whether it may be empty, default, place in the key, and how it is hidden."""
    return db.execute(f"PRAGMA table_xinfo({table})").fetchall()


def is_plain(db: sqlite3.Connection, table: str, version: int) -> bool:
    """Is it a table as this program makes it, by its columns? No view, nothing virtual, nothing that is computed.

    `table` is one of the program's own names. Its words may be damaged where its columns are not.
    """
    with closing(made(version)) as right:
        wanted, kind = _columns(right, table), _kind(right, table)
    named = db.execute("SELECT type, sql FROM sqlite_master WHERE name = ? COLLATE NOCASE", (table,)).fetchall()
    if not wanted or len(named) != 1 or named[0][0] != "table" or not isinstance(named[0][1], str):
        return False
    created = _CREATED.match(named[0][1])
    if created is None or created[1].upper() != "TABLE":
        return False
    return _columns(db, table) == wanted and _kind(db, table) == kind


def _kind(db: sqlite3.Connection, table: str) -> list[Row]:
    """Table, view, virtual or shadow; whether it has row numbers; whether it is strict."""
    return [row[2:] for row in db.execute(f"PRAGMA table_list({table})").fetchall() if row[0] == "main"]


def open_to_read(path: Path) -> sqlite3.Connection:
    """A journal to look at that may be in use; of one in an earlier format, or with something else in it, a copy of
    what is this program's, in memory. Raises `JournalError`.
    """
    try:
        migrations.refuse_newer(path)
        if not path.exists():
            raise JournalError(
                f"There is no companion's journal at {path}: name its folder with --state-dir, or start it once"
            )
        db = open_foreign(path, ("entries", *migrations.BESIDE))
        try:
            version = migrations.version_of(db)
            if version > migrations.FORMAT:
                raise JournalError(migrations.newer(path, version))
            if version == migrations.FORMAT and migrations.has_shape(db, version):
                trust(db)
                return db
            with closing(db):
                return _in_memory(db, version)
        except BaseException:
            db.close()
            raise
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, JournalError):
            raise
        raise JournalError(
            say("The journal {file} cannot be read: {error}", file=str(path), error=str(error))
        ) from None


def _in_memory(db: sqlite3.Connection, version: int) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    try:
        twin(db, copy, version, ("entries", *migrations.BESIDE))
        migrations.migrate(copy)
    except BaseException:
        copy.close()
        raise
    return copy


# ---- the rows --------------------------------------------------------------------------------------------------------


def twin(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    version: int,
    tables: Collection[str],
    change: Change = lambda _, row: row,
) -> None:
    """Make an empty file one of a format, with these tables' rows of another one; synced by whoever closes it.

    Raises `Strange` for a table or a value that is not as this program makes it, and `sqlite3.Error` for damage.
    """
    known = columns_of(version)
    target.execute("BEGIN IMMEDIATE")
    make(target, version)
    for table in tables:
        if table not in known:
            continue  # of a later format
        columns = known[table]
        if not is_plain(source, table, version):
            if version == 1 and not _columns(source, table):
                continue  # its first programs had no shelf
            raise Strange(f"{table} is another table than this program's")
        into = f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})"
        target.executemany(into, _changed(rows(source, table, columns), table, change))
    target.execute("COMMIT")


def rows(db: sqlite3.Connection, table: str, columns: list[tuple[str, str]]) -> Iterator[Row]:
    """The rows of a plain table, each held against its columns; raises `Strange`."""
    names = ", ".join(name for name, _ in columns)
    order = columns[0][0]
    for row in db.execute(f"SELECT {names} FROM {table} ORDER BY {order}"):
        if (wrong := wrong_in(row, columns)) is not None:
            strange = Strange(f"{table} has a value that cannot be in its column {wrong}")
            strange.entry = row[0] if table == "entries" and isinstance(row[0], int) else None
            raise strange
        yield row


def wrong_in(row: Row, columns: list[tuple[str, str]]) -> str | None:
    """The first column whose value is not of its type, or beyond its bounds; None: all are right."""
    for value, (name, kind) in zip(row, columns, strict=True):
        if type(value) is not _TYPES.get(kind):
            return name
        if isinstance(value, str | bytes) and len(value) > _MOST_BYTES.get(name, MOST_ROW_BYTES):
            return name
        least, most = migrations.BOUNDS.get((name, kind), (-math.inf, math.inf))
        if isinstance(value, int | float) and not least <= value <= most:
            return name
    return None


def _changed(found: Iterator[Row], table: str, change: Change) -> Iterator[Row]:
    for row in found:
        if (new := change(table, row)) is not None:
            yield new
