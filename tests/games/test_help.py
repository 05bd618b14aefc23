"""“What can I do now?”: every game answers at every moment of its lesson, in few words, and tells no secret to all."""

from __future__ import annotations

from random import Random

import pytest

from companion.games import GAMES
from companion.games.help import possibilities, public_possibilities

MOST_WORDS = 7


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: game.name)
def test_every_moment_of_a_lesson_has_an_answer(game) -> None:  # type: ignore[no-untyped-def]
    assert game.lesson
    state = game.setup(game.options(game.lesson.options), Random(1))
    for step in game.lesson.steps:
        for seat in game.to_act(state):
            rows = possibilities(game, state, seat)
            assert rows
            assert all(row.word and row.result for row in rows), [row.word for row in rows]
            assert all(len(str(row.result).split()) <= MOST_WORDS for row in rows)
        assert public_possibilities(game, state)
        actions = {seat: game.parse(text) for seat, text in step.orders.items()}
        state = game.apply(state, actions, Random(1)).state


def test_what_everybody_is_told_does_not_depend_on_hands() -> None:
    game = GAMES["binmat"]
    told = set()
    for hands in (
        (("5+", "7!", "2^"), ("4&", "4%", "3#")),
        (("?+", ">!", "2^"), ("4&", "4%", "3#")),
    ):
        state = game.setup(game.options({"hands": hands}), Random(1))
        told.add(public_possibilities(game, state))
    assert len(told) == 1
