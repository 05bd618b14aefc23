"""What every input at the table goes through: checked, written, synced, and only then shown to anybody."""

from __future__ import annotations

import contextlib
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec

from companion.core.clock import Clock
from companion.core.config import TableSettings
from companion.core.errors import JournalError, Malformed
from companion.core.i18n import say
from companion.core.ports import CameraState, Signal
from companion.table.clocks.deadlines import Timekeeper, remote_clock_anew
from companion.table.listeners import Listeners
from companion.table.mailbox import Mailbox
from companion.table.ports import RecordJournal
from companion.table.records import AnyRecord, Commit, FreeSeat, HandIn, MoveSeat, TakeSeat, TimeOut
from companion.table.reducer import advance
from companion.table.session import Phase, Session
from companion.table.state import EarlyPress, TableState, must_wait, with_session

WRITE_AGAIN_S = 2.0
"""So long after the disk has refused something the table tries again by itself."""
MAX_SALT = 64
LESSON_READS = 3.0
"""How much longer a lesson stays on the screen than a game."""


class Pipeline:
    """Keeps the one `TableState` of a table and changes it; every method is called by the table's thread.

    The parts of the table set `live` where nobody sees the difference, and `publish` where somebody may. What must
    survive a restart goes through `accept` alone. `settings` are those that hold now.
    """

    def __init__(
        self, journal: RecordJournal, clock: Clock, mailbox: Mailbox, listeners: Listeners, settings: TableSettings
    ) -> None:
        self.clock = clock
        self.settings = settings
        self.listeners = listeners
        self.journal = journal
        self._mailbox = mailbox
        self._troubles: dict[str, str] = {}
        self._followers: list[Callable[[], None]] = []
        self._write_again_s = -math.inf
        session = remote_clock_anew(journal.restore(), clock.monotonic_s())
        self._standing: tuple[str, ...] = (journal.notice,) if journal.notice else ()
        self.timekeeper = Timekeeper(journal)
        if pause := self.timekeeper.after_restart(session):
            session = advance(session, pause)[0]
            with contextlib.suppress(JournalError):  # a full disk: the next restart comes to the same
                journal.append(session.number, pause, clock.wall_s(), clock.monotonic_s())
        self.live = TableState(session, stage_since_s=clock.monotonic_s(), notices=self._standing)

    @property
    def session(self) -> Session:
        """What the journal can make again."""
        return self.live.session

    def now_s(self) -> float:
        """The monotonic time by which clocks run and inputs are stamped."""
        return self.clock.monotonic_s()

    # ---- accepting -----------------------------------------------------------------------------------------------

    def accept(self, record: AnyRecord) -> None:
        """Check a record, write it, sync it, and only then show its effect.

        Raises a `CompanionError`, and then nothing has happened.
        """
        self.accept_together((record,))

    def accept_together(self, records: Sequence[AnyRecord]) -> None:
        """Accept several records of one kind: all of them or none, and nobody ever sees what is between them."""
        before = session = self.session
        signals: tuple[Signal, ...] = ()
        for record in records:
            session, given = advance(session, record)
            signals += given
        self._write(records, session)
        self.live = replace(with_session(self.live, session, self.now_s()), notices=self._standing)
        if session.kit != before.kit:
            self.listeners.kit_is(session.kit)
        self.publish(self.live, signals)
        for follow in self._followers:
            follow()
        if session.moment != before.moment or session.phase is Phase.OVER:  # the turn is over and shown
            self._mailbox.tell(self.journal.checkpoint)

    @property
    def reading_time_s(self) -> float:
        """How long what is shown stays before the table goes on by itself; a lesson is read for the first time."""
        return self.settings.reading_time_s * (LESSON_READS if self.session.lesson_step else 1)

    def _write(self, records: Sequence[AnyRecord], session: Session) -> None:
        is_beside = isinstance(records[0], TakeSeat | FreeSeat | MoveSeat | Commit)
        game = 0 if is_beside else session.number
        try:
            self.journal.append_together(game, records, self.clock.wall_s(), self.now_s())
        except JournalError as error:
            self.cannot_write(error)
            raise

    def accept_in_time(self, at_s: float, record: AnyRecord) -> None:
        """Accept what was stamped at a time, and before it the time-outs that were due by then."""
        if time_out := self.time_out(at_s):
            self.accept(time_out)
        self.accept(record)

    def time_out(self, at_s: float) -> TimeOut | None:
        """The end of the turn by its clock, where that was due by then."""
        return self.timekeeper.time_out(self.session, at_s)

    def hand_in(self, order: HandIn) -> str:
        """Seal a seat's action and answer its receipt; empty while it waits for the camera to see the board lie still.

        The same order with the same salt once more is answered once more; a second press of a chess clock is none,
        and has no receipt of its own. The salt, if there is none, and the time of day are filled in.
        """
        seat, moment, salt = order.seat, order.moment, order.salt
        if salt and (len(salt) > MAX_SALT or not salt.isascii() or not salt.isalnum()):
            raise Malformed(say("A salt is at most {number} letters and digits", number=MAX_SALT))
        before = self.session.sealed_at(seat, moment)
        if before and salt and (before.action, before.salt) == (order.action, salt):
            return before.receipt
        waits = self.live.early is not None and self.live.early.is_for(order)
        if not order.read_s and (waits or self.session.has_counted(seat, moment, order.action)):
            return ""
        if not order.read_s and must_wait(self.live, order):
            self.publish(replace(self.live, early=EarlyPress(order)))
            return ""
        salted = msgspec.structs.replace(order, salt=salt or secrets.token_hex(16), at=self.clock.wall_s())
        self.accept_in_time(order.now_s, salted)
        sealed = self.session.sealed_at(seat, moment)
        return sealed.receipt if sealed else ""

    def when_accepted(self, follow: Callable[[], None]) -> None:
        """Have this called after every record, for what follows from it by itself."""
        self._followers.append(follow)

    # ---- showing -------------------------------------------------------------------------------------------------

    def publish(self, live: TableState, signals: tuple[Signal, ...] = ()) -> None:
        """Make this state visible to everybody, and give cues."""
        self.live = replace(live, version=self.live.version + 1)
        self.listeners.show(self.live, self.in_trouble, signals)

    def notice(self, about: str, sentence: str) -> None:
        """Show a standing trouble that stops nothing, beside what is wrong with the journal; empty: none any more."""
        self.notices({about: sentence})

    def notices(self, changed: Mapping[str, str]) -> None:
        """The same for several troubles at once."""
        self._troubles |= changed
        told = (self.journal.notice, *self._troubles.values())
        self._standing = tuple(trouble for trouble in told if trouble)
        self.publish(replace(self.live, notices=self._standing))

    @property
    def in_trouble(self) -> bool:
        """Is something wrong that the lamps should say?"""
        return self.live.notices != self._standing or self.live.camera.state is CameraState.TROUBLE

    # ---- a disk that refuses -------------------------------------------------------------------------------------

    def cannot_write(self, error: JournalError) -> None:
        """Say that nothing can be kept; what the table does by itself it tries again only after a while."""
        self._write_again_s = self.now_s() + WRITE_AGAIN_S
        notices = (*self._standing, error.message)
        if notices != self.live.notices:
            self.publish(replace(self.live, notices=notices))

    @property
    def may_write(self) -> bool:
        """Has the disk refused nothing just now, so that the table may do something by itself?"""
        return self.now_s() >= self._write_again_s

    def note_clock(self) -> None:
        """Write a running clock down every now and then."""
        try:
            self.timekeeper.note(self.session, self.now_s())
        except JournalError as error:
            self.cannot_write(error)
