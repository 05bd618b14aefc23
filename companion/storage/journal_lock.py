"""One service at a time has a journal, and nobody else reads it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from companion.core.errors import JournalError, JournalInUse
from companion.core.i18n import say


def hold(path: Path) -> IO[str]:
    """Take a journal for this process until the file that is answered is closed; raises `JournalError`."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_file = open(path.with_suffix(".lock"), "w", encoding="ascii")  # noqa: SIM115 - held until close
    except OSError as error:
        raise JournalError(
            say(
                "{folder} cannot be written to ({error}): set state_dir to a folder of your own",
                folder=str(path.parent),
                error=error.strerror,
            )
        ) from None
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock_file.close()
        raise JournalInUse(
            say("Another companion is using {file}: stop it, or set another state_dir", file=str(path))
        ) from None
    return lock_file


def keep_private(path: Path) -> None:
    """Keys are in it: nobody else may read the file, nor what lies beside it; SQLite gives a log the file's mode."""
    path.touch(mode=0o600)
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.chmod(f"{path}{suffix}", 0o600)
