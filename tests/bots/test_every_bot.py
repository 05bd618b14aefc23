"""Tests of what holds for every bot at every level, in this process.

Its actions are legal, its reasons can be shown, and the same seed plays the same game.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

import pytest
from bot_tools import bot_of, is_legal, play_bots, random_states

from companion.bots import binmat, scouts
from companion.bots.base import LEVELS
from companion.bots.kahmate import search
from companion.core.i18n import LANGUAGES, translate
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.games.arena.board import WALLS_MAP as ARENA_WALLS
from companion.games.outbuffered.board import WALLS_MAP

# A board of four ranks of three squares. # is a wall, small letters are starts, and capital letters
# are spawn points.
ARENA_SMALL = "nN.\n...\n.#.\n.Ss"


class PositionCase(NamedTuple):
    """Random positions of a game, in which its bot has to choose."""

    game: str
    options: dict[str, Any]
    levels: tuple[int, ...]
    """Levels of the bot that are tried."""
    count: int
    """Number of positions."""
    max_decisions: int
    """Largest number of random decisions before a position."""


POSITION_CASES = (
    PositionCase("outbuffered", {}, LEVELS, count=5, max_decisions=30),
    PositionCase("outbuffered", {"quiet_limit": 5}, LEVELS, count=4, max_decisions=20),
    PositionCase(
        "outbuffered",
        {"board": WALLS_MAP, "own_flag_blocks_base": True, "directions": "board"},
        LEVELS,
        count=4,
        max_decisions=30,
    ),
    PositionCase("outbuffered", {"board": ".Nn\nsS."}, LEVELS, count=4, max_decisions=10),
    PositionCase("scouts", {"stacking": "on"}, (1, 3), count=30, max_decisions=150),
    PositionCase("scouts", {"stacking": "off"}, (2,), count=30, max_decisions=150),
    PositionCase(
        "arena",
        {"board": ARENA_SMALL, "spawn_every": 0, "attack": 0},
        (1,),
        count=30,
        max_decisions=30,
    ),
    PositionCase("arena", {"board": ARENA_WALLS, "blast": 50}, (2,), count=30, max_decisions=30),
    PositionCase("arena", {}, (3,), count=30, max_decisions=30),
    PositionCase("kahmate", {}, LEVELS, count=8, max_decisions=60),
    PositionCase("kahmate", {"round_limit": 20}, LEVELS, count=4, max_decisions=60),
    PositionCase("kahmate", {"quiet_limit": 6}, LEVELS, count=4, max_decisions=40),
    PositionCase("binmat", {"edition": "hackmud"}, (1, 3), count=30, max_decisions=100),
    PositionCase("binmat", {"edition": "rulebook"}, (2,), count=30, max_decisions=100),
)


@cache
def positions(name: str, count: int, max_decisions: int, options: str) -> tuple[Any, ...]:
    """Return the positions of a case, which all levels share. `options` are JSON."""
    return tuple(random_states(name, count, max_decisions, **json.loads(options)))


@pytest.fixture
def narrow_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let level 3 search less, to save time. Whether actions are legal does not depend on that."""
    for strengths, narrow in (
        (scouts.PARAMETERS_BY_LEVEL, {"widths": ((8,), (3, 2), (2, 2, 2))}),
        (binmat.PARAMETERS_BY_LEVEL, {"deals": (1, 1, 1)}),
        (search.PARAMETERS_BY_LEVEL, {"beam_width": 3, "reply_count": 3}),
    ):
        monkeypatch.setitem(strengths, 3, strengths[3]._replace(**narrow))


@pytest.mark.parametrize(
    ("case", "level"),
    [(case, level) for case in POSITION_CASES for level in case.levels],
)
def test_it_chooses_legal_actions(case: PositionCase, level: int, narrow_search: None) -> None:
    game = GAMES[case.game]
    states = positions(case.game, case.count, case.max_decisions, json.dumps(case.options))
    for number, state in enumerate(states):
        # each seat in turn, where both have to act
        due = sorted(game.to_act(state), key=SEATS.index)
        seat = due[number % len(due)]
        bot = bot_of(case.game, seat, level, seed=number, **case.options)
        choice = bot.choose(game.view(state, seat))
        assert is_legal(case.game, state, seat, choice.action)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", GAMES)
def test_its_reasons_are_translated_lines(name: str, level: int, narrow_search: None) -> None:
    """Every reason is short enough for the protocol and has a translation in every language.

    Some reasons compare: they say what the bot expects, or which action is next best.
    """
    game = GAMES[name]
    reasons: list[str] = []
    for number, state in enumerate(positions(name, 6, 60, "{}")):
        seat = min(game.to_act(state), key=SEATS.index)
        why = bot_of(name, seat, level, number).choose(game.view(state, seat)).why
        for line in why:
            assert len(line) <= 400
            for language in set(LANGUAGES) - {"en"}:
                assert line != translate(line, language)
        reasons += why
    comparing = [
        line
        for line in reasons
        if line.startswith(("Expected", "I thought you would", "Next best", "Just as good"))
    ]
    # BINMAT's lowest level compares nothing
    assert comparing or (name, level) == ("binmat", 1)


@pytest.mark.parametrize(
    ("name", "levels", "max_decisions"),
    [
        ("outbuffered", (3, 2), 4),
        ("scouts", (2, 1), 40),
        ("arena", (2, 1), 6),
        ("kahmate", (2, 1), 16),
        ("binmat", (2, 2), 6),
    ],
)
def test_the_same_seed_plays_the_same_game(
    name: str, levels: tuple[int, int], max_decisions: int
) -> None:
    first = play_bots(name, levels, seed=5, max_decisions=max_decisions)
    assert first == play_bots(name, levels, seed=5, max_decisions=max_decisions)
    # another seed plays another game, but one of the three may happen to be the same
    assert any(play_bots(name, levels, seed, max_decisions) != first for seed in (6, 7, 8))
