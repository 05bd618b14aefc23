"""`companion update`: another release of the program, checked and with a way back."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from companion.care.releases import Home, as_owner_of
from companion.config import Settings
from companion.errors import Malformed, SystemTrouble


def add_update(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_of: Callable[[argparse.Namespace], tuple[Settings, Path]],
) -> None:
    """Add the command; `settings_of` answers the settings and their file."""
    command = commands.add_parser("update", help="use another release, checked first; one that fails is put back")
    add_settings(command)
    command.add_argument("package", nargs="?", metavar="FILE|PACKAGE", help="a .whl or .tar.gz, or NAME==VERSION")
    task = command.add_mutually_exclusive_group()
    task.add_argument("--back", action="store_true", help="use the release of before again")
    task.add_argument(
        "--check", action="store_true", help="play a turn against a copy of the games, and say if all is well"
    )
    command.set_defaults(run=lambda options: _update(options, *settings_of(options)))


def _update(options: argparse.Namespace, settings: Settings, path: Path) -> int:
    if options.package and (options.back or options.check):
        raise Malformed("Give a package, or --back, or --check: one of them")
    if options.check:
        from companion.commands.trial import try_games  # noqa: PLC0415 - brings the whole program

        with as_owner_of(settings.journal_path.parent):  # a link there does not lead root to files of its own
            print(try_games(settings))
        return 0
    from companion.care.update import ThisMachine, Updater, given  # noqa: PLC0415 - brings the games
    from companion.commands.doctor import fetch  # noqa: PLC0415 - brings the whole program

    home = Home(Path(sys.prefix).parent)
    if not home.current:
        raise SystemTrouble(
            "This companion was not installed by make install: bring it up to date in the way it was installed"
        )
    if not options.package and not options.back:
        print(_what_is_here(home))
        return 0
    if not os.access(home.folder, os.W_OK):
        raise SystemTrouble(f"{home.folder} may only be changed by root: sudo companion update …")
    machine = ThisMachine(settings, path, lambda: fetch(settings, "/health", {}))
    python = f"{sys.base_prefix}/bin/python3"
    updater = Updater(home, settings, path, machine, python, lambda line: print(line, flush=True))
    if options.back:
        updater.back()
        return 0
    with given(options.package, home) as package:
        updater.update(package)
    return 0


def _what_is_here(home: Home) -> str:
    before = f", before it {home.previous}" if home.previous else ""
    pending = "; it has not come up yet since it was switched to" if home.pending() else ""
    return f"{home.current} is in use{before}{pending}."
