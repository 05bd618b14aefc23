"""Tests of Robot Arena's rules, on states of the game without a table.

They follow the worked examples and the sentences of the rulebook and of the rulings. `make_state`
takes the squares of petrol's robots (South) and of coral's (North) by their numbers. `carry_out`
takes the orders of both sides. `1:N` moves robot 1 north, `1:aN` attacks north, `1:D` defends,
`1:X` is a self-destruct, and `1:-` does nothing.
"""

from __future__ import annotations

import pytest
from arena_tools import (
    GAME,
    NORTH,
    SOUTH,
    Places,
    carry_out,
    events_of,
    make_state,
    points,
    squares,
    start,
    winners,
)
from step_tools import stage_titles

from companion.core.kit import Seat
from companion.games.arena.board import WALLS_MAP

# ---- the worked examples -------------------------------------------------------------------------


def test_worked_example_a_failure_makes_others_fail() -> None:
    # Coral's robot stays on b4, so petrol's robot 2 fails to enter it, and robot 1 fails behind it.
    step = carry_out(make_state({1: "b2", 2: "b3"}, {1: "b4"}), "1:N 2:N", "1:D")
    assert squares(step, SOUTH) == {1: "b2", 2: "b3"}
    bounces = events_of(step, "bounce")
    assert [event.text for event in bounces] == [
        "Petrol robot 1 bounces and stays on b2.",
        "Petrol robot 2 bounces and stays on b3.",
    ]
    assert [event.why for event in bounces] == [
        "Petrol robot 2 does not leave b3.",
        "Coral robot 1 does not leave b4.",
    ]
    assert [(event.square, event.edge) for event in bounces] == [
        ("b2", (0, 1)),
        ("b3", (0, 1)),
    ]


def test_worked_example_a_shield_halves_all_damage() -> None:
    step = carry_out(make_state({1: "e5", 2: "d5"}, {1: "f5", 2: "e6"}), "1:D 2:aE", "1:aW 2:X")
    # Petrol's robot 1 loses 12 / 2 by the attack, 8 / 2 by its own side, 6 / 2 by the
    # self-destruct. Robot 2 stands beside the self-destruct as well, but does not defend.
    assert points(step, SOUTH) == {1: 30 - 6 - 4 - 3, 2: 30 - 6}
    assert points(step, NORTH) == {1: 30 - 6}


# ---- the rulebook: order and precedence ----------------------------------------------------------


def test_parts_of_a_turn_follow_the_rulebook() -> None:
    # Each part of the turn has something to do. New robots appear because it is turn 5.
    state = make_state({1: "a1", 2: "c3", 3: "e5"}, {1: "i9", 2: "e6"}, turn=5)
    step = carry_out(state, "1:N 2:D 3:aN", "1:X 2:-")
    expected = ["Defend", "Armed", "Moves", "Spawn", "Attacks", "Self-destruct", "End of the turn"]
    assert stage_titles(step) == expected
    assert [stage.events[0].kind for stage in step.stages] == [
        "defend",
        "armed",
        "move",
        "spawn",
        "shot",
        "blast",
        "leave",
    ]
    assert all(len(stage.title) <= 24 and stage.orders == {} for stage in step.stages)
    assert step.stages[-1].events[0].why == "It has blown itself up."


def test_an_empty_turn_has_one_stage() -> None:
    step = carry_out(start(), "1:-", "3:-")
    assert stage_titles(step) == ["End of the turn"]
    assert [event.text for event in step.events] == ["No robot does anything."]
    assert step.stages[0].expected == GAME.expected(step.state)


# ---- what happens to one robot -------------------------------------------------------------------

# Robots of a side: one that is far from all others, seven in a row, and two side by side.
FAR: Places = {1: "i9"}
SEVEN: Places = {number: f"{'abdefhi'[number - 1]}3" for number in range(1, 8)}
FRIENDS: Places = {1: "e5", 2: "e6"}
# Each case: the robots of South and North, the turn, the orders of both, the kind of an event, and
# why it happens.
EVENTS: list[tuple[Places, Places, int, tuple[str, str], str, str]] = [
    ({1: "a1"}, FAR, 1, ("1:S", "1:-"), "bounce", "South leads off the board."),
    ({1: "c6"}, FAR, 1, ("1:N", "1:-"), "bounce", "North leads into the wall on c7."),
    ({1: "c3"}, {1: "c4"}, 1, ("1:N", "1:-"), "bounce", "Coral robot 1 does not leave c4."),
    (
        {1: "e4", 2: "a1"},
        {1: "e6"},
        1,
        ("1:N", "1:S"),
        "bounce",
        "Petrol robot 1 and coral robot 1 try to enter e5.",
    ),
    (
        {1: "e4", 2: "e6"},
        {1: "f5"},
        1,
        ("1:N 2:S", "1:W"),
        "bounce",
        "Petrol robot 1, petrol robot 2 and coral robot 1 try to enter e5.",
    ),
    (FRIENDS, FAR, 1, ("1:aN", "1:-"), "shot", "It is on its own side."),
    ({1: "e5"}, FAR, 1, ("1:aN", "1:-"), "miss", "Nothing stands on e6."),
    ({1: "c6"}, FAR, 1, ("1:aN", "1:-"), "miss", "North leads into the wall on c7."),
    ({1: "c1"}, FAR, 5, ("1:-", "1:-"), "no_spawn", "Petrol robot 1 stands there."),
    ({1: "a1"}, {1: "c1"}, 5, ("1:-", "1:-"), "no_spawn", "Coral robot 1 stands there."),
    # Armed robots still count: new ones appear before these blow up.
    (SEVEN, FAR, 5, ("1:X", "1:-"), "no_spawn", "Petrol has 8 robots, as many as a side may have."),
]


@pytest.mark.parametrize(("south", "north", "turn", "orders", "kind", "why"), EVENTS)
def test_an_event_says_why_it_happens(
    south: Places, north: Places, turn: int, orders: tuple[str, str], kind: str, why: str
) -> None:
    step = carry_out(make_state(south, north, turn=turn, board=WALLS_MAP), *orders)
    assert events_of(step, kind)[0].why == why


def test_friendly_fire_hurts_less_and_shields_halve_it() -> None:
    state = make_state(FRIENDS, FAR)
    step = carry_out(state, "1:aN", "1:-")
    assert points(step, SOUTH) == {1: 30, 2: 22}
    sentence = "Petrol robot 1 attacks north and hits petrol robot 2 on e6: 8 points."
    assert events_of(step, "shot")[0].text == sentence
    assert points(carry_out(state, "1:aN 2:D", "1:-"), SOUTH) == {1: 30, 2: 26}


# ---- the rulings: leaving and the end ------------------------------------------------------------


def test_sides_without_robots_lose_before_a_spawn() -> None:
    # Coral's only robot has 5 points left and is hit. New robots would appear in the next turn.
    step = carry_out(make_state({1: "c3"}, {1: ("c4", 5)}, turn=4), "1:aN", "1:-")
    assert winners(step) == {SOUTH}
    assert step.state.outcome is not None
    assert step.state.outcome.reason == "Coral has no robot left."
    assert GAME.how_it_ended(step.state) == "Coral has no robots."
    assert step.events[-1].kind == "won"
    assert GAME.to_act(step.state) == frozenset()
    assert list(GAME.legal_actions(step.state, SOUTH)) == []


@pytest.mark.parametrize(
    ("south", "north", "expected_winners", "reason"),
    [
        (
            {1: ("a1", 1), 2: ("b1", 1)},
            {1: "i9"},
            {SOUTH},
            "Turn 30 was the last one: petrol has 2 robots, coral 1.",
        ),
        (
            {1: ("a1", 9)},
            {3: "i9"},
            {NORTH},
            "Turn 30 was the last one, 1 robot each: coral has 30 points, petrol 9.",
        ),
        (
            {1: "a1"},
            {3: "i9"},
            set(),
            "Turn 30 was the last one: 1 robot and 30 points each, a draw.",
        ),
    ],
)
def test_after_the_last_turn_robots_count_then_points(
    south: Places, north: Places, expected_winners: set[Seat], reason: str
) -> None:
    # Nothing happens in the last turn. North gives its only robot, 1 or 3, an order to do nothing.
    (north_robot,) = north
    step = carry_out(make_state(south, north, turn=30, spawn_every=0), "1:-", f"{north_robot}:-")
    assert winners(step) == expected_winners
    assert step.events[-1].text == reason
    assert stage_titles(step)[-1] == "End of the turn"
