"""Results out of what tables tell anyway: each game has one result at most, however often its end
is told.

A game is known by the mark of the input that began it, one at two tables by what both call it. So a
result that comes a second time, after an outage, from a lost store, from a journal that was brought
back or from a table that has joined anew, is the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from companion.core.errors import CompanionError
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.league.people import MACHINE_NUMBER
from companion.table.public.messages import PublicRecord
from companion.table.session import MACHINE, Phase

BEGINS = "new_game"
"""What the input is called that begins a game."""


class Player(msgspec.Struct, frozen=True):
    """Who played a seat: the card that was shown by the end of the game (empty: none), or a
    program.
    """

    card: str = ""
    is_machine: bool = False


class GameResult(msgspec.Struct, frozen=True):
    """How a game ended. `winner` None: a draw.

    `key` names the game. `entry` and `mark`, its receipt, name the input in the table's journal
    that ended it. `began_s` and `ended_s` are Unix times by the hub's clock. `at` is set as long as
    only one table of a game at two has told it: whose side is played there.
    """

    table: str
    key: str
    game: str
    options: Mapping[str, Any]
    began_s: float
    ended_s: float
    south: Player
    north: Player
    winner: Seat | None
    entry: int
    mark: str
    at: Seat | None = None


class KeptResult(msgspec.Struct, frozen=True):
    """A result with the people who played it by their numbers: None showed no card, 0 is the
    machine.

    `is_void`: the host has said that it does not count.
    """

    result: GameResult
    south: int | None
    north: int | None
    is_void: bool = False


class RatedGame(msgspec.Struct, frozen=True):
    """A game between two people by their numbers, or with the machine (0).

    None: nobody had shown a card.
    """

    south: int | None
    north: int | None
    winner: Seat | None
    ended_s: float
    key: str

    def counts(self, machines: bool) -> bool:
        """Return whether it counts. Not between one and the same, nor unknown.

        With the machine only if that was said.
        """
        people = {self.south, self.north}
        if len(people) < 2 or None in people:
            return False
        return machines or MACHINE_NUMBER not in people


class GameFollowed(msgspec.Struct, frozen=True):
    """How far a table's records were followed: its game that is on, and the result that stands for
    it by now.
    """

    epoch: int = 0
    entry: int = 0
    number: int = -1
    key: str = ""
    began_s: float = 0.0
    result: GameResult | None = None


class ResultChange(NamedTuple):
    """What a record changes: a result that has come, one that was taken back with its last turn, or
    nothing.
    """

    come: GameResult | None = None
    gone: GameResult | None = None


def follow(
    table: str, before: GameFollowed, record: PublicRecord, at_s: float
) -> tuple[GameFollowed, ResultChange]:
    """Return the next state, and what has changed.

    `at_s` is when the table accepted the record, by the hub's clock.
    """
    # a record that was followed before comes again after a line was cut
    if (record.epoch, record.entry) <= (before.epoch, before.entry):
        return before, ResultChange()
    now = replace(before, epoch=record.epoch, entry=record.entry)
    if record.what == BEGINS or record.game != before.number:
        # a game whose beginning was not heard is named after its table and number
        key = record.mark if record.what == BEGINS else f"{table}.{record.epoch}.{record.game}"
        if record.pair:
            key = f"pair.{record.pair.id}"
        now = replace(now, number=record.game, key=key, began_s=at_s, result=None)
    view = record.view
    # not over, or not any more: what was told as its result is taken back
    if view.phase is not Phase.OVER or view.is_void or view.game not in GAMES:
        return replace(now, result=None), ResultChange(gone=now.result)
    if now.result is not None:
        return now, ResultChange()
    result = _result(table, now, record, at_s)
    return replace(now, result=result), ResultChange(come=result)


def merged(one: GameResult, other: GameResult) -> GameResult | None:
    """Return a game as both of its tables have told it, with the end that the first one tells.

    None where these are not both of its tables.
    """
    is_both = {one.at, other.at} == set(SEATS) and one.table != other.table
    if not is_both or one.key != other.key:
        return None
    # each table knows who sat on its own side
    south, north = (one, other) if one.at is Seat.SOUTH else (other, one)
    return replace(one, at=None, south=south.south, north=north.north)


def is_same_game(game: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether these are the same options, those that are left out being as delivered."""
    try:
        rules = GAMES[game]
        return bool(rules.options(one) == rules.options(other))
    except (CompanionError, KeyError, TypeError, ValueError):
        return False


def _result(table: str, now: GameFollowed, record: PublicRecord, at_s: float) -> GameResult:
    view = record.view
    at = record.pair.seat if record.pair else None
    players = {seat: Player() for seat in SEATS}
    # of a game at two tables this one knows its own side alone
    for seat in SEATS if at is None else (at,):
        is_machine = seat in view.seats and view.seats[seat].door == MACHINE
        players[seat] = Player(record.cards.get(seat, ""), is_machine)
    return GameResult(
        table=table,
        key=now.key,
        game=view.game or "",
        options=view.options,
        began_s=now.began_s,
        ended_s=at_s,
        south=players[Seat.SOUTH],
        north=players[Seat.NORTH],
        winner=view.winners[0] if len(view.winners) == 1 else None,
        entry=record.entry,
        mark=record.mark,
        at=at,
    )
