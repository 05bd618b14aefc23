"""The installation looked after while it runs: settings changed, backups made and taken back, all reset."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from companion.core.clock import Clock
from companion.core.config import Settings, retired_settings
from companion.core.errors import CompanionError, ConfigError
from companion.core.i18n import joined, say, say_n
from companion.core.kit import SEATS
from companion.maintenance.backup import (
    BackupNote,
    is_staged,
    make_backup,
    stage_forgetting,
    stage_restore,
    unstage,
)
from companion.maintenance.settings.file import SettingsFile, changed, flat
from companion.maintenance.settings.rows import (
    all_keys,
    by_hand,
    kept_by_hand,
    page_may_write,
    sections,
    works_at_once,
)
from companion.maintenance.settings.trial import SettingsTrial
from companion.table.session import Phase
from companion.table.table import Table


@dataclass(frozen=True)
class SettingsActions:
    """What is done about settings that were changed.

    `use` is told of settings that work at once; `restart` begins the service anew, None: it cannot by itself.
    `try_out` answers what is wrong with settings that work after a restart, empty: nothing.
    """

    use: Callable[[Settings], None]
    restart: Callable[[], None] | None = None
    try_out: Callable[[Settings], str] = lambda _: ""


class InstallationUpkeep:
    """Implements `companion.maintenance.requests.Upkeep` for a running service."""

    def __init__(
        self,
        settings: Settings,
        path: Path,
        table: Table,
        clock: Clock,
        actions: SettingsActions,
    ) -> None:
        self.path = path
        self.can_restart = actions.restart is not None
        self.done = ""
        self._trial = SettingsTrial(path)
        self._file = SettingsFile(path, self._trial.written)
        self._running = settings
        self._table = table
        self._clock = clock
        self._actions = actions
        self._lock = threading.Lock()
        self._ordered = self._differing(settings)

    def _differing(self, settings: Settings) -> Mapping[str, object]:
        """What of these settings the file does not say: the command line has set it."""
        try:
            said = flat(self._file.read().settings)
        except ConfigError:
            return {}
        return {key: value for key, value in flat(settings).items() if said.get(key) != value}

    def running(self) -> Settings:
        """What the service goes by now."""
        return self._running

    def ordered(self) -> Mapping[str, object]:
        """What the command line has set for this run, by dotted name."""
        return self._ordered

    def on_file(self) -> tuple[Settings, str]:
        """What the file says, and a mark of it for `change`; raises `ConfigError`."""
        held = self._file.read()
        return held.settings, held.seen

    def change(self, changes: Mapping[str, object], seen: str) -> None:
        """Write values into the file and go by those that work at once; raises `ConfigError` for any other key."""
        for key, value in changes.items():
            if not page_may_write(key, value):
                raise ConfigError(joined(" ", (by_hand(), f"[{key}]")))
        works = all(works_at_once(key) for key in changes)
        with self._lock:
            self._go_by(self._file.change(changes, seen, None if works else self._tried))

    def change_from_afar(self, typed: Mapping[str, str]) -> str:
        """Settings that a hub asks for, as the page takes them; only those that work at once. Answers a sentence."""
        try:
            rows = {row.key: row for section in sections() for row in section.rows if row.at_once}
            if unknown := [key for key in typed if key not in rows]:
                raise ConfigError(say("[{key}] can only be changed at the table itself.", key=unknown[0]))
            on_file, seen = self.on_file()
            said = flat(on_file)
            changes = {key: value for key in typed if (value := rows[key].read(typed[key])) != said.get(key)}
            self.change(changes, seen)
        except CompanionError as error:
            return error.message
        return (
            say_n("Saved: {n} setting.", "Saved: {n} settings.", len(changes))
            if changes
            else say("Nothing was changed.")
        )

    def _tried(self, wanted: Settings) -> None:
        """Raise `ConfigError` for settings with which the service would not come up."""
        if why := self._actions.try_out(wanted):
            raise ConfigError(say("Nothing was written. The new settings were tried and do not work: {why}", why=why))

    def put_back(self) -> str:
        """That settings of the page were put back, and which are no longer used; empty: nothing is to be said."""
        return joined(" ", (self._trial.told(), *retired_settings(self.path)))

    def _go_by(self, written: Settings) -> None:
        values = flat(written)
        self._running = changed(self._running, {key: values[key] for key in all_keys() if works_at_once(key)})
        self._actions.use(self._running)

    def restart(self) -> None:
        """Begin anew in a moment."""
        if self._actions.restart is not None:
            self._actions.restart()

    def backup(self, photographs: bool, target: IO[bytes]) -> str:
        """Write a backup; answers a sentence on what is in it."""
        return make_backup(self._running, self.path, self._clock, photographs, target).sentence()

    def restore(self, source: Path) -> str:
        """Check a backup and lay it ready for the next start; answers what is in it."""
        with self._lock:
            note: BackupNote = stage_restore(source, self._running, self.path)
        self._tell(say("A backup replaces all games at the next start."))
        return note.sentence()

    def staged(self) -> bool:
        """Does something wait for the next start?"""
        return is_staged(self._running)

    def unstage(self) -> None:
        """What waits for the next start is not done."""
        with self._lock:
            unstage(self._running)
        self._table.notice("upkeep", "")

    def reset(self, games: bool) -> None:
        """Settings as delivered, both seats free, a game that is on ended; `games`: all go at the next start."""
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
            self._tell(say("All games will be deleted at the next start."))

    def _by_hand(self) -> Mapping[str, object]:
        """The settings that the page may not write: they belong to the machine, and stay when all others go."""
        try:
            said = self._file.read().settings
        except ConfigError:
            said = changed(self._running, {key: flat(Settings())[key] for key in self._ordered})
        return kept_by_hand(said, Settings())

    def _tell(self, sentence: str) -> None:
        """Let everybody at the table know what comes; a game that is on ends with it."""
        is_on = self._table.view().phase not in (Phase.LOBBY, Phase.OVER)
        ends = say("The current game ends with it.") if is_on else ""
        self._table.notice("upkeep", joined(" ", (sentence, ends)))
