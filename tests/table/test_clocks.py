"""The clock of a turn at the table: time-outs, pauses, ways back, restarts, and presses judged by
their own time.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from inside import live_of
from table_tools import Played, playing, seat_both
from toy import Race, Toy

from companion.core.errors import Illegal, Stale
from companion.core.kit import SEATS, Seat
from companion.core.ports import Alarm, PadKey, Press, TurnLamp
from companion.games import GAMES
from companion.games.screen import ChessClock
from companion.table.listeners import TableListener, lamps_of
from companion.table.session import Phase

SOUTH, NORTH = Seat.SOUTH, Seat.NORTH


def begin(played: Played, way: str = "referee", **options: object) -> None:
    """Begin a game with its clock just started."""
    played.table.new_game("binmat", {"way": way, **options}, seed=1)
    played.table.resume("host")
    played.signals.clear()


def turns_left(played: Played) -> int:
    tableau = played.view.board.card_ui
    assert tableau is not None
    assert tableau.count is not None
    return tableau.count.number


def left_s(played: Played) -> float:
    """Return the seconds left on the clock."""
    clock = played.view.time.clock
    assert clock is not None
    return clock.left_s if clock.due_s is None else clock.due_s - played.clock.monotonic_s()


def act(played: Played, text: str = ".") -> None:
    played.table.act(played.view.moment, text)


def test_a_game_begins_with_its_clock_stopped(played: Played) -> None:
    played.table.new_game("binmat", {"way": "referee"}, seed=1)
    view = played.view
    assert (view.phase, view.sign.text) == (Phase.ORDERS, "Start the clock")
    played.wait(60)
    assert left_s(played) == 5
    played.press(NORTH, "U")
    assert played.view.sign.text == "Start the clock", "ready alone starts it"
    with pytest.raises(Illegal, match="clock is stopped"):
        act(played)
    played.press(NORTH, "ready")
    assert left_s(played) == 5
    assert played.view.sign.text == "Defender: your turn"


def test_time_runs_out_without_any_drift(played: Played) -> None:
    begin(played)
    began_s = played.clock.monotonic_s()
    for turn in range(1, 4):
        played.wait(5.017)  # the table gets round to it late, each time
        clock = played.view.time.clock
        assert clock is not None
        assert turns_left(played) == 110 - turn
        assert clock.due_s == pytest.approx(began_s + 5 * (turn + 1), abs=1e-9)


def test_a_timed_out_turn_is_told_to_both(played: Played) -> None:
    begin(played)
    played.wait(5.1)
    assert played.view.sign.small == "Defender passed: the time ran out."
    act(played)
    assert "ran out" not in played.view.sign.small


def test_with_alarm_the_turn_stays_until_somebody_acts(played: Played) -> None:
    begin(played, timeout="alarm")
    played.wait(60)
    view = played.view
    assert (turns_left(played), view.sign.text) == (110, "Defender: time is up")
    assert view.time.clock is not None
    assert view.time.clock.has_run_out
    act(played)
    assert (turns_left(played), left_s(played)) == (109, 5)


# ---- whose press counts, and when ----------------------------------------------------------------


def test_every_device_of_a_side_ends_its_turn(
    played: Played,
) -> None:
    begin(played)
    played.press(SOUTH, "ready")
    played.press(None, "table")
    played.hand_in(SOUTH, ".")
    act(played)
    assert turns_left(played) == 106
    played.press(NORTH, "ready")
    assert (turns_left(played), played.cues[-1]) == (106, "key_refused"), (
        "the pad of the other side"
    )


@pytest.mark.parametrize("in_time_s", [4.99, 5.0])
def test_a_press_heard_after_the_timeout_counts(played: Played, in_time_s: float) -> None:
    begin(played)
    pressed_s = played.clock.monotonic_s() + in_time_s
    played.wait(5.2)
    assert turns_left(played) == 109
    assert "time_out" not in played.cues, "the alarm itself comes from the panel"
    moment = played.view.moment
    played.table.press(Press(SOUTH, PadKey.READY, pressed_s))
    played.table.step()
    assert left_s(played) == pytest.approx(in_time_s - 0.2)
    assert (turns_left(played), played.view.moment == moment) == (109, False)


def test_a_press_after_its_turn_does_not_count(played: Played) -> None:
    begin(played)
    moment = played.view.moment
    due_s = played.clock.monotonic_s() + 5
    played.clock.advance(5.3)
    with pytest.raises(Stale, match="turn that is over"):
        played.table.hand_in(SOUTH, moment, ".", at_s=due_s + 0.01)
    assert turns_left(played) == 109
    played.table.press(Press(SOUTH, PadKey.READY, due_s + 0.02))
    played.table.step()
    assert turns_left(played) == 109, "it is the attacker's turn"
    played.hand_in(NORTH, ".", at_s=10_000_000.0)
    assert (turns_left(played), round(left_s(played), 6)) == (108, 5), (
        "a stamp from the future counts as now"
    )


# ---- combat, pause, ways back --------------------------------------------------------------------


def test_one_press_calls_combat_and_one_ends_it(played: Played) -> None:
    begin(played)
    played.wait(3)
    played.press(SOUTH, "a")
    assert played.cues == ["combat"]
    played.wait(600)
    assert (turns_left(played), played.view.time.clock) == (110, None)
    played.press(SOUTH, "ready")
    assert (turns_left(played), left_s(played)) == (109, 5)


def test_holding_ready_makes_its_press_a_combat(played: Played) -> None:
    begin(played)
    pressed_s = played.clock.monotonic_s()
    played.press(SOUTH, "ready")
    played.wait(1)
    played.press(SOUTH, "ready", held=True)
    assert turns_left(played) == 109, "that is the hold of another press"
    played.table.press(Press(SOUTH, PadKey.READY, pressed_s, is_held=True))
    played.table.step()
    assert (turns_left(played), played.view.time.clock) == (110, None)
    assert played.view.sign.text == "Both: fan your cards face up"


def test_back_undoes_a_press_with_its_time(played: Played) -> None:
    begin(played)
    played.wait(2)
    played.press(SOUTH, "ready")
    played.wait(1.5)
    played.press(SOUTH, "back")
    assert (turns_left(played), left_s(played)) == (110, 3)
    played.wait(1)
    assert left_s(played) == 2, "the clock runs on"
    played.wait(2.1)
    played.press(SOUTH, "back")
    assert turns_left(played) == 109, "nobody takes back what the clock did"


def test_the_table_takes_back_turn_after_turn(played: Played) -> None:
    begin(played)
    for _ in range(3):
        played.wait(1)
        act(played)
    for _ in range(2):
        played.table.undo()
    assert (turns_left(played), left_s(played)) == (109, 4)
    assert played.view.sign.text == "Resume"
    played.wait(100)
    played.press(SOUTH, "ready")
    played.wait(1)
    assert (turns_left(played), left_s(played)) == (109, 3)


def test_holding_the_table_button_undoes_its_press(played: Played) -> None:
    begin(played)
    played.wait(2)
    played.press(None, "table")
    pressed_s = played.clock.monotonic_s()
    played.clock.advance(1)
    played.table.press(Press(None, PadKey.TABLE, pressed_s, is_held=True))
    played.table.step()
    assert (turns_left(played), left_s(played)) == (110, 3)
    assert played.view.sign.text == "Resume"


def test_pause_and_resume_keep_turn_and_time(played: Played) -> None:
    begin(played)
    played.wait(1.25)
    played.table.pause("north")
    played.wait(500)
    assert left_s(played) == 3.75
    lamps = [lamps_of(live_of(played.table), seat) for seat in SEATS]
    assert {lamp.turn for lamp in lamps} == {TurnLamp.PULSE}
    played.table.resume("south")
    played.wait(3.7)
    assert turns_left(played) == 110
    played.wait(0.1)
    assert turns_left(played) == 109
    assert played.cues == ["paused", "resumed"]


def test_strangers_cannot_act_where_hands_are_hidden(played: Played) -> None:
    begin(played, "full")
    with pytest.raises(Illegal, match="cannot be done from the table"):
        act(played, "d0")
    with pytest.raises(Illegal, match="Only the owner"):
        played.table.undo(played.view.moment)


def test_a_pass_is_reversible_until_the_other_acts(played: Played) -> None:
    begin(played, "full")
    moment = played.view.moment
    played.wait(2)
    played.table.hand_in(SOUTH, moment, "--")
    played.wait(1)
    assert played.table.view(SOUTH).own.take_back_moment == moment
    assert played.table.view(NORTH).own.take_back_moment is None
    played.table.take_back(SOUTH, moment)
    assert (turns_left(played), left_s(played)) == (110, 3)
    played.hand_in(SOUTH, "d0")
    assert played.table.view(SOUTH).own.take_back_moment is None, "a card was seen"


class ToyWithoutBoard(Toy):
    """The toy on chess clocks, with no board that is checked."""

    def expected(self, state: Race) -> None:
        return None

    def chess_clock(self, state: Race) -> ChessClock:
        return ChessClock(60.0)


def test_a_clock_without_a_board_waits_to_start(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GAMES, "toy", ToyWithoutBoard())
    played.clock.advance(1000)
    played.table.new_game("toy")
    clock = played.view.time.clock
    assert clock is not None
    assert (clock.left_s, clock.paused) == (60.0, "start")


# ---- alarms --------------------------------------------------------------------------------------


def test_alarms_are_told_ahead_and_withdrawn(played: Played) -> None:
    told: list[tuple[Alarm, ...]] = []
    played.table.connect(TableListener(on_alarms=told.append))
    begin(played)
    now_s = played.clock.monotonic_s()
    assert [(alarm.signal.cue.value, alarm.at_s - now_s) for alarm in told[-1]] == [
        ("time_short", 3),
        ("time_short", 4),
        ("time_out", 5),
    ]
    assert {seat for alarm in told[-1] for seat in alarm.signal.seats} == {SOUTH}
    played.wait(2)
    act(played)
    assert [alarm.at_s - now_s for alarm in told[-1]] == [5, 6, 7]
    played.table.pause("host")
    assert told[-1] == ()
    played.table.abandon()
    begin(played, seconds=0.25)
    assert [alarm.signal.cue.value for alarm in told[-1]] == ["time_out"]


# ---- restart -------------------------------------------------------------------------------------


def test_a_turn_comes_back_paused_after_power_cuts(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        seat_both(played)
        begin(played)
        act(played)
        for _ in range(28):
            played.wait(0.1)
        moment, before_s = played.view.moment, left_s(played)
    with playing(tmp_path) as again:
        view = again.view
        assert (view.moment, turns_left(again)) == (moment, 109)
        assert 0 <= left_s(again) - before_s <= 0.51
        assert view.sign.small == "The companion was off. Turn and time are as they were."
        again.wait(100)
        assert turns_left(again) == 109
        again.press(SOUTH, "ready")
        assert again.view.sign.text == "Attacker: your turn"
