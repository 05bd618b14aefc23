"""The player that leaves everything to chance, and the beginner that leaves a third of it to it."""

from __future__ import annotations

from random import Random
from typing import Any

from companion.core.kit import Seat
from companion.games.base import Game

OVERLOOKED = 1 / 3


def random_player(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Any legal action."""
    return game.format(game.random_action(state, seat, rng))
