"""The clock of a turn in light and sound: the last two seconds, the time-out, and what may hide or
end them.
"""

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
