"""The opponent for Robot Arena: its lean rules beside the game's, a sure win found, nothing from what was sealed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
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


def wins_surely(state: State, seat: Seat, action: str) -> bool:
    """Does this win whatever the other side orders?"""
    theirs = state.robots[1 - SEATS.index(seat)]
    for codes in product(CODES, repeat=len(theirs)):
        reply = " ".join(
            f"{robot.number}:{code}" for robot, code in zip(theirs, codes, strict=True)
        )
        orders = {seat: GAME.parse(action), seat.other: GAME.parse(reply)}
        outcome = GAME.apply(state, orders, Random(0)).state.outcome
        if outcome is None or outcome.winners != {seat}:
            return False
    return True


def weak_ends(count: int) -> Iterator[State]:
    """Positions in which South can win at once: all orders of two or three robots were tried until one does."""
    board = "n..\n...\ns.."
    options = GAME.options({"board": board, "spawn_every": 0})
    start, rng = GAME.setup(options, Random(0)), Random(5)
    while count:
        places = rng.sample(range(9), 4)
        mine = tuple(Robot(number, place, 30) for number, place in enumerate(places[:3], 1))
        state = State(
            options,
            start.terrain,
            (mine, (Robot(1, places[3], rng.choice((3, 6, 12))),)),
            rng.randrange(1, 29),
        )
        orders = (
            " ".join(f"{1 + i}:{code}" for i, code in enumerate(codes))
            for codes in product(CODES, repeat=3)
        )
        if any(wins_surely(state, Seat.SOUTH, text) for text in orders):
            count -= 1
            yield state


@pytest.mark.parametrize("level", LEVELS)
def test_it_takes_every_win_in_one(level: int) -> None:
    """Whatever the other side orders; also where robots have to strike at all squares to which it may go."""
    for number, state in enumerate(weak_ends(8)):
        bot = bot_of("arena", Seat.SOUTH, level, number, board=state.options.board, spawn_every=0)
        action = bot.choose(GAME.view(state, Seat.SOUTH)).action
        assert wins_surely(state, Seat.SOUTH, action), (state.robots, action)


def test_mixed_strategies_of_scissors_paper_stone() -> None:
    mine, theirs = solve([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], 240)
    assert mine == pytest.approx([1 / 3] * 3, abs=0.03)
    assert theirs == pytest.approx([1 / 3] * 3, abs=0.03)
