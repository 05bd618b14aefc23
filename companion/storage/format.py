"""The format of the journal's file: its tables, and how files of other formats are treated.

The file has its format in `PRAGMA user_version`. A file of another format is refused and left
unchanged. Every new format changes the tables, so a file with these tables has this format.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from companion.core.errors import JournalError
from companion.core.i18n import say

# Number of the format that this program reads and writes.
JOURNAL_FORMAT = 2
# Exactly the schema of version 1.0, so that a return to that version needs no conversion.
#
# `entries` has the entries, and `ends` the number of entries and the last link of each game. `keys`
# has secrets of the installation, `clock` the last recorded time of a turn's clock. `imported`,
# `removed` and `forgotten` belong to the archive. `runs`, `facts` and `cut` are no longer used.
SCHEMA = """
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, game INTEGER NOT NULL, at REAL NOT NULL, record BLOB NOT NULL);
CREATE INDEX entries_game ON entries (game, id);
CREATE TABLE keys (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE clock (id INTEGER PRIMARY KEY, moment TEXT NOT NULL, now_s REAL NOT NULL);
CREATE TABLE imported (
    game INTEGER PRIMARY KEY, at REAL NOT NULL, digest TEXT NOT NULL UNIQUE, file BLOB NOT NULL);
CREATE TABLE removed (game INTEGER PRIMARY KEY);
CREATE TABLE forgotten (salt BLOB PRIMARY KEY, mark BLOB NOT NULL, game INTEGER NOT NULL);
ALTER TABLE entries ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN now_s REAL NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN link BLOB NOT NULL DEFAULT x'';
CREATE TABLE ends (game INTEGER PRIMARY KEY, entries INTEGER NOT NULL, link BLOB NOT NULL);
CREATE TABLE runs (run INTEGER PRIMARY KEY, ahead_s REAL NOT NULL, is_right INTEGER NOT NULL);
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE cut (
    id INTEGER NOT NULL, game INTEGER NOT NULL, at REAL NOT NULL, run INTEGER NOT NULL, now_s REAL NOT NULL,
    record BLOB NOT NULL, link BLOB NOT NULL);
"""  # noqa: E501
# The tables in use that no chain of links covers.
SIDE_TABLES = ("keys", "clock", "ends", "imported", "removed", "forgotten")
# SQL condition for every value of a column of this type. Any other value is damage. The limits are
# far beyond every number and time in seconds that the program writes.
VALID_VALUES = {
    "INTEGER": "typeof({0}) = 'integer' AND {0} BETWEEN 0 AND 1000000000000",
    "REAL": "typeof({0}) = 'real' AND {0} BETWEEN -1e10 AND 1e11",
    "TEXT": "typeof({0}) = 'text'",
    "BLOB": "typeof({0}) = 'blob'",
}


def create_tables(db: sqlite3.Connection) -> None:
    """Create the tables of this format in an empty file."""
    db.execute("PRAGMA auto_vacuum=INCREMENTAL")
    db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version={JOURNAL_FORMAT}; COMMIT;")


def read_format_number(db: sqlite3.Connection) -> int:
    """Return the number of a file's format, 0 if it has none."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def has_our_tables(db: sqlite3.Connection) -> bool:
    """Return whether a file has exactly this format's tables and indexes, and nothing else."""
    return _schema_of(db) == _our_schema()


@cache
def _our_schema() -> list[tuple[Any, ...]]:
    """Return the schema of this format, as SQLite stores it in a new file."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        create_tables(db)
        return _schema_of(db)


def _schema_of(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return every row of a file's schema, with normalised white space."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    normalised = [(*row[:3], " ".join(str(row[3]).split())) for row in rows]
    return sorted(normalised, key=repr)


def has_valid_rows(db: sqlite3.Connection, table: str) -> bool:
    """Return whether every value of a table is valid for its column."""
    # Of each row, field 1 is the column's name and field 2 its type.
    columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    valid = " AND ".join(VALID_VALUES[column[2]].format(column[1]) for column in columns)
    return db.execute(f"SELECT 1 FROM {table} WHERE NOT ({valid}) LIMIT 1").fetchone() is None


# ---- other formats -------------------------------------------------------------------------------


def other_format_error(path: Path, format_number: int) -> JournalError:
    """Return the error for a file of a format that this program cannot read."""
    if format_number > JOURNAL_FORMAT:
        words = say(
            "{file} has format {format}, this program reads {known}: update the program",
            file=str(path),
            format=format_number,
            known=JOURNAL_FORMAT,
        )
    else:
        words = say(
            "{file} has format {format}, which this program no longer reads: start version 1.0.0 "
            "once, then this one",
            file=str(path),
            format=format_number,
        )
    return JournalError(words)


def unused_path(path: Path, label: str) -> Path:
    """Return an unused path beside a file, with a label in its name.

    For the label `damaged` it is `journal.damaged.sqlite`, or if that exists
    `journal.damaged-2.sqlite`.
    """
    candidate = path.with_name(f"{path.stem}.{label}{path.suffix}")
    number = 1
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.stem}.{label}-{number}{path.suffix}")
    return candidate


def find_copies(path: Path) -> list[Path]:
    """Return the copies and damaged files beside a journal, each with its write-ahead log.

    This program writes `damaged`. Earlier versions wrote `format-…` before a conversion, and
    `rescued`.
    """
    return sorted(
        copy
        for label in ("format-*", "damaged*", "rescued*")
        for copy in path.parent.glob(f"{path.stem}.{label}{path.suffix}*")
    )
