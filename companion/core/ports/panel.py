"""Pads, lamps and tones: key presses, lamp patterns and cues."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from companion.core.event_cues import EventCue
from companion.core.kit import Seat


class PadKey(StrEnum):
    """The eight buttons of a pad, and `TABLE`, the single button of the table."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    A = "a"
    B = "b"
    BACK = "back"
    READY = "ready"
    TABLE = "table"


@dataclass(frozen=True)
class Press:
    """A debounced press, stamped at its first edge.

    `held`: a second `Press` of a key that has been down for a second. `is_long`: a third one of a
    Back key, after two seconds.
    """

    seat: Seat | None
    key: PadKey
    at_s: float
    held: bool = False
    is_long: bool = False


class Cue(StrEnum):
    """Cues of the table for lamps and tones. The values are the rows of the cue language."""

    AWAKE = "awake"
    SEAT_TAKEN = "seat_taken"
    ORDERS_WANTED = "orders_wanted"
    KEY_TAKEN = "key_taken"
    KEY_REFUSED = "key_refused"
    KEY_BACK = "key_back"
    KEYS_CLEARED = "keys_cleared"
    SEALED = "sealed"
    TAKEN_BACK = "taken_back"
    REVEAL = "reveal"
    STEP = "step"
    HANDS_WANTED = "hands_wanted"
    BOARD_AGREES = "board_agrees"
    BOARD_WRONG = "board_wrong"
    ASKED = "asked"
    TURN_PASSES = "turn_passes"
    TIME_SHORT = "time_short"
    TIME_OUT = "time_out"
    CLOCK_LOW = "clock_low"
    CLOCK_LAST = "clock_last"
    PAUSED = "paused"
    RESUMED = "resumed"
    OFFER = "offer"
    WON = "won"
    TIE = "tie"
    TROUBLE = "trouble"
    OFF_WAIT = "off_wait"
    OFF = "off"


class TurnLamp(StrEnum):
    """Steady patterns of the turn lamp, in ascending priority. `blink_N` has a period of N ms."""

    OFF = "off"
    ON = "on"
    PULSE = "pulse"
    OFFERED = "blink_2000"
    HANDS = "blink_1000"
    LAST = "blink_500"
    WRONG = "blink_400"
    HOTSPOT = "three_flashes"
    """The table has opened its own Wi-Fi."""
    TROUBLE = "two_flashes"


@dataclass(frozen=True)
class SeatLamps:
    """The steady pattern of one seat's four lamps: the order lamps that are on, and the turn lamp.

    `order_lamps` lists which of the lamps 1, 2 and 3 are on.
    """

    order_lamps: frozenset[int] = frozenset()
    turn: TurnLamp = TurnLamp.OFF


@dataclass(frozen=True)
class Signal:
    """One cue of the table or of an event, the seats that it concerns, and a number if it has one
    (order n, step n).
    """

    cue: Cue | EventCue
    seats: frozenset[Seat] = frozenset()
    number: int = 0


def signal_to(seat: Seat, cue: Cue | EventCue, number: int = 0) -> Signal:
    """Return a cue that concerns one seat."""
    return Signal(cue, frozenset({seat}), number)


@dataclass(frozen=True)
class Alarm:
    """A cue that is due at a monotonic time, unless the clock is stopped before then."""

    at_s: float
    signal: Signal
