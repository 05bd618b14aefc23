"""The guide of a first game: the visible part of its lesson, and the sign during it.

Nothing is secret in a lesson: its orders are part of the program, and the table accepts no others.
So the table screen shows the orders of both seats, and nobody at a pad needs a phone. The views of
a guided game say so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from companion.core.i18n import listed, say
from companion.core.kit import Seat
from companion.games.lesson import Lesson, LessonStep
from companion.games.spelling import Arrow, SpelledOrder, arrows_of, spell_action
from companion.table.session import Phase, Session, Viewer
from companion.table.state import TableState


@dataclass(frozen=True)
class GuideView:
    """The current step of the lesson, as pages and pads show it.

    - `number`: number of the step, counted from 0.
    - `part`: number of its part of the lesson, counted from 0.
    - `is_over`: whether the step is fully shown.
    - `orders`: the orders of both seats in words and drawings.
    - `ways`: arrows to the squares that the orders lead to.
    """

    lesson: Lesson
    step: LessonStep
    number: int
    part: int
    is_over: bool
    orders: Mapping[Seat, tuple[SpelledOrder, ...]]
    ways: Mapping[Seat, tuple[Arrow, ...]]


_SEEN_FROM_SOUTH = {
    "order-up": "order-down",
    "order-down": "order-up",
    "order-left": "order-right",
    "order-right": "order-left",
}
"""The directions of North's keys on a picture with South below."""


def guide_of(session: Session) -> GuideView | None:
    """Return the visible part of the lesson. None without a lesson."""
    lesson, number = session.lesson, session.lesson_number
    if lesson is None or number is None:
        return None
    game, step = session.playing, lesson.steps[number]
    before = session.before_turn if session.phase is Phase.STAGES else session
    state = before.state if before else session.state
    orders, ways = {}, {}
    for seat, action in step.orders.items():
        orders[seat] = spell_action(game, state, seat, action)
        ways[seat] = arrows_of(game, state, seat, action)
    north_orders = []
    for order in orders.get(Seat.NORTH, ()):
        drawing = _SEEN_FROM_SOUTH.get(order.drawing, order.drawing)
        north_orders.append(replace(order, drawing=drawing))
    return GuideView(
        lesson,
        step,
        number,
        part=lesson.part_of(number),
        is_over=session.phase is Phase.STAGES and session.stage + 1 == len(session.stages),
        orders={**orders, Seat.NORTH: tuple(north_orders)},
        ways=ways,
    )


def waiting_words(session: Session, seats: Collection[Seat]) -> str:
    """Return a sentence on the seats that are waited for."""
    names = listed(session.playing.sides[seat].name for seat in sorted(seats))
    return say("Waiting for {sides}", sides=names)


def lesson_words(live: TableState, step: LessonStep, viewer: Viewer) -> tuple[str, str]:
    """Return the sign and its smaller line while the lesson waits for orders."""
    session, sides = live.session, live.session.playing.sides
    awaited = sorted(session.awaited)
    if viewer in awaited:
        # The head of a step for one seat speaks of its player in the third person.
        is_for_one = len(step.orders) == 1
        return say("Your turn") if is_for_one else step.head, step.tasks[viewer]
    people = [seat for seat in awaited if not session.is_machine_seat(seat)]
    if viewer is not None or not people:
        return waiting_words(session, awaited), step.why
    if len(people) > 1:
        return say("Both: give the orders shown here"), step.why
    (seat,) = people
    # The keys that enter this action, if a pad can enter it.
    action, grammar = step.orders[seat], session.playing.pad(session.state, seat)
    keys = grammar.spell(action) if grammar else ()
    can_enter = grammar is not None and grammar.text(keys) == action
    small = step.why
    if session.seats[seat].door == "pad" and not can_enter:
        small = say("Not by this pad: move it on the board, or go on by phone at the same seat.")
    return say("{side!c}: do what is shown here", side=sides[seat].name), small
