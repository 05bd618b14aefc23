"""What commands have in common: how they are declared, reading settings, writing files.

A command is a function with the decorator `command`. The decorator gives the command its name, a
line of help and its options. Options that several commands have are constants here.
"""

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

# A function that adds something to the parser of a command, such as an argument.
ParserChange = Callable[[argparse.ArgumentParser], object]
# A function that runs a command. It returns the exit status, where None means 0.
CommandFunction = Callable[[argparse.Namespace], int | None]


def command(
    name: str, help_text: str, *changes: ParserChange
) -> Callable[[CommandFunction], Command]:
    """Return a decorator that replaces a function that runs a command by its `Command`.

    :param help_text: what the command does, for the list of commands
    :param changes: what to add to the command's parser, in order. Most are made by `argument`
    """

    def add(parser: argparse.ArgumentParser) -> None:
        for change in changes:
            change(parser)

    return lambda run: Command(name, help_text, add, run)


def argument(*names: str, **options: Any) -> ParserChange:
    """Return a `ParserChange` that adds an argument, as `ArgumentParser.add_argument` does."""
    return methodcaller("add_argument", *names, **options)


def add_commands(
    parser: argparse.ArgumentParser, commands: Iterable[Command], *, required: bool = False
) -> None:
    """Add commands to the program, or subcommands to a command.

    :param required: whether one of them has to be given
    """
    subparsers = parser.add_subparsers(required=required, metavar="COMMAND")
    for subcommand in commands:
        subparser = subparsers.add_parser(subcommand.name, help=subcommand.help)
        # `main` finds the function of the command that was given as `options.run`.
        subparser.set_defaults(run=subcommand.run)
        subcommand.add(subparser)


def number_type(
    name: str, minimum: float, maximum: float, convert: Callable[[str], float] = int
) -> Callable[[str], Any]:
    """Return an argparse type for a number from `minimum` to `maximum`, both included.

    :param name: what the number is, for the message about a wrong number
    :param convert: reads the number, `int` or `float`
    """

    def read(text: str) -> float:
        try:
            value = convert(text)
            if minimum <= value <= maximum:
                return value
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a {name}: give a number from {minimum} to {maximum}"
        )

    return read


# Argparse type for a port. 0 means any free one.
port_type = number_type("port", 0, 65_535)


# Options of a command that reads the settings.
SETTINGS = (
    argument(
        "--settings", type=Path, metavar="FILE", help="a TOML file; else settings.toml in DIR"
    ),
    argument("--state-dir", metavar="DIR", help="where the games are kept"),
)
# Option of a command that talks to the running companion.
PORT = argument(
    "--port", type=port_type, help="port of the running companion, if not the one in the settings"
)


def settings_path(options: argparse.Namespace) -> Path:
    """Return the settings file from the command line, or else that of the installation.

    The file need not exist. An installed `companion` names its settings file in the environment
    (`COMPANION_SETTINGS`). Raises `SystemTrouble` if the path cannot be examined.
    """
    file: Path | None = options.settings
    installed = os.environ.get("COMPANION_SETTINGS")
    if file is None and options.state_dir is None and installed:
        file = Path(installed)
    path = find_settings(file, options.state_dir)
    # If the folder may not be read, say so now. Later the file would only seem to be missing.
    try:
        path.exists()
    except PermissionError:
        raise SystemTrouble(
            f"You may not read {path}: use sudo, or --state-dir with a folder of your own"
        ) from None
    except OSError as error:
        raise SystemTrouble(f"{str(path)[:200]} cannot be read: {error.strerror}") from None
    return path


def settings_from_options(options: argparse.Namespace) -> Settings:
    """Return the settings of the file, with the changes of the command line.

    Raises `ConfigError` for a wrong file, and what `settings_path` raises.
    """
    path = settings_path(options)
    # A file that the command line names must exist. The usual file need not.
    settings = load_settings(path if options.settings or path.exists() else None)

    def given_fields(**option_names: str) -> dict[str, Any]:
        """Return the fields of settings whose options were given, with the options' values.

        A command need not have all of these options.
        """
        values = {field: getattr(options, option, None) for field, option in option_names.items()}
        return {field: value for field, value in values.items() if value is not None}

    replace = msgspec.structs.replace
    web = replace(settings.web, **given_fields(port="port", host="host"))
    camera = replace(settings.camera, **given_fields(source="camera", fps="fps"))
    state_dir = options.state_dir or settings.state_dir
    return replace(settings, web=web, camera=camera, state_dir=state_dir)


def read_named_file(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file named on the command line. Raises `Malformed`."""
    try:
        return read_file(path, max_bytes)
    except OSError as error:
        raise Malformed(f"{path} cannot be read: {error.strerror or error}") from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file named on the command line. Raises `Malformed`."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise Malformed(f"{path} cannot be written: {error.strerror or error}") from None
