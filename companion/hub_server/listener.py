"""Distributes what tables send to the parts of the hub."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from companion.hub_server.desired_state import DesiredState
from companion.hub_server.members import Members
from companion.hub_server.pairs import PairKeeper
from companion.league.league import League
from companion.table.public.messages import PublicRecord
from web.hub.room import Room

log = logging.getLogger(__name__)


class RecordPlace(NamedTuple):
    """The number of a record in the store, and the Unix time by the hub's clock when its table
    accepted it.
    """

    sequence: int
    at_s: float


@dataclass
class HubListener:
    """Passes tables' records to the other parts. All methods run in the store's thread and return
    quickly.
    """

    members: Members
    desired: DesiredState
    room: Room
    league: League
    pairs: PairKeeper
    when_round: Callable[[], None] = lambda: None
    """Called once in every round of the store's thread."""

    def on_record(self, table: str, record: PublicRecord, age_s: float, place: RecordPlace) -> None:
        """Handle an accepted input of a table. Its result is stored before the room shows it."""
        if self.members.has(table):
            pair = record.pair
            if pair and not self.pairs.is_seated(table, pair.id, pair.seat):
                log.warning("Hub: a table tells of a game at two tables that is none of its own")
                record = msgspec.structs.replace(record, pair=None)
            self.league.results.take(table, record, place.at_s, place.sequence)
        self.room.record(table, record, age_s)

    def on_round(self) -> None:
        """Run periodic tasks. Called in every round of the store's thread."""
        self.room.step()
        self.when_round()
        self.desired.step()
