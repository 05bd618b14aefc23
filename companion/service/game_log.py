"""When games begin and end, for the log: which game it was and how many turns, no name and no order."""

from __future__ import annotations

import logging

from companion.core.log_fields import log_fields
from companion.diagnostics.findings import RefusalCounter
from companion.table.session import Phase
from companion.table.table import Table

log = logging.getLogger(__name__)


class GameLog:
    """Listens to the table from `listen` on; what it does there costs microseconds unless a game begins or ends."""

    def __init__(self, table: Table, tally: RefusalCounter) -> None:
        self._table = table
        self._tally = tally
        self._number, self._is_on, self._name, self._turns = 0, False, "", 0

    def listen(self) -> None:
        """Begin; a game that is on already goes on."""
        progress = self._table.progress()
        self._number, self._is_on = progress.number, _is_on(progress.phase)
        if self._is_on:
            self._name, self._turns = self._table.view().game or "", len(progress.turns)
            log.info(
                "Game %d goes on", self._number, extra=log_fields("game_resumed", game=self._number, name=self._name)
            )
        self._table.connect(on_lamps=self._look)

    def _look(self, *_: object) -> None:
        """The table has changed."""
        progress = self._table.progress()
        is_on = _is_on(progress.phase)
        is_new = is_on and progress.number != self._number
        if self._is_on and (is_new or not is_on):
            fields = log_fields("game_over", game=self._number, name=self._name, turns=self._turns)
            log.info("Game %d is over", self._number, extra=fields)
            self.refusals()
        if is_new or (is_on and not self._is_on):
            self._name = self._table.view().game or ""
            log.info(
                "Game %d has begun",
                progress.number,
                extra=log_fields("game_begun", game=progress.number, name=self._name),
            )
        self._number, self._is_on, self._turns = progress.number, is_on, len(progress.turns)

    def refusals(self) -> None:
        """Log how many requests were refused since the last time, if any were."""
        if news := self._tally.news():
            log.info("Requests were refused: %d", sum(news.values()), extra=log_fields("refusals", **news))


def _is_on(phase: Phase) -> bool:
    return phase not in (Phase.LOBBY, Phase.OVER)
