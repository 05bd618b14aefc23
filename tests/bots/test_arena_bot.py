"""The opponent for Robot Arena: its lean rules beside the game's, a sure win found, nothing from
what was sealed.
"""

from __future__ import annotations

from random import Random

import pytest
from bot_tools import bot_of, states

from companion.bots.arena_rules import Field, Weights, robots_of
from companion.bots.base import LEVELS
from companion.bots.mixed_strategies import solve
from companion.core.kit import SEATS, Seat
from companion.games.arena import Arena
from companion.games.arena.board import WALLS_MAP
from companion.games.arena.orders import CODES, random_orders
from companion.games.arena.state import Robot, State

GAME = Arena()
SMALL = "nN.\n...\n.#.\n.Ss"


@pytest.mark.parametrize(
    "options", [{}, {"board": WALLS_MAP, "spawn_every": 2, "max_robots": 4}, {"board": SMALL}]
)
def test_the_lean_rules_are_those_of_the_game(options: dict[str, object]) -> None:
    for number, state in enumerate(states("arena", 150, 25, **options)):
        rng, field = Random(number), Field(state.options, Weights())
        robots = robots_of(GAME.view(state, None), field.terrain)
        orders = [random_orders(state.numbers(side), rng) for side in (0, 1)]
        codes = [
            CODES.index(dict(orders[side].given).get(robot, "-"))
            for side, robot in zip(robots.sides, robots.numbers, strict=True)
        ]
        lean = field.play(robots, codes)
        after = GAME.apply(state, dict(zip(SEATS, orders, strict=True)), rng).state
        whole = [(side, *robot) for side in (0, 1) for robot in after.robots[side]]
        assert list(zip(lean.sides, lean.numbers, lean.places, lean.points, strict=True)) == whole
        if after.outcome:
            sign = sum(1 if seat is Seat.SOUTH else -1 for seat in after.outcome.winners)
            assert round(field.value(lean) / 10_000) == sign


def test_mixed_strategies_of_scissors_paper_stone() -> None:
    mine, theirs = solve([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], 240)
    assert mine == pytest.approx([1 / 3] * 3, abs=0.03)
    assert theirs == pytest.approx([1 / 3] * 3, abs=0.03)


@pytest.mark.parametrize("level", LEVELS)
def test_it_takes_a_win_that_needs_all_its_robots(level: int) -> None:
    """Whatever the other side's last robot does: its neighbours strike at all squares to which it
    may go.
    """
    board = "n..\n...\ns.."
    options = GAME.options({"board": board, "spawn_every": 0})
    start = GAME.setup(options, Random(0))
    mine = tuple(Robot(number, place, 30) for number, place in enumerate((3, 2, 6), 1))
    state = State(options, start.terrain, (mine, (Robot(1, 1, 6),)), 11)
    bot = bot_of("arena", Seat.SOUTH, level, board=board, spawn_every=0)
    action = GAME.parse(bot.choose(GAME.view(state, Seat.SOUTH)).action)
    for code in CODES:
        orders = {Seat.SOUTH: action, Seat.NORTH: GAME.parse(f"1:{code}")}
        outcome = GAME.apply(state, orders, Random(0)).state.outcome
        assert outcome is not None
        assert outcome.winners == {Seat.SOUTH}
