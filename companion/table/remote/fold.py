"""Fold a game at two tables: input for this table's seat, and messages from the other table.

This module stands before the reducer: the table and its journal call `fold_record` for every
record, and only `fold_record` calls the reducer. The words (sealed, receipt, stage, tick) are
explained in `companion.table.session`.

A table sends only the receipt of its action until it has the receipt of the other one. So no
program, not even a modified one, learns an action before its own is bound. A stage (or the set-up)
is over once both boards show it. A turn in which both seats act:

    one table                                    the other table
    seals its action      ── ActionSealed ──>
                          <── ActionSealed ──    seals its action
    has both receipts     ── ActionOpened ──>
                          <── ActionOpened ──    has both receipts
    both reveal the turn, then for each stage:
    its board is right    ── StageShown ──>
                          <── StageShown ──      its board is right

Each table's clock counts for its own seat. The messages to send are part of the session: a table
that restarts sends the same ones in the same order.

Two inputs can cross on the way. If the tables could then disagree on the game (one resigns while
the other ends the last stage), a table asks first. Until the answer arrives it sends nothing else,
so both tables apply the question at the same point of the game. Two messages are sent nevertheless,
because they cannot change that: a restart that pauses the clock, and leaving the game. If both ask
at once, South's question counts.
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
    BY_RESTART,
    Abandon,
    AnyRecord,
    AskCoach,
    Begin,
    Decline,
    FreeSeat,
    HandIn,
    MoveSeat,
    NewGame,
    OfferDraw,
    Pause,
    ReceiveMessage,
    RequestUndo,
    Resign,
    Resume,
    SkipLesson,
    StageDone,
    TakeBack,
    TakeSeat,
    TimeOut,
    Undo,
)
from companion.table.reducer import fold_at_one_table
from companion.table.remote.messages import (
    SETUP_STAGE,
    ActionOpened,
    ActionSealed,
    ClockChanged,
    DrawOffered,
    GameLeft,
    Question,
    QuestionAnswered,
    QuestionAsked,
    RemoteGame,
    RemoteMessage,
    StageShown,
    TimeRanOut,
)
from companion.table.session import BOTH, Phase, Session, Transition, receipt_of


def fold_record(session: Session, record: AnyRecord) -> Transition:
    """Return the session after a record, and the cues that announce it.

    Raises a `CompanionError` and changes nothing if the record is refused.
    """
    if session.remote is not None:
        return _fold_at_two_tables(session, session.remote, record)
    return fold_at_one_table(session, record)


def _fold_at_two_tables(session: Session, remote: RemoteGame, record: AnyRecord) -> Transition:
    """Fold a record in a game at two tables, and add the message for the other table, if any."""
    match record:
        case ReceiveMessage():
            return _receive(session, remote, record)
        case TakeSeat() | FreeSeat() | MoveSeat() if (
            record.seat is remote.their_seat and session.phase is not Phase.OVER
        ):
            raise _played_elsewhere(record.seat)
        case NewGame() if session.phase is not Phase.OVER:
            raise wrong_phase(say("A game is on: end it before you start another one"))
        case Begin() | StageDone():
            _require_no_open_question(remote)
            return _report_stage(session, remote, record)
        case HandIn():
            _require_no_open_question(remote)
            return _hand_in(session, remote, record)
        case TimeOut():
            _require_own_turn(session, remote)
            return _fold_and_tell(session, record, TimeRanOut(session.tick))
        case Pause() | Resume():
            if record.by != BY_RESTART:  # a restart pauses at any time
                _require_own_turn(session, remote)
            after, signals = fold_at_one_table(session, record)
            left_s = after.countdown.left_s if after.countdown else 0.0
            return _with_message(
                after, ClockChanged(session.tick, isinstance(record, Pause), left_s)
            ), signals
        # A new offer needs no answer. Accepting an offer is a question, see below.
        case OfferDraw() if (
            record.seat is remote.own_seat and session.draw_offer is not remote.their_seat
        ):
            _require_no_open_question(remote)
            offer = DrawOffered(session.tick, session.phase is Phase.STAGES)
            return _fold_and_tell(session, record, offer)
        # The owner ends the game a second time, and no longer waits for the other table's answer.
        case Abandon() if remote.open_question and session.phase is not Phase.OVER:
            return _fold_and_tell(session, record, GameLeft())
        case Resign() | OfferDraw() | Abandon():
            return _ask(session, remote, record)
        case TakeBack():
            raise Illegal(
                Refusal.TOO_LATE, say("What the other table was told cannot be taken back")
            )
        case Undo() | RequestUndo() | Decline():
            raise wrong_phase(say("In a game at two tables no turn is taken back"))
        case AskCoach() | SkipLesson():
            raise wrong_phase(say("There is no coach and no lesson in a game at two tables"))
        case _:
            return fold_at_one_table(session, record)


# ---- input at this table -------------------------------------------------------------------------


def _report_stage(session: Session, remote: RemoteGame, record: Begin | StageDone) -> Transition:
    """Report to the other table that this board shows the current stage or the set-up as done."""
    # Only to find out whether this is the current stage: otherwise this raises.
    fold_at_one_table(session, record)
    if remote.has_reported_stage:
        raise Stale(say("That step is already done"))
    stage = SETUP_STAGE if isinstance(record, Begin) else session.stage_index
    after = _with_message(
        with_remote(session, reported_seats=remote.reported_seats | {remote.own_seat}),
        StageShown(session.tick, stage),
    )
    return _end_stage_if_both_done(after, record)


def _end_stage_if_both_done(session: Session, record: Begin | StageDone) -> Transition:
    """End this stage or the set-up if both boards show it as done."""
    remote = remote_of(session)
    if remote.reported_seats == BOTH:
        return fold_at_one_table(with_remote(session, reported_seats=frozenset()), record)
    return session, (Signal(Cue.BOARD_AGREES, BOTH),) if remote.has_reported_stage else ()


def _hand_in(session: Session, remote: RemoteGame, record: HandIn) -> Transition:
    """Hand in the action of this table's seat.

    If both seats act, only its receipt is sent at first. Otherwise the action itself is sent at
    once.
    """
    if record.seat is remote.their_seat:
        raise _played_elsewhere(record.seat)
    after, signals = fold_at_one_table(session, record)
    # If the action is still sealed, both seats act in this turn, so send only the receipt.
    if remote.own_seat in after.sealed:
        sealed_session = _with_message(
            after, ActionSealed(session.tick, after.sealed[remote.own_seat].receipt, record.at)
        )
        return _with_own_action(sealed_session), signals
    sealed = after.turns[-1].sealed[remote.own_seat]
    # The time that the decision has taken on this table's clock.
    since_s = session.countdown.started_at_s if session.countdown else None
    spent_s = 0.0 if since_s is None else max(0.0, record.now_s - since_s)
    opened = ActionOpened(session.tick, sealed.action, sealed.salt, spent_s, sealed.at)
    return _with_message(after, opened), signals


def _with_own_action(session: Session) -> Session:
    """Return the session with a message of this seat's action, once the other's receipt is here.

    Without that receipt, and while a question is open, return the session as it is.
    """
    remote = remote_of(session)
    sealed = session.sealed.get(remote.own_seat)
    if (
        sealed is None
        or remote.sealed_action is None
        or remote.has_sent_action
        or remote.open_question
    ):
        return session
    opened = ActionOpened(session.tick, sealed.action, sealed.salt, at=sealed.at)
    return with_remote(_with_message(session, opened), has_sent_action=True)


def _ask(session: Session, remote: RemoteGame, record: Resign | OfferDraw | Abandon) -> Transition:
    """Ask the other table a question, which takes effect with its answer."""
    _require_no_open_question(remote)
    if not isinstance(record, Abandon) and record.seat is remote.their_seat:
        raise _played_elsewhere(record.seat)
    # Only to find out whether this is allowed: otherwise this raises.
    fold_at_one_table(session, record)
    question = QuestionAsked(_QUESTIONS[type(record)])
    return with_remote(_with_message(session, question), open_question=question.what), ()


# What each of these records asks the other table for.
_QUESTIONS: dict[type, Question] = {Resign: "resign", OfferDraw: "draw", Abandon: "end"}


def _record_for(question: Question, seat: Seat) -> Resign | OfferDraw | Abandon:
    if question == "end":
        return Abandon()
    return Resign(seat) if question == "resign" else OfferDraw(seat)


def _require_no_open_question(remote: RemoteGame) -> None:
    """Raise `Illegal` while this table waits for the answer to a question."""
    if remote.open_question:
        raise wrong_phase(say("The other table has been asked: wait for its answer"))


def _require_own_turn(session: Session, remote: RemoteGame) -> None:
    """Raise `Illegal` unless this table's seat alone is on turn, so that its clock runs here."""
    _require_no_open_question(remote)
    if session.awaited_seats != {remote.own_seat}:
        raise Illegal(Refusal.NOT_YOUR_SEAT, say("That clock runs at the other table"))


def _played_elsewhere(seat: Seat) -> Illegal:
    return Illegal(Refusal.NOT_YOUR_SEAT, say("{seat!c} is played at the other table", seat=seat))


# ---- messages from the other table ---------------------------------------------------------------


def _receive(session: Session, remote: RemoteGame, record: ReceiveMessage) -> Transition:
    """Process the next message from the other table.

    Raises `Stale` for a message out of sequence, and `Malformed` if it does not fit the game.
    """
    if record.number != remote.received_count + 1:
        raise Stale(say("The other table has sent that already, or something before it is missing"))
    session = with_remote(session, received_count=record.number)
    if session.phase is Phase.OVER:
        return session, ()
    remote = remote_of(session)
    now_s = record.now_s
    match record.message:
        case ActionSealed() as sealed:
            _require_expected(session, sealed.tick, Phase.ORDERS, is_turn_of_both=True)
            if remote.sealed_action:
                raise unexpected_message()
            after = _with_own_action(with_remote(session, sealed_action=sealed))
            return after, (signal_to(remote.their_seat, Cue.SEALED),)
        case ActionOpened() as opened:
            return _receive_action(session, remote, opened, now_s)
        case StageShown() as shown:
            return _receive_stage(session, remote, shown, now_s)
        case TimeRanOut() as over:
            _require_expected(session, over.tick, Phase.ORDERS, is_turn_of_both=False)
            if session.countdown is None:
                raise unexpected_message()
            stopped = replace(
                session, countdown=Countdown(session.countdown.limit_s, 0.0), paused_by=""
            )
            return fold_at_one_table(stopped, TimeOut(session.moment, now_s))
        case ClockChanged() as clock:
            return _receive_clock(session, remote, clock, now_s)
        case DrawOffered() as offer:
            # Ignore an offer that comes too late, or one that crosses South's own.
            in_stages = session.phase is Phase.STAGES
            is_now = (offer.tick, offer.in_stages) == (session.tick, in_stages)
            if not is_now or (session.draw_offer is Seat.SOUTH and remote.own_seat is Seat.SOUTH):
                return session, ()
            return replace(session, draw_offer=remote.their_seat), (Signal(Cue.OFFER, BOTH),)
        case QuestionAsked() as question:
            return _receive_question(session, remote, question)
        case QuestionAnswered() as answer:
            return _receive_answer(session, remote, answer, now_s)
        case GameLeft():
            abandoned, signals = fold_at_one_table(session, Abandon())
            outcome = Outcome(frozenset(), say("The other table has left the game."))
            return replace(abandoned, outcome=outcome), signals


def _receive_action(
    session: Session, remote: RemoteGame, opened: ActionOpened, now_s: float
) -> Transition:
    """Process the action of the other table's seat.

    In a turn of both it must match the receipt that has arrived before.
    """
    game = session.require_game()
    is_turn_of_both = session.phase is Phase.ORDERS and len(game.to_act(session.state)) > 1
    _require_expected(session, opened.tick, Phase.ORDERS, is_turn_of_both=is_turn_of_both)
    # Only one spelling is valid, because the receipt is a hash of the text.
    if game.format(game.parse(opened.action)) != opened.action:
        raise unexpected_message()
    if is_turn_of_both:
        receipt = receipt_of(session.moment, remote.their_seat, opened.action, opened.salt)
        is_due = remote.own_seat in session.sealed and remote.waiting_action is None
        if not is_due or remote.sealed_action is None or remote.sealed_action.receipt != receipt:
            raise unexpected_message()
        game.check(session.state, remote.their_seat, game.parse(opened.action))
        # This table's action waits for the answer to its question, so the other one waits, too.
        if not remote.has_sent_action:
            return with_remote(session, waiting_action=opened), ()
    session = with_remote(session, sealed_action=None, has_sent_action=False, waiting_action=None)
    if not is_turn_of_both and (countdown := session.countdown):
        # Use the time that the other table has measured, so the delay of the message costs the
        # player nothing.
        left_s = countdown.left_s - min(countdown.left_s, opened.spent_s)
        session = replace(session, countdown=Countdown(countdown.limit_s, left_s), paused_by="")
    return fold_at_one_table(
        session,
        HandIn(remote.their_seat, session.moment, opened.action, opened.salt, opened.at, now_s),
    )


def _receive_stage(
    session: Session, remote: RemoteGame, shown: StageShown, now_s: float
) -> Transition:
    """Note that the other table's board shows the current stage or the set-up as done."""
    is_setup = shown.stage == SETUP_STAGE
    _require_expected(session, shown.tick, Phase.SETUP if is_setup else Phase.STAGES)
    if remote.their_seat in remote.reported_seats or not (
        is_setup or shown.stage == session.stage_index
    ):
        raise unexpected_message()
    session = with_remote(session, reported_seats=remote.reported_seats | {remote.their_seat})
    by = str(remote.their_seat)
    if is_setup:
        return _end_stage_if_both_done(session, Begin(by, now_s))
    return _end_stage_if_both_done(
        session, StageDone(session.moment, session.stage_index, by, now_s)
    )


def _receive_clock(
    session: Session, remote: RemoteGame, clock: ClockChanged, now_s: float
) -> Transition:
    """Stop or start the clock of the other table's seat, as that table has done."""
    _require_expected(session, clock.tick, Phase.ORDERS, is_turn_of_both=False)
    countdown = session.countdown
    if countdown is None:
        raise unexpected_message()
    stopped = Countdown(countdown.limit_s, min(countdown.left_s, clock.left_s))
    if clock.is_held:
        paused = replace(session, countdown=stopped, paused_by=str(remote.their_seat))
        return paused, (Signal(Cue.PAUSED, BOTH),)
    return replace(session, countdown=stopped.start(now_s), paused_by=""), (
        Signal(Cue.RESUMED, BOTH),
    )


def _receive_question(session: Session, remote: RemoteGame, question: QuestionAsked) -> Transition:
    """Answer a question, and do what it asks for unless it comes too late."""
    if remote.open_question and remote.own_seat is Seat.SOUTH:
        return session, ()  # South's question counts, and its answer is on the way
    session = with_remote(session, open_question="")
    if question.what == "draw" and session.draw_offer is not remote.own_seat:
        return _with_own_action(_with_message(session, QuestionAnswered(is_agreed=False))), ()
    return _fold_and_tell(
        session, _record_for(question.what, remote.their_seat), QuestionAnswered(is_agreed=True)
    )


def _receive_answer(
    session: Session, remote: RemoteGame, answer: QuestionAnswered, now_s: float
) -> Transition:
    """Do what this table has asked for, or continue if the answer is no."""
    if not remote.open_question:
        raise unexpected_message()
    session = with_remote(session, open_question="")
    if answer.is_agreed:
        if remote.open_question == "draw":
            session = replace(session, draw_offer=remote.their_seat)
        return fold_at_one_table(session, _record_for(remote.open_question, remote.own_seat))
    # The answer is no: send this table's action, and process the other's, which have waited for it.
    session = with_remote(_with_own_action(session), waiting_action=None)
    if remote.waiting_action is None:
        return session, ()
    return _receive_action(session, remote_of(session), remote.waiting_action, now_s)


def _require_expected(
    session: Session, tick: int, phase: Phase, is_turn_of_both: bool | None = None
) -> None:
    """Raise `Malformed` unless a message of this tick and phase may arrive now.

    With `is_turn_of_both` given, both seats have to be due (True), or only the other table's seat
    (False).
    """
    if (session.tick, session.phase) != (tick, phase):
        raise unexpected_message()
    if is_turn_of_both is not None:
        due = session.require_game().to_act(session.state)
        if due != (BOTH if is_turn_of_both else {remote_of(session).their_seat}):
            raise unexpected_message()


# ---- the state of the other table ----------------------------------------------------------------


def remote_of(session: Session) -> RemoteGame:
    """Return the state of a game at two tables. Raises `RuntimeError` if it is at one table."""
    if session.remote is None:
        raise RuntimeError("this game is not at two tables")
    return session.remote


def with_remote(session: Session, **changes: object) -> Session:
    """Return the session with changes to the state of the other table."""
    # mypy does not check the keywords of replace()
    return replace(session, remote=replace(remote_of(session), **changes))  # type: ignore[arg-type]


def unexpected_message() -> Malformed:
    """Return the error for a message that does not fit the state of the game."""
    return Malformed(say("What the other table sends does not fit this game: it cannot go on"))


def _fold_and_tell(session: Session, record: AnyRecord, message: RemoteMessage) -> Transition:
    """Fold a record, and add the message that tells the other table of it."""
    after, signals = fold_at_one_table(session, record)
    return _with_message(after, message), signals


def _with_message(session: Session, message: RemoteMessage) -> Session:
    return with_remote(session, outgoing_messages=(*remote_of(session).outgoing_messages, message))
