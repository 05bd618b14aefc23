"""What was made of the games played and can be made anew: summaries and pictures.

May be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path


class MadeFiles:
    """Files by game and its stamp, which changes with the game. A full disk only costs time.

    `folder` None: nothing is kept. `most` is the number of files that are kept, the newest ones
    (None: all).
    """

    def __init__(self, folder: Path | None, suffix: str, most: int | None = None) -> None:
        self._folder = folder
        self._suffix = suffix
        self._most = most

    def get(self, number: int, stamp: str) -> bytes | None:
        """Return what was made of a game when it had this stamp. None: nothing."""
        if self._folder is not None:
            with contextlib.suppress(OSError):
                return self._path(self._folder, number, stamp).read_bytes()
        return None

    def keep(self, number: int, stamp: str, content: bytes) -> None:
        """Keep a file whole, or not at all."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._path(self._folder, number, stamp)
            unfinished = path.with_suffix(".part")
            unfinished.write_bytes(content)
            unfinished.replace(path)
            if self._most is not None:
                paths = self._folder.glob(f"*{self._suffix}")
                oldest_first = sorted(paths, key=lambda path: path.stat().st_mtime)
                for old in oldest_first[: -self._most]:
                    old.unlink(missing_ok=True)

    def remove(self, number: int | None = None) -> None:
        """Remove what was made of a game, or of all of them."""
        game = "*" if number is None else f"{number}-*"
        if self._folder is not None:
            with contextlib.suppress(OSError):
                for path in self._folder.glob(f"{game}{self._suffix}"):
                    path.unlink(missing_ok=True)

    def _path(self, folder: Path, number: int, stamp: str) -> Path:
        return folder / f"{number}-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}{self._suffix}"
