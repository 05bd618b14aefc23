"""The cue language: which lamps and tones stand for which event. Data and pure functions of time.

A seat has three order lamps (1 2 3) and a turn lamp. Two layers decide what they show:

- The lasting pattern is the table's state, such as a blinking turn lamp. It comes as `SeatLamps`.
- A cue marks an event. It plays a tone, and covers the lasting pattern of some lamps by a short
  one. Then these lamps return to the lasting pattern, so that a lost cue does no harm.

A tone is written as notes with their duration in ms, and `·n` for a pause of n ms, such as
`A4 160 ·80 A4 160` (`companion.core.event_cues.tone`).

Cues of game events are declared beside the events: those of several games in
`companion/games/events.py`, those of one game in its `events.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import lru_cache
from typing import NamedTuple, TypeVar

from companion.core.event_cues import CueLamps, EventCue, Note, Tone, parse_tone
from companion.core.kit import SEATS, Seat
from companion.core.ports import Cue, SeatLamps, Signal, TurnLamp

# Names of a seat's lamps from left to right. A lamp of the panel also names its seat: `south_turn`.
LAMPS = ("1", "2", "3", "turn")

ORDER_LAMPS = LAMPS[:3]

# Duration of a flash in ms, long enough to be seen from the corner of the eye.
FLASH_MS = 80.0
# Minimum time in ms from one flash to the next: 2.5 flashes a second. WCAG 2 (2.3.1) allows three,
# because faster ones can trigger seizures.
MIN_FLASH_INTERVAL_MS = 400.0
# Minimum time in ms between two equal tones. Keys and the clock's ticks are exempt.
MIN_TONE_INTERVAL_MS = 300.0
# Time in ms after which `hardware.cue_player` repeats a cue, as long as a turn lamp shows
# `TurnLamp.WRONG`, or would if there were no trouble.
REPEAT_AFTER_MS: Mapping[Cue | EventCue, float] = {Cue.BOARD_WRONG: 20_000.0}
# Minimum duration in ms of a note that a lamp shows. A shorter one is easily missed.
MIN_RHYTHM_NOTE_MS = 60.0
# Gap in ms between two notes without a pause. Without it a lamp would show them as one.
RHYTHM_GAP_MS = 40.0


class Priority(IntEnum):
    """Priority of a cue. A newer cue of equal or higher priority replaces the older one."""

    KEY = 1
    TURN = 2
    REVEAL = 3
    TIME = 4
    WRONG = 5
    TROUBLE = 6


class LampLevel(Enum):
    """What a cue does to a lamp.

    `SAME` and `OPPOSITE` refer to the lamp's state when the cue began, or when its lasting pattern
    last changed if that was later.
    """

    OFF = 0
    ON = 1
    SAME = 2
    OPPOSITE = 3


class LampStep(NamedTuple):
    """A level, and for how many ms a lamp has it."""

    ms: float
    level: LampLevel


_Step = TypeVar("_Step", LampStep, Note)


@dataclass(frozen=True)
class LampPattern:
    """A sequence of steps that one lamp plays once, or in a loop if `is_loop`."""

    steps: tuple[LampStep, ...]
    is_loop: bool = False

    @property
    def duration_ms(self) -> float:
        """Duration in ms, infinite for a loop."""
        return math.inf if self.is_loop else sum(step.ms for step in self.steps)

    def at(self, elapsed_ms: float) -> tuple[LampLevel | None, float]:
        """Return the level at a time after the start, and the ms until its step ends.

        After the end of the pattern the result is None and infinity.
        """
        if self.is_loop:
            elapsed_ms %= sum(step.ms for step in self.steps)
        step, change_ms = step_at(self.steps, elapsed_ms)
        return step.level if step else None, change_ms


def step_at(steps: Iterable[_Step], elapsed_ms: float) -> tuple[_Step | None, float]:
    """Return the step at a time after the start, and the ms until it ends.

    After the end of all steps the result is None and infinity.
    """
    for step in steps:
        if elapsed_ms < step.ms:
            return step, step.ms - elapsed_ms
        elapsed_ms -= step.ms
    return None, math.inf


def _pattern(*steps: tuple[float, LampLevel], is_loop: bool = False) -> LampPattern:
    # Each step is a duration in ms and a level.
    return LampPattern(tuple(LampStep(*step) for step in steps), is_loop)


def _blink(period_ms: float) -> LampPattern:
    """Return a pattern that is on for half of each period."""
    return _pattern((period_ms / 2, LampLevel.ON), (period_ms / 2, LampLevel.OFF), is_loop=True)


def _flashes(count: int, period_ms: float) -> LampPattern:
    """Return a pattern that flashes `count` times at the start of each period."""
    flash = ((FLASH_MS, LampLevel.ON), (MIN_FLASH_INTERVAL_MS - FLASH_MS, LampLevel.OFF))
    dark_ms = period_ms - count * MIN_FLASH_INTERVAL_MS
    return _pattern(*(flash * count), (dark_ms, LampLevel.OFF), is_loop=True)


# ---- priorities and tones ------------------------------------------------------------------------


class CueProperties(NamedTuple):
    """Priority and tone of a cue, and which seats it concerns."""

    priority: Priority
    tone: Tone
    is_for_both: bool
    """Whether it concerns both seats, whichever its signal names."""


# Priority and tone of each cue of the table itself. The keys of both seats sound alike, so that no
# tone tells whose key it was. Cues of the power button (`AWAKE` and `OFF…`) have the priority of
# trouble: nothing may hide that the power must not be cut yet.
_PRIORITIES_AND_TONES: Mapping[Cue, tuple[Priority, str]] = {
    Cue.AWAKE: (Priority.TROUBLE, "A5 60 ·40 E6 60"),
    Cue.SEAT_TAKEN: (Priority.TURN, "E6 40"),
    Cue.ORDERS_WANTED: (Priority.TURN, "C6 80"),
    Cue.KEY_TAKEN: (Priority.KEY, "A5 40"),
    Cue.KEY_REFUSED: (Priority.KEY, "A4 160"),
    Cue.KEY_BACK: (Priority.KEY, "E5 40"),
    Cue.KEYS_CLEARED: (Priority.KEY, "E5 40 ·40 E5 40"),
    Cue.SEALED: (Priority.KEY, "A5 40 ·60 A5 40"),
    Cue.TAKEN_BACK: (Priority.KEY, "E5 40 ·60 E5 40 ·60 E5 40"),
    Cue.REVEAL: (Priority.REVEAL, "E5 120 A5 120 E6 200"),
    Cue.STEP: (Priority.REVEAL, "C6 60"),
    Cue.HANDS_WANTED: (Priority.TURN, "C6 80 ·120 C6 80"),
    Cue.BOARD_AGREES: (Priority.TURN, "A5 60 E6 60"),
    Cue.BOARD_WRONG: (Priority.WRONG, "A4 160 ·80 A4 160"),
    Cue.ASKED: (Priority.WRONG, "C6 40 ·40 C6 40 ·40 C6 40"),
    Cue.TURN_PASSES: (Priority.TURN, "C6 30"),
    Cue.TIME_SHORT: (Priority.TIME, "C6 20"),
    Cue.TIME_OUT: (Priority.TIME, "A4 300"),
    Cue.CLOCK_LOW: (Priority.TIME, "C6 30"),
    Cue.CLOCK_LAST: (Priority.TIME, "C6 30"),
    Cue.PAUSED: (Priority.TIME, "E5 200"),
    Cue.RESUMED: (Priority.TIME, "A5 60 E6 60"),
    Cue.OFFER: (Priority.TURN, "E6 80 ·300 E6 80"),
    Cue.WON: (Priority.REVEAL, "A5 120 C6 120 E6 120 A6 300"),
    Cue.TIE: (Priority.REVEAL, "A5 120 E6 120 A5 120 E6 300"),
    Cue.TROUBLE: (Priority.TROUBLE, "A4 80 ·80 A4 80 ·80 A4 80"),
    Cue.OFF_WAIT: (Priority.TROUBLE, "E6 60 A5 60"),
    Cue.OFF: (Priority.TROUBLE, "E5 200"),
}
# Cues that concern both seats, whichever a signal names (see `CueProperties.is_for_both`). The
# others concern the seats that the signal names.
_CUES_FOR_BOTH = frozenset(
    {
        Cue.AWAKE,
        Cue.REVEAL,
        Cue.STEP,
        Cue.PAUSED,
        Cue.RESUMED,
        Cue.OFFER,
        Cue.TIE,
        Cue.TROUBLE,
        Cue.OFF_WAIT,
        Cue.OFF,
    }
)


@lru_cache(maxsize=256)
def properties_of(cue: Cue | EventCue) -> CueProperties:
    """Return the properties of a cue of the table, or of one that a game declares."""
    if isinstance(cue, Cue):
        priority, notes = _PRIORITIES_AND_TONES[cue]
        return CueProperties(priority, parse_tone(notes), cue in _CUES_FOR_BOTH)
    priority = Priority.TURN if cue.is_call else Priority.REVEAL
    return CueProperties(priority, parse_tone(cue.tone), cue.for_both)


def concerned_seats(signal: Signal) -> frozenset[Seat]:
    """Return the seats that a signal concerns.

    These are the seats that it names, or both if it names none or its cue is for both.
    """
    return (
        frozenset(SEATS)
        if properties_of(signal.cue).is_for_both or not signal.seats
        else signal.seats
    )


# ---- lamps of a cue ------------------------------------------------------------------------------

# Time in ms from one lamp to the next when the lamps fill.
_FILL_STEP_MS = 100.0
# Number of times that the winner's lamps fill.
_WINNER_FILLS = 3
# Time in ms for which each lamp is on when a light runs over them.
_CHASE_STEP_MS = 60.0


def _fill(times: int) -> dict[str, LampPattern]:
    """Return patterns that light one lamp after the other until all are on, several times.

    Each column is `_FILL_STEP_MS`:

        1     ████
        2     ·███
        3     ··██
        turn  ···█
    """
    patterns = {}
    for index, lamp in enumerate(LAMPS):
        once = (
            (index * _FILL_STEP_MS, LampLevel.OFF),
            ((len(LAMPS) - index) * _FILL_STEP_MS, LampLevel.ON),
        )
        patterns[lamp] = _pattern(*(once * times))
    return patterns


def _chase() -> dict[str, LampPattern]:
    """Return patterns that light one lamp at a time, from left to right."""
    patterns = {}
    for index, lamp in enumerate(LAMPS):
        before_ms = _CHASE_STEP_MS * index
        after_ms = _CHASE_STEP_MS * (len(LAMPS) - 1 - index)
        patterns[lamp] = _pattern(
            (before_ms, LampLevel.OFF), (_CHASE_STEP_MS, LampLevel.ON), (after_ms, LampLevel.OFF)
        )
    return patterns


def _on_lamps(pattern: LampPattern, lamps: tuple[str, ...] = LAMPS) -> dict[str, LampPattern]:
    return dict.fromkeys(lamps, pattern)


_FLASH_TWICE = _pattern(
    (FLASH_MS, LampLevel.OPPOSITE),
    (MIN_FLASH_INTERVAL_MS - FLASH_MS, LampLevel.SAME),
    (FLASH_MS, LampLevel.OPPOSITE),
)
_CUE_PATTERNS: Mapping[Cue, Mapping[str, LampPattern]] = {
    Cue.AWAKE: _chase(),
    Cue.SEAT_TAKEN: _on_lamps(_FLASH_TWICE),
    Cue.KEY_REFUSED: _on_lamps(_pattern((FLASH_MS, LampLevel.OFF)), ORDER_LAMPS),
    Cue.REVEAL: _on_lamps(_pattern((400.0, LampLevel.ON)), ORDER_LAMPS),
    Cue.BOARD_AGREES: {"turn": _pattern((400.0, LampLevel.ON))},
    Cue.TIME_OUT: {"turn": _pattern((600.0, LampLevel.OFF))},
    Cue.WON: _fill(_WINNER_FILLS),
    Cue.TIE: {
        lamp: LampPattern((*pattern.steps, LampStep(1000.0, LampLevel.ON)))
        for lamp, pattern in _fill(1).items()
    },
    Cue.OFF_WAIT: _on_lamps(_blink(500.0)),
    Cue.OFF: _on_lamps(_pattern((math.inf, LampLevel.OFF))),
}
_EVENT_PATTERNS: Mapping[CueLamps, Mapping[str, LampPattern]] = {
    CueLamps.NONE: {},
    CueLamps.ORDER_LAMPS: _on_lamps(_pattern((600.0, LampLevel.ON)), ORDER_LAMPS),
    CueLamps.TURN_FLASHES: {"turn": _FLASH_TWICE},
}
_LOSER_PATTERNS = _on_lamps(_pattern((_WINNER_FILLS * len(LAMPS) * _FILL_STEP_MS, LampLevel.OFF)))


def cue_patterns(signal: Signal, seat: Seat, is_silent: bool = False) -> Mapping[str, LampPattern]:
    """Return the patterns of a signal by the names of a seat's lamps.

    Lamps that are omitted keep their lasting pattern. The result is empty for a seat that the
    signal does not concern, with one exception: while the lamps of the seat that `Cue.WON` names
    fill, the loser's are dark. With `is_silent` the turn lamp of a concerned seat shows the rhythm
    of the tone, except for `Cue.OFF_WAIT` and `Cue.OFF`.
    """
    if signal.cue is Cue.WON and signal.seats and seat not in signal.seats:
        return _LOSER_PATTERNS
    if seat not in concerned_seats(signal):
        return {}
    patterns = (
        _CUE_PATTERNS.get(signal.cue, {})
        if isinstance(signal.cue, Cue)
        else _EVENT_PATTERNS[signal.cue.lamps]
    )
    # Both of these cues already use the turn lamp, without an end: `OFF_WAIT` blinks it, and `OFF`
    # keeps it dark.
    if is_silent and signal.cue not in (Cue.OFF_WAIT, Cue.OFF):
        return {**patterns, "turn": rhythm_pattern(properties_of(signal.cue).tone)}
    return patterns


def rhythm_pattern(notes: Tone) -> LampPattern:
    """Return the pattern of a lamp that changes its state for each note of a tone.

    A note lasts at least `MIN_RHYTHM_NOTE_MS`. In pauses the lamp is as it was before.
    """
    steps: list[LampStep] = []
    for note in notes:
        if not note.name:
            steps.append(LampStep(note.ms, LampLevel.SAME))
            continue
        # Between two notes the lamp has to return to its own state, or they would look like one.
        if steps and steps[-1].level is LampLevel.OPPOSITE:
            steps.append(LampStep(RHYTHM_GAP_MS, LampLevel.SAME))
        steps.append(LampStep(max(MIN_RHYTHM_NOTE_MS, note.ms), LampLevel.OPPOSITE))
    return LampPattern(tuple(steps))


# ---- lasting patterns ----------------------------------------------------------------------------

# Pattern of the turn lamp of a seat that is short of time, by the cue that announced it. It lasts
# until the turn passes, or until a new set of alarms omits this cue. Only `LAST` is made for this
# purpose. `WRONG` and `HANDS` are used only for the rate at which they blink: nothing is wrong, and
# no piece has to be moved.
SHORT_TIME_LAMPS: Mapping[Cue | EventCue, TurnLamp] = {
    Cue.TIME_SHORT: TurnLamp.WRONG,
    Cue.CLOCK_LOW: TurnLamp.HANDS,
    Cue.CLOCK_LAST: TurnLamp.LAST,
}
# Ticks of the clock, which are played however soon they follow one another.
CLOCK_TICKS: frozenset[Cue | EventCue] = frozenset(
    {Cue.TIME_SHORT, Cue.TIME_OUT, Cue.CLOCK_LOW, Cue.CLOCK_LAST}
)

_TURN_LAMP_PATTERNS: Mapping[TurnLamp, LampPattern] = {
    TurnLamp.OFF: _pattern((math.inf, LampLevel.OFF)),
    TurnLamp.ON: _pattern((math.inf, LampLevel.ON)),
    TurnLamp.PULSE: _pattern((1200.0, LampLevel.ON), (400.0, LampLevel.OFF), is_loop=True),
    TurnLamp.OFFERED: _blink(2000.0),
    TurnLamp.HANDS: _blink(1000.0),
    TurnLamp.WRONG: _blink(400.0),
    TurnLamp.LAST: _blink(500.0),
    TurnLamp.HOTSPOT: _flashes(3, 3000.0),
    TurnLamp.TROUBLE: _flashes(2, 2000.0),
}


def lasting_light(lamps: SeatLamps, lamp: str, elapsed_ms: float) -> tuple[bool, float]:
    """Return whether one of a seat's `LAMPS` is lit at a time after its lasting pattern began.

    The second value is the time in ms until that changes, infinite if it never does.
    """
    if lamp == "turn":
        level, change_ms = _TURN_LAMP_PATTERNS[lamps.turn].at(elapsed_ms)
        return level is LampLevel.ON, change_ms
    return int(lamp) in lamps.order_lamps, math.inf
