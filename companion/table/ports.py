"""What the table needs of whoever keeps its records. `companion.storage` implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from companion.table.records import AnyRecord
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
