"""Restores the last settings that worked after three failed starts, so that nobody needs a
keyboard.

Two files beside the settings file hold a copy of the last settings that worked, and the number of
failed starts since. If they cannot be written, the service runs nevertheless.
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
"""Time in seconds after which a start counts as successful. It is longer than any part may be
silent (`companion.service.health`).
"""


class LastGoodSettings:
    """The last settings that worked, for one settings file."""

    def __init__(self, path: Path) -> None:
        path = path.resolve()  # a symbolic link stays one
        self._path = path
        self._good_path = path.with_name(f".{path.stem}.worked{path.suffix}")
        self._starts_path = path.with_name(f".{path.stem}.failed-starts")
        self._restored_path = path.with_name(f".{path.stem}.put-back")
        self.refused_path = path.with_name(f"{path.stem}.refused{path.suffix}")
        """Path of the copy of the settings that did not work."""

    def count_start(self) -> None:
        """Count a start. After three failed ones, restore the last settings that worked."""
        with suppress(OSError):
            failed = len(_content(self._starts_path) or b"")
            if failed >= MAX_FAILED_STARTS:
                self._restore()
                failed = 0
            if self._path.parent.exists():
                replace_file(self._starts_path, (failed + 1) * b"*")

    def _restore(self) -> None:
        """Restore the last settings that worked, if there are any and they differ."""
        content, good = self.content(), _content(self._good_path)
        if good is None or content == good:
            return
        replace_file(self.refused_path, content)
        replace_file(
            self._path, good, self._path.stat().st_mode & 0o777 if self._path.exists() else 0o600
        )
        self._restored_path.touch()
        log.warning("%s", self._sentence())

    def content(self) -> bytes:
        """Return the current content of the settings file. Empty if there is none."""
        return _content(self._path) or b""

    def keep(self, content: bytes) -> None:
        """Record that the service works with these settings."""
        with suppress(OSError):
            self._starts_path.unlink(missing_ok=True)
            if self._path.parent.exists() and content != _content(self._good_path):
                replace_file(self._good_path, content)
                self._restored_path.unlink(missing_ok=True)

    def reset_count(self) -> None:
        """Reset the count of failed starts: something other than the settings was at fault."""
        with suppress(OSError):
            self._starts_path.unlink(missing_ok=True)

    def _sentence(self) -> str:
        return say(
            "The companion did not start three times, so the last settings that worked are back. "
            "The others are in {file}.",
            file=self.refused_path.name,
        )

    def notice(self) -> str:
        """Return the message that settings were restored, until they are changed again. Empty if
        they were not.
        """
        was_put_back = self._restored_path.exists() and self.content() == _content(self._good_path)
        return self._sentence() if was_put_back else ""


def _content(path: Path) -> bytes | None:
    try:
        return read_file(path, MAX_TEXT)
    except OSError:
        return None
