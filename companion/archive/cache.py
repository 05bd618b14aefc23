"""What was made of the games played and can be made anew: summaries and pictures.

May be deleted at any time.

Each carries the stamp of its game, which changes with the game. A full disk only costs time.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import msgspec

from companion import __version__
from companion.archive.summary import Summary


class _Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A summary on disk: which program made it, and the stamp of the game that it counts."""

    version: str
    stamp: str
    summary: Summary


class SummaryFolder:
    """Summaries of games that are over, one small file each.

    Whatever is wrong with one, it is made anew.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, number: int, stamp: str) -> Summary | None:
        """Return the summary that was made when the game had this stamp."""
        try:
            note = msgspec.json.decode(self._path(number).read_bytes(), type=_Note)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return note.summary if (note.version, note.stamp) == (__version__, stamp) else None

    def keep(self, number: int, stamp: str, summary: Summary) -> None:
        """Keep one. A full disk only costs time."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = self._path(number).with_suffix(".part")
            unfinished.write_bytes(msgspec.json.encode(_Note(__version__, stamp, summary)))
            unfinished.replace(self._path(number))

    def remove(self, number: int) -> None:
        """Forget one."""
        with contextlib.suppress(OSError):
            self._path(number).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.json"


class PictureFolder:
    """Drawn pictures by game and its stamp, the newest few of them. A full disk only costs time."""

    MOST = 40

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, number: int, stamp: str) -> bytes | None:
        """Return a picture that was drawn before. None: there is none."""
        with contextlib.suppress(OSError):
            return self._path(number, stamp).read_bytes()
        return None

    def keep(self, number: int, stamp: str, picture: bytes) -> None:
        """Keep a picture, and no more than `MOST`."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = self._path(number, stamp).with_suffix(".part")
            unfinished.write_bytes(picture)
            unfinished.replace(self._path(number, stamp))
            sizes = sorted(
                self._folder.glob("*.picture"), key=lambda path: path.stat().st_mtime, reverse=True
            )
            for path in sizes[self.MOST :]:
                path.unlink(missing_ok=True)

    def remove(self, number: int) -> None:
        """Forget the pictures of a game."""
        self._unlink(f"{number}-*.picture")

    def clear(self) -> None:
        """Forget all pictures: a name in them is to be forgotten."""
        self._unlink("*.picture")

    def _unlink(self, pattern: str) -> None:
        with contextlib.suppress(OSError):
            for path in self._folder.glob(pattern):
                path.unlink(missing_ok=True)

    def _path(self, number: int, stamp: str) -> Path:
        return self._folder / f"{number}-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}.picture"
