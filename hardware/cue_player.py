"""Decides what lamps show and the buzzer plays at a given time, from the cues and states so far.

Lasting patterns and cues are explained in `hardware.cues`. At any time a lamp is lit by the first
of these that says something about it:

1. the newest cue that covers this lamp, until the cue's pattern ends,
2. the blinking of a turn lamp whose seat is short of time,
3. the lasting pattern of the table's state.

For a seat that is short of time, the blinking comes before cues of low priority. The buzzer plays
the newest tone. A tone that would begin during a tone of higher priority is not played.

`hardware.outputs` has one player for the table and one for checks. Nothing here has a clock or a
pin: the caller gives every time, in ms of one monotonic clock. A name that ends in `at_ms` is such
a time. A name that ends in `change_ms` is the number of ms until something may change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from companion.core.event_cues import EventCue, Tone
from companion.core.kit import SEATS, Seat
from companion.core.ports import Cue, SeatLamps, Signal, TurnLamp
from hardware.cues import (
    CLOCK_TICKS,
    LAMPS,
    MIN_TONE_INTERVAL_MS,
    REPEAT_AFTER_MS,
    SHORT_TIME_LAMPS,
    LampLevel,
    LampPattern,
    Priority,
    concerned_seats,
    cue_patterns,
    lasting_light,
    properties_of,
    step_at,
)


class _Overlay(NamedTuple):
    """A cue on a seat's lamps. While it lasts, its patterns cover the lasting ones."""

    cue: Cue | EventCue
    priority: Priority
    began_at_ms: float
    patterns: Mapping[str, LampPattern]
    """Patterns by the names of `LAMPS`. A lamp that is omitted keeps its lasting pattern."""

    def has_ended(self, now_ms: float) -> bool:
        duration_ms = max((pattern.duration_ms for pattern in self.patterns.values()), default=0.0)
        return now_ms - self.began_at_ms >= duration_ms


class _PlayedTone(NamedTuple):
    """A tone on the buzzer."""

    priority: Priority
    began_at_ms: float
    tone: Tone

    def at(self, now_ms: float) -> tuple[float | None, float]:
        """Return the frequency in Hz, and the ms until it changes.

        The frequency is None in a pause. After the end of the tone the result is None and infinity.
        """
        note, change_ms = step_at(self.tone, now_ms - self.began_at_ms)
        return note.hz if note else None, change_ms


class _Repeat(NamedTuple):
    """A signal that is to be played again at a certain time."""

    due_at_ms: float
    signal: Signal


@dataclass
class _SeatState:
    """The lasting patterns of a seat."""

    lamps: SeatLamps = field(default_factory=SeatLamps)
    changed_at_ms: float = 0.0
    """Time at which the present patterns began."""
    short_since_ms: float | None = None
    """Time at which the seat became short of time. None if it has time enough."""
    short_lamp: TurnLamp = TurnLamp.OFF
    """Pattern of its turn lamp while it is short of time, unless `lamps` shows trouble."""


class CuePlayer:
    """Mixes the table's lasting lamps with its cues. To be used by one thread.

    With `is_silent` no tones are played, and the turn lamps show their rhythm.
    """

    def __init__(self, is_silent: bool = False) -> None:
        self._is_silent = is_silent
        self._seats = {seat: _SeatState() for seat in SEATS}
        self._overlays: dict[Seat, _Overlay] = {}
        self._tone: _PlayedTone | None = None
        # Time at which each pattern of a turn lamp began. Both seats share it, so that their lamps
        # blink in step.
        self._pattern_began_at_ms: dict[TurnLamp, float] = {}
        # Time at which each tone was last begun.
        self._last_begun_at_ms: dict[Tone, float] = {}
        # Whether a turn lamp shows `TurnLamp.WRONG`, or would show it if there were no trouble.
        self._is_wrong = False
        # The cue that is repeated while something is wrong. None if no cue is.
        self._repeat: _Repeat | None = None

    def show(self, lamps: Mapping[Seat, SeatLamps], has_trouble: bool, now_ms: float) -> None:
        """Replace the whole lasting state.

        :param lamps: the lamps of each seat. A seat that is omitted is dark
        :param has_trouble: whether all turn lamps show trouble instead
        """
        for seat, state in self._seats.items():
            seat_lamps = lamps.get(seat, SeatLamps())
            if has_trouble:
                seat_lamps = replace(seat_lamps, turn=TurnLamp.TROUBLE)
            if seat_lamps != state.lamps:
                state.lamps = seat_lamps
                state.changed_at_ms = now_ms
                # The turn has passed to the other seat, whose clock runs now. So this seat is no
                # longer short of time.
                if seat_lamps.turn is TurnLamp.OFF:
                    state.short_since_ms = None
        patterns = {state.lamps.turn for state in self._seats.values()}
        self._pattern_began_at_ms = {
            pattern: self._pattern_began_at_ms.get(pattern, now_ms) for pattern in patterns
        }
        # This looks at `lamps`, because in `state.lamps` trouble has replaced the pattern.
        self._is_wrong = any(wanted.turn is TurnLamp.WRONG for wanted in lamps.values())
        if not self._is_wrong:
            self._repeat = None

    def signal(self, signal: Signal, now_ms: float) -> None:
        """Start a cue now on all outputs on which nothing of higher priority is played.

        The outputs are the buzzer and the lamps of each seat. Each is decided on its own, so a cue
        may be seen but not heard. A cue of `REPEAT_AFTER_MS` is repeated while something is wrong,
        even if it could not start.
        """
        priority, tone, _ = properties_of(signal.cue)
        has_tone = self._may_play_tone(signal, priority, now_ms)
        if has_tone:
            self._last_begun_at_ms[tone] = now_ms
        for seat in SEATS:
            self._note_short_time(signal, seat, now_ms)
            patterns = cue_patterns(signal, seat, self._is_silent and has_tone)
            running = self._overlays.get(seat)
            if running and not running.has_ended(now_ms):
                # The same cue again, so soon that it has no tone, does not restart the running one.
                is_repeated = running.cue is signal.cue and not has_tone
                is_for_seat = bool(patterns) or seat in concerned_seats(signal)
                if running.priority > priority or is_repeated or not is_for_seat:
                    continue
            self._overlays[seat] = _Overlay(signal.cue, priority, now_ms, patterns)
        if has_tone and not self._is_silent:
            self._tone = _PlayedTone(priority, now_ms, tone)
        if self._is_wrong and signal.cue in REPEAT_AFTER_MS:
            self._repeat = _Repeat(now_ms + REPEAT_AFTER_MS[signal.cue], signal)

    def _note_short_time(self, signal: Signal, seat: Seat, now_ms: float) -> None:
        """Let a seat's turn lamp blink from now on if a signal says that its time is short."""
        lamp = SHORT_TIME_LAMPS.get(signal.cue)
        if lamp is None or seat not in concerned_seats(signal):
            return
        state = self._seats[seat]
        if state.short_since_ms is None or state.short_lamp is not lamp:
            state.short_lamp = lamp
            state.short_since_ms = state.changed_at_ms = now_ms

    def set_silent(self, is_silent: bool) -> None:
        """Choose between tones and their rhythm on the lamps. A tone that is being played ends."""
        self._is_silent = is_silent
        if is_silent:
            self._tone = None

    def end_short_time(self, seats_short_of_time: Set[Seat], now_ms: float) -> None:
        """Stop the blinking turn lamps of all seats that are no longer short of time."""
        for seat, state in self._seats.items():
            if state.short_since_ms is not None and seat not in seats_short_of_time:
                state.short_since_ms = None
                state.changed_at_ms = now_ms

    def _may_play_tone(self, signal: Signal, priority: Priority, now_ms: float) -> bool:
        """Return whether the tone of a signal may be played now.

        It may not be played while a tone of higher priority is playing. The same tone may not be
        played again within `MIN_TONE_INTERVAL_MS`, unless it is the tone of a key or of a clock.
        """
        last_ms = self._last_begun_at_ms.get(properties_of(signal.cue).tone, -math.inf)
        may_repeat = priority is Priority.KEY or signal.cue in CLOCK_TICKS
        if not may_repeat and now_ms - last_ms < MIN_TONE_INTERVAL_MS:
            return False
        if self._tone is None or self._tone.priority <= priority:
            return True
        _, change_ms = self._tone.at(now_ms)
        # The tone of higher priority has ended if it never changes again.
        return math.isinf(change_ms)

    def advance(self, now_ms: float) -> None:
        """Play a cue again if its repetition is due."""
        if self._repeat and now_ms >= self._repeat.due_at_ms:
            self.signal(self._repeat.signal, now_ms)

    def tone_hz(self, now_ms: float) -> float | None:
        """Return the frequency of the buzzer. None for silence."""
        return self._tone.at(now_ms)[0] if self._tone else None

    def is_lit(self, seat: Seat, lamp: str, now_ms: float) -> bool:
        """Return whether one of a seat's `LAMPS` is lit."""
        return self._light(seat, lamp, now_ms)[0]

    def next_change_at_ms(self, now_ms: float) -> float:
        """Return the time of the next change without new cues. Infinite if there is none."""
        changes_ms = [self._light(seat, lamp, now_ms)[1] for seat in SEATS for lamp in LAMPS]
        if self._tone:
            changes_ms.append(self._tone.at(now_ms)[1])
        repeat_at_ms = self._repeat.due_at_ms if self._repeat else math.inf
        return min(now_ms + min(changes_ms), repeat_at_ms)

    def _light(self, seat: Seat, lamp: str, now_ms: float) -> tuple[bool, float]:
        """Return whether a lamp is lit, and the ms until that may change."""
        state = self._seats[seat]
        lasting = self._lasting_light(state, lamp, now_ms)
        overlay = self._overlays.get(seat)
        if overlay is None or lamp not in overlay.patterns:
            return lasting
        # While time is short, only cues of high priority cover the blinking turn lamp.
        is_blinking = lamp == "turn" and state.short_since_ms is not None
        if is_blinking and overlay.priority < Priority.TIME:
            return lasting
        level, change_ms = overlay.patterns[lamp].at(now_ms - overlay.began_at_ms)
        # The pattern of the cue has ended.
        if level is None:
            return lasting
        if level in (LampLevel.ON, LampLevel.OFF):
            return level is LampLevel.ON, change_ms
        # `SAME` and `OPPOSITE` refer to the lamp's own light. If they followed a lamp that goes on
        # blinking, the rhythm of the cue could not be seen. So they refer to its light when the cue
        # began, or when its pattern last changed.
        reference_at_ms = max(overlay.began_at_ms, state.changed_at_ms)
        was_lit, _ = self._lasting_light(state, lamp, reference_at_ms)
        return was_lit is (level is LampLevel.SAME), change_ms

    def _lasting_light(self, state: _SeatState, lamp: str, at_ms: float) -> tuple[bool, float]:
        """Return whether a lamp is lit without cues, and the ms until that changes."""
        lamps = state.lamps
        short_since_ms = state.short_since_ms
        if lamp == "turn" and short_since_ms is not None and lamps.turn is not TurnLamp.TROUBLE:
            short_lamps = SeatLamps(turn=state.short_lamp)
            return lasting_light(short_lamps, lamp, at_ms - short_since_ms)
        began_at_ms = self._pattern_began_at_ms.get(lamps.turn, at_ms)
        return lasting_light(lamps, lamp, at_ms - began_at_ms)
