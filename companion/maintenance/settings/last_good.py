"""Restores the last settings that worked, after three failed starts.

So a wrong setting does not leave a table without its pages. Two files beside the settings file keep
what is needed: a copy of the last settings that worked, and the number of starts that have failed
since then. If these files cannot be written, the service runs nevertheless.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from companion.core.files import MAX_TEXT_BYTES, read_file, replace_file
from companion.core.i18n import say

log = logging.getLogger(__name__)
# Number of failed starts after which the last settings that worked are restored. With a smaller
# number, trouble that passes by itself, such as a slow disk, would count as wrong settings.
MAX_FAILED_STARTS = 3
# Time in seconds after which a start counts as successful. It is longer than any part may be silent
# (`companion.service.health`).
SUCCESS_AFTER_S = 35.0


class LastGoodSettings:
    """The last settings that worked, for one settings file.

    The service calls `count_start` when it starts, and `record_success` once it has run for
    `SUCCESS_AFTER_S` or has been ended sooner.
    """

    def __init__(self, path: Path) -> None:
        path = path.resolve()  # a symbolic link stays one
        self._path = path
        self._good_path = path.with_name(f".{path.stem}.worked{path.suffix}")
        self._starts_path = path.with_name(f".{path.stem}.failed-starts")
        self.refused_path = path.with_name(f"{path.stem}.refused{path.suffix}")
        """Path of the copy of the settings that did not work."""

    def count_start(self) -> None:
        """Count a start, which counts as failed until `record_success` is called.

        After `MAX_FAILED_STARTS` failed starts, restore the last settings that worked, and keep a
        copy of the present ones in `refused_path`.
        """
        with suppress(OSError):
            # The file has one byte for each failed start.
            failed_starts = len(_read_or_empty(self._starts_path))
            content, good = self.content(), _read_or_empty(self._good_path)
            has_failed = failed_starts >= MAX_FAILED_STARTS
            if has_failed and self._good_path.exists() and content != good:
                mode = self._path.stat().st_mode & 0o777 if self._path.exists() else 0o600
                replace_file(self.refused_path, content)
                replace_file(self._path, good, mode)
                failed_starts = 0
                log.warning("%s", self.notice())
            if self._path.parent.exists():
                replace_file(self._starts_path, (failed_starts + 1) * b"*")

    def content(self) -> bytes:
        """Return the current content of the settings file. Empty if it cannot be read."""
        return _read_or_empty(self._path)

    def record_success(self, content: bytes) -> None:
        """Record that the service works with these settings, and reset the count of failed starts.

        :param content: the content that the settings file had at the start
        """
        with suppress(OSError):
            self.reset_count()
            is_recorded = self._good_path.exists() and content == _read_or_empty(self._good_path)
            if self._path.parent.exists() and not is_recorded:
                replace_file(self._good_path, content)

    def reset_count(self) -> None:
        """Reset the count of failed starts. The settings are not at fault."""
        with suppress(OSError):
            self._starts_path.unlink(missing_ok=True)

    def notice(self) -> str:
        """Return a sentence that settings were restored. Empty if they were not.

        It is empty again once somebody has changed the settings.
        """
        has_both = self.refused_path.exists() and self._good_path.exists()
        if not has_both or self.content() != _read_or_empty(self._good_path):
            return ""
        # If other settings have worked after the restore, it is no news any more.
        if self.refused_path.stat().st_mtime_ns < self._good_path.stat().st_mtime_ns:
            return ""
        return say(
            "The companion did not start three times, so the last settings that worked are back. "
            "The others are in {file}.",
            file=self.refused_path.name,
        )


def _read_or_empty(path: Path) -> bytes:
    """Return the content of a file. Empty if it cannot be read."""
    try:
        return read_file(path, MAX_TEXT_BYTES)
    except OSError:
        return b""
