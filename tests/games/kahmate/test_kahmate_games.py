"""Tests of Kahmate against a second, slow implementation of its rules, in random games.

`SlowKahmate` is written from the sentences of the rulings and sees only the public dump.
"""

from __future__ import annotations

from random import Random

import pytest
from kahmate_tools import GAME, SlowKahmate, set_up_state

from companion.core.kit import SEATS, Seat
from companion.games.kahmate.actions import Run
from companion.games.kahmate.state import State


def turned_over_squares(state: State) -> set[str]:
    """Return the squares of the pieces that are turned over."""
    return {piece["square"] for piece in GAME.dump(state)["pieces"] if piece["rounds_down"]}


def decide_face_offs(state: State, seat: Seat, rng: Random) -> tuple[State, list[bool]]:
    """Decide every face-off that waits by random cards.

    Return the state after them, and for each face-off whether the seat on turn has won it. Equal
    totals are no result, because the face-off is then repeated.
    """
    results = []
    while len(GAME.to_act(state)) == 2:
        cards = {owner: GAME.random_action(state, owner, rng) for owner in SEATS}
        step = GAME.apply(state, cards, rng)
        totals = {tally.seat: int(tally.total) for tally in step.stages[0].tallies}
        if totals[seat] != totals[seat.other]:
            results.append(totals[seat] > totals[seat.other])
        state = step.state
    return state, results


@pytest.mark.parametrize("seed", range(6))
def test_slow_rules_find_the_same_legal_actions(seed: int) -> None:
    """In random positions, some with turned-over pieces, both list the same actions, and `check`
    accepts each of them.
    """
    rng = Random(seed)
    compared = 0
    state = set_up_state(starter=rng.choice(("south", "north")))
    while (due := sorted(GAME.to_act(state))) and compared < 40:
        # Compare some of the positions in which one seat is on turn.
        if len(due) == 1 and rng.random() < 0.3:
            (seat,) = due
            actions = list(GAME.legal_actions(state, seat))
            assert len(actions) == len(set(actions))
            assert {GAME.format(action) for action in actions} == SlowKahmate(
                GAME.dump(state)
            ).legal_texts()
            for action in actions:
                GAME.check(state, seat, action)
            compared += 1
        # Then the random game goes on.
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state
    assert compared > 10


@pytest.mark.parametrize("seed", range(6))
def test_slow_rules_end_runs_the_same_way(seed: int) -> None:
    """Compare where runner and ball are after a run, and which pieces it has turned over.

    A tenth of the runs of random positions are carried out. Cards drawn at random decide their
    face-offs.
    """
    rng = Random(seed)
    compared = 0
    face_offs = 0
    state = set_up_state()
    while compared < 1200:
        due = sorted(GAME.to_act(state))
        # When a game is over, begin another one.
        if not due:
            state = set_up_state()
            continue
        if len(due) == 1:
            slow = SlowKahmate(GAME.dump(state))
            turned_over = turned_over_squares(state)
            for action in GAME.legal_actions(state, due[0]):
                text = GAME.format(action)
                if not isinstance(action, Run) or rng.random() > 0.1:
                    continue
                # Carry out the run, and let the slow rules end it with the same results.
                begun = GAME.apply(state, {due[0]: action}, rng).state
                after, results = decide_face_offs(begun, due[0], rng)
                face_offs += len(results)
                expected = slow.after_run(text, iter(results))
                # Compare the runner's square, the ball's, and which pieces are newly turned over.
                piece = state.board[action.path[0]]
                dump = GAME.dump(after)
                assert dump["pieces"][piece]["square"] == expected["runner"]
                assert dump["ball"]["square"] == expected["ball"]
                assert turned_over_squares(after) - turned_over == expected["down"]
                compared += 1
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state
    assert face_offs > 20
