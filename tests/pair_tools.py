"""Helpers: two tables that play a linked game over a real hub, and requests with a table's key.

South's person sits at the first table, North's at the second. A table's own program does not send
the requests, but somebody who has changed the program could: the hub must refuse them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import msgspec
from hub_tools import TableAtHub, act_with_key, join_table
from internals import session_of
from nats.aio.client import Client
from nats.errors import Error as NatsError
from remote_tools import act
from waiting import until

from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.hub.subjects import PAIRS_STREAM
from companion.hub_server.app import Hub
from companion.table.session import Phase


@contextmanager
def two_tables(hub: Hub, folder: Path) -> Iterator[list[TableAtHub]]:
    """Open South's table and North's, connected to a hub."""
    folder.mkdir(exist_ok=True)
    tables = [join_table(hub, folder / name, names=True) for name in ("south", "north")]
    try:
        wait_until_connected(tables)
        yield tables
    finally:
        for table in tables:
            table.close()


def wait_until_connected(tables: list[TableAtHub]) -> None:
    """Wait until all tables are connected to the hub."""
    until("the connection to the hub", lambda: all(table.adapter.is_connected for table in tables))


def begin_linked_game(
    tables: list[TableAtHub], game: str = "outbuffered", **options: object
) -> None:
    """Offer a game at South's table, accept it at North's, and wait until it begins."""
    south, north = tables
    code = south.adapter.pairs.offer(game, options, Seat.SOUTH, "Mara")
    north.adapter.pairs.accept(code, "Jonas")
    until(
        "the beginning of the game", lambda: all(session_of(table.table).remote for table in tables)
    )


def phases(tables: list[TableAtHub]) -> list[Phase]:
    """Return the phase of the game at each table."""
    return [session_of(table.table).phase for table in tables]


def play(tables: list[TableAtHub], rng: Random, between: Callable[[], None] = lambda: None) -> None:
    """Play a game to its end by random actions, and call `between` before each step.

    An action may be refused because the other table was quicker. It is tried again then.
    """

    def play_step() -> bool:
        between()
        for table, seat in zip(tables, Seat, strict=True):
            with suppress(CompanionError):
                act(table.table, seat, rng)
            table.table.step()
        return phases(tables) == [Phase.OVER] * 2

    until("the end of the game", play_step, timeout_s=180)


def has_notice(table: TableAtHub, words: str) -> bool:
    """Return whether a notice of the table contains these words."""
    table.table.step()
    return any(words in notice for notice in table.table.view().devices.notices)


def request_with_key(
    hub: Hub, table: TableAtHub, subject: str, content: object, timeout_s: float = 60.0
) -> bytes:
    """Send a request to the hub's NATS server with a table's key, and return the answer.

    It is empty if NATS gives none, as it does for a request that the key does not permit. Content
    other than bytes is sent as JSON.
    """
    answers = [b""]

    async def ask(client: Client) -> None:
        payload = content if isinstance(content, bytes) else msgspec.json.encode(content)
        with suppress(NatsError, TimeoutError):
            answers.append((await client.request(subject, payload, timeout=timeout_s)).data)

    act_with_key(hub, table, ask)
    return answers[-1]


def count_messages(hub: Hub, pair: str) -> int:
    """Return how many messages of a linked game the hub has stored."""
    counts: list[int] = []

    async def count(client: Client) -> None:
        stream = await client.jetstream().stream_info(
            PAIRS_STREAM, subjects_filter=f"pairs.{pair}.>"
        )
        counts.append(len(stream.state.subjects or {}))

    act_with_key(hub, None, count)
    return counts[0]
