"""What the commands share: how they are declared, reading settings, writing files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from operator import methodcaller
from pathlib import Path
from typing import Any

import msgspec

from companion.core.config import Settings, find_settings, load_settings
from companion.core.errors import Malformed, SystemTrouble
from companion.core.files import read_file
from companion.games.tools import Command

Adder = Callable[[argparse.ArgumentParser], object]
"""Adds something to the parser of a command."""
Run = Callable[[argparse.Namespace], int | None]
"""Runs a command. Returns the exit status, where None means 0."""


def command(name: str, about: str, *adders: Adder) -> Callable[[Run], Command]:
    """Make a command of the function that runs it. `adders` add its arguments."""

    def add(parser: argparse.ArgumentParser) -> None:
        for adder in adders:
            adder(parser)

    return lambda run: Command(name, about, add, run)


def argument(*names: str, **more: Any) -> Adder:
    """Return what adds an argument, given as for `ArgumentParser.add_argument`."""
    return methodcaller("add_argument", *names, **more)


def add_commands(
    parser: argparse.ArgumentParser, commands: Iterable[Command], *, required: bool = False
) -> None:
    """Add commands to the program, or to a command of several parts."""
    parsers = parser.add_subparsers(required=required, metavar="COMMAND")
    for command in commands:
        part = parsers.add_parser(command.name, help=command.help)
        part.set_defaults(run=command.run)
        command.add(part)


def number(
    what: str, least: float, most: float, kind: Callable[[str], float] = int
) -> Callable[[str], Any]:
    """Return an argparse type for a number from `least` to `most`, both included."""

    def read(text: str) -> float:
        try:
            value = kind(text)
            if least <= value <= most:
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a {what}: give a number from {least} to {most}"
        )

    return read


port = number("port", 0, 65_535)


SETTINGS = (
    argument(
        "--settings", type=Path, metavar="FILE", help="a TOML file; else settings.toml in DIR"
    ),
    argument("--state-dir", metavar="DIR", help="where the games are kept"),
)
"""Options of a command that reads the settings."""
PORT = argument(
    "--port", type=port, help="port of the running companion, if not the one in the settings"
)
"""Option of a command that talks to the running companion."""


def settings_path(options: argparse.Namespace) -> Path:
    """Return the settings file from the command line, or else that of the installation.

    An installed `companion` names its settings file in the environment.
    """
    named: Path | None = options.settings
    installed = os.environ.get("COMPANION_SETTINGS")
    if named is None and options.state_dir is None and installed:
        named = Path(installed)
    path = find_settings(named, options.state_dir)
    try:
        path.exists()
    except PermissionError:
        raise SystemTrouble(
            f"You may not read {path}: use sudo, or --state-dir with a folder of your own"
        ) from None
    except OSError as error:
        raise SystemTrouble(f"{str(path)[:200]} cannot be read: {error.strerror}") from None
    return path


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings of the file, with the changes of the command line."""
    path = settings_path(options)
    # a file from the command line must exist, the usual one need not
    settings = load_settings(path if options.settings or path.exists() else None)

    def typed(**names: str) -> dict[str, Any]:
        """Return the fields whose option is on the command line."""
        values = {field: getattr(options, name, None) for field, name in names.items()}
        return {field: value for field, value in values.items() if value is not None}

    replace = msgspec.structs.replace
    web = replace(settings.web, **typed(port="port", host="host"))
    camera = replace(settings.camera, **typed(source="camera", fps="fps"))
    state_dir = options.state_dir or settings.state_dir
    return replace(settings, web=web, camera=camera, state_dir=state_dir)


def read_named_file(path: Path, most: int) -> bytes:
    """Return the content of a file named on the command line. Raises `Malformed`."""
    try:
        return read_file(path, most)
    except OSError as error:
        raise Malformed(f"{path} cannot be read: {error.strerror or error}") from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file named on the command line. Raises `Malformed`."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise Malformed(f"{path} cannot be written: {error.strerror or error}") from None
