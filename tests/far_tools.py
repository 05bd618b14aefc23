"""A real hub, a real service at it, and remote phones: everything by the hub's own port, as a friend would."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from hub_tools import free_port, hub_settings, until
from inside import session_of
from msgspec import structs
from service import Client

from companion.core.config import Settings, TableSettings, WebSettings
from companion.core.errors import Stale
from companion.core.kit import SEATS, Seat
from companion.hub_server.app import Hub
from companion.service.app import Companion
from companion.table.session import Phase
from companion.table.table import Table
from web.server.server import PortInUse

PATIENCE_S = 60.0
Started = TypeVar("Started")
JSON = {"Content-Type": "application/json", "Accept": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}


class FarPhone(Client):
    """A remote phone, without a browser."""

    timeout_s = 90.0

    def form(self, path: str, **fields: str) -> tuple[int, str]:
        status, body, _ = self.send(path, urllib.parse.urlencode(fields).encode(), FORM)
        return status, body.decode()

    def page(self, path: str) -> tuple[int, str]:
        status, body, _ = self.send(path, None, {"Accept": "text/html"})
        return status, body.decode()

    def ask(self, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        status, answer, _ = self.send(path, json.dumps(body).encode(), JSON)
        return status, dict(json.loads(answer))

    def sit(self, code: str, seat: Seat = Seat.NORTH, name: str = "Ines") -> str:
        status, page = self.form("/enter", code=code)
        assert status == 200, page
        status, page = self.form(f"/join/{seat}", name=name)
        assert status == 200, page
        return page

    @property
    def cookies(self) -> dict[str, str]:
        return {cookie.name: cookie.value or "" for cookie in self.jar}


@dataclass
class FarTable:
    """A hub and a table at it; both can be ended and begun anew on what they have kept."""

    folder: Path
    hub: Hub
    companion: Companion
    settings: Settings
    hub_ports: dict[str, Any]

    def phone(self) -> FarPhone:
        return FarPhone(self.hub.far_url().rstrip("/"))

    def is_connected(self) -> bool:
        return "of Our club" in self.companion.hub.sentence

    def invite(self, seat: Seat = Seat.NORTH) -> str:
        return self.companion.hub.invite(seat).code

    def restart_hub(self) -> None:
        self.hub.close()
        until("the table has noticed", lambda: not self.is_connected())
        self.start_hub()

    def start_hub(self) -> None:
        self.hub = at_its_port(lambda: Hub(hub_settings(self.folder / "hub", **self.hub_ports)))
        until("the table is back", self.is_connected)

    def restart_table(self) -> None:
        self.companion.close()
        self.start_table()

    def start_table(self) -> None:
        self.companion = at_its_port(lambda: Companion(self.settings, simulate=True).__enter__())
        until("the table is back", self.is_connected)

    def close(self) -> None:
        self.companion.close()
        self.hub.close()


@contextmanager
def far_table(
    folder: Path, name: str = "table", hub: dict[str, Any] | None = None, ca: str = "", **web: Any
) -> Iterator[FarTable]:
    """A table that has joined a hub which lets remote phones in; begun anew, both are at the same ports again.

    Both wait longer for each other than a machine with too much to do takes. `hub`: its web settings, and `far_url`.
    """
    with pytest.MonkeyPatch.context() as patience:
        patience.setattr("web.hub.far.ANSWERS_S", PATIENCE_S)
        patience.setattr("companion.hub.far_line.ANSWERS_S", PATIENCE_S)
        with _far_table(folder, name, hub or {}, ca, **web) as far:
            yield far


@contextmanager
def _far_table(folder: Path, name: str, hub_more: dict[str, Any], ca: str, **web: Any) -> Iterator[FarTable]:
    more = {"host": "127.0.0.1", "viewers": 64, **hub_more}
    ports: dict[str, Any] = {"nats_port": free_port(), "far_port": 0, "far_url": more.pop("far_url", "")}
    ports["nats_host"] = more.pop("nats_host", "127.0.0.1")
    ports["web"] = WebSettings(port=0, **more)
    pages = WebSettings(host="127.0.0.1", port=0, **web)
    settings = Settings(state_dir=str(folder / name), web=pages, table=TableSettings(reading_time_s=0.1))
    hub = Hub(hub_settings(folder / "hub", **ports))
    try:
        companion = Companion(settings, simulate=True).__enter__()
    except BaseException:
        hub.close()
        raise
    assert hub.far_server is not None
    ports |= {"far_port": hub.far_server.port, "web": structs.replace(ports["web"], port=hub.server.port)}
    settings = structs.replace(settings, web=structs.replace(pages, port=companion.server.port))
    far = FarTable(folder, hub, companion, settings, ports)
    try:
        companion.hub.join(hub.urls()[0], hub.door.code, names=False, ca=ca)
        until("the table is there", far.is_connected)
        yield far
    finally:
        far.close()


def at_its_port(start: Callable[[], Started]) -> Started:
    """Begin anew at a port that somebody else on this machine may have for a moment."""
    begun: list[Started] = []

    def begins() -> bool:
        with suppress(PortInUse):
            begun.append(start())
        return bool(begun)

    until("the port is free", begins)
    return begun[0]


def confirm(table: Table) -> None:
    """Hands have done what is due, says the host, unless the camera has seen it before."""
    session = session_of(table)
    if session.phase in (Phase.SETUP, Phase.STAGES):
        with suppress(Stale):
            table.confirm("host", session.moment, session.stage, force=True)


def play(far: FarTable, phone: FarPhone, decisions: int, seed: int = 1) -> int:
    """So many decisions, or until the game is over: South's in the room, North's by a remote phone; answers how many.

    A tie is played again by itself, and that game is another one.
    """
    table, rng, done = far.companion.table, Random(seed), 0
    game = table.progress().number
    while done < decisions and table.view().phase is not Phase.OVER and table.progress().number == game:
        session = session_of(table)
        if session.phase in (Phase.SETUP, Phase.STAGES):
            confirm(table)
            continue
        if (clock := table.view().time.clock) and clock.paused:
            table.resume("host")
            continue
        seat = next(each for each in SEATS if each in session.awaited)
        action = session.playing.random_action(session.state, seat, rng)
        text = session.playing.format(action)
        if seat is Seat.SOUTH:
            table.hand_in(seat, session.moment, text)
        else:
            order = {"moment": session.moment, "action": text, "salt": f"{rng.getrandbits(128):032x}"}
            status, answer = phone.ask("/api/seat/north/hand-in", **order)
            assert status == 200, answer
            again = phone.ask("/api/seat/north/hand-in", **order)
            assert again[0] == 409 or again[1] == answer  # the same once more changes nothing
        done += 1
    return done
