"""The settings page, on which each change is saved at once.

Eight rows have the settings that owners change most. A part that unfolds has all others. The page
also has backup, restore and reset.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Response, render_template, request, send_file

from companion import __version__
from companion.core.clock import EARLIEST_UNIX_S
from companion.core.errors import ConfigError, Malformed
from companion.core.i18n import joined, say
from companion.core.kit import SEATS
from companion.maintenance.backup import disk_errors
from companion.maintenance.settings.file import values_by_name
from companion.maintenance.settings.rows import (
    BY_HAND_SENTENCE,
    LAMPS_ACTIVE_LOW,
    pad_rows,
    setting_rows,
    setting_sections,
)
from companion.maintenance.settings.words import PAD_PARTS
from companion.maintenance.upkeep import Upkeep
from web.rendering.answers import SettingsSaved
from web.routes.api.body import ShortText
from web.routes.route import TableRouteGroup, form, get, host_only, host_page, post
from web.server.server import MAX_UPLOAD_BYTES
from web.templating.phrases import date_words

# Maximum number of bytes of an upload in memory at once.
UPLOAD_CHUNK_BYTES = 1_000_000

# Settings whose value is a pin.
_PIN_SETTINGS = frozenset(
    [f"panel.{part}" for part in ("buzzer", "table_button", "system_lamp")]
    + [f"panel.{seat}.{part}" for seat in SEATS for part in PAD_PARTS]
)
# Settings of the eight main rows, some of which have several. The part that unfolds has all others.
_MAIN_SETTINGS = frozenset(
    {
        "table.language",
        "table.theme",
        "table.reading_time_s",
        "table.tip_south",
        "quiet.from",
        "quiet.to",
        "wifi.name",
        "wifi.password",
        "wifi.hidden",
        "web.join",
    }
)


@dataclass
class SettingsPage(TableRouteGroup):
    """The routes under `/settings`, for the owner only."""

    name = "settings"
    upkeep: Upkeep

    # ---- looking and writing ----

    @get("/settings", guard=host_page)
    def page(self, note: str = "", error: str = "") -> str:
        """Show the page with the values of the settings file."""
        try:
            stored = self.upkeep.read_file().settings
        except ConfigError as problem:
            # the file cannot be read, so show the settings with which the table runs
            stored = self.upkeep.running
            error = problem.message
        backed_up_s = self.upkeep.last_backup_s()
        return render_template(
            "settings.html",
            values=values_by_name(stored),
            wifi=stored.wifi,
            quiet=stored.quiet,
            sections=setting_sections(),
            main_settings=_MAIN_SETTINGS,
            pads=pad_rows(),
            pad_parts=PAD_PARTS,
            done_words=note,
            error=error,
            restart_words=self._restart_words(),
            version=__version__,
            max_bytes=MAX_UPLOAD_BYTES,
            backed_up=date_words(backed_up_s) if backed_up_s else say("None yet"),
        )

    @post("/api/settings/change", guard=host_only)
    def change(self, values: dict[ShortText, ShortText]) -> SettingsSaved:
        """Save settings. `values` has them as they were typed, by names such as `web.join`.

        If any value is invalid, none is saved.
        """
        stored = self.upkeep.read_file()
        changes = typed_values(values_by_name(stored.settings), values)
        self.upkeep.change(changes, stored.digest)
        return {"note": self._restart_words()}

    def _restart_words(self) -> str:
        """Return when settings that need a restart take effect, empty if all are in effect."""
        if not self.upkeep.needs_restart():
            return ""
        if not self.page_context.is_game_on:
            return say("The table starts again in a moment: then it works.")
        return say("After the game the table starts again: then it works.")

    # ---- backup, restore, reset ----

    @get("/settings/backup.zip", guard=host_only)
    def backup(self) -> Response:
        """Return a backup as one file."""
        # write it to a file, because photographs may not fit into memory
        target = tempfile.TemporaryFile(dir=self.upkeep.running.journal_path.parent)  # noqa: SIM115 - sent below
        try:
            with_photographs = "photographs" in request.args
            self._run_in_worker(lambda: self.upkeep.backup(with_photographs, target))
            target.seek(0)
        except BaseException:
            target.close()
            raise
        # without a date if the machine's clock was never set
        date = time.strftime("-%Y-%m-%d") if time.time() >= EARLIEST_UNIX_S else ""
        name = f"tabletop-companion{date}.zip"
        return send_file(target, "application/zip", as_attachment=True, download_name=name)

    @form("/settings/restore", file="backup", guard=host_only, form_page="page")
    def restore(self) -> Any:
        """Upload a backup. It is checked now and restored at the next start."""
        # a backup is the largest upload of all
        request.max_content_length = MAX_UPLOAD_BYTES
        request.max_form_memory_size = UPLOAD_CHUNK_BYTES
        folder = self.upkeep.running.journal_path.parent
        # the form is read now, and Flask writes a large upload to the disk meanwhile
        with disk_errors():
            upload = request.files.get("backup")
        if upload is None or not upload.filename:
            raise Malformed(say("Choose the file of a backup first."))
        with disk_errors(), tempfile.NamedTemporaryFile(dir=folder, prefix="upload-") as file:
            upload.save(file)
            file.flush()
            note = self.upkeep.restore(Path(file.name))
        return self.page(note=joined(" ", (say("The backup is in order."), note)))

    @post("/api/settings/restart", guard=host_only)
    def restart(self) -> None:
        """Restart the service."""
        self.upkeep.restart()

    @post("/api/settings/unstage", guard=host_only)
    def cancel_staged(self) -> None:
        """Drop the backup or reset that waits for the next start."""
        self.upkeep.cancel_staged()

    @post("/api/settings/reset", guard=host_only)
    def reset(self, games: bool = False) -> None:
        """Reset all settings to the defaults, end a game that is on, and free both seats.

        With `games` all games are deleted at the next start.
        """
        self.upkeep.reset(games)


# ---- reading what was typed ----------------------------------------------------------------------


def typed_values(stored: Mapping[str, Any], typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the typed settings that differ from the stored ones, by names such as `web.join`.

    `stored` has the values in the settings file. The lamps that are lit while their pin is low are
    always returned, because they are typed as a list of names. Raises `Malformed` if any value is
    invalid.
    """
    lamps = [part for part in PAD_PARTS if part.startswith("lamp_")]
    values: dict[str, Any] = {}
    for key, text in typed.items():
        row = setting_rows().get(key)
        if key in LAMPS_ACTIVE_LOW:
            values[key] = [lamp for lamp in lamps if lamp in text.split()]
        elif row is None:
            raise Malformed(say("There is no setting {name}", name=key))
        elif text != row.format_value(stored.get(key)):
            values[key] = row.parse(text)
            if not row.page_may_write(values[key]):
                raise Malformed(BY_HAND_SENTENCE)
    after = {**stored, **values}
    # two parts of the panel cannot share a pin
    pins = [after.get(key) for key in _PIN_SETTINGS]
    for key in _PIN_SETTINGS & set(values):
        pin = values[key]
        if isinstance(pin, int) and pins.count(pin) > 1:
            raise Malformed(say("Pin {pin} already has another job: give each its own.", pin=pin))
    # quiet hours need both their start and their end
    if bool(after.get("quiet.from")) != bool(after.get("quiet.to")):
        raise Malformed(say("Enter both times, or neither."))
    return values
