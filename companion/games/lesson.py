"""A first game with a guide, as data: where it begins, whose order is what and why, and what is
promised to happen.

A lesson is declared in the folder of its game. The table asks for exactly its orders, one decision
after the other, plays them by the rules, and goes on with the same game when the last one is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from companion.core.kit import Seat
from companion.games.events import EventKind


@dataclass(frozen=True)
class LessonStep:
    """One decision: the order of every seat that is to act, in notation.

    `title` names the part of the lesson. Steps with one title that follow each other are one part.
    `head` says what is about to happen, in at most 40 characters, `why` makes sense of it, `told`
    says it to the owner of each order. `after` says what has happened. `shows` are events of which
    at least one of each kind happens, as often as named.
    """

    title: str
    orders: Mapping[Seat, str]
    head: str
    why: str
    told: Mapping[Seat, str]
    after: str
    shows: tuple[EventKind, ...] = ()


@dataclass(frozen=True)
class Lesson:
    """A whole lesson: the options with which its game begins, the goal in words and as drawings,
    and the steps.
    """

    goal: str
    picture: tuple[tuple[tuple[str, str], ...], ...]
    """Tiles to be read as first this, then that: each of drawings that lie on each other, with
    their colours."""
    steps: tuple[LessonStep, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the parts, in their order."""
        return tuple(title for title, _ in groupby(step.title for step in self.steps))

    def part_of(self, number: int) -> int:
        """Return the part to which a step belongs, counted from 0."""
        return len(list(groupby(step.title for step in self.steps[: number + 1]))) - 1
