"""Debouncing of keys by time stamps, without pins or threads."""

from __future__ import annotations

import math
from enum import Enum

PRESS_S = 0.002
"""Minimum time in seconds for which the line is low when a key is pressed. Shorter pulses are
spikes.
"""
LOST_EDGE_S = 1.0
"""Seconds for which the end of a press may still be under way. A busy machine delivers edges
late.
"""
_ROUNDING_S = 1e-6


class Stroke(Enum):
    """What a key did."""

    PRESSED = "pressed"
    HELD = "held"
    HELD_LONG = "held long"
    HELD_TO_WARN = "held to warn"
    HELD_TO_SWITCH_OFF = "held to switch off"
    RELEASED = "released"


_HOLDS = (
    (1.0, Stroke.HELD),
    (2.0, Stroke.HELD_LONG),
    (3.0, Stroke.HELD_TO_WARN),
    (5.0, Stroke.HELD_TO_SWITCH_OFF),
)
"""Seconds after which a key that is down counts as held."""


class Debouncer:
    """The debouncer of one key.

    A press counts if the line is still low 2 ms later, and has the stamp of its first edge. Edges
    belong to one press while the line is not high for 2 ms between them. The next press counts only
    after the line was high for the debounce time. Then the key counts as released. Times are
    monotonic seconds. With `is_down` the key is down at the start and counts when it is pressed
    again.
    """

    def __init__(self, debounce_s: float, is_down: bool = False) -> None:
        self._debounce_s = debounce_s
        self._is_down = is_down
        self._holds_told = len(_HOLDS) if is_down else 0
        self._was_pressed = False
        self._released_s = -math.inf
        self._first_s: float | None = None
        self.is_latched = is_down
        """Whether a press counts and has not been released."""
        self.is_waiting = False
        """Whether an edge arrived that may still turn out to be a spike."""
        self.due_s = 0.0
        """Time at which the line has to be read while that is open."""
        self.pressed_s = 0.0
        """Time of the first edge of the current or last press."""

    def edge(self, is_down: bool, at_s: float) -> tuple[Stroke, ...]:
        """Process an edge of the line. Return the strokes that count, in order."""
        strokes = self._pass_time(at_s)
        if is_down and not self.is_latched and not self.is_waiting:
            self.is_waiting = True
            self.due_s = at_s + PRESS_S
            # Edges that follow sooner belong to one press, which keeps its first stamp.
            if self._first_s is None or at_s - self._released_s >= PRESS_S:
                self._first_s = at_s
        if not is_down:
            self._released_s = at_s
        self._is_down = is_down
        return strokes

    def settle(self, is_down: bool, now_s: float) -> tuple[Stroke, ...]:
        """Process the present level of the line, which makes up for a lost edge."""
        if is_down is self._is_down:
            return self._pass_time(now_s)
        if self.is_waiting and not is_down:
            # The edge that ended this press is on its way, and its stamp decides. If it was lost,
            # the pulse was a spike.
            if now_s - self.due_s >= LOST_EDGE_S:
                self.is_waiting = False
                self._is_down = False
            return ()
        return self.edge(is_down, now_s)

    def _pass_time(self, now_s: float) -> tuple[Stroke, ...]:
        """Return the strokes that time alone has brought: pressed, held, or certainly released."""
        strokes: list[Stroke] = []
        if self.is_waiting and now_s >= self.due_s - _ROUNDING_S:
            self.is_waiting = False
            if self._is_down and self._first_s is not None:
                self.pressed_s = self._first_s
                self._first_s = None
                self.is_latched = True
                self._holds_told = 0
                self._was_pressed = True
                strokes.append(Stroke.PRESSED)
        if not self.is_latched:
            return tuple(strokes)
        if self._is_down:
            # Each kind of holding is reported once.
            for hold_s, stroke in _HOLDS[self._holds_told :]:
                if now_s - self.pressed_s >= hold_s - _ROUNDING_S:
                    self._holds_told += 1
                    strokes.append(stroke)
        elif now_s - self._released_s >= self._debounce_s - _ROUNDING_S:
            self.is_latched = False
            if self._was_pressed:
                strokes.append(Stroke.RELEASED)
        return tuple(strokes)
