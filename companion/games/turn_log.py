"""Events and stages of a turn, recorded while a game carries it out.

`Game.apply` of most games makes a `TurnLog`, adds what happens in sequence, and returns what
`step_to` makes of it. The log lives no longer than that call. Some games derive a class from it
that also holds the mutable position of the turn.
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
        """Headlines of the present stage."""
        self.outcome: Outcome | None = None
        # Number of events that belong to finished stages.
        self._staged_events = 0

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
        """Add an event of a seat (None for no single seat).

        `at` and `to` are squares or their names. The other arguments are those of `Event`.
        """
        self.events.append(
            Event(
                kind,
                text,
                seat=SEATS[seat] if isinstance(seat, int) else seat,
                square=None if at is None else str(at),
                to=None if to is None else str(to),
                edge=edge,
                why=why,
                rule=rule,
            )
        )

    @property
    def fresh_events(self) -> tuple[Event, ...]:
        """Return the events since the last stage."""
        return tuple(self.events[self._staged_events :])

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
        """End the present stage: add it with the events and headlines since the last one.

        The arguments are the fields of `Stage`.
        """
        headlines = tuple(self.headlines)
        self.stages.append(
            Stage(title, orders, self.fresh_events, expected, tallies, todo, headlines, badges)
        )
        self._staged_events = len(self.events)
        self.headlines = []

    def end(self, winner: Seat | int | None, reason: str, rule: str, short: str = "") -> None:
        """Record the end of the game and its event. Without a winner it is a draw.

        `short` is the outcome in a few words. `rule` is the id of the rule that ends the game.
        """
        seat = SEATS[winner] if isinstance(winner, int) else winner
        self.outcome = Outcome(frozenset({seat} if seat else ()), reason, short)
        self.events.append(self.outcome.event(rule))

    def step_to(self, state: S) -> Step[S]:
        """Return the result of `Game.apply`: this state with all recorded events and stages."""
        return Step(state, tuple(self.events), tuple(self.stages))
