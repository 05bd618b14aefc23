"""The cues that announce what a turn brings."""

from __future__ import annotations

from companion.core.ports import Cue, Signal
from companion.games.base import Event
from companion.table.session import BOTH, Session


def event_signals(events: tuple[Event, ...]) -> tuple[Signal, ...]:
    """The cues of what happened."""
    return tuple(
        Signal(event.kind.cue, frozenset({event.seat} if event.seat else BOTH)) for event in events if event.kind.cue
    )


def stage_signals(session: Session) -> tuple[Signal, ...]:
    """The cues of the stage that is shown now: its number, what happened in it, whose hands are wanted."""
    stage = session.stages[session.stage]
    happened = event_signals(stage.events)
    if session.has_moves and not happened:
        happened = (Signal(Cue.HANDS_WANTED, BOTH),)
    return (Signal(Cue.STEP, BOTH, session.stage + 1), *happened)
