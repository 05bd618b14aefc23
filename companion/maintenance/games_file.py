"""The games of an installation as JSON lines, for a backup.

The journal is a SQLite file with a table of inputs and some smaller tables. Each row that may leave
the machine becomes a line. Keys, seats' secrets and a game that is still running are never written.

A backup may come from a stranger. So its lines are read as data of known types within limits, and
become rows of a new journal that this program makes. Nothing else from a backup ever reaches
SQLite.

Each input of the journal has a link, a checksum over the input itself and the link before it. Links
are not written: `write_games` checks them, and `read_games` makes new ones.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Annotated, NamedTuple

import msgspec
from msgspec import Meta

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.messages import has_too_many_brackets
from companion.core.names import is_printable
from companion.storage.database import (
    ENTRY_COLUMNS,
    NO_LINK,
    is_row_intact,
    rebuild_links,
    select_rows,
)
from companion.storage.format import create_tables
from companion.storage.journal import Journal
from companion.table.records import AnyRecord, MoveSeat, TakeSeat
from companion.table.seats.seat_fold import MAX_NAME
from companion.table.session import Phase

# Maximum size of a line in bytes. The longest line is an imported game, whose file may have 2 MB.
MAX_LINE_BYTES = 16_000_000
# Maximum number of lines. A game of twenty turns has some 120.
MAX_LINES = 1_000_000
# Maximum size of an input's record in bytes. The pages accept requests of 16 KB.
MAX_RECORD_BYTES = 200_000

# Types of columns, with limits far beyond every value that the program writes.
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
    """Base class of all lines."""


class InputLine(_Line, frozen=True):
    """An accepted input: a row of the table `entries`."""

    id: Annotated[int, Meta(ge=1, le=10**12)]
    game: Number
    at: Seconds
    """When it arrived, as Unix time."""
    run: Number
    """Number of the start of the service during which it arrived."""
    now_s: Seconds
    """When it arrived, on the monotonic clock."""
    record: AnyRecord
    """What was done, such as taking a seat."""


class RunLine(_Line, frozen=True):
    """A start of the service."""

    run: Number
    ahead_s: Seconds
    """Seconds by which the wall clock was ahead of the monotonic clock."""
    is_right: Annotated[int, Meta(ge=0, le=1)]
    """1 if the wall clock may be right, otherwise 0."""


class ImportedLine(_Line, frozen=True):
    """A game imported from elsewhere, as stored."""

    game: Number
    at: Seconds
    digest: Annotated[str, Meta(max_length=128)]
    """Digest that identifies the game, by which a second import is noticed."""
    file: bytes


class RemovedLine(_Line, frozen=True):
    """The number of a game that was removed."""

    game: Number


class ForgottenLine(_Line, frozen=True):
    """A name that must be forgotten, as a digest with a salt."""

    salt: Secret
    mark: Secret
    """The digest."""
    game: Number
    """Number of the last game in which the name is to be forgotten."""


_decode_line = msgspec.json.Decoder(
    InputLine | RunLine | ImportedLine | RemovedLine | ForgottenLine
).decode
_DAMAGED = say("The games in this backup are damaged: nothing was changed.")
# Table of the journal by type of line. Inputs are in the table `entries`.
_TABLE_BY_LINE = {
    RunLine: "runs",
    ImportedLine: "imported",
    RemovedLine: "removed",
    ForgottenLine: "forgotten",
}


# ---- writing -------------------------------------------------------------------------------------


class WrittenGames(NamedTuple):
    """Which games `write_games` has written."""

    game_count: int
    """Number of games that were written."""
    running_id: int
    """Id of the game that was left out because it is still running. 0 if none is running."""


def write_games(journal: Journal, target: IO[bytes]) -> WrittenGames:
    """Write all games except one that is still running.

    The journal stays in a transaction, so the caller has to close it.
    """
    # In a transaction, what the running service writes meanwhile is not visible.
    journal.database.query("BEGIN")
    games = journal.games()
    running_id = games[-1] if games and journal.restore().phase is not Phase.OVER else 0
    finished = [game for game in games if game != running_id]
    for line in _read_lines(journal, finished):
        target.write(_encode(line) + b"\n")
    return WrittenGames(len(finished), running_id)


def _read_lines(journal: Journal, games: list[int]) -> Iterator[_Line]:
    """Yield the lines of these games and of everything that belongs to no game."""
    for line_type, table in _TABLE_BY_LINE.items():
        columns = ", ".join(line_type.__struct_fields__)
        # One row at a time, to save memory.
        for row in journal.database.connection.execute(f"SELECT {columns} FROM {table}"):
            yield line_type(*row)
    nonces: dict[str, str] = {}
    # Inputs that belong to no game, such as taking a seat, have the game 0. Only they have nonces.
    for game in (0, *games):
        for line in _read_inputs(journal, game):
            yield line if game else _with_new_nonce(line, nonces)


def _read_inputs(journal: Journal, game: int) -> Iterator[InputLine]:
    """Yield the inputs of a game, up to the first input whose link shows that it was altered."""
    previous_link = NO_LINK
    for row in select_rows(journal.database.connection, game):
        if not is_row_intact(previous_link, row):
            return
        previous_link = row.link
        yield InputLine(row.id, row.game, row.at, row.run, row.now_s, _decode_record(row.record))


def _with_new_nonce(line: InputLine, nonces: dict[str, str]) -> InputLine:
    """Return an input with a new nonce in place of its own, if it has one.

    Whoever knows a nonce could make the token of the seat that was taken with it. Equal nonces,
    as those of a player who has changed seats, get the same replacement.

    :param nonces: replacements so far, by the nonce that they replace
    """
    record = line.record
    if not isinstance(record, TakeSeat | MoveSeat) or not record.nonce:
        return line
    replacement = nonces.setdefault(record.nonce, secrets.token_urlsafe(18))
    changed = msgspec.structs.replace(record, nonce=replacement)
    return msgspec.structs.replace(line, record=changed)


# ---- reading -------------------------------------------------------------------------------------


def read_games(source: IO[bytes], path: Path, max_bytes: int) -> None:
    """Make a new journal from the lines of a backup.

    Raises `Malformed` for lines that this program would not write. In that case an unfinished file
    stays at `path`.

    :param path: path of the new journal
    :param max_bytes: maximum size of all lines together
    """
    lines_read = bytes_read = 0
    path.touch(mode=0o600)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        create_tables(db)
        db.execute("BEGIN IMMEDIATE")
        try:
            # Read at most one byte more than a line may have. That is enough to refuse a longer
            # line, and an endless one is never read completely.
            while text := source.readline(MAX_LINE_BYTES + 1):
                lines_read += 1
                bytes_read += len(text)
                if lines_read > MAX_LINES:
                    raise Malformed(
                        say(
                            "The games in this backup are too long: at most {number} lines.",
                            number=MAX_LINES,
                        )
                    )
                if bytes_read > max_bytes:
                    raise Malformed(
                        say(
                            "The games in this backup are too long: at most {number} bytes.",
                            number=max_bytes,
                        )
                    )
                if len(text) > MAX_LINE_BYTES:
                    raise Malformed(
                        say(
                            "A line of the games is too long: at most {number} bytes.",
                            number=MAX_LINE_BYTES,
                        )
                    )
                if has_too_many_brackets(text):
                    raise Malformed(_DAMAGED)
                _insert_line(db, _decode_line(text))
            rebuild_links(db)
        except (msgspec.DecodeError, UnicodeDecodeError, sqlite3.IntegrityError, RecursionError):
            raise Malformed(_DAMAGED) from None
        db.execute("COMMIT")


def _insert_line(db: sqlite3.Connection, line: _Line) -> None:
    """Insert a line as a row. Raises `Malformed` for an input that no table would accept."""
    if isinstance(line, InputLine):
        record = _encode(line.record)
        if len(record) > MAX_RECORD_BYTES:
            raise Malformed(
                say(
                    "An input of the games is too long: at most {number} bytes.",
                    number=MAX_RECORD_BYTES,
                )
            )
        name = line.record.name if isinstance(line.record, TakeSeat | MoveSeat) else ""
        if len(name) > MAX_NAME or not is_printable(name):
            raise Malformed(_DAMAGED)
        values = (line.id, line.game, line.at, line.run, line.now_s, record, b"")
        db.execute(f"INSERT INTO entries ({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    else:
        values = msgspec.structs.astuple(line)
        table = _TABLE_BY_LINE[type(line)]
        placeholders = ", ".join("?" * len(values))
        db.execute(f"INSERT INTO {table} VALUES ({placeholders})", values)
