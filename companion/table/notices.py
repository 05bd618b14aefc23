"""What pages and lamps say about something beside the game, such as its pads, its disk or the power."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from companion.table.actions.lobby import Lobby
from companion.table.mailbox import Mailbox
from companion.table.pipeline import Pipeline

Topic = Literal["memory", "power", "photographs", "trial", "upkeep", "machines"]
"""What a notice may be about: games kept in memory only, the machine that is switched off, photographs, keys tried out,
a restart to come, opponents whose program fails."""


class Notices:
    """Every method may be called from any thread; none waits, and an empty sentence means that it is over."""

    def __init__(self, pipeline: Pipeline, owner: Mailbox, lobby: Lobby) -> None:
        self._pipeline = pipeline
        self._owner = owner
        self._lobby = lobby

    def tell(self, topic: Topic, sentence: str) -> None:
        """What the pages say about this."""
        self._owner.tell(lambda: self._pipeline.notice(topic, sentence))

    def damage_is(self, sentence: str) -> None:
        """What they say about games that are damaged on the disk or cannot be removed."""
        self._owner.tell(lambda: self._pipeline.notice("damage", sentence))

    def disk_is(self, sentence: str, may_begin: bool) -> None:
        """What they say about the room on the disk, and whether there is enough for a game."""

        def change() -> None:
            self._lobby.has_room = may_begin
            self._pipeline.notice("disk", sentence)

        self._owner.tell(change)

    def panel_is(self, sentence: str) -> None:
        """What they say about the pads."""
        self._owner.tell(lambda: self._pipeline.publish(replace(self._pipeline.live, panel=sentence)))
