"""Bots, which play a seat and know only that seat's view, and the machine players that use them.

- A *bot* chooses the actions of one seat. Each game has one, a subclass of `Bot`. On pages and in
  docs/ it is called an opponent.
- A *bot process* (`bot_process`) runs a bot outside the service. The program in it is either our
  own (`bot_engine`) or an *engine* of the settings, which speaks the same protocol.
- A *character* (`characters`) is the name and strength under which players choose a bot.
- A *machine player* (`machine_players`) plays a free seat under the name of a character. It asks a
  bot process for each action. The `coach` asks one for advice to a person.

May import `core`, `games`, `vision`, `table` and `storage`. Importing this package loads only the
standard library. `bot_for` then loads the module of one game, so that the process of a bot
stays small.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from companion.bots.base import Bot
    from companion.core.kit import Seat

# Name of the subclass of `Bot` for each game. Its module in this package has the game's name.
_CLASS_NAMES = {
    "outbuffered": "OutbufferedBot",
    "scouts": "ScoutsBot",
    "arena": "ArenaBot",
    "kahmate": "KahmateBot",
    "binmat": "BinmatBot",
}


def has_bot(game: str) -> bool:
    """Return whether there is a bot for this game."""
    return game in _CLASS_NAMES


def bot_for(game: str, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> Bot:
    """Return a new bot for a seat.

    Raises `Malformed` for a game without a bot, for an unknown level, and for options that
    the game refuses.

    :param options: options of the game
    :param level: one of `LEVELS`
    :param seed: seed of all random choices of this bot
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
