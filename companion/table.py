"""The table: one owner of the state, one queue in, one stream of views out.

Inputs (a phone's or a pad's action, the board as the camera sees it, time, the host's word) are handled one after the
other by one thread. An accepted input is in the journal, synced, before `view` or any cue shows its effect.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from companion import referee
from companion.clock import Clock
from companion.config import TableSettings
from companion.errors import Ambiguous, CompanionError, Illegal, JournalError, Malformed, Refusal, Stale
from companion.grid import Square
from companion.journal import Journal
from companion.kit import Kit, Seat
from companion.owner import Owner
from companion.pads import press_order
from companion.ports import CameraState, CameraStatus, Cue, PadKey, Press, Reading, SeatLamps, Signal
from companion.records import (
    Abandon,
    AnyRecord,
    Begin,
    FreeSeat,
    HandIn,
    NewGame,
    OfferDraw,
    Resign,
    StageDone,
    TakeBack,
    TakeSeat,
    Undo,
)
from companion.referee import Problem
from companion.session import BOTH, Phase, advance
from companion.views import Live, TableView, lamps_of, view_of

REVEAL_S = 0.6
"""How long the reveal's own cue has the lamps and the buzzer before the first step's begins."""
MAX_SALT = 64
MAX_ENTERED = 64


@dataclass
class _Listeners:
    signal: list[Callable[[Signal], None]]
    lamps: list[Callable[[Mapping[Seat, SeatLamps], bool], None]]
    kit: list[Callable[[Kit | None], None]]


class Table:
    """Every method may be called from any thread; those that change something wait for the answer and raise.

    `start` runs the owner thread; without it (tests, fast simulation) the caller's thread does the work and `step`
    lets time and queued events take effect. `close` may be called twice.
    """

    def __init__(self, journal: Journal, clock: Clock, settings: TableSettings | None = None) -> None:
        self._journal = journal
        self._clock = clock
        self._settings = settings or TableSettings()
        self._owner = Owner("table", self._let_time_pass)
        self._changed = threading.Condition()
        self._listeners = _Listeners([], [], [])
        self._drafts: dict[Seat, tuple[str, ...]] = {}
        self._refused_ready: dict[str, tuple[str, int]] = {}
        self._stage_since_s = clock.monotonic_s()
        self._put_off: tuple[float, tuple[Signal, ...]] = (0.0, ())
        self._closed = False
        session = journal.restore()
        self._standing = (journal.notice,) if journal.notice else ()
        self._live = Live(session, notices=self._standing)

    # ---- looking ---------------------------------------------------------------------------------------------

    def view(self, viewer: Seat | None = None) -> TableView:
        """What a viewer may know now."""
        return view_of(self._live, viewer)

    @property
    def version(self) -> int:
        """Counts every change that a page could show."""
        return self._live.version

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the table has changed since `version`, at most so long; answers the newest version."""
        with self._changed:
            self._changed.wait_for(lambda: self._live.version != version or self._closed, timeout_s)
        return self._live.version

    def seat_nonce(self, seat: Seat) -> str | None:
        """What the token of whoever sits there must carry; None: the seat is free. For the pages' guard only."""
        sitter = self._live.session.seats.get(seat)
        return sitter.nonce if sitter else None

    def plan(self, seat: Seat, moment: str, entered: str) -> tuple[Square | None, ...]:
        """Where the orders that a seat has entered so far would lead; for its owner only, and nothing of it is kept."""
        session = self._live.session
        if moment != session.moment or seat not in session.awaited or len(entered) > MAX_ENTERED:
            return ()
        return session.playing.plan(session.state, seat, entered)

    def connect(
        self,
        on_signal: Callable[[Signal], None] | None = None,
        on_lamps: Callable[[Mapping[Seat, SeatLamps], bool], None] | None = None,
        on_kit: Callable[[Kit | None], None] | None = None,
    ) -> None:
        """Tell a door about cues, steady lamps (with trouble or not) and the kit on the table; must not block."""

        def add() -> None:
            if on_signal:
                self._listeners.signal.append(on_signal)
            if on_lamps:
                self._listeners.lamps.append(on_lamps)
                on_lamps(lamps_of(self._live), self._in_trouble())
            if on_kit:
                self._listeners.kit.append(on_kit)
                on_kit(self._live.session.kit)

        self._owner.now(add)

    # ---- the host's and the seats' words -------------------------------------------------------------------------

    def take_seat(self, seat: Seat, name: str, door: str = "phone") -> str:
        """Sit down; answers the nonce for the seat's token. Raises `Illegal` when the seat is taken."""
        record = TakeSeat(seat, name, secrets.token_urlsafe(18), door)
        self._owner.ask(lambda: self._accept(record))
        return record.nonce

    def free_seat(self, seat: Seat) -> None:
        """Make a seat free; what it has sealed stays sealed."""
        self._owner.ask(lambda: self._accept(FreeSeat(seat)))

    def new_game(self, game: str, options: Mapping[str, Any] | None = None, seed: int | None = None) -> None:
        """Start a game with its set-up; raises `Malformed` for unknown games and options."""
        self._owner.ask(lambda: self._new_game(game, options or {}, seed, (0, 0, 0)))

    def rematch(self) -> None:
        """The same game with the same options once more; the match goes on."""
        self._owner.ask(self._rematch)

    def confirm(self, by: str, moment: str, stage: int, force: bool = False) -> None:
        """Somebody says that the board is as it should be, in the set-up or after a stage.

        While the camera sees the board and disagrees, only `force` overrules it; otherwise raises `Illegal`.
        """
        self._owner.ask(lambda: self._confirm(by, moment, stage, force))

    def hand_in(self, seat: Seat, moment: str, action: str, salt: str = "") -> str:
        """Seal a seat's action; answers the receipt. The same order sent once more is answered once more."""
        return self._owner.ask(lambda: self._hand_in(seat, moment, action, salt))

    def take_back(self, seat: Seat, moment: str) -> None:
        """Get a sealed action back while the other seat has not handed in."""
        self._owner.ask(lambda: self._accept(TakeBack(seat, moment)))

    def undo(self) -> None:
        """The host takes the last turn back."""
        self._owner.ask(lambda: self._accept(Undo()))

    def resign(self, seat: Seat) -> None:
        """A seat gives up."""
        self._owner.ask(lambda: self._accept(Resign(seat)))

    def offer_draw(self, seat: Seat) -> None:
        """Offer a draw, or accept the other's offer."""
        self._owner.ask(lambda: self._accept(OfferDraw(seat)))

    def abandon(self) -> None:
        """The host ends the game without a result."""
        self._owner.ask(lambda: self._accept(Abandon()))

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

    def panel_is(self, sentence: str) -> None:
        """What the pages say about the pads."""
        self._owner.tell(lambda: self._publish(replace(self._live, panel=sentence)))

    # ---- the loop ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Run the owner thread."""
        self._owner.start()

    def step(self) -> None:
        """Handle everything that is queued and due, in the caller's thread."""
        self._owner.step()

    def close(self) -> None:
        """Stop the thread; what is accepted is on disk already."""
        self._owner.close()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- accepting and publishing ------------------------------------------------------------------------------------

    def _accept(self, record: AnyRecord) -> None:
        """Check, write, sync, and only then show."""
        session, signals = advance(self._live.session, record)
        game = 0 if isinstance(record, TakeSeat | FreeSeat) else session.number
        try:
            self._journal.append(game, record, self._clock.wall_s())
        except JournalError as error:
            self._publish(replace(self._live, notices=(*self._standing, error.message)))
            raise
        before, self._live = self._live, replace(self._live, session=session, notices=self._standing)
        if session.moment != before.session.moment or session.phase is not before.session.phase:
            self._drafts = {}
            self._live = replace(self._live, drafts={}, overruled=frozenset(), choices=())
        shown = (session.moment, session.phase, session.stage)
        if shown != (before.session.moment, before.session.phase, before.session.stage):
            self._stage_since_s = self._clock.monotonic_s()
            self._live = replace(self._live, problems=self._problems(self._live))
        if session.kit != before.session.kit:
            self._live = replace(self._live, reading=None, problems=(), suggested=None)
            for on_kit in self._listeners.kit:
                on_kit(session.kit)
        self._publish(self._live, signals)

    def _publish(self, live: Live, signals: tuple[Signal, ...] = ()) -> None:
        """Make the new view visible, then send cues and lamps."""
        with self._changed:
            self._live = replace(live, version=self._live.version + 1)
            self._changed.notify_all()
        lamps, trouble = lamps_of(self._live), self._in_trouble()
        for on_lamps in self._listeners.lamps:
            on_lamps(lamps, trouble)
        self._send(*signals)

    def _send(self, *signals: Signal) -> None:
        """Tell the doors; what comes with a reveal waits until the reveal itself has been seen and heard."""
        cues = [signal.cue for signal in signals]
        if Cue.REVEAL in cues:
            cut = cues.index(Cue.REVEAL) + 1
            self._put_off = (self._clock.monotonic_s() + REVEAL_S, signals[cut:])
            signals = signals[:cut]
        elif signals:
            self._put_off = (0.0, ())
        for signal in signals:
            for on_signal in self._listeners.signal:
                on_signal(signal)

    def _in_trouble(self) -> bool:
        return self._live.notices != self._standing or self._live.camera.state is CameraState.TROUBLE

    # ---- games -----------------------------------------------------------------------------------------------------

    def _new_game(self, game: str, options: Mapping[str, Any], seed: int | None, score: tuple[int, int, int]) -> None:
        seed = secrets.randbits(48) if seed is None else seed
        self._accept(NewGame(game, self._journal.next_number(), seed, dict(options), score))

    def _rematch(self) -> None:
        session = self._live.session
        if session.phase is not Phase.OVER:
            raise Illegal(Refusal.WRONG_PHASE, "The game is not over yet")
        self._new_game(session.playing.name, session.raw_options, None, session.score)

    def _hand_in(self, seat: Seat, moment: str, action: str, salt: str) -> str:
        if salt and (len(salt) > MAX_SALT or not salt.isascii() or not salt.isalnum()):
            raise Malformed(f"A salt is at most {MAX_SALT} letters and digits")
        before = self._live.session.sealed_at(seat, moment)
        if before and salt and (before.action, before.salt) == (action, salt):
            return before.receipt
        self._accept(HandIn(seat, moment, action, salt or secrets.token_hex(16), self._clock.wall_s()))
        sealed = self._live.session.sealed_at(seat, moment)
        return sealed.receipt if sealed else ""

    def _confirm(self, by: str, moment: str, stage: int, force: bool) -> None:
        session = self._live.session
        if (moment, stage) != (session.moment, session.stage):
            raise Stale("That step is done already")
        if self._live.watched and not force:
            self._refuse_if_disagreeing()
        if session.phase is Phase.SETUP:
            self._accept(Begin(by))
        else:
            self._accept(StageDone(moment, stage, by))
        if force and self._live.problems:
            self._live = replace(self._live, overruled=frozenset(self._live.problems))
            self._publish(replace(self._live, problems=()))

    def _refuse_if_disagreeing(self) -> None:
        """Raise `Illegal` with what the camera sees when that is not what is to be confirmed."""
        target, reading = self._live.session.target, self._live.reading
        if target is None or reading is None or referee.agrees(target, reading, self._live.before):
            return
        if self._live.problems:
            raise Illegal(Refusal.WRONG_PHASE, self._live.problems[0].text)
        todo = [i.text for i in self.view().instructions if not i.move.done]
        if todo:
            raise Illegal(Refusal.WRONG_PHASE, f"Not yet: {todo[0]}. Or confirm against the camera.")

    # ---- the board ---------------------------------------------------------------------------------------------------

    def _saw(self, reading: Reading) -> None:
        live = self._live
        old = live.reading
        changed = old is None or old.essence != reading.essence
        if not changed:
            self._live = replace(live, reading=reading)
            return
        suggested = reading.game if reading.quiet and live.session.phase in (Phase.LOBBY, Phase.OVER) else None
        seen = replace(live, reading=reading, suggested=suggested)
        found = self._problems(seen)
        self._publish(replace(seen, problems=found), self._problem_signals(live.problems, found))
        self._tick_off()

    def _problems(self, live: Live) -> tuple[Problem, ...]:
        """What is wrong on the board now; while something moves, what was wrong before stays."""
        session, reading = live.session, live.reading
        target = session.target
        if session.phase in (Phase.LOBBY, Phase.OVER) or target is None or reading is None:
            return ()
        if not live.watched:
            return ()
        if not reading.quiet:
            return live.problems
        found = referee.problems(live.before, target, reading)
        return tuple(problem for problem in found if problem not in live.overruled)

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
        if session.phase is Phase.ORDERS and len(session.awaited) == 1 and self._live.problems:
            self._recognise(*session.awaited)
        if not referee.agrees(session.target, reading, self._live.before):
            return
        if session.phase is Phase.SETUP:
            self._accept(Begin("camera"))
        elif session.phase is Phase.STAGES and session.has_moves:
            self._accept(StageDone(session.moment, session.stage, "camera"))

    def _recognise(self, seat: Seat) -> None:
        """Accept the play that hands have made on the board, ask when it can mean several."""
        session, reading = self._live.session, self._live.reading
        if reading is None or not reading.quiet:
            return
        try:
            action = referee.explain(session.playing, seat, reading, session.candidates(seat))
        except Ambiguous as question:
            self._publish(replace(self._live, choices=question.choices), (Signal(Cue.ASKED, frozenset({seat})),))
            return
        if action is not None:
            self._hand_in(seat, session.moment, session.playing.format(action), "")

    def _camera_is(self, status: CameraStatus) -> None:
        if status == self._live.camera:
            return
        live = replace(self._live, camera=status)
        if status.state is not CameraState.SEES_BOARD:
            live = replace(live, reading=None, problems=(), suggested=None)
        worse = status.state is CameraState.TROUBLE
        self._publish(live, (Signal(Cue.TROUBLE, BOTH),) if worse else ())

    # ---- time --------------------------------------------------------------------------------------------------------

    def _let_time_pass(self) -> None:
        session, now_s = self._live.session, self._clock.monotonic_s()
        shown_s = now_s - self._stage_since_s
        reading_time_s = self._settings.reading_time_s
        due_s, waiting = self._put_off
        if waiting and now_s >= due_s:
            self._put_off = (0.0, ())
            self._send(*waiting)
        if session.phase is Phase.STAGES and not session.has_moves:
            if shown_s >= reading_time_s and not self._live.problems:
                self._accept(StageDone(session.moment, session.stage, "clock"))
        elif session.phase is Phase.STAGES:
            self._tick_off()
        elif session.phase is Phase.OVER and shown_s >= 2 * reading_time_s and session.is_tie_to_replay:
            self._rematch()

    # ---- pads --------------------------------------------------------------------------------------------------------

    def _pressed(self, press: Press) -> None:
        """A key does the same as a tap; what it refuses it says by a cue alone."""
        try:
            if press.seat is None:
                self._press_ready("table", press.held)
            elif press.seat not in self._live.session.seats:
                self._accept(TakeSeat(press.seat, "", secrets.token_urlsafe(18), "pad"))
            elif self._live.session.phase is Phase.ORDERS:
                self._press_order(press.seat, press)
            elif press.key is PadKey.READY:
                self._press_ready(press.seat, press.held)
        except CompanionError:
            if not press.held:
                self._send(Signal(Cue.KEY_REFUSED, frozenset({press.seat}) if press.seat else BOTH))

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
                if self._live.suggested is None:
                    raise Illegal(Refusal.NO_GAME, "No board lies on the table")
                self._new_game(self._live.suggested, {}, None, (0, 0, 0))
            case Phase.OVER:
                self._rematch()
            case Phase.SETUP | Phase.STAGES:
                self._refused_ready[by] = place
                self._confirm(by, *place, force=False)
                del self._refused_ready[by]
            case Phase.ORDERS:
                raise Illegal(Refusal.WRONG_PHASE, "Orders are wanted")

    def _press_order(self, seat: Seat, press: Press) -> None:
        """Enter, change and hand in an action key by key; the draft stays here until it is handed in."""
        step = press_order(self._live.session, seat, self._drafts.get(seat, ()), press)
        match step.record:
            case HandIn() as record:
                self._hand_in(seat, record.moment, record.action, "")
            case TakeBack() as record:
                self._accept(record)
        if step.cue is not None:
            self._drafts[seat] = step.draft
            counts = {**self._live.drafts, seat: step.count}
            self._publish(replace(self._live, drafts=counts), (Signal(step.cue, frozenset({seat}), step.count),))
