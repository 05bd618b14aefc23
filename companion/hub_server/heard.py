"""Who is told what tables say to the hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from companion.hub.pairing import Pair
from companion.table.public.messages import PublicRecord, PublicState


class RecordPlace(NamedTuple):
    """A record's number in the store, and when its table accepted it: Unix time by the hub's clock."""

    sequence: int
    at_s: float


class Heard(Protocol):
    """Who is told what tables say, in the line's thread; calls must be quick."""

    def tables(self) -> Sequence[str]:
        """The tables that have joined."""

    def pair(self, game: str) -> Pair | None:
        """The game at two tables by its id; None: its tables have left it."""

    def followed(self) -> int:
        """The number of the last message that was heard in an earlier run, or in this one."""

    def on_other_store(self) -> None:
        """The store is another one: its messages are counted from the beginning."""

    def on_last(self, table: str, record: PublicRecord, age_s: float) -> None:
        """What a table has accepted last, as this run begins."""

    def on_record(self, table: str, record: PublicRecord, age_s: float, place: RecordPlace) -> None:
        """A table has accepted something."""

    def on_state(self, table: str, state: PublicState) -> None:
        """How a table is."""

    def on_wish(self, table: str, payload: bytes) -> bytes:
        """A table asks for a game at two tables: the answer."""

    def on_far_wish(self, table: str, payload: bytes) -> bytes:
        """A table has a seat for a remote phone, or none any more: the answer."""

    def on_cut(self) -> None:
        """The line to NATS is down; it is tried anew."""

    def on_told_far(self, subject: str, payload: bytes, status: str) -> bool:
        """A table answers such a phone; False: with nonsense. With a status there is nobody to answer."""

    def on_bad(self, table: str, why: str) -> None:
        """A message that cannot be read."""

    def on_flood(self, table: str) -> None:
        """A table sends more than a table does."""

    def on_trouble(self, trouble: str) -> None:
        """What is wrong with the hub; empty: nothing any more."""

    def on_round(self) -> None:
        """Time has passed."""

    def keep(self) -> None:
        """Keep what can wait; it may take its time, in a thread of its own."""
