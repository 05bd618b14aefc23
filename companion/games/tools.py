"""Commands that a game adds to the command line, such as `companion combat` of BINMAT.

At its start, the command line calls `Game.tools` of each game, and adds the commands that it
returns to its own. It knows no game by name.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command `companion NAME`."""

    name: str
    """NAME of the command. In a plug-in it begins with the name of the game and a hyphen."""
    help: str
    """Line about the command in the list of all commands."""
    add: Callable[[ArgumentParser], None]
    """Function that adds the arguments of the command to the parser that it is given."""
    run: Callable[[Namespace], int | None]
    """Function that runs the command with its parsed arguments and returns the exit status.

    None as the status means 0. If the function raises a `CompanionError`, the message of the error
    is printed as one line.
    """


def parse_count(text: str) -> int:
    """Parse a non-negative integer, as the `type` of an argument. Raises `ArgumentTypeError`."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
