"""A hub's pages for remote phones right before a table's own, without a network; what passes between is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from flask import Flask

from companion.core.clock import Clock
from companion.core.config import WebSettings
from companion.core.kit import Seat
from companion.core.network import plain_code
from companion.core.ports.far import FarAnswer, FarPages, FarRequest
from companion.hub.far import packed_call
from companion.table.seats.far_seats import Invitation
from companion.table.table import Table
from web.hub.app import HubSite
from web.hub.far import create_far_app
from web.hub.room import Room

CODE, TABLE = "abcdefgh", "7" * 16
HUB_KEY = "hhhhh-kkkkk"
MOST_PIECES = 100


class Inside:
    """Carries requests to the one table there is; `told` has all that the hub's machine sees, but for own cookies."""

    def __init__(self, pages: FarPages, clock: Clock) -> None:
        self.pages, self.clock = pages, clock
        self.version = 0
        self.told: list[bytes] = []

    def find(self, typed: str, address: str) -> tuple[str, Seat, str] | None:
        return (TABLE, Seat.NORTH, CODE) if plain_code(typed) == CODE else None

    def ask(self, table: str, request: FarRequest) -> Pieces:
        assert table == TABLE
        self.told.append(packed_call(msgspec.structs.replace(request, cookies={})))
        return Pieces(self, request)

    def wait(self, version: int, timeout_s: float) -> int:
        return version

    def when_changed(self, call: Callable[[], None]) -> None:
        """Nothing comes by itself."""


class Pieces:
    """An answer of the table, made while it is asked for."""

    is_whole = False

    def __init__(self, relay: Inside, request: FarRequest) -> None:
        self._relay = relay
        self._is_over = False
        self._pieces = relay.pages.answer(request, relay.clock.monotonic_s(), lambda: self._is_over)

    def next(self, timeout_s: float) -> FarAnswer:
        piece = next(iter(self._pieces))
        self._relay.told.append(packed_call(msgspec.structs.replace(piece, cookies={})))
        return piece

    def pending(self) -> Iterable[FarAnswer]:
        return [self.next(0)]

    def close(self) -> None:
        self._is_over = True


def far_app(pages: FarPages, clock: Clock) -> tuple[Flask, Inside]:
    """The hub's pages for remote phones, and what carries their requests."""
    relay = Inside(pages, clock)
    site = HubSite(WebSettings(), lambda: ("http://192.0.2.7:8500/",), b"k" * 32, HUB_KEY)
    return create_far_app(relay, Room("Tuesday club", clock), clock, site), relay


class InsidePhone:
    """A remote phone at such pages, used as a `Client`."""

    def __init__(self, app: Flask) -> None:
        self.browser = app.test_client()

    def send(
        self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        method = "GET" if body is None else "POST"
        with self.browser.open(path, method=method, data=body, headers=dict(headers or {})) as answer:
            return answer.status_code, answer.get_data(), dict(answer.headers)

    def post(self, path: str, status: int = 200, **body: Any) -> None:
        answer = self.browser.post(path, json=body)
        assert answer.status_code == status, answer.text

    def sit(self, table: Table) -> None:
        table.far.invite(Seat.NORTH, Invitation(CODE, "http://192.0.2.7:8501/"))
        assert self.browser.post("/enter", data={"code": CODE}).location == "/join/north"
        assert self.browser.post("/join/north", data={"name": "Jonas"}).location == "/seat/north"

    @property
    def token(self) -> str:
        """What the table has given this phone for its seat."""
        cookie = self.browser.get_cookie(f"seat_north.{TABLE}")
        assert cookie is not None
        return cookie.value


def first_picture(pages: FarPages, request: FarRequest, at_s: float) -> Iterator[FarAnswer]:
    """What a page that is followed is sent until it has its first picture."""
    over: list[bool] = []
    for piece in islice(pages.answer(request, at_s, lambda: bool(over)), MOST_PIECES):
        yield piece
        if b"data:" in piece.body:
            over.append(True)
            return
