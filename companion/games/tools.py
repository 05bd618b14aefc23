"""What a game may bring beside its rules: commands, and how people play it.

The command line and self-play find it through `tools_of` and know no game by name.
"""

from __future__ import annotations

from abc import abstractmethod
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from companion.core.grid import Square
from companion.core.kit import Layout, Seat
from companion.games.base import Game

S = TypeVar("S")
A = TypeVar("A")


@dataclass(frozen=True)
class Command:
    """A command `companion NAME`: `add` adds its arguments, `run` is given what was typed and answers the exit status.

    `run` raises a `CompanionError`, of which one line is printed.
    """

    name: str
    help: str
    add: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


@dataclass(frozen=True)
class Showdown:
    """Cards that come together: whose zone is which, what lies in both, and what the camera should read of it."""

    mine: Square
    theirs: Square
    cards: Layout
    said: str


@dataclass(frozen=True)
class WayToPlay:
    """Options of a rehearsed game.

    `own` are those of the game that the people know, with every card in it.

    `has_real_cards`: people hold real cards, and the table hears of turns and showdowns only.
    """

    options: Mapping[str, Any]
    own: Mapping[str, Any]
    has_real_cards: bool


class CardRehearsal(Protocol):
    """How people play a game of cards, on phones or with real cards under the camera.

    For self-play.
    """

    end_turn: str
    """The action that ends a turn with real cards, `call` begins a showdown, `pass_turn` is handed in by the clock."""
    call: str
    pass_turn: str
    win: str
    """What the winner says at the end of a game without a clock."""
    keys: Mapping[str, tuple[str, ...]]
    """The keys of a pad for `call` and `win`."""

    def way(self, seed: int, *, has_machine: bool) -> WayToPlay:
        """Return how the game with this seed is played. A machine holds no real cards."""

    def liking(self, action: str) -> float:
        """Return how gladly somebody takes this action, against the others that are legal."""

    def open_cards(self, state: Any) -> Layout:
        """Return the cards that lie face up."""

    def is_seen(self, state: Any, action: str) -> bool:
        """Return whether the camera can tell what this action is."""

    def showdown(self, state: Any, seat: Seat, action: str) -> Showdown:
        """Return the cards that an action brings together, the one that it plays included."""


@dataclass(frozen=True)
class GameTools:
    """Everything that one game brings."""

    commands: tuple[Command, ...] = ()
    rehearsal: CardRehearsal | None = None


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
    return game.tools() if isinstance(game, GameWithTools) else GameTools()
