"""`companion backup` and `companion restore`."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from companion.cli.greeting import announce
from companion.cli.options import SETTINGS, argument, command, settings_from_options, settings_path
from companion.core.clock import RealClock
from companion.core.errors import CompanionError, JournalInUse, Malformed
from companion.core.files import as_owner_of, open_file


@command(
    "backup",
    "settings and games in one file, without keys and without the current game",
    *SETTINGS,
    argument("file", type=Path, metavar="FILE.zip"),
    argument("--photographs", action="store_true", help="also the photographs of all turns"),
)
def backup(options: argparse.Namespace) -> None:
    from companion.maintenance.backup import make_backup  # noqa: PLC0415 - brings the games

    settings, path = settings_from_options(options), settings_path(options)
    # The file has a temporary name until it is complete.
    unfinished = options.file.with_name(f"{options.file.name}.part")
    try:
        with _new_file(unfinished) as target:
            # The file was made as whoever runs the command. The installation is read as its owner,
            # even under sudo, so that a link in it cannot misdirect root.
            with as_owner_of(settings.journal_path.parent):
                announce("Copying settings and games.")
                manifest = make_backup(settings, path, RealClock(), options.photographs, target)
            _give_to_caller(target)
        unfinished.replace(options.file)
    except CompanionError:
        # Some of these are `OSError`s, too, but have a message of their own.
        raise
    except OSError as error:
        raise Malformed(f"{options.file} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    print(f"{options.file}: {manifest.sentence()}")


@command(
    "restore",
    "restore a backup; what is here is kept in before-restore",
    *SETTINGS,
    argument("file", type=Path, metavar="FILE.zip"),
)
def restore(options: argparse.Namespace) -> None:
    from companion.maintenance.backup import apply_staged, stage_restore  # noqa: PLC0415 - brings the games
    from companion.storage.opening import lock_journal  # noqa: PLC0415

    settings, path = settings_from_options(options), settings_path(options)
    try:
        source = open_file(options.file)
    except FileNotFoundError:
        raise Malformed(f"There is no file {options.file}") from None
    except OSError as error:
        raise Malformed(f"{options.file} cannot be read: {error.strerror or error}") from None
    with source, as_owner_of(settings.journal_path.parent):
        announce(f"Unpacking and checking every game and file in {options.file}.")
        manifest = stage_restore(source, settings, path)
        print(f"{options.file}: {manifest.sentence()}")
        try:
            # Lock the journal and release it at once, only to learn whether a service is running.
            lock_journal(settings.journal_path).close()
        except JournalInUse:
            print(
                "A companion is running: the backup is used from its next start "
                "(sudo systemctl restart companion; if you started it by hand, stop it)."
            )
            return
        announce("Putting it in place; what was here goes to before-restore.")
        print(apply_staged(settings, path))


def _new_file(path: Path) -> IO[bytes]:
    """Create a file that only its owner can read, since it contains names and private settings.

    A symbolic link in its place is not followed: the command may run as root in the service's own
    folder, where a link could lead root to any file.
    """
    path.unlink(missing_ok=True)
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")


def _give_to_caller(file: IO[bytes]) -> None:
    """Give a file that root writes under sudo to the user who called sudo."""
    user, group = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if os.geteuid() == 0 and user.isdigit() and group.isdigit():
        os.fchown(file.fileno(), int(user), int(group))
