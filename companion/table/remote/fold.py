"""The fold of a game at two tables: input for the own seat, and messages of the other table.

It stands before the reducer: `advance` is what the table and its journal call for every record.

A table sends only the receipt of its order until it has the receipt of the other one. So no
program, not even a modified one, learns an order before its own is bound. A step is over once both
boards show it. Each table's clock counts for its own seat. The messages to send are part of the
fold: a table that restarts sends the same ones in the same order.

Two inputs can cross on the line. If that could lead to two different games (resigning while the
last step is being done), a table asks first. Then it sends nothing more, and acts when the answer
comes, so that both tables have done the same before. If both ask at once, South's question counts.
"""

from __future__ import annotations

from dataclasses import replace

from companion.core.errors import Illegal, Malformed, Refusal, Stale, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Cue, Signal, signal_to
from companion.games.base import Outcome
from companion.table.clocks.countdown import Countdown
from companion.table.records import (
    Abandon,
    AnyRecord,
    AskBack,
    AskCoach,
    Begin,
    Decline,
    FreeSeat,
    HandIn,
    MoveSeat,
    NewGame,
    OfferDraw,
    Pause,
    RemoteSaid,
    Resign,
    Resume,
    SkipLesson,
    StageDone,
    TakeBack,
    TakeSeat,
    TimeOut,
    Undo,
)
from companion.table.reducer import fold
from companion.table.remote.messages import (
    SETUP_STEP,
    Answered,
    Asked,
    ClockHeld,
    DrawOffered,
    GameLeft,
    OrderOpened,
    OrderSealed,
    Question,
    RemoteGame,
    RemoteMessage,
    StepShown,
    TimeIsOver,
)
from companion.table.session import BOTH, Advance, Phase, Session, receipt_of


def advance(session: Session, record: AnyRecord) -> Advance:
    """Return the session after a record, and the cues that announce it.

    Raises a `CompanionError` and changes nothing if the record is refused.
    """
    if session.remote is not None:
        return _advance_at_two_tables(session, session.remote, record)
    return fold(session, record)


def _advance_at_two_tables(session: Session, remote: RemoteGame, record: AnyRecord) -> Advance:
    """Fold a record in a game at two tables. What the other table has to know becomes a message."""
    match record:
        case RemoteSaid():
            return _receive(session, remote, record)
        case TakeSeat() | FreeSeat() | MoveSeat() if (
            record.seat is remote.seat and session.phase is not Phase.OVER
        ):
            raise _played_elsewhere(record.seat)
        case NewGame() if session.phase is not Phase.OVER:
            raise wrong_phase(say("A game is on: end it before you start another one"))
        case Begin() | StageDone():
            _require_answer(remote)
            return _report_step(session, remote, record)
        case HandIn():
            _require_answer(remote)
            return _hand_in(session, remote, record)
        case TimeOut():
            _require_own_turn(session, remote)
            after, signals = fold(session, record)
            return _send(after, TimeIsOver(session.tick)), signals
        case Pause() | Resume():
            if record.by != "restart":  # a restart asks nobody
                _require_own_turn(session, remote)
            after, signals = fold(session, record)
            left_s = after.countdown.left_s if after.countdown else 0.0
            return _send(after, ClockHeld(session.tick, isinstance(record, Pause), left_s)), signals
        case OfferDraw() if (
            record.seat is remote.own_seat and session.draw_offer is not remote.seat
        ):
            _require_answer(remote)
            after, signals = fold(session, record)
            return _send(after, DrawOffered(session.tick, session.phase is Phase.STAGES)), signals
        case Abandon() if remote.open_question and session.phase is not Phase.OVER:
            after, signals = fold(session, record)
            return _send(after, GameLeft()), signals
        case Resign() | OfferDraw() | Abandon():
            return _ask(session, remote, record)
        case TakeBack():
            raise Illegal(
                Refusal.TOO_LATE, say("What the other table was told cannot be taken back")
            )
        case Undo() | AskBack() | Decline():
            raise wrong_phase(say("In a game at two tables no turn is taken back"))
        case AskCoach() | SkipLesson():
            raise wrong_phase(say("There is no coach and no lesson in a game at two tables"))
        case _:
            return fold(session, record)


# ---- what happens here ---------------------------------------------------------------------------


def _report_step(session: Session, remote: RemoteGame, record: Begin | StageDone) -> Advance:
    """Report to the other table that this board shows the current step."""
    fold(session, record)  # raises unless this is the current step
    if remote.has_reported_step:
        raise Stale(say("That step is already done"))
    stage = SETUP_STEP if isinstance(record, Begin) else session.stage
    after = _send(
        with_remote(session, reported_seats=remote.reported_seats | {remote.own_seat}),
        StepShown(session.tick, stage),
    )
    return _end_step(after, record)


def _end_step(session: Session, record: Begin | StageDone) -> Advance:
    """Begin the next step, once both boards show this one."""
    remote = remote_of(session)
    if remote.reported_seats == BOTH:
        return fold(with_remote(session, reported_seats=frozenset()), record)
    return session, (Signal(Cue.BOARD_AGREES, BOTH),) if remote.has_reported_step else ()


def _hand_in(session: Session, remote: RemoteGame, record: HandIn) -> Advance:
    """Hand in the own seat's order.

    If both seats act, only its receipt is sent at first. Otherwise the order itself is sent at
    once.
    """
    if record.seat is remote.seat:
        raise _played_elsewhere(record.seat)
    after, signals = fold(session, record)
    # Still sealed: both seats act in this turn, so only the receipt is sent.
    if remote.own_seat in after.sealed:
        bound = _send(
            after, OrderSealed(session.tick, after.sealed[remote.own_seat].receipt, record.at)
        )
        return _send_own_order(bound), signals
    sealed = after.turns[-1].sealed[remote.own_seat]
    # The time that the decision has taken on this table's clock.
    since_s = session.countdown.started_s if session.countdown else None
    spent_s = 0.0 if since_s is None else max(0.0, record.now_s - since_s)
    order = OrderOpened(session.tick, sealed.action, sealed.salt, spent_s, sealed.at)
    return _send(after, order), signals


def _send_own_order(session: Session) -> Session:
    """Send the own order, once this table has the receipt of the other one.

    Not while a question is open.
    """
    remote = remote_of(session)
    sealed = session.sealed.get(remote.own_seat)
    if (
        sealed is None
        or remote.sealed_order is None
        or remote.has_sent_order
        or remote.open_question
    ):
        return session
    order = OrderOpened(session.tick, sealed.action, sealed.salt, at=sealed.at)
    return with_remote(_send(session, order), has_sent_order=True)


def _ask(session: Session, remote: RemoteGame, record: Resign | OfferDraw | Abandon) -> Advance:
    """Send a question whose effect follows when the other table has answered."""
    _require_answer(remote)
    if not isinstance(record, Abandon) and record.seat is remote.seat:
        raise _played_elsewhere(record.seat)
    fold(session, record)  # raises if it is not allowed
    question = Asked(_QUESTIONS[type(record)])
    return with_remote(_send(session, question), open_question=question.what), ()


_QUESTIONS: dict[type, Question] = {Resign: "resign", OfferDraw: "draw", Abandon: "end"}


def _record_of(question: Question, seat: Seat) -> Resign | OfferDraw | Abandon:
    """Return the record of what a seat has asked for."""
    if question == "end":
        return Abandon()
    return Resign(seat) if question == "resign" else OfferDraw(seat)


def _require_answer(remote: RemoteGame) -> None:
    """Raise `Illegal` while this table waits for the answer to a question."""
    if remote.open_question:
        raise wrong_phase(say("The other table has been asked: wait for its answer"))


def _require_own_turn(session: Session, remote: RemoteGame) -> None:
    """Raise `Illegal` unless the own seat alone is on turn, because clocks run at the table of
    their seat.
    """
    _require_answer(remote)
    if session.awaited != {remote.own_seat}:
        raise Illegal(Refusal.NOT_YOUR_SEAT, say("That clock runs at the other table"))


def _played_elsewhere(seat: Seat) -> Illegal:
    """Return the error for input of a seat that the other table owns."""
    return Illegal(Refusal.NOT_YOUR_SEAT, say("{seat!c} is played at the other table", seat=seat))


# ---- what the other table tells ------------------------------------------------------------------


def _receive(session: Session, remote: RemoteGame, record: RemoteSaid) -> Advance:
    """Process the next message of the other table.

    Raises `Stale` for any other one, and `Malformed` if it does not fit the game.
    """
    if record.number != remote.received_count + 1:
        raise Stale(say("The other table has sent that already, or something before it is missing"))
    session = with_remote(session, received_count=record.number)
    if session.phase is Phase.OVER:
        return session, ()
    remote, now_s = remote_of(session), record.now_s
    match record.message:
        case OrderSealed() as order:
            _require(session, order.tick, Phase.ORDERS, is_shared=True)
            if remote.sealed_order:
                raise unexpected_message()
            bound = _send_own_order(with_remote(session, sealed_order=order))
            return bound, (signal_to(remote.seat, Cue.SEALED),)
        case OrderOpened() as order:
            return _receive_order(session, remote, order, now_s)
        case StepShown() as step:
            return _receive_step(session, remote, step, now_s)
        case TimeIsOver() as over:
            _require(session, over.tick, Phase.ORDERS, is_shared=False)
            if session.countdown is None:
                raise unexpected_message()
            stopped = replace(
                session, countdown=Countdown(session.countdown.limit_s, 0.0), paused_by=""
            )
            return fold(stopped, TimeOut(session.moment, now_s))
        case ClockHeld() as clock:
            return _receive_clock(session, remote, clock, now_s)
        case DrawOffered() as offer:
            # Ignore an offer for a step that is over, or one that crosses South's own.
            in_stages = session.phase is Phase.STAGES
            is_now = (offer.tick, offer.in_stages) == (session.tick, in_stages)
            if not is_now or (session.draw_offer is Seat.SOUTH and remote.own_seat is Seat.SOUTH):
                return session, ()
            return replace(session, draw_offer=remote.seat), (Signal(Cue.OFFER, BOTH),)
        case Asked() as question:
            return _receive_question(session, remote, question)
        case Answered() as answer:
            return _receive_answer(session, remote, answer, now_s)
        case GameLeft():
            abandoned, signals = fold(session, Abandon())
            outcome = Outcome(frozenset(), say("The other table has left the game."))
            return replace(abandoned, outcome=outcome), signals


def _receive_order(
    session: Session, remote: RemoteGame, order: OrderOpened, now_s: float
) -> Advance:
    """Process the order of the other table's seat. It must match its receipt."""
    game = session.playing
    is_shared = session.phase is Phase.ORDERS and len(game.to_act(session.state)) > 1
    _require(session, order.tick, Phase.ORDERS, is_shared=is_shared)
    # Only one spelling is valid, because the receipt is that of the text.
    if game.format(game.parse(order.action)) != order.action:
        raise unexpected_message()
    if is_shared:
        receipt = receipt_of(session.moment, remote.seat, order.action, order.salt)
        is_due = remote.own_seat in session.sealed and remote.waiting_order is None
        if not is_due or remote.sealed_order is None or remote.sealed_order.receipt != receipt:
            raise unexpected_message()
        game.check(session.state, remote.seat, game.parse(order.action))
        # A question holds the own order back, so this one waits for the answer.
        if not remote.has_sent_order:
            return with_remote(session, waiting_order=order), ()
    session = with_remote(session, sealed_order=None, has_sent_order=False, waiting_order=None)
    if not is_shared and (countdown := session.countdown):
        # Use the time measured at the other table, so that the message's way costs no time.
        left_s = countdown.left_s - min(countdown.left_s, order.spent_s)
        session = replace(session, countdown=Countdown(countdown.limit_s, left_s), paused_by="")
    return fold(
        session, HandIn(remote.seat, session.moment, order.action, order.salt, order.at, now_s)
    )


def _receive_step(session: Session, remote: RemoteGame, step: StepShown, now_s: float) -> Advance:
    """Note that the other table's board shows the current step."""
    is_setup = step.stage == SETUP_STEP
    _require(session, step.tick, Phase.SETUP if is_setup else Phase.STAGES)
    if remote.seat in remote.reported_seats or not (is_setup or step.stage == session.stage):
        raise unexpected_message()
    session = with_remote(session, reported_seats=remote.reported_seats | {remote.seat})
    by = str(remote.seat)
    if is_setup:
        return _end_step(session, Begin(by, now_s))
    return _end_step(session, StageDone(session.moment, session.stage, by, now_s))


def _receive_clock(session: Session, remote: RemoteGame, clock: ClockHeld, now_s: float) -> Advance:
    """Stop or start the clock of the other table's seat, as that table has done."""
    _require(session, clock.tick, Phase.ORDERS, is_shared=False)
    countdown = session.countdown
    if countdown is None:
        raise unexpected_message()
    stopped = Countdown(countdown.limit_s, min(countdown.left_s, clock.left_s))
    if clock.is_held:
        paused = replace(session, countdown=stopped, paused_by=str(remote.seat))
        return paused, (Signal(Cue.PAUSED, BOTH),)
    return replace(session, countdown=stopped.start(now_s), paused_by=""), (
        Signal(Cue.RESUMED, BOTH),
    )


def _receive_question(session: Session, remote: RemoteGame, question: Asked) -> Advance:
    """Answer a question, and do what it asks for unless it comes too late."""
    if remote.open_question and remote.own_seat is Seat.SOUTH:
        return session, ()  # South's question counts, and its answer is under way
    session = with_remote(session, open_question="")
    if question.what == "draw" and session.draw_offer is not remote.own_seat:
        return _send_own_order(_send(session, Answered(False))), ()
    after, signals = fold(session, _record_of(question.what, remote.seat))
    return _send(after, Answered(True)), signals


def _receive_answer(
    session: Session, remote: RemoteGame, answer: Answered, now_s: float
) -> Advance:
    """Do what this table has asked for, or continue if the answer is no."""
    if not remote.open_question:
        raise unexpected_message()
    session = with_remote(session, open_question="")
    if answer.is_agreed:
        if remote.open_question == "draw":
            session = replace(session, draw_offer=remote.seat)
        return fold(session, _record_of(remote.open_question, remote.own_seat))
    # The answer is no, so continue with what the question has held back.
    session = with_remote(_send_own_order(session), waiting_order=None)
    if remote.waiting_order is None:
        return session, ()
    return _receive_order(session, remote_of(session), remote.waiting_order, now_s)


def _require(session: Session, tick: int, phase: Phase, is_shared: bool | None = None) -> None:
    """Raise `Malformed` unless a message may arrive now.

    `is_shared` requires that both seats act (True), or only the other table's seat (False).
    """
    if (session.tick, session.phase) != (tick, phase):
        raise unexpected_message()
    if is_shared is not None:
        due = session.playing.to_act(session.state)
        if due != (BOTH if is_shared else {remote_of(session).seat}):
            raise unexpected_message()


# ---- the state of the line -----------------------------------------------------------------------


def remote_of(session: Session) -> RemoteGame:
    """Return what the session knows of the other table. The game must be at two tables."""
    if session.remote is None:
        raise RuntimeError("a game at one table")
    return session.remote


def with_remote(session: Session, **changes: object) -> Session:
    """Return the session with changes to the state of the other table."""
    return replace(session, remote=replace(remote_of(session), **changes))  # type: ignore[arg-type]
    # as of RemoteGame


def unexpected_message() -> Malformed:
    """Return the error for a message that does not fit."""
    return Malformed(say("What the other table sends does not fit this game: it cannot go on"))


def _send(session: Session, message: RemoteMessage) -> Session:
    """Add a message to those that the line sends."""
    return with_remote(session, sent_messages=(*remote_of(session).sent_messages, message))
