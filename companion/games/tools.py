"""Commands that a game adds to the command line.

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
    """A command `companion NAME`. `add` adds its arguments. `run` returns the exit status, where
    None means 0.

    For a `CompanionError` from `run` one line is printed.
    """

    name: str
    help: str
    add: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int | None]


def count(text: str) -> int:
    """Parse a non-negative integer from the command line. Raises `ArgumentTypeError`."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
