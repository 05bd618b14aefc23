"""A guided first game as data: options, actions with their reasons, and the events they cause.

A lesson is declared in the folder of its game and named in `Game.lesson`. The table asks the seats
for exactly the actions of the lesson, one decision after another, and carries them out by the
rules. After the last step the same game continues, and players may do what they like. A test plays
the lesson of each game and requires that every promised event happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from itertools import groupby
from typing import Any

from companion.core.kit import Seat
from companion.games.events import EventKind


@dataclass(frozen=True)
class LessonStep:
    """One decision of a lesson: the actions that it asks for, with their explanation."""

    title: str
    """Title of the part of the lesson to which this step belongs.

    Consecutive steps with the same title form one part.
    """
    orders: Mapping[Seat, str]
    """The action of each seat that must act, in notation."""
    head: str
    """The headline of the step, in at most 40 characters."""
    why: str
    """Sentence with the reason for these actions."""
    tasks: Mapping[Seat, str] = field(default_factory=dict)
    """Sentence that tells each seat what to do."""
    after: str = ""
    """Sentence on what has happened, shown once the pieces are moved."""
    shows: tuple[EventKind, ...] = ()
    """Kinds of the events that must happen in this step, which a test checks.

    A kind that must happen twice is listed twice. Other events may happen as well.
    """
    told: InitVar[Mapping[Seat, str] | None] = None
    """Former name of the parameter `tasks`, kept for games written for version 1.0."""

    def __post_init__(self, told: Mapping[Seat, str] | None) -> None:
        if told is not None:
            object.__setattr__(self, "tasks", told)


# A stack of drawings that lie on one another, from the bottom to the top. Each drawing is a pair:
# its name in `companion.core.drawings`, and its colour, which is that of a side, or `plain` for the
# colour of text. So `(("diamond", "coral"), ("burst", "plain"))` is a burst on a coral diamond.
Tile = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Lesson:
    """A whole lesson: its goal in words and as a picture, its steps, and its game's options."""

    goal: str
    """Sentence that says how the game is won."""
    picture: tuple[Tile, ...]
    """Tiles of the picture of the goal, from left to right: a piece, what it does, the result."""
    steps: tuple[LessonStep, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the game, such as its start."""

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the parts in order."""
        return tuple(title for title, _ in groupby(step.title for step in self.steps))

    def part_of(self, step_index: int) -> int:
        """Return the index of the part to which a step belongs. Both are counted from 0."""
        titles_so_far = [step.title for step in self.steps[: step_index + 1]]
        return len(list(groupby(titles_so_far))) - 1
