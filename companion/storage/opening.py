"""How a journal's file is opened: rescued if damaged, brought to today's format, held against its second place."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import replace
from pathlib import Path

from companion.core.errors import JournalError
from companion.core.i18n import joined, say
from companion.storage import checksums, migrations
from companion.storage.foreign_rows import open_to_read
from companion.storage.guarded_sqlite import harden
from companion.storage.journal_head import Head, HeadFile, Lost, head_of, lost, read_head
from companion.storage.journal_lock import keep_private
from companion.storage.recovery import finish_rescue, keep_if_short, rescue
from companion.storage.sentences import cut_words, lost_words, no_second_place, rescue_words

log = logging.getLogger(__name__)
FORMAT = migrations.FORMAT
"""The newest format that this program reads, and the one it writes."""
GAMES = "SELECT DISTINCT game FROM entries WHERE game > 0 ORDER BY game"


class Opening:
    """Opens one file, once; `notice` says what was found wrong with it and what was done, for people."""

    def __init__(self, path: Path, head: HeadFile) -> None:
        self.notice = ""
        self._path = path
        self._head = head
        self._lost: Lost | None = None

    def connection(self) -> sqlite3.Connection:
        """The open file, in today's format and whole; raises `JournalError`."""
        try:
            migrations.refuse_newer(self._path)
            finish_rescue(self._path)
            keep_private(self._path)
            head = read_head(self._path)
            evidence = keep_if_short(self._path, head)
            if not migrations.is_sound(self._path, migrations.is_marked(self._path), mend=True):
                self._rescue()
            migrations.unmark(self._path)
            try:
                db = self._opened(head)
            except sqlite3.Error as error:  # on a page of a large file, at which nobody has looked before
                if not migrations.is_damage(error):
                    raise
                self._rescue()
                db = self._opened(head)
            self._tell_lost(self._lost, evidence)
            follow(self._head, db)
            return db
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(
                say("The journal {file} cannot be opened: {error}", file=str(self._path), error=str(error))
            ) from None

    def _opened(self, head: Head | None) -> sqlite3.Connection:
        """The file in today's format; what a table is restored from can be read."""
        db = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        try:
            harden(db)
            if not migrations.version_of(db):
                db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            if head and head.format < FORMAT:  # the second place knows of a new format first
                self._head.write(replace(head, format=FORMAT))
            migrations.migrate(db, self._path)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            self._lost = _lost_of(db, head)
            if head and self._lost:  # nobody else gets the number of a game that was
                db.execute("INSERT OR IGNORE INTO removed SELECT ? WHERE ? > ?", (*[head.game] * 2, _last_game(db)))
            self._cut_ends(db)
            db.execute(GAMES).fetchall()
        except BaseException:
            db.close()
            raise
        return db

    def _tell_lost(self, found: Lost | None, evidence: Path | None) -> None:
        if found:
            self.notice = joined(" ", (self.notice, lost_words(found, evidence)))
            log.error("%s", self.notice)

    def _rescue(self) -> None:
        is_foreign = migrations.has_strangers(self._path)
        kept, aside = rescue(self._path)
        told = rescue_words(len(kept.rows), kept.games, aside, is_foreign)
        self.notice = joined(" ", (self.notice, told))

    def _cut_ends(self, db: sqlite3.Connection) -> None:
        """Have the game that is on, and who sits where, end with the last input that is as it was written."""
        for game in sorted({0, _last_game(db)}):
            if checksums.is_whole(db, game):
                continue
            db.execute("REINDEX entries_game")  # damage to the index alone loses nothing
            if checksums.is_whole(db, game):
                continue
            db.execute("BEGIN IMMEDIATE")
            aside, missing = checksums.cut(db, game)
            db.execute("COMMIT")
            self.notice = joined(" ", (self.notice, cut_words(game, aside + missing)))

    def to_read(self) -> sqlite3.Connection:
        """The file as it is, whatever its format and whoever uses it."""
        head = read_head(self._path)  # first: meanwhile the journal may have come further
        db = open_to_read(self._path)
        self._tell_lost(_lost_of(db, head), None)
        return db


def follow(head: HeadFile, db: sqlite3.Connection) -> None:
    """Say in the second place how far the journal has come; where that is impossible, say so once."""
    was = head.trouble
    now = head_of(db, FORMAT, head.newest)
    head.write(now)
    head.newest = None if head.trouble else now
    if head.trouble and head.trouble != was:
        log.warning("%s", no_second_place(head.trouble))


def _lost_of(db: sqlite3.Connection, head: Head | None) -> Lost | None:
    try:
        return None if head is None else lost(db, head)
    except sqlite3.Error:  # damage, which is told otherwise
        return None


def _last_game(db: sqlite3.Connection) -> int:
    """The newest game, also where no input of it can be found any more."""
    found = [db.execute(f"SELECT MAX(game) FROM {table}").fetchone()[0] for table in ("entries", "ends")]
    return max(game for game in (0, *found) if isinstance(game, int))
