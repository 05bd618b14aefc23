"""Tests of Scouts in random games, on states without a table.

The slow second implementation of `scouts_tools.py` must agree, and `check` must allow exactly the
actions that are listed as legal.
"""

from __future__ import annotations

from random import Random

import pytest
from scouts_tools import GAME, SlowScouts, legal_texts, start, state_after

from companion.core.errors import Illegal
from companion.games.base import plain_layout
from companion.games.scouts.board import SQUARE_NAMES
from companion.games.scouts.state import State


def rock_text(name: str, direction: tuple[int, int]) -> str:
    """Return the notation of a rock on a square and the next one in a direction.

    A rock that would leave the board is moved back by one square.
    """
    file = "abcdefgh".index(name[0])
    rank = int(name[1:])
    to_file = min(file + direction[0], 7)
    to_rank = min(rank + direction[1], 10)
    file = to_file - direction[0]
    rank = to_rank - direction[1]
    return f"R@{'abcdefgh'[file]}{rank}-{'abcdefgh'[to_file]}{to_rank}"


def random_game(seed: int, max_states: int, stacking: bool = True) -> list[State]:
    """Return the states of a random game, from its start."""
    rng = Random(seed)
    states = [start(stacking="on" if stacking else "off")]
    while len(states) < max_states and not states[-1].outcome:
        text = str(GAME.random_action(states[-1], states[-1].seat, rng))
        states.append(state_after(states[-1], text))
    return states


def is_legal(state: State, text: str) -> bool:
    try:
        GAME.check(state, state.seat, GAME.parse(text))
    except Illegal:
        return False
    return True


def by_file_and_rank(layout: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the layout with its squares in the order a1, a2 … h10."""
    return dict(sorted(layout.items(), key=lambda item: (item[0][0], int(item[0][1:]))))


@pytest.mark.parametrize("stacking", [True, False])
def test_random_games_agree_with_the_slow_rules(stacking: bool) -> None:
    for seed in range(12):
        rng = Random(seed)
        slow = SlowScouts(stacking)
        state = start(stacking="on" if stacking else "off")
        for _ in range(170):
            # Both list the same actions, until both say that the game is over.
            texts = legal_texts(state)
            assert texts == slow.legal()
            if not texts:
                break
            # After a random action both have the same board.
            text = str(GAME.random_action(state, state.seat, rng))
            state = state_after(state, text)
            slow.do(text)
            assert plain_layout(GAME.expected(state)) == by_file_and_rank(slow.layout())
            assert (state.outcome is not None) == (slow.winner is not None)


@pytest.mark.parametrize("seed", range(4))
def test_short_texts_are_legal_exactly_when_listed(seed: int) -> None:
    """Try every text of a dash, a single jump, a placement, a boulder or a rock, but no chains of
    jumps, in every 29th position of a random game.
    """
    # Placements `@c1` and boulders `B@c1`, then dashes `c1-c2` and jumps `c1^c3`, then rocks.
    texts = [".", *(f"{kind}@{name}" for kind in ("", "B") for name in SQUARE_NAMES)]
    texts += [
        f"{origin}{sign}{target}"
        for sign in "-^"
        for origin in SQUARE_NAMES
        for target in SQUARE_NAMES
    ]
    texts += {rock_text(name, direction) for name in SQUARE_NAMES for direction in ((1, 0), (0, 1))}
    # Games of even seeds have stacks. The first positions still belong to the set-up.
    for state in random_game(seed, 90, stacking=seed % 2 == 0)[5 + seed :: 29]:
        allowed = legal_texts(state)
        assert {text for text in texts if is_legal(state, text)} == {
            text for text in allowed if text.count("^") < 2
        }
