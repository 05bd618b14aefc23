"""The pages of a printable kit: instructions, board, pieces and cards.

May import what `companion.printing` may import.
"""

from __future__ import annotations

from companion.core.i18n import say
from companion.core.kit import Kit, Seat


def seat_words(kit: Kit, seat: Seat) -> str:
    """Return a sentence that says which side sits at a seat, such as “South is purple”."""
    side = kit.sides[seat].name
    if seat is Seat.SOUTH:
        return say("South is {side}", side=side)
    return say("North is {side}", side=side)
