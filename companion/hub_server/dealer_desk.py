"""The hub as the dealer of games at two tables: it hears both, and tells each what its seat may know.

In which order it has heard the tables is written down in the store before anything comes of it, and everything it tells
follows from that and from the secret in the hub's folder: whatever is killed, it tells the same, and each message once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import msgspec
from nats.js import JetStreamContext
from nats.js.errors import APIError

from companion.core.errors import Malformed
from companion.core.kit import SEATS, Seat
from companion.hub.pair_line import kept_message
from companion.hub.pairing import Pair
from companion.hub.subjects import SEQUENCE, STORED, WRONG_SEQUENCE, message_subject, told_by_dealer
from companion.hub_server.folder import HubFolder
from companion.table.remote.dealer import Dealer, dealer_of
from companion.table.remote.messages import RemoteMessage, encoded_message, read_message

WRITTEN_S = 0.25
"""What a table has told is heard before it is in the store: so long it is looked for."""
_ORDER = "order"
"""Who tells, in a subject, in which order the dealer has heard the tables."""


@dataclass
class _Deal:
    """A game that is dealt, and how much of what there is to be told is in the store."""

    pair: Pair
    dealer: Dealer
    written: int = 0
    sent: dict[Seat, int] = field(default_factory=lambda: dict.fromkeys(SEATS, 0))


class DealerDesk:
    """Deals in every game of the hub that wants it; all in the line's thread."""

    def __init__(self, folder: HubFolder) -> None:
        self._folder = folder
        self._deals: dict[str, _Deal] = {}
        self._woken: dict[str, float] = {}
        """Until when each game is looked at."""

    def begin(self) -> None:
        """The store is there, perhaps again: everything is looked at anew."""
        self._deals.clear()
        self._woken = dict.fromkeys((pair.id for pair in self._folder.now.pairs), 0.0)

    def wake(self, pair: str) -> None:
        """A table of this game has told something, or may have."""
        self._woken[pair] = time.monotonic() + WRITTEN_S

    async def step(self, stream: JetStreamContext) -> None:
        """Hear and tell what there is; raises what the store raises, and after `begin` the same again is harmless.

        Whoever is woken meanwhile is looked at in the next step.
        """
        for woken, until_s in tuple(self._woken.items()):
            if time.monotonic() >= until_s:
                del self._woken[woken]
            file = self._folder.now
            pair = file.pair(woken)
            if pair is not None and woken in file.deals:
                if woken not in self._deals:
                    dealer = dealer_of(pair.game, pair.options, pair.number, file.deals[woken])
                    self._deals[woken] = _Deal(pair, dealer)
                await self._deal(stream, self._deals[woken])
            else:
                self._deals.pop(woken, None)
                self._woken.pop(woken, None)

    async def _deal(self, stream: JetStreamContext, deal: _Deal) -> None:
        while (seat := await self._next(stream, deal)) is not None:
            deal.dealer = deal.dealer.hear(seat, await self._message(stream, deal, seat))
            deal.written += 1
        for seat in SEATS:
            table, told = deal.pair.tables[seat], deal.dealer.sent[seat]
            while deal.sent[seat] < len(told):
                number = deal.sent[seat] + 1
                payload = encoded_message(deal.pair.id, number, told[number - 1])
                await _keep(stream, deal.pair.id, told_by_dealer(table), number, payload)
                deal.sent[seat] = number

    async def _next(self, stream: JetStreamContext, deal: _Deal) -> Seat | None:
        """Whose message is heard next: as it is written down, else of whoever has told more; None: nobody's."""
        pair, number = deal.pair.id, deal.written + 1
        kept = await kept_message(stream, message_subject(pair, _ORDER, number))
        if kept is None:
            for seat in SEATS:
                subject = message_subject(pair, deal.pair.tables[seat], deal.dealer.heard[seat] + 1)
                if await kept_message(stream, subject) is not None:
                    await _keep(stream, pair, _ORDER, number, msgspec.json.encode(seat))
                    break
            else:
                return None
            kept = await kept_message(stream, message_subject(pair, _ORDER, number))
        return msgspec.json.decode(kept or b"", type=Seat)

    @staticmethod
    async def _message(stream: JetStreamContext, deal: _Deal, seat: Seat) -> RemoteMessage | None:
        """What a table has told next; None: it cannot be read."""
        number = deal.dealer.heard[seat] + 1
        payload = await kept_message(stream, message_subject(deal.pair.id, deal.pair.tables[seat], number))
        try:
            return read_message(deal.pair.id, number, payload or b"")
        except Malformed:
            return None


async def _keep(stream: JetStreamContext, pair: str, who: str, number: int, payload: bytes) -> None:
    """Tell it, unless it is told already."""
    headers = {STORED: f"{pair}-{who}-{number}", SEQUENCE: "0"}
    try:
        await stream.publish(message_subject(pair, who, number), payload, headers=headers)
    except APIError as error:
        if error.err_code != WRONG_SEQUENCE:
            raise
