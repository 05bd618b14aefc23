"""Scouts: every reason to refuse something is provoked, with its sentence, its rule and the square in the way."""

from __future__ import annotations

import pytest
from scouts_examples import PLAYS
from scouts_examples_rocks import ROCKS_AND_HANDS
from scouts_tools import GAME, at

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games.scouts.legal import Reason
from companion.games.scouts.words import RULES

EXAMPLES = {**PLAYS, **ROCKS_AND_HANDS}


def test_every_reason_has_an_example() -> None:
    assert set(EXAMPLES) == set(Reason)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence_a_rule_and_the_square_in_the_way(reason: Reason) -> None:
    for example in EXAMPLES[reason]:
        refusal = example.refused()
        assert refusal.message == example.message
        assert refusal.reason is reason
        assert (refusal.rule, refusal.square) == (example.rule, example.square)
        assert refusal.rule in {rule.id for rule in RULES}


@pytest.mark.parametrize("reason", Reason)
def test_sentences_are_short_and_in_the_words_of_the_table(reason: Reason) -> None:
    for example in EXAMPLES[reason]:
        message = example.refused().message
        assert message[-1] == "."
        assert message.count(". ") <= 1, "two sentences at most"
        assert not set("!?“”_") & set(message)
        assert len(message) <= 110


def test_a_refused_square_is_a_square_of_the_board() -> None:
    squares = [example.refused().square for examples in EXAMPLES.values() for example in examples]
    assert {str(Square.parse(square)) for square in squares if square} == {
        square for square in squares if square
    }


def test_a_refusal_through_the_table_changes_nothing() -> None:
    state = at("c4", "c6")
    with pytest.raises(Illegal):
        GAME.require(state, {Seat.SOUTH: "c4-e4"})
    assert state == at("c4", "c6")
