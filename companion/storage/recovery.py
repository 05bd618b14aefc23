"""What can still be read of a damaged journal, in a new file; the old one is set aside and never written again.

Of each game the inputs are kept up to the first that cannot be read or does not follow: games that lie beside the
damage stay whole.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from companion.core.files import sync_folder
from companion.storage.checksums import COLUMNS, START, Row, holds, link_all
from companion.storage.foreign_rows import columns_of, is_plain, wrong_in
from companion.storage.guarded_sqlite import only_read, open_foreign
from companion.storage.journal_head import Head, keep_evidence, lost
from companion.storage.migrations import BESIDE, FORMAT, HEADER_BYTES, is_scrambled, made, migrate
from companion.table.records import AnyRecord

_decode = msgspec.json.Decoder(AnyRecord).decode
_BROKEN = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""What reading a damaged file may raise."""
_MOST_PROBES = 300_000
"""So many numbers of inputs are tried one by one behind a place that cannot be read."""
_PAGE = 4096
"""The size of a page in every file that this program has made: SQLite's default since 2016."""
_LEAST_BYTES = 4
"""No row takes less of a file."""
_OLD_COLUMNS = "id, game, at, 0, 0.0, record, x''"
"""An input of format 1 in today's columns."""


@dataclass
class Rescued:
    """The inputs that are kept, the rows beside them by table, and which games have lost some at their end."""

    rows: list[Row] = field(default_factory=list)
    beside: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    short: set[int] = field(default_factory=set)

    @property
    def games(self) -> int:
        """Of how many games something is kept."""
        return len({row.game for row in self.rows if row.game > 0})


def rescue(path: Path) -> tuple[Rescued, Path]:
    """Put a new file with what can be read in the place of a damaged one.

    Answers what was kept, and where the old file is. A power cut on the way leaves either the old file in its place or
    the new one whole (`finish_rescue`). Raises `sqlite3.Error` and `OSError`, and then nothing was moved.
    """
    with _legible(path) as source:
        found = _read(source)
    fresh = _fresh(path)
    remove_with_log(fresh)
    fresh.touch(mode=0o600)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        migrate(db)
        _write(db, found)
    aside = _set_aside(path)
    fresh.replace(path)
    sync_folder(path.parent)
    return found, aside


def keep_if_short(path: Path, head: Head | None) -> Path | None:
    """Copy a journal and its log aside, before anything is written, where it has less than its head says.

    SQLite passes over a log from its first bad bit on, and throws it away. Answers where the copies are; None: there is
    nothing to keep, or no room for it.
    """
    log = Path(f"{path}-wal")
    if head is None or not log.exists() or not log.stat().st_size:
        return None
    try:
        with closing(open_foreign(path, ("entries", *BESIDE))) as db:
            is_short = is_plain(db, "ends", FORMAT) and lost(db, head) is not None
    except (sqlite3.Error, OSError, UnicodeDecodeError):
        is_short = True
    aside = free_aside(path)
    return aside if is_short and keep_evidence(path, aside) else None


def finish_rescue(path: Path) -> None:
    """Put the new file in its place if the power was cut in between."""
    fresh = _fresh(path)
    if fresh.exists() and not path.exists():
        fresh.replace(path)
    fresh.unlink(missing_ok=True)


def _fresh(path: Path) -> Path:
    return path.with_name(f"{path.stem}.rescued{path.suffix}")


def damaged_files(path: Path) -> list[Path]:
    """The damaged files that were set aside beside a journal."""
    return sorted(path.parent.glob(f"{path.stem}.damaged-*{path.suffix}*"))


def free_aside(path: Path) -> Path:
    """A name for a damaged journal that no other one has."""
    number = 1
    while (aside := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    return aside


def _set_aside(path: Path) -> Path:
    """Rename a damaged journal, with its write-ahead log, to a name that is free."""
    aside = free_aside(path)
    for suffix in ("-wal", "-shm", ""):
        old = Path(f"{path}{suffix}")
        if old.exists():
            old.rename(f"{aside}{suffix}")
    sync_folder(path.parent)
    return aside


# ---- reading ---------------------------------------------------------------------------------------------------------


@contextmanager
def _legible(path: Path) -> Iterator[Path]:
    """The file, or where its header is scrambled a copy for the while with a header that SQLite takes."""
    if not is_scrambled(path):
        yield path
        return
    copy = path.with_name(f"{path.stem}.mended{path.suffix}")
    try:
        remove_with_log(copy)
        if not keep_evidence(path, copy):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(copy))
        with copy.open("rb+") as file:
            file.write(_header(copy.stat().st_size))
        yield copy
    finally:
        remove_with_log(copy)


def _header(file_bytes: int) -> bytes:
    """The header of a file of this program with so many bytes; it is read once, and its free pages are left alone."""
    with closing(made(FORMAT)) as right:
        header = bytearray(right.serialize()[:HEADER_BYTES])
    header[16:18] = _PAGE.to_bytes(2, "big")
    header[24:28] = header[92:96] = b"\0\0\0\1"
    header[28:32] = (file_bytes // _PAGE).to_bytes(4, "big")
    header[32:40] = bytes(8)
    header[52:56] = b"\0\0\0\1"  # a file that gives pages back has some number here
    header[18:20] = b"\2\2"
    return bytes(header)


def remove_with_log(path: Path) -> None:
    """Remove a file of SQLite's with what lies beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _read(path: Path) -> Rescued:
    """What can be read of the tables that are this program's; anything else in the file is neither read nor run."""
    found = Rescued()
    try:
        db = sqlite3.connect(path)
    except sqlite3.Error:
        return found
    size = path.stat().st_size
    with closing(db):
        only_read(db, ("entries", *BESIDE), size)
        for table in sorted(set(BESIDE) - {"ends", "clock"}):
            with suppress(*_BROKEN):
                if (columns := _readable(db, table)) is not None:
                    names = ", ".join(name for name, _ in columns)
                    rows = islice(db.execute(f"SELECT {names} FROM {table}"), size // _LEAST_BYTES)
                    kept = found.beside.setdefault(table, [])
                    kept.extend(row for row in rows if wrong_in(row, columns) is None)
        try:
            columns = _readable(db, "entries")
        except _BROKEN:
            return found
        if columns is not None:
            is_chained = any(name == "link" for name, _ in columns)
            (_keep_chained if is_chained else _keep_old)(found, _rows(db, COLUMNS if is_chained else _OLD_COLUMNS))
    return found


def _readable(db: sqlite3.Connection, table: str) -> list[tuple[str, str]] | None:
    """The columns of a table if it is one as this program makes it, in any format; None: it is none."""
    for version in range(FORMAT, 0, -1):
        if is_plain(db, table, version):
            return columns_of(version)[table]
    return None


def _rows(db: sqlite3.Connection, columns: str) -> Iterator[Row | None]:
    """Every input that can be read, in the order of their numbers; None stands for a place that cannot."""
    last, probes = 0, 0
    while probes < _MOST_PROBES:
        try:
            query = f"SELECT {columns} FROM entries WHERE id > ? ORDER BY id"
            for read in db.execute(query, (last,)):
                if not isinstance(read[0], int) or read[0] <= last:
                    raise sqlite3.DatabaseError("out of order: a damaged page leads back")
                last = read[0]
                yield Row(*read)
            return
        except _BROKEN:
            yield None
        highest = _highest(db)
        while (last := last + 1) <= highest and probes < _MOST_PROBES:
            probes += 1
            try:
                read = db.execute(f"SELECT {columns} FROM entries WHERE id = ?", (last,)).fetchone()
            except _BROKEN:
                continue
            if read is not None and read[0] == last:
                yield Row(*read)
                break
        else:
            return


def _highest(db: sqlite3.Connection) -> int:
    """The highest number of an input that the file may hold, as far as it knows."""
    found = [0]
    for query in ("SELECT MAX(id) FROM entries", "SELECT MAX(id) FROM entries INDEXED BY entries_game"):
        with suppress(*_BROKEN):
            found.append(db.execute(query).fetchone()[0] or 0)
    with suppress(sqlite3.Error):
        found.append(db.execute("PRAGMA page_count").fetchone()[0] * 100)
    return max(number for number in found if isinstance(number, int))


def _keep_chained(found: Rescued, rows: Iterator[Row | None]) -> None:
    """Of each game what follows."""
    ends: dict[int, bytes] = {}
    for row in rows:
        if row is None or row.game in found.short:
            continue
        if holds(ends.get(row.game, START), row) and _is_record(row):
            ends[row.game] = row.link
            found.rows.append(row)
        elif isinstance(row.game, int):
            found.short.add(row.game)


def _keep_old(found: Rescued, rows: Iterator[Row | None]) -> None:
    """Format 1 knew no checksums: what can be read up to the first place that cannot."""
    for row in rows:
        if row is None or not _is_record(row):
            return
        found.rows.append(row)


def _is_record(row: Row) -> bool:
    whole = isinstance(row.game, int) and isinstance(row.at, float) and isinstance(row.record, bytes)
    try:
        return whole and _decode(row.record) is not None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


# ---- writing ---------------------------------------------------------------------------------------------------------


def _write(db: sqlite3.Connection, found: Rescued) -> None:
    """Everything into a new file, in one transaction that is synced."""
    db.execute("PRAGMA synchronous=FULL")
    db.execute("BEGIN IMMEDIATE")
    db.executemany(f"INSERT OR IGNORE INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", found.rows)
    for table, rows in found.beside.items():
        for row in rows:
            with suppress(sqlite3.IntegrityError):  # a value that is not of its kind: damage
                db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    kept = {row.game for row in found.rows}
    gone = [(game,) for game in found.short - kept if 0 < game < 2**53]
    db.executemany("INSERT OR IGNORE INTO removed VALUES (?)", gone)
    link_all(db)
    db.execute(f"PRAGMA user_version={FORMAT}")
    db.execute("COMMIT")
