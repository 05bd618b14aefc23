"""Every lesson is played through the rules: what it promises happens, and its words fit where they
stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from companion.core.drawings import DRAWINGS
from companion.core.errors import Illegal, Refusal
from companion.core.kit import Seat
from companion.games import GAMES
from companion.games.action_words import (
    build_arrows,
    find_choice,
    find_play,
    spell_action,
    spell_legal_action,
)
from companion.games.base import Event, Game
from companion.games.help import possibilities, public_possibilities
from companion.games.lesson import Lesson, LessonStep

EACH = pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
SIGN_LETTERS = 40
MOST_WORDS = 7


def lesson_of(game: Game[Any, Any]) -> Lesson:
    assert game.lesson is not None
    return game.lesson


def steps_of_lesson(game: Game[Any, Any]) -> Iterator[tuple[Any, LessonStep, tuple[Event, ...]]]:
    """Yield every step with the state before it and what happened."""
    lesson = lesson_of(game)
    state = game.setup(game.options(lesson.options), Random(1))
    for step in lesson.steps:
        actions = {seat: game.parse(text) for seat, text in step.orders.items()}
        game.require(state, actions)
        done = game.apply(state, actions, Random(1))
        yield state, step, done.events
        state = done.state
    assert game.outcome(state) is None, "the game goes on"


@EACH
def test_a_lesson_shows_what_it_promises(game: Game[Any, Any]) -> None:
    lesson = lesson_of(game)
    assert len(lesson.titles) == 3
    assert {drawing for tile in lesson.picture for drawing, _ in tile} <= set(DRAWINGS)
    for state, step, events in steps_of_lesson(game):
        assert step.shows
        assert not Counter(step.shows) - Counter(event.kind for event in events), step.title
        assert len(step.head) <= SIGN_LETTERS, step.head
        assert step.tasks.keys() == step.orders.keys() == game.to_act(state)


def test_only_seats_due_have_their_action_spelled() -> None:
    game = GAMES["scouts"]
    state, step, _ = next(steps_of_lesson(game))
    ((seat, text),) = step.orders.items()
    assert spell_legal_action(game, state, seat, text)
    with pytest.raises(Illegal) as refused:
        spell_legal_action(game, state, seat.other, text)
    assert refused.value.reason is Refusal.NOT_TO_ACT


def test_lessons_of_version_1_0_still_work() -> None:
    tasks = {Seat.SOUTH: "Press up."}
    step = LessonStep("Steps", {Seat.SOUTH: "UII"}, "Go", "Try it", told=tasks, after="It went")
    assert step == LessonStep("Steps", {Seat.SOUTH: "UII"}, "Go", "Try it", tasks, "It went")
    assert replace(step, head="Run").tasks == tasks


@EACH
def test_lesson_orders_can_be_tapped_and_pressed(game: Game[Any, Any]) -> None:
    """As a seat taps them they spell the very text that the table asks for."""
    pressed = 0
    for state, step, _ in steps_of_lesson(game):
        assert public_possibilities(game, state)
        for seat, text in step.orders.items():
            rows = possibilities(game, state, seat)
            assert rows
            for row in rows:
                assert row.word
                assert 0 < len(str(row.result).split()) <= MOST_WORDS
            assert game.format(game.parse(text)) == text
            assert all(order.words for order in spell_action(game, state, seat, text))
            board_ui, card_ui = game.board_ui(state, seat), game.card_ui(state, seat)
            if card_ui:
                assert find_choice(card_ui, text)
            elif board_ui and board_ui.sheet:
                orders = game.parse(text).by_robot
                assert len(orders) == len(board_ui.sheet.units), "an order is open on the sheet"
            elif board_ui and not board_ui.duel:
                assert find_play(game, state, seat, text)
            pad = game.pad(state, seat)
            pressed += bool(pad and pad.text(pad.spell(text)) == text)
    assert pressed or game.name == "binmat", "hands are on phones there"


def test_ways_lead_over_the_board() -> None:
    game = GAMES["scouts"]
    state, step, _ = next(steps_of_lesson(game))
    (seat,) = step.orders
    assert [tuple(map(str, way)) for way in build_arrows(game, state, seat, step.orders[seat])] == [
        ("c6", "c8"),
        ("c8", "c10"),
    ]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("scouts", "a1 a1 b1 c1 d1 / a9 b9 c9 d9 e9"),
        ("scouts", "a10 b1 c1 d1 e1 / a9 b9 c9 d9 e9"),
        ("arena", "c4"),
        ("kahmate", "a1 b1 / c1 / d1"),
    ],
)
def test_a_start_that_cannot_be_is_refused(name: str, start: str) -> None:
    with pytest.raises(ValueError, match=r"start|off the board|square"):
        GAMES[name].options({"start": start})


def test_help_for_everybody_does_not_depend_on_hands() -> None:
    game = GAMES["binmat"]
    told = set()
    for hands in (
        (("5+", "7!", "2^"), ("4&", "4%", "3#")),
        (("?+", ">!", "2^"), ("4&", "4%", "3#")),
    ):
        state = game.setup(game.options({"hands": hands}), Random(1))
        told.add(public_possibilities(game, state))
    assert len(told) == 1
