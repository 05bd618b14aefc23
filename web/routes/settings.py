"""The settings page: every setting with a sentence, written into the file; backup, restore and reset."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Response, make_response, redirect, render_template, request, send_file

from companion import __version__
from companion.core.clock import EARLIEST_S
from companion.core.config import Settings
from companion.core.errors import CompanionError, ConfigError, Malformed, Stale
from companion.core.files import why_refused
from companion.core.i18n import joined, say, say_n
from companion.core.kit import SEATS
from companion.maintenance.settings.file import flat
from companion.maintenance.settings.rows import SettingRow, by_hand, pad_rows, sections, works_at_once
from companion.maintenance.settings.words import PAD_PARTS
from companion.maintenance.upkeep import Upkeep
from companion.storage.disk_space import free_bytes
from companion.table.session import Phase
from web.context import PageContext
from web.routes.api.body import Body
from web.routes.host import ask_for_key
from web.routes.route import form, get, host_only, post
from web.server.server import MAX_UPLOAD_BYTES

"""A backup with the photographs of many games."""
UPLOAD_CHUNK_BYTES = 1_000_000
"""What of an upload is in memory at once."""
_PINS = frozenset(
    [f"panel.{part}" for part in ("buzzer", "table_button", "system_lamp")]
    + [f"panel.{seat}.{part}" for seat in SEATS for part in PAD_PARTS]
)
_PLACE = re.compile(r"\[([a-z_.]+)\]$")


class Reset(Body, frozen=True):
    """Everything as delivered; `games`: they go, too."""

    games: bool = False


@dataclass(frozen=True)
class SettingField:
    """A row of the page: its setting, what stands in the field, what is wrong with it, and what else is to be said."""

    row: SettingRow
    text: str
    error: str = ""
    remark: str = ""


class SettingsPage:
    """The routes under `/settings`; for the host alone."""

    name = "settings"

    def __init__(self, page_context: PageContext, upkeep: Upkeep) -> None:
        self._page_context = page_context
        self._table = page_context.table
        self._guard = page_context.guard
        self._upkeep = upkeep

    # ---- looking and writing ----

    @get("/settings", asks=host_only)
    def page(self) -> Response:
        """The page with what the file says."""
        if not self._guard.is_host(request):
            return ask_for_key("/settings")
        try:
            saved = int(request.args.get("saved", "-1"))
        except ValueError:
            saved = -1
        told = say_n("Saved: {n} setting.", "Saved: {n} settings.", saved) if saved > 0 else ""
        return self._page(told=say("Nothing was changed.") if saved == 0 else told)

    @form("/settings", guard=host_only)
    def save(self) -> Response:
        """Write what was changed in the form; what is wrong is told at its field, and then nothing is written."""
        try:
            on_file, _ = self._upkeep.on_file()
        except ConfigError as error:
            return self._page(error=error.message, status=409)
        values, errors = _typed(flat(on_file), request.form)
        if errors:
            return self._page(error=_wrong(len(errors)), errors=errors, typed=request.form, status=400)
        changes = {key: value for key, value in values.items() if flat(on_file).get(key) != value}
        try:
            self._upkeep.change(changes, request.form.get("seen", ""))
        except Stale as error:
            return self._page(error=error.message, status=409)
        except ConfigError as error:
            found = _PLACE.search(error.message)
            errors = {found[1]: error.message} if found else {}
            return self._page(error=error.message, errors=errors, typed=request.form, status=400)
        except CompanionError as error:
            return self._page(error=error.message, typed=request.form, status=503)
        return _to(f"/settings?saved={len(changes)}")

    def _page(
        self,
        told: str = "",
        error: str = "",
        errors: Mapping[str, str] | None = None,
        typed: Mapping[str, str] | None = None,
        status: int = 200,
    ) -> Response:
        seen, is_readable = "", True
        try:
            on_file, seen = self._upkeep.on_file()
        except ConfigError as wrong:
            on_file, is_readable, error = self._upkeep.running(), False, wrong.message
        show = _Rows(on_file, self._upkeep, errors or {}, typed)
        waiting = show.waiting()
        page = render_template(
            "settings.html",
            sections=[(part, [show.of(row) for row in part.rows]) for part in sections()],
            pads={seat: [show.of(row) for row in rows] for seat, rows in pad_rows().items()},
            active_low=show.active_low(),
            parts=PAD_PARTS,
            path=str(self._upkeep.path),
            seen=(typed or {}).get("seen", seen),
            is_readable=is_readable,
            told=told or ("" if error or errors else self._upkeep.done),
            put_back="" if told or error else self._upkeep.put_back(),
            error=error,
            version=__version__,
            most_bytes=self._most_bytes(),
            backup_error=(errors or {}).get("backup", ""),
            waiting=waiting,
            staged=self._upkeep.staged(),
            can_restart=self._upkeep.can_restart,
            is_on=self._table.view().phase not in (Phase.LOBBY, Phase.OVER),
        )
        return make_response(page, status)

    # ---- backup, restore, reset ----

    @get("/settings/backup.zip", guard=host_only)
    def backup(self) -> Response:
        """One file to be kept elsewhere."""
        target = tempfile.TemporaryFile(dir=self._upkeep.running().journal_path.parent)  # noqa: SIM115 - sent below
        try:
            with_photographs = "photographs" in request.args
            self._page_context.worker.make(lambda: self._upkeep.backup(with_photographs, target))
            target.seek(0)
        except BaseException:
            target.close()
            raise
        day = time.strftime("-%Y-%m-%d") if time.time() >= EARLIEST_S else ""  # a clock that was never set has no date
        name = f"tabletop-companion{day}.zip"
        return send_file(target, "application/zip", as_attachment=True, download_name=name)

    @form("/settings/restore", file="backup", guard=host_only)
    def restore(self) -> Response:
        """A backup taken back: checked wholly now, done at the next start."""
        request.max_content_length = MAX_UPLOAD_BYTES
        request.max_form_memory_size = UPLOAD_CHUNK_BYTES
        folder = self._upkeep.running().journal_path.parent
        try:
            given = request.files.get("backup")
            if given is None or not given.filename:
                raise Malformed(say("Choose the file of a backup first."))
            with tempfile.NamedTemporaryFile(dir=folder, prefix="upload-") as file:
                given.save(file)
                file.flush()
                told = self._upkeep.restore(Path(file.name))
        except Malformed as error:
            return self._page(errors={"backup": error.message}, status=400)
        except (CompanionError, OSError) as error:
            why = error.message if isinstance(error, CompanionError) else why_refused(error)
            return self._page(errors={"backup": say("The backup cannot be saved here: {why}", why=why)}, status=503)
        return self._page(told=joined(" ", (say("The backup is in order."), told)))

    def _most_bytes(self) -> int:
        """How large a backup may be: it is here twice while it is checked."""
        folders = Path(tempfile.gettempdir()), self._upkeep.running().journal_path.parent
        return min(MAX_UPLOAD_BYTES, *(free_bytes(folder) // 2 for folder in folders))

    @post("/api/settings/restart", guard=host_only)
    def restart(self) -> Response:
        """Begin the service anew."""
        if not self._upkeep.can_restart:
            raise Stale(say("The companion cannot restart itself here: stop it and start it again."))
        self._upkeep.restart()
        return make_response({})

    @post("/api/settings/unstage", guard=host_only)
    def unstage(self) -> Response:
        """What waits for the next start is not done."""
        self._upkeep.unstage()
        return make_response({})

    @post("/api/settings/reset", body=Reset, guard=host_only)
    def reset(self, body: Reset) -> Response:
        """Everything as delivered."""
        self._upkeep.reset(body.games)
        return make_response({})


class _Rows:
    """What stands beside each setting."""

    def __init__(
        self, on_file: Settings, upkeep: Upkeep, errors: Mapping[str, str], typed: Mapping[str, str] | None
    ) -> None:
        self._said = flat(on_file)
        self._running = flat(upkeep.running())
        self._ordered = upkeep.ordered()
        self._errors = errors
        self._typed = typed

    def of(self, row: SettingRow) -> SettingField:
        """One row: what was typed, else what the file says."""
        text = row.typed(self._said.get(row.key))
        if self._typed is not None:
            text = self._typed.get(row.key, text)
        return SettingField(row, text, self._errors.get(row.key, ""), self._remark(row))

    def _remark(self, row: SettingRow) -> str:
        value = _in_words(row, self._running.get(row.key))
        if row.key in self._ordered:
            return say("The command line says {value} for this run.", value=value)
        if self._said.get(row.key) != self._running.get(row.key):
            return say("After a restart. Until then: {value}.", value=value)
        return ""

    def active_low(self) -> dict[str, frozenset[str]]:
        """The lamps of each pad that are wired between 3V3 and their pin."""
        if self._typed is not None:
            return {seat: frozenset(_ticked(self._typed, seat)) for seat in pad_rows()}
        return {seat: frozenset(self._said[f"panel.{seat}.lamps_active_low"]) for seat in pad_rows()}

    def waiting(self) -> int:
        """How many settings of the file are not in use yet."""
        return sum(
            self._said.get(key) != value
            for key, value in self._running.items()
            if key not in self._ordered and not works_at_once(key)
        )


def _typed(said: Mapping[str, Any], form: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values that were typed, and what is wrong with the others; a field that was not sent stays as it is."""
    values: dict[str, Any] = {}
    errors: dict[str, str] = {}
    rows = [row for section in sections() for row in section.rows]
    for row in (*rows, *(row for pad in pad_rows().values() for row in pad)):
        if row.key not in form or form[row.key] == row.typed(said.get(row.key)):
            continue
        try:
            value = row.read(form[row.key])
            if not row.takes(value):
                raise Malformed(by_hand())
            values[row.key] = value
        except Malformed as error:
            errors[row.key] = error.message
    for seat in pad_rows():
        if f"panel.{seat}.sent" in form:
            values[f"panel.{seat}.lamps_active_low"] = _ticked(form, seat)
    after = {**said, **values}
    errors |= _double_pins(after, values)
    hours = ("quiet.from", "quiet.to")
    if not errors.keys() & set(hours) and len(missing := [key for key in hours if not after.get(key)]) == 1:
        errors[missing[0]] = say("Enter both times, or neither.")
    return values, errors


def _ticked(form: Mapping[str, str], seat: str) -> list[str]:
    return [part for part in PAD_PARTS if part.startswith("lamp_") and f"panel.{seat}.low.{part}" in form]


def _double_pins(after: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with pins that would have two jobs, at those that were changed, else at both."""
    jobs: dict[int, list[str]] = {}
    for key, value in after.items():
        is_pin = key in _PINS and isinstance(value, int)
        if is_pin:
            jobs.setdefault(value, []).append(key)
    errors: dict[str, str] = {}
    for pin, keys in jobs.items():
        if len(keys) > 1:
            guilty = [key for key in keys if key in changed] or keys
            errors |= dict.fromkeys(guilty, say("Pin {pin} already has another job: give each its own.", pin=pin))
    return errors


def _in_words(row: SettingRow, value: Any) -> str:
    """A value as the page names it."""
    word = next((words for each, words in row.choices if each == value), None)
    return word if word is not None else row.typed(value) or say("empty")


def _wrong(n: int) -> str:
    return say_n("Nothing was written: {n} field is not right.", "Nothing was written: {n} fields are not right.", n)


def _to(path: str) -> Response:
    return make_response(redirect(path, 303))
