"""Log lines about games: when one begins, goes on after a restart, and ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from companion.core.log_fields import log_fields
from companion.table.listeners import TableListener

if TYPE_CHECKING:
    from companion.table.table import Table

log = logging.getLogger(__name__)


class GameLog:
    """Logs the name of a game and its number of turns, but no names of people and no orders.

    It lives as long as its table, which calls it in the thread that has changed the game.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        # Id and name of the game that is on. 0 and empty between games.
        self._game_id = 0
        self._game_name = ""
        self._is_connecting = True
        # Connecting calls `_log_change` at once, with the game that goes on after a restart.
        table.connect(TableListener(on_game=self._log_change))
        self._is_connecting = False

    def _log_change(self, game_id: int, turns: int) -> None:
        """Log that the previous game has ended, and that the game `game_id` has begun.

        :param game_id: id of the game that is on now, 0 if none is
        :param turns: number of turns of the previous game
        """
        if self._game_id:
            fields = log_fields("game_over", game=self._game_id, name=self._game_name, turns=turns)
            log.info("Game %d is over", self._game_id, extra=fields)
        self._game_id = game_id
        self._game_name = self._table.view().game or ""
        if not game_id:
            return
        event, words = "game_begun", "has begun"
        if self._is_connecting:
            event, words = "game_resumed", "goes on"
        fields = log_fields(event, game=game_id, name=self._game_name)
        log.info("Game %d %s", game_id, words, extra=fields)
