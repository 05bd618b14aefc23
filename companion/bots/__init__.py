"""Opponents: programs that play a seat from its own view.

May import `core`, `games`, `vision`, `table` and `storage`. Nothing but the standard library and
the asked game's module is brought in by it, so that an opponent's process stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from companion.bots.base import Bot
    from companion.core.kit import Seat

_BOTS = {
    "outbuffered": "OutbufferedBot",
    "scouts": "ScoutsBot",
    "arena": "ArenaBot",
    "kahmate": "KahmateBot",
    "binmat": "BinmatBot",
}
"""The class of each game's opponent. Its module has the game's name."""


def knows(game: str) -> bool:
    """Return whether there is an opponent for this game."""
    return game in _BOTS and find_spec(f"companion.bots.{game}") is not None


def bot_for(game: str, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> Bot:
    """Return a new opponent for a game, a seat, the game's options, one of the levels, and a seed
    of its own.

    Raises `Malformed` for a game without opponents, and for options that the game does not take.
    """
    from companion.bots.base import LEVELS  # noqa: PLC0415 - cheap, but not needed by who only asks `knows`
    from companion.core.errors import Malformed  # noqa: PLC0415
    from companion.games import game_named  # noqa: PLC0415

    if not knows(game):
        names = ", ".join(name for name in _BOTS if knows(name))
        raise Malformed(f"There is no opponent for {game[:60]}: known are {names}")
    if level not in LEVELS:
        raise Malformed(f"There is no level {level}: known are {', '.join(map(str, LEVELS))}")
    game_named(game).options(options)
    bot: Bot = getattr(import_module(f"companion.bots.{game}"), _BOTS[game])(
        seat, options, level, seed
    )
    return bot
