"""Tests of Scouts' rules, its notation and its refusals, on states without a table.

They follow the sentences of the rulebook and of the rulings, and the worked example. `make_state`
takes the squares of white's scouts and of black's, and white is on turn. In the notation `c4-c5` is
a dash, `c1^c3^c5` a chain of two jumps, and `.` ends the turn.
"""

from __future__ import annotations

import pytest
from scouts_examples import PLAY_EXAMPLES
from scouts_examples_rocks import ROCK_EXAMPLES
from scouts_tools import GAME, carry_out, legal_texts, make_state, state_after

from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games.scouts.legal import Reason
from companion.games.scouts.state import State
from companion.games.scouts.words import RULES


def faces_on(state: State, square: str) -> tuple[str, ...]:
    """Return the faces on a square, from bottom to top."""
    return GAME.expected(state).get(Square.parse(square), ())


# ---- the worked example of the rulings -----------------------------------------------------------


def test_worked_example_two_jumps_are_one_play() -> None:
    state = make_state("c1 c4", "c2")
    assert "c1^c3^c5" in legal_texts(state)
    after = state_after(state, "c1^c3^c5")
    assert after.position.plays_due == 1
    assert faces_on(after, "c5") == ("white scout",)


# ---- turns and plays -----------------------------------------------------------------------------


def test_a_turn_may_end_without_further_plays() -> None:
    # The only scout has moved, so nobody can make the second play of the turn.
    assert "." in legal_texts(state_after(make_state("c4", "h10"), "c4-c5"))
    # No scout can move at all.
    walled = make_state("a1", "a2 h10", white_low="a2", rocks={"white boulder": "b1 c1 b2 c2"})
    assert "." in legal_texts(walled)
    step = carry_out(walled, ".")
    assert step.events[0].why == "No scout can move."
    assert step.state.seat is Seat.NORTH


# ---- stacks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "side"), [("white_low", "white"), ("black_low", "black")])
def test_an_uncovered_scout_is_reported(low: str, side: str) -> None:
    step = carry_out(make_state("c4 h1", "g9", **{low: "c4"}), "c4-c5")
    assert step.events[0].why == f"The {side} scout on c4 is free again."


# ---- gathering intel, winning --------------------------------------------------------------------


def test_reaching_the_enemys_rank_ends_the_play() -> None:
    step = carry_out(make_state("c8 h1", "c9 d10"), "c8^c10")
    assert faces_on(step.state, "c10") == ("white scout with intel",)
    assert [stage.title for stage in step.stages] == ["Jump", "Turn the scout over"]
    # The chain cannot go on over d10.
    assert "c8^c10^e10" not in legal_texts(make_state("c8", "c9 d10"))


# ---- notation ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["@c1", "c1-d2", "c1^c3^e3", "B@d5", "R@d5-e5", "R@d9-d10", "."])
def test_notation_is_read_and_written_alike(text: str) -> None:
    assert GAME.format(GAME.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "“” is not a move: expected @c1, c1-d2"),
        ("R", "“R” is not a move"),
        ("B", "“B” is not a move"),
        (".\n", "is not a move"),
        ("@c0", "c0 is not on the board: files are a to h, ranks 1 to 10"),
        ("@c01", "c01 is not on the board"),
        ("c1-d2-e3", "“c1-d2-e3” is not a move"),
        ("c1-d2^f2", "“c1-d2^f2” is not a move"),
        ("X@d5", "“X@d5” is not a move"),
        ("B@d5-e5", "“B@d5-e5” is not a move"),
        ("R@d5", "“R@d5” is not a move"),
        ("R@d5-f5", "“R@d5-f5” is not a rock: expected its two squares, such as R@d5-e5"),
        ("R@h5-a6", "“R@h5-a6” is not a rock"),
        ("R@d6-d5", "“R@d6-d5” is not a rock"),
        ("x" * 90, "x…” is not a move"),
    ],
)
def test_malformed_text_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        GAME.parse(text)
    assert message in caught.value.message
    assert len(caught.value.message) < 140


EXAMPLES = {**PLAY_EXAMPLES, **ROCK_EXAMPLES}


@pytest.mark.parametrize("reason", Reason)
def test_refusals_have_a_sentence_rule_and_square(reason: Reason) -> None:
    for example in EXAMPLES[reason]:
        refusal = example.refusal()
        assert refusal.message == example.message
        assert refusal.reason is reason
        assert (refusal.rule, refusal.square) == (example.rule, example.square)
        assert refusal.rule in {rule.id for rule in RULES}
