"""The games on their way out of an installation and into it: copied row by row into a file of this program's own."""

from __future__ import annotations

import secrets
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from companion.core.errors import JournalError, Malformed
from companion.core.i18n import say
from companion.storage import migrations
from companion.storage.archive_tables import TABLES
from companion.storage.checksums import START, Row, holds, link_of
from companion.storage.foreign_rows import Strange, columns_of, twin
from companion.storage.guarded_sqlite import open_foreign
from companion.storage.journal import Journal
from companion.storage.sentences import unreadable_words
from companion.table.records import AnyRecord, MoveSeat, TakeSeat
from companion.table.session import Phase

GAMES = ("entries", "runs", "ends", *TABLES)
"""What of a journal is in a backup. Not the keys; nor what was cut off a damaged game, which may be a sealed order."""
MOST_INPUTS, MOST_GAME_INPUTS, MOST_GAME_BYTES = 1_000_000, 50_000, 16_000_000
"""How many inputs a backup and a game in it may have, and how long these are: a game is held in memory as a whole.
One of twenty turns has some 120 inputs; who sat where, in eight thousand games, has fifty thousand."""
_decode = msgspec.json.Decoder(AnyRecord).decode
_encode = msgspec.json.Encoder().encode


def copy_games(path: Path, copy: Path) -> int:
    """The games of an installation in a new file, without keys, without any seat's secret, and without a game that is
    on, whose number is answered (0: none is).

    What is left out is never written there. Of a damaged game there is what is as it was written.
    """
    with Journal(path, read_only=True) as journal, closing(sqlite3.connect(copy, isolation_level=None)) as target:
        with journal.snapshot() as db:
            games, session = journal.games(), journal.restore()
            unfinished = games[-1] if games and session.phase is not Phase.OVER else 0
            public = _Public(unfinished)
            twin(db, target, migrations.FORMAT, GAMES, public.row)
        target.execute("BEGIN")
        ends = [(game, count, link) for game, (count, _, link) in public.ends.items() if count]
        target.executemany("INSERT INTO ends VALUES (?, ?, ?)", ends)
        target.execute("COMMIT")
    return unfinished


@dataclass
class _Public:
    """What of each row anybody may have. `ends`: of each game the number of inputs, the last digest as it was read and
    as it is written.
    """

    unfinished: int
    ends: dict[int, tuple[int, bytes, bytes]] = field(default_factory=dict)
    _broken: set[int] = field(default_factory=set)
    _nonces: dict[str, str] = field(default_factory=dict)
    _columns: tuple[str, ...] = field(
        default_factory=lambda: tuple(name for name, _ in columns_of(migrations.FORMAT)["entries"])
    )

    def row(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A row as it goes out; None: it does not."""
        if table == "ends":
            return None  # they are made anew
        if table != "entries":
            return row
        read = Row(**dict(zip(self._columns, row, strict=True)))
        if read.game == self.unfinished != 0 or read.game in self._broken:
            return None
        count, before, written = self.ends.get(read.game, (0, START, START))
        if not holds(before, read):
            self._broken.add(read.game)
            return None
        new = read if read.game else read._replace(record=self._without_nonce(read.record))
        new = new._replace(link=link_of(written, new))
        self.ends[read.game] = (count + 1, read.link, new.link)
        return tuple(new._asdict()[name] for name in self._columns)

    def _without_nonce(self, content: bytes) -> bytes:
        """A seat's token must carry its nonce: another one goes out in its place, the same for the same."""
        record = _decode(content)
        if not isinstance(record, TakeSeat | MoveSeat) or not record.nonce:
            return content
        nonce = self._nonces.setdefault(record.nonce, secrets.token_urlsafe(18))
        return _encode(msgspec.structs.replace(record, nonce=nonce))


@dataclass
class _Bounded:
    """Rows of a backup as they come in, as many as there may be; raises `Malformed` for more."""

    record: int
    """The place of an input's record in its row."""
    inputs: Counter[int] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)

    def row(self, table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The row as it is."""
        if table == "entries":
            game = row[1]
            self.inputs[game] += 1
            self.sizes[game] += len(row[self.record])
            is_long = self.inputs[game] > MOST_GAME_INPUTS or self.sizes[game] > MOST_GAME_BYTES
            if is_long or self.inputs.total() > MOST_INPUTS:
                raise Malformed(
                    say(
                        "The games in this backup are too long: at most {inputs} inputs and {size} MB each, "
                        "{all} inputs in all.",
                        inputs=MOST_GAME_INPUTS,
                        size=MOST_GAME_BYTES // 1_000_000,
                        all=MOST_INPUTS,
                    )
                )
        return row


def own_games(path: Path) -> bool:
    """Put a file of this program's own with the games of a foreign one in that one's place; no service uses it.

    Answers whether anything else was in it, which is left out. Raises `Malformed`.
    """
    fresh = path.with_name(f"{path.stem}.own{path.suffix}")
    damaged = Malformed(say("The games in this backup are damaged: nothing was changed."))
    try:
        with closing(open_foreign(path, ("entries", *migrations.BESIDE), immutable=True)) as source:
            version = migrations.version_of(source)
            if not 0 < version <= migrations.FORMAT:
                raise Malformed(_other_format(version))
            is_own = migrations.has_shape(source, version)
            if is_own and source.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                raise damaged
            fresh.touch(mode=0o600)
            with closing(sqlite3.connect(fresh, isolation_level=None)) as target:
                target.execute("PRAGMA auto_vacuum=INCREMENTAL")
                record = [name for name, _ in columns_of(version)["entries"]].index("record")
                twin(source, target, version, GAMES, _Bounded(record).row)
    except Strange as error:
        if error.entry is None:
            raise damaged from None
        why = unreadable_words(error.entry)
        raise Malformed(say("The games in this backup cannot be used: {why}", why=why)) from None
    except (sqlite3.Error, UnicodeDecodeError):  # the latter where SQLite's own words hold what was damaged
        raise damaged from None
    fresh.replace(path)
    return not is_own


def _other_format(version: int) -> str:
    return say(
        "The games in this backup have format {theirs}, this program reads {ours}: update the program.",
        theirs=version,
        ours=migrations.FORMAT,
    )


def keys_of(path: Path) -> list[tuple[Any, ...]]:
    """The keys of an installation; none: it has no journal yet, or none that can be read."""
    if not path.exists():
        return []
    try:
        with Journal(path, read_only=True) as journal:
            return journal.keys()
    except JournalError:
        return []


def whole_copy(path: Path, copy: Path) -> None:
    """Everything of a journal, keys and sealed orders too, in a file of this program's own.

    Raises `sqlite3.Error`, and `JournalError` for one of a newer program.
    """
    copy.touch(mode=0o600)
    with (
        closing(open_foreign(path, ("entries", *migrations.BESIDE))) as source,
        closing(sqlite3.connect(copy, isolation_level=None)) as target,
    ):
        source.execute("BEGIN")
        if (version := migrations.version_of(source)) > migrations.FORMAT:
            raise JournalError(migrations.newer(path, version))
        twin(source, target, version, ("entries", *migrations.BESIDE))
