"""What a seat may do now and where that leads: for its owner only, and nothing of it is kept."""

from __future__ import annotations

from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games.help import possibilities
from companion.games.screen import Play, Possible
from companion.table.pipeline import Pipeline
from companion.table.session import Session

MAX_ENTERED = 64
"""No more orders than these are looked at."""


class Hints:
    """Any thread may ask. Who asks about another moment, or is not to act in it, is told nothing."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def plan(self, seat: Seat, moment: str, entered: str) -> tuple[Square | None, ...]:
        """Where the orders that a seat has entered so far would lead."""
        session = self._due(seat, moment, entered)
        return session.playing.plan(session.state, seat, entered) if session else ()

    def possible(self, seat: Seat, moment: str, entered: str) -> tuple[Possible, ...]:
        """What a seat may do next after what it has entered."""
        session = self._due(seat, moment, entered)
        return possibilities(session.playing, session.state, seat, entered) if session else ()

    def plays(self, seat: Seat, moment: str) -> tuple[Play, ...]:
        """The actions that a seat can tap on its board now; none unless it alone is to act."""
        session = self._due(seat, moment)
        return tuple(session.playing.plays(session.state, seat)) if session and session.awaited == {seat} else ()

    def _due(self, seat: Seat, moment: str, entered: str = "") -> Session | None:
        session = self._pipeline.session
        is_due = moment == session.moment and seat in session.awaited and len(entered) <= MAX_ENTERED
        return session if is_due else None
