"""The tables of a hub: who joins and leaves, what its host does about them, and who of them may do
what at NATS.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from companion.hub.commands import HubCommand
from companion.hub_server.desired_state import DesiredState
from companion.hub_server.folder import HubFolder, KnownTable
from companion.hub_server.nats_server import NatsServer, accounts_text
from web.hub.host import Joined
from web.hub.room import Room, RoomTable

log = logging.getLogger(__name__)


class Members:
    """Does what the host's pages ask for. Any thread may ask.

    `servers` are told to tables that join. `forget` are called, in this order, with the name of a
    table that leaves.
    """

    def __init__(
        self,
        folder: HubFolder,
        room: Room,
        desired: DesiredState,
        nats: NatsServer,
        *,
        servers: Sequence[str],
        forget: Sequence[Callable[[str], None]],
    ) -> None:
        self._folder = folder
        self._room = room
        self._desired = desired
        self._nats = nats
        self._servers = tuple(servers)
        self._keeping = threading.Lock()
        self._forget = tuple(forget)
        for table in folder.now.tables:
            room.put(_in_room(table))
        for request in folder.now.asked:
            room.update(request, asked=True, answer="")

    def has(self, table: str) -> bool:
        """Return whether a table of this name in subjects has joined. Asked with everything that
        tables tell.
        """
        return self._folder.knows(table)

    def ids(self) -> tuple[str, ...]:
        """Return the tables that have joined, as subjects name them."""
        return tuple(table.id for table in self._folder.now.tables)

    def keep_rights(self) -> None:
        """Have NATS know the tables as they are now.

        Once this returns, those that are shut out are out.
        """
        with self._keeping:  # else what was known before could be written last
            self._nats.write(accounts_text(self._folder.now))
            self._nats.reload()

    def join(self, name: str, key: str) -> Joined:
        """Let a table join. It may say nothing before the host lets it in."""
        table = self._folder.join(name, key)
        self._room.put(_in_room(table))
        log.info("Table %s wants to join", table.number)
        return Joined(table.id, table.number, self._servers)

    def remove(self, number: int) -> bool:
        """Remove a table and what is kept of it."""
        gone = self._folder.alter(number, lambda _: None)
        if gone is None:
            return False
        for forget in self._forget:
            forget(gone.id)
        return True

    def rename(self, number: int, name: str) -> bool:
        """Give a table another name."""
        return self._alter(number, name=name)

    def let_in(self, number: int) -> bool:
        """Let in a table that has joined, or one that was shut out."""
        return self._alter(number, shut=False, waits=False)

    def shut_out(self, table: str) -> None:
        """Let a table say nothing any more until the host lets it in again."""
        for member in self._folder.now.tables:
            if member.id == table and not member.shut:
                log.warning("Hub: table %s floods and is shut out", member.number)
                self._alter(member.number, shut=True)

    def answer(self, number: int, words: Literal["coming", "done"]) -> bool:
        """Tell a table that somebody is coming, or that it is done."""
        table = self._room.table(number)
        if table is not None:
            self._desired.tell(table.id, HubCommand(staff=words))
        return table is not None

    def close_tables(self, numbers: Sequence[int], is_closed: bool) -> bool:
        """Let no game begin at these tables any more, or let games begin again."""
        tables = [self._alter(number, closed=is_closed) for number in numbers]
        self._desired.repeat_soon()
        return all(tables)

    def change_settings(self, numbers: Sequence[int], typed: Mapping[str, str]) -> bool:
        """Ask these tables to take settings.

        Raises `Illegal` where one has too many to answer already.
        """
        tables = [table.id for number in numbers if (table := self._room.table(number))]
        if len(tables) < len(numbers):
            return False
        self._desired.ask(tables, typed)
        return True

    def use_delay(self, delay_s: float) -> None:
        """Show spectators everything later by these seconds."""
        self._folder.change(lambda file: replace(file, delay_s=delay_s))
        self._room.use_delay(delay_s)

    def _alter(self, number: int, **changes: object) -> bool:
        was = self._folder.alter(number, lambda table: replace(table, **changes))
        if was is None:
            return False
        self._room.put(_in_room(replace(was, **changes)))
        if "shut" in changes:
            self.keep_rights()
        return True


def _in_room(table: KnownTable) -> RoomTable:
    return RoomTable(
        table.id, table.number, table.name, shut=table.shut, closed=table.closed, waits=table.waits
    )
