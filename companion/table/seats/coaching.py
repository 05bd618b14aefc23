"""Who may ask the coach about what: the host's rule, and where the game stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from companion.core.kit import Seat
from companion.table.session import Phase, Sealed, Session

About = Literal["now", "last"]
"""What the coach is asked about: the action that is due, or the last one that everybody knows of."""
Allowed = Literal["machine", "always", "never"]
"""In which games: against the machine alone, in every one, in none."""


@dataclass(frozen=True)
class CoachView:
    """What a seat may ask the coach about; nothing: there is no coach for it now."""

    about: tuple[About, ...] = ()


def coach_view(session: Session, seat: Seat, allowed: Allowed) -> CoachView:
    """What a seat may ask about. In a lesson the guide speaks; where people deal the cards nobody knows them."""
    if session.game is None or session.phase not in (Phase.ORDERS, Phase.STAGES, Phase.OVER):
        return CoachView()
    is_allowed = allowed == "always" or (allowed == "machine" and session.is_machines(seat.other))
    is_person = seat in session.seats and not session.is_machines(seat)
    if not (is_allowed and is_person) or session.lesson_number is not None:
        return CoachView()
    if session.game.is_dealt_by_hand(session.options):
        return CoachView()
    about: list[About] = []
    if seat in session.awaited:
        about.append("now")
    if any(_is_own(session, turn.sealed, seat) for turn in session.opened):
        about.append("last")
    return CoachView(tuple(about))


def _is_own(session: Session, sealed: Mapping[Seat, Sealed], seat: Seat) -> bool:
    return seat in sealed and sealed[seat].owner == session.seats[seat].nonce
