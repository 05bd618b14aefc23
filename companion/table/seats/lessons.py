"""The first game with a guide: how it begins, and how the guide leaves."""

from __future__ import annotations

from companion.table.actions.lobby import Lobby
from companion.table.mailbox import Mailbox
from companion.table.pipeline import Pipeline
from companion.table.records import SkipLesson


class GuidedGames:
    """Every method may be called from any thread, and waits for the answer."""

    def __init__(self, pipeline: Pipeline, owner: Mailbox, lobby: Lobby) -> None:
        self._pipeline = pipeline
        self._owner = owner
        self._lobby = lobby

    def begin(self, game: str) -> None:
        """Start the first game with a guide; raises `Malformed` for a game that has none."""
        self._owner.ask(lambda: self._lobby.begin_lesson(game))

    def skip(self, by: str) -> None:
        """The guide leaves, and the game goes on; raises `Illegal` where no lesson is on."""
        self._owner.ask(lambda: self._pipeline.accept(SkipLesson(by, self._pipeline.now_s())))
