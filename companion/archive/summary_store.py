"""Summaries of all games, of the journal and imported, read from caches or folded on demand.

`History` uses them for its list and statistics.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from companion import __version__
from companion.archive.cache import FileCache
from companion.archive.game_file import GameFile
from companion.archive.game_import import end_reason
from companion.archive.game_summary import Summary, summary_of, summary_of_file
from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import pack, say
from companion.storage.journal import Entry, Journal
from companion.table.records import SEATS_GAME

# Prefix of the fingerprint of an imported game.
#
# The names of cached files depend on it, which is why it stays an old word for "imported".
_IMPORTED_PREFIX = "brought "
# Largest integer of SQLite.
_MAX_INTEGER = 2**63 - 1


class SummaryStore:
    """The summaries of one journal's games. It may be used from any thread.

    A game is folded when its summary is first wanted. `folder` is the cache for games that are over
    (None: no cache). A game's fingerprint is a text that changes with the game.
    """

    def __init__(self, journal: Journal, folder: Path | None) -> None:
        self._journal = journal
        self._disk_cache = FileCache(folder, ".summary")
        self._lock = threading.RLock()
        self._memory_cache: dict[int, tuple[str, Summary]] = {}
        # the inputs that changed seats, complete up to the input with this id
        self._seat_changes: tuple[int, list[Entry]] = (-1, [])

    def fingerprint(self, number: int) -> str | None:
        """Return the fingerprint of a game, or None if there is no such game."""
        if number > _MAX_INTEGER:
            return None
        fingerprint = self._journal.archive.fingerprint(number)
        if fingerprint is not None:
            return fingerprint
        digest = self._journal.archive.imported_digest(number)
        return None if digest is None else f"{_IMPORTED_PREFIX}{digest}"

    def fingerprints(self) -> list[tuple[int, str]]:
        """Return the number and fingerprint of each game, newest first."""
        imported = {
            number: f"{_IMPORTED_PREFIX}{digest}"
            for number, digest in self._journal.archive.imported_digests().items()
        }
        return sorted({**imported, **self._journal.archive.fingerprints()}.items(), reverse=True)

    def summary(self, number: int, fingerprint: str) -> Summary:
        """Return the summary of a game: from memory, from disk, or folded now.

        Only one game is folded at a time.
        """
        known_fingerprint, known_summary = self._memory_cache.get(number, ("", None))
        if known_summary is not None and known_fingerprint == fingerprint:
            return known_summary
        with self._lock:
            summary = self._read_cached(number, fingerprint)
            if summary is None:
                summary = self._fold(number, fingerprint)
                if summary.is_over:
                    # files from before the game's last change are of no use any more
                    self._disk_cache.remove(number)
                    content = msgspec.json.encode(summary)
                    self._disk_cache.store(number, _cache_fingerprint(fingerprint), content)
            self._memory_cache[number] = (fingerprint, summary)
        return summary

    def _read_cached(self, number: int, fingerprint: str) -> Summary | None:
        """Return the summary in the cache's file, or None without a readable one."""
        content = self._disk_cache.get(number, _cache_fingerprint(fingerprint))
        try:
            return msgspec.json.decode(content or b"", type=Summary)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _fold(self, number: int, fingerprint: str) -> Summary:
        """Make the summary of a game from its file or from the journal."""
        if is_imported(fingerprint):
            try:
                played = self.imported_game(number)
                return summary_of_file(played, end_reason(played))
            except CompanionError as error:
                return _broken_summary(error.message)
        entries, broken = self._journal.intact_entries(number)
        if not entries:
            return _broken_summary(say("Its beginning cannot be read."))
        return summary_of(entries, broken, self._seat_changes_until(entries[-1].id))

    def _seat_changes_until(self, until_entry_id: int) -> list[Entry]:
        """Return the inputs that changed seats, at least those up to the input with this id."""
        known_until_id, changes = self._seat_changes
        if known_until_id < until_entry_id:
            changes, _ = self._journal.intact_entries(SEATS_GAME)
            self._seat_changes = (until_entry_id, changes)
        return changes

    def imported_game(self, number: int) -> GameFile:
        """Return an imported game as a file. Raises `Malformed`."""
        content = self._journal.archive.imported_file(number)
        if content is None:
            raise Malformed(
                say("There is no game {number}: look at the list of games", number=number)
            )
        try:
            return msgspec.json.decode(content, type=GameFile)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Malformed(say("It cannot be read ({error}).", error=str(error))) from None

    def drop(self, number: int) -> None:
        """Drop the summary of a removed game from memory and disk."""
        with self._lock:
            self._memory_cache.pop(number, None)
        self._disk_cache.remove(number)


def _cache_fingerprint(fingerprint: str) -> str:
    """Return the fingerprint in the disk cache, which is new for each version of the program.

    Another version may fold other figures from the same game.
    """
    return f"{__version__} {fingerprint}"


def is_imported(fingerprint: str) -> bool:
    """Return whether a fingerprint is that of an imported game."""
    return fingerprint.startswith(_IMPORTED_PREFIX)


def _broken_summary(trouble: str) -> Summary:
    """Return the summary of a game that cannot be read. `trouble` says why, as a sentence."""
    return Summary(
        game="",
        begun=0.0,
        length_s=0.0,
        players={},
        options={},
        turns=0,
        is_over=False,
        trouble=pack(trouble),
    )
