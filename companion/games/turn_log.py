"""Events and stages of a turn, recorded while a game carries it out."""

from __future__ import annotations

from typing import Any

from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import Event, Outcome, S, Stage, Step
from companion.games.events import EventKind
from companion.games.screen import Headline


class TurnLog:
    """Records the events and stages of a turn, and the outcome if the turn ends the game.

    A seat is given as `Seat` or by its number: 0 is South, 1 is North.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.stages: list[Stage] = []
        self.headlines: list[Headline] = []
        """Headlines of the present stage."""
        self.outcome: Outcome | None = None
        self._staged = 0

    def add(
        self,
        kind: EventKind,
        seat: Seat | int | None,
        text: str,
        rule: str | None = None,
        *,
        at: object = None,
        to: object = None,
        why: str | None = None,
        edge: tuple[int, int] | None = None,
    ) -> None:
        """Add an event of a seat (None for nobody). `at` and `to` are squares or their names."""
        actor = SEATS[seat] if isinstance(seat, int) else seat
        origin, target = (None if square is None else str(square) for square in (at, to))
        self.events.append(Event(kind, text, actor, origin, target, edge, why, rule))

    @property
    def fresh_events(self) -> tuple[Event, ...]:
        """Return the events since the last stage."""
        return tuple(self.events[self._staged :])

    def add_stage(self, title: str, expected: Layout | None, **more: Any) -> None:
        """Add a stage with the events and headlines since the last one.

        `more` holds other fields of `Stage`.
        """
        more = {"orders": {}, "headlines": tuple(self.headlines), **more}
        self.stages.append(Stage(title, events=self.fresh_events, expected=expected, **more))
        self._staged = len(self.events)
        self.headlines = []

    def end(self, winner: Seat | int | None, reason: str, rule: str, short: str = "") -> None:
        """End the game. Without a winner it is a draw. `short` is that of the `Outcome`."""
        seat = SEATS[winner] if isinstance(winner, int) else winner
        self.outcome = Outcome(frozenset({seat} if seat else ()), reason, short)
        self.events.append(self.outcome.event(rule))

    def step_to(self, state: S) -> Step[S]:
        """Return the step to a state, with everything that was recorded."""
        return Step(state, tuple(self.events), tuple(self.stages))
