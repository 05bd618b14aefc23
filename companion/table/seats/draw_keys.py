"""Left and right of one pad, pressed together and held for a second: its owner offers a draw, or
accepts one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from companion.core.kit import Seat
from companion.core.ports import PadKey, Press
from companion.table.state import Draft

DRAW_KEYS = frozenset({PadKey.LEFT, PadKey.RIGHT})
"""Nobody presses them together by accident, and no game means anything by holding them."""
TOGETHER_S = 1.0
"""Two presses that lie farther apart are two presses; a key that sticks is none of them."""


@dataclass
class _Reach:
    """When the first of the two keys went down, which are down and which were held, and what was
    entered before.
    """

    at_s: float
    moment: str
    draft: Draft
    down: set[PadKey] = field(default_factory=set)
    held: set[PadKey] = field(default_factory=set)


class DrawKeys:
    """Follows the two keys of every pad; used by the table's thread."""

    def __init__(self) -> None:
        self._reaches: dict[Seat, _Reach] = {}

    def press(self, seat: Seat, press: Press, moment: str, draft: Draft) -> Draft | None:
        """Note a press.

        What was entered before, once both keys have been held, if that is the same decision still.
        """
        reach = self._reaches.get(seat)
        if press.key not in DRAW_KEYS:
            self._reaches.pop(seat, None)
            return None
        if not press.held:
            # the first of the two keys, or too late to be the second one
            if reach is None or press.at_s - reach.at_s > TOGETHER_S or reach.moment != moment:
                reach = self._reaches[seat] = _Reach(press.at_s, moment, draft)
            reach.down.add(press.key)
            return None
        if reach is None or press.key not in reach.down:
            return None
        reach.held.add(press.key)
        if reach.held != DRAW_KEYS:
            return None
        del self._reaches[seat]
        # another decision is due by now: what is entered for it stays
        return reach.draft if reach.moment == moment else draft

    def release(self, press: Press) -> None:
        """Note a key that was let go. Both have to be down at once."""
        if press.seat is not None and press.key in DRAW_KEYS:
            self._reaches.pop(press.seat, None)

    def has_both(self, seat: Seat | None) -> bool:
        """Return whether both keys of a pad are down now."""
        return seat in self._reaches and self._reaches[seat].down == DRAW_KEYS
