"""Background work that nobody waits for: disk space, old games and memory.

A thread does a round of it every few seconds. A round removes one game at most, and only while no
game is running and nobody has used the table for a while. Other parts of the service have their own
tasks called at the end of each round.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Callable

from companion.archive.history import History
from companion.core.clock import EARLIEST_UNIX_S, Clock
from companion.core.config import HistorySettings
from companion.core.errors import CompanionError
from companion.core.ports import Closeable
from companion.core.resources import NICE_BACKGROUND, lower_priority, trim_memory
from companion.storage.disk_space import DiskSpace
from companion.storage.journal import Journal
from companion.table.session import BETWEEN_GAMES
from companion.table.table import Table

log = logging.getLogger(__name__)

# Pause in seconds between two rounds. With a longer pause a full disk would be noticed too late.
ROUND_INTERVAL_S = 5.0
# Time in seconds without activity at the table after which games may be removed. Writing to the
# disk while somebody plays could delay that player.
QUIET_S = 60.0
# Interval in seconds at which freed memory is returned to the system. Each time takes some
# milliseconds.
MEMORY_INTERVAL_S = 30.0

_DAY_S = 86_400.0
# Maximum number of free pages of the database (4 KB each) that one round returns to the disk. It is
# small, so that a round is short.
_MAX_PAGES_PER_ROUND = 64


class Housekeeping(Closeable):
    """Does the housekeeping of one table. A context manager whose `close` may be called twice.

    `start` starts its thread. A test calls `run_round` instead.

    :param has_reliable_date: returns whether the machine's date can be relied on. If not, no game
        is removed for its age
    """

    def __init__(
        self,
        table: Table,
        journal: Journal,
        history: History,
        disk_space: DiskSpace,
        *,
        clock: Clock,
        settings: HistorySettings,
        has_reliable_date: Callable[[], bool] = lambda: True,
    ) -> None:
        self._table = table
        self._journal = journal
        self._history = history
        self._clock = clock
        self._has_reliable_date = has_reliable_date
        # The service replaces these settings when an owner changes them.
        self.settings = settings
        # Every round measures it.
        self.disk_space = disk_space
        # The last sentence about the disk that was reported to the table. Empty if the disk has
        # space enough.
        self._reported_sentence = ""
        # Game, moment and phase in the last round. If they differ now, somebody has used the table.
        self._last_activity: object = None
        # Monotonic times: since when nobody has used the table, and when memory is returned next.
        self._quiet_since_s = clock.monotonic_s()
        self._next_trim_at_s = clock.monotonic_s() + MEMORY_INTERVAL_S
        self.tasks: list[Callable[[], object]] = []
        """Functions of other parts that are called at the end of each round."""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread. A second call does nothing."""
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop after the current round. Wait for it at most ten seconds."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
            self._thread = None

    def _run(self) -> None:
        lower_priority(NICE_BACKGROUND)
        self.run_round()
        while not self._stop.wait(ROUND_INTERVAL_S):
            self.run_round()

    def run_round(self) -> None:
        """Do one round. An error in one part affects neither the other parts nor the table."""
        self._attempt(self._measure_space)
        if self._check_quiet():
            self._attempt(self._remove_old_game)
        self._attempt(self.trim_memory_if_due)
        for task in self.tasks:
            self._attempt(task)

    def trim_memory_if_due(self) -> None:
        """Return freed memory to the system, every `MEMORY_INTERVAL_S`.

        Cyclic garbage is collected first. Otherwise it stays scattered among live objects until the
        collector runs by itself.
        """
        now_s = self._clock.monotonic_s()
        if now_s >= self._next_trim_at_s:
            self._next_trim_at_s = now_s + MEMORY_INTERVAL_S
            gc.collect()
            trim_memory()

    def _attempt(self, task: Callable[[], object]) -> None:
        """Do a task, and log its error if it raises one."""
        try:
            task()
        except CompanionError as error:
            log.warning("housekeeping: %s", error.message)
        except Exception:  # the service must go on
            log.exception("housekeeping: a round failed, the next one follows")

    def _measure_space(self) -> None:
        """Measure the disk space, and report changes to the table."""
        self.disk_space.measure()
        sentence = self.disk_space.warning
        if sentence != self._reported_sentence:
            if sentence:
                log.warning("%s", sentence)
            self._reported_sentence = sentence
            self._table.report_disk(sentence, self.disk_space.allows_new_game)

    def _check_quiet(self) -> bool:
        """Note whether the table was used since the last round.

        Return whether no game is running and nobody has used it for `QUIET_S`.
        """
        now_s = self._clock.monotonic_s()
        progress = self._table.progress()
        activity = (progress.number, progress.moment, progress.phase)
        if activity != self._last_activity:
            self._last_activity = activity
            self._quiet_since_s = now_s
        is_between_games = progress.phase in BETWEEN_GAMES
        return is_between_games and now_s - self._quiet_since_s >= QUIET_S

    # ---- old games -------------------------------------------------------------------------------

    def _remove_old_game(self) -> None:
        """Remove the oldest expired game, if there is one, and give some disk space back."""
        for game_id in self._old_games()[:1]:
            self._history.remove(game_id)
        # This is done in every round, because one round may be too short for a large game.
        self._journal.database.shrink(_MAX_PAGES_PER_ROUND)

    def _old_games(self) -> list[int]:
        """Return the ids of the games that the settings no longer let stay, the oldest first.

        Imported games are never among them, nor is the game on the table.
        """
        settings = self.settings
        if settings.keep == "all":
            return []
        id_on_table = self._table.progress().number
        if settings.keep == "games":
            all_but_newest = self._journal.games()[: -settings.games]
            return [game_id for game_id in all_but_newest if game_id != id_on_table]
        if not self._has_reliable_date():
            return []
        expired_at = self._clock.wall_s() - settings.days * _DAY_S
        # A game with a time before `EARLIEST_UNIX_S` was played while the clock was not set.
        return [
            game_id
            for game_id, last_at in self._journal.archive.last_entry_times()
            if EARLIEST_UNIX_S <= last_at < expired_at and game_id != id_on_table
        ]
