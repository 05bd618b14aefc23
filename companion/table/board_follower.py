"""Follow the board through the camera.

The follower ticks off moves of pieces, recognises actions that hands make on the board, and judges
presses of the clock that come while hands are still at the board.

A stage is the part of a revealed turn that hands are carrying out. The other words are explained in
`companion.table.session`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from companion.core.errors import CompanionError, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Layout, Seat
from companion.core.ports import CameraState, CameraStatus, Cue, Reading, Signal, signal_to
from companion.table import board_check
from companion.table.board_check import NO_READING, BoardBefore, Problems
from companion.table.lesson_progress import lesson_action_of
from companion.table.prompts.sign import sign_of
from companion.table.records import HandIn, StageDone
from companion.table.remote.fold import fold_record
from companion.table.session import BOTH, Phase, Session, Signals, StageKey
from companion.table.state import TableState, problems_of
from companion.table.store import TableStore
from companion.table.turns import end_stage, hand_in

# Timeout in seconds for a press of the clock that waits until the camera sees a quiet board. After
# that the last reading counts. With a longer timeout, a camera that sees nothing would hold up a
# finished turn for longer. With a shorter one, a correct press would be refused because hands or
# the camera are slow.
EARLY_PRESS_TIMEOUT_S = 3.0


class BoardFollower:
    """Follows the board of one table, and hands in for players what the camera sees.

    What it does with a quiet board, on which nothing moves, depends on what is due:

    - A set-up, or a stage in which hands have work, ends as soon as the board shows what is
      expected.
    - If one seat is on turn, it hands in the action that the board shows. If the board can mean
      several actions, or does not prove the one, it asks the player. If it means no legal action,
      it shows the broken rule.
    - In every other case it shows which pieces are wrong.

    The table makes the follower, and calls it for each reading and at each heartbeat of the table's
    thread. Callers of its methods hold the table's lock.
    """

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._judged_for: tuple[StageKey, str] | None = None
        """The stage for which the last reading was judged, and `Session.paused_by` at that time."""

    def handle_reading(self, reading: Reading) -> None:
        """Process a reading of the board. A reading equal to the last one is not judged again."""
        before = self._store.live
        last_reading = before.reading
        touched_squares = before.touched_squares
        if last_reading.game == reading.game:
            # These squares had pieces that hands have since lifted, changed or hidden.
            changed = dict(last_reading.seen.items() - reading.seen.items())
            touched_squares |= changed.keys() | (last_reading.seen.keys() & reading.unknown)
        self._store.live = replace(before, reading=reading, touched_squares=touched_squares)
        if last_reading != reading:
            self._judge_reading(before)
        self.act_on_last_reading()

    def act_on_last_reading(self) -> None:
        """Judge the last reading again if the game has moved on, then end what it shows as done.

        Hands may have been faster than the table, so that the board was already right when the
        table asked for it. Then the board does not change, and no new reading arrives.
        """
        live = self._store.live
        session = self._store.session
        # Between games the board of any game counts, because the lobby suggests that game.
        may_use_reading = live.sees_board or session.is_between_games
        if may_use_reading and self._judged_for != (session.stage_key, session.paused_by):
            self._judge_reading(live)
        if self._store.live.session.phase in (Phase.SETUP, Phase.STAGES):
            self._end_finished_stage()
        if self._store.live.early_press:
            self._settle_early_press()

    def _judge_reading(self, before: TableState) -> None:
        """Find out what the last reading shows, and act on it or publish it.

        1. Between games, it may show the board of a game, which the lobby suggests.
        2. While orders are due, cards or pieces may stand for actions that wait to be confirmed
           (`laid_actions`).
        3. If one seat is on turn, hands may have made its action. That is handed in.
        4. If a turn's last stage is shown, hands may have gone on to the next action. Then the
           stage is finished, too.
        5. Everything else that differs from the expected board is a problem.

        `before` is the table's state with the previous reading.
        """
        live = self._store.live
        session = before.session
        reading = live.reading
        self._judged_for = (session.stage_key, session.paused_by)
        suggested = reading.game if reading.quiet and session.is_between_games else None
        # False while the camera does not see the board, because `quiet_reading` is then empty.
        is_action_due = live.quiet_reading.quiet and session.phase is Phase.ORDERS
        laid = _find_laid_actions(live) if is_action_due and not reading.unknown else {}
        live = replace(live, suggested_game=suggested, laid_actions=laid, possible_actions=())
        self._store.live = live
        problems = problems_of(live)
        seat = _seat_on_turn(session) if is_action_due else None
        # What looks like a problem may be an action, so look for actions first.
        if seat is not None and (problems or _have_markers_changed(live)):
            self._recognise_action(seat, problems)
            return
        is_quiet_in_stages = reading.quiet and session.phase is Phase.STAGES
        if problems and is_quiet_in_stages and self._has_next_action_begun():
            end_stage(self._store, "camera")
            # `act_on_last_reading` judges the same reading again, and recognises the action.
            return
        # Keep the time of the first reading that disagrees. People may overrule the camera only
        # when it has disagreed for some time.
        since_s = self._store.now_s() if live.disagrees_since_s is None else live.disagrees_since_s
        live = replace(live, problems=problems, disagrees_since_s=since_s if problems else None)
        if is_action_due and not problems:
            markers = board_check.known_markers(before.markers_before, reading)
            live = replace(live, markers_before=markers)
        if live != before:
            self._publish(live, before.problems)

    def _publish(self, live: TableState, problems_before: Problems) -> None:
        """Publish the state, and signal when the board becomes wrong or right.

        A wrong board is signalled to the seats that the sign addresses.
        """
        signals: Signals = ()
        if live.problems and live.problems != problems_before:
            signals = (Signal(Cue.BOARD_WRONG, sign_of(live, None).seats or BOTH),)
        elif problems_before and not live.problems:
            signals = (Signal(Cue.BOARD_AGREES, BOTH),)
        self._store.publish(live, signals)

    def _end_finished_stage(self) -> None:
        """End the set-up or the stage if the camera sees that it is finished."""
        live = self._store.live
        session = live.session
        if session.expected_layout is None or not live.sees_board or session.awaits_other_table:
            return
        if session.phase is Phase.SETUP:
            is_done = live.shows_expected_layout
        else:
            is_done = session.needs_hands and self._is_stage_shown()
        if is_done:
            end_stage(self._store, "camera")
            # The same reading may also show the next stage as finished.
            if self._store.session.phase is Phase.STAGES:
                self._end_finished_stage()

    def _is_stage_shown(self) -> bool:
        """Return whether the board shows that the current stage is done.

        In a turn of one seat, the board may also show a later stage.
        """
        live = self._store.live
        session = self._store.session
        if live.headline:
            return False  # people read the headline first
        if live.shows_expected_layout:
            return True
        # A turn of both seats is revealed stage by stage, so no stage may be skipped.
        later_stages = session.stages[session.stage_index + 1 :]
        return session.last_turn.is_of_one_seat and any(
            live.shows_layout(stage.expected) for stage in later_stages
        )

    def _has_next_action_begun(self) -> bool:
        """Return whether hands have gone on to the next action, before the last stage has ended.

        If so, the last stage of the previous seat's turn is finished as well.
        """
        session = self._store.session
        is_last = session.stage_index == len(session.stages) - 1
        is_waiting = session.awaits_other_table or session.paused_by or session.shown_stage.tallies
        if not is_last or not session.last_turn.is_of_one_seat or is_waiting:
            return False
        # Fold the end of the stage without accepting it, to see what may be played after it.
        stage_done = StageDone(session.moment, session.stage_index, "camera", self._store.now_s())
        after_stage, _ = fold_record(session, stage_done)
        return self._is_next_action_shown(after_stage)

    def _is_next_action_shown(self, session: Session) -> bool:
        """Return whether the board shows a legal action of the next person on turn."""
        live = self._store.live
        now_s = self._store.now_s()
        seat = _seat_on_turn(session)
        if seat is not None and session.is_machine_seat(seat):
            # If the machine can end its turn now, hands may already have made the action of the
            # next seat. A machine ends its turn by an action that moves no piece.
            endings = (
                action for action, layouts in actions_with_layouts(session, seat) if not layouts
            )
            ending = next(endings, None)
            if ending is None:
                return False
            notation = session.require_game().format(ending)
            session, _ = fold_record(
                session, HandIn(seat, session.moment, notation, "0", now_s=now_s)
            )
            seat = _seat_on_turn(session)
        if seat is None or session.paused_by or not session.is_played_here(seat):
            return False
        candidates = actions_with_layouts(session, seat)
        proven, _ = board_check.match_actions(
            candidates, live.reading, _board_before(live, session)
        )
        return bool(proven)

    def _recognise_action(self, seat: Seat, problems: Problems) -> None:
        """Accept the action that hands have made on the board, for a person at this table.

        If the board can mean several actions, or one that it does not prove, ask the player. If it
        means no legal action, show which rule is broken.
        """
        live = self._store.live
        session = self._store.session
        reading = self._store.live.reading
        is_in_hand = _is_piece_in_hand(live, problems)
        problems = () if is_in_hand else problems
        if session.paused_by or not session.is_played_here(seat):
            # Hands may have acted before the machine has ended its turn.
            is_machine_due = session.is_machine_seat(seat) and not session.paused_by
            if is_machine_due and self._is_next_action_shown(session):
                problems = ()
            self._publish(replace(live, problems=problems), live.problems)
            return
        game = session.require_game()
        before = _board_before(live, session)
        proven, possible = board_check.match_actions(
            actions_with_layouts(session, seat), reading, before
        )
        if len(proven) == 1:
            self._store.live = replace(live, problems=())
            # The action counts from the time it was seen, or from an earlier press of the clock.
            press = live.early_press
            now_s = self._store.now_s()
            acted_s = min(reading.at_s, press.now_s if press else now_s, now_s)
            notation = game.format(proven[0])
            hand_in(self._store, HandIn(seat, session.moment, notation, now_s=acted_s))
            return
        if actions := tuple(map(game.format, proven or possible)):
            # While a player still holds a piece, the choice appears without a sound.
            signals = () if is_in_hand else (signal_to(seat, Cue.ASKED),)
            ambiguous = replace(live, problems=problems, possible_actions=actions)
            self._store.publish(ambiguous, signals)
            return
        live_with_problems = replace(live, problems=problems, broken_rule=None)
        if not is_in_hand:
            reading_with_stacks = board_check.with_expected_stacks(
                before.kit, before.layout, reading
            )
            faces = board_check.known_faces(reading_with_stacks, before.layout)
            broken_rule = game.why_not(session.state, seat, faces)
            live_with_problems = replace(live_with_problems, broken_rule=broken_rule)
            if not problems:
                markers = board_check.known_markers(live.markers_before, reading)
                live_with_problems = replace(live_with_problems, markers_before=markers)
        self._publish(live_with_problems, live.problems)

    # ---- a clock pressed while hands are still at the board --------------------------------------

    def _settle_early_press(self) -> None:
        """Judge an early press of the clock as soon as the board is quiet, or after the timeout.

        If the press is accepted, the clock stops at the time of the press. The press is refused if
        the board has problems.
        """
        live = self._store.live
        now_s = self._store.now_s()
        session = live.session
        press = live.early_press
        reading = live.reading
        if press is None:
            return
        is_turn_over = press.seat not in session.awaited_seats
        # Only a quiet picture newer than the press shows the board that counts.
        is_read = reading.quiet and reading.at_s >= press.now_s
        has_time = now_s < press.now_s + EARLY_PRESS_TIMEOUT_S
        if has_time and not is_turn_over and not is_read:
            return
        self._store.live = replace(live, early_press=None)
        try:
            if is_turn_over or live.problems:
                raise wrong_phase(say("The board is not as it should be"))
            # The moment is another one if the camera has recognised an action since the press.
            record = msgspec.structs.replace(press, moment=session.moment, read_s=now_s)
            hand_in(self._store, record)
        except CompanionError:
            self._store.publish(self._store.live, (signal_to(press.seat, Cue.KEY_REFUSED),))

    def set_camera_status(self, status: CameraStatus) -> None:
        """Process a new state of the camera, and signal the first of its failures."""
        before = self._store.live
        if status == before.camera:
            return
        live = replace(before, camera=status)
        if status.state is not CameraState.SEES_BOARD:
            live = replace(live, reading=NO_READING, problems=(), suggested_game=None)
        # A camera that is opened again and again reports each failure. Only the first is signalled.
        is_new_trouble = (
            status.state is CameraState.TROUBLE and before.camera.state is not CameraState.TROUBLE
        )
        self._store.publish(live, (Signal(Cue.TROUBLE, BOTH),) if is_new_trouble else ())


def _board_before(live: TableState, session: Session) -> BoardBefore:
    kit = session.require_game().kit(session.options)
    return BoardBefore(kit, session.layout or {}, live.markers_before)


def _have_markers_changed(live: TableState) -> bool:
    """Return whether a marker that the camera sees differs from the one read there before.

    If so, a piece may have been laid on another one that looks the same.
    """
    before = live.markers_before.items()
    reading = live.reading
    visible = {square: marker for square, marker in before if square not in reading.unknown}
    return reading.markers != visible


def _is_piece_in_hand(live: TableState, problems: Problems) -> bool:
    """Return whether the only problem is a piece that the player on turn may hold in the hand.

    It must be missing on its square, and be this seat's own piece or a neutral one.
    """
    session = live.session
    if len(session.awaited_seats) != 1 or len(problems) != 1 or session.kit is None:
        return False
    (problem,), (seat,) = problems, session.awaited_seats
    is_gone = problem.square == problem.home and problem.square not in live.reading.seen
    return is_gone and session.kit.face(problem.face).seat in (None, seat)


def _seat_on_turn(session: Session) -> Seat | None:
    """Return the one seat that may act on the board.

    None in a turn of both seats, whose actions are sealed, even if only one of them is missing.
    """
    due = session.require_game().to_act(session.state)
    return next(iter(due)) if len(due) == 1 and due == session.awaited_seats else None


def actions_with_layouts(session: Session, seat: Seat) -> Iterator[tuple[Any, tuple[Layout, ...]]]:
    """Yield every legal action of a seat on turn, with the layouts that hands may produce for it.

    These include layouts after its stages, such as a piece that is already turned over. In a lesson
    only the action that it asks for is yielded.
    """
    game = session.require_game()
    lesson_action = lesson_action_of(session, seat)
    for play in game.plays(session.state, seat):
        if lesson_action is not None and play.text != lesson_action:
            continue
        action = game.parse(play.text)
        result = game.apply(session.state, {seat: action}, session.rng)
        layouts = game.layouts_by_hand(session.state, seat, action, result)
        # An action without a move of pieces has no layout.
        yield action, layouts if play.is_by_hand else ()


def _find_laid_actions(live: TableState) -> dict[Seat, str]:
    """Return the actions in notation that cards or pieces on the table stand for, by seat.

    The caller makes sure that the reading is quiet and that nothing is hidden.
    """
    session = live.session
    game = live.session.require_game()
    laid = {}
    for seat in filter(session.is_played_here, session.awaited_seats):
        action = None
        if live.has_cards:
            action = game.laid_open(session.state, live.reading.fans, live.fans_before)
        elif len(game.to_act(session.state)) > 1:
            action = game.laid_out(session.state, seat, live.reading.seen)
        if action is not None:
            laid[seat] = game.format(action)
    return laid
