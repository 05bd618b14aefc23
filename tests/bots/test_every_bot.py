"""Tests of what holds for every opponent at every level, in this process.

Its actions are legal, its reasons can be shown, and the same seed plays the same game.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

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

ARENA_SMALL = "nN.\n...\n.#.\n.Ss"
ALL_LEVELS = frozenset(LEVELS)
# Each case: the game, its options, the levels to try, the number of positions, and the largest
# number of random decisions before a position.
POSITION_CASES: tuple[tuple[str, dict[str, Any], frozenset[int], int, int], ...] = (
    ("outbuffered", {}, ALL_LEVELS, 5, 30),
    ("outbuffered", {"quiet_limit": 5}, ALL_LEVELS, 4, 20),
    (
        "outbuffered",
        {"board": WALLS_MAP, "own_flag_blocks_base": True, "directions": "board"},
        ALL_LEVELS,
        4,
        30,
    ),
    ("outbuffered", {"board": ".Nn\nsS."}, ALL_LEVELS, 4, 10),
    ("scouts", {"stacking": "on"}, frozenset({1, 3}), 30, 150),
    ("scouts", {"stacking": "off"}, frozenset({2}), 30, 150),
    ("arena", {"board": ARENA_SMALL, "spawn_every": 0, "attack": 0}, frozenset({1}), 30, 30),
    ("arena", {"board": ARENA_WALLS, "blast": 50}, frozenset({2}), 30, 30),
    ("arena", {}, frozenset({3}), 30, 30),
    ("kahmate", {}, ALL_LEVELS, 8, 60),
    ("kahmate", {"round_limit": 20}, ALL_LEVELS, 4, 60),
    ("kahmate", {"quiet_limit": 6}, ALL_LEVELS, 4, 40),
    ("binmat", {"edition": "hackmud"}, frozenset({1, 3}), 30, 100),
    ("binmat", {"edition": "rulebook"}, frozenset({2}), 30, 100),
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
    ("name", "options", "level", "count", "max_decisions"),
    [
        (name, options, level, *counts)
        for name, options, levels, *counts in POSITION_CASES
        for level in sorted(levels)
    ],
)
def test_it_chooses_legal_actions(
    name: str,
    options: Mapping[str, Any],
    level: int,
    count: int,
    max_decisions: int,
    narrow_search: None,
) -> None:
    game = GAMES[name]
    for number, state in enumerate(positions(name, count, max_decisions, json.dumps(options))):
        due = sorted(game.to_act(state), key=SEATS.index)
        seat = due[number % len(due)]
        choice = bot_of(name, seat, level, number, **options).choose(game.view(state, seat))
        assert is_legal(name, state, seat, choice.action)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", GAMES)
def test_its_reasons_are_translated_lines(name: str, level: int, narrow_search: None) -> None:
    """Every reason is short enough for the protocol and has a translation in every language.

    Some reasons compare: they say what the opponent expects, or which action is next best.
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
    ("name", "levels", "max_decisions", "options"),
    [
        ("outbuffered", (3, 2), 4, {}),
        ("scouts", (2, 1), 40, {}),
        ("arena", (2, 1), 6, {}),
        ("kahmate", (2, 1), 16, {}),
        ("binmat", (2, 2), 6, {}),
    ],
)
def test_the_same_seed_plays_the_same_game(
    name: str, levels: tuple[int, int], max_decisions: int, options: Mapping[str, Any]
) -> None:
    first = play_bots(name, levels, seed=5, max_decisions=max_decisions, **options)
    assert first == play_bots(name, levels, seed=5, max_decisions=max_decisions, **options)
    assert any(
        play_bots(name, levels, seed, max_decisions, **options) != first for seed in (6, 7, 8)
    )
