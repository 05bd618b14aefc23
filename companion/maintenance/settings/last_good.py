"""Three failed starts bring back the last settings that worked, so that nobody has to find a
keyboard.

Beside the settings file lie a copy of it as it was when the service was last well, and how many
starts have failed since. Whatever cannot be written here keeps nobody from playing.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from companion.core.files import MAX_TEXT, read_file, replace_file
from companion.core.i18n import say

log = logging.getLogger(__name__)
MAX_FAILED_STARTS = 3
WELL_AFTER_S = 35.0
"""Seconds after which a start has succeeded: longer than any part may be silent
(`companion.core.heartbeat`)."""


class LastGoodSettings:
    """The last settings that worked, of one settings file."""

    def __init__(self, path: Path) -> None:
        path = path.resolve()  # a link stays a link
        self._path = path
        self._good_path = path.with_name(f".{path.stem}.worked{path.suffix}")
        self._starts_path = path.with_name(f".{path.stem}.failed-starts")
        self._told_path = path.with_name(f".{path.stem}.put-back")
        self.refused_path = path.with_name(f"{path.stem}.refused{path.suffix}")
        """Where the settings are kept that did not work."""

    def starting(self) -> None:
        """Count a start. After three that failed, put the last settings that worked in their
        place.
        """
        with suppress(OSError):
            failed = len(_content(self._starts_path) or b"")
            if failed >= MAX_FAILED_STARTS:
                self._put_back()
                failed = 0
            if self._path.parent.exists():
                replace_file(self._starts_path, (failed + 1) * b"*")

    def _put_back(self) -> None:
        """Put the last settings that worked back, if there are any and they are others."""
        content, good = self.content(), _content(self._good_path)
        if good is None or content == good:
            return
        replace_file(self.refused_path, content)
        replace_file(
            self._path, good, self._path.stat().st_mode & 0o777 if self._path.exists() else 0o600
        )
        self._told_path.touch()
        log.warning("%s", self.sentence())

    def content(self) -> bytes:
        """Return the settings file as it is now. Empty: there is none."""
        return _content(self._path) or b""

    def succeeded(self, content: bytes) -> None:
        """Note that the service is well with these settings."""
        with suppress(OSError):
            self._starts_path.unlink(missing_ok=True)
            if self._path.parent.exists() and content != _content(self._good_path):
                replace_file(self._good_path, content)
                self._told_path.unlink(missing_ok=True)

    def excuse(self) -> None:
        """Count no failed start: something else than the settings was at fault."""
        with suppress(OSError):
            self._starts_path.unlink(missing_ok=True)

    def sentence(self) -> str:
        """Return what people are told."""
        return say(
            "The companion did not start three times, so the last settings that worked are back. "
            "The others are in "
            "{file}.",
            file=self.refused_path.name,
        )

    def told(self) -> str:
        """Return that settings were put back, until they are changed again. Empty: they were
        not.
        """
        was_put_back = self._told_path.exists() and self.content() == _content(self._good_path)
        return self.sentence() if was_put_back else ""


def _content(path: Path) -> bytes | None:
    try:
        return read_file(path, MAX_TEXT)
    except OSError:
        return None
