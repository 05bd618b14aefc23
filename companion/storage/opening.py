"""Opening the journal's file: lock it, check it, set it aside if damaged, refuse other formats."""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import IO

from companion.core.errors import JournalError, JournalInUse
from companion.core.i18n import say
from companion.storage.database import BUSY_TIMEOUT_MS, is_chain_intact
from companion.storage.format import (
    JOURNAL_FORMAT,
    SIDE_TABLES,
    create_tables,
    has_our_tables,
    has_valid_rows,
    other_format_error,
    read_format_number,
    unused_path,
)
from companion.table.records import SEATS_GAME

log = logging.getLogger(__name__)
# SQLite's errors that say nothing about a file's content, such as a lock or a full disk.
_TEMPORARY_ERRORS = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
    }
)
# Errors of a card that has lost a part of a file.
_READ_ERRORS = frozenset({sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ})
# Highest format that any version will ever have. A file with a higher one is damaged.
MAX_JOURNAL_FORMAT = 1000


def lock_journal(path: Path) -> IO[str]:
    """Lock a journal for this process until the returned file is closed. Raises `JournalError`."""
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
            say(
                "Another companion is using {file}: stop it, or set another state_dir",
                file=str(path),
            )
        ) from None
    return lock_file


def open_to_write(path: Path) -> tuple[sqlite3.Connection, str]:
    """Open a journal that this process has locked. Return it with a notice of damage, for people.

    A damaged file is set aside, and a new one is begun. The notice is empty if nothing was damaged.
    Raises `JournalError`.
    """
    notice = ""
    try:
        for name in (f"{path.name}-head", f"{path.stem}.reserve"):
            path.with_name(name).unlink(missing_ok=True)  # files of earlier versions
        _make_private(path)
        if _is_damaged(path):
            notice = _set_aside(path)
            log.error("%s", notice)
        return _open_database(path), notice
    except JournalError:
        raise
    except (sqlite3.Error, OSError) as error:
        raise JournalError(
            say("The journal {file} cannot be opened: {error}", file=str(path), error=str(error))
        ) from None


def _set_aside(path: Path) -> str:
    """Rename a damaged file, or whatever is in its place. Return a sentence on what to do."""
    aside = unused_path(path, "damaged")
    # Move its log first. Beside a new file it would be taken for that file's log.
    for suffix in ("-wal", "-shm", ""):
        old = Path(f"{path}{suffix}")
        if os.path.lexists(old):
            old.rename(f"{aside}{suffix}")
    return say(
        "The journal was damaged: all games up to now are in {file}, and a new journal was begun. "
        "Restore a backup, or try “sqlite3 {file} .dump”.",
        file=aside.name,
    )


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a journal read-only. It may be in use. Raises `JournalError`."""
    try:
        if not path.exists():
            raise JournalError(
                f"There is no companion's journal at {path}: name its folder with --state-dir, or "
                "start it once"
            )
        db = _connect(f"{path.absolute().as_uri()}?mode=ro")
        try:
            db.execute("PRAGMA query_only=ON")
            if not has_our_tables(db):
                raise other_format_error(path, read_format_number(db))
        except BaseException:
            db.close()
            raise
    except JournalError:
        raise
    except (sqlite3.Error, OSError) as error:
        raise JournalError(
            say("The journal {file} cannot be read: {error}", file=str(path), error=str(error))
        ) from None
    return db


# ---- steps ---------------------------------------------------------------------------------------


def _make_private(path: Path) -> None:
    """Make the journal private, because it has keys. SQLite gives its log the mode of the file."""
    for suffix in ("", "-wal", "-shm"):
        file = Path(f"{path}{suffix}")
        if file.is_file():
            file.chmod(0o600)


def _is_damaged(path: Path) -> bool:
    """Return whether a file does not belong to this program or is damaged.

    Raises `sqlite3.Error` for a temporary condition such as a lock or a full disk, and `OSError`.
    """
    if not os.path.lexists(path):
        return False
    if not path.is_file() or not _is_marked_writable(path):
        return True
    try:
        with closing(_connect(path.absolute().as_uri())) as db:
            if not has_our_tables(db):
                return not _may_be_ours(db)
            db.execute("BEGIN IMMEDIATE")  # test whether it can be written
            db.execute("ROLLBACK")
            # Check every page: 99 MB with 504,000 entries took 0.3 s of a core of a PC.
            if db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
                return True
            # Entries of no game, such as changes of seats. `Journal` checks those of games.
            if not is_chain_intact(db, SEATS_GAME):
                return True
            return not all(has_valid_rows(db, table) for table in SIDE_TABLES)
    except UnicodeDecodeError:  # SQLite's message contains damaged text
        return True
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        # The low byte of an extended code is the primary code (sqlite.org/rescode.html).
        if code & 0xFF in _TEMPORARY_ERRORS and code not in _READ_ERRORS:
            raise
        return True


def _is_marked_writable(path: Path) -> bool:
    """Return whether the header marks the file as writable.

    Both versions in it must be 1 or 2 (sqlite.org/fileformat.html, 1.3).
    """
    with path.open("rb") as file:
        return file.read(20)[18:] in (b"\1\1", b"\2\2", b"\1\2", b"\2\1")


def _may_be_ours(db: sqlite3.Connection) -> bool:
    """Return whether another version of this program may have written a file.

    Such a file has a table of entries, and a format that a version may have.
    """
    has_entries = db.execute(
        "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'entries')"
    ).fetchone()[0]
    format_number = read_format_number(db)
    return (
        bool(has_entries)
        and format_number != JOURNAL_FORMAT
        and 0 < format_number <= MAX_JOURNAL_FORMAT
    )


def _open_database(path: Path) -> sqlite3.Connection:
    """Open an undamaged file, or create a missing one.

    Raises `JournalError` for another format.
    """
    if not path.exists():
        path.touch(mode=0o600)
    db = _connect(path.absolute().as_uri())
    try:
        if not path.stat().st_size:
            create_tables(db)
        elif not has_our_tables(db):
            raise other_format_error(path, read_format_number(db))
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
    except BaseException:
        db.close()
        raise
    return db


def _connect(uri: str) -> sqlite3.Connection:
    """Connect to a file that may be damaged or forged."""
    db = sqlite3.connect(
        uri, uri=True, check_same_thread=False, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000
    )
    db.text_factory = _read_text
    db.execute("PRAGMA trusted_schema=OFF")
    db.execute("PRAGMA cell_size_check=ON")
    return db


def _read_text(content: bytes) -> str:
    # A flipped bit can turn the bytes of a link, the hash that ties an entry to the one before it,
    # into text. The check of the links detects that, so continue reading.
    return content.decode("utf-8", "replace")
