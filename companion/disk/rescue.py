"""What can still be read of a damaged journal, in a new file; the old one is set aside and never written again.

Of each game the inputs are kept up to the first that cannot be read or does not follow: games that lie beside the
damage stay whole.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec

from companion.disk.chain import COLUMNS, START, Row, holds, link_all
from companion.disk.formats import BESIDE, FORMAT, migrate, typed
from companion.records import AnyRecord

_decode = msgspec.json.Decoder(AnyRecord).decode
_BROKEN = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""What reading a damaged file may raise."""
_MOST_PROBES = 300_000
"""So many numbers of inputs are tried one by one behind a place that cannot be read."""
_BEAT = 100_000
_LEAST_BYTES = 4
"""No row takes less of a file."""
_STEPS, _STEPS_A_BYTE = 100_000_000, 200
"""More steps of SQLite than this, and this for each byte, mean that damaged pages lead in a circle."""
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
    found = _read(path)
    fresh = _fresh(path)
    for suffix in ("", "-wal", "-shm"):
        Path(f"{fresh}{suffix}").unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        migrate(db)
        _write(db, found)
    aside = _set_aside(path)
    fresh.replace(path)
    _sync(path.parent)
    return found, aside


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


def _set_aside(path: Path) -> Path:
    """Rename a damaged journal, with its write-ahead log, to a name that is free."""
    number = 1
    while (aside := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    for suffix in ("-wal", "-shm", ""):
        old = Path(f"{path}{suffix}")
        if old.exists():
            old.rename(f"{aside}{suffix}")
    _sync(path.parent)
    return aside


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ---- reading ---------------------------------------------------------------------------------------------------------


def _read(path: Path) -> Rescued:
    found = Rescued()
    try:
        db = sqlite3.connect(path)
    except sqlite3.Error:
        return found
    size = path.stat().st_size
    with closing(db):
        beats = count()
        db.set_progress_handler(lambda: next(beats) > (_STEPS + size * _STEPS_A_BYTE) // _BEAT, _BEAT)
        for table in set(BESIDE) - {"ends", "clock"}:
            with suppress(*_BROKEN):
                rows = db.execute(f"SELECT * FROM {table} WHERE {typed(db, table)}")
                found.beside.setdefault(table, []).extend(islice(rows, size // _LEAST_BYTES))
        try:
            chained = any(column[1] == "link" for column in db.execute("PRAGMA table_info(entries)"))
        except _BROKEN:
            return found
        (_keep_chained if chained else _keep_old)(found, _rows(db, COLUMNS if chained else _OLD_COLUMNS))
    return found


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
