"""Opponents: programs that play a seat and know only that seat's view.

The opponent of a game is a `Bot`. On a table each one runs in a separate process (`bot_process`),
which `machine_players` asks for a seat's actions and `coach` for advice.

May import `core`, `games`, `vision`, `table` and `storage`. Importing this package loads only the
standard library. `bot_for` then loads the module of one game, so that the process of an opponent
stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from companion.bots.base import Bot
    from companion.core.kit import Seat

# Name of the opponent's class for each game. Its module in this package has the game's name.
_CLASS_NAMES = {
    "outbuffered": "OutbufferedBot",
    "scouts": "ScoutsBot",
    "arena": "ArenaBot",
    "kahmate": "KahmateBot",
    "binmat": "BinmatBot",
}


def has_bot(game: str) -> bool:
    """Return whether there is an opponent for this game."""
    return game in _CLASS_NAMES


def bot_for(game: str, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> Bot:
    """Return a new opponent for a seat.

    Raises `Malformed` for a game without an opponent, for an unknown level, and for options that
    the game refuses.

    :param options: options of the game
    :param level: one of `LEVELS`
    :param seed: seed of all random choices of this opponent
    """
    from companion.bots.base import LEVELS  # noqa: PLC0415 - imported late: it needs `core`
    from companion.core.errors import Malformed  # noqa: PLC0415
    from companion.games import game_named  # noqa: PLC0415

    if not has_bot(game):
        raise Malformed(
            f"There is no opponent for {game[:60]}: known are {', '.join(_CLASS_NAMES)}"
        )
    if level not in LEVELS:
        raise Malformed(f"There is no level {level}: known are {', '.join(map(str, LEVELS))}")
    game_named(game).options(options)
    bot_class = getattr(import_module(f"companion.bots.{game}"), _CLASS_NAMES[game])
    bot: Bot = bot_class(seat, options, level, seed)
    return bot
