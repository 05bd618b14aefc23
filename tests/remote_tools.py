"""Two tables with journals of their own that play one game, and a line between them that delays,
cuts and repeats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from inside import journal_of, session_of
from table_tools import Played

from companion.archive.game_file import game_file, replay_turns
from companion.core.clock import FakeClock
from companion.core.errors import CompanionError, Stale
from companion.core.kit import SEATS, Seat
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.public.messages import encode_public
from companion.table.remote.messages import (
    ActionOpened,
    ActionSealed,
    RemoteGame,
    RemoteSeat,
    read_message,
)
from companion.table.session import Phase, Session
from companion.table.table import Table

GAME = "00" * 8


class HalfTable:
    """A table of a game at two tables, with the seat that is played there."""

    def __init__(self, folder: Path, seat: Seat, clock: FakeClock | None = None) -> None:
        self.folder, self.seat, self.clock = folder, seat, clock or FakeClock()
        folder.mkdir(parents=True, exist_ok=True)
        self._open()

    def _open(self) -> None:
        self.journal = Journal(self.folder / "journal.sqlite")
        self.played = Played(self.journal, self.clock)
        self.table = self.played.table

    def begin(self, game: str, options: dict[str, Any], number: int) -> None:
        at = RemoteSeat(GAME, self.seat.other, f"far {self.seat.other}")
        self.table.remote.begin(at, number, game, options, self.journal.next_number())

    @property
    def session(self) -> Session:
        return session_of(self.table)

    @property
    def game(self) -> RemoteGame:
        game = self.table.remote.game
        assert game is not None
        return game

    def reopen(self) -> None:
        """The plug is pulled: what is in the journal is all that is left."""
        self.table.close()
        self.journal.close()
        self._open()

    def close(self) -> None:
        self.table.close()
        self.journal.close()

    def act(self, rng: Random) -> bool:
        """Do what a person here may do now; was there anything?"""
        return act(self.table, self.seat, rng)


def act(table: Table, seat: Seat, rng: Random) -> bool:
    """Do what a person at the table of this seat may do now; was there anything?"""
    session = session_of(table)
    if session.remote is None or session.remote.open_question or session.phase is Phase.OVER:
        return False
    if session.phase in (Phase.SETUP, Phase.STAGES):
        if session.remote.has_reported_stage:
            return False
        table.confirm("host", session.moment, session.stage_index)
        return True
    if seat not in session.awaited:
        return False
    if session.paused_by:
        table.resume(seat)
    action = session.require_game().random_action(session.state, seat, rng)
    table.hand_in(
        seat, session.moment, session.require_game().format(action), f"{rng.getrandbits(64):016x}"
    )
    return True


@dataclass
class MemoryLine:
    """What either table has told, kept in order as a hub keeps it; nothing of it is ever
    changed.
    """

    south: HalfTable
    north: HalfTable
    kept: dict[Seat, list[bytes]] = field(default_factory=lambda: {seat: [] for seat in SEATS})

    @property
    def tables(self) -> tuple[HalfTable, HalfTable]:
        return self.south, self.north

    def other(self, half: HalfTable) -> HalfTable:
        return self.north if half is self.south else self.south

    def send(self, half: HalfTable) -> bool:
        """One more message of this table is kept; what is kept already must still be what it
        tells.
        """
        game, kept = half.game, self.kept[half.seat]
        sent = [game.payload(number + 1) for number in range(len(game.sent_messages))]
        assert sent[: len(kept)] == kept
        if len(sent) == len(kept):
            return False
        self._require_bound(half, sent[len(kept)])
        kept.append(sent[len(kept)])
        return True

    def deliver(self, half: HalfTable, again: int = 0) -> bool:
        """The next message reaches this table, or one of those that it has already."""
        kept, heard = self.told(half), half.game.received_count
        number = max(1, heard + 1 - again)
        if number > len(kept):
            return False
        half.table.remote.receive(GAME, number, kept[number - 1])
        assert half.game.received_count == max(heard, number)
        return True

    def told(self, half: HalfTable) -> list[bytes]:
        """What there is for this table to be told."""
        return self.kept[half.seat.other]

    def flush(self) -> None:
        """Everything that was told arrives."""
        while any(
            [self.send(half) for half in self.tables] + [self.deliver(half) for half in self.tables]
        ):
            pass

    def _require_bound(self, half: HalfTable, payload: bytes) -> None:
        """An order of a turn in which both act leaves its table only once that table holds the
        other one's receipt.
        """
        message = read_message(GAME, len(self.kept[half.seat]) + 1, payload)
        if not isinstance(message, ActionOpened):
            return
        if message.tick in _sealed_ticks(self.kept[half.seat]):
            heard = self.kept[half.seat.other][: half.game.received_count]
            assert message.tick in _sealed_ticks(heard)


def _sealed_ticks(payloads: list[bytes]) -> set[int]:
    """The turns of which these messages hold a receipt."""
    messages = [read_message(GAME, number, each) for number, each in enumerate(payloads, start=1)]
    return {message.tick for message in messages if isinstance(message, ActionSealed)}


@contextmanager
def paired_tables(
    folder: Path, game: str, options: dict[str, Any] | None = None, number: int = 1
) -> Iterator[MemoryLine]:
    """Two tables at which a game begins."""
    line = MemoryLine(*(HalfTable(folder / seat, seat) for seat in SEATS))
    try:
        for half in line.tables:
            half.table.take_seat(half.seat, f"near {half.seat}")
            half.begin(game, options or {}, number)
        yield line
    finally:
        for half in line.tables:
            half.close()


def play_roughly(
    line: MemoryLine, rng: Random, *, kills: float = 0.02, most: int = 60_000, ends: float = 0.0
) -> None:
    """A whole game by random actions, while messages wait, come twice, and tables are closed and
    opened anew.
    """
    for _ in range(most):
        if all(half.session.phase is Phase.OVER for half in line.tables):
            return
        half = rng.choice(line.tables)
        half.clock.advance(rng.choice((0.01, 0.3, 2.0)))
        if rng.random() < kills:
            half.reopen()
        if rng.random() < ends:
            _interrupt(half, rng)
        match rng.randrange(5):
            case 0:
                with suppress(Stale):  # the time was over just now
                    half.act(rng)
            case 1:
                line.send(half)
            case 2:
                line.deliver(half)
            case 3:
                line.deliver(half, again=rng.randrange(1, 4))
            case _:
                half.table.step()
    raise AssertionError(
        [
            (half.session.phase, half.session.moment, half.game.received_count)
            for half in line.tables
        ]
    )


def _interrupt(half: HalfTable, rng: Random) -> None:
    """Somebody offers or takes a draw, resigns, stops the clock, or ends the game: what may not be
    is refused.
    """
    table = half.table
    draws = [partial(table.offer_draw, half.seat)] * 4
    ends = [table.abandon, partial(table.resign, half.seat), partial(table.pause, half.seat)]
    with suppress(CompanionError):
        rng.choice([*ends, *draws])()


def assert_line_agrees(line: MemoryLine) -> None:
    """Both tables have the same game in every part that is not a table's own time of day or
    clock.
    """
    line.flush()
    assert_tables_agree(*(half.table for half in line.tables))


def assert_tables_agree(*tables: Table) -> None:
    """Both tables have the same game, also by what their journals fold to."""
    south, north = map(session_of, tables)
    assert south.phase is Phase.OVER
    assert _game(south) == _game(north)
    assert south.outcome
    is_agreed = (
        south.outcome != south.require_game().outcome(south.state)
        and "time" not in south.outcome.reason
    )
    if (
        not is_agreed
    ):  # a table that starts anew while it asks to end the game stops its clock, and tells nobody
        assert south.chess_clocks == north.chess_clocks
    for table in tables:
        session = session_of(table)
        assert game_file(journal_of(table).fold(session.number)) == game_file(session)
        assert len(list(replay_turns(game_file(session)))) == len(session.turns)


def _game(session: Session) -> tuple[object, ...]:
    turns = tuple((t.moment, t.stages, t.events, t.is_timed_out, t.number) for t in session.turns)
    return (
        game_file(session),
        session.state,
        session.outcome,
        session.score,
        session.tick,
        session.board,
        turns,
    )


def comparable_texts(half: HalfTable) -> list[str]:
    """What a table's journal, pages and public records have, without what is random in every
    run.
    """
    entries = [
        repr(entry)
        for entry in half.journal.entries()
        if "take_seat" not in repr(type(entry.record))
    ]
    own = [repr(half.table.view(seat)) for seat in (None, half.seat)]
    return [
        re.sub(r"nonce='[^']*'|commitment='[^']*'|sitting='[^']*'", "", text)
        for text in (*entries, *own)
    ] + public_records(half)


def public_records(half: HalfTable) -> list[str]:
    """What spectators are told by this table."""
    outbox, told = Outbox(half.journal), []
    while (record := outbox.next()) is not None:
        told.append(encode_public(record).decode())
        assert "far " not in told[-1]
        assert "near " not in told[-1]
        outbox.note_sent()
    return told
