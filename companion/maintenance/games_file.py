"""The games of an installation as JSON lines, for a backup: one line for each row of the journal
that may leave it.

No key, nothing of a game that is still on and no seat's secret is written. What is read is data of
known types within bounds, and becomes rows of a new journal of this program's own: nothing from a
backup ever reaches SQLite as more.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Annotated

import msgspec
from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.files import is_dense
from companion.core.i18n import say
from companion.core.names import is_printable
from companion.storage.database import COLUMNS, START, holds, link_all, rows_of
from companion.storage.format import make
from companion.storage.journal import Journal
from companion.table.records import AnyRecord, MoveSeat, TakeSeat
from companion.table.session import Phase

MAX_LINE_BYTES = 16_000_000
"""The longest line is a game that was imported: such a file has up to 2 MB."""
MAX_ROWS = 1_000_000
"""Maximum number of lines. A game of twenty turns has some 120."""
MAX_RECORD_BYTES = 200_000
"""The longest input: the pages take requests of 16 KB."""
MAX_NAME = 24
"""The longest name that a page takes."""
Number = Annotated[int, Meta(ge=0, le=10**12)]
Seconds = Annotated[float, Meta(ge=-1e10, le=1e11)]
Secret = Annotated[bytes, Meta(max_length=64)]
_decode_record = msgspec.json.Decoder(AnyRecord).decode
_encode = msgspec.json.Encoder().encode


class _Line(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="line",
    tag=lambda name: name.removesuffix("Line").lower(),
):
    """Base of the lines."""


class InputLine(_Line, frozen=True):
    """An accepted input. `run` is the start of the service at which it came."""

    id: Annotated[int, Meta(ge=1, le=10**12)]
    game: Number
    at: Seconds
    run: Number
    now_s: Seconds
    record: AnyRecord


class RunLine(_Line, frozen=True):
    """A start of the service: how far the wall clock was ahead, and whether it may be right."""

    run: Number
    ahead_s: Seconds
    is_right: Annotated[int, Meta(ge=0, le=1)]


class ImportedLine(_Line, frozen=True):
    """A game from elsewhere, as it was kept."""

    game: Number
    at: Seconds
    digest: Annotated[str, Meta(max_length=128)]
    file: bytes


class RemovedLine(_Line, frozen=True):
    """The number of a game that was removed."""

    game: Number


class ForgottenLine(_Line, frozen=True):
    """A name that is to be forgotten, as a salted digest."""

    salt: Secret
    mark: Secret
    game: Number


_decode_line = msgspec.json.Decoder(
    InputLine | RunLine | ImportedLine | RemovedLine | ForgottenLine
).decode
_BESIDE = {
    RunLine: "runs",
    ImportedLine: "imported",
    RemovedLine: "removed",
    ForgottenLine: "forgotten",
}


# ---- writing -------------------------------------------------------------------------------------


def write_games(journal: Journal, target: IO[bytes]) -> tuple[int, int]:
    """Write all games but one that is on. Return how many there are, and the number of that one (0:
    none is on).
    """
    journal.database.read(
        "BEGIN"
    )  # from here on the file is as it is now, whatever is written meanwhile
    games = journal.games()
    unfinished = games[-1] if games and journal.restore().phase is not Phase.OVER else 0
    played = [game for game in games if game != unfinished]
    for line in _lines(journal, played):
        target.write(_encode(line) + b"\n")
    return len(played), unfinished


def _lines(journal: Journal, games: list[int]) -> Iterator[_Line]:
    for kind, table in _BESIDE.items():
        columns = ", ".join(kind.__struct_fields__)
        for row in journal.database.connection.execute(
            f"SELECT {columns} FROM {table}"
        ):  # one at a time in memory
            yield kind(*row)
    nonces: dict[str, str] = {}
    for game in (0, *games):
        for line in _inputs(journal, game):
            yield line if game else _without_nonce(line, nonces)


def _inputs(journal: Journal, game: int) -> Iterator[InputLine]:
    """Yield the inputs of a game up to the first that is not as it was written."""
    before = START
    for row in rows_of(journal.database.connection, game):
        if not holds(before, row):
            return
        before = row.link
        yield InputLine(row.id, row.game, row.at, row.run, row.now_s, _decode_record(row.record))


def _without_nonce(line: InputLine, nonces: dict[str, str]) -> InputLine:
    """Put another nonce in the place of a seat's, which its token must carry: the same for the
    same.
    """
    record = line.record
    if not isinstance(record, TakeSeat | MoveSeat) or not record.nonce:
        return line
    other = nonces.setdefault(record.nonce, secrets.token_urlsafe(18))
    return msgspec.structs.replace(line, record=msgspec.structs.replace(record, nonce=other))


# ---- reading -------------------------------------------------------------------------------------


def read_games(source: IO[bytes], path: Path, max_bytes: int) -> None:
    """Make a new journal of the lines of a backup. Raises `Malformed` for what no backup of this
    program holds.
    """
    rows = bytes_read = 0
    path.touch(mode=0o600)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        make(db)
        db.execute("BEGIN IMMEDIATE")
        try:
            # one byte more than allowed: a line without end is not read to its end
            while text := source.readline(MAX_LINE_BYTES + 1):
                rows, bytes_read = rows + 1, bytes_read + len(text)
                if rows > MAX_ROWS or bytes_read > max_bytes or len(text) > MAX_LINE_BYTES:
                    raise Malformed(_too_long())
                if is_dense(text):
                    raise Malformed(_damaged())
                _put(db, _decode_line(text))
            link_all(db)
        except (msgspec.DecodeError, UnicodeDecodeError, sqlite3.IntegrityError, RecursionError):
            raise Malformed(_damaged()) from None
        db.execute("COMMIT")


def _put(db: sqlite3.Connection, line: _Line) -> None:
    if isinstance(line, InputLine):
        record = _encode(line.record)
        if len(record) > MAX_RECORD_BYTES:
            raise Malformed(_too_long())
        name = line.record.name if isinstance(line.record, TakeSeat | MoveSeat) else ""
        if len(name) > MAX_NAME or not is_printable(name):
            raise Malformed(_damaged())
        values = (line.id, line.game, line.at, line.run, line.now_s, record, b"")
        db.execute(f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    else:
        values = msgspec.structs.astuple(line)
        db.execute(
            f"INSERT INTO {_BESIDE[type(line)]} VALUES ({', '.join('?' * len(values))})", values
        )


def _damaged() -> str:
    return say("The games in this backup are damaged: nothing was changed.")


def _too_long() -> str:
    return say("The games in this backup are too long: at most {number} inputs.", number=MAX_ROWS)
