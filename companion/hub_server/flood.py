"""How much each table says at NATS, to the hub and to its store, and which one says too much."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
from nats.aio.msg import Msg

from companion.hub_server.nats_server import table_of_account
from web.security.rate_limit import Buckets, Rate

FLOOD = Rate(20_000, 100.0)
"""What a table may send: a long outage at once, and then more than any table does. A message that is none counts
`BAD_COUNTS` times."""
BAD_COUNTS = 200
WISH_COUNTS = 20
LARGE_BYTES = 4096
"""A message counts once more for each of these that it has: the hub holds what spectators are to see later."""
_ASKER = "Nats-Request-Info"
"""The header in which NATS itself says from which account a message comes; it overwrites one that a table has set."""


class _Asker(msgspec.Struct):
    acc: str = ""


class FloodGuard:
    """Counts, in the line's thread; `when_too_much` is told the table each time."""

    def __init__(self, when_too_much: Callable[[str], None]) -> None:
        self._when_too_much = when_too_much
        self._buckets = Buckets(FLOOD, time.monotonic)

    def count(self, table: str, times: int = 1) -> None:
        """A table has said something."""
        if not all(self._buckets.take(table) for _ in range(times)):
            self._when_too_much(table)

    async def overhear(self, message: Msg) -> None:
        """Something that the store answers by itself, or refuses, and that no table is told of."""
        try:
            asker = msgspec.json.decode((message.headers or {}).get(_ASKER, "{}"), type=_Asker)
        except msgspec.MsgspecError:
            return
        if table := table_of_account(asker.acc):
            self.count(table, 1 + len(message.data) // LARGE_BYTES)
