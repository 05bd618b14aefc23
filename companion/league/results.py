"""Results, derived from the records that tables publish. Each game has at most one result.

A game is identified by a key (`GameResult.key`), in one of three ways:

- at two tables, by the pair's id
- at one table, by the mark of the input that began it (a digest, see `PublicRecord.mark`)
- if that input was missed, by table, epoch (see `PublicRecord.epoch`) and game number

So a result that arrives again is recognised: after an outage or a lost store, from a restored
journal, or from a table that has rejoined.
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

# Name of the input that begins a game, in a table's records.
NEW_GAME = "new_game"


class ReportedPlayer(msgspec.Struct, frozen=True):
    """The player of a seat in a report: a person with or without a card, or a program."""

    card: str = ""
    """Id of the card that the player has shown by the end of the game (see
    `companion.league.people`). Empty if the player has shown none.
    """
    is_machine: bool = False


# in stored results the own seat is called `at`, the field's former name
class GameResult(msgspec.Struct, frozen=True, rename={"own_seat": "at"}):
    """Result of a game, as a table has reported it. Its times are by the hub's clock."""

    table: str
    """Id of the table in NATS subjects."""
    key: str
    """Text that identifies the game (see the module)."""
    game: str
    options: Mapping[str, Any]
    began_s: float
    """Unix time of the beginning."""
    ended_s: float
    south: ReportedPlayer
    north: ReportedPlayer
    winner: Seat | None
    """The seat that has won. None for a draw."""
    entry: int
    """Number in the table's journal of the input that ended the game."""
    mark: str
    """Digest of that input, as `PublicRecord.mark`."""
    own_seat: Seat | None = None
    """The seat that is played at this table, if two tables play the game and only one of them has
    reported its end. Otherwise None.
    """


class StoredResult(msgspec.Struct, frozen=True):
    """A result with the people who have played, as the league's file has it."""

    result: GameResult
    south: int | None
    """Number of South's player in the league, 0 for a machine. None without a card."""
    north: int | None
    is_void: bool = False
    """Whether the owner has excluded the result from ratings."""

    @property
    def is_between_two_people(self) -> bool:
        """Whether two different people with cards have played the game.

        Then it counts for ratings, unless it is void.
        """
        people = {self.south, self.north}
        return len(people) == 2 and not people & {None, MACHINE_NUMBER}


class TableProgress(msgspec.Struct, frozen=True):
    """How far a table's records have been processed, with what is known of the current game."""

    epoch: int = 0
    """Epoch of the last record, see `PublicRecord`."""
    entry: int = 0
    """Number in the table's journal of the last record's input."""
    number: int = -1
    """Number of the current game at the table, -1 before the first record."""
    key: str = ""
    """`GameResult.key` of the current game."""
    began_s: float = 0.0
    result: GameResult | None = None
    """The result that the current game has now. None while it goes on."""


class ResultChange(NamedTuple):
    """Effect of a record on the results. A record adds one, removes one, or has no effect."""

    added: GameResult | None = None
    """The result of a game that this record ends."""
    removed: GameResult | None = None
    """The result that no longer holds, because its game goes on again or has become void."""


def follow_record(
    table_id: str, before: TableProgress, record: PublicRecord, accepted_at_s: float
) -> tuple[TableProgress, ResultChange]:
    """Return a table's progress after a record, and the change of results that it causes.

    `accepted_at_s` is the Unix time at which the table accepted the record, by the hub's clock.
    """
    # after an outage, tables send some records again
    if (record.epoch, record.entry) <= (before.epoch, before.entry):
        return before, ResultChange()
    progress = replace(before, epoch=record.epoch, entry=record.entry)
    if record.what == NEW_GAME or record.game != before.number:
        # if the beginning of a game was missed, identify it by its table and number:
        # `record.game` is that number, while `view.game` below is the name of its rules
        key = record.mark if record.what == NEW_GAME else f"{table_id}.{record.epoch}.{record.game}"
        if record.pair:
            key = f"pair.{record.pair.id}"
        progress = replace(
            progress, number=record.game, key=key, began_s=accepted_at_s, result=None
        )
    view = record.view
    # A game has no result while it is not over, if it is void, or if its rules are unknown here. If
    # it had a result before this record, that one is removed.
    if view.phase is not Phase.OVER or view.is_void or view.game not in GAMES:
        return replace(progress, result=None), ResultChange(removed=progress.result)
    if progress.result is not None:
        return progress, ResultChange()
    result = _build_result(table_id, progress, record, accepted_at_s)
    return replace(progress, result=result), ResultChange(added=result)


def merge_reports(first: GameResult, second: GameResult) -> GameResult | None:
    """Return the result of a game from the reports of its two tables.

    Return None if the reports are not from both tables of one game, or if they disagree on its end.
    The result has the player of each seat from the table of that seat. All other fields (table,
    key, options, times, entry and mark) are those of `first`.
    """
    is_from_both = {first.own_seat, second.own_seat} == set(SEATS) and first.table != second.table
    if not is_from_both or (first.game, first.winner) != (second.game, second.winner):
        return None
    # each table knows who sat at its own seat
    south, north = (first, second) if first.own_seat is Seat.SOUTH else (second, first)
    return replace(first, own_seat=None, south=south.south, north=north.north)


def has_same_options(game: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two sets of options of one game are equal.

    A missing option counts as its default. Return False if the game is unknown or an option is not
    valid.
    """
    try:
        rules = GAMES[game]
        return bool(rules.options(first) == rules.options(second))
    except (CompanionError, KeyError, TypeError, ValueError):
        return False


def _build_result(
    table_id: str, progress: TableProgress, record: PublicRecord, ended_s: float
) -> GameResult:
    """Return the result of a game that this record ends."""
    view = record.view
    own_seat = record.pair.seat if record.pair else None
    players = {seat: ReportedPlayer() for seat in SEATS}
    # in a game at two tables, a table knows its own seat only
    for seat in SEATS if own_seat is None else (own_seat,):
        is_machine = seat in view.seats and view.seats[seat].door == MACHINE
        players[seat] = ReportedPlayer(record.cards.get(seat, ""), is_machine)
    return GameResult(
        table=table_id,
        key=progress.key,
        game=view.game or "",
        options=view.options,
        began_s=progress.began_s,
        ended_s=ended_s,
        south=players[Seat.SOUTH],
        north=players[Seat.NORTH],
        winner=view.winners[0] if len(view.winners) == 1 else None,
        entry=record.entry,
        mark=record.mark,
        own_seat=own_seat,
    )
