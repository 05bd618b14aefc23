"""SQLite files that somebody else may have made: opened so that nothing in them runs.

A file is data. A view, a trigger, an index over an expression, a generated column or a virtual table in it is a
program, and no such program of a file is ever run: reading is allowed for tables that are named beforehand, and
nothing is read on behalf of a view or a trigger. Which tables those are, `companion.storage.foreign_rows` finds out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from itertools import count
from pathlib import Path

MOST_ROW_BYTES = 16_000_000
"""A row is at most that long: the longest thing that is kept, a game from elsewhere, has 2 MB."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MOST_ROW_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}
_BEAT = 100_000
_STEPS, _STEPS_A_BYTE = 100_000_000, 200
"""More steps of SQLite than this, and this for each byte of the file, mean that damaged pages lead in a circle."""
_SCHEMA = frozenset({"sqlite_master", "sqlite_schema"})
_PRAGMAS = frozenset(
    {
        "user_version", "page_count", "table_xinfo", "table_list", "integrity_check", "quick_check", "cell_size_check",
        "trusted_schema", "query_only",
    }
)  # fmt: skip
_FUNCTIONS = frozenset({"max", "min", "count", "typeof", "length", "coalesce"})
_CALM = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION)
Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]


def open_foreign(path: Path, tables: Collection[str], immutable: bool = False) -> sqlite3.Connection:
    """A file to read these tables of, and nothing else; `immutable`: no log lies beside it, and nobody writes it.

    Its write-ahead log is read as well, and neither is written. No name in the file becomes SQL.
    """
    wanted = "mode=ro&immutable=1" if immutable else "mode=ro"
    db = sqlite3.connect(
        f"{path.absolute().as_uri()}?{wanted}", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        only_read(db, tables, path.stat().st_size)
    except BaseException:
        db.close()
        raise
    return db


def only_read(db: sqlite3.Connection, tables: Collection[str], file_bytes: int) -> None:
    """From now on these tables of a file of that size can be read with this connection, and nothing else be done."""
    harden(db)
    for limit, most in _LIMITS.items():
        db.setlimit(limit, most)
    db.set_authorizer(_reader(frozenset(tables) | _SCHEMA))
    beats = count()
    most_beats = (_STEPS + file_bytes * _STEPS_A_BYTE) // _BEAT
    db.set_progress_handler(lambda: next(beats) > most_beats, _BEAT)


def trust(db: sqlite3.Connection) -> None:
    """The whole schema of a file that was opened to be read is this program's: ask it whatever there is to ask."""
    db.set_authorizer(_no_program)
    db.set_progress_handler(None, 0)


def harden(db: sqlite3.Connection) -> None:
    """Nothing that the file itself says may run: for the program's own file, which has neither views nor triggers."""
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA cell_size_check=ON")
    if setconfig := getattr(db, "setconfig", None):  # from Python 3.12 on
        for name, is_on in (("DEFENSIVE", True), ("ENABLE_TRIGGER", False), ("ENABLE_VIEW", False)):
            setconfig(getattr(sqlite3, f"SQLITE_DBCONFIG_{name}"), is_on)
    db.set_authorizer(_no_program)


def _no_program(action: int, one: str | None, two: str | None, database: str | None, source: str | None) -> int:
    """`source` is the trigger, the view or the part of a query on whose behalf something is done: it may only read."""
    del one, two, database
    is_written = action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
    return sqlite3.SQLITE_DENY if is_written and source is not None else sqlite3.SQLITE_OK


def _reader(tables: frozenset[str]) -> Authorizer:
    def may(action: int, one: str | None, two: str | None, database: str | None, source: str | None) -> int:
        del database
        allowed = source is None and (
            action in _CALM
            or (action == sqlite3.SQLITE_READ and one in tables)
            or (action == sqlite3.SQLITE_PRAGMA and one in _PRAGMAS)
            or (action == sqlite3.SQLITE_FUNCTION and str(two).lower() in _FUNCTIONS)
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return may
