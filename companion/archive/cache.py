"""Disk cache of files that can be made again from played games: summaries and pictures.

Its folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path


class FileCache:
    """Cached files by the number and the fingerprint of their game.

    The fingerprint of a game changes whenever the game does, so a file that was stored under the
    present fingerprint is up to date. Errors of the disk are ignored, because a missing file only
    costs time. If `folder` is None, nothing is stored. If `max_files` is given, only that many
    files are kept, and the oldest are deleted first.
    """

    def __init__(self, folder: Path | None, suffix: str, max_files: int | None = None) -> None:
        self._folder = folder
        self._suffix = suffix
        self._max_files = max_files

    def get(self, number: int, fingerprint: str) -> bytes | None:
        """Return the file of a game. None if no file is stored under this fingerprint."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                return self._path(self._folder, number, fingerprint).read_bytes()
        return None

    def store(self, number: int, fingerprint: str, content: bytes) -> None:
        """Store a file atomically, and delete the oldest ones beyond the limit."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._path(self._folder, number, fingerprint)
            unfinished = path.with_suffix(".part")
            unfinished.write_bytes(content)
            unfinished.replace(path)
            if self._max_files is not None:
                paths = self._folder.glob(f"*{self._suffix}")
                oldest_first = sorted(paths, key=lambda path: path.stat().st_mtime)
                for old in oldest_first[: -self._max_files]:
                    old.unlink(missing_ok=True)

    def remove(self, number: int | None = None) -> None:
        """Remove the files of one game, or of all games."""
        game = "*" if number is None else f"{number}-*"
        if self._folder is not None:
            with contextlib.suppress(OSError):
                for path in self._folder.glob(f"{game}{self._suffix}"):
                    path.unlink(missing_ok=True)

    def _path(self, folder: Path, number: int, fingerprint: str) -> Path:
        digest = hashlib.sha256(fingerprint.encode()).hexdigest()
        return folder / f"{number}-{digest[:16]}{self._suffix}"
