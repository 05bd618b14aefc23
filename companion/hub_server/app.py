"""The hub as a whole. This module alone connects its folder, NATS, the room and the pages."""

from __future__ import annotations

import contextlib

import msgspec

from companion.core.clock import Clock, RealClock
from companion.core.network import format_host_key, page_urls
from companion.core.ports import Closeable
from companion.hub.commands import HubCommand, encode_command
from companion.hub.pair_messages import Pair
from companion.hub_server.desired_state import DesiredStateSender
from companion.hub_server.folder import HubFile, HubFolder, HubSettings
from companion.hub_server.members import Members
from companion.hub_server.nats_connection import NatsConnection
from companion.hub_server.nats_server import NatsServer
from companion.hub_server.pairs import PairRegistry
from companion.league.league import League
from web.features import SiteConfig
from web.hub.app import create_hub_app
from web.hub.room import HubRoom
from web.security.tls import certificate_context
from web.server.server import Server, open_server


class Hub(Closeable):
    """A running hub, which starts when it is created. Raises `SystemTrouble` if it cannot start.

    `close` may be called twice. Tests and the command line use the hub's parts, such as `room`,
    `league` and `members`.
    """

    def __init__(self, settings: HubSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        clock = clock or RealClock()
        self.folder = HubFolder(settings.folder)
        options = {"name": settings.name, "delay_s": settings.delay_s}
        # an option that is None keeps the stored value
        changes = {field: value for field, value in options.items() if value is not None}
        if changes:
            self.folder.change(lambda file: msgspec.structs.replace(file, **changes))
        file = self.folder.file
        self.nats_server = NatsServer(settings)
        self.nats_connection = NatsConnection(
            settings.folder, self.nats_server, file.private_key, settings.max_store_mb
        )
        self.room = HubRoom(file.name, clock, file.delay_s)
        self.pairs = PairRegistry(
            self.folder,
            clock,
            when_paired=self._start_pair,
            when_over=self.nats_connection.forget_pair,
        )
        self._stack = contextlib.ExitStack()
        try:
            self.league = League(settings.folder, clock, self.room.free_tables, self.room.notify)
            self._stack.callback(self.league.close)
            send_command = self.nats_connection.send_command
            sender = DesiredStateSender(self.room, self.league, clock, send_command)
            scheme = "tls" if settings.web.certificate else "nats"
            self.members = Members(
                self.folder,
                self.room,
                send_command,
                self.nats_server,
                # without a host, because each table knows the hub by another address
                servers=(f"{scheme}://:{settings.nats_port}",),
                when_removed=(
                    self.pairs.forget,
                    # a lambda, because `members` is not set yet while this list is built
                    lambda _: self.members.update_permissions(),
                    self.nats_connection.forget,
                    self.room.remove,
                ),
            )
            self._open(file, clock, sender)
        except BaseException:
            self._stack.close()
            raise

    def _open(self, file: HubFile, clock: Clock, sender: DesiredStateSender) -> None:
        """Start the parts, each after those that it needs.

        The web server binds its port before NATS starts, because tables may ask for the addresses
        of the pages as soon as NATS runs. It starts to serve pages last.
        """
        settings = self._settings
        web = settings.web
        tls = certificate_context(web.certificate, web.key) if web.certificate else None
        self.members.update_permissions()
        # the stack closes its parts in reverse order, so the pages close before NATS
        self._stack.callback(self.nats_connection.close)
        site = SiteConfig(
            web,
            self.urls,
            file.signing_key,
            self.owner_key,
            template_cache=settings.folder / "templates",
        )
        app = create_hub_app(
            self.room, self.league, self.members, clock, site, language=settings.language
        )
        self.table_join_code = app.extensions["table_join_code"]
        self.server: Server = open_server(
            app, web.host, web.port, tls, proxies=web.proxies, path=web.path
        )
        self._stack.callback(self.server.close)

        def step() -> None:
            self.table_join_code.renew_if_expired()
            sender.step()

        self.nats_connection.start(self.members, self.room, self.league, self.pairs, step)
        self.server.start()

    def urls(self) -> tuple[str, ...]:
        """Return the addresses of the hub's pages. The first one is for other machines."""
        return page_urls(self._settings.web, self.server.port)

    @property
    def owner_key(self) -> str:
        """The owner key as people type it."""
        return format_host_key(self.folder.file.owner_key)

    def close(self) -> None:
        """Close the pages, then NATS."""
        self._stack.close()

    def _start_pair(self, pair: Pair) -> None:
        """Let the tables of a pair use the subjects of their game, and tell both to ask for it."""
        self.members.update_permissions()
        for table_id in pair.tables.values():
            self.nats_connection.send_command(table_id, encode_command(HubCommand(pair=True)))
