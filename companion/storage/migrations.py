"""The journal's format and the ways from every earlier one to it.

A file says its format in `PRAGMA user_version`. A new file goes through all migrations, so that there is one shape
however old a file is. An older file is migrated in one transaction, with a copy beside it before; a newer one is
refused and left alone.
"""

from __future__ import annotations

import os
import re
import sqlite3
import struct
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from companion.core.errors import JournalError
from companion.core.i18n import say
from companion.storage.archive_tables import SHELF, TABLES
from companion.storage.checksums import link_all
from companion.storage.guarded_sqlite import harden
from companion.storage.journal_head import read_head

FORMAT = 2
KEPT_STARTS, STARTS = 10, "starts"
"""The copy of before a migration goes after so many starts that went well, and the fact that counts them since."""
HEADER_BYTES = 100
_MAGIC = b"SQLite format 3\0"
_USER_VERSION = struct.Struct(">60xI").unpack_from
"""Where the header of a SQLite file has it (https://www.sqlite.org/fileformat.html, 1.3)."""
_LAST_FORMAT = 1000
"""No program of this project will ever write a higher one: a header that says so is damaged."""

_FIRST = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, game INTEGER NOT NULL, at REAL NOT NULL, record BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS entries_game ON entries (game, id);
CREATE TABLE IF NOT EXISTS keys (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS clock (id INTEGER PRIMARY KEY, moment TEXT NOT NULL, now_s REAL NOT NULL);
"""
_SECOND = """
ALTER TABLE entries ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN now_s REAL NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN link BLOB NOT NULL DEFAULT x'';
CREATE TABLE ends (game INTEGER PRIMARY KEY, entries INTEGER NOT NULL, link BLOB NOT NULL);
CREATE TABLE runs (run INTEGER PRIMARY KEY, ahead_s REAL NOT NULL, is_right INTEGER NOT NULL);
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE cut (
    id INTEGER NOT NULL, game INTEGER NOT NULL, at REAL NOT NULL, run INTEGER NOT NULL, now_s REAL NOT NULL,
    record BLOB NOT NULL, link BLOB NOT NULL);
"""


def _to_1(db: sqlite3.Connection) -> None:
    """Inputs, keys, the running clock, and what is kept beside them."""
    _each(db, _FIRST + SHELF)


def _to_2(db: sqlite3.Connection) -> None:
    """Inputs are chained by checksums, and know by which start of the service they were stamped."""
    _to_1(db)  # the first programs of format 1 had no shelf
    _each(db, _SECOND)
    link_all(db)


MIGRATIONS: Mapping[int, Callable[[sqlite3.Connection], None]] = {1: _to_1, 2: _to_2}
"""By the format to which each leads from the one before."""
BESIDE = ("keys", "runs", "cut", "facts", "ends", "clock", *TABLES)
"""Every table but that of the inputs, which are known by their checksums."""


def _each(db: sqlite3.Connection, script: str) -> None:
    """As `executescript`, which would end the transaction."""
    for statement in script.split(";"):
        if statement.strip():
            db.execute(statement)


def refuse_newer(path: Path) -> None:
    """Raise `JournalError` for a file of a newer program; nothing is opened, nothing written. Raises `OSError` too."""
    try:
        content = _header_of(path)
    except FileNotFoundError:
        return
    if len(content) == HEADER_BYTES and content.startswith(_MAGIC) and not is_scrambled(path):
        version = _USER_VERSION(content)[0]
        if version > FORMAT:
            raise JournalError(newer(path, version))


def _header_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEADER_BYTES)


def is_scrambled(path: Path) -> bool:
    """Is the header of a file none that SQLite writes, or a format in it one that nobody has written there?

    A newer program puts its format into the second place (`companion.storage.journal_head`) before it changes a
    journal. So a header that says more than the second place, of a file with the tables of that one, is damage; and so
    is one in which anything else cannot be.
    """
    try:
        content = _header_of(path)
    except OSError:
        return False
    if not content:
        return False  # a new one
    if len(content) < HEADER_BYTES or not _is_header(content):
        return True
    head = read_head(path)
    if head is None or not _USER_VERSION(content)[0] > FORMAT >= head.format:
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            harden(db)
            return has_shape(db, head.format)
    except (sqlite3.Error, UnicodeDecodeError):
        return False


def _is_header(content: bytes) -> bool:
    """Can these be the first bytes of a SQLite file of any format of this program?"""
    page, user = int.from_bytes(content[16:18], "big"), _USER_VERSION(content)[0]
    fixed = content.startswith(_MAGIC) and content[20:24] == b"\0@  " and not any(content[68:92])
    is_page = page == 1 or (512 <= page <= 32_768 and not page & (page - 1))
    schema, encoding = (int.from_bytes(content[at : at + 4], "big") for at in (44, 56))
    is_known = content[18] in (1, 2) and content[19] in (1, 2) and schema <= 4 and encoding <= 3
    return fixed and is_page and is_known and user <= _LAST_FORMAT


def newer(path: Path, version: int) -> str:
    """What is said of a file of a newer program."""
    return say(
        "{file} has format {format}, this program reads {known}: update the program",
        file=str(path),
        format=version,
        known=FORMAT,
    )


def version_of(db: sqlite3.Connection) -> int:
    """The format that a file says it has; 0: it is new."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def copy_of(path: Path, version: int) -> Path:
    """Where a file of an earlier format is kept when it was migrated."""
    return path.with_name(f"{path.stem}.format-{version}{path.suffix}")


def copies(path: Path) -> list[Path]:
    """The copies that migrations have left beside a file."""
    return sorted(path.parent.glob(f"{path.stem}.format-*{path.suffix}"))


def migrate(db: sqlite3.Connection, path: Path | None = None) -> None:
    """Bring a file to `FORMAT`, wholly or not at all, after a copy beside `path`; raises `JournalError`."""
    version = version_of(db)
    if version == FORMAT:
        return
    if version > FORMAT:
        raise JournalError(newer(path or Path("journal"), version))
    if version and path:
        _keep_copy(db, copy_of(path, version))
    db.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version + 1, FORMAT + 1):
            MIGRATIONS[number](db)
        db.execute("DELETE FROM facts WHERE name = ?", (STARTS,))
        db.execute(f"PRAGMA user_version={FORMAT}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    if version and path:
        with suppress(sqlite3.Error):  # no space for it: room that becomes free is used again, not given back
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            db.execute("VACUUM")


def _keep_copy(db: sqlite3.Connection, copy: Path) -> None:
    unfinished = copy.with_suffix(".part")
    try:
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600)
        with closing(sqlite3.connect(unfinished)) as target:
            db.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(copy)
    except (OSError, sqlite3.Error) as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise JournalError(
            say(
                "The games have to be converted to a new format, and there is no room for a copy of them "
                "({error}): free some space on the disk.",
                error=str(error),
            )
        ) from None


# ---- does a file look as its format says? ----------------------------------------------------------------------------

WHOLE_AT_START_BYTES = 24_000_000
"""A larger file is checked page by page beside the game and not before it: that takes 0.15 s for 24 MB here."""
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG)
"""What SQLite says of pages it cannot use; the last where a length in them is beyond all bounds."""


def is_sound(path: Path, whole: bool = False, mend: bool = False) -> bool:
    """Can a file be read, and has it the tables of its format and nothing else? Nothing that is in it is run.

    `whole`: every page of it, however large it is. `mend`: where only an index is damaged, make it anew, and what
    cannot be used for another reason than a lock is not sound either. What may pass is raised as `sqlite3.Error`.
    """
    if is_scrambled(path):
        return False
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            harden(db)
            version = version_of(db)
            if version > FORMAT:
                return True  # not ours to judge
            if version < 0 or not has_shape(db, version) or not all(map(partial(_is_typed, db), BESIDE)):
                return False
            if mend:
                db.execute("BEGIN IMMEDIATE")  # can it be written at all?
                db.execute("ROLLBACK")
            is_large = path.stat().st_size > WHOLE_AT_START_BYTES and not whole
            if is_large and passes(db, "integrity_check", "keys"):  # without its index no page is answered
                return True
            if passes(db, "integrity_check"):
                return True
            if not mend or not passes(db, "quick_check"):
                return False
            db.execute("REINDEX")
            return passes(db, "integrity_check")
    except UnicodeDecodeError:  # SQLite's own words hold what was damaged
        return False
    except sqlite3.Error as error:
        if not is_damage(error) and (not mend or getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY):
            raise
        return False


def is_damage(error: sqlite3.Error) -> bool:
    """Is it the file itself, and not a lock, the memory or a full disk, which are better the next time?"""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # a word of Python's: bytes that became a text
        return str(error).startswith("Could not decode")
    return code == sqlite3.SQLITE_IOERR_READ or code & 0xFF in _DAMAGE


BOUNDS = {
    **dict.fromkeys((("id", "INTEGER"), ("game", "INTEGER"), ("run", "INTEGER")), (0, 10**12)),
    **dict.fromkeys((("entries", "INTEGER"), ("value", "INTEGER")), (0, 10**12)),
    ("is_right", "INTEGER"): (0, 1),
    **dict.fromkeys((("at", "REAL"), ("now_s", "REAL"), ("ahead_s", "REAL")), (-(10**10), 10**11)),
}
"""The least and the greatest number in a column, by its name and type. There is always room for the next number, and
every time, also as the sum of two, has a date."""


def typed(db: sqlite3.Connection, table: str) -> str:
    """The condition that every value of a row is of its column's type, and within its bounds."""
    wanted = []
    for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})").fetchall():
        wanted.append(f"typeof({name}) = '{kind.lower()}'")
        if (name, kind) in BOUNDS:
            least, most = BOUNDS[name, kind]
            wanted.append(f"{name} BETWEEN {least} AND {most}")
    return " AND ".join(wanted) or "1"


def _is_typed(db: sqlite3.Connection, table: str) -> bool:
    """Is every value in a table of its column's type? Of pages that were exchanged nothing else may tell."""
    if not db.execute(f"PRAGMA table_info({table})").fetchall():
        return True  # an earlier format has none
    return db.execute(f"SELECT 1 FROM {table} WHERE NOT ({typed(db, table)}) LIMIT 1").fetchone() is None


def passes(db: sqlite3.Connection, check: str, of: str = "1") -> bool:
    """`of`: a table, or how many faults are told."""
    return bool(db.execute(f"PRAGMA {check}({of})").fetchone()[0] == "ok")


def mark(path: Path) -> None:
    """Have every page of a file looked at when it is opened next: it was found damaged while it was in use."""
    with suppress(OSError):
        _mark_of(path).touch()


def is_marked(path: Path) -> bool:
    """Was a file found damaged?"""
    return _mark_of(path).exists()


def unmark(path: Path) -> None:
    """It was looked at."""
    _mark_of(path).unlink(missing_ok=True)


def _mark_of(path: Path) -> Path:
    return path.with_name(f"{path.stem}.damaged")


# ---- the schema ------------------------------------------------------------------------------------------------------


def make(db: sqlite3.Connection, version: int) -> None:
    """Give an empty file the schema of a format."""
    for number in range(1, version + 1):
        MIGRATIONS[number](db)
    db.execute(f"PRAGMA user_version={version:d}")


def made(version: int) -> sqlite3.Connection:
    """An empty file of a format, in memory."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    make(db, version)
    return db


def schema_of(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Every row of a file's schema: type, name, table, and its words without what does not count in them."""
    found = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return sorted(((*row[:3], _plain(row[3])) for row in found), key=repr)


def _plain(sql: object) -> object:
    """The words of a declaration; another version of SQLite may have put other spaces in between."""
    return re.sub(r"\s*([(),])\s*", r"\1", " ".join(sql.split())) if isinstance(sql, str) else sql


def has_strangers(path: Path) -> bool:
    """Has a file a schema that can be read, with something in it that this program never writes?"""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            harden(db)
            wanted = {row[:3] for row in _schema(FORMAT)}  # an earlier one has no table that this has not
            return any(row[:3] not in wanted for row in schema_of(db))
    except (sqlite3.Error, UnicodeDecodeError):
        return False


def _schema(version: int) -> list[tuple[Any, ...]]:
    with closing(made(version)) as right:
        return schema_of(right)


def has_shape(db: sqlite3.Connection, version: int) -> bool:
    """Is its whole schema that of its format, with nothing beside it?

    A table, an index, a view or a trigger that is not this program's is somebody's work, and would be run with every
    input. The first programs of format 1 had no shelf: there it may be missing, but not be another.
    """
    wanted, found = _schema(version), schema_of(db)
    if version != 1:
        return found == wanted
    first = ("entries", "keys", "clock")
    needed = [row for row in wanted if row[2] in first]
    return all(row in found for row in needed) and all(found.count(row) == wanted.count(row) == 1 for row in found)
