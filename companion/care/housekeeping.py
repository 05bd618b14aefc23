"""What is done beside the table while nobody waits for it: room on the disk, old games, dates, checks of what is kept.

A thread of its own with a round every few seconds. Of the journal's lock each step holds what one game takes, some
milliseconds; games are removed and checked only while none is on and nobody has touched the table for a while.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from companion.clock import Clock
from companion.config import HistorySettings
from companion.disk import formats
from companion.disk.space import Space
from companion.errors import CompanionError
from companion.journal import Journal
from companion.languages import listed, say
from companion.past.history import History
from companion.past.photographs import PhotographFolder
from companion.session import Phase
from companion.table import Table

log = logging.getLogger(__name__)

ROUND_S = 5.0
QUIET_S = 60.0
"""So long nothing has happened at the table before games are removed or checked."""
_SLICE_S = 0.05
"""So long a round checks games."""
_DAY_S = 86_400.0
_PAGES = 64
"""So many free pages a round gives back to the disk."""
_NAMED = 8
"""So many damaged games are told by their number."""


class Housekeeping:
    """Keeps the room of one table; `step` is one round. A context manager, `close` may be called twice."""

    def __init__(
        self,
        table: Table,
        journal: Journal,
        history: History,
        *,
        album: PhotographFolder,
        clock: Clock,
        settings: HistorySettings,
        space: Space | None = None,
    ) -> None:
        self._table = table
        self._journal = journal
        self._history = history
        self._album = album
        self._clock = clock
        self.settings = settings
        self.space = space or Space(journal.path)
        journal.on_full = self.space.give_up
        album.has_room = history.has_room = lambda: self.space.has_room
        self._told = ""
        self._seen: object = None
        self._since_s = clock.monotonic_s()
        self._has_started = False
        self._unchecked: list[int] | None = None
        self._damaged: list[int] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin in a thread of its own; a second call does nothing."""
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop after the step that is being done."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
            self._thread = None
        self._journal.on_full = lambda: False

    def __enter__(self) -> Housekeeping:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        self.step()
        while not self._stop.wait(ROUND_S):
            self.step()

    def step(self) -> None:
        """One round; whatever is wrong with it, the table goes on."""
        try:
            self._look()
            self._journal.clock_was_set(self._clock.wall_s(), self._clock.monotonic_s())
            if self._is_quiet():
                self._count_start()
                self._thin()
                self._check()
        except CompanionError as error:
            log.warning("housekeeping: %s", error.message)
        except Exception:  # a comfort, as above
            log.exception("housekeeping: a round failed, the next one follows")

    def _look(self) -> None:
        """Measure the room, and tell the table what has changed."""
        self.space.look()
        sentence = self.space.sentence
        if sentence != self._told:
            if sentence:
                log.warning("%s", sentence)
            self._told = sentence
            if not self.space.may_begin:
                self._journal.tighten()
            self._table.disk_is(sentence, self.space.may_begin)

    def _is_quiet(self) -> bool:
        now = self._table.progress()
        seen = (now.number, now.moment, now.phase)
        if seen != self._seen:
            self._seen, self._since_s = seen, self._clock.monotonic_s()
        is_between = now.phase in (Phase.LOBBY, Phase.OVER)
        return is_between and self._clock.monotonic_s() - self._since_s >= QUIET_S

    def _count_start(self) -> None:
        """The copy of before a migration goes when so many starts went well."""
        if self._has_started:
            return
        self._has_started = True
        kept = formats.copies(self._journal.path)
        if kept and self._journal.count("starts") >= formats.KEPT_STARTS:
            for copy in kept:
                copy.unlink(missing_ok=True)

    # ---- old games ---------------------------------------------------------------------------------------------------

    def _thin(self) -> None:
        """Remove some of the games that are not to be kept any more, the oldest first; photographs of all go before."""
        old = self._old_games()
        if not old:
            self._journal.shrink(_PAGES)  # what one round has left to the next
            return
        for number in sorted(set(old) & set(self._album.games())):
            self._album.remove(number)
        end_s = time.monotonic() + _SLICE_S
        gone = 0
        while gone < len(old) and (not gone or time.monotonic() < end_s):
            self._history.remove(old[gone])
            gone += 1
        self._journal.shrink(_PAGES)
        log.info("%d old games were removed: [history] keeps no more.", gone)

    def _old_games(self) -> list[int]:
        """The games beyond what the settings keep, the oldest first; never one that was brought in from elsewhere."""
        settings = self.settings
        if settings.keep == "all":
            return []
        on_table = self._table.progress().number
        if settings.keep == "games":
            return [number for number in self._journal.games()[: -settings.games] if number != on_table]
        if not self._journal.knows_date(self._clock.wall_s(), self._clock.monotonic_s()):
            return []  # nobody knows what day it is
        before = self._clock.wall_s() - settings.days * _DAY_S
        return [number for number, at in self._journal.ended() if at < before and number != on_table]

    # ---- checks ------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Go through some of the games that were not looked at when the service began."""
        if self._unchecked is None:
            self._check_pages(self._journal.path)
            self._unchecked = self._journal.games()
        end_s = time.monotonic() + _SLICE_S
        while self._unchecked and time.monotonic() < end_s:
            number = self._unchecked.pop()
            if not self._journal.check(number):
                self._damaged.append(number)
                self._tell_damaged()

    def _check_pages(self, path: Path) -> None:
        if not formats.is_sound(path, whole=True):
            formats.mark(path)
            self._table.damage_is(
                say("The journal is damaged. Finish the game and restart: then all that can be read is kept.")
            )
            log.error("the journal's pages are damaged: it is mended at the next start")

    def _tell_damaged(self) -> None:
        numbers = sorted(self._damaged)[:_NAMED]
        sentence = say("Games that are damaged on the disk: {numbers}. All others are whole.", numbers=listed(numbers))
        log.error("games %s are damaged on the disk", ", ".join(map(str, numbers)))
        self._table.damage_is(sentence)
