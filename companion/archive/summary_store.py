"""Summaries of all games, of the journal and imported, read from caches or made on demand.

A game is folded for its summary, which means that all of its inputs are applied again. `History`
uses the summaries for its list and statistics.
"""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec

from companion import __version__
from companion.archive.cache import FileCache
from companion.archive.game_file import GameFile
from companion.archive.game_import import end_reason
from companion.archive.game_summary import GameSummary, summarise_game, summarise_game_file
from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import say, sentence_to_json
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

    `folder` is the cache for games that are over, None for no cache. A game's fingerprint is a text
    that changes with the game.
    """

    def __init__(self, journal: Journal, folder: Path | None) -> None:
        self._journal = journal
        self._disk_cache = FileCache(folder, ".summary")
        self._lock = threading.RLock()
        self._memory_cache: dict[int, tuple[str, GameSummary]] = {}
        # the inputs that changed seats, and the id of the input up to which they are complete
        self._seat_changes: list[Entry] = []
        self._seat_changes_until_id = -1

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

    def summary(self, number: int, fingerprint: str) -> GameSummary:
        """Return the summary of a game: from memory, from disk, or folded now.

        Only one game is folded at a time.
        """
        known_fingerprint, known_summary = self._memory_cache.get(number, ("", None))
        if known_summary is not None and known_fingerprint == fingerprint:
            return known_summary
        # another version of the program may make other figures of the same game
        cache_fingerprint = f"{__version__} {fingerprint}"
        with self._lock:
            try:
                content = self._disk_cache.get(number, cache_fingerprint)
                summary = msgspec.json.decode(content or b"", type=GameSummary)
            except (msgspec.DecodeError, UnicodeDecodeError):
                summary = self._fold(number, fingerprint)
                if summary.is_over:
                    # files from before the game's last change are of no use any more
                    self._disk_cache.remove(number)
                    content = msgspec.json.encode(summary)
                    self._disk_cache.store(number, cache_fingerprint, content)
            self._memory_cache[number] = (fingerprint, summary)
        return summary

    def _fold(self, number: int, fingerprint: str) -> GameSummary:
        """Make the summary of a game, from the journal or from an imported file."""
        if is_imported(fingerprint):
            try:
                played = self.imported_game(number)
                return summarise_game_file(played, end_reason(played))
            except CompanionError as error:
                return _broken_summary(error.message)
        entries, damaged_id = self._journal.entries_until_damage(number)
        if not entries:
            return _broken_summary(say("Its beginning cannot be read."))
        return summarise_game(entries, damaged_id, self._read_seat_changes(entries[-1].id))

    def _read_seat_changes(self, until_id: int) -> list[Entry]:
        """Return the inputs that changed seats, at least those up to the input with this id."""
        if self._seat_changes_until_id < until_id:
            self._seat_changes = self._journal.entries(SEATS_GAME)
            self._seat_changes_until_id = until_id
        return self._seat_changes

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


def is_imported(fingerprint: str) -> bool:
    """Return whether a fingerprint is that of an imported game."""
    return fingerprint.startswith(_IMPORTED_PREFIX)


def _broken_summary(trouble: str) -> GameSummary:
    """Return the summary of a game that cannot be read. `trouble` says why, as a sentence."""
    return GameSummary(
        game="",
        begun=0.0,
        length_s=0.0,
        players={},
        options={},
        turns=0,
        is_over=False,
        trouble=sentence_to_json(trouble),
    )
