"""`companion backup` and `companion restore`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from companion.config import Settings
from companion.errors import Malformed


def add_commands(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_of: Callable[[argparse.Namespace], tuple[Settings, Path]],
) -> None:
    """Add both; `settings_of` answers the settings and their file."""
    backup = commands.add_parser("backup", help="settings and games in one file, without keys and without a game on")
    add_settings(backup)
    backup.add_argument("file", type=Path, metavar="FILE.zip")
    backup.add_argument("--photographs", action="store_true", help="the photographs of all turns, too")
    backup.set_defaults(run=lambda options: _backup(options, *settings_of(options)))
    restore = commands.add_parser("restore", help="take a backup back; what is here is kept in before-restore")
    add_settings(restore)
    restore.add_argument("file", type=Path, metavar="FILE.zip")
    restore.set_defaults(run=lambda options: _restore(options, *settings_of(options)))


def _backup(options: argparse.Namespace, settings: Settings, path: Path) -> int:
    from companion.care.backup import make_backup  # noqa: PLC0415 - brings the games
    from companion.clock import RealClock  # noqa: PLC0415

    unfinished = options.file.with_name(f"{options.file.name}.part")
    try:
        with unfinished.open("wb") as target:
            note = make_backup(settings, path, RealClock(), options.photographs, target)
        unfinished.replace(options.file)
    except OSError as error:
        raise Malformed(f"{options.file} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    print(f"{options.file}: {note.sentence()}")
    return 0


def _restore(options: argparse.Namespace, settings: Settings, path: Path) -> int:
    from companion.care.backup import apply_staged, stage_restore  # noqa: PLC0415 - brings the games
    from companion.errors import JournalError  # noqa: PLC0415
    from companion.journal import Journal  # noqa: PLC0415

    if not options.file.is_file():
        raise Malformed(f"There is no file {options.file}")
    note = stage_restore(options.file, settings, path)
    print(f"{options.file}: {note.sentence()}")
    try:
        Journal(settings.journal_path).close()  # is a service running?
    except JournalError:
        print("A companion is running: the backup takes its place when that is started anew (kill -USR1, or end it).")
        return 0
    print(apply_staged(settings, path))
    return 0
