"""The head of the journal in a second place: how far it had come when somebody last saw an effect.

One flipped bit in the write-ahead log makes SQLite pass over everything behind it without a word. So a small file
beside the journal says which input was the last: written in place and synced after the input is on the disk, and before
its effect is shown. Power that goes between the two leaves a head that is older than the journal, which is no loss; a
journal that has less than its head has lost its end, and that is said.

The file has two slots of one page each, written in turn, each with a checksum: a slot that was half written leaves the
other one. It is never longer than when it was made, so a full disk does not stop it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from companion.core.files import sync_folder
from companion.storage import checksums
from companion.storage.checksums import START

SUFFIX = "-head"
"""Beside the journal as its log is, so that it goes wherever the journal goes."""
CHANGES = "changes"
"""The fact that counts what was changed and is no input: keys, games brought in or removed, names forgotten."""
_SLOT = 4096
_pack = struct.Struct(">8sQiqq16sq16sqdq")
_MAGIC = b"tabletop"
_DIGEST = 16
_BESIDE = (
    "name, value FROM keys",
    "game FROM removed",
    "salt, mark, game FROM forgotten",
    "game, at, digest FROM imported",
)
"""What changes with `CHANGES` alone and has no checksum of its own."""
_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True)
class Head:
    """The format of the journal; its newest game with the number of its inputs and the last digest; the same of who
    sits where; the number and the time (Unix) of the newest input; how many other changes there were; and a digest of
    what they have left (empty: an older program kept none).
    """

    format: int
    game: int
    count: int
    link: bytes
    seats: int
    seats_link: bytes
    last: int
    at: float
    changes: int
    beside: bytes = b""


@dataclass(frozen=True)
class Lost:
    """What a journal lacks: inputs, the newest of `game` (0: of who sat where), all after `since` (Unix time, 0: from
    the beginning on), and other changes. `is_altered`: what such changes had left is not as it was.
    """

    game: int
    inputs: int
    changes: int
    since: float
    is_altered: bool = False


class HeadFile:
    """The second place of one journal. `trouble` is why it could not be written last; empty: it could. `newest` is what
    `follow` has written last.

    The journal's lock is held by whoever writes; `close` may be called twice.
    """

    def __init__(self, journal: Path) -> None:
        self.path = head_path(journal)
        self.trouble = ""
        self.newest: Head | None = None
        self._file = -1
        self._number = 0

    def write(self, head: Head) -> None:
        """Put a head in the place of the older of the two; it is on the disk when this comes back.

        Where that is impossible the table goes on: the one that was written last stays, and is right.
        """
        try:
            if self._file < 0:
                self._open()
            self._number += 1
            content = _pack.pack(_MAGIC, self._number, *astuple(head)[:-1])
            more = head.beside + _checksum(content + head.beside)  # behind all that older programs read and write
            os.pwrite(self._file, content + _checksum(content) + more, self._number % 2 * _SLOT)
            os.fdatasync(self._file)
            self.trouble = ""
        except (OSError, struct.error) as error:
            self.trouble = getattr(error, "strerror", None) or str(error)

    def _open(self) -> None:
        """Open it, and make it where there is none; zeros are written, so that no later write has to find room."""
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        try:
            if os.fstat(file).st_size != 2 * _SLOT:
                os.ftruncate(file, 0)  # what is no file, such as a pipe, refuses it
                os.pwrite(file, bytes(2 * _SLOT), 0)
                os.fsync(file)
                sync_folder(self.path.parent)
            os.fchmod(file, 0o600)
            newest = max((number for number, _ in _slots(os.pread(file, 2 * _SLOT, 0))), default=0)
        except BaseException:
            os.close(file)
            raise
        self._file, self._number = file, newest

    def close(self) -> None:
        """Close the file; it stays."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def head_path(journal: Path) -> Path:
    """Where the head of a journal lies."""
    return journal.with_name(f"{journal.name}{SUFFIX}")


def read_head(journal: Path) -> Head | None:
    """The newest head that is whole; None: there is none that can be read."""
    try:
        file = os.open(head_path(journal), os.O_RDONLY | _FLAGS)
    except OSError:
        return None
    try:
        content = os.read(file, 2 * _SLOT)
    except OSError:
        return None
    finally:
        os.close(file)
    return max(_slots(content), key=lambda slot: slot[0], default=(0, None))[1]


def _slots(content: bytes) -> list[tuple[int, Head]]:
    """The slots that are whole, each with its number."""
    found = []
    for at in (0, _SLOT):
        slot, end = content[at : at + _pack.size], at + _pack.size + _DIGEST
        if len(slot) == _pack.size and content[at + _pack.size : end] == _checksum(slot):
            magic, number, *head = _pack.unpack(slot)
            beside, sealed = content[end : end + _DIGEST], content[end + _DIGEST : end + 2 * _DIGEST]
            if magic == _MAGIC:
                is_known = sealed == _checksum(slot + beside)
                found.append((number, replace(Head(*head), beside=beside if is_known else b"")))
    return found


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


# ---- what a journal says ---------------------------------------------------------------------------------------------


def head_of(db: sqlite3.Connection, version: int, before: Head | None = None) -> Head:
    """The head of a journal as it is now; `before` is the one that this program has written last."""
    game = _number(db, "SELECT MAX(game) FROM ends WHERE game > 0")
    count, link = _end(db, game) if game else (0, START)
    seats, seats_link = _end(db, 0)
    last, at = _newest(db)
    changes = _changes(db)
    beside = before.beside if before and before.changes == changes else _digest_beside(db)
    return Head(version, game, count, link, seats, seats_link, last, at, changes, beside)


def lost(db: sqlite3.Connection, head: Head) -> Lost | None:
    """What a journal lacks of what its head says; None: nothing. A game that was removed is not lost."""
    is_removed = _number(db, "SELECT 1 FROM removed WHERE game = ?", head.game)
    of_game = 0 if is_removed else max(0, head.count - _end(db, head.game)[0]) if head.game else 0
    of_seats = max(0, head.seats - _end(db, 0)[0])
    changes = max(0, head.changes - _changes(db))
    last, since = _newest(db)
    inputs = of_game + of_seats
    is_other = bool(head.beside) and head.beside != _digest_beside(db)
    is_altered = is_other and head.changes == _changes(db)  # last: somebody may write meanwhile
    if not inputs and not changes and not is_altered:
        return None
    if inputs:
        inputs = max(inputs, head.last - last)  # the end of the game before is gone as well
    return Lost(head.game if of_game else 0, inputs, changes, since if inputs or changes else 0.0, is_altered)


def _digest_beside(db: sqlite3.Connection) -> bytes:
    """16 bytes of BLAKE2b over every key, removed game, forgotten name and game from elsewhere."""
    rows = [db.execute(f"SELECT {what} ORDER BY 1").fetchall() for what in _BESIDE]
    return _checksum(repr(rows).encode())


def _end(db: sqlite3.Connection, game: int) -> tuple[int, bytes]:
    count, link = checksums.end_of(db, game)
    is_right = isinstance(count, int) and isinstance(link, bytes) and len(link) == len(START)
    return (count, link) if is_right else (0, START)


def _newest(db: sqlite3.Connection) -> tuple[int, float]:
    """Number and Unix time of the newest input, as well as that is known."""
    query = "SELECT id, COALESCE(now_s + ahead_s, at) FROM entries LEFT JOIN runs USING (run) ORDER BY id DESC LIMIT 1"
    row = db.execute(query).fetchone()
    is_right = row is not None and isinstance(row[0], int) and isinstance(row[1], float)
    return (row[0], row[1]) if is_right else (0, 0.0)


def _changes(db: sqlite3.Connection) -> int:
    return _number(db, "SELECT value FROM facts WHERE name = ?", CHANGES)


def _number(db: sqlite3.Connection, query: str, *values: object) -> int:
    row = db.execute(query, values).fetchone()
    return row[0] if row and isinstance(row[0], int) else 0


def keep_evidence(journal: Path, aside: Path) -> bool:
    """Copy a journal and its log as they are, before SQLite passes over what it cannot read; no room: False."""
    copies = [(Path(f"{journal}{suffix}"), Path(f"{aside}{suffix}")) for suffix in ("", "-wal")]
    try:
        for source, copy in copies:
            if source.exists():
                with (
                    source.open("rb") as old,
                    open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new,
                ):
                    while piece := old.read(1_000_000):
                        new.write(piece)
    except OSError:
        for _, copy in copies:
            with suppress(OSError):
                copy.unlink()
        return False
    return True
