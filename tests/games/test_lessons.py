"""Tests of the lessons of all games, played by the rules without a table.

What each step promises must happen, its actions can be tapped and pressed, and its texts fit. Some
tests use a lesson's first step as an example for the functions that put actions into words.
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

for_each_game = pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
# Maximum number of characters for which a sign has room.
MAX_SIGN_LENGTH = 40
# Maximum number of words in the result of a possible order.
MAX_RESULT_WORDS = 7


def lesson_of(game: Game[Any, Any]) -> Lesson:
    assert game.lesson is not None
    return game.lesson


def steps_of_lesson(game: Game[Any, Any]) -> Iterator[tuple[Any, LessonStep, tuple[Event, ...]]]:
    """Yield every step of a game's lesson, between the state before it and its events."""
    lesson = lesson_of(game)
    state = game.setup(game.options(lesson.options), Random(1))
    for step in lesson.steps:
        actions = {seat: game.parse(text) for seat, text in step.orders.items()}
        game.require(state, actions)
        result = game.apply(state, actions, Random(1))
        yield state, step, result.events
        state = result.state
    assert game.outcome(state) is None, "the game must go on after its lesson"


@for_each_game
def test_a_lesson_shows_what_it_promises(game: Game[Any, Any]) -> None:
    lesson = lesson_of(game)
    assert len(lesson.titles) == 3
    assert {drawing for tile in lesson.picture for drawing, _ in tile} <= set(DRAWINGS)
    for state, step, events in steps_of_lesson(game):
        # A kind that is promised twice must occur twice, which counters can tell.
        assert step.shows
        missing_events = Counter(step.shows) - Counter(event.kind for event in events)
        assert not missing_events, step.title
        assert len(step.head) <= MAX_SIGN_LENGTH, step.head
        assert step.tasks.keys() == step.orders.keys() == game.to_act(state)


def test_actions_are_spelled_only_for_seats_to_act() -> None:
    game = GAMES["scouts"]
    state, step, _ = next(steps_of_lesson(game))
    ((seat, text),) = step.orders.items()
    assert spell_legal_action(game, state, seat, text)
    with pytest.raises(Illegal) as refused:
        spell_legal_action(game, state, seat.other, text)
    assert refused.value.reason is Refusal.NOT_TO_ACT


def test_lessons_written_for_version_1_0_still_work() -> None:
    tasks = {Seat.SOUTH: "Press up."}
    step = LessonStep("Steps", {Seat.SOUTH: "UII"}, "Go", "Try it", told=tasks, after="It went")
    assert step == LessonStep("Steps", {Seat.SOUTH: "UII"}, "Go", "Try it", tasks, "It went")
    assert replace(step, head="Run").tasks == tasks


@for_each_game
def test_lesson_orders_can_be_tapped_and_pressed(game: Game[Any, Any]) -> None:
    """Taps and presses of keys spell the very text that the table asks for."""
    spelled_by_pads = 0
    for state, step, _ in steps_of_lesson(game):
        assert public_possibilities(game, state)
        for seat, text in step.orders.items():
            # “What can I do now?” has an answer, in a few words for each possibility.
            rows = possibilities(game, state, seat)
            assert rows
            for row in rows:
                assert row.word
                assert 0 < len(str(row.result).split()) <= MAX_RESULT_WORDS
            # The action can be put into words.
            assert game.format(game.parse(text)) == text
            assert all(order.words for order in spell_action(game, state, seat, text))
            # It can be given in the form that the game offers: cards, a sheet, plays, or keys.
            pad = game.pad(state, seat)
            is_spelled = pad is not None and pad.text(pad.spell(text)) == text
            board_ui = game.board_ui(state, seat)
            card_ui = game.card_ui(state, seat)
            if card_ui:
                assert find_choice(card_ui, text)
            elif board_ui and board_ui.sheet:
                orders = game.parse(text).by_robot
                assert len(orders) == len(board_ui.sheet.units), "each robot must have an order"
            elif board_ui and not board_ui.duel:
                assert find_play(game, state, seat, text)
            else:
                assert is_spelled, "keys must spell an action that is not tapped"
            spelled_by_pads += is_spelled
    # The lesson of BINMAT is played with cards on phones, so it needs no pads.
    assert spelled_by_pads or game.name == "binmat"


def test_arrows_show_each_part_of_a_way() -> None:
    game = GAMES["scouts"]
    state, step, _ = next(steps_of_lesson(game))
    (seat,) = step.orders
    arrows = build_arrows(game, state, seat, step.orders[seat])
    assert [tuple(map(str, arrow)) for arrow in arrows] == [("c6", "c8"), ("c8", "c10")]


@pytest.mark.parametrize(
    ("name", "start"),
    [
        # Two scouts on one square, a scout on its far rank, only one side, too few pieces.
        ("scouts", "a1 a1 b1 c1 d1 / a9 b9 c9 d9 e9"),
        ("scouts", "a10 b1 c1 d1 e1 / a9 b9 c9 d9 e9"),
        ("arena", "c4"),
        ("kahmate", "a1 b1 / c1 / d1"),
    ],
)
def test_an_impossible_start_is_refused(name: str, start: str) -> None:
    with pytest.raises(ValueError, match=r"start|off the board|square"):
        GAMES[name].options({"start": start})


def test_help_for_everybody_tells_nothing_of_hands() -> None:
    game = GAMES["binmat"]
    # The two games differ only in the hand of the defender. With a BREAK and a BOUNCE it allows
    # other actions.
    helps = set()
    for hands in (
        (("5+", "7!", "2^"), ("4&", "4%", "3#")),
        (("?+", ">!", "2^"), ("4&", "4%", "3#")),
    ):
        state = game.setup(game.options({"hands": hands}), Random(1))
        helps.add(public_possibilities(game, state))
    assert len(helps) == 1
