"""Helpers: states of Robot Arena made by hand, turns carried out in them, and their results.

A side's orders are in the game's notation, such as `1:N 2:aE 3:D`: robot 1 moves north, robot 2
attacks to the east, and robot 3 defends itself.
"""

from __future__ import annotations

from random import Random
from typing import Any

from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.games.arena import Arena
from companion.games.arena.state import Robot, State
from companion.games.base import Event, Step

GAME = Arena()
RNG = Random(0)
SOUTH, NORTH = SEATS
# The square of each robot by its number, such as `{1: "c4"}`. A robot that is damaged has its
# square and its hit points instead: `{1: ("c4", 10)}`.
Places = dict[int, str | tuple[str, int]]


def start(**options: object) -> State:
    return GAME.setup(GAME.options(options), RNG)


def make_state(south: Places, north: Places, turn: int = 1, **options: object) -> State:
    """Make a state from the robots of both sides, at the beginning of a turn.

    Robots whose places have no hit points are not damaged.
    """
    state = start(**options)

    def side(places: Places) -> tuple[Robot, ...]:
        robots = []
        for number, place in sorted(places.items()):
            square, points = (
                place if isinstance(place, tuple) else (place, state.options.hit_points)
            )
            robots.append(Robot(number, state.terrain.squares.index(Square.parse(square)), points))
        return tuple(robots)

    return State(state.options, state.terrain, (side(south), side(north)), turn)


def carry_out(state: State, south: str, north: str) -> Step[State]:
    """Carry out a turn with the orders of both sides, which must be legal."""
    actions = {SOUTH: GAME.parse(south), NORTH: GAME.parse(north)}
    GAME.require(state, actions)
    return GAME.apply(state, actions, RNG)


def squares(step: Step[State], seat: Seat) -> dict[int, str]:
    """Return the square of each robot of a seat after a step, by its number."""
    return {number: place for number, (place, _) in robots(step, seat).items()}


def points(step: Step[State], seat: Seat) -> dict[int, int]:
    """Return the hit points of each robot of a seat after a step, by its number."""
    return {number: remaining for number, (_, remaining) in robots(step, seat).items()}


def robots(step: Step[State], seat: Seat) -> dict[int, tuple[str, int]]:
    """Return the square and the hit points of each robot of a seat after a step, by its number."""
    dumped: Any = GAME.dump(step.state)["robots"]
    return {
        int(number): (robot["square"], robot["points"]) for number, robot in dumped[seat].items()
    }


def events_of(step: Step[State], kind: str) -> list[Event]:
    return [event for event in step.events if event.kind == kind]


def winners(step: Step[State]) -> frozenset[Seat]:
    assert step.state.outcome is not None
    return step.state.outcome.winners
