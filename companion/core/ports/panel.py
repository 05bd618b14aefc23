"""Pads, lamps and tones: what the panel tells the table and what the table tells the panel.

A `Press` comes from the panel. Lasting patterns (`SeatLamps`) and cues (`Signal`) go to it. What a
cue looks and sounds like is the panel's business (`hardware/cues.py`).
"""

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
    """A debounced press of a key.

    A press that lasts is sent again with the same time: after a second with `is_held`, and Back
    after two seconds also with `is_long`.
    """

    seat: Seat | None
    """The seat of the pad. None for the table button."""
    key: PadKey
    at_s: float
    """Monotonic time in seconds at which the key went down."""
    is_held: bool = False
    """Whether the key has been down for a second."""
    is_long: bool = False
    """Whether it has been down for two seconds, for the key Back."""


class Cue(StrEnum):
    """Cues of the table for lamps and tones. Each value names a row of `hardware/cues.py`."""

    AWAKE = "awake"  # the service has started
    SEAT_TAKEN = "seat_taken"
    ORDERS_WANTED = "orders_wanted"  # both seats have to act
    KEY_TAKEN = "key_taken"  # a key has completed an order of the draft
    KEY_REFUSED = "key_refused"
    KEY_BACK = "key_back"
    KEYS_CLEARED = "keys_cleared"
    SEALED = "sealed"
    TAKEN_BACK = "taken_back"
    REVEAL = "reveal"
    STEP = "step"
    HANDS_WANTED = "hands_wanted"  # pieces have to be moved
    BOARD_AGREES = "board_agrees"
    BOARD_WRONG = "board_wrong"
    ASKED = "asked"  # several actions fit the board, and the seat has to say which
    TURN_PASSES = "turn_passes"  # the seat has the turn now
    TIME_SHORT = "time_short"
    TIME_OUT = "time_out"
    CLOCK_LOW = "clock_low"
    CLOCK_LAST = "clock_last"
    PAUSED = "paused"
    RESUMED = "resumed"
    OFFER = "offer"  # the other seat offers a draw, or asks for its turn back
    WON = "won"
    TIE = "tie"
    TROUBLE = "trouble"
    OFF_WAIT = "off_wait"  # the table button is held, and the machine is about to switch off
    OFF = "off"


class TurnLamp(StrEnum):
    """Lasting patterns of the turn lamp, in ascending priority. `blink_N` has a period of N ms."""

    OFF = "off"
    ON = "on"
    PULSE = "pulse"
    OFFERED = "blink_2000"
    HANDS = "blink_1000"  # pieces have to be moved
    LAST = "blink_500"  # the last seconds run
    WRONG = "blink_400"
    HOTSPOT = "three_flashes"  # the table has opened its own Wi-Fi
    TROUBLE = "two_flashes"


@dataclass(frozen=True)
class SeatLamps:
    """The lasting pattern of one seat's four lamps."""

    order_lamps: frozenset[int] = frozenset()
    """Numbers, from 1 on, of the order lamps that are lit. A pad has three of them."""
    turn: TurnLamp = TurnLamp.OFF


@dataclass(frozen=True)
class Signal:
    """A request to the panel to play a cue for some seats."""

    cue: Cue | EventCue
    seats: frozenset[Seat] = frozenset()
    number: int = 0
    """Number of the order or stage that the cue is about, counted from 1. 0 if there is none."""


def signal_to(seat: Seat, cue: Cue | EventCue, number: int = 0) -> Signal:
    """Return the signal of a cue that concerns one seat."""
    return Signal(cue, frozenset({seat}), number)


@dataclass(frozen=True)
class Alarm:
    """A signal that is due at the monotonic time `at_s`, unless a clock is stopped before then."""

    at_s: float
    signal: Signal
