"""Events and stages of a turn, recorded while a game carries it out.

`Game.apply` of most games makes a `TurnLog`, adds what happens in sequence, and returns the step
that `build_step` makes of it. The log lives no longer than that call. Some games derive a class
from it that also holds the mutable position of the turn.
"""

from __future__ import annotations

from collections.abc import Mapping

from companion.core.grid import Square
from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import Event, Order, Outcome, S, Stage, Step
from companion.games.events import EventKind
from companion.games.screen import Badge, Headline, Tally


class TurnLog:
    """Records the events and stages of a turn, and the outcome if the turn ends the game.

    A seat is given as `Seat` or by its number: 0 is South, 1 is North.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.stages: list[Stage] = []
        self.headlines: list[Headline] = []
        """Headlines of the stage that is added next."""
        self.outcome: Outcome | None = None
        # Number of events that belong to finished stages.
        self._staged_event_count = 0

    def add_event(
        self,
        kind: EventKind,
        seat: Seat | int | None,
        text: str,
        rule: str | None = None,
        *,
        square: object = None,
        to: object = None,
        why: str | None = None,
        edge: tuple[int, int] | None = None,
    ) -> None:
        """Add an event of a seat, or of no single seat if that is None.

        The arguments are the fields of `Event`. `square` and `to` are squares or their names.
        """
        self.events.append(
            Event(
                kind,
                text,
                seat=SEATS[seat] if isinstance(seat, int) else seat,
                square=None if square is None else str(square),
                to=None if to is None else str(to),
                edge=edge,
                why=why,
                rule=rule,
            )
        )

    @property
    def events_since_stage(self) -> tuple[Event, ...]:
        """The events since the last stage."""
        return tuple(self.events[self._staged_event_count :])

    def add_stage(
        self,
        title: str,
        expected: Layout | None,
        *,
        orders: Mapping[Seat, Order] = {},
        tallies: tuple[Tally, ...] = (),
        todo: tuple[tuple[Seat, str], ...] = (),
        badges: Mapping[Square, Badge] = {},
    ) -> None:
        """Add a stage that holds the events and headlines since the last one.

        The arguments are the other fields of `Stage`.
        """
        self.stages.append(
            Stage(
                title,
                orders,
                self.events_since_stage,
                expected,
                tallies,
                todo,
                tuple(self.headlines),
                badges,
            )
        )
        self._staged_event_count = len(self.events)
        self.headlines = []

    def end_game(self, winner: Seat | int | None, reason: str, rule: str, short: str = "") -> None:
        """Record the outcome of the game and add its event. Without a winner it is a draw.

        `reason` and `short` are fields of `Outcome`. `rule` is the id of the rule that ends the
        game.
        """
        seat = SEATS[winner] if isinstance(winner, int) else winner
        self.outcome = Outcome(frozenset({seat} if seat else ()), reason, short)
        self.events.append(self.outcome.event(rule))

    def build_step(self, state: S) -> Step[S]:
        """Return the result of `Game.apply`: the next state with all recorded events and stages."""
        return Step(state, tuple(self.events), tuple(self.stages))
