"""What lamps and buzzer show and play at a moment, from the cues and states so far. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from companion.core.event_cues import EventCue, Tone
from companion.core.kit import SEATS, Seat
from companion.core.ports import Cue, SeatLamps, Signal, TurnLamp
from hardware.cues import (
    LAMPS,
    REPEAT_AFTER_MS,
    SAME_TONE_MS,
    SHORT_LAMPS,
    TICKS,
    LampLevel,
    Rank,
    Track,
    lamps_of,
    row_of,
    seats_of,
    steady,
    step_at,
)


@dataclass(frozen=True)
class _Overlay:
    """A cue on a seat's lamps."""

    cue: Cue | EventCue
    rank: Rank
    start_ms: float
    tracks: Mapping[str, Track]

    def has_ended(self, now_ms: float) -> bool:
        return now_ms - self.start_ms >= max(
            (track.ms for track in self.tracks.values()), default=0.0
        )


@dataclass(frozen=True)
class _Voice:
    """A tone on the buzzer."""

    rank: Rank
    start_ms: float
    tone: Tone

    def at(self, now_ms: float) -> tuple[float | None, float]:
        """Return the frequency (None for a pause or after the end), and the ms until it changes
        (infinite after the end).
        """
        note, left_ms = step_at(self.tone, now_ms - self.start_ms)
        return note.hz if note else None, left_ms


@dataclass
class _SeatState:
    """The lasting patterns of a seat, and since when they are shown."""

    lamps: SeatLamps = field(default_factory=SeatLamps)
    changed_ms: float = 0.0
    short_ms: float | None = None
    """Time from which the seat was short of time. None if it is not."""
    short_lamp: TurnLamp = TurnLamp.OFF
    """Pattern of the turn lamp for that."""


class CuePlayer:
    """Mixes the table's lasting lamps with its cues.

    All times are ms of one monotonic clock. With `silent` no tones are played, and the turn lamps
    show their rhythm.
    """

    def __init__(self, silent: bool = False) -> None:
        self._silent = silent
        self._seats = {seat: _SeatState() for seat in SEATS}
        self._overlays: dict[Seat, _Overlay] = {}
        self._voice: _Voice | None = None
        self._began_ms: dict[TurnLamp, float] = {}
        """Start of each turn lamp pattern, for both seats, so that equal patterns are in step."""
        self._sounded_ms: dict[Tone, float] = {}
        self._again: tuple[float, Signal] | None = None

    def show(self, lamps: Mapping[Seat, SeatLamps], trouble: bool, now_ms: float) -> None:
        """Replace the whole lasting state.

        A seat that is left out is dark. `trouble` replaces all other turn lamp patterns.
        """
        for seat, state in self._seats.items():
            lamps_of_seat = lamps.get(seat, SeatLamps())
            if trouble:
                lamps_of_seat = replace(lamps_of_seat, turn=TurnLamp.TROUBLE)
            if lamps_of_seat != state.lamps:
                state.lamps, state.changed_ms = lamps_of_seat, now_ms
                # The turn has passed: the old lamp goes off with the new one's on.
                if lamps_of_seat.turn is TurnLamp.OFF:
                    state.short_ms = None
        patterns = {state.lamps.turn for state in self._seats.values()}
        self._began_ms = {pattern: self._began_ms.get(pattern, now_ms) for pattern in patterns}
        if not any(state.turn is TurnLamp.WRONG for state in lamps.values()):
            self._again = None

    def signal(self, signal: Signal, now_ms: float) -> None:
        """Play a cue at once, or drop it while one of higher rank is played."""
        rank = row_of(signal.cue).rank
        sounds = self._sounds(signal, rank, now_ms)
        for seat in SEATS:
            state = self._seats[seat]
            lamp = SHORT_LAMPS.get(signal.cue)
            if (
                lamp
                and seat in seats_of(signal)
                and (state.short_ms is None or state.short_lamp is not lamp)
            ):
                state.short_lamp = lamp
                state.short_ms = state.changed_ms = now_ms
            tracks = lamps_of(signal, seat, self._silent and sounds)
            running = self._overlays.get(seat)
            if running is not None and not running.has_ended(now_ms):
                # An equal cue without a sound does not restart the running one.
                repeated = running.cue is signal.cue and not sounds
                if running.rank > rank or repeated or (not tracks and seat not in seats_of(signal)):
                    continue
            self._overlays[seat] = _Overlay(signal.cue, rank, now_ms, tracks)
        if sounds and not self._silent:
            self._voice = _Voice(rank, now_ms, row_of(signal.cue).tone)
        if signal.cue in REPEAT_AFTER_MS:
            self._again = now_ms + REPEAT_AFTER_MS[signal.cue], signal

    def be_silent(self, silent: bool) -> None:
        """Choose between tones and their rhythm on the lamps. A tone that is being played ends."""
        self._silent = silent
        if silent:
            self._voice = None

    def keep_short(self, seats: Set[Seat], now_ms: float) -> None:
        """Keep only these seats short of time. The turn lamps of the others stop blinking."""
        for seat, state in self._seats.items():
            if state.short_ms is not None and seat not in seats:
                state.short_ms, state.changed_ms = None, now_ms

    def _sounds(self, signal: Signal, rank: Rank, now_ms: float) -> bool:
        """Return whether a tone may be played: none of higher rank is, and the same was not played
        just before.
        """
        name = row_of(signal.cue).tone
        may_repeat = rank is Rank.KEY or signal.cue in TICKS
        if not may_repeat and now_ms - self._sounded_ms.get(name, -math.inf) < SAME_TONE_MS:
            return False
        if (
            self._voice is not None
            and self._voice.rank > rank
            and math.isfinite(self._voice.at(now_ms)[1])
        ):
            return False
        self._sounded_ms[name] = now_ms
        return True

    def advance(self, now_ms: float) -> None:
        """Repeat a cue that is due again."""
        if self._again is not None and now_ms >= self._again[0]:
            signal = self._again[1]
            if any(state.lamps.turn is TurnLamp.WRONG for state in self._seats.values()):
                self.signal(signal, now_ms)
            else:
                self._again = None

    def tone_hz(self, now_ms: float) -> float | None:
        """Return the frequency of the buzzer. None for silence."""
        return self._voice.at(now_ms)[0] if self._voice is not None else None

    def is_lit(self, seat: Seat, lamp: str, now_ms: float) -> bool:
        """Return whether one of a seat's `LAMPS` is lit."""
        return self._lamp(seat, lamp, now_ms)[0]

    def next_change_ms(self, now_ms: float) -> float:
        """Return when the next change is due without new cues. Infinite for never."""
        lefts = [self._lamp(seat, lamp, now_ms)[1] for seat in SEATS for lamp in LAMPS]
        if self._voice is not None:
            lefts.append(self._voice.at(now_ms)[1])
        again_ms = self._again[0] if self._again is not None else math.inf
        return min(now_ms + min(lefts), again_ms)

    def _lamp(self, seat: Seat, lamp: str, now_ms: float) -> tuple[bool, float]:
        """Return whether a lamp is lit, and the ms until that may change."""
        overlay = self._overlays.get(seat)
        is_blinking = lamp == "turn" and self._seats[seat].short_ms is not None
        if (
            overlay is not None
            and lamp in overlay.tracks
            and not (is_blinking and overlay.rank < Rank.TIME)
        ):
            level, left_ms = overlay.tracks[lamp].at(now_ms - overlay.start_ms)
            if level in (LampLevel.ON, LampLevel.OFF):
                return level is LampLevel.ON, left_ms
            if level is not None:
                # A blinking lamp would blur a rhythm, so its state at the start of the cue, or of
                # its own pattern, is held.
                held_ms = max(overlay.start_ms, self._seats[seat].changed_ms)
                was_lit = self._steady(seat, lamp, held_ms)[0]
                return was_lit is (level is LampLevel.SAME), left_ms
        return self._steady(seat, lamp, now_ms)

    def _steady(self, seat: Seat, lamp: str, at_ms: float) -> tuple[bool, float]:
        lamps, short_ms = self._seats[seat].lamps, self._seats[seat].short_ms
        if lamp == "turn" and short_ms is not None and lamps.turn is not TurnLamp.TROUBLE:
            return steady(SeatLamps(turn=self._seats[seat].short_lamp), lamp, at_ms - short_ms)
        began_ms = self._began_ms.get(lamps.turn, at_ms)
        return steady(lamps, lamp, at_ms - began_ms)
