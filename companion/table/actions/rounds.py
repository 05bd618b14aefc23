"""A table in a room of many: a tournament's round that is played at it, and whether the room's host keeps it open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from companion.table.actions.lobby import Lobby
from companion.table.mailbox import Mailbox
from companion.table.pipeline import Pipeline


class Rounds:
    """Every method may be called from any thread."""

    def __init__(self, pipeline: Pipeline, owner: Mailbox, lobby: Lobby) -> None:
        self._pipeline = pipeline
        self._owner = owner
        self._lobby = lobby

    def use(self, sentence: str, game: tuple[str, Mapping[str, Any]] | None) -> None:
        """What the pages say about the round (empty: nothing), and its game with its options."""

        def change() -> None:
            self._lobby.round_game = game
            self._pipeline.publish(replace(self._pipeline.live, round=sentence))

        self._owner.tell(change)

    def begin(self) -> None:
        """Start the round's game, and wait for it; raises `Illegal` where none is to be played here."""
        self._owner.ask(self._lobby.begin_round)

    def contest(self, sentence: str) -> None:
        """What the pages say about a result on which two tables do not agree; empty: nothing."""
        self._owner.tell(lambda: self._pipeline.notice("contested", sentence))

    def close_for(self, sentence: str) -> None:
        """No game begins here as long as the pages say this; empty: the table is open."""

        def change() -> None:
            self._lobby.is_closed = bool(sentence)
            self._pipeline.notice("closed", sentence)

        self._owner.tell(change)
