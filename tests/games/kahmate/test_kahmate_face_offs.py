"""Tests of Kahmate's face-offs, turned-over pieces, taking back and limits.

They follow the sentences of the rulebook and of the rulings, on states without a table.

`make_state` takes blue's pieces, pink's pieces, and the square of the ball. Blue is South and is on
turn. `carry_out` carries out actions in notation, where `3/1` are the cards of a face-off: blue's,
then pink's. `down` gives the number of its owner's turns for which each piece lies turned over.
"""

from __future__ import annotations

from dataclasses import replace

from kahmate_tools import GAME, SOUTH, ball, carry_out, down, make_state, refusal
from step_tools import event_texts, stage_titles

from companion.core.kit import SEATS
from companion.games.kahmate.legal import Reason
from companion.games.kahmate.state import State

# ---- face-offs -----------------------------------------------------------------------------------


def test_equal_totals_are_repeated_with_other_cards() -> None:
    # Two regulars have no strength of their own, so only the cards count: twice they are equal.
    step = carry_out(make_state("R@e5", "R@e6", "e6"), "e5xe6", "3/3", "4/4")
    assert GAME.to_act(step.state) == set(SEATS)
    assert step.events[0].text == "4 against 4: both choose a card again."
    assert stage_titles(step) == ["Face-off"]
    assert not any(tally.is_greater for tally in step.stages[0].tallies)
    # The cards of both tries are spent. The third try decides.
    assert step.state.cards == ((1, 2, 5, 6), (1, 2, 5, 6))
    step = carry_out(step.state, "6/1")
    assert ball(step.state) == ("e5", SOUTH)


def test_an_empty_hand_is_filled_at_once() -> None:
    # Both sides spend their last card in a face-off that must be repeated.
    step = carry_out(make_state("R@e5", "R@e6", "e6", cards=((2,), (2,))), "e5xe6", "2/2")
    assert step.state.cards == ((1, 2, 3, 4, 5, 6),) * 2
    assert "All cards have been used: both hands hold 1 to 6 again." in event_texts(step)
    assert ball(carry_out(step.state, "2/1").state)[0] == "e7"


# ---- turned over ---------------------------------------------------------------------------------


def test_pieces_lie_through_their_sides_next_turn() -> None:
    """A piece that its own run has turned over does not stand up at the end of that turn."""
    # The runner loses the face-off on d6 and is turned over for this turn and for blue's next one.
    state = carry_out(make_state("R@d5 T@a5", "S@d6", "h6"), "d5-d6-d7", "1/6").state
    assert down(state) == {"d5": 2}
    # Blue and pink end their turns. In blue's next turn the piece still lies.
    state = carry_out(state, ".", ".").state
    assert GAME.to_act(state) == {SOUTH}
    assert down(state) == {"d5": 1}
    assert refusal(state, "d5-d4") is Reason.TURNED_OVER
    state = carry_out(state, ".").state
    assert down(state) == {}


# ---- taking back ---------------------------------------------------------------------------------


def test_only_plays_that_reveal_nothing_are_reversible() -> None:
    # A run, a pass and a kick that meet nobody. Then a pass and a run that meet an opponent on d5,
    # and the end of the turn.
    state = make_state("R@d6 T@d4 S@c5", "F@d5 B@f6", "d6")
    for text, expected in (
        ("d6-d7", True),
        ("d6*c5", True),
        ("d6!d7", True),
        ("d6*d4", False),
        ("d6-d5-c5", False),
        (".", False),
    ):
        assert GAME.is_reversible(state, SOUTH, GAME.parse(text)) is expected, text
    # A tackle, and a try.
    assert not GAME.is_reversible(make_state("B@e5", "S@e6", "e6"), SOUTH, GAME.parse("e5xe6"))
    assert not GAME.is_reversible(make_state("B@d11", "", "d11"), SOUTH, GAME.parse("d11-goal"))


# ---- limits --------------------------------------------------------------------------------------


def state_with_limits(**limits: int) -> State:
    return replace(make_state("R@d5", "R@d6", "d6"), options=GAME.options(limits))


def test_the_last_turn_without_a_try_draws() -> None:
    # The turns of both sides count together.
    before = carry_out(state_with_limits(round_limit=3), ".", ".").state
    assert before.outcome is None
    step = carry_out(before, ".")
    assert step.state.outcome is not None
    assert (step.state.outcome.winners, step.state.outcome.reason) == (
        frozenset(),
        "Turn 3 was the last one, without a try: a draw.",
    )
    assert GAME.how_it_ended(step.state) == "Turn 3 was the last."
    assert step.events[-1].kind == "tie"
    assert not GAME.to_act(step.state)


def test_turns_without_a_face_off_draw() -> None:
    state = carry_out(state_with_limits(quiet_limit=3), ".", ".").state
    assert (state.quiet_turns, state.outcome) == (2, None)
    # A face-off in the third turn, which ends that turn, restarts the count.
    after_face_off = carry_out(replace(state, seat=0), "d5xd6", "1/6").state
    assert (after_face_off.outcome, after_face_off.quiet_turns) == (None, 0)
    # Three more turns without a face-off are a draw.
    drawn = carry_out(after_face_off, ".", ".", ".").state
    assert drawn.outcome is not None
    assert drawn.outcome.reason == "3 turns without a face-off: a draw."
    assert GAME.how_it_ended(drawn) == "3 turns, no face-off."
    assert GAME.dump(carry_out(after_face_off, ".").state)["quiet"] == 1
