"""One game at two tables: the same on both, whatever the line does; and no order is told before the
other is bound.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import msgspec
import pytest
from remote_tools import (
    GAME,
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

GAMES = (
    ("outbuffered", {}),
    ("arena", {}),
    ("scouts", {"seconds": 300, "increment": 2}),
    ("kahmate", {}),
)


@pytest.mark.parametrize(("game", "options"), GAMES)
def test_both_tables_play_the_same_rough_game(
    tmp_path: Path, game: str, options: dict[str, object]
) -> None:
    with paired_tables(tmp_path, game, options) as line:
        # games of Scouts and Kahmate are long
        interruption_probability = 0.002 if game in ("scouts", "kahmate") else 0.0
        play_roughly(line, Random(game), interruption_probability=interruption_probability)
        assert_line_agrees(line)
    with paired_tables(tmp_path / "ended", game, options) as line:
        play_roughly(line, Random(len(game)), interruption_probability=0.01)
        assert_line_agrees(line)


# ---- secrets -------------------------------------------------------------------------------------


def _open_moment(line: MemoryLine) -> None:
    """Set up the boards, and let everything arrive."""
    for half in line.tables:
        half.table.confirm("host", half.session.moment, half.session.stage_index)
    line.flush()
    assert line.south.session.phase is Phase.ORDERS


def _at_north(folder: Path, order: str) -> tuple[list[str], list[str]]:
    """Return every byte that reaches North's table, and what it shows, while South's order is
    sealed.
    """
    with paired_tables(folder, "outbuffered") as line:
        _open_moment(line)
        line.south.table.hand_in(SOUTH, line.south.session.moment, order, "ab" * 8)
        line.flush()
        north = line.north
        assert north.table.view().seats[SOUTH].receipt == line.south.session.sealed[SOUTH].receipt
        assert north.table.view(NORTH).sign.text == "Three orders to go"
        before = [
            *map(bytes.decode, line.messages[SOUTH]),
            *comparable_texts(north),
            *_looks_of_anybody(line.south),
        ]
        north.table.hand_in(NORTH, north.session.moment, "UUU", "cd" * 8)
        line.flush()
        assert [half.session.phase for half in line.tables] == [Phase.STAGES] * 2
        after = [*map(bytes.decode, line.messages[SOUTH]), *comparable_texts(north)]
    return [_masked(text) for text in before], [_masked(text) for text in after]


def _looks_of_anybody(half: HalfTable) -> list[str]:
    return [
        re.sub(r"commitment='[^']*'|sitting='[^']*'", "", repr(half.table.view(None))),
        *public_records(half),
    ]


def _masked(text: str) -> str:
    """Mask receipts, which are all that may differ."""
    return re.sub(r"[0-9a-f]{64}", "RECEIPT", text)


def test_orders_stay_unknown_until_both_are_bound(
    tmp_path: Path,
) -> None:
    one_before, one_after = _at_north(tmp_path / "one", "SSS")
    other_before, other_after = _at_north(tmp_path / "other", "IRL")
    assert one_before == other_before
    assert "SSS" not in "".join(one_before)
    assert one_after != other_after
    assert any('"opened"' in text and "IRL" in text for text in other_after)


# ---- messages that are none ----------------------------------------------------------------------


def _bytes(number: int, **message: object) -> bytes:
    return msgspec.json.encode({"game": GAME, "number": number, "message": message})


def test_a_message_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    with paired_tables(tmp_path, "outbuffered") as line:
        _open_moment(line)
        north, number = line.north, line.north.game.received_count + 1
        tick, moment = north.session.tick, north.session.moment
        before, first = north.session, line.messages[SOUTH][0]
        north.table.remote.receive(GAME, 1, first)
        north.table.remote.receive("11" * 8, 1, first.replace(GAME.encode(), b"11" * 8))
        with pytest.raises(Stale, match="missing"):
            north.table.remote.receive(GAME, number + 1, _bytes(number + 1, **{"is": "left"}))
        assert north.session == before, "a message twice or of another game is passed over"
        opened = {"is": "opened", "tick": tick, "action": "UUU", "salt": "aa"}
        sealed = {"is": "sealed", "tick": tick, "receipt": receipt_of(moment, SOUTH, "UUU", "aa")}
        shown = {"is": "shown", "tick": tick, "stage": 0}

        def expect_refusal(*messages: dict[str, object]) -> None:
            before = north.session, len(list(north.journal.entries()))
            for message in messages:
                with pytest.raises(Malformed, match=r"does not fit|read|buffer"):
                    north.table.remote.receive(GAME, number, _bytes(number, **message))
            assert (north.session, len(list(north.journal.entries()))) == before

        with pytest.raises(Malformed, match="message"):
            north.table.remote.receive(GAME, number, _bytes(number, **{"is": "eval"}))
        with pytest.raises(Malformed, match="another game"):
            north.table.remote.receive(GAME, number, _bytes(number + 1, **{"is": "left"}))
        expect_refusal(opened)  # nothing is bound
        expect_refusal(
            sealed | {"tick": tick + 1}, sealed | {"receipt": "zz"}, sealed | {"at": -1.0}
        )
        expect_refusal(
            {"is": "time_over", "tick": tick}, {"is": "answered", "is_agreed": True}, shown
        )
        north.table.remote.receive(GAME, number, _bytes(number, **sealed))
        number += 1
        expect_refusal(sealed, opened)  # North has sealed nothing
        north.table.hand_in(NORTH, moment, "DDD", "bb")
        expect_refusal(
            opened | {"action": "UUD"}, opened | {"action": "uuu"}, opened | {"salt": "a b"}
        )
        north.table.remote.receive(GAME, number, _bytes(number, **opened))
        assert north.session.phase is Phase.STAGES
        number += 1
        north.table.remote.receive(GAME, number, _bytes(number, **shown))
        number += 1
        # each stage is shown once, and then the next one
        expect_refusal(shown, shown | {"stage": 1})


# ---- what people do ------------------------------------------------------------------------------


def test_acts_that_split_the_game_are_refused(tmp_path: Path) -> None:
    with paired_tables(tmp_path, "outbuffered") as line:
        _open_moment(line)
        table, moment = line.south.table, line.south.session.moment
        for of_the_other in (
            lambda: table.hand_in(NORTH, moment, "UUU"),
            lambda: table.resign(NORTH),
        ):
            with pytest.raises(Illegal, match="North is played at the other table"):
                of_the_other()
        line.south.rig.press(NORTH, "U", "U", "U", "ready")
        assert line.south.rig.cues[-1] == "key_refused"
        table.hand_in(SOUTH, moment, "UUU")
        assert table.view(SOUTH).own.take_back_moment is None
        assert table.view(SOUTH).sign.text == "Waiting for the other table"
        with pytest.raises(Illegal, match="cannot be taken back"):
            table.take_back(SOUTH, moment)
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


def test_a_used_number_begins_no_game(tmp_path: Path) -> None:
    with paired_tables(tmp_path, "outbuffered", number=7) as line:
        assert {half.session.moment for half in line.tables} == {"7.0"}
        line.south.begin("outbuffered", {}, 7)  # once more changes nothing
        table = line.south.table
        table.abandon()
        table.abandon()
        later, next_number = RemoteSeat("11" * 8, NORTH), line.south.journal.next_number()
        with pytest.raises(Illegal, match="pair the tables again"):
            table.remote.begin_game(later, 7, "outbuffered", {}, next_number)


# ---- clocks --------------------------------------------------------------------------------------


def _scouts(line: MemoryLine) -> None:
    """Place scouts, and let the clock of whoever begins run."""
    rng = Random(4)
    for half in line.tables:
        half.table.confirm("host", half.session.moment, half.session.stage_index)
    while line.south.session.chess_clocks is None:
        for half in line.tables:
            half.act(rng)
        line.flush()


def test_the_line_is_charged_to_no_clock(
    tmp_path: Path,
) -> None:
    with paired_tables(tmp_path, "scouts", {"seconds": 60, "increment": 0}) as line:
        _scouts(line)
        (seat,) = line.south.session.awaited_seats
        here, there = sorted(line.tables, key=lambda half: half.seat is not seat)
        here.clock.advance(10)
        there.clock.advance(500)  # the line is slow: nothing happens by the clock that is shown
        there.table.step()
        assert there.session.awaited_seats == {seat}
        with pytest.raises(Illegal, match="runs at the other table"):
            there.table.pause("host")
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
        there.clock.advance(20)
        there.reopen()  # its clock stands still, and the other table shows that
        line.flush()
        assert (here.session.paused_by, there.session.paused_by) == (str(seat.other), "restart")
        there.table.resume("host")
        there.clock.advance(61)
        there.table.step()
        line.flush()
        assert_line_agrees(line)
        assert here.session.outcome is not None
        assert here.session.outcome.winners == {seat}


def test_a_waiting_host_ends_the_game_alone(tmp_path: Path) -> None:
    with paired_tables(tmp_path, "outbuffered") as line:
        _open_moment(line)
        table = line.south.table
        table.abandon()
        assert line.south.session.phase is Phase.ORDERS
        assert "end it again" in table.view().sign.small
        asked = table.remote.remote_game
        with pytest.raises(Illegal, match="wait for its answer"):
            table.resign(SOUTH)
        assert table.remote.remote_game == asked, "the other table is told nothing twice"
        line.south.reopen()
        line.south.table.abandon()
        assert line.south.session.phase is Phase.OVER
        line.flush()
        assert line.north.session.outcome is not None
        assert not line.north.session.outcome.winners
        line.south.table.new_game("outbuffered")
        assert set(line.south.session.seats) == {SOUTH}, "nobody plays elsewhere any more"
