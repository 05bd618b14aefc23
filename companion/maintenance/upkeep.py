"""Maintenance of a running service: change settings, make and restore backups, reset everything."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from companion.core.clock import Clock
from companion.core.config import Settings, retired_setting_notices
from companion.core.errors import CompanionError, ConfigError
from companion.core.i18n import joined, listed, say
from companion.core.kit import SEATS
from companion.maintenance.backup import (
    cancel_staged,
    make_backup,
    stage_deletion,
    stage_restore,
    staged_sentence,
)
from companion.maintenance.settings.file import (
    FileContents,
    SettingsFile,
    values_by_name,
    with_changes,
)
from companion.maintenance.settings.last_good import LastGoodSettings
from companion.maintenance.settings.rows import (
    BY_HAND_SENTENCE,
    HUB_MAY_SET,
    page_may_write,
    setting_rows,
    unwritable_settings,
    works_at_once,
)
from companion.table.session import BETWEEN_GAMES
from companion.table.table import Table

# Name of an empty file in the state directory. It was last changed at the last backup.
BACKUP_MARK = "backed-up"
# Name of an empty file in the state directory. It exists once the owner is done with the first
# evening, a page that leads a new owner through the first steps.
FIRST_EVENING_MARK = "welcomed"
# Time in seconds without a game and without another change before the service restarts for a
# setting, so that an owner can change several settings first.
RESTART_AFTER_S = 10.0


class Upkeep:
    """Settings, backup, restore and reset of a running service. Any thread may call.

    Pages use it, and so does a hub (a machine that follows many tables) on behalf of its owner. The
    service calls `restart_when_idle` every few seconds.

    :param settings: settings that the service has started with, from file and command line
    :param path: the settings file
    :param use: makes the service use changed settings, as far as they take effect at once
    :param restart: restarts the service in a moment
    """

    def __init__(
        self,
        settings: Settings,
        path: Path,
        table: Table,
        clock: Clock,
        *,
        use: Callable[[Settings], None],
        restart: Callable[[], None],
    ) -> None:
        self.path = path
        """Path of the settings file, which need not exist."""
        self.running = settings
        """Settings that the service uses now."""
        self.start_notice = ""
        """What this start has restored or deleted, as a sentence. Empty if nothing."""
        self._last_good = LastGoodSettings(path)
        self._file = SettingsFile(path)
        self._table = table
        self._clock = clock
        self._use = use
        self.restart = restart
        self._lock = threading.Lock()
        on_file = self._values_on_file()
        # If a value differs from that in the file, it comes from the command line.
        self.from_command_line: Mapping[str, object] = {
            key: value
            for key, value in values_by_name(settings).items()
            if on_file.get(key, value) != value
        }
        """Settings from the command line of this run, by dotted name."""
        # Whether a setting was changed since the start.
        self._has_changed = False
        # Whether the table shows that it is about to restart for settings.
        self._is_restart_announced = False
        # Monotonic time of the last change of a setting, or of the last call of `restart_when_idle`
        # during a game, whichever is later.
        self._last_busy_at_s = 0.0

    def _values_on_file(self) -> Mapping[str, object]:
        """Return the settings in the file by dotted name. Empty if it cannot be read."""
        try:
            return values_by_name(self._file.read().settings)
        except ConfigError:
            return {}

    def read_file(self) -> FileContents:
        """Return the settings in the file, and its digest for `change`. Raises `ConfigError`."""
        return self._file.read()

    def change(self, changes: Mapping[str, object], digest: str) -> None:
        """Write values to the file and apply those that take effect at once.

        Raises `ConfigError` for values that the page may not write, and what `SettingsFile.change`
        raises.

        :param changes: values by dotted name, such as `{"table.theme": "dark"}`
        :param digest: the digest that `read_file` has returned
        """
        for key, value in changes.items():
            if not page_may_write(key, value):
                raise ConfigError(joined(" ", (BY_HAND_SENTENCE, f"[{key}]")))
        with self._lock:
            self._apply(self._file.change(changes, digest))

    def change_for_hub(self, texts: Mapping[str, str]) -> str:
        """Apply settings sent by a hub, if the hub may set them.

        Return the outcome as a sentence.

        :param texts: values as a person enters them, by dotted name
        """
        try:
            if refused := [key for key in texts if key not in HUB_MAY_SET]:
                raise ConfigError(
                    say("[{key}] can only be changed at the table itself.", key=refused[0])
                )
            on_file = self.read_file()
            old_values = values_by_name(on_file.settings)
            values = {key: setting_rows()[key].parse(text) for key, text in texts.items()}
            changes = {key: value for key, value in values.items() if value != old_values.get(key)}
            if not changes:
                return say("Nothing was changed.")
            self.change(changes, on_file.digest)
        except CompanionError as error:
            return error.message
        return say(
            "Saved: {settings}.", settings=listed(setting_rows()[key].title for key in changes)
        )

    def notice(self) -> str:
        """Return what an owner should know about the settings file. Empty if there is nothing.

        The sentences say that the last settings that worked were restored, or which settings in the
        file are no longer used.
        """
        return joined(" ", (self._last_good.notice(), *retired_setting_notices(self.path)))

    def needs_restart(self) -> bool:
        """Return whether a setting in the file needs a restart to take effect."""
        running = values_by_name(self.running)
        # Settings from the command line are left out, since a restart would not change them.
        return any(
            running[key] != value
            for key, value in self._values_on_file().items()
            if key not in self.from_command_line and not works_at_once(key)
        )

    def restart_when_idle(self) -> None:
        """Restart for settings that need it, once nobody plays.

        The first call at which a restart is due only announces it, and the next call restarts. If a
        game begins between the two calls, the announcement is taken back, and comes again after the
        game. While a restore or a deletion is staged there is no such restart: it would carry out
        what is staged, so the owner has to restart.
        """
        now_s = self._clock.monotonic_s()
        if self._is_game_on():
            self._last_busy_at_s = now_s
        is_idle = now_s - self._last_busy_at_s >= RESTART_AFTER_S
        is_due = (
            self._has_changed and is_idle and not self.staged_sentence() and self.needs_restart()
        )
        if is_due and self._is_restart_announced:
            self.restart()
        elif is_due:
            words = say("New settings: the table starts again in a moment.")
            self._table.set_notice("upkeep", words)
        elif self._is_restart_announced:
            self._table.set_notice("upkeep", "")
        self._is_restart_announced = is_due

    def _apply(self, written: Settings) -> None:
        """Use those of the written settings that take effect at once."""
        self._has_changed = True
        self._last_busy_at_s = self._clock.monotonic_s()
        at_once = {
            key: value for key, value in values_by_name(written).items() if works_at_once(key)
        }
        self.running = with_changes(self.running, at_once)
        self._use(self.running)

    def backup(self, with_photographs: bool, target: IO[bytes]) -> str:
        """Write a backup to `target`, and return a sentence about its contents.

        Raises what `make_backup` raises.

        :param with_photographs: whether to include the photographs of all turns
        """
        manifest = make_backup(self.running, self.path, self._clock, with_photographs, target)
        with suppress(OSError):
            self._mark_path(BACKUP_MARK).touch()
        return manifest.sentence()

    def last_backup_s(self) -> float | None:
        """Return the Unix time of the last backup. None if there is none."""
        try:
            return self._mark_path(BACKUP_MARK).stat().st_mtime
        except OSError:
            return None

    def is_first_evening_over(self) -> bool:
        """Return whether the owner has finished or skipped the first evening."""
        return self._mark_path(FIRST_EVENING_MARK).exists()

    def end_first_evening(self) -> None:
        """Record that the owner has finished or skipped the first evening."""
        with suppress(OSError):
            self._mark_path(FIRST_EVENING_MARK).touch()

    def _mark_path(self, name: str) -> Path:
        return self.running.journal_path.with_name(name)

    def restore(self, source: Path) -> str:
        """Check a backup and stage it for the next start. Return its contents as a sentence.

        Raises what `stage_restore` raises.
        """
        with self._lock:
            manifest = stage_restore(source, self.running, self.path)
        self._announce_staged()
        return manifest.sentence()

    def staged_sentence(self) -> str:
        """Return what is staged for the next start, as a sentence. Empty if nothing."""
        return staged_sentence(self.running)

    def cancel_staged(self) -> None:
        """Cancel the staged restore or deletion, and take its notice away."""
        with self._lock:
            cancel_staged(self.running)
        self._table.set_notice("upkeep", "")

    def reset(self, delete_games: bool) -> None:
        """Reset the settings, free both seats and end a game that is on.

        :param delete_games: whether all games are deleted at the next start, too
        """
        with self._lock:
            self._file.copy_aside()
            self._apply(self._file.reset_to(self._machine_settings()))
            # This comes last, so that no game is lost if the settings cannot be written.
            if delete_games:
                stage_deletion(self.running)
        if self._is_game_on():
            self._table.abandon()
        for seat in SEATS:
            self._table.free_seat(seat)
        if delete_games:
            self._announce_staged()

    def _machine_settings(self) -> Mapping[str, object]:
        """Return the settings that survive a reset, by dotted name.

        They are those that the page may not write, because they belong to the machine.
        """
        try:
            settings = self._file.read().settings
        except ConfigError:
            # The file cannot be read, so use the running settings, but without those that come only
            # from the command line.
            defaults = values_by_name(Settings())
            settings = with_changes(
                self.running, {key: defaults[key] for key in self.from_command_line}
            )
        return unwritable_settings(settings, Settings())

    def _announce_staged(self) -> None:
        """Announce at the table what is staged, and that it ends a game that is on."""
        # This notice replaces that of a restart for settings.
        self._is_restart_announced = False
        ends = say("The current game ends with it.") if self._is_game_on() else ""
        self._table.set_notice("upkeep", joined(" ", (self.staged_sentence(), ends)))

    def _is_game_on(self) -> bool:
        return self._table.progress().phase not in BETWEEN_GAMES
