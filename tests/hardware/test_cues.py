"""Test cues by values: tones, rhythms, priorities and lamps over time, and how keys are debounced.

A `CuePlayer` has no clock of its own, so the tests give every time in milliseconds. `lit_edges`
returns the milliseconds at which a lamp goes on, and `tones_hz` the tone in each millisecond.
"""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from panel_tools import lamp_levels, lit_edges, tones_hz

from companion.core.event_cues import EventCue
from companion.core.kit import SEATS, Seat
from companion.core.ports import Cue, SeatLamps, Signal, TurnLamp
from companion.games import event_cues
from companion.games.binmat.events import BinmatEvent
from hardware.cue_player import CuePlayer
from hardware.cues import (
    LAMPS,
    Priority,
    cue_patterns,
    lasting_light,
    properties_of,
    rhythm_pattern,
)
from hardware.debounce import MIN_PRESS_S, Debouncer, KeyEvent

SOUTH, NORTH = SEATS
AnyCue = Cue | EventCue
ALL_CUES: tuple[AnyCue, ...] = (*Cue, *event_cues())
KEY_CUES = (Cue.KEY_TAKEN, Cue.KEY_REFUSED, Cue.KEY_BACK, Cue.KEYS_CLEARED, Cue.SEALED)
# Cues whose own patterns of lamps have no end.
ENDLESS_CUES = (Cue.OFF_WAIT, Cue.OFF)
# Cues whose lamps go on until something else ends them: these, and those that make a lamp blink
# because time is short.
LASTING_CUES = (*ENDLESS_CUES, Cue.TIME_SHORT, Cue.CLOCK_LOW, Cue.CLOCK_LAST)
# Frequencies in Hz of the notes A4, A5 and C6.
A4_HZ = 440.0
A5_HZ = 880.0
C6_HZ = 1046.5


def tone_ms(cue: AnyCue) -> float:
    return sum(note.ms for note in properties_of(cue).tone)


# ---- cues as they are declared -------------------------------------------------------------------


@pytest.mark.parametrize("cue", ALL_CUES, ids=str)
def test_tones_are_short_and_not_below_a4(cue: AnyCue) -> None:
    """A long tone would delay others. Below A4 a small buzzer is too quiet (`core.event_cues`)."""
    limit_ms = 600
    if cue in KEY_CUES:
        limit_ms = 160
    elif cue in (Cue.WON, Cue.TIE):
        limit_ms = 900
    assert 0 < tone_ms(cue) <= limit_ms
    assert min(note.hz for note in properties_of(cue).tone if note.hz) >= A4_HZ
    assert all(note.ms > 0 for note in properties_of(cue).tone)
    assert properties_of(cue).tone[0].name, "a tone must not begin with a pause"


def test_priorities_rise_from_keys_to_trouble() -> None:
    # One cue of each priority, the lowest first.
    order = (Cue.KEY_TAKEN, Cue.TURN_PASSES, Cue.REVEAL, Cue.PAUSED, Cue.BOARD_WRONG, Cue.TROUBLE)
    assert [properties_of(cue).priority for cue in order] == sorted(Priority)


@pytest.mark.parametrize(
    ("pattern", "edges"),
    [
        (TurnLamp.OFF, []),
        (TurnLamp.ON, [0]),
        (TurnLamp.OFFERED, [0, 2000]),
        (TurnLamp.HANDS, [0, 1000, 2000, 3000]),
        (TurnLamp.WRONG, list(range(0, 4000, 400))),
        (TurnLamp.TROUBLE, [0, 400, 2000, 2400]),
        (TurnLamp.HOTSPOT, [0, 400, 800, 3000, 3400, 3800]),
        (TurnLamp.PULSE, [0, 1600, 3200]),
    ],
)
def test_lasting_patterns_keep_their_periods(pattern: TurnLamp, edges: list[int]) -> None:
    """`edges` are the ms at which the lamp goes on, of the first 4 s."""
    levels = [lasting_light(SeatLamps(turn=pattern), "turn", float(ms))[0] for ms in range(4000)]
    assert lit_edges(levels) == edges


# ---- lamps and tones over time -------------------------------------------------------------------


@pytest.mark.parametrize("cue", ALL_CUES, ids=str)
def test_every_cue_sounds_its_tone_at_once(cue: AnyCue) -> None:
    player = CuePlayer()
    player.signal(Signal(cue, frozenset({SOUTH}), 1), 1000.0)

    # No lamp flashes faster than 2.5 times a second, so that no cue can trigger a seizure.
    for seat, lamp in itertools.product(SEATS, LAMPS):
        edges = lit_edges(lamp_levels(player, seat, lamp, 1000, 3000))
        assert all(after - before >= 400 for before, after in itertools.pairwise(edges))

    # Each note sounds for its whole duration, right after the one before. Then there is silence.
    at_ms = 1000
    for note in properties_of(cue).tone:
        assert tones_hz(player, at_ms, at_ms + int(note.ms)) == [note.hz] * int(note.ms)
        at_ms += int(note.ms)
    assert player.tone_hz(float(at_ms)) is None


# The lasting lamps that cues cover for a while.
LAMPS_SHOWN = {
    SOUTH: SeatLamps(frozenset({2}), TurnLamp.HANDS),
    NORTH: SeatLamps(frozenset({1, 3})),
}


def all_lamp_levels(player: CuePlayer) -> list[list[float]]:
    """Return how bright every lamp is from 2.1 to 4.1 s, when all but lasting cues are over."""
    return [
        lamp_levels(player, seat, lamp, 2100, 4100)
        for seat, lamp in itertools.product(SEATS, LAMPS)
    ]


@pytest.fixture(scope="module")
def levels_without_cue() -> list[list[float]]:
    player = CuePlayer()
    player.show(LAMPS_SHOWN, False, 0.0)
    return all_lamp_levels(player)


@pytest.mark.parametrize("cue", [cue for cue in ALL_CUES if cue not in LASTING_CUES])
@pytest.mark.parametrize("silent", [True, False])
def test_every_cue_leaves_the_lamps_as_before(
    cue: AnyCue, silent: bool, levels_without_cue: list[list[float]]
) -> None:
    player = CuePlayer(silent)
    player.show(LAMPS_SHOWN, False, 0.0)
    player.signal(Signal(cue, frozenset({SOUTH})), 100.0)
    assert all_lamp_levels(player) == levels_without_cue


def test_equal_tones_keep_300_ms_apart() -> None:
    player = CuePlayer()

    # The same step again is silent until 300 ms are over.
    for at_ms, sounds in ((0.0, True), (299.0, False), (300.0, True)):
        player.signal(Signal(Cue.STEP, frozenset(SEATS), 1), at_ms)
        assert (player.tone_hz(at_ms) is not None) is sounds

    # Keys are an exception: every key that is pressed has its tone.
    for at_ms in (1000.0, 1050.0, 1100.0):
        player.signal(Signal(Cue.KEY_TAKEN, frozenset({SOUTH}), 1), at_ms)
        assert player.tone_hz(at_ms) == A5_HZ

    # The tone of a key has a lower priority than that of a wrong board, and does not cut it off.
    player.signal(Signal(Cue.BOARD_WRONG), 1105.0)
    player.signal(Signal(Cue.KEY_TAKEN), 1110.0)
    assert player.tone_hz(1110.0) == A4_HZ


def test_the_winners_lamps_run_up_three_times() -> None:
    # The winner's lamps are lit one after the other, 100 ms apart, and all go out after 400 ms. The
    # loser's are dark meanwhile.
    player = CuePlayer()
    player.show(dict.fromkeys(SEATS, SeatLamps(frozenset({1, 2, 3}), TurnLamp.ON)), False, 0.0)
    player.signal(Signal(Cue.WON, frozenset({NORTH})), 0.0)
    assert lit_edges(lamp_levels(player, NORTH, "turn", 0, 1200)) == [300, 700, 1100]
    assert lit_edges(lamp_levels(player, NORTH, "2", 0, 1200)) == [100, 500, 900]
    assert set(lamp_levels(player, SOUTH, "2", 0, 1200)) == {0.0}
    assert player.is_lit(SOUTH, "2", 1200.0) == 1

    # After a draw both seats' lamps fill once, and stay lit for a second.
    player = CuePlayer()
    player.signal(Signal(Cue.TIE), 0.0)
    for seat in SEATS:
        levels = lamp_levels(player, seat, "turn", 0, 1500)
        assert levels == [0.0] * 300 + [1.0] * 1100 + [0.0] * 100


def test_switching_off_blinks_until_it_is_dark() -> None:
    """Neither a key nor the table's lamps hide that the machine is about to switch off."""
    player = CuePlayer()
    player.signal(Signal(Cue.OFF_WAIT), 0.0)
    player.signal(Signal(Cue.KEY_REFUSED, frozenset({SOUTH})), 1000.0)
    player.show(dict.fromkeys(SEATS, SeatLamps(turn=TurnLamp.ON)), False, 1000.0)
    assert lit_edges(lamp_levels(player, SOUTH, "3", 0, 60_000)) == list(range(0, 60_000, 500))
    player.signal(Signal(Cue.OFF), 60_000.0)
    assert player.is_lit(SOUTH, "turn", 1e9) == 0


def test_a_wrong_board_sounds_every_20_s() -> None:
    player = CuePlayer()
    player.show({SOUTH: SeatLamps(turn=TurnLamp.WRONG)}, False, 0.0)
    player.signal(Signal(Cue.BOARD_WRONG, frozenset({SOUTH})), 0.0)
    for at_ms, hz in ((19_999.0, None), (20_000.0, A4_HZ), (40_000.0, A4_HZ)):
        player.advance(at_ms)
        assert player.tone_hz(at_ms) == hz

    # Once the board is right, the repetition that was due at 60 s is dropped, although the board is
    # wrong again by then.
    player.show({SOUTH: SeatLamps(turn=TurnLamp.HANDS)}, False, 50_000.0)
    player.show({SOUTH: SeatLamps(turn=TurnLamp.WRONG)}, False, 55_000.0)
    player.advance(60_000.0)
    assert player.tone_hz(60_000.0) is None


def test_trouble_does_not_silence_a_wrong_board() -> None:
    player = CuePlayer()
    player.show({SOUTH: SeatLamps(turn=TurnLamp.WRONG)}, False, 0.0)
    player.signal(Signal(Cue.BOARD_WRONG, frozenset({SOUTH})), 0.0)
    # After 5 s there is trouble, which all turn lamps show instead. The board is still wrong.
    player.show({SOUTH: SeatLamps(turn=TurnLamp.WRONG)}, True, 5_000.0)
    player.advance(20_000.0)
    assert player.tone_hz(20_000.0) == A4_HZ


def test_only_a_wrong_board_repeats_its_cue() -> None:
    player = CuePlayer()
    player.signal(Signal(Cue.BOARD_WRONG), 0.0)
    assert player.next_change_at_ms(1_000.0) == math.inf


@pytest.mark.parametrize("pattern", [TurnLamp.OFF, TurnLamp.ON, TurnLamp.WRONG])
@pytest.mark.parametrize("cue", [cue for cue in ALL_CUES if cue not in ENDLESS_CUES])
def test_silent_mode_plays_rhythms_on_the_lamp(cue: AnyCue, pattern: TurnLamp) -> None:
    """The turn lamp changes for each note and returns in each pause. Nothing sounds."""
    player = CuePlayer(is_silent=True)
    player.show(dict.fromkeys(SEATS, SeatLamps(turn=pattern)), False, 0.0)
    player.signal(Signal(cue, frozenset({SOUTH})), 300.0)
    duration_ms = int(rhythm_pattern(properties_of(cue).tone).duration_ms)
    levels = lamp_levels(player, SOUTH, "turn", 300, 300 + duration_ms)

    # Split the time into runs in which the lamp does not change. A tone begins with a note, so the
    # lamp is at its first level during all notes. A note lasts for at least 60 ms, to be seen.
    runs = [(level, len(list(group))) for level, group in itertools.groupby(levels)]
    notes = [note for note in properties_of(cue).tone if note.name]
    assert [ms for level, ms in runs if level == levels[0]] == [
        max(60, int(note.ms)) for note in notes
    ]
    assert set(tones_hz(player, 300, 1500)) == {None}


@given(
    silent=st.booleans(),
    pattern=st.sampled_from(TurnLamp),
    signals=st.lists(
        st.tuples(st.sampled_from(ALL_CUES), st.sampled_from(SEATS), st.integers(0, 700)),
        max_size=4,
    ),
)
def test_no_output_changes_before_the_announced_time(
    silent: bool, pattern: TurnLamp, signals: list[tuple[AnyCue, Seat, int]]
) -> None:
    """The output thread sleeps until the announced time, and would miss an earlier change.

    Step from one announced time to the next, and compare the output at seven times between them.

    :param signals: cues, each with its seat and the ms until the next one
    """
    player = CuePlayer(silent)
    now_ms = 0.0

    def output(at_ms: float) -> list[float | None]:
        lamps: list[float | None] = [
            player.is_lit(seat, lamp, at_ms) for seat in SEATS for lamp in LAMPS
        ]
        return [*lamps, player.tone_hz(at_ms)]

    player.show({SOUTH: SeatLamps(frozenset({1, 2}), pattern)}, False, now_ms)
    for cue, seat, wait_ms in signals:
        player.signal(Signal(cue, frozenset({seat})), now_ms)
        end_ms = now_ms + wait_ms
        while now_ms < end_ms:
            announced_ms = player.next_change_at_ms(now_ms)
            assert announced_ms > now_ms
            next_ms = min(announced_ms, end_ms)
            step_ms = (next_ms - now_ms) / 7
            assert all(output(now_ms + step_ms * part) == output(now_ms) for part in range(7))
            now_ms = next_ms


@pytest.mark.parametrize("cue", ALL_CUES, ids=str)
def test_no_cue_shows_which_key_was_pressed(cue: AnyCue) -> None:
    """The number of a signal changes neither light nor sound. Only its cue and its seats do."""
    for seat in SEATS:
        first, second = (
            cue_patterns(Signal(cue, frozenset({SOUTH}), number), seat) for number in (0, 3)
        )
        assert first == second


# ---- debouncing ----------------------------------------------------------------------------------


@given(st.lists(st.integers(3, 60), max_size=40))
def test_a_press_is_stamped_at_its_first_edge(waits_ms: list[int]) -> None:
    """A press counts if the key was up for the debounce time of 20 ms.

    :param waits_ms: time before each edge. Edges go down and up by turns
    """
    key = Debouncer(0.020)
    now_ms = 0
    released_at_ms = -1000
    is_down = False
    pressed_at_ms: int | None = None
    for wait_ms in waits_ms:
        now_ms += wait_ms
        is_down = not is_down
        # Both the edge itself and a look at the line after 2 ms may show that the key is pressed.
        edge_events = key.process_edge(is_down, now_ms / 1000)
        events = edge_events + key.poll(is_down, now_ms / 1000 + MIN_PRESS_S)
        assert (KeyEvent.PRESSED in events) is (is_down and now_ms - released_at_ms >= 20)

        # The time of the last press that counted stays until another one counts.
        if KeyEvent.PRESSED in events:
            pressed_at_ms = now_ms
        if not is_down:
            released_at_ms = now_ms
        if pressed_at_ms is not None:
            assert key.pressed_at_s == pressed_at_ms / 1000


def test_a_spike_is_not_a_press() -> None:
    # The line is low for 0.02 ms.
    key = Debouncer(0.020)
    assert key.process_edge(True, 1.0) == ()
    assert key.process_edge(False, 1.00002) == ()
    assert key.poll(False, 1.002) == ()
    assert not key.is_waiting

    # After that spike, a press counts as soon as the line was low for 2 ms.
    assert key.process_edge(True, 1.005) == ()
    assert key.poll(True, 1.0069) == ()
    assert key.poll(True, 1.007) == (KeyEvent.PRESSED,), "a press of 2 ms must count"


def test_polling_finds_a_lost_release() -> None:
    key = Debouncer(0.020)
    key.process_edge(True, 1.0)
    key.poll(True, 1.002)

    # The edge up never comes. The line is found high at 1.1 s, so the key is released 20 ms later.
    assert key.poll(False, 1.1) == ()
    assert key.poll(False, 1.119) == ()
    assert key.poll(False, 1.12) == (KeyEvent.RELEASED,)

    # The next press counts.
    key.process_edge(True, 1.13)
    assert key.poll(True, 1.132) == (KeyEvent.PRESSED,)


# ---- short time ----------------------------------------------------------------------------------


def player_in_short_turn() -> CuePlayer:
    """Return a player in South's turn whose last two seconds began at 1000 ms."""
    player = CuePlayer()
    player.show({SOUTH: SeatLamps(turn=TurnLamp.ON)}, False, 0.0)
    player.signal(Signal(Cue.TIME_SHORT, frozenset({SOUTH})), 1000.0)
    return player


def test_the_last_two_seconds_tick_twice() -> None:
    # At the first tick, a tone of 20 ms, South's turn lamp begins to blink.
    player = player_in_short_turn()
    assert tones_hz(player, 1000, 1030) == [C6_HZ] * 20 + [None] * 10
    assert lit_edges(lamp_levels(player, SOUTH, "turn", 1000, 2000)) == [0, 400, 800]

    # The second tick does not disturb the blinking.
    player.signal(Signal(Cue.TIME_SHORT, frozenset({SOUTH})), 2000.0)
    assert tones_hz(player, 2000, 2030) == [C6_HZ] * 20 + [None] * 10
    assert lit_edges(lamp_levels(player, SOUTH, "turn", 2200, 4000)) == [0, 400, 800, 1200, 1600]
    assert set(lamp_levels(player, NORTH, "turn", 1000, 4000)) == {0.0}


def test_a_time_out_darkens_the_lamp() -> None:
    # The time is over, just after an event of the game whose tone is cut off.
    player = player_in_short_turn()
    player.signal(Signal(BinmatEvent.COMBAT.cue), 2900.0)
    player.signal(Signal(Cue.TIME_OUT, frozenset({SOUTH})), 3000.0)
    assert tones_hz(player, 3000, 3310) == [A4_HZ] * 300 + [None] * 10
    assert set(lamp_levels(player, SOUTH, "turn", 3000, 3600)) == {0.0}

    # The alarm does not end the turn, which only the table does. So the lamp goes on blinking.
    assert lit_edges(lamp_levels(player, SOUTH, "turn", 3600, 4200)) == [200]

    # When the turn passes, its tone of lower priority is not played.
    player.signal(Signal(Cue.TURN_PASSES, frozenset({NORTH})), 3100.0)
    assert player.tone_hz(3100.0) == A4_HZ
