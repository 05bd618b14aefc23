"""Finds out why the journal cannot be written. SQLite's error code says little, so its folder is
tested as well.
"""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
import tempfile
from enum import StrEnum
from pathlib import Path

from companion.core.i18n import say

_TRIED_BYTES = 65_536
"""Number of bytes for testing a folder: a few pages, like an input."""


class WriteFault(StrEnum):
    """Reasons why a write fails."""

    FULL = "full"
    READ_ONLY = "read_only"
    FORBIDDEN = "forbidden"
    BROKEN = "broken"
    BUSY = "busy"
    DAMAGED = "damaged"
    GONE = "gone"
    OTHER = "other"


_BY_ERRNO = {
    errno.ENOSPC: WriteFault.FULL,
    errno.EDQUOT: WriteFault.FULL,
    errno.EFBIG: WriteFault.FULL,
    errno.EROFS: WriteFault.READ_ONLY,
    errno.EACCES: WriteFault.FORBIDDEN,
    errno.EPERM: WriteFault.FORBIDDEN,
    errno.EIO: WriteFault.BROKEN,
    errno.ENOENT: WriteFault.GONE,
}
_BY_CODE = {
    sqlite3.SQLITE_FULL: WriteFault.FULL,
    sqlite3.SQLITE_BUSY: WriteFault.BUSY,
    sqlite3.SQLITE_LOCKED: WriteFault.BUSY,
    sqlite3.SQLITE_CORRUPT: WriteFault.DAMAGED,
    sqlite3.SQLITE_NOTADB: WriteFault.DAMAGED,
    sqlite3.SQLITE_READONLY: WriteFault.FORBIDDEN,
    sqlite3.SQLITE_PERM: WriteFault.FORBIDDEN,
    sqlite3.SQLITE_CANTOPEN: WriteFault.FORBIDDEN,
    sqlite3.SQLITE_IOERR: WriteFault.BROKEN,
}
"""Fault for each SQLite code, if the folder itself can be written."""
_UNCLEAR = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
)
"""Codes that SQLite uses for several reasons."""


def fault_of(error: sqlite3.Error, path: Path) -> WriteFault:
    """Return why a journal at a path could not be written."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _UNCLEAR and (fault := _fault_of_folder(path.parent)):
        return fault
    is_limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    # SQLite reports a limit on the size of files as an I/O error.
    if code == sqlite3.SQLITE_IOERR and is_limited:
        return WriteFault.FULL
    return _BY_CODE.get(code, WriteFault.OTHER)


def advice(fault: WriteFault, path: Path) -> str:
    """Return advice for people on a fault."""
    sentences = {
        WriteFault.FULL: say("Free some space on the disk."),
        WriteFault.READ_ONLY: say(
            "The disk can only be read now. Restart the machine. If that does not help, save a "
            "backup and use a new card."
        ),
        WriteFault.FORBIDDEN: say(
            "The companion may not write to {file}: make the file and its folder its user's own.",
            file=str(path),
        ),
        WriteFault.BROKEN: say("The disk reports errors: save a backup now, and use a new card."),
        WriteFault.BUSY: say("Another program is using {file}: close it.", file=str(path)),
        WriteFault.DAMAGED: say(
            "The journal is damaged: restart the companion, which keeps what can be read."
        ),
        WriteFault.GONE: say("The folder {folder} is gone: put it back.", folder=str(path.parent)),
    }
    return sentences.get(fault) or say("Restart the companion.")


def _fault_of_folder(folder: Path) -> WriteFault | None:
    """Return what prevents writing files in a folder. None if nothing does."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_TRIED_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return _BY_ERRNO.get(error.errno or 0, WriteFault.BROKEN)
    return None
