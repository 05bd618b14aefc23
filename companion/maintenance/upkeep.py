"""The installation looked after while it runs: settings changed, backups made and taken back, all
reset.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from companion.core.clock import Clock
from companion.core.config import Settings, retired_settings
from companion.core.errors import CompanionError, ConfigError
from companion.core.i18n import joined, listed, say
from companion.core.kit import SEATS
from companion.maintenance.backup import (
    BackupNote,
    is_forgetting,
    is_staged,
    make_backup,
    stage_forgetting,
    stage_restore,
    unstage,
)
from companion.maintenance.settings.file import SettingsFile, changed, flat
from companion.maintenance.settings.last_good import LastGoodSettings
from companion.maintenance.settings.rows import (
    HUB_MAY_SET,
    by_hand,
    kept_by_hand,
    page_may_write,
    rows,
    works_at_once,
)
from companion.table.session import Phase
from companion.table.table import Table

BACKED_UP, WELCOMED = "backed-up", "welcomed"
"""Empty files of the state directory: a backup was made, the first evening is over."""
RESTART_AFTER_S = 10.0
"""Seconds without a game and without another change before the service begins anew for a
setting."""


class Upkeep:
    """Settings, backup, restore and reset of a running service.

    `use` is told of settings that work at once. `restart` begins the service anew, None: it cannot
    by itself.
    """

    def __init__(
        self,
        settings: Settings,
        path: Path,
        table: Table,
        clock: Clock,
        *,
        use: Callable[[Settings], None],
        restart: Callable[[], None] | None = None,
    ) -> None:
        self.path = path
        """The settings file, which need not exist yet."""
        self.can_restart = restart is not None
        self.done = ""
        """What this start has restored or deleted, in words. Empty: nothing."""
        self._last_good = LastGoodSettings(path)
        self._file = SettingsFile(path)
        self._running = settings
        self._table = table
        self._clock = clock
        self._use = use
        self._restart = restart
        self._lock = threading.Lock()
        on_file = self._values()
        # what the file does not say the command line has set
        self._ordered = {
            key: value for key, value in flat(settings).items() if on_file and on_file[key] != value
        }
        self._must_restart = self._is_announced = False
        self._idle_s = 0.0

    def _values(self) -> Mapping[str, object]:
        """Return what the file says by dotted name. Empty: it cannot be read."""
        try:
            return flat(self._file.read().settings)
        except ConfigError:
            return {}

    def running(self) -> Settings:
        """Return what the service goes by now."""
        return self._running

    def ordered(self) -> Mapping[str, object]:
        """Return what the command line has set for this run, by dotted name."""
        return self._ordered

    def on_file(self) -> tuple[Settings, str]:
        """Return what the file says, and a mark of it for `change`. Raises `ConfigError`."""
        held = self._file.read()
        return held.settings, held.seen

    def change(self, changes: Mapping[str, object], seen: str) -> None:
        """Write values into the file and go by those that work at once. Raises `ConfigError` for
        any other key.
        """
        for key, value in changes.items():
            if not page_may_write(key, value):
                raise ConfigError(joined(" ", (by_hand(), f"[{key}]")))
        with self._lock:
            self._go_by(self._file.change(changes, seen))

    def change_for_hub(self, typed: Mapping[str, str]) -> str:
        """Take settings that a hub has sent, of those that it may set, and return what came of it
        in a sentence.
        """
        try:
            if unknown := [key for key in typed if key not in HUB_MAY_SET]:
                raise ConfigError(
                    say("[{key}] can only be changed at the table itself.", key=unknown[0])
                )
            on_file, version = self.on_file()
            values = flat(on_file)
            changes = {
                key: value
                for key in typed
                if (value := rows()[key].read(typed[key])) != values.get(key)
            }
            self.change(changes, version)
        except CompanionError as error:
            return error.message
        if not changes:
            return say("Nothing was changed.")
        return say("Saved: {settings}.", settings=listed(rows()[key].title for key in changes))

    def put_back(self) -> str:
        """Say that settings were put back, and which are no longer used. Empty: neither."""
        return joined(" ", (self._last_good.told(), *retired_settings(self.path)))

    def waiting(self) -> int:
        """Return how many settings of the file work only after a restart."""
        running = flat(self._running)
        # what the command line has set does not come from the file
        return sum(
            running[key] != value
            for key, value in self._values().items()
            if key not in self._ordered and not works_at_once(key)
        )

    def restart_when_idle(self) -> None:
        """Begin anew for settings that need it, once nobody plays: the first call says so, the next
        one does it.

        What waits for the next start, such as that all games are deleted, waits for the owner
        instead.
        """
        now_s = self._clock.monotonic_s()
        # while a game is on, the idle time begins anew at every look
        if self._table.progress().phase not in (Phase.LOBBY, Phase.OVER):
            self._idle_s = now_s
        is_due = self.can_restart and self._must_restart and now_s - self._idle_s >= RESTART_AFTER_S
        if not is_due or self.staged() or not self.waiting():
            return
        if self._is_announced:
            self.restart()
        self._is_announced = True
        self._table.notice("upkeep", say("New settings: the table starts again in a moment."))

    def _go_by(self, written: Settings) -> None:
        self._must_restart, self._idle_s = True, self._clock.monotonic_s()
        at_once = {key: value for key, value in flat(written).items() if works_at_once(key)}
        self._running = changed(self._running, at_once)
        self._use(self._running)

    def restart(self) -> None:
        """Begin anew in a moment."""
        if self._restart is not None:
            self._restart()

    def backup(self, photographs: bool, target: IO[bytes]) -> str:
        """Write a backup, and return a sentence on what is in it."""
        sentence = make_backup(
            self._running, self.path, self._clock, photographs, target
        ).sentence()
        with suppress(OSError):
            self._mark(BACKED_UP).touch()
        return sentence

    def backed_up_s(self) -> float | None:
        """Return when a backup was made last, as Unix time. None: never."""
        try:
            return self._mark(BACKED_UP).stat().st_mtime
        except OSError:
            return None

    def is_welcomed(self) -> bool:
        """Return whether the owner has been through the first evening, or has skipped it."""
        return self._mark(WELCOMED).exists()

    def welcome(self) -> None:
        """Remember that the owner has been through the first evening."""
        with suppress(OSError):
            self._mark(WELCOMED).touch()

    def _mark(self, name: str) -> Path:
        """Return the path of an empty file that says when something was done last."""
        return self._running.journal_path.with_name(name)

    def restore(self, source: Path) -> str:
        """Check a backup and lay it ready for the next start. Return what is in it."""
        with self._lock:
            note: BackupNote = stage_restore(source, self._running, self.path)
        self._tell(say("At the next start a backup replaces all games."))
        return note.sentence()

    def staged(self) -> str:
        """Return what waits for the next start, as a sentence. Empty: nothing."""
        if not is_staged(self._running):
            return ""
        if is_forgetting(self._running):
            return say("At the next start all games are deleted.")
        return say("At the next start a backup replaces all games.")

    def unstage(self) -> None:
        """Forget what waits for the next start."""
        with self._lock:
            unstage(self._running)
        self._table.notice("upkeep", "")

    def reset(self, games: bool) -> None:
        """Reset the settings, free both seats and end a game that is on. `games`: all go at the
        next start.
        """
        with self._lock:
            if games:
                stage_forgetting(self._running)
            self._file.put_aside()
            self._go_by(self._file.begin_anew(self._by_hand()))
        view = self._table.view()
        if view.phase not in (Phase.LOBBY, Phase.OVER):
            self._table.abandon()
        for seat in SEATS:
            self._table.free_seat(seat)
        if games:
            self._tell(say("At the next start all games are deleted."))

    def _by_hand(self) -> Mapping[str, object]:
        """Return the settings that the page may not write. They belong to the machine, and stay
        when all others go.
        """
        try:
            settings = self._file.read().settings
        except ConfigError:
            # the file cannot be read: what runs, but without what the command line has set
            settings = changed(self._running, {key: flat(Settings())[key] for key in self._ordered})
        return kept_by_hand(settings, Settings())

    def _tell(self, sentence: str) -> None:
        """Let everybody at the table know what comes. A game that is on ends with it."""
        is_on = self._table.view().phase not in (Phase.LOBBY, Phase.OVER)
        ends = say("The current game ends with it.") if is_on else ""
        self._table.notice("upkeep", joined(" ", (sentence, ends)))
