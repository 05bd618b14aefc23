"""Commands that a game adds to the command line, such as `companion combat` of BINMAT.

The command line asks each game for its `Game.tools` and knows no game by name.
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
    """Function that adds the arguments of the command to its parser."""
    run: Callable[[Namespace], int | None]
    """Function that runs the command and returns the exit status, where None means 0.

    The message of a `CompanionError` that it raises is printed as one line.
    """


def parse_count(text: str) -> int:
    """Parse a non-negative integer from the command line. Raises `ArgumentTypeError`."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
