"""The player that leaves everything to chance."""

from __future__ import annotations

from random import Random
from typing import Any

from companion.core.kit import Seat
from companion.games.base import Game


def random_player(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Any legal action."""
    return game.format(game.random_action(state, seat, rng))
