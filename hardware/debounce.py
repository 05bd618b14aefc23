"""Debouncing of keys by time stamps, without pins or threads.

`hardware.panel` has a `Debouncer` for each button. The panel tells it every edge (a change of the
key's line). The panel also tells it the line's level, at regular intervals while the key is down,
and at the time that the debouncer asks for. The debouncer answers with what has happened to the
key.
"""

from __future__ import annotations

import math
from enum import Enum

# Minimum time in seconds for which the line is low when a key is pressed. Shorter pulses are
# spikes.
MIN_PRESS_S = 0.002
# Time in seconds after which an edge that should have arrived counts as lost. A busy machine
# delivers edges late.
LOST_EDGE_S = 1.0

# Allowance for sums of times that are not exact in floating point.
_ROUNDING_S = 1e-6


class KeyEvent(Enum):
    """What happens to a key, after debouncing: pressed, held for some seconds, or released."""

    PRESSED = "pressed"
    HELD = "held"
    HELD_LONG = "held long"
    HELD_TO_WARN = "held to warn"
    HELD_TO_SWITCH_OFF = "held to switch off"
    RELEASED = "released"


# Seconds from the press after which a key that is still down counts as held, for each kind of
# holding, in order.
_HOLDS = (
    (1.0, KeyEvent.HELD),
    (2.0, KeyEvent.HELD_LONG),
    (3.0, KeyEvent.HELD_TO_WARN),
    (5.0, KeyEvent.HELD_TO_SWITCH_OFF),
)


class Debouncer:
    """The debouncer of one key. Times are monotonic seconds.

    A pressed key pulls its line low. Its contacts bounce at both ends of a press:

        high  ──┐ ┌─┐               ┌─┐ ┌──────────
        low     └─┘ └───────────────┘ └─┘
                ^   ├──┤                ├─────┤
            stamp   MIN_PRESS_S         debounce time
                       ^ PRESSED              ^ RELEASED

    - A press counts if the line is still low `MIN_PRESS_S` after an edge. Its time is that of its
      first edge.
    - Edges belong to the same press unless the line was high for `MIN_PRESS_S` between them.
    - The key counts as released once the line was high for the debounce time. Before that no other
      press counts.
    - If the key is down at the start (`is_down`), it has to be released before a press counts.
    """

    def __init__(self, debounce_s: float, is_down: bool = False) -> None:
        self._debounce_s = debounce_s
        # Level of the line at the last edge.
        self._is_down = is_down
        # Number of `_HOLDS` that were reported for this press. A key that is down at the start has
        # none to report.
        self._reported_holds = len(_HOLDS) if is_down else 0
        # Whether a press has counted. If not, the release of a key that was down at the start is
        # not reported.
        self._was_pressed = False
        # Time of the last edge to high.
        self._line_high_at_s = -math.inf
        # Time of the first edge of a press that does not count yet.
        self._first_edge_at_s: float | None = None
        self.is_latched = is_down
        """Whether the key counts as down, from a press or because it was down at the start."""
        self.is_waiting = False
        """Whether an edge arrived that may still turn out to be a spike."""
        self.due_at_s = 0.0
        """Time at which the line has to be read, to decide whether that edge was a spike."""
        self.pressed_at_s = 0.0
        """Time of the first edge of the current or last press that counts. 0 before any press."""

    def process_edge(self, is_down: bool, stamp_s: float) -> tuple[KeyEvent, ...]:
        """Process an edge of the line, with its time stamp. Return the events, in order."""
        events = self._pass_time(stamp_s)
        if is_down and not self.is_latched and not self.is_waiting:
            self.is_waiting = True
            self.due_at_s = stamp_s + MIN_PRESS_S
            # Edges that follow sooner belong to one press, which keeps its first stamp.
            if self._first_edge_at_s is None or stamp_s - self._line_high_at_s >= MIN_PRESS_S:
                self._first_edge_at_s = stamp_s
        if not is_down:
            self._line_high_at_s = stamp_s
        self._is_down = is_down
        return events

    def poll(self, is_down: bool, now_s: float) -> tuple[KeyEvent, ...]:
        """Process the present level of the line, which makes up for a lost edge.

        Return the events, in order.
        """
        if is_down is self._is_down:
            return self._pass_time(now_s)
        if self.is_waiting and not is_down:
            # The pulse has ended, but the edge that ended it has not arrived. Wait for it, because
            # its stamp tells how long the pulse was. If it is lost, count the pulse as a spike.
            if now_s - self.due_at_s >= LOST_EDGE_S:
                self.is_waiting = False
                self._is_down = False
            return ()
        return self.process_edge(is_down, now_s)

    def _pass_time(self, now_s: float) -> tuple[KeyEvent, ...]:
        """Return the events that come about as time passes: pressed, held, or released."""
        events: list[KeyEvent] = []
        if self.is_waiting and now_s >= self.due_at_s - _ROUNDING_S:
            self.is_waiting = False
            if self._is_down and self._first_edge_at_s is not None:
                self.pressed_at_s = self._first_edge_at_s
                self._first_edge_at_s = None
                self.is_latched = True
                self._reported_holds = 0
                self._was_pressed = True
                events.append(KeyEvent.PRESSED)
        if not self.is_latched:
            return tuple(events)
        if self._is_down:
            # Each kind of holding is reported once.
            for hold_s, event in _HOLDS[self._reported_holds :]:
                if now_s - self.pressed_at_s >= hold_s - _ROUNDING_S:
                    self._reported_holds += 1
                    events.append(event)
        elif now_s - self._line_high_at_s >= self._debounce_s - _ROUNDING_S:
            self.is_latched = False
            if self._was_pressed:
                events.append(KeyEvent.RELEASED)
        return tuple(events)
