"""The table store: the state of a table, with its lock, its journal, its listeners and a thread.

Every input takes the same path: the reducer checks it, the journal writes and syncs it, and only
then does anybody see its effect. The thread does what becomes due as time passes. The words
(moment, stage, headline, cue) are explained in `companion.table.session`.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from companion.core.clock import Clock
from companion.core.config import WAIT_FOR_TAP_FROM_S, TableSettings
from companion.core.errors import CompanionError, JournalError, Stale, format_trace
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.clocks.deadlines import CLOCK_NOTE_INTERVAL_S, due_time_out, restore_clock
from companion.table.last_choices import LastChoices
from companion.table.lesson_progress import lesson_step
from companion.table.listeners import Listeners
from companion.table.records import (
    SEATS_GAME,
    AnyRecord,
    Commit,
    FreeSeat,
    GameOptions,
    MoveSeat,
    Pause,
    ShowCard,
    TakeSeat,
)
from companion.table.remote.fold import fold_record
from companion.table.session import Phase, Session, Signals, StageKey
from companion.table.state import (
    WRITE_ERROR,
    TableState,
    TimedHeadline,
    stage_headline,
    with_session,
)

log = logging.getLogger(__name__)
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

# Seconds after a failed write in which the table does nothing by itself. With a shorter time, a
# full disk would be tried more often, and fill the log. With a longer one, the game would stand
# still after the disk has recovered.
WRITE_RETRY_S = 2.0
# Factor by which texts of a lesson stay on the screen longer than those of a game, because a
# beginner reads them for the first time.
LESSON_READING_FACTOR = 3
# Maximum time in seconds between two heartbeats of the thread, each of which does what is due. With
# a longer time, time-outs and headlines would come late. With a shorter one, an idle table would
# take more of the processor.
HEARTBEAT_S = 0.05
# Reading time in seconds, with the default setting: to find a sentence, and for each word of it.
FIND_SENTENCE_S = 1.0
READ_WORD_S = 0.3
# Default of the setting `reading_time_s`. Another value scales all these times in proportion.
DEFAULT_READING_TIME_S = 3.0
# Seconds for which pages show pieces that move and then rest, before the sign shows the effect.
MOVES_SHOWN_S = 1.4
# Timeout in seconds for the table's lock. An input takes milliseconds, or seconds on a failing
# disk. If the lock stays taken for longer, the table hangs.
LOCK_TIMEOUT_S = 30.0


class RecordJournal(Protocol):
    """The journal of accepted inputs, as the table uses it (`companion.storage` has the real one).

    A record is synced before the method returns. Methods raise `JournalError`.
    """

    @property
    def notice(self) -> str:
        """What is wrong with the journal, as a sentence for people. Empty if nothing is."""

    def restore(self) -> Session:
        """Return the seats, and the last game folded from its records.

        If that game cannot go on, the session has the seats alone, and `notice` says why.
        """

    def next_number(self) -> int:
        """Return the number of the next game."""

    def append(self, game: int, records: Sequence[AnyRecord], at: float, now_s: float) -> None:
        """Append all of these records of a game, or none of them.

        `at` is the Unix time and `now_s` the monotonic time of their acceptance.
        """

    def note_clock(self, moment: str, now_s: float) -> None:
        """Record that the clock of a moment was still running at this monotonic time."""

    def noted_clock_s(self, moment: str) -> float | None:
        """Return the last time in seconds that `note_clock` has recorded for a moment, or None."""

    def checkpoint(self) -> None:
        """Move appended records from the write-ahead log into the file, because a turn is over."""

    def key(self, name: str) -> bytes:
        """Return the random key of this name. It is created at the first request."""

    def renew_key(self, name: str) -> bytes:
        """Replace the key of this name by another random one."""


class TableStore:
    """Holds the one `TableState` of a table, called `live`.

    The functions of `turns`, `lobby`, `seating`, `pads` and `game_chance` work on a store. They set
    `live` directly if no page shows the difference, and otherwise call `publish`. Only what goes
    through `accept` survives a restart.

    "To hold the table" means to have its lock. Callers hold it for every method except `hold`,
    `hold_for_device`, `submit` and those of the thread. A `TableState` never changes, so reading
    `live` needs no lock.

    `start` runs the thread that calls `run_due_tasks` at every heartbeat and after every input, and
    `close` ends it. Tests and fast simulations do not start the thread: then `run_due_tasks` is
    called after each input and by `step`.
    """

    def __init__(
        self,
        journal: RecordJournal,
        clock: Clock,
        settings: TableSettings,
        run_due_tasks: Callable[[], None],
        choices: LastChoices | None = None,
    ) -> None:
        self.clock = clock
        self.now_s = clock.monotonic_s
        """Returns the monotonic time by which clocks run and inputs are stamped."""
        self.settings = settings
        self.last_choices = choices or LastChoices()
        self.journal = journal
        self.listeners = Listeners(clock)
        self.last_heartbeat_at_s = clock.monotonic_s()
        """Monotonic time of the thread's last heartbeat, even if something failed in it. By this
        time the health check knows that the table is alive.
        """
        self.has_disk_space = True
        self.round_game: tuple[str, GameOptions] | None = None
        """The game and options of a tournament's round at this table. None if there is no such
        round.
        """
        self.open_seat: Seat | None = None
        """The seat that is open to the next phone, because its player at the pad wants that."""
        self.open_seat_until_s = 0.0
        """Monotonic time until which that seat is open."""
        self.refused_stage_key: StageKey | None = None
        """Key of the stage that somebody last tried to confirm with a key of a pad. If the stage is
        still shown, the press was refused.
        """
        self._run_due_tasks = run_due_tasks
        self._lock = threading.RLock()
        self._hold_depth = 0
        """Number of nested holds of the thread that holds the table."""
        # One item for each caller that waits for the lock. Appending to a deque and popping from it
        # are atomic, so the callers can be counted without another lock.
        self._waiting_callers = deque[None]()
        self._is_closed = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self.on_accepted: tuple[Callable[[TableStore], None], ...] = ()
        """Functions that are called after every accepted input."""
        self.next_step_at_s = -math.inf
        """Monotonic time until which the table does not act by itself, after a failed write."""
        self._clock_noted_at_s = -math.inf
        self._is_checkpoint_due = False
        """Whether to move appended records into the journal's file, because a turn is over."""
        session = journal.restore()
        noted_at_s = journal.noted_clock_s(session.moment)
        session, pause = restore_clock(session, noted_at_s, clock.monotonic_s())
        if pause:
            session = fold_record(session, pause)[0]
            # If the disk is full, the next restart makes the same record again.
            with suppress(JournalError):
                journal.append(session.game_number, (pause,), clock.wall_s(), clock.monotonic_s())
        # After a restart nobody waits for the result of a game that was over.
        if session.phase is Phase.OVER and session.remote is None:
            session = session.lobby
        self.live = TableState(
            session,
            stage_since_s=clock.monotonic_s(),
            headline=self.timed_headline(session),
            notices={"journal": journal.notice},
            remembered_game=self.last_choices.game if self.last_choices.game in GAMES else None,
        )

    @property
    def session(self) -> Session:
        """The part of the state that the journal can restore."""
        return self.live.session

    # ---- the lock and the thread -----------------------------------------------------------------

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the table during a change.

        Raises `Stale` once it is closed, and `TimeoutError` if the lock stays taken for
        `LOCK_TIMEOUT_S`.
        """
        with self._lock_table():
            if self._is_closed:
                raise Stale(say("The companion is shutting down"))
            yield

    @contextmanager
    def hold_for_device(self) -> Iterator[None]:
        """Hold the table for a device's input.

        Errors are logged, because they must not stop the device.
        """
        try:
            with self._lock_table():
                yield
        except Stale:
            pass  # the table closes
        except CompanionError as error:
            log.warning("table: refused: %s", error.kind)
        except Exception as error:
            log.error("table: an input failed, the rest goes on: %s", format_trace(error))

    def as_method(
        self, function: Callable[Concatenate[TableStore, _Parameters], _Result]
    ) -> Callable[_Parameters, _Result]:
        """Return a function of a store as a public method that holds the table."""

        def method(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            with self.hold():
                return function(self, *args, **kwargs)

        return method

    def as_device_method(
        self, function: Callable[_Parameters, None]
    ) -> Callable[_Parameters, None]:
        """Return a function as a public method for a device.

        The method holds the table and never raises.
        """

        def method(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> None:
            with self.hold_for_device():
                function(*args, **kwargs)

        return method

    @contextmanager
    def _lock_table(self) -> Iterator[None]:
        """Take the table's lock. Raises `TimeoutError` after `LOCK_TIMEOUT_S`."""
        # No turn times out while a caller waits, because its input may have arrived in time.
        self._waiting_callers.append(None)
        is_held = self._lock.acquire(timeout=LOCK_TIMEOUT_S)
        self._waiting_callers.pop()
        if not is_held:
            raise TimeoutError("the table hangs")
        self._hold_depth += 1
        try:
            yield
        finally:
            self._hold_depth -= 1
            # Without a thread, time passes when the last holder releases the lock.
            if self._hold_depth == 0 and self._thread is None:
                self.step()
            self._wake.set()
            self._lock.release()

    @property
    def waiting_caller_count(self) -> int:
        """The number of callers that are waiting for the lock or just taking it."""
        return len(self._waiting_callers)

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="table", daemon=True)
        self._thread.start()

    def step(self) -> None:
        """Do what is due, in the caller's thread. Errors are logged."""
        with self._lock:
            if self._is_closed:
                return
            self._hold_depth += 1
            try:
                self._run_due_tasks()
                # Once a turn is over and shown, appended records go into the file.
                if self._is_checkpoint_due:
                    self._is_checkpoint_due = False
                    self.journal.checkpoint()
            except CompanionError as error:
                log.warning("table: refused: %s", error.kind)
            except Exception as error:
                log.error("table: what was due failed, the rest goes on: %s", format_trace(error))
            finally:
                self._hold_depth -= 1

    def close(self) -> None:
        """End the thread. Accepted records are already on disk."""
        with self._lock:
            self._is_closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.listeners.close()

    def _run(self) -> None:
        """Do what is due at every heartbeat and after every input. This is the thread."""
        while not self._is_closed:
            self._wake.wait(HEARTBEAT_S)
            self._wake.clear()
            self.step()
            self.last_heartbeat_at_s = self.clock.monotonic_s()

    # ---- accepting -------------------------------------------------------------------------------

    def accept(self, *records: AnyRecord) -> None:
        """Check records, write and sync them, and only then show their effect.

        They all belong to one game, or to none (see `SEATS_GAME`). If this raises a
        `CompanionError`, nothing has happened. Nobody ever sees a state between two of the records.
        """
        if self._is_closed:
            raise Stale(say("The companion is shutting down"))
        before = session = self.session
        signals: Signals = ()
        for record in records:
            session, record_signals = fold_record(session, record)
            signals += record_signals
        since_s = session.countdown.started_at_s if session.countdown else None
        has_new_clocks = session.chess_clocks and not before.chess_clocks
        if since_s is not None and has_new_clocks and not session.remote:
            # A chess clock does not start by itself, but when somebody presses its key.
            records = (*records, Pause("start", since_s))
            session, record_signals = fold_record(session, records[-1])
            signals += record_signals
        self._write(records, session)
        if session.phase is Phase.OVER and session.is_replaced_by_lobby(before):
            session = session.lobby
        live = with_session(self.live, session, self.now_s())
        live = replace(live, notices={**live.notices, WRITE_ERROR: ""})
        if session.stage_key != before.stage_key:
            in_stages = session.phase is Phase.STAGES
            live = replace(live, headline=self.timed_headline(session) if in_stages else None)
        self.publish(live, signals)
        for callback in self.on_accepted:
            callback(self)
        if session.moment != before.moment or session.phase is Phase.OVER:
            self._is_checkpoint_due = True

    def submit(self, record: AnyRecord) -> None:
        """Hold the table, and accept a record from outside."""
        with self.hold():
            self.accept(record)

    def accept_stamped(self, stamp_s: float, record: AnyRecord) -> None:
        """Accept a record that came in at `stamp_s`, after any time-out that was due by then."""
        if self.session.countdown and (time_out := due_time_out(self.session, stamp_s)):
            self.accept(time_out)
        self.accept(record)

    def _write(self, records: Sequence[AnyRecord], session: Session) -> None:
        """Append records to the journal. If it refuses, show why before raising `JournalError`."""
        # Seats, players' cards and commitments outlast a game.
        is_of_no_game = isinstance(records[0], TakeSeat | FreeSeat | MoveSeat | ShowCard | Commit)
        game = SEATS_GAME if is_of_no_game else session.game_number
        try:
            self.journal.append(game, records, self.clock.wall_s(), self.now_s())
        except JournalError as error:
            self.report_write_error(error)
            raise

    # ---- showing ---------------------------------------------------------------------------------

    def publish(self, live: TableState, signals: Signals = ()) -> None:
        """Show this state to everybody who follows the table, and send cues."""
        self.live = replace(live, version=self.live.version + 1)
        self.listeners.show_state(self.live, signals)

    def set_notice(self, topic: str, sentence: str) -> None:
        """Set the notice of a topic, which stays on the pages. An empty sentence removes it."""
        notices = {**self.live.notices, "journal": self.journal.notice, topic: sentence}
        self.publish(replace(self.live, notices=notices))

    def timed_headline(self, session: Session, index: int = 0) -> TimedHeadline | None:
        """Return a headline of the current stage, shown from now on. None after the last one.

        The reading time depends on the number of words and on the setting `reading_time_s`. A scene
        (a headline with a drawing) lasts twice as long as a plain headline. If it is the first one
        of the stage, it lasts longer, because the pages move the pieces before they show it. In a
        lesson, both last `LESSON_READING_FACTOR` times as long as a plain headline. With the
        longest setting, a headline stays until somebody taps it away.
        """
        headline = stage_headline(session, index)
        if headline is None or self.settings.reading_time_s >= WAIT_FOR_TAP_FROM_S:
            return headline
        content = headline.content
        scale = self.settings.reading_time_s / DEFAULT_READING_TIME_S
        factor = 2 if content.scene else 1
        if session.is_guided and lesson_step(session):
            factor = LESSON_READING_FACTOR
        reading_s = FIND_SENTENCE_S + READ_WORD_S * len(content.text.split())
        duration_s = scale * factor * reading_s
        due_s = self.now_s() + duration_s
        if content.scene and index == 0:
            due_s += scale * MOVES_SHOWN_S
        return replace(headline, duration_s=duration_s, due_s=due_s)

    # ---- a disk that refuses ---------------------------------------------------------------------

    def report_write_error(self, error: JournalError) -> None:
        """Show that the journal cannot be written, and let the table rest for `WRITE_RETRY_S`."""
        self.next_step_at_s = self.now_s() + WRITE_RETRY_S
        if self.live.notices.get(WRITE_ERROR) != error.message:
            self.set_notice(WRITE_ERROR, error.message)

    def note_clock(self) -> None:
        """Record the time of a running clock every `CLOCK_NOTE_INTERVAL_S`, for a restart."""
        session = self.session
        now_s = self.now_s()
        is_running = session.countdown is not None and session.countdown.started_at_s is not None
        if not is_running or now_s - self._clock_noted_at_s < CLOCK_NOTE_INTERVAL_S:
            return
        self._clock_noted_at_s = now_s
        try:
            self.journal.note_clock(session.moment, now_s)
        except JournalError as error:
            self.report_write_error(error)
