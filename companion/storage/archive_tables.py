"""The side tables in the journal's file: imported games, removed games, and forgotten names.

A game is only removed as a whole. Single entries are never changed or removed, because that would
break the game's chain of links (see `database`). So the archive needs these tables:

- `imported` has the file of each imported game.
- `removed` has the number of each removed game, so that no other game gets it.
- `forgotten` has, for each player who wants to be forgotten, a digest of the name and the number of
  the last game in which the archive hides the name. The name itself stays in the entries.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from dataclasses import dataclass
from functools import lru_cache

from companion.storage.database import Database

# Query for the last entry of each game: the game's number, the entry's number and its Unix time.
#
# It jumps from game to game in the index, which takes some milliseconds for 500 games. GROUP BY
# would read every entry. Entries with the game 0 (`SEATS_GAME`) belong to no game.
_LAST_ENTRIES = """
WITH RECURSIVE played(game) AS (
    SELECT MIN(game) FROM entries WHERE game > 0
    UNION ALL SELECT (SELECT MIN(game) FROM entries WHERE game > played.game) FROM played WHERE game IS NOT NULL)
SELECT game, id, at FROM entries WHERE id IN (
    SELECT (SELECT MAX(id) FROM entries WHERE entries.game = played.game) FROM played WHERE game IS NOT NULL)
"""  # noqa: E501


def _fingerprint(last_id: int, at: object) -> str:
    """Return the fingerprint of a game whose last entry has this number and Unix time."""
    return f"{last_id}-{at:.6f}" if isinstance(at, float) else f"{last_id}-damaged"


@dataclass(frozen=True)
class ForgottenName:
    """A name that the archive must no longer show. The name itself is not stored."""

    salt: bytes
    """Random bytes. With them, nobody can find the name in a prepared list of digests."""
    name_digest: bytes
    """Digest of salt and name, see `_digest_name`."""
    game: int
    """Number of the last game in which the name is forgotten. Later games may show it again."""

    def covers(self, name: str, game: int) -> bool:
        """Return whether this name is forgotten in this game."""
        return game <= self.game and hmac.compare_digest(
            _digest_name(self.salt, name), self.name_digest
        )


# A long list of games asks for the same names again and again, so digests are cached.
@lru_cache(maxsize=1024)
def _digest_name(salt: bytes, name: str) -> bytes:
    """Return the digest of a name. It is the same in upper and in lower case."""
    return hashlib.sha256(salt + name.strip().casefold().encode()).digest()


class ArchiveTables:
    """The side tables of the journal, for the archive. Any thread may call.

    Methods raise `JournalError` if the file cannot be read or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # The number that the table's next game will get. No imported game gets it, even if it is
        # imported before the table's game starts.
        self._reserved_number = 0

    def next_number(self) -> int:
        """Reserve a number for the table's next game, and return it.

        No game has this number or ever had it, and no imported game will get it.
        """

        # This runs under the file's lock, so no game can be imported between the two steps.
        def reserve(db: sqlite3.Connection) -> int:
            self._reserved_number = _highest_number(db) + 1
            return self._reserved_number

        return self._database.read(reserve)

    def fingerprints(self) -> dict[int, str]:
        """Return the fingerprint of every game played here, by the game's number.

        A fingerprint is made of the number and the time of the game's last entry. So it changes
        with each entry, and the games of another journal have other ones. A cached summary that was
        stored with the present fingerprint of its game is up to date.
        """
        rows = self._database.query(_LAST_ENTRIES)
        return {int(game): _fingerprint(last_id, at) for game, last_id, at in rows}

    def fingerprint(self, game: int) -> str | None:
        """Return the fingerprint of one game. None if it was not played here.

        Game 0 is none: it stands for the entries that belong to no game (`SEATS_GAME`).
        """
        rows = self._database.query(
            "SELECT id, at FROM entries WHERE game = ? ORDER BY id DESC LIMIT 1", (game,)
        )
        return _fingerprint(*rows[0]) if rows and game > 0 else None

    def last_entry_times(self) -> list[tuple[int, float]]:
        """Return the number of each game played here with the Unix time of its last entry.

        Oldest games come first. A game whose time is damaged is left out.
        """
        return sorted(
            (int(game), at)
            for game, _, at in self._database.query(_LAST_ENTRIES)
            if isinstance(at, float)
        )

    def imported_digests(self) -> dict[int, str]:
        """Return the digest of each imported game by its number.

        Two imported files with the same digest are the same game (see `game_summary.game_digest`).
        """
        return dict(self._database.query("SELECT game, digest FROM imported ORDER BY game"))

    def imported_digest(self, game: int) -> str | None:
        """Return the digest of an imported game. None if no imported game has this number."""
        rows = self._database.query("SELECT digest FROM imported WHERE game = ?", (game,))
        return str(rows[0][0]) if rows else None

    def imported_file(self, game: int) -> bytes | None:
        """Return the file of an imported game. None if no imported game has this number."""
        rows = self._database.query("SELECT file FROM imported WHERE game = ?", (game,))
        return bytes(rows[0][0]) if rows else None

    def add_imported(self, file: bytes, digest: str, at: float) -> int:
        """Store an imported game, and return its number.

        It never gets the number that is reserved for the table's next game. If this raises
        `JournalError`, nothing is stored.
        """

        def insert(db: sqlite3.Connection) -> int:
            number = max(_highest_number(db), self._reserved_number) + 1
            db.execute("INSERT INTO imported VALUES (?, ?, ?, ?)", (number, at, digest, file))
            return number

        return self._database.write(insert)

    def remove_game(self, game: int) -> None:
        """Remove a game: all entries of one that was played here, or the file of an imported one.

        Its number is not used again.
        """

        def remove(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR IGNORE INTO removed VALUES (?)", (game,))
            # Version 1.0 stored the cut-off end of a damaged game in `cut`. Entries with the game 0
            # (`SEATS_GAME`), such as changes of seats, belong to no game and are never removed.
            for table in ("entries", "ends", "cut"):
                db.execute(f"DELETE FROM {table} WHERE game = ? AND game > 0", (game,))
            db.execute("DELETE FROM imported WHERE game = ?", (game,))

        self._database.write(remove)

    def forgotten_names(self) -> tuple[ForgottenName, ...]:
        """Return the forgotten names, sorted by their last game."""
        rows = self._database.query("SELECT salt, mark, game FROM forgotten ORDER BY game")
        return tuple(
            ForgottenName(bytes(salt), bytes(digest), int(game)) for salt, digest, game in rows
        )

    def forget_name(self, name: str) -> None:
        """Forget a name in every game up to now, in upper and in lower case."""
        salt = secrets.token_bytes(16)
        digest = _digest_name(salt, name)
        statement = "INSERT INTO forgotten VALUES (?, ?, ?)"
        self._database.write(lambda db: db.execute(statement, (salt, digest, _highest_number(db))))


def _highest_number(db: sqlite3.Connection) -> int:
    """Return the highest number that a game ever had. 0 if there was none.

    `Database.read` and `Database.write` pass `db` to their callbacks, which run under their lock.
    """
    tables = ("entries", "imported", "removed", "ends")
    numbers = [db.execute(f"SELECT MAX(game) FROM {table}").fetchone()[0] for table in tables]
    # An empty table has no maximum.
    return max(number or 0 for number in numbers)
