"""Test a game at two tables that send each other messages over a line in memory.

Both tables have to agree whatever the line does, and neither learns the other's orders before its
own are sealed.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import msgspec
import pytest
from remote_tools import (
    GAME_ID,
    HalfTable,
    MemoryLine,
    assert_line_agrees,
    comparable_texts,
    paired_tables,
    play_roughly,
    public_records,
)

from companion.core.errors import Illegal, Malformed, Stale
from companion.core.kit import SEATS
from companion.table.remote.messages import RemoteSeat
from companion.table.session import Phase, receipt_of

SOUTH, NORTH = SEATS

# The games that can be played at two tables, each with options.
GAMES = (
    ("outbuffered", {}),
    ("arena", {}),
    ("scouts", {"seconds": 300, "increment": 2}),
    ("kahmate", {}),
)


@pytest.mark.parametrize(("game", "options"), GAMES)
def test_both_tables_agree_in_spite_of_faults(
    tmp_path: Path, game: str, options: dict[str, object]
) -> None:
    """Play by random actions, with late and repeated messages and restarts.

    In the second game people often interrupt: they pause, resign or abandon it.
    """
    with paired_tables(tmp_path, game, options) as line:
        # Games of Scouts and Kahmate are long, so in this run some of them end early, too.
        interruption_probability = 0.002 if game in ("scouts", "kahmate") else 0.0
        play_roughly(line, Random(game), interruption_probability=interruption_probability)
        assert_line_agrees(line)
    with paired_tables(tmp_path / "ended", game, options) as line:
        play_roughly(line, Random(len(game)), interruption_probability=0.01)
        assert_line_agrees(line)


# ---- secrets -------------------------------------------------------------------------------------


def _set_up_boards(line: MemoryLine) -> None:
    """Confirm the set-up at both tables, and deliver all messages."""
    for half in line.tables:
        half.table.confirm("host", half.session.moment, half.session.stage_index)
    line.flush()
    assert line.south.session.phase is Phase.ORDERS


def _texts_at_north(folder: Path, orders: str) -> tuple[list[str], list[str]]:
    """Let South hand in orders, and then North. Return what North could learn.

    The first list is what could be known before the reveal: all messages to North's table, all that
    North's table shows, and what South's table shows to everybody. The second list is the messages
    and what North's table shows after the reveal. Receipts are masked.
    """
    with paired_tables(folder, "outbuffered") as line:
        # South has handed in. North's table has the receipt, and still waits for North's orders.
        _set_up_boards(line)
        line.south.table.hand_in(SOUTH, line.south.session.moment, orders, "ab" * 8)
        line.flush()
        north = line.north
        assert north.table.view().seats[SOUTH].receipt == line.south.session.sealed[SOUTH].receipt
        assert north.table.view(NORTH).sign.text == "Three orders to go"
        before = [
            *map(bytes.decode, line.messages[SOUTH]),
            *comparable_texts(north),
            *_public_texts(line.south),
        ]

        # North hands in, too, and both tables reveal the turn.
        north.table.hand_in(NORTH, north.session.moment, "UUU", "cd" * 8)
        line.flush()
        assert [half.session.phase for half in line.tables] == [Phase.STAGES] * 2
        after = [*map(bytes.decode, line.messages[SOUTH]), *comparable_texts(north)]
    return [_mask_receipts(text) for text in before], [_mask_receipts(text) for text in after]


def _public_texts(half: HalfTable) -> list[str]:
    """Return a table's public view and public records, without values that are random."""
    return [
        re.sub(r"commitment='[^']*'|sitting='[^']*'", "", repr(half.table.view(None))),
        *public_records(half),
    ]


def _mask_receipts(text: str) -> str:
    """Mask receipts, which are the only difference that is allowed."""
    return re.sub(r"[0-9a-f]{64}", "RECEIPT", text)


def test_orders_stay_unknown_until_both_are_sealed(tmp_path: Path) -> None:
    """Two games differ only in South's orders: three shots, or wait, right and left."""
    first_before, first_after = _texts_at_north(tmp_path / "first", "SSS")
    second_before, second_after = _texts_at_north(tmp_path / "second", "IRL")
    assert first_before == second_before
    assert "SSS" not in "".join(first_before)
    assert first_after != second_after
    assert any('"opened"' in text and "IRL" in text for text in second_after)


# ---- refused messages ----------------------------------------------------------------------------


def _encode(number: int, **message: object) -> bytes:
    """Encode a message with this number, as the other table would send it."""
    return msgspec.json.encode({"game": GAME_ID, "number": number, "message": message})


def test_a_message_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    """A faulty or dishonest table can neither change the game here nor learn a sealed order."""
    with paired_tables(tmp_path, "outbuffered") as line:
        _set_up_boards(line)
        north = line.north
        number = line.north.game.received_count + 1
        tick = north.session.tick
        moment = north.session.moment

        # A repeated message and one of another game are ignored. A message that comes too early is
        # refused, because one before it is missing.
        before = north.session
        first_message = line.messages[SOUTH][0]
        north.table.remote.receive(GAME_ID, 1, first_message)
        north.table.remote.receive("11" * 8, 1, first_message.replace(GAME_ID.encode(), b"11" * 8))
        with pytest.raises(Stale, match="missing"):
            north.table.remote.receive(GAME_ID, number + 1, _encode(number + 1, **{"is": "left"}))
        assert north.session == before, (
            "repeated messages and those of another game must be ignored"
        )

        # South's orders and their receipt, and a stage that South's board shows.
        opened = {"is": "opened", "tick": tick, "action": "UUU", "salt": "aa"}
        sealed = {"is": "sealed", "tick": tick, "receipt": receipt_of(moment, SOUTH, "UUU", "aa")}
        shown = {"is": "shown", "tick": tick, "stage": 0}

        def expect_refusal(*messages: dict[str, object]) -> None:
            """Check that each message is refused as the next one, and that nothing changes."""
            before = north.session, len(list(north.journal.entries()))
            for message in messages:
                with pytest.raises(Malformed, match=r"does not fit|read|buffer"):
                    north.table.remote.receive(GAME_ID, number, _encode(number, **message))
            assert (north.session, len(list(north.journal.entries()))) == before

        # Before either seat has sealed an action, none of these messages fits.
        with pytest.raises(Malformed, match="message"):
            north.table.remote.receive(GAME_ID, number, _encode(number, **{"is": "eval"}))
        with pytest.raises(Malformed, match="another game"):
            north.table.remote.receive(GAME_ID, number, _encode(number + 1, **{"is": "left"}))
        expect_refusal(opened)  # nothing is sealed yet
        expect_refusal(
            sealed | {"tick": tick + 1}, sealed | {"receipt": "zz"}, sealed | {"at": -1.0}
        )
        expect_refusal(
            {"is": "time_over", "tick": tick}, {"is": "answered", "is_agreed": True}, shown
        )

        # South seals its orders. It must not open them before North has sealed its own, and then
        # only those of the receipt, in the one spelling that is valid.
        north.table.remote.receive(GAME_ID, number, _encode(number, **sealed))
        number += 1
        expect_refusal(sealed, opened)
        north.table.hand_in(NORTH, moment, "DDD", "bb")
        expect_refusal(
            opened | {"action": "UUD"}, opened | {"action": "uuu"}, opened | {"salt": "a b"}
        )
        north.table.remote.receive(GAME_ID, number, _encode(number, **opened))
        assert north.session.phase is Phase.STAGES

        # Each stage is reported once, and no other stage before both boards show this one.
        number += 1
        north.table.remote.receive(GAME_ID, number, _encode(number, **shown))
        number += 1
        expect_refusal(shown, shown | {"stage": 1})


# ---- what people may not do ----------------------------------------------------------------------


def test_acts_that_split_the_game_are_refused(tmp_path: Path) -> None:
    """The two tables would then no longer agree on the game."""
    with paired_tables(tmp_path, "outbuffered") as line:
        # Nobody at South's table may act for North, by a page or by the pad at North's seat.
        _set_up_boards(line)
        table = line.south.table
        moment = line.south.session.moment
        for act_for_north in (
            lambda: table.hand_in(NORTH, moment, "UUU"),
            lambda: table.resign(NORTH),
        ):
            with pytest.raises(Illegal, match="North is played at the other table"):
                act_for_north()
        line.south.rig.press(NORTH, "U", "U", "U", "ready")
        assert line.south.rig.cues[-1] == "key_refused"

        # South cannot take back what the other table has been told.
        table.hand_in(SOUTH, moment, "UUU")
        assert table.view(SOUTH).own.take_back_moment is None
        assert table.view(SOUTH).sign.text == "Waiting for the other table"
        with pytest.raises(Illegal, match="cannot be taken back"):
            table.take_back(SOUTH, moment)

        # In a revealed turn, South confirms its board once, and no turn can be undone.
        line.flush()
        line.north.table.hand_in(NORTH, moment, "DDD")
        line.flush()
        table.confirm("south", table.view().moment, 0)
        assert table.view().sign.text == "Waiting for the other table"
        with pytest.raises(Stale):
            table.confirm("south", table.view().moment, 0)
        with pytest.raises(Illegal, match="no turn is taken back"):
            table.undo()
        assert not table.view().match.can_undo


def test_a_used_number_begins_no_second_game(tmp_path: Path) -> None:
    with paired_tables(tmp_path, "outbuffered", number=7) as line:
        assert {half.session.moment for half in line.tables} == {"7.0"}
        line.south.begin("outbuffered", {}, 7)  # a repeated beginning changes nothing

        # The owner ends the game without waiting for the other table. The number 7 is used now.
        table = line.south.table
        table.abandon()
        table.abandon()
        new_pair = RemoteSeat("11" * 8, NORTH)
        next_number = line.south.journal.next_number()
        with pytest.raises(Illegal, match="pair the tables again"):
            table.remote.begin_game(new_pair, 7, "outbuffered", {}, next_number)


# ---- clocks --------------------------------------------------------------------------------------


def _place_scouts(line: MemoryLine) -> None:
    """Place all scouts, so that the clock of the side that begins runs."""
    rng = Random(4)
    for half in line.tables:
        half.table.confirm("host", half.session.moment, half.session.stage_index)
    while line.south.session.chess_clocks is None:
        for half in line.tables:
            half.act(rng)
        line.flush()


def test_no_clock_is_charged_for_a_slow_line(tmp_path: Path) -> None:
    with paired_tables(tmp_path, "scouts", {"seconds": 60, "increment": 0}) as line:
        _place_scouts(line)
        (seat,) = line.south.session.awaited_seats
        # `here` is the table of the seat on turn: `False` sorts first.
        here, there = sorted(line.tables, key=lambda half: half.seat is not seat)

        # After 10 s here, 500 s have passed there, because the line is slow. Only the seat's own
        # table judges its clock.
        here.clock.advance(10)
        there.clock.advance(500)
        there.table.step()
        assert there.session.awaited_seats == {seat}
        with pytest.raises(Illegal, match="runs at the other table"):
            there.table.pause("host")

        # The seat ends its turn. It has used 10 of its 60 s.
        while seat in here.session.awaited_seats:
            here.act(Random(1))
            line.flush()
            while here.session.phase is Phase.STAGES:
                for half in line.tables:
                    half.act(Random(1))
                line.flush()
        assert here.session.chess_clocks is not None
        assert here.session.chess_clocks == there.session.chess_clocks
        assert here.session.chess_clocks.left_s == {seat: 50.0, seat.other: 60.0}

        # A restart pauses the clock of the other seat, which both tables show.
        there.clock.advance(20)
        there.reopen()
        line.flush()
        assert (here.session.paused_by, there.session.paused_by) == (str(seat.other), "restart")

        # The other seat has no time left, and loses at both tables.
        there.table.resume("host")
        there.clock.advance(61)
        there.table.step()
        line.flush()
        assert_line_agrees(line)
        assert here.session.outcome is not None
        assert here.session.outcome.winners == {seat}


def test_a_waiting_owner_ends_the_game_alone(tmp_path: Path) -> None:
    with paired_tables(tmp_path, "outbuffered") as line:
        # The owner of South's table ends the game. The table asks the other one, which is silent.
        _set_up_boards(line)
        table = line.south.table
        table.abandon()
        assert line.south.session.phase is Phase.ORDERS
        assert "end it again" in table.view().sign.small
        request = table.remote.remote_game
        with pytest.raises(Illegal, match="wait for its answer"):
            table.resign(SOUTH)
        assert table.remote.remote_game == request, "the other table must not be asked twice"

        # Also after a restart, ending the game again ends it here at once.
        line.south.reopen()
        line.south.table.abandon()
        assert line.south.session.phase is Phase.OVER
        line.flush()
        assert line.north.session.outcome is not None
        assert not line.north.session.outcome.winners

        # The next game is played at this table alone.
        line.south.table.new_game("outbuffered")
        assert set(line.south.session.seats) == {SOUTH}, (
            "North must no longer be played at the other table"
        )
