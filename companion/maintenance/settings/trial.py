"""Settings on trial: what a page has written stays only if the service comes up with it.

Before the file is written, what it said is noted beside it. The note goes once the service has been well for a while.
A start that finds the note of an earlier start, which was cut off, hung or was killed, puts the file of before back.
A file that was changed by hand since is nobody's business here: whoever did that sits at the machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from pathlib import Path

import msgspec

from companion.core.config import read_settings
from companion.core.errors import ConfigError, SystemTrouble
from companion.core.files import MAX_TEXT, read_file, why_refused
from companion.core.i18n import joined, say
from companion.maintenance.releases.releases import sync_folder
from companion.maintenance.settings.file import SettingsFile

log = logging.getLogger(__name__)
PROBATION_S = 35.0
"""So long the service has to be well: longer than anything in it may be silent (`companion.core.heartbeat`)."""


class _Note(msgspec.Struct, frozen=True):
    """The file of before (None: there was none), SHA-256 of the one on trial, and how often that has begun to start."""

    before: str | None
    mark: str
    starts: int = 0


class SettingsTrial:
    """The trial of one settings file; whatever it cannot write keeps nobody from playing."""

    def __init__(self, path: Path) -> None:
        path = Path(os.path.realpath(path))  # a link stays a link; unlike `resolve` it bears one that leads to itself
        self._path = path
        self._note_path = path.with_name(f".{path.stem}.on-trial.json")
        self._told_path = path.with_name(f".{path.stem}.put-back.txt")
        self.refused_path = path.with_name(f"{path.stem}.refused{path.suffix}")
        """Where settings are kept that were put back."""

    def file(self) -> SettingsFile:
        """The file, every change of which goes on trial."""
        return SettingsFile(self._path, self.written)

    def written(self, before: bytes | None, after: bytes) -> None:
        """The file is about to be written; raises OSError when that cannot be noted: then it is not written either."""
        note = self._note()
        is_on = note is not None and note.mark == _mark(before)
        good = note.before if note is not None and is_on else _readable(before)  # the one before those on trial
        self._told_path.unlink(missing_ok=True)
        if good is not None and good.encode() == after:
            self._note_path.unlink(missing_ok=True)
        else:
            _write(self._note_path, msgspec.json.encode(_Note(good, _mark(after))))

    def starting(self) -> str:
        """The service is about to start. Answers what is to be said when settings were put back, empty: they were not.

        Raises `SystemTrouble` when they cannot be put back.
        """
        note = self._note()
        if note is None:
            return ""
        if note.mark != _mark(self._content()):
            self._note_path.unlink(missing_ok=True)
            return ""
        if note.starts:
            return self.put_back("")
        with contextlib.suppress(OSError):
            _write(self._note_path, msgspec.json.encode(_Note(note.before, note.mark, note.starts + 1)))
        return ""

    @property
    def is_on(self) -> bool:
        """Have the settings of this start still to prove themselves?"""
        note = self._note()
        return note is not None and note.starts > 0

    def excuse(self) -> None:
        """This start failed for another reason: it does not count."""
        note = self._note()
        if note is not None and note.starts:
            with contextlib.suppress(OSError):
                _write(self._note_path, msgspec.json.encode(_Note(note.before, note.mark)))

    def put_back(self, why: str) -> str:
        """The settings of before are in the file again; answers that. Empty: nothing was on trial.

        `why` is what the start complained of; empty: it was cut off, hung or was killed. Raises `SystemTrouble`.
        """
        note = self._note()
        if note is None:
            return ""
        try:
            if (content := self._content()) is not None:
                _write(self.refused_path, content)
            if note.before is None:
                self._path.unlink(missing_ok=True)
            else:
                SettingsFile(self._path).replace(note.before.encode())
        except OSError as error:
            raise SystemTrouble(
                say("{file} cannot be written ({why}).", file=str(self._path), why=why_refused(error))
            ) from None
        with contextlib.suppress(OSError):
            _write(self._told_path, why.encode(errors="replace")[:MAX_TEXT])
        self._note_path.unlink(missing_ok=True)
        told = self._sentence(why)
        log.warning("%s", told)
        return told

    def _sentence(self, why: str) -> str:
        used = say(
            "The new settings cannot be used, so the previous ones are in use: {why}",
            why=why or say("the companion did not start with them."),
        )
        return joined(" ", (used, say("The new ones are kept in {file}.", file=self.refused_path.name)))

    def proven(self) -> None:
        """The service is well: these settings stay, unless others were written since it began."""
        if not self.is_on:
            return
        with contextlib.suppress(OSError):
            self._note_path.unlink(missing_ok=True)

    def told(self) -> str:
        """What was said when settings were put back, until the file is changed by a page again; empty: nothing."""
        try:
            return self._sentence(read_file(self._told_path, MAX_TEXT).decode())
        except (OSError, UnicodeDecodeError):
            return ""

    def _note(self) -> _Note | None:
        try:
            return msgspec.json.decode(read_file(self._note_path, 4 * MAX_TEXT), type=_Note)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            with contextlib.suppress(OSError):
                self._note_path.unlink(missing_ok=True)  # nobody can tell any more what it meant
            return None

    def _content(self) -> bytes | None:
        try:
            return read_file(self._path, MAX_TEXT)
        except OSError:
            return None


def _mark(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _readable(content: bytes | None) -> str | None:
    """A file with which the service can start; a wrong one counts as none."""
    try:
        if content is None:
            return None
        read_settings(content.decode())
        return content.decode()
    except (ConfigError, UnicodeDecodeError):
        return None


def _write(path: Path, content: bytes) -> None:
    """For the owner alone, because passwords may be in it; the old file or the new one, also after a power cut."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync_folder(path.parent)
