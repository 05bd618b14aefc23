"""Helpers: two tables that play a linked game over a line in memory instead of a hub.

Each table numbers its messages from 1, and has received the first `received_count` of the other's.
A test decides when the line passes on the next message, or an earlier one once more, as a hub may
do after an interruption.
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

from internals import journal_of, session_of
from table_tools import TableRig

from companion.archive.game_file import build_game_file, replay_turns
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
    decode_remote_message,
)
from companion.table.session import Phase, Session
from companion.table.table import Table

# Identifier of the linked game, the same at both tables.
GAME_ID = "00" * 8


class HalfTable:
    """One of two tables that play a linked game, and the seat whose player sits there."""

    def __init__(self, folder: Path, seat: Seat, clock: FakeClock | None = None) -> None:
        self.folder = folder
        self.seat = seat
        self.clock = clock or FakeClock()
        folder.mkdir(parents=True, exist_ok=True)
        self._open()

    def _open(self) -> None:
        self.journal = Journal(self.folder / "journal.sqlite")
        self.rig = TableRig(self.journal, self.clock)
        self.table = self.rig.table

    def begin(self, game: str, options: dict[str, Any], number: int) -> None:
        """Begin the linked game, which has this number in the journals of both tables."""
        opponent = RemoteSeat(GAME_ID, self.seat.other, f"far {self.seat.other}")
        self.table.remote.begin_game(opponent, number, game, options, self.journal.next_number())

    @property
    def session(self) -> Session:
        return session_of(self.table)

    @property
    def game(self) -> RemoteGame:
        game = self.table.remote.remote_game
        assert game is not None
        return game

    def reopen(self) -> None:
        """Restart as after a power cut, so that only what is in the journal remains."""
        self.table.close()
        self.journal.close()
        self._open()

    def close(self) -> None:
        self.table.close()
        self.journal.close()

    def act(self, rng: Random) -> bool:
        """Do what a person here may do now. Return False if there was nothing to do."""
        return act(self.table, self.seat, rng)


def act(table: Table, seat: Seat, rng: Random) -> bool:
    """Do what the person at this seat may do now. Return False if there was nothing to do.

    Confirm the board in a set-up or a stage, and otherwise hand in a random action.
    """
    session = session_of(table)
    if session.remote is None or session.remote.open_question or session.phase is Phase.OVER:
        return False
    if session.phase in (Phase.SETUP, Phase.STAGES):
        if session.remote.has_reported_stage:
            return False
        table.confirm("host", session.moment, session.stage_index)
        return True
    if seat not in session.awaited_seats:
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
    """A line in memory between two tables. Like a hub, it stores all messages in their order."""

    south: HalfTable
    north: HalfTable
    messages: dict[Seat, list[bytes]] = field(default_factory=lambda: {seat: [] for seat in SEATS})

    @property
    def tables(self) -> tuple[HalfTable, HalfTable]:
        return self.south, self.north

    def other(self, half: HalfTable) -> HalfTable:
        return self.north if half is self.south else self.south

    def send(self, half: HalfTable) -> bool:
        """Store the next message of this table. Return False if there is none.

        Also require that the table would send all earlier messages in the same way again. After a
        restart it makes them anew from its journal.
        """
        game = half.game
        messages = self.messages[half.seat]
        count = len(game.outgoing_messages)
        sent = [game.encode_message(number) for number in range(1, count + 1)]
        assert sent[: len(messages)] == messages
        if len(sent) == len(messages):
            return False
        self._require_receipt_first(half, sent[len(messages)])
        messages.append(sent[len(messages)])
        return True

    def deliver(self, half: HalfTable, messages_ago: int = 0) -> bool:
        """Deliver the next message to this table, or one from `messages_ago` before it once more.

        Return False if there is no such message yet.
        """
        messages = self.messages_for(half)
        received = half.game.received_count
        number = max(1, received + 1 - messages_ago)
        if number > len(messages):
            return False
        half.table.remote.receive(GAME_ID, number, messages[number - 1])
        assert half.game.received_count == max(received, number)
        return True

    def messages_for(self, half: HalfTable) -> list[bytes]:
        """Return all messages from the other table."""
        return self.messages[half.seat.other]

    def flush(self) -> None:
        """Send and deliver until neither table has a message left."""
        # lists, so that both tables do both in each round, even if the first has had a message
        while any(
            [self.send(half) for half in self.tables] + [self.deliver(half) for half in self.tables]
        ):
            pass

    def _require_receipt_first(self, half: HalfTable, payload: bytes) -> None:
        """Require that a table opens an action only once it has received the other one's receipt.

        Otherwise the other table could choose its action by what it has read. This is about turns
        in which both seats hand in an action, so that both tables send a receipt.
        """
        message = decode_remote_message(GAME_ID, len(self.messages[half.seat]) + 1, payload)
        if not isinstance(message, ActionOpened):
            return
        if message.tick in _sealed_ticks(self.messages[half.seat]):
            received = self.messages[half.seat.other][: half.game.received_count]
            assert message.tick in _sealed_ticks(received)


def _sealed_ticks(payloads: list[bytes]) -> set[int]:
    """Return the turns whose receipts are in these messages."""
    messages = [
        decode_remote_message(GAME_ID, number, data)
        for number, data in enumerate(payloads, start=1)
    ]
    return {message.tick for message in messages if isinstance(message, ActionSealed)}


@contextmanager
def paired_tables(
    folder: Path, game: str, options: dict[str, Any] | None = None, number: int = 1
) -> Iterator[MemoryLine]:
    """Open two tables that begin a game with each other. It has this number in both journals."""
    line = MemoryLine(*(HalfTable(folder / seat, seat) for seat in SEATS))
    try:
        for half in line.tables:
            half.table.take_seat(half.seat, f"near {half.seat}")
            half.begin(game, options or {}, number)
        yield line
    finally:
        for half in line.tables:
            half.close()


def play_roughly(line: MemoryLine, rng: Random, *, interruption_probability: float = 0.0) -> None:
    """Play a whole game by random actions, while messages wait or come twice and tables restart.

    In each step, one of the tables does one thing: its person acts, or it sends, receives or works.
    A table restarts in one of 50 steps, and is interrupted with the given probability in each step.
    """
    for _ in range(60_000):
        if all(half.session.phase is Phase.OVER for half in line.tables):
            return
        half = rng.choice(line.tables)
        half.clock.advance(rng.choice((0.01, 0.3, 2.0)))
        if rng.random() < 0.02:
            half.reopen()
        if rng.random() < interruption_probability:
            _interrupt(half, rng)
        match rng.randrange(5):
            case 0:
                with suppress(Stale):  # the seat has just run out of time
                    half.act(rng)
            case 1:
                line.send(half)
            case 2:
                line.deliver(half)
            case 3:
                line.deliver(half, messages_ago=rng.randrange(1, 4))
            case _:
                half.table.step()
    raise AssertionError(
        "the game did not end",
        [
            (half.session.phase, half.session.moment, half.game.received_count)
            for half in line.tables
        ],
    )


def _interrupt(half: HalfTable, rng: Random) -> None:
    """Let somebody offer or accept a draw, resign, stop the clock or end the game, if allowed."""
    # draws are offered more often, because a draw needs both sides
    table = half.table
    draws = [partial(table.offer_draw, half.seat)] * 4
    ends = [table.abandon, partial(table.resign, half.seat), partial(table.pause, half.seat)]
    with suppress(CompanionError):
        rng.choice([*ends, *draws])()


def assert_line_agrees(line: MemoryLine) -> None:
    """Deliver all messages, and require that both tables then have the same finished game."""
    line.flush()
    assert_tables_agree(*(half.table for half in line.tables))


def assert_tables_agree(*tables: Table) -> None:
    """Require that both tables have the same finished game, also as their journals restore it.

    The times of day of its turns may differ.
    """
    south, north = map(session_of, tables)
    assert south.phase is Phase.OVER
    assert _game(south) == _game(north)
    assert south.outcome
    # Clocks must agree, too, unless people have ended the game. A table that restarts while it asks
    # to end the game stops only its own clock.
    is_ended_by_people = (
        south.outcome != south.require_game().outcome(south.state)
        and "time" not in south.outcome.reason
    )
    if not is_ended_by_people:
        assert south.chess_clocks == north.chess_clocks
    for table in tables:
        session = session_of(table)
        assert build_game_file(journal_of(table).fold(session.game_number)) == build_game_file(
            session
        )
        assert len(list(replay_turns(build_game_file(session)))) == len(session.turns)


def _game(session: Session) -> tuple[object, ...]:
    """Return the parts of a session that must be the same at both tables."""
    turns = tuple((t.moment, t.stages, t.events, t.is_timed_out, t.number) for t in session.turns)
    return (
        build_game_file(session),
        session.state,
        session.outcome,
        session.score,
        session.tick,
        session.layout,
        turns,
    )


def comparable_texts(half: HalfTable) -> list[str]:
    """Return a table's journal entries, views and public records as texts.

    What differs from run to run is removed, so that the texts of two runs can be compared.
    """
    entries = [repr(entry) for entry in half.journal.entries()]
    views = [repr(half.table.view(seat)) for seat in (None, half.seat)]
    return [
        re.sub(r"nonce='[^']*'|commitment='[^']*'|sitting='[^']*'", "", text)
        for text in (*entries, *views)
    ] + public_records(half)


def public_records(half: HalfTable) -> list[str]:
    """Return what a table sends to spectators, and require that no person's name is in it."""
    outbox = Outbox(half.journal)
    records = []
    while (record := outbox.next()) is not None:
        records.append(encode_public(record).decode())
        assert "far " not in records[-1]
        assert "near " not in records[-1]
        outbox.note_sent()
    return records
