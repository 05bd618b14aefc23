"""What a session knows of the other table: what it was told, what it has told, and what is waited
for.
"""

from __future__ import annotations

from dataclasses import dataclass

from companion.core.kit import Seat
from companion.table.remote.messages import OrderOpened, OrderSealed, RemoteMessage, RemoteSeat

REMOTE = "remote"
"""The door of a seat that is played at another table."""


@dataclass(frozen=True)
class RemoteGame:
    """One game at two tables, as this one has it.

    `sent` is all that this table has to tell, in order, and `heard` how much it was told. `bound`
    is the receipt of the order that the other table has sealed for this moment. `is_opened`: this
    table has told its own order since, so that the other one's opens the turn; before, `opening`
    waits. `shown` are the seats whose table says that its board shows the step that is on. `asked`
    is what this table has asked and waits to be answered; until then it tells nothing, so that both
    tables know what came before the answer.
    """

    at: RemoteSeat
    sent: tuple[RemoteMessage, ...] = ()
    heard: int = 0
    bound: OrderSealed | None = None
    is_opened: bool = False
    opening: OrderOpened | None = None
    shown: frozenset[Seat] = frozenset()
    asked: str = ""

    @property
    def seat(self) -> Seat:
        """Return the seat that is played at the other table."""
        return self.at.seat

    @property
    def own(self) -> Seat:
        """Return the seat that is played here."""
        return self.at.seat.other

    @property
    def is_shown_here(self) -> bool:
        """Return whether this table says that its board shows the step that is on."""
        return self.own in self.shown
