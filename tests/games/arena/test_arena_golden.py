"""Tests of Robot Arena by a golden game, and by counts of positions to a depth.

The counts are made by the game and by the slow second implementation in `arena_slow.py`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from arena_slow import slow_count, slow_start
from arena_tools import GAME, NORTH, RNG, SOUTH, carry_out, start

from companion.core.kit import SEATS
from companion.games.arena.state import State

# ---- a golden game -------------------------------------------------------------------------------

GOLDEN_OPTIONS: dict[str, Any] = {
    "board": ".nN.\n..#.\n....\n.#..\n.Ss.",
    "spawn_every": 3,
    "turns": 8,
}
# Petrol's and coral's orders in each turn.
GOLDEN_GAME = [
    ("1:N", "1:S"),
    ("1:N", "1:S"),
    ("1:aW", "1:D"),
    ("1:aW 2:N", "1:aE 2:S"),
    ("1:W 2:W", "1:N 2:E"),
    ("1:X 2:N", "1:aS 2:S"),
    ("2:N 3:E", "1:W 2:S 3:E"),
    ("2:aN 3:D", "1:aS 2:W 3:-"),
]
# Sentences of the events of each turn.
GOLDEN_EVENTS = [
    ["Petrol robot 1 moves north, c1 to c2.", "Coral robot 1 moves south, b5 to b4."],
    ["Petrol robot 1 moves north, c2 to c3.", "Coral robot 1 moves south, b4 to b3."],
    [
        "Coral robot 1 takes shelter on b3.",
        "Petrol robot 2 appears on b1: put down its tag.",
        "Coral robot 2 appears on c5: put down its tag.",
        "Petrol robot 1 attacks west and hits coral robot 1 on b3: 6 points.",
    ],
    [
        "Petrol robot 2 bounces and stays on b1.",
        "Coral robot 2 bounces and stays on c5.",
        "Petrol robot 1 attacks west and hits coral robot 1 on b3: 12 points.",
        "Coral robot 1 attacks east and hits petrol robot 1 on c3: 12 points.",
    ],
    [
        "Petrol robot 1 moves west, c3 to b3.",
        "Petrol robot 2 moves west, b1 to a1.",
        "Coral robot 1 moves north, b3 to b4.",
        "Coral robot 2 moves east, c5 to d5.",
    ],
    [
        "Petrol robot 1 arms its self-destruct on b3.",
        "Petrol robot 2 moves north, a1 to a2.",
        "Coral robot 2 moves south, d5 to d4.",
        "Petrol robot 3 appears on b1: put down its tag.",
        "Coral robot 3 appears on c5: put down its tag.",
        "Coral robot 1 attacks south and hits petrol robot 1 on b3: 12 points.",
        "Petrol robot 1 blows up on b3 and hits petrol robot 2 (6) and coral robot 1 (6).",
        "Petrol robot 1 leaves the board.",
    ],
    [
        "Petrol robot 2 moves north, a2 to a3.",
        "Petrol robot 3 moves east, b1 to c1.",
        "Coral robot 1 moves west, b4 to a4.",
        "Coral robot 2 moves south, d4 to d3.",
        "Coral robot 3 moves east, c5 to d5.",
    ],
    [
        "Petrol robot 3 takes shelter on c1.",
        "Coral robot 2 moves west, d3 to c3.",
        "Petrol robot 2 attacks north and hits coral robot 1 on a4: 12 points.",
        "Coral robot 1 attacks south and hits petrol robot 2 on a3: 12 points.",
        "Coral robot 1 leaves the board.",
        "Turn 8 was the last one, 2 robots each: coral has 60 points, petrol 42.",
    ],
]


def test_golden_game() -> None:
    """Play a whole game, and compare all sentences and the end with those that were recorded."""
    state = start(**GOLDEN_OPTIONS)
    sentences = []
    for south, north in GOLDEN_GAME:
        step = carry_out(state, south, north)
        sentences.append([event.text for event in step.events])
        state = step.state
    assert sentences == GOLDEN_EVENTS
    assert GAME.dump(state) == {
        "to_act": [],
        "turn": 9,
        "turns": 8,
        "robots": {
            "south": {"2": {"square": "a3", "points": 12}, "3": {"square": "c1", "points": 30}},
            "north": {"2": {"square": "c3", "points": 30}, "3": {"square": "d5", "points": 30}},
        },
        "expected": {
            "a3": ["petrol robot 2"],
            "c1": ["petrol robot 3"],
            "c3": ["coral robot 2"],
            "d5": ["coral robot 3"],
        },
        "outcome": {"winners": ["north"], "reason": GOLDEN_EVENTS[-1][-1]},
    }


# ---- counts, by this engine and by a slow one ----------------------------------------------------

# For each case: the options, the number of turns, the number of sequences of legal orders in these
# turns, and the number of distinct positions after them.
GOLDEN_COUNTS: dict[str, tuple[dict[str, Any], int, int, int]] = {
    "one robot each, three turns": ({"board": "n..\n...\n..s"}, 3, 1212121, 278),
    "a wall, a spawning turn 2, three turns": (
        {"board": "nN\n#.\n.s", "spawn_every": 2},
        3,
        13239961,
        501,
    ),
    "two robots each, one turn": ({"board": "n.n\ns.s"}, 1, 20449, 394),
}


def count(state: State, depth: int) -> tuple[int, int]:
    """Return the number of sequences of legal orders to a depth, and of distinct positions after.

    A game that ends earlier counts as one sequence, too.
    """
    level: Counter[State] = Counter({state: 1})  # the number of ways to each position
    for _ in range(depth):
        after: Counter[State] = Counter()
        for position, ways in level.items():
            if position.outcome:
                after[position] += ways
                continue
            for south, north in itertools.product(
                *(list(GAME.legal_actions(position, seat)) for seat in SEATS)
            ):
                after[GAME.apply(position, {SOUTH: south, NORTH: north}, RNG).state] += ways
        level = after
    return level.total(), len(level)


@pytest.mark.parametrize("name", GOLDEN_COUNTS)
def test_sequences_and_positions_are_counted(name: str) -> None:
    options, depth, sequences, positions = GOLDEN_COUNTS[name]
    state = start(**options)
    assert count(state, depth) == (sequences, positions)
    assert slow_count(slow_start(options), depth) == (sequences, positions)
