"""Checksums that chain the inputs of a game: what was lost, doubled, swapped or altered on the disk is found.

Each input carries the digest of all that is kept of it and of the digest before it in its game; the table `ends` knows
how many there are and the last digest, so that a lost end is found as well. No key is in it: it finds damage, it does
not keep anybody from forging a file.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from collections.abc import Iterable
from typing import NamedTuple

START = bytes(16)
"""The digest before the first input of a game."""
COLUMNS = "id, game, at, run, now_s, record, link"
_pack = struct.Struct(">qqdqd").pack


class Row(NamedTuple):
    """An input as it is kept; what is read of a damaged file may have other types."""

    id: int
    game: int
    at: float
    run: int
    now_s: float
    record: bytes
    link: bytes


def link_of(before: bytes, row: Row) -> bytes:
    """Return the digest of an input: 16 bytes of BLAKE2b over the one before and all that is kept of this input."""
    digest = hashlib.blake2b(before, digest_size=16)
    digest.update(_pack(row.id, row.game, row.at, row.run, row.now_s))
    digest.update(row.record)
    return digest.digest()


def holds(before: bytes, row: Row) -> bool:
    """Return whether an input follows the one with the digest `before`, and is as it was written."""
    try:
        return link_of(before, row) == row.link
    except (struct.error, TypeError, OverflowError):  # a value of another type: damage
        return False


def first_broken(rows: Iterable[Row]) -> int | None:
    """Return the first input of a game that is not as it was written, or does not follow. None: all are right."""
    before = START
    for row in rows:
        if not holds(before, row):
            return row.id
        before = row.link
    return None


def link_all(db: sqlite3.Connection) -> None:
    """Chain every input in the file as it is now, and note the ends."""
    ends: dict[int, tuple[int, bytes]] = {}
    links = []
    for read in db.execute(f"SELECT {COLUMNS} FROM entries ORDER BY id"):
        row = Row(*read)
        count, before = ends.get(row.game, (0, START))
        link = link_of(before, row)
        ends[row.game] = (count + 1, link)
        links.append((link, row.id))
    db.executemany("UPDATE entries SET link = ? WHERE id = ?", links)
    db.execute("DELETE FROM ends")
    db.executemany("INSERT INTO ends VALUES (?, ?, ?)", [(game, *end) for game, end in ends.items()])


def rows_of(db: sqlite3.Connection, game: int) -> list[Row]:
    """Return the inputs of a game as they are kept, in their order."""
    return [Row(*read) for read in db.execute(f"SELECT {COLUMNS} FROM entries WHERE game = ? ORDER BY id", (game,))]


def end_of(db: sqlite3.Connection, game: int) -> tuple[int, bytes]:
    """Return how many inputs of a game were written, and the last digest."""
    found = db.execute("SELECT entries, link FROM ends WHERE game = ?", (game,)).fetchone()
    return (0, START) if found is None else (found[0], found[1])


def is_whole(db: sqlite3.Connection, game: int) -> bool:
    """Return whether all inputs of a game are as they were written, to its end."""
    rows = rows_of(db, game)
    return first_broken(rows) is None and (len(rows), rows[-1].link if rows else START) == end_of(db, game)
