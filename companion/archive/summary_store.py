"""SummaryStore of all games: from memory, from the cache, or folded on demand.

Covers games of the journal and imported games.
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

_IMPORTED_PREFIX = "brought "
"""Prefix of the fingerprint of an imported game."""
_MAX_INTEGER = 2**63 - 1
"""Largest integer of SQLite."""


class SummaryStore:
    """The summaries of one journal's games. It may be used from any thread.

    A game is folded when its summary is first wanted. `folder` is the cache for games that are over
    (None: no cache). A game's fingerprint is a text that changes with the game.
    """

    def __init__(self, journal: Journal, folder: Path | None) -> None:
        self._journal = journal
        self._files = FileCache(folder, ".summary")
        self._lock = threading.RLock()
        self._cache: dict[int, tuple[str, Summary]] = {}
        # the inputs that changed seats, up to the input of this number
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

    def numbers(self) -> list[tuple[int, str]]:
        """Return the numbers and stamps of all games, newest first."""
        imported = {
            number: f"{_IMPORTED_PREFIX}{digest}"
            for number, digest in self._journal.archive.imported().items()
        }
        return sorted({**imported, **self._journal.archive.fingerprints()}.items(), reverse=True)

    def summary(self, number: int, fingerprint: str) -> Summary:
        """Return the summary of a game: from memory, from its file, or folded now.

        Only one game is folded at a time.
        """
        known_fingerprint, known_summary = self._cache.get(number, ("", None))
        if known_summary is not None and known_fingerprint == fingerprint:
            return known_summary
        with self._lock:
            summary = self._read(number, fingerprint)
            if summary is None:
                summary = self._fold(number, fingerprint)
                if summary.is_over:
                    # files from before the game's last change are of no use any more
                    self._files.remove(number)
                    content = msgspec.json.encode(summary)
                    self._files.store(number, _cache_fingerprint(fingerprint), content)
            self._cache[number] = (fingerprint, summary)
        return summary

    def _read(self, number: int, fingerprint: str) -> Summary | None:
        """Return the summary in the cache's file, or None without a readable one."""
        content = self._files.get(number, _cache_fingerprint(fingerprint))
        try:
            return msgspec.json.decode(content or b"", type=Summary)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _fold(self, number: int, fingerprint: str) -> Summary:
        """Make the summary of a game from its file or from the journal."""
        if is_imported(fingerprint):
            try:
                played = self.imported(number)
                return summary_of_file(played, end_reason(played))
            except CompanionError as error:
                return _broken_summary(error.message)
        entries, broken = self._journal.readable_entries(number)
        if not entries:
            return _broken_summary(say("Its beginning cannot be read."))
        return summary_of(entries, broken, self._seat_changes_until(entries[-1].id))

    def _seat_changes_until(self, number: int) -> list[Entry]:
        """Return the inputs that changed seats, at least those up to the input of this number."""
        newest, changes = self._seat_changes
        if newest < number:
            changes, _ = self._journal.readable_entries(0)
            self._seat_changes = (number, changes)
        return changes

    def imported(self, number: int) -> GameFile:
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
            self._cache.pop(number, None)
        self._files.remove(number)


def _cache_fingerprint(fingerprint: str) -> str:
    """Return the fingerprint in the cache. It includes the version, which may change figures."""
    return f"{__version__} {fingerprint}"


def is_imported(fingerprint: str) -> bool:
    """Return whether a fingerprint is that of an imported game."""
    return fingerprint.startswith(_IMPORTED_PREFIX)


def _broken_summary(trouble: str) -> Summary:
    return Summary("", 0.0, 0.0, {}, {}, 0, False, trouble=pack(trouble))
