"""The state of a table: a lock, the journal, who listens, and a thread that lets time pass.

An input is checked by the reducer, written and synced, and only then shown to anybody.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ParamSpec, Protocol, TypeVar

from companion.core.clock import Clock
from companion.core.config import UNTIL_TAPPED_S, TableSettings
from companion.core.errors import CompanionError, JournalError, Stale, trace_of
from companion.core.i18n import say
from companion.core.ports import CameraState, Signal
from companion.table.clocks.deadlines import (
    NOTE_S,
    pause_after_restart,
    remote_clock_anew,
    time_out_of,
)
from companion.table.listeners import Listeners
from companion.table.records import AnyRecord, Commit, FreeSeat, MoveSeat, Pause, TakeSeat
from companion.table.remote.fold import advance
from companion.table.session import Phase, Session
from companion.table.state import TableState, headline_of, with_session

log = logging.getLogger(__name__)
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")

WRITE_AGAIN_S = 2.0
"""Seconds after which the table tries again by itself what the disk has refused."""
LESSON_READS = 3
"""Factor by which a lesson stays longer on the screen than a game."""
BEAT_S = 0.1
"""Longest time in seconds between two looks at what is due."""
SHORTEST_PAUSE_S = 0.0005
"""Shortest time in seconds between two rounds: whoever waits for the table comes first."""
FIRST_S, WORD_S = 1.0, 0.3
"""Seconds in which a sentence is read: to find it, and for each of its words."""
USUAL_READING_S = 3.0
"""Reading time in seconds as delivered: the setting scales the others by it."""
MOVES_S = 1.4
"""Seconds in which pieces move and then lie still before the sign tells what came of it."""
HUNG_S = 30.0
"""Seconds after which whoever waits for the table gives up: something in it hangs."""


class RecordJournal(Protocol):
    """Every accepted input, synced to disk before anybody sees its effect. Methods raise
    `JournalError`.
    """

    @property
    def notice(self) -> str:
        """Return what is wrong with the journal, for people. Empty: nothing is."""

    def restore(self) -> Session:
        """Return the session that the last game's records fold to."""

    def next_number(self) -> int:
        """Return the number of the next game."""

    def append(self, game: int, record: AnyRecord, at: float, now_s: float | None = None) -> None:
        """Keep a record of a game, accepted at a time of day `at` (seconds since 1970) and a
        monotonic time.
        """

    def append_together(
        self, game: int, records: Sequence[AnyRecord], at: float, now_s: float | None = None
    ) -> None:
        """Keep several records, or none of them."""

    def note_clock(self, moment: str, now_s: float) -> None:
        """Note that the clock of a moment was still running at this monotonic time."""

    def clock_of(self, moment: str) -> float | None:
        """Return the last time that was noted for a moment, None: none was."""

    def checkpoint(self) -> None:
        """Bring what was appended into the file itself, since a turn is over."""

    def key(self, name: str, length: int = 32) -> bytes:
        """Return the random key of a name, made when it is first asked for."""

    def renew_key(self, name: str, length: int = 32) -> bytes:
        """Make another random key in the place of the one of a name."""


class TableStore:
    """Keeps the one `TableState` of a table.

    Whoever changes something holds the table (`hold`). Every method but `hold`, `hold_for_device`
    and those of the thread is called by somebody who does. A state that is published is never
    changed any more, so looking at it needs no lock. The parts of the table set `live` where nobody
    sees the difference, and `publish` where somebody may. What must survive a restart goes through
    `accept` alone.

    `start` runs the thread that calls `do_due`, which answers in how many seconds it wants to be
    called again. Without it (tests, fast simulation) time passes after each input, and in `step`.
    """

    def __init__(
        self,
        journal: RecordJournal,
        clock: Clock,
        settings: TableSettings,
        do_due: Callable[[], float],
    ) -> None:
        self.clock = clock
        self.now_s = clock.monotonic_s
        """Returns the monotonic time by which clocks run and inputs are stamped."""
        self.settings = settings
        self.journal = journal
        self.listeners = Listeners(clock)
        self.round_s = clock.monotonic_s()
        """Monotonic time of the thread's last round, whatever went wrong in it: the table is
        alive."""
        self._do_due = do_due
        self._lock = threading.RLock()
        self._depth = 0
        """How often the thread that holds the table has asked for it."""
        self._waiting: deque[None] = deque()
        self._is_closed = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._pause_s = BEAT_S
        self._troubles: dict[str, str] = {}
        self._followers: list[Callable[[], None]] = []
        self._write_again_s = self._noted_s = -math.inf
        self._has_ended_turn = False
        session = remote_clock_anew(journal.restore(), clock.monotonic_s())
        self._notices: tuple[str, ...] = (journal.notice,) if journal.notice else ()
        if pause := pause_after_restart(session, journal.clock_of(session.moment)):
            session = advance(session, pause)[0]
            # a full disk: the next restart comes to the same
            with contextlib.suppress(JournalError):
                journal.append(session.number, pause, clock.wall_s(), clock.monotonic_s())
        if session.phase is Phase.OVER and session.remote is None:  # who comes now was not there
            session = session.at_home()
        self.live = TableState(session, stage_since_s=clock.monotonic_s(), notices=self._notices)
        self.live = self.time_headline(self.live)

    @property
    def session(self) -> Session:
        """Return what the journal can make again."""
        return self.live.session

    # ---- the lock and the thread -----------------------------------------------------------------

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the table while something is decided and done. Raises `Stale` once it is closed."""
        with self._lock_table():
            self._require_open()
            yield

    @contextmanager
    def hold_for_device(self) -> Iterator[None]:
        """Hold the table for what a device tells: nothing that goes wrong with it may stop the
        device.
        """
        try:
            with self._lock_table():
                yield
        except Stale:
            pass  # the table closes
        except CompanionError as error:
            log.warning("table: refused: %s", error.kind)
        except Exception as error:
            log.error("table: an input failed, the rest goes on: %s", trace_of(error))

    def held(self, act: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
        """Return an act of a part as a door: whoever calls it holds the table meanwhile."""

        def door(*args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
            with self.hold():
                return act(*args, **kwargs)

        return door

    def told(self, act: Callable[_Given, None]) -> Callable[_Given, None]:
        """Return an act of a part as a door for a device, which it never fails."""

        def door(*args: _Given.args, **kwargs: _Given.kwargs) -> None:
            with self.hold_for_device():
                act(*args, **kwargs)

        return door

    @contextmanager
    def _lock_table(self) -> Iterator[None]:
        # counted, because no turn is timed out while somebody waits who may have been in time
        self._waiting.append(None)
        is_held = self._lock.acquire(timeout=HUNG_S)
        self._waiting.pop()
        if not is_held:
            raise TimeoutError("the table hangs")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            # without a thread, time passes when the last holder lets go
            if self._depth == 0 and self._thread is None:
                self.step()
            self._wake.set()
            self._lock.release()

    def _require_open(self) -> None:
        if self._is_closed:
            raise Stale(say("The companion is shutting down"))

    @property
    def waiting(self) -> int:
        """Return how many callers wait for the table."""
        return len(self._waiting)

    def start(self) -> None:
        """Run the thread."""
        self._thread = threading.Thread(target=self._run, name="table", daemon=True)
        self._thread.start()

    def step(self) -> None:
        """Do what is due, in the caller's thread."""
        with self._lock:
            if self._is_closed:
                return
            self._depth += 1
            self._pause_s = BEAT_S
            try:
                self._pause_s = min(BEAT_S, max(SHORTEST_PAUSE_S, self._do_due()))
                # once a turn is over and shown, what was appended goes into the file
                if self._has_ended_turn:
                    self._has_ended_turn = False
                    self.journal.checkpoint()
            except CompanionError as error:
                log.warning("table: refused: %s", error.kind)
            except Exception as error:
                log.error("table: what was due failed, the rest goes on: %s", trace_of(error))
            finally:
                self._depth -= 1

    def close(self) -> None:
        """End the thread. What is accepted is on disk already."""
        with self._lock:
            self._is_closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.listeners.close()

    def _run(self) -> None:
        while not self._is_closed:
            self._wake.wait(self._pause_s)
            self._wake.clear()
            self.step()
            self.round_s = self.clock.monotonic_s()

    # ---- accepting -------------------------------------------------------------------------------

    def accept(self, *records: AnyRecord) -> None:
        """Check records of one kind, write and sync them, and only then show their effect.

        Raises a `CompanionError`, and then nothing has happened. Nobody ever sees what is between
        two of them.
        """
        self._require_open()
        before = session = self.session
        signals: tuple[Signal, ...] = ()
        for record in records:
            session, given = advance(session, record)
            signals += given
        since_s = session.countdown.since_s if session.countdown else None
        if since_s and session.bank and not before.bank and not session.remote:
            # A chess clock never starts by itself: somebody presses its key.
            records = (*records, Pause("start", since_s))
            session, given = advance(session, records[-1])
            signals += given
        self._write(records, session)
        if session.phase is Phase.OVER and session.is_left_for_home(before):
            session = session.at_home()
        live = replace(with_session(self.live, session, self.now_s()), notices=self._notices)
        shown = (before.moment, before.phase, before.stage)
        if session.phase is Phase.STAGES and shown != (
            session.moment,
            session.phase,
            session.stage,
        ):
            live = self.time_headline(live)
        self.live = live
        if session.kit != before.kit:
            self.listeners.kit_is(session.kit)
        self.publish(self.live, signals)
        for follow in self._followers:
            follow()
        if session.moment != before.moment or session.phase is Phase.OVER:
            self._has_ended_turn = True

    def accept_in_time(self, at_s: float, record: AnyRecord) -> None:
        """Accept what was stamped at a time, and before it the time-out that was due by then."""
        if self.session.countdown and (time_out := time_out_of(self.session, at_s)):
            self.accept(time_out)
        self.accept(record)

    def on_accept(self, follow: Callable[[], None]) -> None:
        """Have this called after every record, for what follows from it by itself."""
        self._followers.append(follow)

    def _write(self, records: Sequence[AnyRecord], session: Session) -> None:
        # seats and commitments outlast a game: they stand under the number 0
        is_beside = isinstance(records[0], TakeSeat | FreeSeat | MoveSeat | Commit)
        game = 0 if is_beside else session.number
        try:
            self.journal.append_together(game, records, self.clock.wall_s(), self.now_s())
        except JournalError as error:
            self.cannot_write(error)
            raise

    def go_home(self) -> None:
        """Show the lobby, where a game is over or one is chosen."""
        session = self.session.at_home() if self.session.phase is Phase.OVER else self.session
        live = with_session(self.live, session, self.now_s())
        if session.kit != self.session.kit:
            self.listeners.kit_is(session.kit)
        self.publish(replace(live, chosen=None, stage_since_s=self.now_s()))

    # ---- showing ---------------------------------------------------------------------------------

    def publish(self, live: TableState, signals: tuple[Signal, ...] = ()) -> None:
        """Make this state visible to everybody, and give cues."""
        self.live = replace(live, version=self.live.version + 1)
        self.listeners.show(self.live, self.in_trouble, signals)

    def notices(self, changed: Mapping[str, str]) -> None:
        """Show lasting troubles that stop nothing, beside what is wrong with the journal. Empty: it
        is over.
        """
        self._troubles |= changed
        troubles = (self.journal.notice, *self._troubles.values())
        self._notices = tuple(trouble for trouble in troubles if trouble)
        self.publish(replace(self.live, notices=self._notices))

    @property
    def in_trouble(self) -> bool:
        """Return whether something is wrong that the lamps should say."""
        # `cannot_write` has added what the disk refused
        return self.live.notices != self._notices or self.live.camera.state is CameraState.TROUBLE

    def time_headline(self, live: TableState) -> TableState:
        """Return the table as it shows its next headline from now on, until that can be read.

        A scene is read for twice the time, once the pieces of its stage have moved; in a lesson all
        takes longer.
        """
        headline = headline_of(live)
        if headline is None:
            return live
        if self.settings.reading_time_s >= UNTIL_TAPPED_S:
            return replace(live, headline_due_s=math.inf, headline_lasts_s=0.0)
        scale = self.settings.reading_time_s / USUAL_READING_S
        times = 2 if headline.scene else 1
        if live.session.lesson_step:
            times = LESSON_READS
        lasts_s = scale * times * (FIRST_S + WORD_S * len(headline.text.split()))
        due_s = self.now_s() + lasts_s
        if headline.scene and not live.headlines_read:
            due_s += scale * MOVES_S
        return replace(live, headline_due_s=due_s, headline_lasts_s=lasts_s)

    # ---- a disk that refuses ---------------------------------------------------------------------

    def cannot_write(self, error: JournalError) -> None:
        """Say that nothing can be kept.

        What the table does by itself it tries again only after a while.
        """
        self._write_again_s = self.now_s() + WRITE_AGAIN_S
        notices = (*self._notices, error.message)
        if notices != self.live.notices:
            self.publish(replace(self.live, notices=notices))

    @property
    def may_write(self) -> bool:
        """Return whether the disk has refused nothing just now, so that the table may do something
        by itself.
        """
        return self.now_s() >= self._write_again_s

    def note_clock(self) -> None:
        """Write a running clock down every now and then."""
        session, now_s = self.session, self.now_s()
        is_running = session.countdown is not None and session.countdown.since_s is not None
        if not is_running or now_s - self._noted_s < NOTE_S:
            return
        self._noted_s = now_s
        try:
            self.journal.note_clock(session.moment, now_s)
        except JournalError as error:
            self.cannot_write(error)
