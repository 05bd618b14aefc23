"""What every input at the table goes through: checked, written, synced, and only then shown to the doors."""

from __future__ import annotations

import contextlib
import math
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from companion.core.clock import Clock
from companion.core.config import TableSettings
from companion.core.errors import JournalError
from companion.core.kit import SEATS, Kit, Seat
from companion.core.ports import Alarm, CameraState, Cue, PadKey, Press, SeatLamps, Signal
from companion.games import GAMES, game_named
from companion.games.base import Drawn
from companion.table.chance.fairness import FairChance, commitment_of, press_value
from companion.table.chance.pledges import open_pledge
from companion.table.deadlines import Timekeeper, alarms_of
from companion.table.mailbox import Mailbox
from companion.table.ports import ForgetfulChoices, LastChoices, RecordJournal
from companion.table.prompts import lamps_of
from companion.table.records import AnyRecord, Commit, Contribute, FreeSeat, MoveSeat, NewGame, TakeSeat
from companion.table.reducer import advance
from companion.table.seats.claims import Mark, sentence_of
from companion.table.seats.seat_claims import ClaimPort, SeatClaims
from companion.table.session import Phase
from companion.table.state import TableState, problems_of
from companion.table.views import Progress, TableView, progress_of, view_of

REVEAL_S = 0.6
"""How long the reveal's own cue has the lamps and the buzzer before the first step's begins."""

_CHANCE = "chance"
"""The name under which the journal keeps the secret of the next game's chance."""
WRITE_AGAIN_S = 2.0
"""So long after the disk has refused something the table tries again by itself."""


@dataclass
class _Listeners:
    signal: list[Callable[[Signal], None]] = field(default_factory=list)
    lamps: list[Callable[[Mapping[Seat, SeatLamps], bool], None]] = field(default_factory=list)
    kit: list[Callable[[Kit | None], None]] = field(default_factory=list)
    alarms: list[Callable[[tuple[Alarm, ...]], None]] = field(default_factory=list)


class Pipeline(ABC):
    """The state, its one owner, and how doors look at it; `Table` adds what people and devices say.

    `start` runs the owner thread; without it (tests, fast simulation) the caller's thread does the work and `step`
    lets time and queued events take effect. `close` may be called twice.
    """

    def __init__(
        self,
        journal: RecordJournal,
        clock: Clock,
        settings: TableSettings | None = None,
        choices: LastChoices | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._settings = settings or TableSettings()
        self._choices = choices or ForgetfulChoices()
        self._owner = Mailbox("table", self._let_time_pass)
        self._changed = threading.Condition()
        self._listeners = _Listeners()
        self._when_changed: list[Callable[[], None]] = []
        self._alarms: tuple[Alarm, ...] = ()
        self._drafts: dict[Seat, tuple[str, ...]] = {}
        self._refused_ready: dict[str, tuple[str, int]] = {}
        self.claims = SeatClaims(
            self._owner, clock, ClaimPort(lambda: self._live.session, self._let_in, self._show_claims)
        )
        self._stage_since_s = clock.monotonic_s()
        self._put_off: tuple[float, tuple[Signal, ...]] = (0.0, ())
        self._closed = False
        session = journal.restore()
        self._troubles: dict[str, str] = {}
        self._may_begin = True
        self._write_again_s = -math.inf
        self._standing: tuple[str, ...] = (journal.notice,) if journal.notice else ()
        remembered = self._choices.last if self._choices.last in GAMES else None
        self._live = TableState(session, notices=self._standing, remembered=remembered)
        self._timekeeper = Timekeeper(journal)
        if pause := self._timekeeper.after_restart(session):
            self._live = replace(self._live, session=advance(session, pause)[0])
            with contextlib.suppress(JournalError):  # a full disk: the next restart comes to the same
                journal.append(session.number, pause, clock.wall_s(), clock.monotonic_s())
        with contextlib.suppress(JournalError):  # the next game is not begun without
            self._keep_pledge()

    # ---- looking ---------------------------------------------------------------------------------------------

    def view(self, viewer: Seat | None = None) -> TableView:
        """What a viewer may know now."""
        return view_of(self._live, viewer)

    def progress(self) -> Progress:
        """How far the game has come; cheaper than a view."""
        return progress_of(self._live)

    @property
    def version(self) -> int:
        """Counts every change that a page could show."""
        return self._live.version

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the table has changed since `version`, at most so long; answers the newest version."""
        with self._changed:
            self._changed.wait_for(lambda: self._live.version != version or self._closed, timeout_s)
        return self._live.version

    def when_changed(self, call: Callable[[], None]) -> None:
        """Have this called after every change that a page could show, whichever thread makes it; it must not block."""
        self._when_changed.append(call)

    def seat_nonce(self, seat: Seat) -> str | None:
        """What the token of whoever sits there must carry; None: the seat is free. For the pages' guard only."""
        sitter = self._live.session.seats.get(seat)
        return sitter.nonce if sitter else None

    def connect(
        self,
        on_signal: Callable[[Signal], None] | None = None,
        on_lamps: Callable[[Mapping[Seat, SeatLamps], bool], None] | None = None,
        on_kit: Callable[[Kit | None], None] | None = None,
        on_alarms: Callable[[tuple[Alarm, ...]], None] | None = None,
        on_round: Callable[[], None] | None = None,
    ) -> None:
        """Tell a door about cues, steady lamps (with trouble or not), the kit on the table, and all alarms to come.

        `on_round` is called after every round of the table's loop, at least ten times a second. What is called must
        not block.
        """

        def add() -> None:
            if on_signal:
                self._listeners.signal.append(on_signal)
            if on_lamps:
                self._listeners.lamps.append(on_lamps)
                on_lamps(lamps_of(self._live), self._in_trouble())
            if on_kit:
                self._listeners.kit.append(on_kit)
                on_kit(self._live.session.kit)
            if on_alarms:
                self._listeners.alarms.append(on_alarms)
                on_alarms(self._alarms)
            if on_round:
                self._owner.on_round = on_round

        self._owner.now(add)

    @property
    def waiting(self) -> int:
        """How many inputs wait for the table's thread."""
        return self._owner.waiting

    @property
    def settings(self) -> TableSettings:
        """The table's settings as they hold now."""
        return self._settings

    def use(self, settings: TableSettings) -> None:
        """Go by other settings from now on; every page is drawn anew."""

        def change() -> None:
            self._settings = settings
            self._publish(self._live)

        self._owner.ask(change)

    @property
    def remembered(self) -> str | None:
        """The game that the host started last, or None."""
        return self._live.remembered

    def choice_of(self, game: str) -> Mapping[str, Any] | None:
        """The options with which the host started a game last; None: never."""
        return self._choices.options(game)

    @property
    def is_open(self) -> bool:
        """May anybody at the table act for the seat on turn, as on a chess clock? A press counts at once then."""
        return self._live.session.is_open

    def now_s(self) -> float:
        """The monotonic time by which clocks run and inputs are stamped."""
        return self._clock.monotonic_s()

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- accepting and publishing ------------------------------------------------------------------------------------

    def _accept(self, record: AnyRecord) -> None:
        """Check, write, sync, and only then show."""
        session, signals = advance(self._live.session, record)
        is_beside = isinstance(record, TakeSeat | FreeSeat | MoveSeat | Commit)
        game = 0 if is_beside or (isinstance(record, Contribute) and session.is_between) else session.number
        try:
            self._journal.append(game, record, self._clock.wall_s(), self._clock.monotonic_s())
        except JournalError as error:
            self._cannot_write(error)
            raise
        before, self._live = self._live, replace(self._live, session=session, notices=self._standing)
        if session.moment != before.session.moment or session.phase is not before.session.phase:
            self._drafts = {}
            reading = self._live.reading
            fans = reading.fans if reading else {}
            markers = reading.markers if reading and session.phase is Phase.ORDERS else self._live.markers_before
            self._live = replace(self._live, drafts={}, overruled=frozenset(), choices=(), laid={})
            self._live = replace(self._live, why_not=None, fans_before=fans, markers_before=markers)
        shown = (session.moment, session.phase, session.stage)
        if shown != (before.session.moment, before.session.phase, before.session.stage):
            self._stage_since_s = self._clock.monotonic_s()
            self._live = replace(self._live, problems=problems_of(self._live), touched=frozenset())
        if session.kit != before.session.kit:
            self._live = replace(self._live, reading=None, problems=(), suggested=None)
            for on_kit in self._listeners.kit:
                on_kit(session.kit)
        self._publish(self._live, signals)
        if session.is_between and session.pledge is None:
            with contextlib.suppress(JournalError):
                self._commit()
        if session.moment != before.session.moment or session.phase is Phase.OVER:  # the turn is over and shown
            self._owner.tell(self._journal.checkpoint)

    # ---- chance --------------------------------------------------------------------------------------------------

    def contribute(self, seat: Seat, commitment: str, value: str, by: str) -> None:
        """A seat gives to the chance of the game with this commitment: once, the same once more changes nothing.

        Raises `Malformed`, `Stale` for another game's commitment, `Illegal` when it has given, or chance is drawn.
        """
        self._owner.ask(lambda: self._contribute(seat, commitment, value, by))

    def _contribute(self, seat: Seat, commitment: str, value: str, by: str) -> None:
        pledge = open_pledge(self._live.session)
        given = pledge.contributions.get(seat) if pledge and pledge.commitment == commitment else None
        if given is None or given.value != value:
            self._accept(Contribute(seat, commitment, value, by))

    def _note_press(self, press: Press) -> None:
        """The first press of a seat's pad is what it gives; the table's button gives for seats that play by a pad."""
        session = self._live.session
        pledge = open_pledge(session)
        if pledge is None or (press.seat is None and press.key is not PadKey.TABLE):
            return
        by = "pad" if press.seat else "table"
        for seat in (press.seat,) if press.seat else SEATS:
            sitter = session.seats.get(seat)
            if seat not in pledge.contributions and sitter is not None and sitter.door == "pad":
                self._accept(Contribute(seat, pledge.commitment, press_value(by, press.at_s), by))

    def _keep_pledge(self) -> None:
        """Go on with the commitment of before a restart, if its secret is still there."""
        session = self._live.session
        if not session.is_between:
            return
        if session.pledge is None or session.pledge.commitment != commitment_of(self._journal.key(_CHANCE).hex()):
            self._commit()

    def _commit(self) -> None:
        """Bind the table to a new secret for the next game, and tell everybody its commitment."""
        secret = self._journal.renew_key(_CHANCE)
        self._accept(Commit(commitment_of(secret.hex())))

    def _beginning(
        self, game: str, options: Mapping[str, Any], seed: int | None, score: tuple[int, int, int]
    ) -> NewGame:
        """The record of a game that begins now; raises `Malformed`, `JournalError` when no commitment can be kept."""
        played = game_named(game)
        is_drawn = played.drawn(played.options(options)) is not Drawn.NEVER
        if seed is None and is_drawn:
            return NewGame(game, self._journal.next_number(), 0, dict(options), score, self._fair_chance())
        drawn = secrets.randbits(48) if seed is None else seed
        is_chosen = is_drawn and seed is not None
        return NewGame(game, self._journal.next_number(), drawn, dict(options), score, is_chosen=is_chosen)

    def _fair_chance(self) -> FairChance:
        """Where the chance of a game that begins now comes from; raises `JournalError`."""
        if self._live.session.pledge is None:
            self._commit()
        pledge = self._live.session.pledge
        if pledge is None:
            raise RuntimeError("no commitment after one was made")
        secret = self._journal.key(_CHANCE).hex()
        return FairChance(pledge.commitment, secret, pledge.contributions)

    # ---- publishing ----------------------------------------------------------------------------------------------

    def _publish(self, live: TableState, signals: tuple[Signal, ...] = ()) -> None:
        """Make the new view visible, then send cues and lamps."""
        with self._changed:
            self._live = replace(live, version=self._live.version + 1)
            self._changed.notify_all()
        for call in self._when_changed:
            call()
        lamps, trouble = lamps_of(self._live), self._in_trouble()
        for on_lamps in self._listeners.lamps:
            on_lamps(lamps, trouble)
        alarms = alarms_of(self._live.session)
        if alarms != self._alarms:  # after the lamps: what still blinks for the old turn ends in the same instant
            self._alarms = alarms
            for on_alarms in self._listeners.alarms:
                on_alarms(alarms)
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

    def _stand(self, about: str, sentence: str) -> None:
        """Show a standing trouble that stops nothing, beside what is wrong with the journal; empty: none any more."""
        self._troubles[about] = sentence
        self._show_troubles(self._live)

    def _show_troubles(self, live: TableState) -> None:
        told = (self._journal.notice, *self._troubles.values())
        self._standing = tuple(trouble for trouble in told if trouble)
        self._publish(replace(live, notices=self._standing))

    # ---- phones that want a pad's seat ---------------------------------------------------------------------------

    def _let_in(self, record: MoveSeat) -> None:
        """A phone goes on for a seat: what was entered at its pad and not handed in is gone."""
        self._accept(record)
        self._drafts.pop(record.seat, None)
        self._live = replace(self._live, drafts={**self._live.drafts, record.seat: 0})

    def _show_claims(self, marks: Mapping[Seat, Mark]) -> None:
        """Which marks the pads and the table screen show."""
        for seat in SEATS:
            self._troubles[f"claim of {seat}"] = sentence_of(seat) if seat in marks else ""
        self._show_troubles(replace(self._live, claims=marks))

    def _cannot_write(self, error: JournalError) -> None:
        """Say that nothing can be kept; what the table does by itself it tries again only after a while."""
        self._write_again_s = self._clock.monotonic_s() + WRITE_AGAIN_S
        notices = (*self._standing, error.message)
        if notices != self._live.notices:
            self._publish(replace(self._live, notices=notices))

    def disk_is(self, sentence: str, may_begin: bool) -> None:
        """What the pages say about the room on the disk (empty: nothing), and whether there is enough for a game."""

        def change() -> None:
            self._may_begin = may_begin
            self._stand("disk", sentence)

        self._owner.tell(change)

    def damage_is(self, sentence: str) -> None:
        """What the pages say about games that are damaged on the disk or cannot be removed; empty: nothing."""
        self._owner.tell(lambda: self._stand("damage", sentence))

    def _in_trouble(self) -> bool:
        return self._live.notices != self._standing or self._live.camera.state is CameraState.TROUBLE

    @abstractmethod
    def _let_time_pass(self) -> float:
        """Do what is due by now; answers in how many seconds the next thing may be due."""
