"""The hub as dealer hears what a table tells at any moment, also while it is telling the other one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from nats.js.errors import NotFoundError

from companion.core.kit import SEATS, Seat
from companion.hub.pairing import Pair
from companion.hub.subjects import message_subject, told_by_dealer
from companion.hub_server.dealer_desk import DealerDesk
from companion.hub_server.folder import HubFolder
from companion.table.chance.fairness import commitment_of
from companion.table.remote.messages import ChanceGiven, GameLeft, RemoteMessage, encoded_message

SECRET = "5e" * 32
TABLES = {Seat.SOUTH: "a" * 16, Seat.NORTH: "b" * 16}
PAIR = Pair("c" * 16, "binmat", {}, 1, TABLES, commitment=commitment_of(SECRET))


class Store(dict[str, bytes]):
    """What JetStream keeps, by subject."""

    def __init__(self) -> None:
        self.when_written: Callable[[str], object] = lambda _: None

    async def get_msg(self, _stream: str, *, subject: str, direct: bool) -> Any:
        if subject not in self:
            raise NotFoundError
        return SimpleNamespace(data=self[subject])

    async def publish(self, subject: str, payload: bytes, *, headers: dict[str, str]) -> None:
        self[subject] = payload
        self.when_written(subject)

    def tell(self, seat: Seat, number: int, message: RemoteMessage) -> None:
        self[message_subject(PAIR.id, TABLES[seat], number)] = encoded_message(PAIR.id, number, message)

    def has_told(self, seat: Seat, number: int) -> bool:
        return message_subject(PAIR.id, told_by_dealer(TABLES[seat]), number) in self


@pytest.fixture
def desk(tmp_path: Path) -> DealerDesk:
    folder = HubFolder(tmp_path)
    folder.change(lambda file: msgspec.structs.replace(file, pairs=(PAIR,), deals={PAIR.id: SECRET}))
    return DealerDesk(folder)


@pytest.mark.parametrize("told_at", SEATS)
def test_what_is_told_while_the_cards_are_dealt_is_heard(desk: DealerDesk, told_at: Seat) -> None:
    store: Any = Store()
    for seat in SEATS:
        store.tell(seat, 1, ChanceGiven("1f" * 32))

    def leaves(subject: str) -> None:
        if subject == message_subject(PAIR.id, told_by_dealer(TABLES[told_at]), 1):
            store.tell(Seat.SOUTH, 2, GameLeft())
            desk.wake(PAIR.id)

    store.when_written = leaves
    desk.begin()
    for _ in range(2):
        asyncio.run(desk.step(store))
    assert all(store.has_told(seat, 1) for seat in SEATS)
    assert store.has_told(Seat.NORTH, 2)


def test_what_the_store_writes_a_moment_after_it_was_heard_is_found(desk: DealerDesk) -> None:
    store: Any = Store()
    desk.wake(PAIR.id)
    asyncio.run(desk.step(store))
    for seat in SEATS:
        store.tell(seat, 1, ChanceGiven("1f" * 32))
    asyncio.run(desk.step(store))
    assert all(store.has_told(seat, 1) for seat in SEATS)
