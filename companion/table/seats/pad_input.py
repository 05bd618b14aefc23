"""What the keys of the pads and the table's button do: the same as taps on a page, key by key."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace

import msgspec

from companion.core.errors import CompanionError, Illegal, Refusal, Stale
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Cue, PadKey, Press, Signal
from companion.table.actions.lobby import Lobby
from companion.table.actions.tile_orders import TileOrders, awaits_tiles
from companion.table.actions.turns import Turns
from companion.table.pipeline import Pipeline
from companion.table.records import HandIn, OfferDraw, Pause, Resume, SkipLesson, TakeBack, TakeSeat
from companion.table.seats.draw_keys import DrawKeys
from companion.table.seats.pad_draft import press_order
from companion.table.seats.seating import Seating
from companion.table.session import BOTH, Phase
from companion.table.state import NO_DRAFT, Draft


class PadInput:
    """Plays what is pressed; what it refuses it says by a cue alone. Every method is called by the table's thread."""

    def __init__(
        self,
        pipeline: Pipeline,
        turns: Turns,
        lobby: Lobby,
        seating: Seating,
        *,
        tiles: TileOrders,
    ) -> None:
        self._pipeline = pipeline
        self._turns = turns
        self._lobby = lobby
        self._seating = seating
        self._tiles = tiles
        self._refused_ready: dict[str, tuple[str, int]] = {}
        self._before_question: dict[Seat, tuple[float, str, Draft]] = {}
        """What was entered before A or B went down, with the time and the moment of that."""
        self._draw_keys = DrawKeys()
        ready, table = PadKey.READY, PadKey.TABLE
        begin, confirm, again = self._begin, self._confirm, self._play_again
        orders = dict.fromkeys(PadKey, self._press_order) | {table: self._press_table}
        self._keys: Mapping[Phase, Mapping[PadKey, Callable[[Press], None]]] = {
            Phase.LOBBY: {ready: begin, table: begin, PadKey.A: begin},
            Phase.SETUP: {ready: confirm, table: confirm},
            Phase.ORDERS: orders,
            Phase.STAGES: {ready: confirm, table: confirm},
            Phase.OVER: {ready: again, table: again},
        }
        """What each key does in each phase. A key that is not there does nothing."""

    def pressed(self, press: Press) -> None:
        """Take a key that went down, or is held."""
        try:
            if press.is_long:
                self._open_seat(press)
            else:
                self._play(press)
        except CompanionError:
            if not press.held and not self._draw_keys.has_both(press.seat):
                self._refuse(press.seat)

    def released(self, press: Press) -> None:
        """The key of a press was let go."""
        self._draw_keys.release(press)

    def _open_seat(self, press: Press) -> None:
        """Open the seat of a pad whose Back key was held for two seconds to a phone."""
        if press.seat is not None and press.key is PadKey.BACK:
            self._seating.open_to_phone(press.seat)
            seats = frozenset({press.seat})
            self._pipeline.listeners.send(Signal(Cue.SEAT_TAKEN, seats))

    def _play(self, press: Press) -> None:
        session, seat = self._pipeline.session, press.seat
        if seat is not None:
            if seat not in session.seats:
                self._pipeline.accept(TakeSeat(seat, "", secrets.token_urlsafe(18), "pad"))
                return
            if not session.is_here(seat):  # the machine plays it, or another table does
                raise Illegal(Refusal.NOT_YOUR_SEAT, say("The machine plays this seat"))
            draft = self._pipeline.live.drafts.get(seat, NO_DRAFT)
            before = self._draw_keys.press(seat, press, session.moment, draft)
            if before is not None:
                self._offer_draw(seat, before)
                return
        if press.key is PadKey.BACK and press.held and session.lesson_number is not None:
            self._pipeline.accept(SkipLesson(seat or "table", self._pipeline.now_s()))
        elif session.paused and press.key in (PadKey.READY, PadKey.TABLE) and not press.held:
            self._pipeline.accept(Resume(seat or "table", self._pipeline.now_s()))
        elif handle := self._keys[session.phase].get(press.key):
            handle(press)

    def _refuse(self, seat: Seat | None) -> None:
        self._pipeline.listeners.send(Signal(Cue.KEY_REFUSED, frozenset({seat}) if seat else BOTH))

    def _begin(self, press: Press) -> None:
        """Begin a game, with a guide by key A."""
        self._require_new(press)
        if not press.held:
            self._lobby.begin_by_key(is_guided=press.key is PadKey.A)

    def _play_again(self, press: Press) -> None:
        """Play the same game again, with sides changed."""
        self._require_new(press)
        if not press.held:
            self._lobby.rematch(swap=True)

    def _confirm(self, press: Press) -> None:
        """Say that the board is as it should be. Held after a refusal, this overrules the camera."""
        self._require_new(press)
        session, by = self._pipeline.session, press.seat or "table"
        place = (session.moment, session.stage)
        if press.held:
            if self._refused_ready.pop(by, None) == place:
                self._turns.confirm(by, *place, force=True)
            return
        self._refused_ready[by] = place
        self._turns.confirm(by, *place, force=False)
        del self._refused_ready[by]

    def _require_new(self, press: Press) -> None:
        """Raise `Stale` for a press of the table's button, which comes once it is let go, that is too late."""
        if press.seat is None and press.at_s < self._pipeline.live.stage_since_s:
            raise Stale(say("That step is already done"))

    def _press_table(self, press: Press) -> None:
        """Play the shared key of a chess clock. Held, it takes back and stops the clock."""
        session = self._pipeline.session
        if not session.is_open:
            self._require_new(press)
            if not press.held:
                raise Illegal(Refusal.WRONG_PHASE, say("Orders are due"))
        elif press.held and session.turns and session.turns[-1].acted_s == press.at_s:
            self._turns.undo(session.moment)
        elif press.held:
            self._pipeline.accept(Pause("table", press.at_s))
        elif all(map(session.is_here, session.awaited)):
            (seat,) = session.awaited
            self._press_order(replace(press, seat=seat, key=PadKey.READY))

    def _press_order(self, press: Press) -> None:
        """Enter, change and hand in an action key by key; the draft stays here until it is handed in."""
        live, session, seat = self._pipeline.live, self._pipeline.session, press.seat
        assert seat is not None  # the table's own button has none, and comes by `_press_table`
        laid = live.laid.get(seat)
        if press.key is PadKey.READY and not press.held and laid and seat in session.awaited:
            self._pipeline.hand_in(HandIn(seat, session.moment, laid, now_s=press.at_s))
            return
        before = live.drafts.get(seat, NO_DRAFT)
        if awaits_tiles(session) and self._press_tiles(seat, press, has_draft=bool(before.keys)):
            return
        live = self._pipeline.live
        if press.key in (PadKey.A, PadKey.B):
            if press.held:
                self._question(seat, press)
                return
            self._before_question[seat] = (press.at_s, session.moment, before)
        step = press_order(session, seat, before.keys, press)
        for record in step.records:
            match record:
                case HandIn():
                    moment = record.moment if len(step.records) == 1 else self._pipeline.session.moment
                    self._pipeline.hand_in(msgspec.structs.replace(record, moment=moment, now_s=press.at_s))
                case TakeBack():
                    self._pipeline.accept(record)
        if step.records:
            return
        if step.cue is None:
            draft = Draft(step.draft, before.count)
            self._pipeline.live = replace(live, drafts={**live.drafts, seat: draft})
            return
        drafts = {**live.drafts, seat: Draft(step.draft, step.count)}
        self._pipeline.publish(replace(live, drafts=drafts), (Signal(step.cue, frozenset({seat}), step.count),))

    def _press_tiles(self, seat: Seat, press: Press, *, has_draft: bool) -> bool:
        """Ready says that the tiles lie, where nothing is entered on the pad; any other key, that they do not any more.

        Was that all that the key means?
        """
        session, is_ready = self._pipeline.session, seat in self._pipeline.live.tiles.ready
        if press.held or seat not in session.awaited:
            return False
        if press.key is PadKey.READY and not has_draft:
            self._tiles.ready(seat, session.moment)
            return True
        if is_ready:
            self._tiles.ready(seat, session.moment, is_ready=False)
        return is_ready and press.key is PadKey.BACK

    def _offer_draw(self, seat: Seat, before: Draft) -> None:
        """A draw is no order either: what its two keys have entered goes again."""
        live = self._pipeline.live
        if live.drafts.get(seat, NO_DRAFT) != before:
            self._pipeline.publish(replace(live, drafts={**live.drafts, seat: before}))
        try:
            self._pipeline.accept(OfferDraw(seat))
        except CompanionError:
            self._refuse(seat)

    def _question(self, seat: Seat, press: Press) -> None:
        """A or B is held: B asks what can be done now, A why the machine did what it did, where it can be asked.

        A question is no order, so what its press has entered goes again.
        """
        if press.key is PadKey.B:
            self._turns.help(self._pipeline.live.asked != "moves")
        else:
            self._turns.help(self._pipeline.live.asked != "reasons", reasons=True)
        live = self._pipeline.live
        pressed_s, moment, before = self._before_question.pop(seat, (0.0, "", NO_DRAFT))
        if (pressed_s, moment) == (press.at_s, live.session.moment):
            self._pipeline.publish(replace(live, drafts={**live.drafts, seat: before}))
