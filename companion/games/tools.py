"""What a game may bring beside its rules: commands.

The command line asks each game for its `tools` and knows no game by name.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

S = TypeVar("S")
A = TypeVar("A")


@dataclass(frozen=True)
class Command:
    """A command `companion NAME`: `add` adds its arguments, `run` is given what was typed and
    answers the exit status.

    `run` raises a `CompanionError`, of which one line is printed.
    """

    name: str
    help: str
    add: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def count(text: str) -> int:
    """Parse a whole number from 0, as it is typed behind an option.

    Raises `ArgumentTypeError` for anything but a whole number from 0.
    """
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
