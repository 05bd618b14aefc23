"""What the camera tells the table: the board is read, hands are followed, plays recognised, early presses judged."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from companion.core.errors import Ambiguous, CompanionError, Illegal, Refusal
from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import CameraState, CameraStatus, Cue, Reading, Signal
from companion.games.mixins import CardGame
from companion.table import board_check
from companion.table.board_check import Before, Problem
from companion.table.pipeline import Pipeline
from companion.table.records import Begin, StageDone
from companion.table.session import BOTH, Phase
from companion.table.state import TableState, is_in_hand, problems_of

EARLY_PRESS_S = 3.0
"""So long a press of the clock waits for a camera that does not see the board lie still."""


class BoardFollower(Pipeline):
    """The part of the table that follows the board; `Table` adds what people say."""

    @abstractmethod
    def _hand_in(  # noqa: PLR0917 - one input, word for word
        self, seat: Seat, moment: str, action: str, salt: str, at_s: float, read_s: float
    ) -> str:
        """Seal an action; `read_s`: until then the board was read."""

    @abstractmethod
    def _stamp(self, at_s: float | None) -> float:
        """When an input counts."""

    def _saw(self, reading: Reading) -> None:
        live = self._live
        old = live.reading
        changed = old is None or old.essence != reading.essence
        if not changed:
            self._live = replace(live, reading=reading)
            self._settle_early_press()
            return
        suggested = reading.game if reading.quiet and live.session.phase in (Phase.LOBBY, Phase.OVER) else None
        touched = live.touched | _covered_since(old, reading)
        self._live = replace(live, reading=reading, suggested=suggested, laid=_laid_open(live, reading), choices=())
        self._live = replace(self._live, touched=touched)
        found = problems_of(self._live)
        is_other = found or reading.markers != live.markers_before  # a piece may lie on one that looks the same
        is_due = reading.quiet and self._live.watched and live.session.phase is Phase.ORDERS
        if is_other and is_due and (seat := _on_turn(live)) is not None:
            self._recognise(seat, found)
        else:
            if is_due and not found:
                self._live = replace(self._live, markers_before=reading.markers)
            self._publish(replace(self._live, problems=found), self._problem_signals(live.problems, found))
        self._tick_off()
        self._settle_early_press()

    def _problem_signals(self, before: tuple[Problem, ...], now: tuple[Problem, ...]) -> tuple[Signal, ...]:
        if now and now != before:
            return (Signal(Cue.BOARD_WRONG, self.view().sign.seats or BOTH),)
        if before and not now:
            return (Signal(Cue.BOARD_AGREES, BOTH),)
        return ()

    def _tick_off(self) -> None:
        """Accept the set-up or the stage that the camera shows finished."""
        session, reading = self._live.session, self._live.reading
        if session.target is None or reading is None or not self._live.watched:
            return
        now_s = self._clock.monotonic_s()
        if session.phase is Phase.SETUP and self._live.agrees:
            self._accept(Begin("camera", now_s))
        elif session.phase is Phase.STAGES and session.has_moves and self._is_followed():
            self._accept(StageDone(session.moment, session.stage, "camera", now_s))
            self._tick_off()

    def _is_followed(self) -> bool:
        """Have hands done the stage that is shown, or a later one of a turn that one seat alone has taken?"""
        session = self._live.session
        shown_s = self._clock.monotonic_s() - self._stage_since_s
        if session.stages[session.stage].tallies and shown_s < self._settings.reading_time_s:
            return False  # sums are read before the board moves on
        if self._live.agrees:
            return True
        later = session.stages[session.stage + 1 :] if len(session.turns[-1].sealed) == 1 else ()
        return any(self._live.shows(stage.expected) for stage in later)

    def _recognise(self, seat: Seat, found: tuple[Problem, ...]) -> None:
        """Accept the play that hands have made on the board; ask when it can mean several, say why it is none."""
        live, session, reading = self._live, self._live.session, self._live.reading
        if reading is None:
            return
        in_hand = is_in_hand(live, found)
        found = () if in_hand else found
        wrong = replace(live, problems=found)
        if session.paused or session.is_machines(seat):
            self._publish(wrong, self._problem_signals(live.problems, found))
            return
        try:
            before = Before(session.playing.kit(session.options), session.board or {}, live.markers_before)
            action = board_check.explain(session.playing, seat, reading, session.candidates(seat), before)
        except Ambiguous as question:
            asked = () if in_hand else (Signal(Cue.ASKED, frozenset({seat})),)
            self._publish(replace(wrong, choices=question.choices), asked)
            return
        if action is None:
            if not found and not in_hand:
                wrong = replace(wrong, markers_before=reading.markers)
            seen = board_check.remembered(reading, session.board or {})
            why_not = None if in_hand else session.playing.why_not(session.state, seat, seen)
            self._publish(replace(wrong, why_not=why_not), self._problem_signals(live.problems, found))
            return
        self._live = replace(live, problems=())
        at_s = min(reading.at_s, live.early.at_s) if live.early else reading.at_s
        self._hand_in(seat, session.moment, session.playing.format(action), "", self._stamp(at_s), 0.0)

    # ---- a clock pressed while hands are still at the board ------------------------------------------------------

    def _is_early(self, seat: Seat, moment: str, action: str, at_s: float) -> bool:
        """Must the camera look once more before this end of a turn can be judged, because a hand has just moved?"""
        session, reading = self._live.session, self._live.reading
        if session.bank is None or moment != session.moment or seat not in session.awaited or not self._live.watched:
            return False
        if reading is None or action not in session.open_actions:
            return False
        if not reading.quiet:
            return True
        try:
            session.playing.check(session.state, seat, session.playing.parse(action))
        except Illegal:
            return reading.at_s < at_s
        return False

    def _settle_early_press(self) -> None:
        """Judge a press that waits for the camera, by its own time stamp, as soon as the board lies still."""
        early, reading, now_s = self._live.early, self._live.reading, self._clock.monotonic_s()
        if early is None:
            return
        session = self._live.session
        is_over = session.phase is not Phase.ORDERS or early.seat not in session.awaited
        is_seen = reading is not None and reading.quiet and reading.at_s >= early.at_s
        if not is_over and not is_seen and now_s < early.at_s + EARLY_PRESS_S:
            return
        self._live = replace(self._live, early=None)
        try:
            if is_over or self._live.problems:
                raise Illegal(Refusal.WRONG_PHASE, say("The board is not as it should be"))
            self._hand_in(early.seat, session.moment, early.action, "", early.at_s, now_s)
        except CompanionError:
            self._publish(self._live, (Signal(Cue.KEY_REFUSED, frozenset({early.seat})),))

    def _camera_is(self, status: CameraStatus) -> None:
        if status == self._live.camera:
            return
        live = replace(self._live, camera=status)
        if status.state is not CameraState.SEES_BOARD:
            live = replace(live, reading=None, problems=(), suggested=None)
        # One trouble after the other, as it is tried again, is told in words but signalled once.
        worse = status.state is CameraState.TROUBLE and self._live.camera.state is not CameraState.TROUBLE
        self._publish(live, (Signal(Cue.TROUBLE, BOTH),) if worse else ())


def _on_turn(live: TableState) -> Seat | None:
    """The one seat whose play hands may make on the board; None where actions are sealed, also for the last of them."""
    session = live.session
    due = session.playing.to_act(session.state)
    return next(iter(due)) if len(due) == 1 and due == session.awaited else None


def _covered_since(old: Reading | None, new: Reading) -> frozenset[Square]:
    """Squares whose piece the camera no longer sees: a hand is over them, or has lifted it."""
    seen = old.seen.items() if old and old.game == new.game else ()
    return frozenset(square for square, face in seen if square in new.unknown or new.seen.get(square) != face)


def _laid_open(live: TableState, reading: Reading) -> dict[Seat, str]:
    """The actions that cards or pieces on the table mean, once they lie still and every zone is seen."""
    session, game = live.session, live.session.game
    if session.phase is not Phase.ORDERS or game is None or not reading.quiet or reading.unknown:
        return {}
    if reading.game != game.name:
        return {}
    people = [seat for seat in session.awaited if not session.is_machines(seat)]
    if isinstance(game, CardGame) and live.has_cards:
        found = {seat: game.laid_open(session.state, reading.fans, live.fans_before) for seat in people}
    elif len(game.to_act(session.state)) > 1:
        found = {seat: game.laid_out(session.state, seat, reading.seen) for seat in people}
    else:
        return {}
    return {seat: game.format(action) for seat, action in found.items() if action is not None}
