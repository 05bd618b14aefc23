"""What the table needs of whoever keeps its records: a journal, and the host's last choices.

`companion.storage` implements both; a table that is to forget everything has what is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from companion.table.records import AnyRecord, GameOptions
from companion.table.session import Session


class RecordJournal(Protocol):
    """Every accepted input, synced to disk before anybody sees its effect. Methods raise
    `JournalError`.
    """

    @property
    def notice(self) -> str:
        """Return what is wrong with the journal, for people. Empty: nothing is."""

    def restore(self) -> Session:
        """Return the session that the last game's records fold to."""

    def next_number(self) -> int:
        """Return the number of the next game."""

    def append(self, game: int, record: AnyRecord, at: float, now_s: float | None = None) -> None:
        """Keep a record of a game, accepted at a time of day `at` (seconds since 1970) and a
        monotonic time.
        """

    def append_together(
        self, game: int, records: Sequence[AnyRecord], at: float, now_s: float | None = None
    ) -> None:
        """Keep several records, or none of them."""

    def note_clock(self, moment: str, now_s: float) -> None:
        """Note that the clock of a moment was still running at this monotonic time."""

    def clock_of(self, moment: str) -> float | None:
        """Return the last time that was noted for a moment, None: none was."""

    def checkpoint(self) -> None:
        """Bring what was appended into the file itself, since a turn is over."""

    def key(self, name: str, length: int = 32) -> bytes:
        """Return the random key of a name, made when it is first asked for."""

    def renew_key(self, name: str, length: int = 32) -> bytes:
        """Make another random key in the place of the one of a name."""


class LastChoices(Protocol):
    """What the host chose last, game by game."""

    @property
    def last(self) -> str:
        """Return the game that was started last. Empty: none was."""

    def options(self, game: str) -> GameOptions | None:
        """Return the options with which a game was started last, None: never."""

    def remember(self, game: str, options: GameOptions) -> None:
        """Remember a choice."""


class ForgetfulChoices:
    """Choices of one run, kept nowhere; implements `LastChoices`."""

    def __init__(self) -> None:
        self.last = ""
        self._options: dict[str, GameOptions] = {}

    def options(self, game: str) -> GameOptions | None:
        """Return the options with which a game was started last, None: never."""
        return self._options.get(game)

    def remember(self, game: str, options: GameOptions) -> None:
        """Remember a choice until the end."""
        self.last = game
        self._options[game] = dict(options)
