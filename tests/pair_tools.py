"""Two tables that play one game over a real hub, and requests of a changed program with the key of
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import msgspec
from hub_tools import TableAtHub, act_with_key, join_table, until
from inside import session_of
from nats.aio.client import Client
from nats.errors import Error as NatsError
from remote_tools import act

from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.hub.subjects import PAIRS
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
    until("the hub is there", lambda: all(table.line.is_connected for table in tables))


def agree(tables: list[TableAtHub], game: str = "outbuffered", **options: object) -> None:
    """Offer a game at South's table, accept it at North's, and wait until it begins."""
    south, north = tables
    code = south.line.pairs.offer(game, options, Seat.SOUTH, "Mara")
    north.line.pairs.accept(code, "Jonas")
    until("the game begins", lambda: all(session_of(table.table).remote for table in tables))


def phases(tables: list[TableAtHub]) -> list[Phase]:
    return [session_of(table.table).phase for table in tables]


def play(tables: list[TableAtHub], rng: Random, between: Callable[[], None] = lambda: None) -> None:
    """Play a game to its end by random actions.

    An action that comes too late, because the other table was quicker, is refused.
    """

    def plays() -> bool:
        between()
        for table, seat in zip(tables, Seat, strict=True):
            with suppress(CompanionError):
                act(table.table, seat, rng)
            table.table.step()
        return phases(tables) == [Phase.OVER] * 2

    until("the game is over", plays, 180)


def has_notice(table: TableAtHub, words: str) -> bool:
    """Return whether a notice of the table contains these words."""
    table.table.step()
    return any(words in notice for notice in table.table.view().devices.notices)


def answer_to(
    hub: Hub, table: TableAtHub, subject: str, wish: object, seconds: float = 60.0
) -> bytes:
    """Return the answer to a changed program that has this table's key. Empty: there is none."""
    answers = [b""]

    async def ask(client: Client) -> None:
        payload = wish if isinstance(wish, bytes) else msgspec.json.encode(wish)
        with suppress(NatsError, TimeoutError):
            answers.append((await client.request(subject, payload, timeout=seconds)).data)

    act_with_key(hub, table, ask)
    return answers[-1]


def count_messages(hub: Hub, pair: str) -> int:
    """Return the number of messages that the hub has of a game at two tables."""
    counts: list[int] = []

    async def count(client: Client) -> None:
        stream = await client.jetstream().stream_info(PAIRS, subjects_filter=f"pairs.{pair}.>")
        counts.append(len(stream.state.subjects or {}))

    act_with_key(hub, None, count)
    return counts[0]
