"""The journal: every accepted input on disk, synced, before anybody sees its effect.

One SQLite file per installation stores all games. One service uses it at a time. Three words are
used for the three forms of an input:

- a record (`companion.table.records`) says what was done,
- an `Entry` is a record in the journal, with its number, game and times,
- a `Row` (`database`) is an entry as it stands in the file, with its record as JSON.

The rows of a game form a chain: each has a link, which is a hash over the row and the link of the
row before it (see `database`). So entries that damage has changed, swapped or lost are found. An
entry is readable if its record can be decoded, and intact if its link is also right.

Entries are ordered by number and timed by the monotonic clock. The wall clock only dates them. To
fold entries is to apply their records one after the other, which gives the state of the table.
"""

from __future__ import annotations

import math
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from companion.core.errors import CompanionError, JournalError, Malformed
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.storage.archive_tables import ArchiveTables
from companion.storage.database import (
    ENTRY_COLUMNS,
    NO_LINK,
    Database,
    Row,
    chain_end,
    compute_link,
    decode_record,
    is_chain_intact,
    is_row_intact,
)
from companion.storage.opening import lock_journal, open_to_read, open_to_write
from companion.table.records import SEATS_GAME, AnyRecord, NewGame
from companion.table.remote.fold import fold_record
from companion.table.session import Session

# A number of another type is damage.
_GAMES = (
    "SELECT DISTINCT game FROM entries WHERE game > 0 AND typeof(game) = 'integer' ORDER BY game"
)
_READ = f"SELECT {ENTRY_COLUMNS} FROM entries"
_APPEND = f"INSERT INTO entries ({ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Entry:
    """One accepted input, as the journal numbers and dates it."""

    id: int
    """Its number in the journal."""
    game: int
    """Number of its game, or `SEATS_GAME`."""
    at: float
    """Unix time in seconds."""
    record: AnyRecord
    now_s: float = 0.0
    """Monotonic time at which the table accepted it, in seconds. 0 if unknown."""


class Journal(Closeable):
    """The open journal. The service opens one for its table, and closes it last.

    The table uses it as its `RecordJournal`. Any thread may call. `close` may be called twice.

    With `read_only` the file may be in use by a service, and nothing in it is changed. Otherwise a
    missing file is created, and a damaged one is set aside.

    Raises `JournalError` if the file cannot be opened, has another format, or (without `read_only`)
    is used by another service.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self.notice = ""
        """Sentence on what was damaged or cannot be continued, and what to do. Empty otherwise."""
        self._lock_file: IO[str] | None = None
        if read_only:
            connection = open_to_read(path)
        else:
            self._lock_file = lock_journal(path)
            try:
                connection, self.notice = open_to_write(path)
            except BaseException:
                self._lock_file.close()
                raise
        self.database = Database(connection, path)
        self.archive = ArchiveTables(self.database)
        """The other tables in the file, for the archive of games."""

    def close(self) -> None:
        """Close the file and release it for others."""
        self.database.close()
        if self._lock_file:
            self._lock_file.close()

    # ---- writing ---------------------------------------------------------------------------------

    def append(
        self, game: int, records: Sequence[AnyRecord], at: float, now_s: float | None = None
    ) -> None:
        """Write records of one game and sync them.

        `at` is the Unix time, `now_s` the monotonic time (None if unknown). If this raises
        `JournalError`, for example because the disk is full, none of them is stored.
        """

        def add(db: sqlite3.Connection) -> None:
            # Continue the game's chain of links at its end.
            count, link = chain_end(db, game)
            first_id = (db.execute("SELECT MAX(id) FROM entries").fetchone()[0] or 0) + 1
            for number, record in enumerate(records, first_id):
                content = _encode(record)
                row = Row(number, game, at, run=0, now_s=now_s or 0.0, record=content, link=b"")
                link = compute_link(link, row)
                db.execute(_APPEND, row._replace(link=link))
            db.execute(
                "INSERT OR REPLACE INTO ends VALUES (?, ?, ?)", (game, count + len(records), link)
            )

        self.database.write(add)

    def checkpoint(self) -> None:
        """Write SQLite's log back into the file, unless somebody is reading."""
        self.database.checkpoint()

    def note_clock(self, moment: str, now_s: float) -> None:
        """Record the time that the clock of a turn has reached. Raises `JournalError`."""
        statement = "INSERT OR REPLACE INTO clock VALUES (1, ?, ?)"
        self.database.write(lambda db: db.execute(statement, (moment, now_s)))

    def noted_clock_s(self, moment: str) -> float | None:
        """Return the last recorded time of a turn's clock. None if another turn's was recorded."""
        rows = self.database.query("SELECT now_s FROM clock WHERE moment = ?", (moment,))
        return rows[0][0] if rows and math.isfinite(rows[0][0]) else None

    # ---- reading ---------------------------------------------------------------------------------

    def entries(self, *games: int) -> list[Entry]:
        """Return the entries of these games, in the order of their numbers.

        Without an argument, return those of all games, and those that belong to no game. The list
        ends before the first entry that is damaged or cannot be read.
        """
        return self.entries_until_damage(*games)[0]

    def entries_after(self, number: int, limit: int) -> list[Entry]:
        """Return at most `limit` entries after the one with this number. Empty at the end.

        Entries that cannot be read are skipped. Links are not checked.
        """
        query = f"{_READ} WHERE id > ? ORDER BY id LIMIT ?"
        while rows := self.database.query(query, (number, limit)):
            if entries := [entry for values in rows if (entry := _entry_from_row(Row(*values)))]:
                return entries
            number = rows[-1][0]
        return []

    def entries_until_damage(self, *games: int) -> tuple[list[Entry], int | None]:
        """Return the entries of these games as `entries` does, and the number of the first bad one.

        A bad entry is damaged, or cannot be read because a newer version wrote it. The number is
        None if no entry is bad. If entries are missing at the end of a game, only `is_game_intact`
        notices.
        """
        condition = f"WHERE game IN ({', '.join('?' * len(games))})" if games else ""
        entries: list[Entry] = []
        # Link of the last row of each game so far. The next row of the game must follow it.
        last_links: dict[int, bytes] = {}
        for values in self.database.query(f"{_READ} {condition} ORDER BY id", games):
            row = Row(*values)
            entry = _entry_from_row(row)
            if entry is None or not is_row_intact(last_links.get(row.game, NO_LINK), row):
                return entries, row.id
            last_links[row.game] = row.link
            entries.append(entry)
        return entries, None

    def is_game_intact(self, game: int) -> bool:
        """Return whether all entries of a game are there and unchanged.

        False if the file cannot be read. Records are not decoded.
        """
        try:
            return self.database.read(lambda db: is_chain_intact(db, game))
        except JournalError:
            return False

    def next_number(self) -> int:
        """Return the number of the table's next game. No game has or ever had it."""
        return self.archive.next_number()

    def games(self) -> list[int]:
        """Return the numbers of all games that were played here, oldest first."""
        return [row[0] for row in self.database.query(_GAMES)]

    def restore(self) -> Session:
        """Return the last state of the table: its seats, and the last game folded from its records.

        The game cannot continue if it is damaged, if one of its records cannot be read (such as one
        of a newer version), or if the rules no longer accept a record. Then only the seats are
        returned, and `notice` says why.
        """
        session = Session()
        # If all entries of the last game are lost, only its row in `ends` is left.
        last_ended = self.database.query("SELECT MAX(game) FROM ends")[0][0] or 0
        last_game = max([last_ended, *self.games()])
        is_undamaged = self.is_game_intact(last_game)
        # If the game is damaged, the entries about seats are read alone. Otherwise reading would
        # end at the damage, and miss the later ones.
        games = (SEATS_GAME, last_game) if is_undamaged else (SEATS_GAME,)
        entries, unreadable_id = self.entries_until_damage(*games)
        why = ""
        if not is_undamaged:
            why = say("it was damaged on the disk")
        elif unreadable_id is not None:
            why = f"{Malformed.kind}, entry {unreadable_id}"
        for entry in entries:
            try:
                session, _ = fold_record(session, entry.record)
            except CompanionError as error:
                # Do not use the error's message, which may have a sealed order in it.
                why = f"{error.kind}, entry {entry.id}"
                break
        if not why:
            return session
        self.notice = say(
            "Game {number} cannot be continued ({why}): start a new one.", number=last_game, why=why
        )
        return Session(seats=session.seats)

    def fold(self, game: int) -> Session:
        """Return the session at the end of a game, folded from its records.

        The folding ends before the first record that cannot be read. Raises `JournalError` if the
        game has no record that begins it, and another `CompanionError` if the rules no longer
        accept a record.
        """
        session = Session()
        entries = self.entries(game)
        if not entries or not isinstance(entries[0].record, NewGame):
            raise JournalError(
                say("There is no game {number} in {file}", number=game, file=str(self.path))
            )
        for entry in entries:
            session, _ = fold_record(session, entry.record)
        return session

    # ---- keys ------------------------------------------------------------------------------------

    def key(self, name: str, length: int = 32) -> bytes:
        """Return a random key of this installation, of `length` bytes.

        It is created at the first use, and anew if damage has changed its length.
        """
        value = dict(self.keys()).get(name, b"")
        return value if len(value) == length else self.renew_key(name, length)

    def keys(self) -> list[tuple[str, bytes]]:
        """Return all keys of this installation by name."""
        rows = self.database.query("SELECT name, value FROM keys")
        return [row for row in rows if isinstance(row[0], str) and isinstance(row[1], bytes)]

    def renew_key(self, name: str, length: int = 32) -> bytes:
        """Replace a key, so that everything made with the old one becomes invalid.

        If it raises `JournalError`, the old one is still valid.
        """
        value = secrets.token_bytes(length)
        statement = "INSERT OR REPLACE INTO keys VALUES (?, ?)"
        self.database.write(lambda db: db.execute(statement, (name, value)))
        return value


def _entry_from_row(row: Row) -> Entry | None:
    """Return the entry in a row, whatever its link. None if its record cannot be read."""
    record = decode_record(row.record)
    return None if record is None else Entry(row.id, row.game, row.at, record, row.now_s)
