"""The table: one owner of the state, one queue in, one stream of views out.

Inputs (a phone's or a pad's action, the board as the camera sees it, time, the host's word) are handled one after the
other by one thread. An accepted input is in the journal, synced, before `view` or any cue shows its effect.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import msgspec

from companion.core.errors import CompanionError, Illegal, JournalError, Malformed, Refusal, Stale
from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import CameraStatus, Cue, PadKey, Press, Reading, Signal
from companion.games import game_named
from companion.games.screen import Play
from companion.table.board_follower import BoardFollower
from companion.table.pipeline import WRITE_AGAIN_S
from companion.table.records import (
    Abandon,
    AnyRecord,
    Begin,
    Disclose,
    FreeSeat,
    HandIn,
    MoveSeat,
    OfferDraw,
    Pause,
    Resign,
    Resume,
    SkipLesson,
    StageDone,
    TakeBack,
    TakeSeat,
    Undo,
)
from companion.table.seats.machine_seats import MachineTurn, action_by_chance, machine_turns
from companion.table.seats.pad_input import press_order
from companion.table.session import BOTH, MACHINE, Phase
from companion.table.state import EarlyPress
from companion.table.views import sitting_of

Topic = Literal["memory", "power", "photographs", "trial", "upkeep", "machines"]
"""What a notice may be about: games kept in memory only, the machine that is switched off, photographs, keys tried out,
a restart to come, opponents whose program fails."""
_DISK_FULL = say("The disk is full: no game can begin. Remove old games or other files first.")
MAX_SALT = 64
MAX_ENTERED = 64


class Table(BoardFollower):
    """Every method may be called from any thread; those that change something wait for the answer and raise."""

    # ---- the host's and the seats' words -------------------------------------------------------------------------

    def take_seat(self, seat: Seat, name: str, door: str = "phone") -> str:
        """Sit down; answers the nonce for the seat's token. Raises `Illegal` when the seat is taken."""
        record = TakeSeat(seat, name, secrets.token_urlsafe(18), door)
        self._owner.ask(lambda: self._accept(record))
        return record.nonce

    def seat_machine(self, seat: Seat, name: str) -> None:
        """Let a program of this name play a seat; raises `Illegal` when the seat is taken."""
        record = TakeSeat(seat, name, secrets.token_urlsafe(18), MACHINE)
        self._owner.ask(lambda: self._accept(record))

    def unseat_machine(self, seat: Seat) -> None:
        """Make a seat free that a program plays; raises `Illegal` where none does."""
        self._owner.ask(lambda: self._unseat_machine(seat))

    def free_seat(self, seat: Seat, sitting: str | None = None) -> None:
        """Make a seat free; what it has sealed stays sealed.

        `sitting`: who is meant, by `SeatView.sitting`; raises `Stale` where somebody else sits there by now.
        """
        self._owner.ask(lambda: self._for(seat, sitting, FreeSeat(seat)))

    def swap_seats(self, sittings: Mapping[Seat, str] | None = None) -> None:
        """Let both sides change places, between two games; raises `Illegal` while one is on; `sittings` as above."""
        self._owner.ask(lambda: self._swap_seats(sittings or {}))

    def host_starts(self, game: str, options: Mapping[str, Any], seed: int | None = None) -> None:
        """Start a game as the host has chosen, and remember the choice; raises `Malformed`."""
        self._owner.ask(lambda: self._host_starts(game, options, seed))

    def play_by(self, seat: Seat, door: str, sitting: str | None = None) -> None:
        """Whoever sits there goes on by `pad` or `phone`, with the same token; `sitting` as for `free_seat`."""
        self._owner.ask(lambda: self._for(seat, sitting, MoveSeat(seat, door)))

    def new_game(self, game: str, options: Mapping[str, Any] | None = None, seed: int | None = None) -> None:
        """Start a game with its set-up; raises `Malformed` for unknown games and options."""
        self._owner.ask(lambda: self._new_game(game, options or {}, seed, (0, 0, 0)))

    def begin_lesson(self, game: str) -> None:
        """Start the first game with a guide; raises `Malformed` for a game that has none."""
        self._owner.ask(lambda: self._begin_lesson(game))

    def skip_lesson(self, by: str) -> None:
        """The guide leaves, and the game goes on; raises `Illegal` where no lesson is on."""
        self._owner.ask(lambda: self._accept(SkipLesson(by, self._clock.monotonic_s())))

    def rematch(self) -> None:
        """The same game with the same options once more; the match goes on."""
        self._owner.ask(self._rematch)

    def confirm(self, by: str, moment: str, stage: int, force: bool = False) -> None:
        """Somebody says that the board is as it should be, in the set-up or after a stage.

        While the camera sees the board and disagrees, only `force` overrules it; otherwise raises `Illegal`.
        """
        self._owner.ask(lambda: self._confirm(by, moment, stage, force))

    def hand_in(self, seat: Seat, moment: str, action: str, salt: str = "", at_s: float | None = None) -> str:
        """Seal a seat's action; answers the receipt. The same order sent once more is answered once more.

        `at_s` is when it came in, by `now_s`: an action within its turn counts, however late the table hears of it.
        """
        stamp_s = self._stamp(at_s)
        return self._owner.ask(lambda: self._hand_in(seat, moment, action, salt, stamp_s, 0.0))

    def act(self, moment: str, action: str, at_s: float | None = None) -> None:
        """Anybody at the table acts for the seat on turn, where the game is as open as a chess clock."""
        stamp_s = self._stamp(at_s)
        self._owner.ask(lambda: self._act(moment, action, stamp_s))

    def take_back(self, seat: Seat, moment: str, at_s: float | None = None) -> None:
        """Get a sealed action back, or the last turn where nobody has learned anything by it."""
        stamp_s = self._stamp(at_s)
        self._owner.ask(lambda: self._accept(TakeBack(seat, moment, stamp_s)))

    def pause(self, by: str, at_s: float | None = None) -> None:
        """Stop the clock of the turn; `by` is a seat, `host` or `table`."""
        stamp_s = self._stamp(at_s)
        self._owner.ask(lambda: self._in_time(stamp_s, Pause(by, stamp_s)))

    def resume(self, by: str) -> None:
        """Let the clock of the turn go on."""
        self._owner.ask(lambda: self._accept(Resume(by, self._clock.monotonic_s())))

    def undo(self, moment: str | None = None) -> None:
        """Take the last turn back: the host's word, or anybody's (who names the moment) where the game is open."""
        self._owner.ask(lambda: self._undo(moment))

    def resign(self, seat: Seat) -> None:
        """A seat gives up."""
        self._owner.ask(lambda: self._accept(Resign(seat)))

    def offer_draw(self, seat: Seat) -> None:
        """Offer a draw, or accept the other's offer."""
        self._owner.ask(lambda: self._accept(OfferDraw(seat)))

    def abandon(self) -> None:
        """The host ends the game without a result."""
        self._owner.ask(lambda: self._accept(Abandon()))

    def disclose(self, by: str) -> None:
        """A game that is over cannot be taken back any more, and everything in it may be told."""
        self._owner.ask(lambda: self._accept(Disclose(by)))

    def plan(self, seat: Seat, moment: str, entered: str) -> tuple[Square | None, ...]:
        """Where the orders that a seat has entered so far would lead; for its owner only, and nothing of it is kept."""
        session = self._live.session
        if moment != session.moment or seat not in session.awaited or len(entered) > MAX_ENTERED:
            return ()
        return session.playing.plan(session.state, seat, entered)

    def plays(self, seat: Seat, moment: str) -> tuple[Play, ...]:
        """The actions that a seat can tap on its board now; none unless it is its turn."""
        session = self._live.session
        if moment != session.moment or session.awaited != {seat}:
            return ()
        return tuple(session.playing.plays(session.state, seat))

    # ---- programs that play a seat -------------------------------------------------------------------------------

    def machine_turns(self) -> tuple[MachineTurn, ...]:
        """What the machines at the seats may know now, and whether they are to act."""
        return machine_turns(self._live.session)

    def machine_acts_by_chance(self, seat: Seat, moment: str) -> None:
        """Any legal action for a machine whose program has failed; raises `Stale` when it is not to act any more."""
        self._owner.ask(lambda: self._act_by_chance(seat, moment))

    # ---- the devices' words: queued, never waited for ---------------------------------------------------------------

    def saw(self, reading: Reading) -> None:
        """The board as the camera reads it now."""
        self._owner.tell(lambda: self._saw(reading))

    def camera_is(self, status: CameraStatus) -> None:
        """How the camera is."""
        self._owner.tell(lambda: self._camera_is(status))

    def pressed(self, press: Press) -> None:
        """A key of a pad, or the table's button."""
        self._owner.tell(lambda: self._pressed(press))

    def released(self, press: Press) -> None:
        """The key of a press was let go."""
        self._owner.tell(lambda: self._released(press))

    def panel_is(self, sentence: str) -> None:
        """What the pages say about the pads."""
        self._owner.tell(lambda: self._publish(replace(self._live, panel=sentence)))

    def notice(self, topic: Topic, sentence: str) -> None:
        """What the pages say about something beside the game until it is over; empty: it is."""
        self._owner.tell(lambda: self._stand(topic, sentence))

    def redraw(self) -> None:
        """Something beside the table that its pages show has changed."""
        self._owner.tell(lambda: self._publish(self._live))

    def _stamp(self, at_s: float | None) -> float:
        """When an input counts: when it came in, but never in the future."""
        now_s = self._clock.monotonic_s()
        return now_s if at_s is None else min(at_s, now_s)

    # ---- seats -----------------------------------------------------------------------------------------------------

    def _for(self, seat: Seat, sitting: str | None, record: AnyRecord) -> None:
        """Accept a record about somebody at a seat; raises `Stale` where that is not who sits there."""
        self._require_sitting(seat, sitting)
        self._accept(record)

    def _unseat_machine(self, seat: Seat) -> None:
        sitter = self._live.session.seats.get(seat)
        if sitter is None or sitter.door != MACHINE:
            raise Illegal(Refusal.WRONG_PHASE, say("No machine sits at {seat!c}", seat=seat))
        self._accept(FreeSeat(seat))

    def _act_by_chance(self, seat: Seat, moment: str) -> None:
        session = self._live.session
        if moment != session.moment or seat not in session.awaited or not session.is_machines(seat):
            raise Stale(say("That turn is over: look at the page again"))
        self._hand_in(seat, moment, action_by_chance(session, seat), "", self._clock.monotonic_s(), 0.0)

    def _require_sitting(self, seat: Seat, sitting: str | None) -> None:
        if sitting is not None and sitting != sitting_of(self.seat_nonce(seat)):
            raise Stale(say("Somebody else sits at {seat!c} by now, or nobody: look at the page again", seat=seat))

    # ---- games -----------------------------------------------------------------------------------------------------

    def _new_game(self, game: str, options: Mapping[str, Any], seed: int | None, score: tuple[int, int, int]) -> None:
        if not self._may_begin:
            raise JournalError(_DISK_FULL)
        self._accept(self._beginning(game, options, seed, score))

    def _begin_lesson(self, game: str) -> None:
        if not self._may_begin:
            raise JournalError(_DISK_FULL)
        lesson = game_named(game).lesson
        if lesson is None:
            raise Malformed(say("{game} has no lesson", game=game_named(game).title))
        self._accept(msgspec.structs.replace(self._beginning(game, lesson.options, None, (0, 0, 0)), is_guided=True))

    def _host_starts(self, game: str, options: Mapping[str, Any], seed: int | None) -> None:
        self._new_game(game, options, seed, (0, 0, 0))
        self._choices.keep(game, options)
        self._publish(replace(self._live, remembered=game))

    def _swap_seats(self, sittings: Mapping[Seat, str]) -> None:
        session = self._live.session
        for seat, sitting in sittings.items():
            self._require_sitting(seat, sitting)
        if session.phase not in (Phase.LOBBY, Phase.OVER):
            raise Illegal(Refusal.WRONG_PHASE, say("A game is on: seats are changed between two games"))
        sitters = dict(session.seats)
        for seat in sitters:
            self._accept(FreeSeat(seat))
        for seat, sitter in sitters.items():
            self._accept(TakeSeat(seat.other, sitter.name, sitter.nonce, sitter.door))

    def _rematch(self) -> None:
        session = self._live.session
        if session.phase is not Phase.OVER:
            raise Illegal(Refusal.WRONG_PHASE, say("The game is not over yet"))
        name = session.playing.name
        options = self._options_of(name) if session.is_guided else session.raw_options
        self._new_game(name, options, None, session.score)

    def _in_time(self, at_s: float, record: AnyRecord) -> None:
        """Accept what was stamped at a time, and before it the time-outs that were due by then."""
        if time_out := self._timekeeper.time_out(self._live.session, at_s):
            self._accept(time_out)
        self._accept(record)

    def _hand_in(  # noqa: PLR0917 - one input, word for word
        self, seat: Seat, moment: str, action: str, salt: str, at_s: float, read_s: float
    ) -> str:
        if salt and (len(salt) > MAX_SALT or not salt.isascii() or not salt.isalnum()):
            raise Malformed(say("A salt is at most {number} letters and digits", number=MAX_SALT))
        before = self._live.session.sealed_at(seat, moment)
        if before and salt and (before.action, before.salt) == (action, salt):
            return before.receipt
        if not read_s and self._is_early(seat, moment, action, at_s):
            self._publish(replace(self._live, early=EarlyPress(seat, action, at_s)))
            return ""
        salt = salt or secrets.token_hex(16)
        self._in_time(at_s, HandIn(seat, moment, action, salt, self._clock.wall_s(), at_s, read_s))
        sealed = self._live.session.sealed_at(seat, moment)
        return sealed.receipt if sealed else ""

    def _act(self, moment: str, action: str, at_s: float) -> None:
        session = self._live.session
        if moment != session.moment:
            raise Stale(say("That turn is over: look at the page again"))
        if not session.is_open:
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("Only the seat on turn can do that"))
        if action not in session.open_actions and action not in self._live.laid.values():
            raise Illegal(Refusal.NOT_TO_ACT, say("That cannot be done from the table: use the phone of the seat"))
        (seat,) = session.awaited
        if session.is_machines(seat):
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("The machine plays this seat"))
        self._hand_in(seat, moment, action, "", at_s, 0.0)

    def _undo(self, moment: str | None) -> None:
        session = self._live.session
        if moment is not None:
            if moment != session.moment:
                raise Stale(say("That turn is over: look at the page again"))
            if not session.is_open:
                raise Illegal(Refusal.HOST_ONLY, say("Only the host can take this turn back"))
        self._accept(Undo())

    def _confirm(self, by: str, moment: str, stage: int, force: bool) -> None:
        session = self._live.session
        if (moment, stage) != (session.moment, session.stage):
            raise Stale(say("That step is done already"))
        if self._live.watched and not force:
            self._refuse_if_disagreeing()
        now_s = self._clock.monotonic_s()
        if session.phase is Phase.SETUP:
            self._accept(Begin(by, now_s))
        else:
            self._accept(StageDone(moment, stage, by, now_s))
        if force and self._live.problems:
            self._live = replace(self._live, overruled=frozenset(self._live.problems))
            self._publish(replace(self._live, problems=()))

    def _refuse_if_disagreeing(self) -> None:
        """Raise `Illegal` with what the camera sees when that is not what is to be confirmed."""
        if self._live.session.target is None or self._live.reading is None or self._live.agrees:
            return
        if self._live.problems:
            raise Illegal(Refusal.WRONG_PHASE, self._live.problems[0].text)
        todo = [i.text for i in self.view().instructions if not i.move.done]
        if todo:
            raise Illegal(Refusal.WRONG_PHASE, say("Not yet: {todo}. Or confirm against the camera.", todo=todo[0]))

    # ---- time --------------------------------------------------------------------------------------------------------

    def _let_time_pass(self) -> float:
        """Do what is due by now; answers in how many seconds the next thing may be due."""
        session, now_s = self._live.session, self._clock.monotonic_s()
        shown_s = now_s - self._stage_since_s
        reading_time_s = self._settings.reading_time_s
        self.claims.keep()
        due_s, waiting = self._put_off
        if waiting and now_s >= due_s:
            self._put_off = (0.0, ())
            self._send(*waiting)
        if now_s < self._write_again_s:
            return WRITE_AGAIN_S
        if session.phase is Phase.STAGES and not session.has_moves:
            if shown_s >= reading_time_s and not self._live.problems:
                self._accept(StageDone(session.moment, session.stage, "clock", now_s))
        elif session.phase is Phase.STAGES:
            self._tick_off()
        elif session.phase is Phase.OVER and shown_s >= 2 * reading_time_s and self._is_rematch_due:
            self._rematch()
        elif self._live.early is not None:
            self._settle_early_press()
        elif not self._owner.has_work and (time_out := self._timekeeper.time_out(session, now_s)):
            self._accept(time_out)  # whatever came in before is heard first: it may have been in time
        try:
            self._timekeeper.note(self._live.session, now_s)
        except JournalError as error:
            self._cannot_write(error)
        return self._timekeeper.pause_s(self._live.session, now_s)

    @property
    def _is_rematch_due(self) -> bool:
        return self._may_begin and self._live.session.is_tie_to_replay

    # ---- pads --------------------------------------------------------------------------------------------------------

    def _pressed(self, press: Press, was_kept: bool = False) -> None:
        """A key does the same as a tap; what it refuses it says by a cue alone."""
        if press.seat is not None and press.key is not PadKey.BACK:
            self._play_kept(press.seat)  # it was pressed before this one
        try:
            session = self._live.session
            if press.seat is None or press.seat in session.seats:
                self._note_press(press)
            if press.seat is not None and press.seat not in session.seats:
                self._accept(TakeSeat(press.seat, "", secrets.token_urlsafe(18), "pad"))
                self._note_press(press)
            elif not was_kept and self.claims.takes(press):
                pass  # Back, while a phone asks: what it means is known once it is held or let go
            elif press.seat is not None and session.is_machines(press.seat):
                raise Illegal(Refusal.NOT_YOUR_SEAT, say("The machine plays this seat"))
            elif press.key is PadKey.BACK and press.held and session.lesson_number is not None:
                self._accept(SkipLesson(press.seat or "table", self._clock.monotonic_s()))
            elif session.paused and press.key in (PadKey.READY, PadKey.TABLE) and not press.held:
                self._accept(Resume(press.seat or "table", self._clock.monotonic_s()))
            elif press.seat is None:
                self._press_table(press)
            elif session.phase is Phase.ORDERS:
                self._press_order(press.seat, press)
            elif press.key is PadKey.A and session.phase is Phase.LOBBY and not press.held:
                self._begin_lesson(self._game_to_begin())
            elif press.key is PadKey.READY:
                self._press_ready(press.seat, press.held)
        except CompanionError:
            if not press.held:
                self._send(Signal(Cue.KEY_REFUSED, frozenset({press.seat}) if press.seat else BOTH))

    def _released(self, press: Press) -> None:
        if press.seat is not None and press.key is PadKey.BACK:
            self._play_kept(press.seat)

    def _play_kept(self, seat: Seat) -> None:
        """Back was not held: now it does what a short press does, if it was kept back."""
        try:
            kept = self.claims.let_go(seat)
        except Stale:
            self._send(Signal(Cue.KEY_REFUSED, frozenset({seat})))
            return
        if kept is not None:
            self._pressed(kept, was_kept=True)

    def _press_table(self, press: Press) -> None:
        """The table's one button: ready, or the shared key of a chess clock; held it takes back and stops the clock."""
        session = self._live.session
        if not session.is_open:
            if press.at_s < self._stage_since_s:  # it comes when the button is let go: that may be later
                raise Stale(say("That step is done already"))
            self._press_ready("table", press.held)
        elif press.held and session.turns and session.turns[-1].acted_s == press.at_s:
            self._undo(session.moment)
        elif press.held:
            self._accept(Pause("table", press.at_s))
        elif not any(session.is_machines(seat) for seat in session.awaited):
            (seat,) = session.awaited
            self._press_order(seat, replace(press, seat=seat, key=PadKey.READY))

    def _press_ready(self, by: str, held: bool) -> None:
        """The ready key moves the table on; held down after a refusal it overrules the camera."""
        session = self._live.session
        place = (session.moment, session.stage)
        if held:
            if self._refused_ready.pop(by, None) == place:
                self._confirm(by, *place, force=True)
            return
        match session.phase:
            case Phase.LOBBY:
                game = self._game_to_begin()
                self._new_game(game, self._options_of(game), None, (0, 0, 0))
            case Phase.OVER:
                self._rematch()
            case Phase.SETUP | Phase.STAGES:
                self._refused_ready[by] = place
                self._confirm(by, *place, force=False)
                del self._refused_ready[by]
            case Phase.ORDERS:
                raise Illegal(Refusal.WRONG_PHASE, say("Orders are wanted"))

    def _game_to_begin(self) -> str:
        """The game that a key begins: whose board lies here, or that was played last; raises `Illegal`."""
        game = self._live.suggested or self._live.remembered
        if game is None:
            raise Illegal(Refusal.NO_GAME, say("No board lies on the table"))
        return game

    def _options_of(self, game: str) -> Mapping[str, Any]:
        """With which options a game begins by a key: as the host chose last, else by its last way."""
        kept = self._choices.options(game)
        if kept is not None:
            try:
                game_named(game).options(kept)
            except Malformed:  # chosen in an older version of the program
                kept = None
        return game_named(game).presets[-1].options if kept is None else kept

    def _press_order(self, seat: Seat, press: Press) -> None:
        """Enter, change and hand in an action key by key; the draft stays here until it is handed in."""
        laid = self._live.laid.get(seat)
        if press.key is PadKey.READY and not press.held and laid and seat in self._live.session.awaited:
            self._hand_in(seat, self._live.session.moment, laid, "", press.at_s, 0.0)
            return
        step = press_order(self._live.session, seat, self._drafts.get(seat, ()), press)
        for record in step.records:
            match record:
                case HandIn():
                    moment = record.moment if len(step.records) == 1 else self._live.session.moment
                    self._hand_in(seat, moment, record.action, "", press.at_s, 0.0)
                case TakeBack():
                    self._accept(record)
        if not step.records:
            self._drafts[seat] = step.draft
        if step.cue is not None:
            counts = {**self._live.drafts, seat: step.count}
            self._publish(replace(self._live, drafts=counts), (Signal(step.cue, frozenset({seat}), step.count),))
