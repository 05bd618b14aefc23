"""The progress of a session in its lesson: which step is current, and which action it wants."""

from __future__ import annotations

from companion.core.kit import Seat
from companion.games.lesson import Lesson, LessonStep
from companion.table.session import Phase, Session


def lesson_of(session: Session) -> Lesson | None:
    """Return the lesson of the game. None if it has none, or if the players have left it."""
    if session.game is None or not session.is_guided or session.has_left_lesson:
        return None
    return session.game.lesson


def lesson_step_index(session: Session) -> int | None:
    """Return the index of the current lesson step. None without a lesson, or after its end."""
    lesson = lesson_of(session)
    if lesson is None or session.is_between_games:
        return None
    # While a turn is shown, the step that asked for it is still current.
    index = len(session.turns) - (session.phase is Phase.STAGES)
    return index if index < len(lesson.steps) else None


def lesson_step(session: Session) -> LessonStep | None:
    """Return the current lesson step. None without a lesson, or after its end."""
    lesson = lesson_of(session)
    index = lesson_step_index(session)
    return lesson.steps[index] if lesson and index is not None else None


def lesson_action_of(session: Session, seat: Seat) -> str | None:
    """Return the one action, in notation, that the lesson allows a seat now.

    None if the seat is free to choose.
    """
    step = lesson_step(session) if session.phase is Phase.ORDERS else None
    return step.orders.get(seat) if step else None


def is_first_decision_after_lesson(session: Session) -> bool:
    """Return whether the first decision after a lesson is due."""
    lesson = lesson_of(session)
    return (
        lesson is not None
        and session.phase is Phase.ORDERS
        and len(session.turns) == len(lesson.steps)
    )
