"""The cue language: which event lights and sounds what. Data and pure functions of time.

A seat has three order lamps (1 2 3) and a turn lamp. Lasting patterns are the table's state and
arrive as `SeatLamps`. A cue adds a tone and short patterns, after which the lamps return to that
state, so that a lost cue does no harm. Tones are written as in `tone`: a note and its ms, `·n` for
a pause of n ms.

Cues of game events (`companion.core.event_cues`) stand beside the events: those of several games in
`companion/games/events.py`, those of one game in its `events.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import lru_cache
from typing import NamedTuple, TypeVar

from companion.core.event_cues import CueLamps, EventCue, Note, Tone, tone
from companion.core.kit import SEATS, Seat
from companion.core.ports import Cue, SeatLamps, Signal, TurnLamp

LAMPS = ("1", "2", "3", "turn")
"""Lamps of a seat from left to right. With the seat in front (`south_turn`) they name a lamp of the
panel.
"""

ORDER_LAMPS = LAMPS[:3]

FLASH_MS = 80.0
FASTEST_BLINK_MS = 400.0
"""Minimum time in ms between two flashes, so that nothing blinks faster than 2.5 times a second."""
SAME_TONE_MS = 300.0
"""Minimum time in ms between two equal tones. Keys and the clock's ticks are exempt."""
REPEAT_AFTER_MS: Mapping[Cue | EventCue, float] = {Cue.BOARD_WRONG: 20_000.0}
"""Cues that are repeated after this time in ms while the turn lamp still shows `TurnLamp.WRONG`."""
SILENT_NOTE_MS = 60.0
SILENT_GAP_MS = 40.0
"""Gap in ms between two notes without a pause. Without it a lamp would show them as one."""


class Rank(IntEnum):
    """Priority of a cue. A newer cue of equal or higher rank interrupts the older one."""

    KEY = 1
    TURN = 2
    REVEAL = 3
    TIME = 4
    WRONG = 5
    TROUBLE = 6


class LampLevel(Enum):
    """What a cue does to a lamp. `OPPOSITE` and `SAME` refer to the lamp's state when the cue
    began.
    """

    OFF = 0
    ON = 1
    SAME = 2
    OPPOSITE = 3


class LampStep(NamedTuple):
    """A level and its duration."""

    ms: float
    level: LampLevel


_Step = TypeVar("_Step", LampStep, Note)


@dataclass(frozen=True)
class Track:
    """What one lamp does: a sequence of steps, played once or repeated."""

    steps: tuple[LampStep, ...]
    is_cycle: bool = False

    @property
    def ms(self) -> float:
        """Return the duration, infinite for a repeated track."""
        return math.inf if self.is_cycle else sum(step.ms for step in self.steps)

    def at(self, t_ms: float) -> tuple[LampLevel | None, float]:
        """Return the level at a time after the start (None after the end), and the ms until it may
        change.
        """
        if self.is_cycle:
            t_ms %= sum(step.ms for step in self.steps)
        step, left_ms = step_at(self.steps, t_ms)
        return step.level if step else None, left_ms


def step_at(steps: Iterable[_Step], t_ms: float) -> tuple[_Step | None, float]:
    """Return the step at a time after the start (None after the end), and the ms that it has
    left.
    """
    for step in steps:
        if t_ms < step.ms:
            return step, step.ms - t_ms
        t_ms -= step.ms
    return None, math.inf


def _track(*steps: tuple[float, LampLevel], is_cycle: bool = False) -> Track:
    return Track(tuple(LampStep(*step) for step in steps), is_cycle)


def _blink(period_ms: float) -> Track:
    return _track((period_ms / 2, LampLevel.ON), (period_ms / 2, LampLevel.OFF), is_cycle=True)


def _flashes(count: int, period_ms: float) -> Track:
    """Flash `count` times, then stay dark until the period ends."""
    flash = ((FLASH_MS, LampLevel.ON), (FASTEST_BLINK_MS - FLASH_MS, LampLevel.OFF))
    # The rest of the period is dark.
    rest_ms = period_ms - count * FASTEST_BLINK_MS
    return _track(*(flash * count), (rest_ms, LampLevel.OFF), is_cycle=True)


# ---- tones and ranks -----------------------------------------------------------------------------


class CueRow(NamedTuple):
    """Rank and tone of a cue. The keys of both seats sound alike, so that a tone tells nobody's."""

    rank: Rank
    tone: Tone
    for_both: bool = False
    """Whether the cue concerns both seats, whatever the signal names."""


_ROWS: Mapping[Cue, CueRow] = {
    Cue.AWAKE: CueRow(Rank.TROUBLE, tone("A5 60 ·40 E6 60"), True),
    Cue.SEAT_TAKEN: CueRow(Rank.TURN, tone("E6 40")),
    Cue.ORDERS_WANTED: CueRow(Rank.TURN, tone("C6 80")),
    Cue.KEY_TAKEN: CueRow(Rank.KEY, tone("A5 40")),
    Cue.KEY_REFUSED: CueRow(Rank.KEY, tone("A4 160")),
    Cue.KEY_BACK: CueRow(Rank.KEY, tone("E5 40")),
    Cue.KEYS_CLEARED: CueRow(Rank.KEY, tone("E5 40 ·40 E5 40")),
    Cue.SEALED: CueRow(Rank.KEY, tone("A5 40 ·60 A5 40")),
    Cue.TAKEN_BACK: CueRow(Rank.KEY, tone("E5 40 ·60 E5 40 ·60 E5 40")),
    Cue.REVEAL: CueRow(Rank.REVEAL, tone("E5 120 A5 120 E6 200"), True),
    Cue.STEP: CueRow(Rank.REVEAL, tone("C6 60"), True),
    Cue.HANDS_WANTED: CueRow(Rank.TURN, tone("C6 80 ·120 C6 80")),
    Cue.BOARD_AGREES: CueRow(Rank.TURN, tone("A5 60 E6 60")),
    Cue.BOARD_WRONG: CueRow(Rank.WRONG, tone("A4 160 ·80 A4 160")),
    Cue.ASKED: CueRow(Rank.WRONG, tone("C6 40 ·40 C6 40 ·40 C6 40")),
    Cue.TURN_PASSES: CueRow(Rank.TURN, tone("C6 30")),
    Cue.TIME_SHORT: CueRow(Rank.TIME, tone("C6 20")),
    Cue.TIME_OUT: CueRow(Rank.TIME, tone("A4 300")),
    Cue.CLOCK_LOW: CueRow(Rank.TIME, tone("C6 30")),
    Cue.CLOCK_LAST: CueRow(Rank.TIME, tone("C6 30")),
    Cue.PAUSED: CueRow(Rank.TIME, tone("E5 200"), True),
    Cue.RESUMED: CueRow(Rank.TIME, tone("A5 60 E6 60"), True),
    Cue.OFFER: CueRow(Rank.TURN, tone("E6 80 ·300 E6 80"), True),
    Cue.WON: CueRow(Rank.REVEAL, tone("A5 120 C6 120 E6 120 A6 300")),
    Cue.TIE: CueRow(Rank.REVEAL, tone("A5 120 E6 120 A5 120 E6 300"), True),
    Cue.TROUBLE: CueRow(Rank.TROUBLE, tone("A4 80 ·80 A4 80 ·80 A4 80"), True),
    Cue.OFF_WAIT: CueRow(Rank.TROUBLE, tone("E6 60 A5 60"), True),
    Cue.OFF: CueRow(Rank.TROUBLE, tone("E5 200"), True),
}
# Cues of the power button rank with trouble: nothing may hide that the power must not be cut yet.


@lru_cache(maxsize=256)
def row_of(cue: Cue | EventCue) -> CueRow:
    """Return the row of a cue. The row of a game's event is made from the event."""
    if isinstance(cue, Cue):
        return _ROWS[cue]
    return CueRow(Rank.TURN if cue.is_call else Rank.REVEAL, tone(cue.tone), cue.for_both)


def seats_of(signal: Signal) -> frozenset[Seat]:
    """Return the seats whose lamps a signal concerns: those it names, or both if the row says so or
    none is named.
    """
    return frozenset(SEATS) if row_of(signal.cue).for_both or not signal.seats else signal.seats


# ---- lamps of a cue ------------------------------------------------------------------------------

_RUN_STEP_MS = 100.0
_WON_RUNS = 3


def _run_up(runs: int) -> dict[str, Track]:
    """Fill the lamps from left to right, 100 ms each, `runs` times."""
    tracks = {}
    for place, lamp in enumerate(LAMPS):
        once = (
            (place * _RUN_STEP_MS, LampLevel.OFF),
            ((len(LAMPS) - place) * _RUN_STEP_MS, LampLevel.ON),
        )
        tracks[lamp] = _track(*(once * runs))
    return tracks


def _awake() -> dict[str, Track]:
    """Light each lamp for 60 ms, from left to right."""
    tracks = {}
    for place, lamp in enumerate(LAMPS):
        before_ms, after_ms = 60.0 * place, 60.0 * (len(LAMPS) - 1 - place)
        tracks[lamp] = _track(
            (before_ms, LampLevel.OFF), (60.0, LampLevel.ON), (after_ms, LampLevel.OFF)
        )
    return tracks


def _all(track: Track, lamps: tuple[str, ...] = LAMPS) -> dict[str, Track]:
    return dict.fromkeys(lamps, track)


_FLASH_TWICE = _track(
    (FLASH_MS, LampLevel.OPPOSITE),
    (FASTEST_BLINK_MS - FLASH_MS, LampLevel.SAME),
    (FLASH_MS, LampLevel.OPPOSITE),
)
_CUE_LAMPS: Mapping[Cue, Mapping[str, Track]] = {
    Cue.AWAKE: _awake(),
    Cue.SEAT_TAKEN: _all(_FLASH_TWICE),
    Cue.KEY_REFUSED: _all(_track((FLASH_MS, LampLevel.OFF)), ORDER_LAMPS),
    Cue.REVEAL: _all(_track((400.0, LampLevel.ON)), ORDER_LAMPS),
    Cue.BOARD_AGREES: {"turn": _track((400.0, LampLevel.ON))},
    Cue.TIME_OUT: {"turn": _track((600.0, LampLevel.OFF))},
    Cue.WON: _run_up(_WON_RUNS),
    Cue.TIE: {
        lamp: Track((*once.steps, LampStep(1000.0, LampLevel.ON)))
        for lamp, once in _run_up(1).items()
    },
    Cue.OFF_WAIT: _all(_blink(500.0)),
    Cue.OFF: _all(_track((math.inf, LampLevel.OFF))),
}
_EVENT_LAMPS: Mapping[CueLamps, Mapping[str, Track]] = {
    CueLamps.NONE: {},
    CueLamps.ORDER_LAMPS: _all(_track((600.0, LampLevel.ON)), ORDER_LAMPS),
    CueLamps.TURN_FLASHES: {"turn": _FLASH_TWICE},
}
_LOST = _all(_track((_WON_RUNS * len(LAMPS) * _RUN_STEP_MS, LampLevel.OFF)))


def lamps_of(signal: Signal, seat: Seat, silent: bool = False) -> Mapping[str, Track]:
    """Return what a signal does to a seat's lamps until they return to their state.

    Lamps that are left out keep their state. With `silent` the turn lamp plays the rhythm of the
    tone. The result is empty for a seat that the signal does not concern. The loser of a game goes
    dark without being named.
    """
    if signal.cue is Cue.WON and signal.seats and seat not in signal.seats:
        return _LOST
    if seat not in seats_of(signal):
        return {}
    tracks = (
        _CUE_LAMPS.get(signal.cue, {})
        if isinstance(signal.cue, Cue)
        else _EVENT_LAMPS[signal.cue.lamps]
    )
    # These two already blink or darken the turn lamp without an end.
    if silent and signal.cue not in (Cue.OFF_WAIT, Cue.OFF):
        return {**tracks, "turn": rhythm_of(row_of(signal.cue).tone)}
    return tracks


def rhythm_of(notes: Tone) -> Track:
    """Return the rhythm of a tone for a lamp: the opposite state for each note (at least 60 ms),
    the same state for pauses.
    """
    steps: list[LampStep] = []
    for note in notes:
        if not note.name:
            steps.append(LampStep(note.ms, LampLevel.SAME))
            continue
        # The lamp has to go back between two notes, or they would show as one.
        if steps and steps[-1].level is LampLevel.OPPOSITE:
            steps.append(LampStep(SILENT_GAP_MS, LampLevel.SAME))
        steps.append(LampStep(max(SILENT_NOTE_MS, note.ms), LampLevel.OPPOSITE))
    return Track(tuple(steps))


# ---- lasting patterns ----------------------------------------------------------------------------

SHORT_LAMPS: Mapping[Cue | EventCue, TurnLamp] = {
    Cue.TIME_SHORT: TurnLamp.WRONG,
    Cue.CLOCK_LOW: TurnLamp.HANDS,
    Cue.CLOCK_LAST: TurnLamp.LAST,
}
"""Pattern of a turn lamp from the first cue of this kind until the turn passes."""
TICKS: frozenset[Cue | EventCue] = frozenset(
    {Cue.TIME_SHORT, Cue.TIME_OUT, Cue.CLOCK_LOW, Cue.CLOCK_LAST}
)
"""Ticks of the clock, which are always played."""
_STEADY: Mapping[TurnLamp, Track] = {
    TurnLamp.OFF: _track((math.inf, LampLevel.OFF)),
    TurnLamp.ON: _track((math.inf, LampLevel.ON)),
    TurnLamp.PULSE: _track((1200.0, LampLevel.ON), (400.0, LampLevel.OFF), is_cycle=True),
    TurnLamp.OFFERED: _blink(2000.0),
    TurnLamp.HANDS: _blink(1000.0),
    TurnLamp.WRONG: _blink(400.0),
    TurnLamp.LAST: _blink(500.0),
    TurnLamp.HOTSPOT: _flashes(3, 3000.0),
    TurnLamp.TROUBLE: _flashes(2, 2000.0),
}


def steady(lamps: SeatLamps, lamp: str, t_ms: float) -> tuple[bool, float]:
    """Return whether one of a seat's `LAMPS` is lit at a time after its pattern began.

    The second value is the time in ms until that changes, infinite if it never does.
    """
    if lamp == "turn":
        level, left_ms = _STEADY[lamps.turn].at(t_ms)
        return level is LampLevel.ON, left_ms
    return int(lamp) in lamps.order_lamps, math.inf
