"""Commands that a game adds to the command line, such as `companion combat` of BINMAT.

The command line asks each game for its `Game.tools` and knows no game by name.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command `companion NAME`. In a plug-in, NAME begins with that of the game and a hyphen.

    `help` is its line in the list of commands. `add` adds its arguments to a parser. `run` carries
    it out and returns the exit status, where None means 0. If `run` raises a `CompanionError`, its
    message is printed as one line.
    """

    name: str
    help: str
    add: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int | None]


def parse_count(text: str) -> int:
    """Parse a non-negative integer from the command line. Raises `ArgumentTypeError`."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
