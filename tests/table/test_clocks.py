"""Test the clock of a turn: time-outs, pauses, undone turns, restarts and the time of presses.

The tests play BINMAT by its clock, with 5 s for each of 110 turns, on a table with a fake clock.
The defender sits at South and begins, the attacker at North. In the notation of BINMAT, `.` ends a
turn with real cards, `--` passes, and `d0` draws a card from the deck of lane 0.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from internals import live_of
from table_tools import TableRig, open_table_rig, seat_both
from toy import Race, Toy

from companion.core.errors import Illegal, Stale
from companion.core.kit import SEATS, Seat
from companion.core.ports import Alarm, PadKey, Press, TurnLamp
from companion.games import GAMES
from companion.games.screen import ChessClock
from companion.table.listeners import TableListener, lamps_of
from companion.table.session import Phase

SOUTH = Seat.SOUTH
NORTH = Seat.NORTH


def begin(rig: TableRig, way: str = "referee", **options: object) -> None:
    """Begin BINMAT with its clock just started.

    With the way `referee` people deal the cards themselves, with `full` the program does.
    """
    rig.table.new_game("binmat", {"way": way, **options}, seed=1)
    rig.table.resume("host")
    rig.signals.clear()


def turns_left(rig: TableRig) -> int:
    """Return the number of turns that are left, as the table shows it."""
    card_ui = rig.view.board.card_ui
    assert card_ui is not None
    assert card_ui.count is not None
    return card_ui.count.number


def left_s(rig: TableRig) -> float:
    """Return the seconds left on the clock, which runs or is stopped."""
    clock = rig.view.time.clock
    assert clock is not None
    return clock.left_s if clock.due_s is None else clock.due_s - rig.clock.monotonic_s()


def act(rig: TableRig, text: str = ".") -> None:
    """Act on the table screen for the side on turn, by default to end the turn."""
    rig.table.act(rig.view.moment, text)


def test_a_game_begins_with_its_clock_stopped(rig: TableRig) -> None:
    rig.table.new_game("binmat", {"way": "referee"}, seed=1)
    view = rig.view
    assert (view.phase, view.sign.text) == (Phase.ORDERS, "Start the clock")
    rig.wait(60)
    assert left_s(rig) == 5

    # Only Ready starts the clock. Before, nobody can end a turn.
    rig.press(NORTH, "U")
    assert rig.view.sign.text == "Start the clock", "no other key than Ready must start the clock"
    with pytest.raises(Illegal, match="clock is stopped"):
        act(rig)
    rig.press(NORTH, "ready")
    assert left_s(rig) == 5
    assert rig.view.sign.text == "Defender: your turn"


def test_late_steps_do_not_delay_later_turns(rig: TableRig) -> None:
    """Each turn begins when the one before it was due, not when the table noticed that."""
    begin(rig)
    began_s = rig.clock.monotonic_s()
    for turn in range(1, 4):
        rig.wait(5.017)  # the table notices each time-out 17 ms late
        clock = rig.view.time.clock
        assert clock is not None
        assert turns_left(rig) == 110 - turn
        assert clock.due_s == pytest.approx(began_s + 5 * (turn + 1), abs=1e-9)


def test_a_timed_out_turn_is_announced(rig: TableRig) -> None:
    begin(rig)
    rig.wait(5.1)
    assert rig.view.sign.small == "Defender passed: the time ran out."
    act(rig)
    assert "ran out" not in rig.view.sign.small


def test_an_alarm_leaves_the_turn_open(rig: TableRig) -> None:
    # With this option, a time-out only sounds. The turn goes on until somebody ends it.
    begin(rig, timeout="alarm")
    rig.wait(60)
    view = rig.view
    assert (turns_left(rig), view.sign.text) == (110, "Defender: time is up")
    assert view.time.clock is not None
    assert view.time.clock.has_run_out
    act(rig)
    assert (turns_left(rig), left_s(rig)) == (109, 5)


# ---- which presses count -------------------------------------------------------------------------


def test_every_device_of_a_side_ends_its_turn(rig: TableRig) -> None:
    # By a pad, the table button, a phone and the table screen.
    begin(rig)
    rig.press(SOUTH, "ready")
    rig.press(None, "table")
    rig.hand_in(SOUTH, ".")
    act(rig)
    assert turns_left(rig) == 106

    # It is South's turn again.
    rig.press(NORTH, "ready")
    assert (turns_left(rig), rig.cues[-1]) == (106, "key_refused"), (
        "the other side's pad must not end the turn"
    )


@pytest.mark.parametrize("press_s", [4.99, 5.0])
def test_a_press_received_after_the_timeout_counts(rig: TableRig, press_s: float) -> None:
    """The press itself was in time, at the latest at the end of the turn's 5 s."""
    begin(rig)
    pressed_s = rig.clock.monotonic_s() + press_s
    rig.wait(5.2)
    assert turns_left(rig) == 109
    assert "time_out" not in rig.cues, "the panel must sound the time-out, not the table"

    # The press arrives 5.2 s after the turn began. It replaces the time-out, so the next turn has
    # run since the press. Its moment is another one: inputs for the one before are out of date.
    moment = rig.view.moment
    rig.table.press(Press(SOUTH, PadKey.READY, pressed_s))
    rig.table.step()
    assert left_s(rig) == pytest.approx(5 - (5.2 - press_s))
    assert turns_left(rig) == 109
    assert rig.view.moment != moment


def test_a_press_after_its_turn_does_not_count(rig: TableRig) -> None:
    """It must neither count for the turn that is over nor end the next one."""
    # South hands in by phone, and presses its pad, a hundredth of a second too late.
    begin(rig)
    moment = rig.view.moment
    due_s = rig.clock.monotonic_s() + 5
    rig.clock.advance(5.3)
    with pytest.raises(Stale, match="turn that is over"):
        rig.table.hand_in(SOUTH, moment, ".", at_s=due_s + 0.01)
    assert turns_left(rig) == 109
    rig.table.press(Press(SOUTH, PadKey.READY, due_s + 0.02))
    rig.table.step()
    assert turns_left(rig) == 109, "the defender's press must not end the attacker's turn"

    # A time in the future counts as now.
    rig.hand_in(NORTH, ".", at_s=10_000_000.0)
    assert (turns_left(rig), round(left_s(rig), 6)) == (108, 5), (
        "a press with a time in the future must count as one of now"
    )


# ---- combat, pause, undone turns -----------------------------------------------------------------


def test_keys_begin_and_end_a_combat(rig: TableRig) -> None:
    # The key A declares a combat, during which no clock runs.
    begin(rig)
    rig.wait(3)
    rig.press(SOUTH, "a")
    assert rig.cues == ["combat"]
    rig.wait(600)
    assert (turns_left(rig), rig.view.time.clock) == (110, None)
    rig.press(SOUTH, "ready")
    assert (turns_left(rig), left_s(rig)) == (109, 5)


def test_holding_ready_declares_a_combat(rig: TableRig) -> None:
    # Pressing Ready ends the turn. A hold of another time belongs to another press.
    begin(rig)
    pressed_s = rig.clock.monotonic_s()
    rig.press(SOUTH, "ready")
    rig.wait(1)
    rig.press(SOUTH, "ready", held=True)
    assert turns_left(rig) == 109, "the hold of another press must not declare a combat"

    # The hold of the same press takes the end of the turn back, and declares a combat instead.
    rig.table.press(Press(SOUTH, PadKey.READY, pressed_s, is_held=True))
    rig.table.step()
    assert (turns_left(rig), rig.view.time.clock) == (110, None)
    assert rig.view.sign.text == "Both: fan your cards face up"


def test_back_restores_turn_and_time(rig: TableRig) -> None:
    # South ends its turn after 2 of 5 s, and takes that back.
    begin(rig)
    rig.wait(2)
    rig.press(SOUTH, "ready")
    rig.wait(1.5)
    rig.press(SOUTH, "back")
    assert (turns_left(rig), left_s(rig)) == (110, 3)
    rig.wait(1)
    assert left_s(rig) == 2, "the clock must run after a turn is taken back"

    # A turn that has run out stays over.
    rig.wait(2.1)
    rig.press(SOUTH, "back")
    assert turns_left(rig) == 109, "a timed-out turn must not be taken back"


def test_the_table_undoes_several_turns(rig: TableRig) -> None:
    # Each of three turns ends after 1 of 5 s. Two of them are undone.
    begin(rig)
    for _ in range(3):
        rig.wait(1)
        act(rig)
    for _ in range(2):
        rig.table.undo()
    assert (turns_left(rig), left_s(rig)) == (109, 4)

    # The clock stands until somebody resumes it.
    assert rig.view.sign.text == "Resume"
    rig.wait(100)
    rig.press(SOUTH, "ready")
    rig.wait(1)
    assert (turns_left(rig), left_s(rig)) == (109, 3)


def test_holding_the_table_button_undoes_its_press(rig: TableRig) -> None:
    begin(rig)
    rig.wait(2)
    rig.press(None, "table")
    pressed_s = rig.clock.monotonic_s()
    rig.clock.advance(1)
    rig.table.press(Press(None, PadKey.TABLE, pressed_s, is_held=True))
    rig.table.step()
    assert (turns_left(rig), left_s(rig)) == (110, 3)
    assert rig.view.sign.text == "Resume"


def test_a_pause_keeps_turn_and_time(rig: TableRig) -> None:
    begin(rig)
    rig.wait(1.25)
    rig.table.pause("north")
    rig.wait(500)
    assert left_s(rig) == 3.75
    lamps = [lamps_of(live_of(rig.table), seat) for seat in SEATS]
    assert {lamp.turn for lamp in lamps} == {TurnLamp.PULSE}
    rig.table.resume("south")
    rig.wait(3.7)
    assert turns_left(rig) == 110
    rig.wait(0.1)
    assert turns_left(rig) == 109
    assert rig.cues == ["paused", "resumed"]


def test_table_screen_cannot_act_with_hidden_cards(rig: TableRig) -> None:
    """Only the phone of a seat knows its cards, and only the owner may undo such a turn."""
    begin(rig, "full")
    with pytest.raises(Illegal, match="cannot be done from the table"):
        act(rig, "d0")
    with pytest.raises(Illegal, match="Only the owner"):
        rig.table.undo(rig.view.moment)


def test_a_pass_can_be_taken_back(rig: TableRig) -> None:
    # South passes after 2 s. Nobody has learned anything from that.
    begin(rig, "full")
    moment = rig.view.moment
    rig.wait(2)
    rig.table.hand_in(SOUTH, moment, "--")
    rig.wait(1)
    assert rig.table.view(SOUTH).own.take_back_moment == moment
    assert rig.table.view(NORTH).own.take_back_moment is None
    rig.table.take_back(SOUTH, moment)
    assert (turns_left(rig), left_s(rig)) == (110, 3)

    # A drawn card cannot be put back, because South has seen it.
    rig.hand_in(SOUTH, "d0")
    assert rig.table.view(SOUTH).own.take_back_moment is None, (
        "a card that was seen must not be put back"
    )


class ToyWithoutBoard(Toy):
    """The toy game on chess clocks, without a board that the camera checks."""

    def expected(self, state: Race) -> None:
        return None

    def chess_clock(self, state: Race) -> ChessClock:
        return ChessClock(60.0)


def test_a_clock_without_a_board_waits_to_start(
    rig: TableRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GAMES, "toy", ToyWithoutBoard())
    rig.clock.advance(1000)
    rig.table.new_game("toy")
    clock = rig.view.time.clock
    assert clock is not None
    assert (clock.left_s, clock.paused) == (60.0, "start")


# ---- alarms --------------------------------------------------------------------------------------


def test_alarms_are_scheduled_ahead_and_withdrawn(rig: TableRig) -> None:
    """The panel sounds them by itself, so that they are on time even if the table is busy."""
    schedules: list[tuple[Alarm, ...]] = []
    rig.table.connect(TableListener(on_alarms=schedules.append))
    begin(rig)
    now_s = rig.clock.monotonic_s()
    assert [(alarm.signal.cue.value, alarm.at_s - now_s) for alarm in schedules[-1]] == [
        ("time_short", 3),
        ("time_short", 4),
        ("time_out", 5),
    ]
    assert {seat for alarm in schedules[-1] for seat in alarm.signal.seats} == {SOUTH}

    # The next turn begins after 2 s, so its alarms are due 2 s later.
    rig.wait(2)
    act(rig)
    assert [alarm.at_s - now_s for alarm in schedules[-1]] == [5, 6, 7]

    # A pause withdraws them.
    rig.table.pause("host")
    assert schedules[-1] == ()

    # In a turn of a quarter of a second, the first two alarms would be due before it begins.
    rig.table.abandon()
    begin(rig, seconds=0.25)
    assert [alarm.signal.cue.value for alarm in schedules[-1]] == ["time_out"]


# ---- restart -------------------------------------------------------------------------------------


def test_a_turn_is_paused_after_a_power_cut(tmp_path: Path) -> None:
    """Nobody loses the time during which the table was off."""
    # The power is cut 2.8 s after the second turn has begun.
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        begin(rig)
        act(rig)
        for _ in range(28):
            rig.wait(0.1)
        moment = rig.view.moment
        before_s = left_s(rig)
    with open_table_rig(tmp_path) as restarted:
        view = restarted.view
        assert (view.moment, turns_left(restarted)) == (moment, 109)
        # The journal notes the clock twice a second, so up to half a second comes back.
        assert 0 <= left_s(restarted) - before_s <= 0.51
        assert view.sign.small == "The companion was off. Turn and time are as they were."
        restarted.wait(100)
        assert turns_left(restarted) == 109
        restarted.press(SOUTH, "ready")
        assert restarted.view.sign.text == "Attacker: your turn"
