"""The tables of a hub: joining, leaving, the owner's actions on them, and their permissions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from companion.hub.commands import HubCommand, encode_command
from companion.hub_server.folder import HubFolder, StoredTable
from companion.hub_server.nats_server import NatsServer, format_accounts
from web.hub.host import JoinedTable
from web.hub.room import HubRoom, HubTable

log = logging.getLogger(__name__)


class Members:
    """Carries out what the owner does to tables on the hub's pages. May be used from any thread.

    This class implements `web.hub.host.HubActions`. Each `table_id` is the id of a table in NATS
    subjects. `send_command` takes a `table_id` and an encoded command. `servers` are the addresses
    of NATS that a table gets when it joins. After a table is removed, each function in
    `when_removed` is called in order with that table's id.
    """

    def __init__(
        self,
        folder: HubFolder,
        room: HubRoom,
        send_command: Callable[[str, bytes], None],
        nats_server: NatsServer,
        *,
        servers: Sequence[str],
        when_removed: Sequence[Callable[[str], None]],
    ) -> None:
        self._folder = folder
        self._room = room
        self._send_command = send_command
        self._nats_server = nats_server
        self._servers = tuple(servers)
        self._permissions_lock = threading.Lock()
        self._when_removed = when_removed
        for table in folder.file.tables:
            room.add(_hub_table(table))

    def update_permissions(self) -> None:
        """Write the tables' current permissions and make NATS load them.

        Tables without permission are disconnected when this returns, unless NATS hangs. Raises
        `OSError` if the files of NATS cannot be written.
        """
        # without the lock, one thread could write older permissions after another one's newer ones
        with self._permissions_lock:
            self._nats_server.write_configuration(format_accounts(self._folder.file))
            self._nats_server.reload()

    def join(self, name: str, key: str) -> JoinedTable:
        """Add a table. It has no permissions until the owner admits it.

        `key` is the table's public NKey. Raises `SystemTrouble` if the hub takes no more tables, or
        cannot write its file.
        """
        table = self._folder.add_table(name, key)
        self._room.add(_hub_table(table))
        log.info("Table %s wants to join", table.number)
        return JoinedTable(table.id, table.number, self._servers)

    def remove(self, table_id: str) -> None:
        """Remove a table from the hub, with all its data."""
        self._folder.change(
            lambda file: replace(
                file, tables=tuple(member for member in file.tables if member.id != table_id)
            )
        )
        for forget in self._when_removed:
            forget(table_id)

    def admit(self, table_id: str) -> None:
        """Admit a table that has joined or was shut out."""
        self._update_table(table_id, is_shut_out=False, is_waiting=False)

    def shut_out(self, table_id: str) -> None:
        """Shut a table out, unless it is shut out already. Only the owner can admit it again."""
        for member in self._folder.file.tables:
            if member.id == table_id and not member.is_shut_out:
                log.warning("Hub: table %s sends too many messages and is shut out", member.number)
                self._update_table(table_id, is_shut_out=True)

    def answer_call(self, table_id: str, words: Literal["coming", "done"]) -> None:
        """Tell a table that somebody is coming, or that its call is done."""
        self._send_command(table_id, encode_command(HubCommand(staff=words)))

    def change_settings(self, table_id: str, typed: Mapping[str, str]) -> None:
        """Send settings to a table, as typed on its own page.

        A table that is not connected does not get them. A connected one answers in its next state
        (`PublicState.answer`).
        """
        self._send_command(table_id, encode_command(HubCommand(settings=typed)))

    def set_delay(self, delay_s: float) -> None:
        """Set the delay in seconds for spectators."""
        self._folder.change(lambda file: replace(file, delay_s=delay_s))
        self._room.set_delay(delay_s)

    def _update_table(self, table_id: str, **changes: bool) -> None:
        """Change `is_shut_out` or `is_waiting` of a table, in the file, in the room and at NATS."""
        self._folder.change(
            lambda file: replace(
                file,
                tables=tuple(
                    replace(member, **changes) if member.id == table_id else member
                    for member in file.tables
                ),
            )
        )
        self._room.update(table_id, **changes)
        self.update_permissions()


def _hub_table(table: StoredTable) -> HubTable:
    return HubTable(
        table.id,
        table.number,
        table.name,
        is_shut_out=table.is_shut_out,
        is_waiting=table.is_waiting,
    )
