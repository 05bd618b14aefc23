"""Undo a sealed action or the last turn, as a part of the reducer.

A player may take back an action from which nobody has learned anything. The owner may undo any last
turn. In an open game players may undo one, too: their own at once, that of the other seat if its
player agrees. Hands then put the pieces back. An action is sealed from when it is handed in until
all that are due are revealed together.
"""

from __future__ import annotations

from dataclasses import replace

from companion.core.errors import Illegal, Refusal, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Cue, Signal, signal_to
from companion.table.records import Decline, RequestUndo, TakeBack, Undo
from companion.table.session import BOTH, Phase, Session, Transition


def seat_to_take_back(session: Session) -> Seat | None:
    """Return the seat that may take back its action of the last turn, or None."""
    earlier = session.before_turn
    last = session.last_turn
    if earlier is None or earlier.has_taken_back or session.sealed or session.remote is not None:
        return None
    if session.phase is not Phase.ORDERS or last.is_timed_out or not last.is_of_one_seat:
        return None
    ((seat, sealed),) = last.sealed.items()
    game = session.require_game()
    return seat if game.is_reversible(earlier.state, seat, game.parse(sealed.action)) else None


def moment_to_take_back(session: Session, seat: Seat) -> str | None:
    """Return the moment of the action that a seat may take back now. None if there is none."""
    if seat in session.sealed:
        # At two tables the other table already knows of it.
        return session.moment if session.remote is None else None
    earlier = session.before_turn
    return earlier.moment if earlier and seat is seat_to_take_back(session) else None


def take_back(session: Session, record: TakeBack) -> Transition:
    """Give a seat its sealed action back, or its last turn if nobody has learned anything from it.

    Raises `Illegal` if it is too late for that, or if there is nothing to take back.
    """
    earlier = session.before_turn
    if earlier and record.moment == earlier.moment and record.seat is seat_to_take_back(session):
        return _take_turn_back(session, earlier, record)
    if record.moment != session.moment or session.phase is not Phase.ORDERS:
        raise Illegal(Refusal.TOO_LATE, say("Too late: the orders have been revealed"))
    if record.seat not in session.sealed:
        raise wrong_phase(say("You have nothing to take back"))
    remaining = {seat: sealed for seat, sealed in session.sealed.items() if seat != record.seat}
    return replace(session, sealed=remaining), (signal_to(record.seat, Cue.TAKEN_BACK),)


def _take_turn_back(session: Session, earlier: Session, record: TakeBack) -> Transition:
    """Give a seat its last turn back, with the time that was left when it acted.

    A seat may do so once a turn. If the board has changed, hands put it back first as in a set-up,
    with the clock stopped.
    """
    undone = replace(
        _session_to_put_back(session, earlier), paused_by=session.paused_by, has_taken_back=True
    )
    # The clock starts at once if no piece has to be put back.
    if undone.countdown and not undone.paused_by and undone.phase is Phase.ORDERS:
        undone = replace(undone, countdown=undone.countdown.start(record.now_s))
    return undone, (signal_to(record.seat, Cue.TAKEN_BACK),)


def undo(session: Session, _: Undo | RequestUndo) -> Transition:
    """Go back to the beginning of the last turn.

    Hands first put the board back as in a set-up, unless it already is as it was. The clock is
    stopped. Raises `Illegal` if there is no turn to undo.
    """
    earlier = session.before_turn
    if earlier is None or session.phase is Phase.LOBBY:
        raise wrong_phase(say("There is no turn to take back"))
    undone = replace(
        _session_to_put_back(session, earlier),
        outcome=None,
        draw_offer=None,
        paused_by="undo" if earlier.countdown else "",
    )
    return undone, (Signal(Cue.TAKEN_BACK, BOTH),)


def _session_to_put_back(session: Session, earlier: Session) -> Session:
    """Return the earlier session, in a set-up to put the board back unless it is as it was."""
    is_in_place = earlier.layout in (None, session.expected_layout)
    return replace(
        with_lasting_parts(session, earlier),
        phase=Phase.ORDERS if is_in_place else Phase.SETUP,
        undone_layout=session.expected_layout or {},
    )


def request_undo(session: Session, record: RequestUndo) -> Transition:
    """Undo the last turn for a seat if it was its own, or else ask the other seat.

    The other seat agrees by the same record. A seat that no phone plays cannot be asked, so the
    turn is undone at once.
    """
    is_due = record.moment == session.moment and session.phase is Phase.ORDERS
    if not is_due or session.before_turn is None:
        raise Illegal(Refusal.TOO_LATE, say("There is no turn to take back"))
    is_own = session.last_turn.sealed.keys() == {record.seat}
    can_ask = session.door_of(record.seat.other) == "phone"
    if is_own or not can_ask or session.undo_requester is record.seat.other:
        return undo(session, record)
    # The clock stands still until the other seat has answered.
    stopped = session.countdown.stop(record.now_s) if session.countdown else None
    requested = replace(
        session, undo_requester=record.seat, undo_requested_at_s=record.now_s, countdown=stopped
    )
    return requested, (Signal(Cue.OFFER, BOTH),)


def decline(session: Session, record: Decline) -> Transition:
    """Drop a draw offer or a request to undo, and restart the clock that the request stopped."""
    if session.undo_requester is None and session.draw_offer is None:
        raise wrong_phase(say("Nobody has asked for anything"))
    countdown = session.countdown
    if session.undo_requester and countdown and not session.paused_by:
        countdown = countdown.start(record.now_s)
    return replace(session, undo_requester=None, draw_offer=None, countdown=countdown), ()


def with_lasting_parts(session: Session, earlier: Session) -> Session:
    """Return the earlier session with the present parts that are never undone.

    These are the players, the commitment, who has asked the coach, and whether the lesson was left.
    The tick rises nevertheless, so that input for an undone decision is out of date.
    """
    return replace(
        earlier,
        seats=session.seats,
        commitment=session.commitment,
        has_left_lesson=session.has_left_lesson,
        coached_seats=session.coached_seats,
        undo_requester=None,
        sealed={},
        tick=session.tick + 1,
    )
