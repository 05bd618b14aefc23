"""Helpers: rivals that the opponents play against, one for each game that plays by rule of thumb.

Most of them look one turn ahead. A rival gets the whole state of a game, but uses nothing that its
seat does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from bench.bots.rivals.arena import greedy_arena
from bench.bots.rivals.binmat import greedy_binmat
from bench.bots.rivals.kahmate import greedy_kahmate
from bench.bots.rivals.outbuffered import greedy_outbuffered
from bench.bots.rivals.scouts import greedy_scouts
from companion.core.kit import Seat
from companion.games.base import Game

# Share of the decisions in which a simulated beginner overlooks everything and acts at random.
OVERLOOKED_SHARE = 1 / 3
# A function that chooses a legal action for a seat, from the game, its state, the seat and random
# numbers. It returns the action in notation.
Rival = Callable[[Game[Any, Any], Any, Seat, Random], str]

# The player by rule of thumb of each game, by the game's name.
GREEDY: Mapping[str, Rival] = {
    "outbuffered": greedy_outbuffered,
    "scouts": greedy_scouts,
    "arena": greedy_arena,
    "kahmate": greedy_kahmate,
    "binmat": greedy_binmat,
}


def rival_of(name: str, game: str) -> Rival:
    """Return the rival of this name for a game: `random`, `beginner`, or `greedy`."""
    return {"random": random_player, "beginner": beginner}.get(name) or GREEDY[game]


def random_player(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Return a random legal action."""
    return game.format(game.random_action(state, seat, rng))


def beginner(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Play like a person in the first games: mostly by rule of thumb, and sometimes at random."""
    is_careless = rng.random() < OVERLOOKED_SHARE
    player = random_player if is_careless else GREEDY[game.name]
    return player(game, state, seat, rng)
