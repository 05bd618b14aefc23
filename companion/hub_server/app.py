"""The hub as a whole: its folder, NATS, the room, the pages; the one place that wires them."""

from __future__ import annotations

import contextlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import msgspec

from companion.core.clock import Clock, RealClock
from companion.core.config import WebSettings
from companion.core.network import host_key_text, page_urls
from companion.hub.pairing import Pair
from companion.hub_server.folder import HubFile, HubFolder, KnownTable, public_key
from companion.hub_server.nats_server import NatsServer, NatsSettings, TableKey, users_text
from companion.hub_server.pairs import PairKeeper
from companion.hub_server.store import HubStore, StoreSettings
from companion.table.public.messages import PublicRecord, PublicState
from web.hub.app import HubSite, create_hub_app
from web.hub.host import Joined
from web.hub.room import Room, RoomTable
from web.security.tls import certificate_context
from web.server.sse import Server, serve

log = logging.getLogger(__name__)
MOST_VIEWERS = 500
"""However few may follow one table, the hub has connections as for so many at each of four."""


@dataclass(frozen=True)
class HubSettings:
    """How a hub is run. `nats_urls` names a cluster, which `nats_seed`, else the hub's own key, enters; without it the
    hub runs its own NATS.

    `name` (None: as before) is what the room is called; `delay_s` (None: as before) how late spectators see.
    """

    folder: Path
    web: WebSettings
    name: str | None = None
    delay_s: float | None = None
    nats_host: str = "0.0.0.0"
    nats_port: int = 4222
    keep_mb: int = 2048
    language: str = "auto"
    nats_urls: tuple[str, ...] = ()
    nats_seed: str = ""
    nats_ca: str = ""
    replicas: int = 1


class Hub:
    """A running hub; `close` may be called twice. Raises `SystemTrouble` where it cannot start."""

    def __init__(self, settings: HubSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or RealClock()
        self.folder = HubFolder(settings.folder)
        self._stack = contextlib.ExitStack()
        wanted = {
            name: value for name, value in (("name", settings.name), ("delay_s", settings.delay_s)) if value is not None
        }
        known = self.folder.change(lambda file: msgspec.structs.replace(file, **wanted)) if wanted else self.folder.now
        self.room = Room(known.name, self._clock, known.delay_s)
        self.pairs = PairKeeper(self.folder, self._clock, self._paired)
        for table in known.tables:
            self.room.put(_in_room(table))
        try:
            self._open(known)
        except BaseException:
            self._stack.close()
            raise

    def _open(self, known: HubFile) -> None:
        settings, web = self._settings, self._settings.web
        tls = certificate_context(web.certificate, web.key) if web.certificate else None
        self.nats = None if settings.nats_urls else self._own_nats()
        store = StoreSettings(
            settings.folder,
            self.nats,
            settings.nats_urls or (self.nats.url if self.nats else "",),
            settings.nats_seed or known.seed,
            settings.nats_ca,
            settings.keep_mb,
            settings.replicas,
        )
        self.store = HubStore(store, self)
        if self.nats:
            self.nats.write(self._users())
        else:
            self._keep_users()
        self._stack.callback(self.store.close)
        self.store.start()
        site = HubSite(
            web,
            self.urls,
            known.signing_key,
            self.host_key,
            settings.language,
            settings.folder / "templates",
        )
        app = create_hub_app(self.room, self, self._clock, site)
        self.door = app.extensions["door"]
        everybody = max(web.viewers, MOST_VIEWERS)  # places are each table's own, connections the whole hub's
        self.server: Server = serve(app, web.host, web.port, everybody, tls, proxies=web.proxies)
        self._stack.callback(self.server.close)
        self._stack.callback(app.extensions["watch"].close)
        self.server.start()

    def _own_nats(self) -> NatsServer:
        settings, web = self._settings, self._settings.web
        return NatsServer(
            NatsSettings(
                settings.folder / "nats",
                settings.nats_host,
                settings.nats_port,
                settings.keep_mb,
                str(Path(web.certificate).expanduser()) if web.certificate else "",
                str(Path(web.key).expanduser()) if web.key else "",
            )
        )

    def urls(self) -> tuple[str, ...]:
        """Addresses of the wall, the one for others first."""
        return page_urls(self._settings.web, self.server.port)

    @property
    def host_key(self) -> str:
        """What somebody types to become the hub's host."""
        return host_key_text(self.folder.now.host_key)

    def close(self) -> None:
        """Close the pages, then NATS."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what pages ask for ----

    def join(self, name: str, key: str) -> Joined:
        """A table joins."""
        table = self.folder.join(name, key)
        self.room.put(_in_room(table))
        self._keep_users()
        log.info("Table %s has joined", table.number)
        return Joined(table.id, table.number, self._servers())

    def remove(self, number: int) -> bool:
        """A table leaves, and what is kept of it."""
        gone = self.folder.alter(number, lambda _: None)
        if gone is None:
            return False
        self.pairs.forget(gone.id)
        self._keep_users()
        self.store.forget(gone.id)
        self.room.remove(gone.id)
        return True

    def rename(self, number: int, name: str) -> bool:
        """A table gets another name."""
        return self._alter(number, name=name)

    def let_in(self, number: int) -> bool:
        """A table that was shut out may come back."""
        return self._alter(number, shut=False)

    def answer(self, number: int, words: str) -> bool:
        """Tell a table that somebody is coming, or that it is done."""
        table = self.room.table(number)
        if table is not None:
            self.store.command(table.id, json.dumps({"staff": words}).encode())
        return table is not None

    def use_delay(self, delay_s: float) -> None:
        """Spectators see everything so much later."""
        self.folder.change(lambda file: msgspec.structs.replace(file, delay_s=delay_s))
        self.room.use_delay(delay_s)

    def _alter(self, number: int, **changes: object) -> bool:
        was = self.folder.alter(number, lambda table: msgspec.structs.replace(table, **changes))
        if was is None:
            return False
        self.room.put(_in_room(msgspec.structs.replace(was, **changes)))
        if "shut" in changes:
            self._keep_users()
        return True

    def _servers(self) -> tuple[str, ...]:
        settings = self._settings
        if settings.nats_urls:
            return settings.nats_urls
        return (f"{'tls' if settings.web.certificate else 'nats'}://:{settings.nats_port}",)

    def _users(self) -> str:
        """Who may do what at NATS."""
        tables = []
        for table in self.folder.now.tables:
            pair = self.pairs.pair_of(table.id)
            other = pair.tables[pair.seat_of(table.id).other] if pair else ""
            tables.append(TableKey(table.id, table.key, table.shut, pair.id if pair else "", other))
        seed = self._settings.nats_seed
        return users_text(public_key(seed) if seed else self.folder.own_key, tables)

    def _paired(self, pair: Pair) -> None:
        """Two tables have agreed on a game: both may write and read it, and the one that has offered is told."""
        self._keep_users()
        for table in pair.tables.values():
            self.store.command(table, b'{"pair": true}')

    def _keep_users(self) -> None:
        """Have NATS know its tables; the people of a cluster include the file that is written for them."""
        if self.nats is None:
            (self._settings.folder / "tables.conf").write_text(self._users())
        else:
            self.store.use(self._users())

    # ---- what tables tell, in the store's thread ----

    def on_record(self, table: str, record: PublicRecord, age_s: float) -> None:
        """A table has accepted something."""
        self.room.record(table, record, age_s)

    def on_state(self, table: str, state: PublicState) -> None:
        """How a table is."""
        self.room.state(table, state, self._clock.wall_s())

    def on_wish(self, table: str, payload: bytes) -> bytes:
        """A table asks for a game at two tables."""
        return self.pairs.answer(table, payload)

    def on_bad(self, table: str, why: str) -> None:
        """A message that cannot be read."""
        log.debug("Hub: %s: %s", table, why)
        self.room.refuse_unread(table)

    def on_flood(self, table: str) -> None:
        """A table sends more than a table does: it is shut out until the host lets it in again."""
        known = next((each for each in self.folder.now.tables if each.id == table), None)
        if known is not None and not known.shut:
            log.warning("Hub: table %s floods and is shut out", known.number)
            self._alter(known.number, shut=True)

    def on_trouble(self, trouble: str) -> None:
        """What is wrong with the hub."""
        self.room.is_in_trouble(trouble)

    def on_round(self) -> None:
        """Time has passed."""
        self.room.step()


def _in_room(table: KnownTable) -> RoomTable:
    return RoomTable(table.id, table.number, table.name, shut=table.shut)
