"""Helpers: rivals for the opponents, for each game one that plays by rule of thumb.

Most look one turn ahead. They are given the whole state of a game, but use nothing that their seat
does not know.
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

# Share of the decisions in which a simulated beginner acts at random.
OVERLOOKED_SHARE = 1 / 3
# Returns the notation of a legal action for the seat.
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
    """Return a rival by its name, for a game."""
    return {"random": random_player, "beginner": beginner}.get(name) or GREEDY[game]


def random_player(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Return a random legal action."""
    return game.format(game.random_action(state, seat, rng))


def beginner(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Play like a person in the first games: by rule of thumb, or at random."""
    is_careless = rng.random() < OVERLOOKED_SHARE
    return (
        random_player(game, state, seat, rng)
        if is_careless
        else GREEDY[game.name](game, state, seat, rng)
    )
