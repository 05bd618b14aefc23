"""The guide of a first game: the visible part of its lesson, and the sign during it.

Nothing is secret in a lesson: its actions are part of the program, and the table accepts no others.
So the table screen shows the orders of both seats, and nobody at a pad needs a phone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from companion.core.i18n import listed, say
from companion.core.kit import Seat
from companion.games.action_words import Arrow, SpelledOrder, build_arrows, spell_action
from companion.games.lesson import Lesson, LessonStep
from companion.games.pads import PadGrammar
from companion.table.lesson_progress import lesson_of, lesson_step_index
from companion.table.session import Phase, Session, Viewer
from companion.table.state import TableState


@dataclass(frozen=True)
class GuideView:
    """The current step of the lesson, as pages and pads show it."""

    lesson: Lesson
    step: LessonStep
    step_index: int
    """Index of the step in the lesson."""
    part_index: int
    """Index of the part of the lesson to which the step belongs."""
    is_last_stage_shown: bool
    """Whether the last stage of the step is on the screen."""
    orders: Mapping[Seat, tuple[SpelledOrder, ...]]
    """The orders of both seats in words and drawings."""
    arrows: Mapping[Seat, tuple[Arrow, ...]]
    """Arrows to the squares that the orders lead to."""


# Drawings of North's orders: as North gives them, and as they point in a picture with South below.
_NORTH_DRAWINGS = {
    "order-up": "order-down",
    "order-down": "order-up",
    "order-left": "order-right",
    "order-right": "order-left",
}


def guide_of(session: Session) -> GuideView | None:
    """Return the visible part of the lesson. None without a lesson."""
    lesson = lesson_of(session)
    step_index = lesson_step_index(session)
    if lesson is None or step_index is None:
        return None
    game = session.require_game()
    step = lesson.steps[step_index]
    # While the stages of a turn are shown, the orders are still explained from before the turn.
    before = session.before_turn if session.phase is Phase.STAGES else session
    state = before.state if before else session.state
    orders = {}
    arrows = {}
    for seat, action in step.orders.items():
        orders[seat] = spell_action(game, state, seat, action)
        arrows[seat] = build_arrows(game, state, seat, action)
    north_orders = tuple(
        replace(order, drawing=_NORTH_DRAWINGS.get(order.drawing, order.drawing))
        for order in orders.get(Seat.NORTH, ())
    )
    return GuideView(
        lesson,
        step,
        step_index,
        part_index=lesson.part_of(step_index),
        is_last_stage_shown=session.phase is Phase.STAGES
        and session.stage_index + 1 == len(session.stages),
        orders={**orders, Seat.NORTH: north_orders},
        arrows=arrows,
    )


def waiting_words(session: Session, seats: Collection[Seat]) -> str:
    """Return a sentence that says for which seats the table waits."""
    names = listed(session.require_game().sides[seat].name for seat in sorted(seats))
    return say("Waiting for {sides}", sides=names)


def lesson_words(live: TableState, step: LessonStep, viewer: Viewer) -> tuple[str, str]:
    """Return the text and the small line of the sign while a lesson's orders are due."""
    session = live.session
    sides = live.session.require_game().sides
    awaited = sorted(session.awaited_seats)
    if viewer in awaited:
        # The head of a step for one seat speaks of its player in the third person.
        text = say("Your turn") if len(step.orders) == 1 else step.head
        return text, step.tasks[viewer]
    people = [seat for seat in awaited if not session.is_machine_seat(seat)]
    if viewer is not None or not people:
        return waiting_words(session, awaited), step.why
    if len(people) > 1:
        return say("Both: give the orders shown here"), step.why
    (seat,) = people
    small_line = step.why
    grammar = session.require_game().pad(session.state, seat)
    if session.door_of(seat) == "pad" and not _can_enter(grammar, step.orders[seat]):
        small_line = say(
            "Not by this pad: move it on the board, or go on by phone at the same seat."
        )
    return say("{side!c}: do what is shown here", side=sides[seat].name), small_line


def _can_enter(grammar: PadGrammar | None, action: str) -> bool:
    """Return whether an action in notation can be entered by this pad. False without a pad.

    `spell` returns no keys for an action that keys cannot give. It may still be the one that Ready
    means without any other key, as `text` says.
    """
    return grammar is not None and grammar.text(grammar.spell(action)) == action
