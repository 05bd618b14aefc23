"""What a game may bring beside its rules: commands.

The command line finds them through `tools_of` and knows no game by name.
"""

from __future__ import annotations

from abc import abstractmethod
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from companion.games.base import Game

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


@dataclass(frozen=True)
class GameTools:
    """Everything that one game brings."""

    commands: tuple[Command, ...] = ()


class GameWithTools(Game[S, A]):
    """A game that brings tools of its own."""

    @abstractmethod
    def tools(self) -> GameTools:
        """Return what it brings.

        It is asked for whenever the command line is put together, so it should import little.
        """


def count(text: str) -> int:
    """Parse a whole number from 0, as it is typed behind an option.

    Raises `ArgumentTypeError` for anything but a whole number from 0.
    """
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def tools_of(game: Game[Any, Any]) -> GameTools:
    """Return what a game brings. Mostly nothing."""
    if isinstance(game, GameWithTools):
        return game.tools()
    return GameTools()
