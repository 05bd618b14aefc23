"""Tests of the bot for Outbuffered, in this process.

Its rules are the game's, it misses no win, and it finds equilibria.
"""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import numpy as np
import pytest
from bot_tools import consecutive_states

from companion.bots.base import LEVELS
from companion.bots.outbuffered import OutbufferedBot
from companion.bots.outbuffered.turn_game import find_equilibrium
from companion.bots.outbuffered.turns import (
    DRAWN,
    LOST,
    WON,
    TransitionModel,
)
from companion.core.kit import SEATS, Seat
from companion.games import game_named
from companion.games.outbuffered.board import BUFFERS, STANDARD_MAP, WALLS_MAP
from companion.games.outbuffered.turn import OutbufferedOptions

GAME = game_named("outbuffered")
BOARDS = [STANDARD_MAP, WALLS_MAP, "..N\ns.n\nS..", ".Nn\nsS.", "n.N\n.#.\nS.s"]


def test_its_rules_are_those_of_the_game() -> None:
    """On each board with each combination of house rules, some positions are compared.

    They are every third of the first ten positions of random games. In each, five random pairs of
    actions must lead to the same position by the bot's rules as by the game's.
    """
    rng = Random(11)
    for board, blocks, directions in itertools.product(BOARDS, (False, True), ("seat", "board")):
        options = {"board": board, "own_flag_blocks_base": blocks, "directions": directions}
        model = TransitionModel(OutbufferedOptions(**options))
        states = consecutive_states(
            "outbuffered", count=10, seed=rng.getrandbits(30), options=options
        )
        for state in itertools.islice(states, 0, None, 3):
            successors, table = model.turn_successors(model.position(GAME.view(state, None)))
            for _ in range(5):
                actions = {seat: GAME.random_action(state, seat, rng) for seat in SEATS}
                after = GAME.apply(state, actions, rng).state
                south = BUFFERS.index(actions[Seat.SOUTH])
                north = BUFFERS.index(actions[Seat.NORTH])
                position, is_eventful = successors[table[south, north]]
                if not after.outcome:
                    expected = model.position(GAME.view(after, None))
                elif not after.outcome.winners:
                    expected = DRAWN
                else:
                    expected = WON if Seat.SOUTH in after.outcome.winners else LOST
                assert position == expected
                assert is_eventful == (after.last_eventful_turn == state.turn)


def view_before_win(seat: Seat) -> dict[str, Any]:
    """Return a view in which a seat is one step from home with the flag, and cannot be stopped.

    That step is down (D), as the seat itself sees it.
    """
    view = dict(GAME.view(GAME.setup(GAME.options({}), Random(0)), seat))
    robots = {"south": "a1", "north": "b3"}
    if seat is Seat.SOUTH:
        robots = {"south": "b2", "north": "c4"}
    return {**view, "robots": robots, "flags": {**view["flags"], seat.other: {"carried_by": seat}}}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seat", SEATS)
def test_it_never_misses_a_win_in_one_turn(seat: Seat, level: int) -> None:
    for seed in range(5):
        choice = OutbufferedBot(seat, {}, level, seed).choose(view_before_win(seat))
        assert choice.action[0] == "D"
        assert choice.why == ("This wins whatever the other side does.",)


def test_equilibrium_of_scissors_paper_stone() -> None:
    """Rows and columns are scissors, paper and stone. Stone's win over scissors counts twice.

    So paper is played in half of the games. If the other side is thought to play scissors, stone is
    better, but no longer safe: the other side could play paper.
    """
    payoff = np.array([[0, 1, -2], [-1, 0, 1], [2, -1, 0]], np.float32) / 2
    strategy, _, value = find_equilibrium(payoff)
    assert strategy == pytest.approx([0.25, 0.5, 0.25], abs=0.02)
    assert value == pytest.approx(0, abs=0.02)
    strategy, _, value = find_equilibrium(payoff, guess=np.array([1, 0, 0], np.float32), trust=0.9)
    assert strategy[2] > 0.9
    assert value < -0.3
