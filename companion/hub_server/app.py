"""The hub as a whole: its folder, NATS, the room, the pages; the one place that wires them."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from ssl import SSLContext
from typing import Literal

import msgspec

from companion.core.clock import Clock, RealClock
from companion.core.config import WebSettings
from companion.core.errors import Illegal, Refusal
from companion.core.i18n import packed, say
from companion.core.kit import SEATS
from companion.core.network import host_key_text, page_urls
from companion.core.ports import Closeable
from companion.hub.commands import MOST_SETTINGS, HubCommand, PairedGame, SettingsAsked, encoded_command, wish_for
from companion.hub.pairing import Pair
from companion.hub_server.cluster import cluster_text, tell_cluster
from companion.hub_server.dealer_desk import DealerDesk
from companion.hub_server.far_desk import FarDesk
from companion.hub_server.folder import ADDRESS_FILE, HubFile, HubFolder, KnownTable, public_key
from companion.hub_server.heard import RecordPlace
from companion.hub_server.league_file import LeagueFile
from companion.hub_server.nats_server import NatsServer, NatsSettings, TableKey, accounts_text
from companion.hub_server.pairs import PairKeeper
from companion.hub_server.store import HubStore, StoreSettings
from companion.league.director import board_at
from companion.league.league import League
from companion.league.people import shown_name
from companion.table.public.messages import PublicRecord, PublicState
from companion.table.session import Phase
from web.hub.app import HubSite, create_hub_app
from web.hub.far import create_far_app
from web.hub.host import Joined
from web.hub.room import Room, RoomTable
from web.security.tls import certificate_context
from web.server.sse import Server, serve

log = logging.getLogger(__name__)
_ITSELF = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""How a machine reaches itself that listens on all its addresses."""
WISH_S = 1.0
"""A table that does not follow what is wanted of it is told so often."""
MOST_VIEWERS = 500
"""However few may follow one table, the hub has connections as for so many at each of four."""


@dataclass(frozen=True)
class HubSettings:
    """How a hub is run. `nats_urls` names a cluster, which `nats_seed`, else the hub's own key, enters; without it the
    hub runs its own NATS. `nats_reload` is the command that takes the file of who may come in to the cluster.

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
    nats_reload: str = ""
    replicas: int = 1
    far_port: int | None = None
    """Of the pages for phones far away; None: there are none. They are at a port of their own because what a table
    draws must never be at the same place as the pages of the hub's host."""
    far_url: str = ""
    """Under which address such phones reach it; empty: as this machine is called here."""


class Hub(Closeable):
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
        self.pairs = PairKeeper(self.folder, self._clock, self._paired, self._look_at_pair)
        for table in known.tables:
            self.room.put(_in_room(table))
        for asked in known.asked:
            self.room.ask(asked)
        self._wishes_s = -WISH_S
        self.far = FarDesk(self._clock, self._send, self.far_url)
        self.far_server: Server | None = None
        try:
            file = LeagueFile(settings.folder)
            self._stack.callback(file.close)
            self.league = League(file, self._clock, self._free_tables, self.room.change)
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
        self.store = HubStore(store, self, DealerDesk(self.folder))
        if self.nats:
            self.nats.write(self._users())
        else:
            self.folder.draw_spare()
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
            self.far_url,
        )
        app = create_hub_app(self.room, self.league, self, self._clock, site)
        self.door = app.extensions["door"]
        everybody = max(web.viewers, MOST_VIEWERS)  # places are each table's own, connections the whole hub's
        self.server: Server = serve(app, web.host, web.port, everybody, tls, proxies=web.proxies)
        self._stack.callback(self.server.close)
        self._stack.callback(app.extensions["watch"].close)
        host = _ITSELF.get(web.host, web.host)
        address = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.server.port}"
        (settings.folder / ADDRESS_FILE).write_text(address)
        self.server.start()
        if settings.far_port is not None:
            self._open_far(site, tls)

    def _open_far(self, site: HubSite, tls: SSLContext | None) -> None:
        """The pages for phones far away, at a port of their own."""
        settings, web = self._settings, self._settings.web
        app = create_far_app(self.far, self.room, self._clock, site)
        self.far_server = serve(app, web.host, settings.far_port or 0, web.viewers, tls, proxies=web.proxies)
        self._stack.callback(self.far_server.close)
        self.far_server.start()

    def far_url(self) -> str:
        """Where phones far away enter their code; empty: nowhere."""
        settings = self._settings
        if settings.far_port is not None and settings.far_url:
            return f"{settings.far_url.rstrip('/')}/"
        return page_urls(settings.web, self.far_server.port)[0] if self.far_server else ""

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

    # ---- what pages ask for ----

    def join(self, name: str, key: str) -> Joined:
        """A table joins."""
        table = self.folder.join(name, key, takes_spare=self.nats is None)
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
        self.far.forget(gone.id)
        if asked := self.folder.now.asked.get(gone.id):
            self._forget_asked(gone.id, asked.number)
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

    def answer(self, number: int, words: Literal["coming", "done"]) -> bool:
        """Tell a table that somebody is coming, or that it is done."""
        table = self.room.table(number)
        if table is not None:
            self._tell(table.id, HubCommand(staff=words))
        return table is not None

    def close_tables(self, numbers: Sequence[int], is_closed: bool) -> bool:
        """No game begins at these tables any more, or games do again."""
        known = [self._alter(number, closed=is_closed) for number in numbers]
        self._wishes_s = -WISH_S
        return all(known)

    def change_settings(self, numbers: Sequence[int], typed: Mapping[str, str]) -> bool:
        """Ask these tables to take settings; each answers for itself, as soon as it is there.

        What a table has not answered yet is asked with it, also after a restart of the hub. Raises `Illegal` where that
        is too much.
        """
        tables = [table.id for number in numbers if (table := self.room.table(number))]
        if len(tables) < len(numbers):
            return False
        number = round(self._clock.wall_s() * 1000)

        def ask(file: HubFile) -> HubFile:
            asked = dict(file.asked)
            for table in tables:
                before = asked[table].values if table in asked else {}
                asked[table] = SettingsAsked(number, {**before, **typed})
                if len(asked[table].values) > MOST_SETTINGS:
                    raise Illegal(
                        Refusal.TOO_LATE, say("Too many settings are waiting for a table that does not answer")
                    )
            return msgspec.structs.replace(file, asked=asked)

        self.folder.change(ask)
        for each in tables:
            self.room.ask(each)
        self._wishes_s = -WISH_S
        return True

    def use_delay(self, delay_s: float) -> None:
        """Spectators see everything so much later."""
        self.folder.change(lambda file: msgspec.structs.replace(file, delay_s=delay_s))
        self.room.use_delay(delay_s)

    def _send(self, subject: str, payload: bytes, reply: str) -> bool:
        return self.store.send(subject, payload, reply)

    def _tell(self, table: str, command: HubCommand) -> None:
        self.store.command(table, encoded_command(command))

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
            key = TableKey(table.id, table.key, table.shut)
            if pair:
                key = replace(key, pair=pair.id, other=pair.other_of(table.id), source=pair.source_of(table.id))
            tables.append(key)
        seed = self._settings.nats_seed
        own = public_key(seed) if seed else self.folder.own_key
        return accounts_text(own, tables) if self.nats else cluster_text(own, tables, self.folder.now.spare)

    def _paired(self, pair: Pair) -> None:
        """Two tables have agreed on a game: both may write and read it, and the one that has offered is told."""
        self._keep_users()
        for table in pair.tables.values():
            self._look_at_pair(table)

    def _look_at_pair(self, table: str) -> None:
        """A table is to ask which game is its own."""
        self.store.command(table, b'{"pair": true}')

    def _keep_users(self) -> None:
        """Have NATS know its tables; the people of a cluster include the file that is written for them."""
        if self.nats is None:
            tell_cluster(self._settings.folder, self._users(), self._settings.nats_reload)
        else:
            self.store.use(self._users())

    # ---- what tables tell, in the store's thread ----

    def tables(self) -> tuple[str, ...]:
        """The tables that have joined."""
        return tuple(table.id for table in self.folder.now.tables)

    def followed(self) -> int:
        """How far tables were followed."""
        return self.league.results.sequence

    def on_other_store(self) -> None:
        """Whatever is told is followed from its beginning."""
        self.league.results.begin_anew()

    def on_last(self, table: str, record: PublicRecord, age_s: float) -> None:
        """What a table has accepted last."""
        self.room.record(table, record, age_s)

    def on_record(self, table: str, record: PublicRecord, age_s: float, place: RecordPlace) -> None:
        """A table has accepted something: what comes of it is kept before the room shows it."""
        if self.folder.knows(table):
            pair = record.pair
            if pair and not self.pairs.is_seated(table, pair.id, pair.seat):
                log.warning("Hub: a table tells of a game at two tables that is none of its own")
                record = msgspec.structs.replace(record, pair=None)
            self.league.results.take(table, record, place.at_s, place.sequence)
        self.room.record(table, record, age_s)

    def on_state(self, table: str, state: PublicState) -> None:
        """How a table is."""
        self.room.state(table, state, self._clock.wall_s())

    def on_wish(self, table: str, payload: bytes) -> bytes:
        """A table asks for a game at two tables."""
        return self.pairs.answer(table, payload)

    def on_far_wish(self, table: str, payload: bytes) -> bytes:
        """A table has a seat for a phone far away, or none any more."""
        return self.far.on_wish(table, payload)

    def on_told_far(self, subject: str, payload: bytes, status: str) -> bool:
        """A table answers such a phone."""
        return self.far.on_told(subject, payload, status)

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
        self.far.step()
        now_s = self._clock.monotonic_s()
        if now_s - self._wishes_s >= WISH_S:
            self._wishes_s = now_s
            self.league.tournaments.seat_waiting()
            contested = [(each.table, each.against.table) for each in self.league.results.contested if each.against]
            self.room.contested(dict(contested) | {other: one for one, other in contested})
            for table in self.room.tables():
                if table.state and not table.is_lost(now_s):
                    self._wish(table)

    def keep(self) -> None:
        """How far tables were followed."""
        self.league.results.keep()

    def _wish(self, table: RoomTable) -> None:
        """Tell a table once more what is wanted of it, where it does not follow that yet."""
        state = table.state
        wish, asked = (
            wish_for(table.closed, self._pairing(table.id), bool(table.contests)),
            self.folder.now.asked.get(table.id),
        )
        if state and asked and state.answers == asked.number:
            self._forget_asked(table.id, asked.number)
            asked = None
        if state and table.asked and asked is None:
            self.room.answered(table.id, state.answer)
        if state and (state.follows != wish.mark or asked):
            self._tell(table.id, HubCommand(wish=wish, settings=asked))

    def _forget_asked(self, table: str, number: int) -> None:
        """A table has answered what it was asked under this number."""

        def forget(file: HubFile) -> HubFile:
            asked = {name: each for name, each in file.asked.items() if (name, each.number) != (table, number)}
            return msgspec.structs.replace(file, asked=asked)

        self.folder.change(forget)

    def _pairing(self, table: str) -> PairedGame | None:
        """The board of a round that is to be played at a table; None: none."""
        found = self.league.tournaments.board_of(table)
        if found is None:
            return None
        tournament, place = found
        board = board_at(tournament, place)
        names = {
            seat: packed(shown_name(self.league.cards.person(person), person))
            for seat, person in zip(SEATS, (board.south, board.north), strict=True)
        }
        return PairedGame(tournament.name, place[0] + 1, names, tournament.game, tournament.options)

    def _free_tables(self) -> list[str]:
        """Where a board may be played: tables that are there and open, those at which nobody plays first."""
        now_s = self.room.now_s()
        there = [t for t in self.room.tables() if t.state and not (t.is_lost(now_s) or t.closed or t.shut)]
        return [t.id for t in sorted(there, key=lambda t: (t.phase not in (Phase.LOBBY, Phase.OVER), t.number))]


def _in_room(table: KnownTable) -> RoomTable:
    return RoomTable(table.id, table.number, table.name, shut=table.shut, closed=table.closed)
