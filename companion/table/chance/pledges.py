"""What seats give to chance, as a part of the fold: until something is drawn, and each of them once."""

from __future__ import annotations

from dataclasses import replace

from companion.core.errors import Illegal, Refusal, Stale
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.base import Drawn
from companion.table.chance.fairness import FairChance, Pledge, chance_of_orders, checked
from companion.table.records import Contribute
from companion.table.session import Session


def contribute(session: Session, record: Contribute) -> Session:
    """What a seat gives to the next game's chance, or to that of a game in which nothing has been drawn yet.

    Raises `Malformed`, `Stale` for another game's commitment, `Illegal` once the seat has given, or chance is drawn.
    """
    pledge = open_pledge(session)
    if pledge is None:
        raise Illegal(Refusal.TOO_LATE, say("It is too late to contribute to the chance of this game"))
    if record.commitment != pledge.commitment:
        raise Stale(say("That contribution belongs to another game: look at the page again"))
    if record.seat in pledge.contributions:
        raise Illegal(
            Refusal.TOO_LATE, say("{seat!c} has already contributed to the chance of this game", seat=record.seat)
        )
    given = {**pledge.contributions, record.seat: checked(record.value, record.by)}
    if session.is_between:
        return replace(session, pledge=Pledge(pledge.commitment, given))
    secret = session.chance.secret if session.chance else ""
    return replace(session, chance=FairChance(pledge.commitment, secret, given))


def open_pledge(session: Session) -> Pledge | None:
    """What seats can give to now: the next game, or the one that is on while nothing is drawn in it; None: nothing."""
    if session.is_between:
        return session.pledge
    if session.remote is not None:  # what both tables give are the salts of their first sealed orders
        return None
    fair = session.chance
    return None if fair is None or session.is_drawn else Pledge(fair.commitment, fair.contributions)


def with_draw(session: Session) -> Session:
    """From now on chance is drawn: no contribution changes it any more, also when the turn is taken back."""
    if session.remote is not None and session.chance is None and session.draws is Drawn.PLAY:
        salts = {seat: sealed.salt for seat, sealed in session.sealed.items()}
        session = replace(session, chance=chance_of_orders(session.remote.at.id, salts))
    if session.is_drawn or session.chance is None:
        return session
    return replace(session, seed=session.chance.seed, is_drawn=True)


def without(session: Session, seat: Seat) -> Session:
    """The session when a seat is freed: between two games whoever sits down next gives anew."""
    pledge = session.pledge
    if pledge is None or not session.is_between:
        return session
    given = {each: value for each, value in pledge.contributions.items() if each != seat}
    return replace(session, pledge=Pledge(pledge.commitment, given))
