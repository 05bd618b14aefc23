"""Scouts: every reason to refuse something is provoked, with its sentence, its rule and the square
in the way.
"""

from __future__ import annotations

import pytest
from scouts_examples import PLAYS
from scouts_examples_rocks import ROCKS_AND_HANDS

from companion.games.scouts.legal import Reason
from companion.games.scouts.words import RULES

EXAMPLES = {**PLAYS, **ROCKS_AND_HANDS}


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence_a_rule_and_the_square_in_the_way(reason: Reason) -> None:
    for example in EXAMPLES[reason]:
        refusal = example.refused()
        assert refusal.message == example.message
        assert refusal.reason is reason
        assert (refusal.rule, refusal.square) == (example.rule, example.square)
        assert refusal.rule in {rule.id for rule in RULES}
