"""A guided first game as data: its options, the orders with their reasons, and the promised events.

A lesson is declared in the folder of its game. The table asks for exactly its orders, one decision
after another, and plays them by the rules. After the last one the same game continues freely.
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
    """One decision: the order of every seat that must act, in notation.

    `title` names the part of the lesson, and consecutive steps with the same title form one part.
    `head` announces the step in at most 40 characters and `why` explains it. `tasks` says to each
    seat what it has to do. `after` says what has happened. `shows` lists event kinds that must
    occur in the step, repeated for several events of a kind.

    `told` is the older name of `tasks`, kept for games written for version 1.0.
    """

    title: str
    orders: Mapping[Seat, str]
    head: str
    why: str
    tasks: Mapping[Seat, str] = field(default_factory=dict)
    after: str = ""
    shows: tuple[EventKind, ...] = ()
    told: InitVar[Mapping[Seat, str] | None] = None

    def __post_init__(self, told: Mapping[Seat, str] | None) -> None:
        if told is not None:
            object.__setattr__(self, "tasks", told)


@dataclass(frozen=True)
class Lesson:
    """A whole lesson: the options of its game, the goal in words and as drawings, and the steps."""

    goal: str
    picture: tuple[tuple[tuple[str, str], ...], ...]
    """Tiles in reading order. Each has drawings on top of each other, with their colours."""
    steps: tuple[LessonStep, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the titles of the parts in order."""
        return tuple(title for title, _ in groupby(step.title for step in self.steps))

    def part_of(self, number: int) -> int:
        """Return the index of the part of a step, counted from 0."""
        return len(list(groupby(step.title for step in self.steps[: number + 1]))) - 1
