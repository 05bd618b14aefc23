"""Kahmate in random games: the slow reading of the rulings, properties of every position, actions
drawn and listed.
"""

from __future__ import annotations

from random import Random

import pytest
from kahmate_tools import GAME, SlowKahmate, set_up_state

from companion.core.kit import SEATS, Seat
from companion.games.kahmate.actions import Run
from companion.games.kahmate.state import State

# ---- the slow reading ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_slow_rules_find_the_same_legal_actions(seed: int) -> None:
    """In random positions, face-offs and turned-over pieces included; `check` says the same of each
    of them.
    """
    rng, compared = Random(seed), 0
    state = set_up_state(starter=rng.choice(("south", "north")))
    while (due := GAME.to_act(state)) and compared < 40:
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
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state


@pytest.mark.parametrize("seed", range(6))
def test_slow_rules_end_runs_the_same_way(seed: int) -> None:
    """Every run of some random positions, each face-off won or lost at random: runner, ball and who
    is turned over.
    """
    rng, compared, met = Random(seed), 0, 0
    state = set_up_state()
    while compared < 1200:
        due = sorted(GAME.to_act(state))
        if not due:
            state = set_up_state()
            continue
        if len(due) == 1:
            slow, lying = SlowKahmate(GAME.dump(state)), lying_on(state)
            for action in GAME.legal_actions(state, due[0]):
                text = GAME.format(action)
                if not isinstance(action, Run) or rng.random() > 0.1:
                    continue
                results: list[bool] = []
                after = decide_face_offs(
                    GAME.apply(state, {due[0]: action}, rng).state, due[0], rng, results
                )
                met += len(results)
                expected = slow.after_run(text, iter(results))
                piece = state.board[action.path[0]]
                plain = GAME.dump(after)
                assert plain["pieces"][piece]["square"] == expected["runner"]
                assert plain["ball"]["square"] == expected["ball"]
                assert lying_on(after) - lying == expected["down"]
                compared += 1
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state
    assert met > 20


def lying_on(state: State) -> set[str]:
    """Return the squares of the pieces that are turned over."""
    return {piece["square"] for piece in GAME.dump(state)["pieces"] if piece["rounds_down"]}


def decide_face_offs(state: State, seat: Seat, rng: Random, results: list[bool]) -> State:
    """Decide every face-off by random cards. Append to `results` whether the seat on turn won."""
    while len(GAME.to_act(state)) == 2:
        cards = {each: GAME.random_action(state, each, rng) for each in SEATS}
        step = GAME.apply(state, cards, rng)
        own, other = (
            next(t for t in step.stages[0].tallies if t.seat is each) for each in (seat, seat.other)
        )
        if own.total != other.total:
            results.append(int(own.total) > int(other.total))
        state = step.state
    return state
