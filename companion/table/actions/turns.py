"""What anybody does with the turn that is due, beside handing in an order: act, confirm, take back."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from companion.core.errors import Illegal, Refusal, Stale
from companion.core.i18n import say, to_owner
from companion.table.pipeline import Pipeline
from companion.table.records import Begin, HandIn, StageDone, Undo
from companion.table.seats.coaching import no_reasons
from companion.table.session import Phase
from companion.table.state import instructions, last_explained


class Turns:
    """Moves a turn on, or back; every method is called by the table's thread."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def act(self, moment: str, action: str, at_s: float) -> None:
        """Anybody at the table acts for the seat on turn, where the game is open."""
        session = self._pipeline.session
        self._require_now(moment)
        if not session.is_open:
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("Only the seat whose turn it is can do that"))
        if action not in session.open_actions and action not in self._pipeline.live.laid.values():
            raise Illegal(Refusal.NOT_TO_ACT, say("That cannot be done from the table: use the seat’s phone"))
        (seat,) = session.awaited
        if session.is_machines(seat):
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("The machine plays this seat"))
        self._pipeline.hand_in(HandIn(seat, moment, action, now_s=at_s))

    def undo(self, moment: str | None) -> None:
        """Take the last turn back: the host's word (None), or anybody's who names the moment of an open game."""
        if moment is not None:
            self._require_now(moment)
            if not self._pipeline.session.is_open:
                raise Illegal(Refusal.HOST_ONLY, say("Only the host can take this turn back"))
        self._pipeline.accept(Undo())

    def confirm(self, by: str, moment: str, stage: int, force: bool) -> None:
        """The board is as it should be, in the set-up or after a stage; `force` overrules the camera."""
        session = self._pipeline.session
        if (moment, stage) != (session.moment, session.stage):
            raise Stale(say("That step is already done"))
        if self._pipeline.live.watched and not force:
            self._refuse_if_disagreeing(by)
        now_s = self._pipeline.now_s()
        if session.phase is Phase.SETUP:
            self._pipeline.accept(Begin(by, now_s))
        else:
            self._pipeline.accept(StageDone(moment, stage, by, now_s))
        live = self._pipeline.live
        if force and live.problems:
            self._pipeline.publish(replace(live, overruled=frozenset(live.problems), problems=()))

    def help(self, is_wanted: bool, reasons: bool = False) -> None:
        """Tell what the rules allow now, or why the machine did what it did, or nothing any more."""
        live = self._pipeline.live
        if is_wanted and live.session.phase is not Phase.ORDERS:
            raise Illegal(Refusal.WRONG_PHASE, say("There is nothing to decide now: do as the sign says"))
        if is_wanted and reasons and last_explained(live) is None:
            raise Illegal(Refusal.WRONG_PHASE, no_reasons())
        wanted: Literal["moves", "reasons"] = "reasons" if reasons else "moves"
        asked = wanted if is_wanted else ""
        if live.asked != asked:
            self._pipeline.publish(replace(live, asked=asked))

    def _require_now(self, moment: str) -> None:
        if moment != self._pipeline.session.moment:
            raise Stale(say("That turn is over: look at the page again"))

    def _refuse_if_disagreeing(self, by: str) -> None:
        """Raise `Illegal` with what the camera sees, said to `by`, when that is not what is to be confirmed."""
        live = self._pipeline.live
        if live.session.target is None or live.reading is None or live.agrees:
            return
        if live.problems:
            raise Illegal(Refusal.WRONG_PHASE, live.problems[0].text)
        todo = sorted((i for i in instructions(live) if not i.move.done), key=lambda i: i.seat != by)
        if todo:
            first, kit = todo[0], live.session.kit
            text = to_owner(first.text, kit.sides[first.seat].name) if kit and first.seat == by else first.text
            raise Illegal(Refusal.WRONG_PHASE, say("{todo}. The camera has not seen that yet.", todo=text))
