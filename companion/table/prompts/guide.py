"""The guide of a first game: the visible part of its lesson, and the sign during it.

Nothing is secret in a lesson: its orders are part of the program, and the table accepts no others.
So the table screen shows the orders of both seats, and nobody at a pad needs a phone. The views of
a guided game say so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from companion.core.i18n import listed, say
from companion.core.kit import Seat
from companion.games.base import AnyGame
from companion.games.lesson import Lesson, LessonStep
from companion.games.spelling import SpelledOrder, Way, spell_action, ways_of
from companion.table.session import Phase, Session, Viewer, chance
from companion.table.state import TableState


@dataclass(frozen=True)
class GuideView:
    """The current step of the lesson. `number` and `part` count from 0. `is_over`: the step is
    fully shown.

    `orders` has the orders of both seats in words and drawings, `ways` the squares they lead to.
    """

    lesson: Lesson
    step: LessonStep
    number: int
    part: int
    is_over: bool
    orders: Mapping[Seat, tuple[SpelledOrder, ...]]
    ways: Mapping[Seat, tuple[Way, ...]]


_TURNED = {
    "order-up": "order-down",
    "order-down": "order-up",
    "order-left": "order-right",
    "order-right": "order-left",
}
"""North's keys as they lead on a picture with South below."""


def guide_of(session: Session) -> GuideView | None:
    """Return the visible part of the lesson. None without a lesson."""
    lesson, number = session.lesson, session.lesson_number
    if lesson is None or number is None:
        return None
    game, step = session.playing, lesson.steps[number]
    before = session.before if session.phase is Phase.STAGES else session
    state = before.state if before else session.state
    orders, ways = {}, {}
    for seat, text in step.orders.items():
        orders[seat] = spell_action(game, state, seat, text)
        ways[seat] = ways_of(game, state, seat, text)
    return GuideView(
        lesson,
        step,
        number,
        lesson.part_of(number),
        session.phase is Phase.STAGES and session.stage + 1 == len(session.stages),
        _as_on_board(game, state, step, orders),
        ways,
    )


def _as_on_board(
    game: AnyGame, state: Any, step: LessonStep, orders: Mapping[Seat, tuple[SpelledOrder, ...]]
) -> Mapping[Seat, tuple[SpelledOrder, ...]]:
    """Return orders with their drawings as they lead on a picture with South below."""
    if game.board_ui(state, None) or game.card_ui(state, None):
        north = []
        for order in orders.get(Seat.NORTH, ()):
            north.append(replace(order, drawing=_TURNED.get(order.drawing, order.drawing)))
        return {**orders, Seat.NORTH: tuple(north)}
    actions = {seat: game.parse(text) for seat, text in step.orders.items()}
    # A game of keys says itself where they lead, in the orders that its stages reveal.
    stages = game.apply(state, actions, chance(0, 0)).stages
    on_board = {}
    for seat, spelled in orders.items():
        drawn = []
        for order, stage in zip(spelled, stages, strict=False):
            shown = stage.orders.get(seat)
            drawn.append(replace(order, drawing=shown.on_board) if shown else order)
        on_board[seat] = tuple(drawn)
    return on_board


def waiting_words(session: Session, seats: Collection[Seat]) -> str:
    """Return a sentence on the seats that are waited for."""
    names = listed(session.playing.sides[seat].name for seat in sorted(seats))
    return say("Waiting for {sides}", sides=names)


def lesson_words(live: TableState, step: LessonStep, viewer: Viewer) -> tuple[str, str]:
    """Return the sign and its smaller line while the lesson waits for orders."""
    session, sides = live.session, live.session.playing.sides
    awaited = sorted(session.awaited)
    if viewer in awaited:
        alone = len(step.orders) == 1  # then the head is in the third person
        return say("Your turn") if alone else step.head, step.tasks[viewer]
    people = [seat for seat in awaited if not session.is_machines(seat)]
    if viewer is not None or not people:
        return waiting_words(session, awaited), step.why
    if len(people) > 1:
        return say("Both: give the orders shown here"), step.why
    (seat,), name = people, sides[people[0]].name
    if session.seats[seat].door != "pad":
        return say("{side!c}: do what is shown here", side=name), step.why
    # The keys that enter this order before ready, if the pad can enter it.
    text, grammar = step.orders[seat], session.playing.pad(session.state, seat)
    keys = grammar.spell(text) if grammar else ()
    if grammar and grammar.text(keys) == text:
        shown = say("{side!c}: do what is shown here", side=name)
        return shown if keys else say("{side!c}: press ready", side=name), step.why
    # The camera sees the board, so hands can enter what a pad cannot.
    if live.sees_board and not live.has_cards and session.board is not None:
        return say("{side!c}: move as shown here", side=name), say(
            "By hand, on the board: the camera sees it."
        )
    return say("{side!c}: give the order on a phone", side=name), say(
        "A pad cannot give it: go on by phone, at the same seat."
    )
