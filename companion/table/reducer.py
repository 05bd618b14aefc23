"""The reducer: it folds a record of the journal into the next session, with cues to announce it.

The functions are pure. They either raise, and nothing has happened, or return the result. The table
writes the record to disk before anybody sees the new session. After a restart, folding the same
records leads to the same session. All times come with the records, as monotonic seconds.

`_FOLDS` at the end names the function for each kind of record. Those for seats are in
`seats/seat_fold.py`, those that undo something in `undo.py`. In a game at two tables,
`remote/fold.py` comes before this module. The words (moment, tick, stage, sealed) are explained in
`session.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from companion.core.errors import Illegal, Refusal, Stale, wrong_phase
from companion.core.i18n import Verbatim, say
from companion.core.kit import Seat
from companion.core.ports import Cue, Signal
from companion.games import game_named
from companion.games.action_words import lesson_reminder
from companion.games.base import Drawn, Outcome
from companion.table.chance.fairness import (
    Contribution,
    FairChance,
    chance_from_salts,
    turn_random,
)
from companion.table.clocks.countdown import Countdown, next_chess_clocks
from companion.table.lesson_progress import lesson_action_of, lesson_step_index
from companion.table.records import (
    BY_RESTART,
    Abandon,
    AnyRecord,
    AskCoach,
    Begin,
    Commit,
    Contribute,
    Decline,
    Disclose,
    FreeSeat,
    HandIn,
    MoveSeat,
    NewGame,
    OfferDraw,
    Pause,
    ReceiveMessage,
    Record,
    RequestUndo,
    Resign,
    Resume,
    ShowCard,
    SkipLesson,
    StageDone,
    TakeBack,
    TakeSeat,
    TimeOut,
    Undo,
)
from companion.table.remote.messages import REMOTE, RemoteGame
from companion.table.seats.seat_fold import free_seat, move_seat, parse_name, show_card, take_seat
from companion.table.session import (
    ABANDONED,
    BOTH,
    Phase,
    Player,
    SealedAction,
    Session,
    Transition,
    Turn,
    event_signals,
    receipt_of,
    stage_signals,
    turn_is_over,
)
from companion.table.undo import decline, request_undo, take_back, undo, with_lasting_parts


def fold_at_one_table(session: Session, record: AnyRecord) -> Transition:
    """Return the session after a record, and the cues that announce it.

    This is for games in which both seats are played at this table. Only `remote/fold.py` calls it:
    every other caller uses the `fold_record` of that module.

    Raises a `CompanionError` and changes nothing if the record is refused.
    """
    return _FOLDS[type(record)](session, record)


def _begin_game(session: Session, record: NewGame) -> Transition:
    """Begin a game with its set-up, or with its first orders if it has no board to set up.

    A game that is still in its first set-up is replaced. Raises `Illegal` if a game has come
    further, and `Malformed` for unknown games and options.
    """
    game = game_named(record.game)
    options = game.options(record.options)
    is_undoing = session.phase is Phase.SETUP and session.tick > 0
    if session.is_in_play or is_undoing:
        raise wrong_phase(say("A game is on: end it before you start another one"))
    # Without fair chance, the record itself has the seed.
    seed = record.chance.seed if record.chance else record.seed
    state = game.setup(options, turn_random(seed, 0))
    layout = game.expected(state)
    begun = Session(
        seats=_seats_in_new_game(session, record),
        game_number=record.number,
        game=game,
        options=options,
        chosen_options=record.options,
        seed=seed,
        chance=record.chance,
        is_seed_chosen=record.is_chosen,
        is_guided=record.is_guided and game.lesson is not None,
        state=state,
        phase=Phase.SETUP,
        layout=layout,
        score=record.score,
        remote=RemoteGame(record.remote) if record.remote else None,
    )
    if layout is None:
        return _begin_turn(begun, 0.0)
    return begun, (Signal(Cue.HANDS_WANTED, BOTH),)


def _seats_in_new_game(session: Session, record: NewGame) -> dict[Seat, Player]:
    """Return the players as a game begins.

    A player at another table is among them for this game only.
    """
    seats = session.seats_here
    if remote := record.remote:
        # This table plays the other seat in this game, so its player changes sides.
        if remote.seat in seats and remote.seat.other not in seats:
            seats[remote.seat.other] = seats.pop(remote.seat)
        seats[remote.seat] = Player(parse_name(remote.name), remote.nonce, REMOTE)
    return seats


def _end_setup(session: Session, record: Begin) -> Transition:
    """End the set-up. If it was for an undone turn, the clock of that turn starts again."""
    if session.phase is not Phase.SETUP:
        raise wrong_phase(say("There is nothing to set up now"))
    if session.undone_layout and session.paused_by == "undo":
        session = replace(session, paused_by="")
    return _begin_turn(session, record.now_s)


def _begin_turn(session: Session, now_s: float) -> Transition:
    """Begin a new turn, for which no seat has handed in an action yet."""
    awaiting = replace(
        session,
        phase=Phase.ORDERS,
        tick=session.tick + 1,
        sealed={},
        stage_index=0,
        has_taken_back=False,
    )
    return _set_clock(awaiting, now_s)


def _set_clock(session: Session, now_s: float) -> Transition:
    """Set the clock of the decision that is due, and call the seats that have to act by a cue.

    A lesson has no clock. The first clock of a game, or the first one after its lesson, is paused
    until somebody starts it. If the same seat acts again, its chess clock keeps running. Otherwise
    the clock of the other seat starts.
    """
    game = session.require_game()
    due = session.awaited_seats
    clocks_before = session.chess_clocks
    is_learning = session.is_guided and lesson_step_index(session) is not None
    chess_clock = None if is_learning else game.chess_clock(session.state)
    limit_s = None if is_learning else game.time_limit(session.state)
    countdown = Countdown(limit_s, limit_s) if limit_s is not None else None
    is_first_clock = session.countdown is None and (not session.turns or session.is_guided)
    is_same_seat = len(due) == 1 and due == session.last_turn.sealed.keys()
    if chess_clock:
        (seat,) = due
        clocks = next_chess_clocks(clocks_before, session.countdown, chess_clock, seat)
        session = replace(session, chess_clocks=clocks)
        countdown = Countdown(chess_clock.seconds, clocks.left_s[seat])
        # The store pauses the first chess clock of a game without a lesson.
        is_first_clock = clocks_before is None and session.is_guided
        is_same_seat = clocks_before is not None and clocks_before.seat_on_turn is seat
    if countdown is None:
        session = replace(session, countdown=None, paused_by="")
    elif is_first_clock:
        paused = replace(session, countdown=countdown, paused_by="start")
        return paused, (Signal(Cue.PAUSED, BOTH),)
    else:
        if not session.paused_by:
            countdown = countdown.start(now_s)
        session = replace(session, countdown=countdown)
    # A seat that acts again needs no call.
    if is_same_seat:
        return session, ()
    return session, (Signal(Cue.ORDERS_WANTED if len(due) > 1 else Cue.TURN_PASSES, due),)


def _hand_in(session: Session, record: HandIn) -> Transition:
    """Seal a seat's action, and reveal the turn if no other action is missing.

    Raises `Stale` for another moment, `Malformed` for an action that is not in notation, and
    `Illegal` if the rules or the state of the table do not allow it.
    """
    # An order given before the time-out counts, even if it reaches the table later.
    earlier = _session_before_time_out(session, record) if session.last_turn.is_timed_out else None
    if earlier is not None:
        after, signals = _hand_in(earlier, record)
        # The tick still rises, so that input from pages that show the time-out is out of date.
        return replace(after, tick=session.tick + 1), signals
    game = session.require_game()
    seat = record.seat
    # First refuse what is out of date or not possible now, then what breaks the rules of the game.
    if record.moment != session.moment or session.phase is not Phase.ORDERS:
        raise Stale(say("That order belongs to a turn that is over: look at the page again"))
    if session.undo_requester:
        asker = game.sides[session.undo_requester].name
        raise Illegal(
            Refusal.PAUSED, say("{side!c} wants the last move back: answer first", side=asker)
        )
    if seat not in game.to_act(session.state):
        raise Illegal(
            Refusal.NOT_TO_ACT, say("{side!c} cannot act now", side=game.sides[seat].name)
        )
    if session.paused_by:
        raise Illegal(Refusal.PAUSED, say("The clock is stopped: press ready to resume"))
    action = game.parse(record.action)
    game.check(session.state, seat, action)
    if seat in session.sealed:
        raise Illegal(
            Refusal.ALREADY_SEALED, say("Your order is already sealed: take it back first")
        )
    # The same action may be written in several ways. Its receipt is that of the usual one.
    notation = game.format(action)
    lesson_action = lesson_action_of(session, seat) if session.is_guided else None
    if lesson_action is not None and notation != lesson_action:
        raise Illegal(Refusal.LESSON, lesson_reminder(game, session.state, seat, lesson_action))
    # The nonce tells who may see the order. A later player of this seat may only take it back.
    nonce = session.nonce_of(seat) or ""
    receipt = receipt_of(session.moment, seat, notation, record.salt)
    sealed = SealedAction(notation, record.salt, record.at, receipt, nonce)
    session = replace(session, sealed={**session.sealed, seat: sealed})
    signal = Signal(Cue.SEALED, frozenset({seat}))
    if session.awaited_seats:
        return session, (signal,)
    # The clock of this seat stops at the press. That of the next decision starts when the camera
    # has read the board, because nobody is charged for that time.
    next_clock_s = max(record.now_s, record.read_s)
    revealed, signals = _reveal(session, record.now_s, next_clock_s)
    return revealed, ((signal, *signals) if len(session.sealed) > 1 else signals)


def _skip_lesson(session: Session, record: SkipLesson) -> Transition:
    """Leave the lesson, and give the decision that is due the clock of a normal game."""
    if lesson_step_index(session) is None:
        raise wrong_phase(say("No lesson is on"))
    session = replace(session, has_left_lesson=True)
    return _set_clock(session, record.now_s) if session.phase is Phase.ORDERS else (session, ())


def _session_before_time_out(session: Session, record: HandIn) -> Session | None:
    """Return the session before the last time-out, for an action that was delayed on its way.

    None if the action was given too late, or if it is not for the turn that has timed out.
    """
    earlier = session.before_turn
    if earlier is None or record.moment != earlier.moment or session.phase is not Phase.ORDERS:
        return None
    # At two tables the other table already knows of the time-out.
    if session.sealed or session.remote is not None:
        return None
    turn = session.last_turn
    if turn.due_s is None or earlier.countdown is None:
        return None
    if record.seat not in turn.sealed or not 0 < record.now_s <= turn.due_s:
        return None
    limit_s = earlier.countdown.limit_s
    # Start a clock so that it runs out when the original did.
    countdown = Countdown(limit_s, limit_s, turn.due_s - limit_s)
    return replace(with_lasting_parts(session, earlier), tick=earlier.tick, countdown=countdown)


def _reveal(
    session: Session, completed_at_s: float, next_clock_s: float, is_timed_out: bool = False
) -> Transition:
    """Let the rules resolve all sealed actions, and begin the stages of the revealed turn.

    `completed_at_s` is the monotonic time at which the last action was handed in. The next clock
    runs from `next_clock_s`. `is_timed_out` is whether the clock ran out and nobody acted.
    """
    if session.remote is not None:
        session = _draw_chance_of_both(session, session.remote)
    game = session.require_game()
    countdown = session.countdown
    actions = {seat: game.parse(sealed.action) for seat, sealed in session.sealed.items()}
    result = game.apply(session.state, actions, session.rng)
    due_s = countdown.due_s if countdown else None
    turn = Turn(
        session.moment,
        session.sealed,
        result.stages,
        result.events,
        completed_at_s=completed_at_s,
        is_timed_out=is_timed_out,
        due_s=due_s,
        number=session.due_turn_number,
    )
    # If the turn is undone, the clock has as much time left as when the last action was handed in.
    before = replace(session, countdown=countdown.stop(completed_at_s) if countdown else None)
    after = replace(
        before,
        state=result.state,
        turns=(*session.turns, turn),
        sealed={},
        phase=Phase.STAGES,
        stage_index=0,
        draw_offer=None,
        undo_requester=None,
        before_turn=before,
    )
    signals = (Signal(Cue.REVEAL, BOTH),) if len(session.sealed) > 1 else ()
    if not result.stages:
        next_session, next_signals = _end_game_or_begin_turn(
            replace(after, layout=game.expected(result.state)), next_clock_s
        )
        # Signal only the most important of three: the end of the game, the events, the next turn.
        cues = () if next_session.outcome else event_signals(result.events)
        return next_session, (*signals, *(cues or next_signals))
    return after, (*signals, *stage_signals(after))


def _end_stage(session: Session, record: StageDone) -> Transition:
    """Show the next stage, or begin the next turn after the last one.

    Raises `Stale` if another stage is shown.
    """
    last_turn = session.last_turn
    if last_turn.moment == record.moment and record.stage >= max(len(last_turn.stages), 1):
        return session, ()  # an older version split this turn into more stages
    is_shown = (record.moment, record.stage) == (session.moment, session.stage_index)
    if session.phase is not Phase.STAGES or not is_shown:
        raise Stale(say("That step is already done"))
    agreed = Signal(Cue.BOARD_AGREES, BOTH)
    if session.stage_index + 1 < len(session.stages):
        shown = replace(
            session, stage_index=session.stage_index + 1, layout=session.shown_stage.expected
        )
        return shown, (agreed, *stage_signals(shown))
    layout = session.require_game().expected(session.state)
    after, signals = _end_game_or_begin_turn(replace(session, layout=layout), record.now_s)
    return after, (agreed, *signals)


def _end_game_or_begin_turn(session: Session, now_s: float) -> Transition:
    """End the game if the rules say so, or else begin the next turn."""
    outcome = session.require_game().outcome(session.state)
    return _end_game(session, outcome) if outcome else _begin_turn(session, now_s)


def _draw_chance_of_both(session: Session, remote: RemoteGame) -> Session:
    """Draw the chance of a game at two tables from both seats' first sealed actions."""
    game = session.require_game()
    if session.chance is not None or game.drawn(session.options) is not Drawn.PLAY:
        return session
    salts = {seat: sealed.salt for seat, sealed in session.sealed.items()}
    fair = chance_from_salts(remote.remote_seat.id, salts)
    return replace(session, chance=fair, seed=fair.seed)


def _commit(session: Session, record: Commit) -> Transition:
    return replace(session, commitment=record.commitment), ()


def _contribute(session: Session, record: Contribute) -> Transition:
    """Add a contribution to the chance of a running game, from a journal of an older version.

    Contributions that were made before a game are in its `NewGame` record.
    """
    fair = session.chance
    if fair is None or session.is_between_games:
        return session, ()
    contributions = {**fair.contributions, record.seat: Contribution(record.value, record.by)}
    fair = FairChance(fair.commitment, fair.secret, contributions)
    return replace(session, chance=fair, seed=fair.seed), ()


# ---- time ----------------------------------------------------------------------------------------


def _time_out(session: Session, record: TimeOut) -> Transition:
    """End the turn with the action that the rules choose for the timed-out seat.

    If the rules choose no action, the turn goes on without time. With a chess clock, the seat loses
    the game. Only one seat is due, because no game gives a time limit to a turn of both. The alarm
    is not among the cues, because the panel has sounded it on time (see `deadlines.alarms_of`).
    """
    countdown = session.countdown
    if record.moment != session.moment or session.phase is not Phase.ORDERS or countdown is None:
        raise turn_is_over()
    game = session.require_game()
    (seat,) = session.awaited_seats
    expired = replace(session, countdown=Countdown(countdown.limit_s, 0.0))
    if session.chess_clocks:
        # No time left on a chess clock ends the game, whatever the game's rules say.
        reason = say("{side!c} has no time left.", side=game.sides[seat].name)
        return _end_game(expired, Outcome(frozenset({seat.other}), reason))
    action = game.on_timeout(session.state, seat)
    if action is None:
        return expired, ()
    notation = game.format(action)
    sealed = SealedAction(notation, "", 0.0, receipt_of(session.moment, seat, notation, ""))
    session = replace(session, sealed={seat: sealed})
    after, signals = _reveal(session, record.now_s, record.now_s, is_timed_out=True)
    # The alarm has already announced that the turn passes.
    return after, tuple(signal for signal in signals if signal.cue is not Cue.TURN_PASSES)


def _pause(session: Session, record: Pause) -> Transition:
    """Stop the clock of the decision that is due. Raises `Illegal` if none is running."""
    if session.phase is not Phase.ORDERS or session.countdown is None or session.paused_by:
        raise wrong_phase(say("No clock is running"))
    # In an earlier version, "line" meant that a remote phone could not be reached.
    by = BY_RESTART if record.by == "line" else record.by
    stopped = session.countdown.stop(record.now_s)
    return replace(session, countdown=stopped, paused_by=by), (Signal(Cue.PAUSED, BOTH),)


def _resume(session: Session, record: Resume) -> Transition:
    """Start the stopped clock again. Raises `Illegal` if no clock is stopped."""
    if session.countdown is None or not session.paused_by:
        raise wrong_phase(say("The clock is not stopped"))
    running = replace(
        session,
        countdown=session.countdown.start(record.now_s),
        paused_by="",
        turns_before_resume=len(session.turns),
    )
    return running, (Signal(Cue.RESUMED, BOTH),)


# ---- ends ----------------------------------------------------------------------------------------


def _end_game(session: Session, outcome: Outcome) -> Transition:
    """End the game with an outcome, and count it. Raises `Illegal` if the game is over."""
    if session.outcome is not None or session.is_between_games:
        raise Illegal(Refusal.GAME_OVER, say("The game is already over"))
    south, north, ties = session.score
    score = (
        south + (outcome.winners == {Seat.SOUTH}),
        north + (outcome.winners == {Seat.NORTH}),
        ties + (not outcome.winners),
    )
    clocks = session.chess_clocks
    if clocks:
        clocks = replace(clocks, left_s=clocks.left_by_seat(session.countdown))
    over = replace(
        session,
        phase=Phase.OVER,
        outcome=outcome,
        score=score,
        sealed={},
        draw_offer=None,
        undo_requester=None,
        countdown=None,
        chess_clocks=clocks,
        paused_by="",
        tick=session.tick + 1,
    )
    return over, (Signal(Cue.WON if outcome.winners else Cue.TIE, outcome.winners or BOTH),)


def _ask_coach(session: Session, record: AskCoach) -> Transition:
    """Mark the game as coached for this seat. It stays so even if turns are undone."""
    if not session.is_in_play or session.is_machine_seat(record.seat):
        raise wrong_phase(say("There is nothing to ask the coach now"))
    return replace(session, coached_seats=session.coached_seats | {record.seat}), ()


def _offer_draw(session: Session, record: OfferDraw) -> Transition:
    """Offer a draw, or end the game with one if the other seat has offered it."""
    if not session.is_in_play:
        raise wrong_phase(say("A draw can only be offered during a game"))
    if session.is_machine_seat(record.seat.other):
        name = Verbatim(session.seats[record.seat.other].name)
        raise wrong_phase(say("{name} plays on: there is no draw against the machine", name=name))
    # Two offers are an agreement.
    if session.draw_offer is record.seat.other:
        return _end_game(session, Outcome(frozenset(), say("A draw.")))
    return replace(session, draw_offer=record.seat), (Signal(Cue.OFFER, BOTH),)


def _resign(session: Session, record: Resign) -> Transition:
    reason = say("{side!c} resigns.", side=session.require_game().sides[record.seat].name)
    return _end_game(session, Outcome(frozenset({record.seat.other}), reason))


def _abandon(session: Session, _: Abandon) -> Transition:
    # No tie is counted, and no cue is played.
    return replace(_end_game(session, ABANDONED)[0], score=session.score), ()


def _disclose(session: Session, _: Disclose) -> Transition:
    return session, ()  # only in journals of older versions


def _refuse_message(_session: Session, _record: ReceiveMessage) -> Transition:
    raise Stale(say("That game at two tables is over"))


# The function that folds each kind of record.
_FOLDS: Mapping[type[Record], Callable[[Session, Any], Transition]] = {
    TakeSeat: take_seat,
    FreeSeat: free_seat,
    MoveSeat: move_seat,
    ShowCard: show_card,
    Commit: _commit,
    Contribute: _contribute,
    NewGame: _begin_game,
    Begin: _end_setup,
    HandIn: _hand_in,
    TakeBack: take_back,
    StageDone: _end_stage,
    TimeOut: _time_out,
    Pause: _pause,
    Resume: _resume,
    Undo: undo,
    RequestUndo: request_undo,
    Decline: decline,
    SkipLesson: _skip_lesson,
    Resign: _resign,
    OfferDraw: _offer_draw,
    AskCoach: _ask_coach,
    Abandon: _abandon,
    Disclose: _disclose,
    ReceiveMessage: _refuse_message,
}
