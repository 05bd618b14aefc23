"""`companion update`: another release of the program, signed, checked and with a way back; `companion sign`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from companion import DEBIAN_HOME
from companion.core.config import Settings
from companion.core.errors import Malformed, SystemTrouble
from companion.maintenance.releases.releases import Home, as_owner_of


def add_update(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_of: Callable[[argparse.Namespace], tuple[Settings, Path]],
) -> None:
    """Add the command; `settings_of` answers the settings and their file."""
    command = commands.add_parser(
        "update", help="switch to another release, checked first; if it fails, the old one is put back"
    )
    add_settings(command)
    command.add_argument("package", nargs="?", metavar="FILE", help="a .whl or .tar.gz, with FILE.sig beside it")
    task = command.add_mutually_exclusive_group()
    task.add_argument("--back", action="store_true", help="go back to the previous release")
    task.add_argument(
        "--check", action="store_true", help="play a turn against a copy of the games and say whether all is well"
    )
    task.add_argument("--trust", type=Path, metavar="KEY.pub", help="accept only releases signed with this key")
    command.add_argument(
        "--unsigned", action="store_true", help="as root at a terminal: accept a missing or bad signature"
    )
    command.add_argument("--older", action="store_true", help="also a release that is older than the one in use")
    command.set_defaults(run=lambda options: _update(options, *settings_of(options)))
    _add_sign(commands)


def _add_sign(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("sign", help="sign a release so that installations that trust the key accept it")
    command.add_argument(
        "package", nargs="?", type=Path, metavar="FILE", help="the .whl; FILE.sig is written beside it"
    )
    task = command.add_mutually_exclusive_group(required=True)
    task.add_argument("--key", type=Path, metavar="KEY", help="the private key")
    task.add_argument("--make-key", type=Path, metavar="KEY", help="make one, and KEY.pub for installations")
    command.set_defaults(run=_sign)


def _sign(options: argparse.Namespace) -> int:
    from companion.maintenance.releases.signature import make_key, sign  # noqa: PLC0415 - hardly ever needed

    if options.make_key:
        if options.package:
            raise Malformed("Make the key first, then sign with --key")
        public = make_key(options.make_key)
        print(
            f"{options.make_key}: keep it to yourself, off the network, with a copy elsewhere. {public}: give it away."
        )
        print(f"On every table: sudo companion update --trust {public}")
        return 0
    if not options.package:
        raise Malformed("Name the file that is to be signed")
    print(f"{sign(options.package, options.key)} belongs beside {options.package}.")
    return 0


def _update(options: argparse.Namespace, settings: Settings, path: Path) -> int:
    if options.package and (options.back or options.check or options.trust):
        raise Malformed("Give a file, or --back, or --check, or --trust: one of them")
    if options.check:
        from companion.cli.trial import try_games  # noqa: PLC0415 - brings the whole program

        with as_owner_of(settings.journal_path.parent):  # a link there does not lead root to files of its own
            print(try_games(settings))
        return 0
    from companion.cli.doctor import ANSWER_S, fetch  # noqa: PLC0415 - brings the whole program
    from companion.maintenance.releases.signature import trust  # noqa: PLC0415 - as below
    from companion.maintenance.releases.update import (  # noqa: PLC0415 - as above
        ThisMachine,
        Updater,
        demand_newer,
        demand_signature,
        given,
    )

    if sys.prefix == DEBIAN_HOME:
        return _hand_over_to_apt(options)
    home = Home(Path(sys.prefix).parent)
    if not home.current:
        raise SystemTrouble(
            "This companion was not installed by make install: bring it up to date in the way it was installed"
        )
    if not options.package and not options.back and not options.trust:
        print(_what_is_here(home))
        return 0
    if not os.access(home.folder, os.W_OK):
        raise SystemTrouble(f"{home.folder} may only be changed by root: sudo companion update …")
    if options.trust:
        trust(home, options.trust)
        print("From now on only releases that are signed with this key are accepted.")
        return 0
    machine = ThisMachine(settings, path, lambda: fetch(settings, "/health", {}, ANSWER_S))
    python = f"{sys.base_prefix}/bin/python3"
    updater = Updater(home, settings, path, machine, python, lambda line: print(line, flush=True))
    if options.back:
        updater.back()
        return 0
    with given(
        options.package, home, lambda copy: demand_signature(home, copy, options.unsigned, updater.say)
    ) as package:
        demand_newer(home, package, options.older)
        updater.update(package)
    return 0


def _hand_over_to_apt(options: argparse.Namespace) -> int:
    """What apt does here is asked of apt; only a question has an answer, everything else an error."""
    machine = {"aarch64": "arm64", "x86_64": "amd64"}.get(os.uname().machine, "ARCHITECTURE")
    older = "--allow-downgrades " if options.back or options.older else ""
    words = (
        "This companion is a Debian package, which apt brings up to date: "
        f"sudo apt install {older}./tabletop-companion_VERSION_{machine}.deb"
    )
    if options.package or options.back or options.trust:
        raise SystemTrouble(words)
    print(words)
    return 0


def _what_is_here(home: Home) -> str:
    before = f", before it {home.previous}" if home.previous else ""
    pending = "; it has not started yet since you switched to it" if home.pending() else ""
    return f"{home.current} is in use{before}{pending}."
