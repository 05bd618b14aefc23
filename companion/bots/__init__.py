"""Opponents: programs that play a seat from its view alone.

May import `core`, `games`, `vision`, `table` and `storage`. At import this package loads only the
standard library, and later the module of one game, so that an opponent's process stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
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
"""Name of the opponent's class for each game. Its module has the name of the game."""


def knows(game: str) -> bool:
    """Return whether there is an opponent for this game."""
    return game in _BOTS


def bot_for(game: str, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> Bot:
    """Return a new opponent for a seat.

    `options` are the game's, `level` is one of `LEVELS`, and `seed` is the opponent's own. Raises
    `Malformed` for a game without an opponent, for an unknown level, and for options that the game
    refuses.
    """
    from companion.bots.base import LEVELS  # noqa: PLC0415 - cheap, but not needed for `knows`
    from companion.core.errors import Malformed  # noqa: PLC0415
    from companion.games import game_named  # noqa: PLC0415

    if not knows(game):
        raise Malformed(f"There is no opponent for {game[:60]}: known are {', '.join(_BOTS)}")
    if level not in LEVELS:
        raise Malformed(f"There is no level {level}: known are {', '.join(map(str, LEVELS))}")
    game_named(game).options(options)
    kind = getattr(import_module(f"companion.bots.{game}"), _BOTS[game])
    bot: Bot = kind(seat, options, level, seed)
    return bot
