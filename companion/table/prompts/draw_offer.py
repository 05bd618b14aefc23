"""What is said of a draw that is offered."""

from __future__ import annotations

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.table.session import Session


def offer_words(session: Session, viewer: Seat | None) -> str:
    """That a draw is offered, and how a pad accepts it; a phone has a key for that. Empty: none is."""
    seat, sides = session.draw_offer, session.playing.sides
    if seat is None:
        return ""
    if seat is viewer:
        return say("You offer a draw.")
    other = session.seats.get(seat.other)
    if viewer is None and other and other.door == "pad":
        return say(
            "{side!c} offers a draw. {other!c} accepts by holding left and right on the pad, or plays on.",
            side=sides[seat].name,
            other=sides[seat.other].name,
        )
    return say("{side!c} offers a draw.", side=sides[seat].name)
