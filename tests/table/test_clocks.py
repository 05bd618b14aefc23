"""Test the clock of a turn: time-outs, pauses, undone turns, restarts and the time of presses.

The tests play BINMAT's clock, with 5 s for each of 110 turns, on a table with a fake clock.
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

SOUTH, NORTH = Seat.SOUTH, Seat.NORTH


def begin(rig: TableRig, way: str = "referee", **options: object) -> None:
    """Begin BINMAT with its clock just started."""
    rig.table.new_game("binmat", {"way": way, **options}, seed=1)
    rig.table.resume("host")
    rig.signals.clear()


def turns_left(rig: TableRig) -> int:
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
    rig.press(NORTH, "U")
    assert rig.view.sign.text == "Start the clock", "another key than ready starts the clock"
    with pytest.raises(Illegal, match="clock is stopped"):
        act(rig)
    rig.press(NORTH, "ready")
    assert left_s(rig) == 5
    assert rig.view.sign.text == "Defender: your turn"


def test_late_steps_do_not_delay_later_turns(rig: TableRig) -> None:
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
    begin(rig)
    rig.press(SOUTH, "ready")
    rig.press(None, "table")
    rig.hand_in(SOUTH, ".")
    act(rig)
    assert turns_left(rig) == 106
    rig.press(NORTH, "ready")
    assert (turns_left(rig), rig.cues[-1]) == (106, "key_refused"), (
        "the other side's pad ends the turn"
    )


@pytest.mark.parametrize("press_s", [4.99, 5.0])
def test_a_press_received_after_the_timeout_counts(rig: TableRig, press_s: float) -> None:
    begin(rig)
    pressed_s = rig.clock.monotonic_s() + press_s
    rig.wait(5.2)
    assert turns_left(rig) == 109
    assert "time_out" not in rig.cues, "the table sounds the time-out, not the panel"
    moment = rig.view.moment
    rig.table.press(Press(SOUTH, PadKey.READY, pressed_s))
    rig.table.step()
    assert left_s(rig) == pytest.approx(press_s - 0.2)
    assert (turns_left(rig), rig.view.moment == moment) == (109, False)


def test_a_press_after_its_turn_does_not_count(rig: TableRig) -> None:
    begin(rig)
    moment = rig.view.moment
    due_s = rig.clock.monotonic_s() + 5
    rig.clock.advance(5.3)
    with pytest.raises(Stale, match="turn that is over"):
        rig.table.hand_in(SOUTH, moment, ".", at_s=due_s + 0.01)
    assert turns_left(rig) == 109
    rig.table.press(Press(SOUTH, PadKey.READY, due_s + 0.02))
    rig.table.step()
    assert turns_left(rig) == 109, "the defender's press ends the attacker's turn"
    rig.hand_in(NORTH, ".", at_s=10_000_000.0)
    assert (turns_left(rig), round(left_s(rig), 6)) == (108, 5), (
        "a press with a time in the future does not count as one of now"
    )


# ---- combat, pause, undone turns -----------------------------------------------------------------


def test_keys_begin_and_end_a_combat(rig: TableRig) -> None:
    begin(rig)
    rig.wait(3)
    rig.press(SOUTH, "a")
    assert rig.cues == ["combat"]
    rig.wait(600)
    assert (turns_left(rig), rig.view.time.clock) == (110, None)
    rig.press(SOUTH, "ready")
    assert (turns_left(rig), left_s(rig)) == (109, 5)


def test_holding_ready_declares_a_combat(rig: TableRig) -> None:
    begin(rig)
    pressed_s = rig.clock.monotonic_s()
    rig.press(SOUTH, "ready")
    rig.wait(1)
    rig.press(SOUTH, "ready", held=True)
    assert turns_left(rig) == 109, "the hold of another press declares a combat"
    rig.table.press(Press(SOUTH, PadKey.READY, pressed_s, is_held=True))
    rig.table.step()
    assert (turns_left(rig), rig.view.time.clock) == (110, None)
    assert rig.view.sign.text == "Both: fan your cards face up"


def test_back_restores_turn_and_time(rig: TableRig) -> None:
    begin(rig)
    rig.wait(2)
    rig.press(SOUTH, "ready")
    rig.wait(1.5)
    rig.press(SOUTH, "back")
    assert (turns_left(rig), left_s(rig)) == (110, 3)
    rig.wait(1)
    assert left_s(rig) == 2, "the clock stands after a take back"
    rig.wait(2.1)
    rig.press(SOUTH, "back")
    assert turns_left(rig) == 109, "a timed-out turn is taken back"


def test_the_table_undoes_several_turns(rig: TableRig) -> None:
    begin(rig)
    for _ in range(3):
        rig.wait(1)
        act(rig)
    for _ in range(2):
        rig.table.undo()
    assert (turns_left(rig), left_s(rig)) == (109, 4)
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
    begin(rig, "full")
    with pytest.raises(Illegal, match="cannot be done from the table"):
        act(rig, "d0")
    with pytest.raises(Illegal, match="Only the owner"):
        rig.table.undo(rig.view.moment)


def test_a_pass_can_be_taken_back(rig: TableRig) -> None:
    begin(rig, "full")
    moment = rig.view.moment
    rig.wait(2)
    rig.table.hand_in(SOUTH, moment, "--")
    rig.wait(1)
    assert rig.table.view(SOUTH).own.take_back_moment == moment
    assert rig.table.view(NORTH).own.take_back_moment is None
    rig.table.take_back(SOUTH, moment)
    assert (turns_left(rig), left_s(rig)) == (110, 3)
    rig.hand_in(SOUTH, "d0")
    assert rig.table.view(SOUTH).own.take_back_moment is None, "a seen card can be put back"


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
    rig.wait(2)
    act(rig)
    assert [alarm.at_s - now_s for alarm in schedules[-1]] == [5, 6, 7]
    rig.table.pause("host")
    assert schedules[-1] == ()
    rig.table.abandon()
    begin(rig, seconds=0.25)
    assert [alarm.signal.cue.value for alarm in schedules[-1]] == ["time_out"]


# ---- restart -------------------------------------------------------------------------------------


def test_a_turn_is_paused_after_a_power_cut(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        begin(rig)
        act(rig)
        for _ in range(28):
            rig.wait(0.1)
        moment, before_s = rig.view.moment, left_s(rig)
    with open_table_rig(tmp_path) as restarted:
        view = restarted.view
        assert (view.moment, turns_left(restarted)) == (moment, 109)
        # The journal notes the clock twice a second, so that up to half a second comes back.
        assert 0 <= left_s(restarted) - before_s <= 0.51
        assert view.sign.small == "The companion was off. Turn and time are as they were."
        restarted.wait(100)
        assert turns_left(restarted) == 109
        restarted.press(SOUTH, "ready")
        assert restarted.view.sign.text == "Attacker: your turn"
