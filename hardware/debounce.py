"""When a press counts: debouncing on time stamps, without a pin or a thread."""

from __future__ import annotations

import math
from enum import Enum

PRESS_S = 0.002
"""A line that is low for less time than this carries a spike, and nobody pressed a key."""
HOLD_S = 1.0
"""How long a key is down before it counts as held."""
LONG_S = 2.0
"""How long a key is down before it counts as held for long."""
LOST_EDGE_S = 1.0
"""How long after a press began its end may still be on the way. A busy machine passes edges on
late."""
_ROUNDING_S = 1e-6


class Stroke(Enum):
    """What a key did."""

    PRESSED = "pressed"
    HELD = "held"
    HELD_LONG = "held long"
    RELEASED = "released"


_HOLDS = ((HOLD_S, Stroke.HELD), (LONG_S, Stroke.HELD_LONG))


class Debouncer:
    """One key.

    A press counts if the line is still low 2 ms later, and has the stamp of its first edge. Edges
    belong to one press while the line is not high for 2 ms between them. The next press counts
    only after the line was high for the debounce time, which is when the key counts as released.

    Times are monotonic seconds. `is_down` at the start: a key that is already down counts when it
    is pressed anew.
    """

    def __init__(self, debounce_s: float, is_down: bool = False) -> None:
        self._debounce_s = debounce_s
        self._is_down = is_down
        self._holds_told = len(_HOLDS) if is_down else 0
        self._was_pressed = False
        self._released_s = -math.inf
        self._first_s: float | None = None
        self.is_latched = is_down
        """A press counts and has not been released."""
        self.is_waiting = False
        """An edge came, and whether it is a press is not known yet."""
        self.due_s = 0.0
        """When the line is to be looked at, while that is not known."""
        self.pressed_s = 0.0
        """The first edge of the press that is, or was last, under way."""

    def edge(self, is_down: bool, at_s: float) -> tuple[Stroke, ...]:
        """Take in an edge of the line. Return what counts, in order."""
        strokes = self._pass_time(at_s)
        if is_down and not self.is_latched and not self.is_waiting:
            self.is_waiting = True
            self.due_s = at_s + PRESS_S
            # edges that follow sooner belong to one press, which keeps its first stamp
            if self._first_s is None or at_s - self._released_s >= PRESS_S:
                self._first_s = at_s
        if not is_down:
            self._released_s = at_s
        self._is_down = is_down
        return strokes

    def settle(self, is_down: bool, now_s: float) -> tuple[Stroke, ...]:
        """Let time pass, with the line's level now, and make up for an edge that got lost."""
        if is_down is self._is_down:
            return self._pass_time(now_s)
        if self.is_waiting and not is_down:
            # The edge that ended this is on its way, and its stamp decides. A lost one was a spike.
            if now_s - self.due_s >= LOST_EDGE_S:
                self.is_waiting = False
                self._is_down = False
            return ()
        return self.edge(is_down, now_s)

    def _pass_time(self, now_s: float) -> tuple[Stroke, ...]:
        """Return what happened by itself up to now: pressed, held, or certainly released."""
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
            # held and held for long are each told once
            for hold_s, stroke in _HOLDS[self._holds_told :]:
                if now_s - self.pressed_s >= hold_s - _ROUNDING_S:
                    self._holds_told += 1
                    strokes.append(stroke)
        elif now_s - self._released_s >= self._debounce_s - _ROUNDING_S:
            self.is_latched = False
            if self._was_pressed:
                strokes.append(Stroke.RELEASED)
        return tuple(strokes)
