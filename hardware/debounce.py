"""When a press counts: debouncing on time stamps, without a pin or a thread."""

from __future__ import annotations

from enum import Enum

HOLD_S = 1.0
"""So long a key is down before it counts as held."""
_ROUNDING_S = 1e-6


class Stroke(Enum):
    """What a key did."""

    PRESSED = "pressed"
    HELD = "held"
    RELEASED = "released"


class Debouncer:
    """One key. A press counts at its first edge; the next one only after the line was released for the debounce time.

    That is when it counts as released, too.

    Times are monotonic seconds. `is_down` at the start: a key that is already down counts when it is pressed anew.
    """

    def __init__(self, debounce_s: float, is_down: bool = False) -> None:
        self._debounce_s = debounce_s
        self._is_down = is_down
        self._is_held = is_down
        self._was_pressed = False
        self._released_s = 0.0
        self.is_latched = is_down
        self.pressed_s = 0.0
        """The first edge of the press that is, or was last, under way."""

    def edge(self, is_down: bool, at_s: float) -> tuple[Stroke, ...]:
        """Take in an edge of the line; answers what counts, in order."""
        strokes = self._until(at_s)
        if is_down and not self.is_latched:
            self.is_latched, self._is_held, self._was_pressed, self.pressed_s = True, False, True, at_s
            strokes += (Stroke.PRESSED,)
        if not is_down:
            self._released_s = at_s
        self._is_down = is_down
        return strokes

    def settle(self, is_down: bool, now_s: float) -> tuple[Stroke, ...]:
        """Let time pass, with the line's level now: an edge that got lost is made up for."""
        return self.edge(is_down, now_s) if is_down is not self._is_down else self._until(now_s)

    def _until(self, now_s: float) -> tuple[Stroke, ...]:
        """What happened by itself up to now: a key became held, or its release became certain."""
        if not self.is_latched:
            return ()
        if self._is_down:
            if not self._is_held and now_s - self.pressed_s >= HOLD_S - _ROUNDING_S:
                self._is_held = True
                return (Stroke.HELD,)
        elif now_s - self._released_s >= self._debounce_s - _ROUNDING_S:
            self.is_latched = False
            return (Stroke.RELEASED,) if self._was_pressed else ()
        return ()
