"""When games begin and end, for the log: which game it was and how many turns, no name and no order."""

from __future__ import annotations

import logging

from companion.core.log_fields import log_fields
from companion.diagnostics.findings import RefusalCounter
from companion.table.listeners import TableListener
from companion.table.table import Table

log = logging.getLogger(__name__)


class GameLog:
    """Listens to the table from `listen` on."""

    def __init__(self, table: Table, tally: RefusalCounter) -> None:
        self._table = table
        self._tally = tally
        self._number, self._name = 0, ""
        self._is_listening = False

    def listen(self) -> None:
        """Begin, with a game that is on already."""
        self._table.connect(TableListener(on_game=self._hear))
        self._is_listening = True

    def _hear(self, number: int, turns: int) -> None:
        """Log that a game has ended, begun, or goes on after a restart."""
        if self._number:
            fields = log_fields("game_over", game=self._number, name=self._name, turns=turns)
            log.info("Game %d is over", self._number, extra=fields)
            self.refusals()
        self._number, self._name = number, self._table.view().game or ""
        if number and self._is_listening:
            fields = log_fields("game_begun", game=number, name=self._name)
            log.info("Game %d has begun", number, extra=fields)
        elif number:
            fields = log_fields("game_resumed", game=number, name=self._name)
            log.info("Game %d goes on", number, extra=fields)

    def refusals(self) -> None:
        """Log how many requests were refused since the last time, if any were."""
        if news := self._tally.news():
            log.info(
                "Requests were refused: %d",
                sum(news.values()),
                extra=log_fields("refusals", **news),
            )
