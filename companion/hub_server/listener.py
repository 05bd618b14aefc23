"""What comes of all that tables say to the hub."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from companion.hub.pairing import Pair
from companion.hub_server.desired_state import DesiredState
from companion.hub_server.members import Members
from companion.hub_server.pairs import PairKeeper
from companion.league.league import League
from companion.table.public.messages import PublicRecord, PublicState
from web.hub.room import Room
from web.security.rate_limit import Buckets, Rate

log = logging.getLogger(__name__)
GAMES = Rate(5000, 0.01)
"""Rate of games that a table may end: a year's at once, then one every 100 seconds."""


class RecordPlace(NamedTuple):
    """A record's number in the store, and when its table accepted it: Unix time by the hub's clock."""

    sequence: int
    at_s: float


class HubListener:
    """Hands it to whom it concerns, in the store's thread. Every call is quick."""

    def __init__(
        self,
        members: Members,
        desired: DesiredState,
        *,
        room: Room,
        league: League,
        pairs: PairKeeper,
    ) -> None:
        self._members = members
        self._desired = desired
        self._room = room
        self._league = league
        self._pairs = pairs
        self.when_round: Callable[[], None] = lambda: None
        """Also called now and then."""
        self._games = Buckets(GAMES, time.monotonic)

    def tables(self) -> tuple[str, ...]:
        """Return the tables that have joined."""
        return self._members.ids()

    def pair(self, game: str) -> Pair | None:
        """Return the game at two tables by its id."""
        return self._pairs.named(game)

    def followed(self) -> int:
        """Return how far tables were followed."""
        return self._league.results.sequence

    def on_other_store(self) -> None:
        """Follow whatever is told from its beginning."""
        self._league.results.begin_anew()

    def on_last(self, table: str, record: PublicRecord, age_s: float) -> None:
        """Note what a table has accepted last."""
        self._room.record(table, record, age_s)

    def on_record(self, table: str, record: PublicRecord, age_s: float, place: RecordPlace) -> None:
        """Take what a table has accepted: what comes of it is kept before the room shows it."""
        if self._members.has(table):
            pair = record.pair
            if pair and not self._pairs.is_seated(table, pair.id, pair.seat):
                log.warning("Hub: a table tells of a game at two tables that is none of its own")
                record = msgspec.structs.replace(record, pair=None)
            is_new = self._league.results.take(table, record, place.at_s, place.sequence)
            if is_new and not self._games.take(table):
                self._members.shut_out(table)
        self._room.record(table, record, age_s)

    def on_state(self, table: str, state: PublicState) -> None:
        """Note how a table is."""
        self._room.state(table, state)

    def on_wish(self, table: str, payload: bytes) -> bytes:
        """Return the answer to a table that asks for a game at two tables."""
        return self._pairs.answer(table, payload)

    def on_bad(self, table: str, why: str) -> None:
        """Note a message that cannot be read."""
        log.debug("Hub: %s: %s", table, why)
        self._room.refuse_unread(table)

    def on_flood(self, table: str) -> None:
        """Shut out a table that sends more than a table does."""
        self._members.shut_out(table)

    def on_trouble(self, trouble: str) -> None:
        """Note what is wrong with the hub."""
        self._room.is_in_trouble(trouble)

    def on_round(self) -> None:
        """Do what is due."""
        self._room.step()
        self.when_round()
        self._desired.step()

    def keep(self) -> None:
        """Keep how far tables were followed."""
        self._league.results.keep()
