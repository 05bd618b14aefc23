"""The clock of a turn in light and sound: the last two seconds, the time-out, and what may hide or end them."""

from __future__ import annotations

from panel_tools import heard, lit_edges, seen

from companion.core.kit import SEATS
from companion.core.ports import Cue, SeatLamps, Signal, TurnLamp
from companion.games.binmat.events import BinmatEvent
from hardware.player import CuePlayer

SOUTH, NORTH = SEATS


def short_turn(silent: bool = False, trouble: bool = False) -> CuePlayer:
    """South's turn, of which the last two seconds began at 1000 ms."""
    player = CuePlayer(silent)
    player.show({SOUTH: SeatLamps(turn=TurnLamp.ON)}, trouble, 0.0)
    player.signal(Signal(Cue.TIME_SHORT, frozenset({SOUTH})), 1000.0)
    return player


def test_the_last_two_seconds_blink_on_and_tick_twice_without_losing_their_beat() -> None:
    player = short_turn()
    assert heard(player, 1000, 1030) == [1046.5] * 20 + [None] * 10
    assert lit_edges(seen(player, SOUTH, "turn", 1000, 2000)) == [0, 400, 800]
    player.signal(Signal(Cue.TIME_SHORT, frozenset({SOUTH})), 2000.0)
    assert heard(player, 2000, 2030) == [1046.5] * 20 + [None] * 10
    assert lit_edges(seen(player, SOUTH, "turn", 2200, 4000)) == [0, 400, 800, 1200, 1600]
    assert set(seen(player, NORTH, "turn", 1000, 4000)) == {0.0}


def test_the_old_lamp_goes_off_in_the_same_instant_in_which_the_new_one_goes_on() -> None:
    player = short_turn()
    assert player.is_lit(SOUTH, "turn", 1500.0) == 1
    player.show({NORTH: SeatLamps(turn=TurnLamp.ON)}, False, 1500.0)
    assert (player.is_lit(SOUTH, "turn", 1500.0), player.is_lit(NORTH, "turn", 1500.0)) == (0, 1)
    player.show({SOUTH: SeatLamps(turn=TurnLamp.ON)}, False, 1600.0)
    assert set(seen(player, SOUTH, "turn", 1600, 3000)) == {1.0}, "the next turn has all its time"


def test_a_turn_whose_time_is_not_short_any_more_stops_blinking() -> None:
    player = short_turn()
    player.keep_short(frozenset({SOUTH}), 1100.0)
    assert player.is_lit(SOUTH, "turn", 1300.0) == 0
    player.keep_short(frozenset(), 1300.0)
    assert set(seen(player, SOUTH, "turn", 1300, 3000)) == {1.0}


def test_a_cue_of_lower_rank_does_not_hide_that_time_is_short_and_trouble_does() -> None:
    player = short_turn()
    player.signal(Signal(Cue.SEAT_TAKEN, frozenset({SOUTH})), 1100.0)
    assert lit_edges(seen(player, SOUTH, "turn", 1000, 2000)) == [0, 400, 800]
    assert lit_edges(seen(player, SOUTH, "1", 1100, 2000)) == [0, 400], "the other lamps tell it"
    player = short_turn(trouble=True)
    assert lit_edges(seen(player, SOUTH, "turn", 2000, 6000)) == [0, 400, 2000, 2400]


def test_a_time_out_darkens_the_lamp_for_600_ms_and_cuts_a_combat() -> None:
    player = short_turn()
    player.signal(Signal(BinmatEvent.COMBAT.cue), 2900.0)
    player.signal(Signal(Cue.TIME_OUT, frozenset({SOUTH})), 3000.0)
    assert heard(player, 3000, 3310) == [440.0] * 300 + [None] * 10
    assert set(seen(player, SOUTH, "turn", 3000, 3600)) == {0.0}
    assert lit_edges(seen(player, SOUTH, "turn", 3600, 4200)) == [200], (
        "only the alarm sounded: it blinks on"
    )
    player.signal(Signal(Cue.TURN_PASSES, frozenset({NORTH})), 3100.0)
    assert player.tone_hz(3100.0) == 440.0


def test_the_clock_is_heard_however_fast_it_comes_again_but_not_when_it_is_late() -> None:
    player = CuePlayer()
    for at_ms in (0.0, 250.0, 500.0):
        player.signal(Signal(Cue.TIME_OUT, frozenset({SOUTH})), at_ms)
        assert player.tone_hz(at_ms + 240) == 440.0
    player.signal(Signal(Cue.TIME_OUT, frozenset({NORTH})), 1000.0, is_late=True)
    assert player.tone_hz(1000.0) is None
    player = CuePlayer(silent=True)
    player.show({SOUTH: SeatLamps(turn=TurnLamp.ON)}, False, 0.0)
    player.signal(Signal(Cue.TIME_SHORT, frozenset({SOUTH})), 1000.0, is_late=True)
    assert seen(player, SOUTH, "turn", 1000, 1400) == [1.0] * 200 + [0.0] * 200, (
        "blinking, without a rhythm"
    )


def test_in_silence_each_tick_shows_on_the_lamp() -> None:
    player = short_turn(silent=True)
    assert seen(player, SOUTH, "turn", 1000, 1100) == [0.0] * 60 + [1.0] * 40
    assert set(heard(player, 1000, 3000)) == {None}
