"""The hub's part in games at two tables: it keeps offers and codes, and lets the two who agree talk
to each other.

What they tell goes through its store. The hub reads nothing of it.
"""

from __future__ import annotations

import hmac
import math
import secrets
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec.structs import replace

from companion.core import i18n
from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.network import new_code, plain_code
from companion.hub.pairing import (
    Pair,
    PairAgain,
    PairAnswer,
    PairLook,
    PairOffer,
    PairTake,
    PairWithdrawal,
    SessionClaim,
    read_wish,
    require_version,
)
from companion.hub_server.folder import MAX_PAIRS, HubFolder
from companion.table.remote.remote_table import require_playable
from web.security.codes import EACH, LENGTH
from web.security.rate_limit import Guesses

HELD_S = 25.0
"""Seconds after which a machine that claims nothing is no table any more: each claims every ten."""
REFUSED_S = 60.0
"""Seconds for which it is told that another machine has tried: one that was refused tries every
thirty."""


class Sessions:
    """Which machine is connected as each table: two with one identity would overwrite each other.

    `when_shared` is called with a table, and whether another machine has tried to connect as it
    lately.
    """

    def __init__(self, clock: Clock, when_shared: Callable[[str, bool], None]) -> None:
        self._clock = clock
        self._when_shared = when_shared
        self._held: dict[str, tuple[str, float]] = {}
        self._refused_s: dict[str, float] = {}

    def claim(self, table: str, machine: str) -> Literal["own", "shared", "taken"]:
        """Return whether a machine is this table from now on, or another one is."""
        now_s = self._clock.monotonic_s()
        # a table that nobody holds is held by whoever asks
        holder, heard_s = self._held.get(table, (machine, now_s))
        if holder != machine and now_s - heard_s < HELD_S:
            self._refused_s[table] = now_s
            self._when_shared(table, True)
            return "taken"
        self._held[table] = (machine, now_s)
        if now_s - self._refused_s.get(table, -math.inf) < REFUSED_S:
            return "shared"
        if self._refused_s.pop(table, None) is not None:
            self._when_shared(table, False)
        return "own"

    def forget(self, table: str) -> None:
        """Forget what was known of this table."""
        self._held.pop(table, None)
        self._refused_s.pop(table, None)


class PairKeeper:
    """Offers live as long as the hub runs.

    A game that was agreed on is kept until either table agrees on another.

    `when_paired` is called once a pair is kept: from then on its tables may write and read their
    messages. `when_asked` with a table that has something to look at. `when_over` with a game that
    a table of it has done with.
    """

    def __init__(
        self,
        folder: HubFolder,
        clock: Clock,
        when_paired: Callable[[Pair], None],
        when_asked: Callable[[str], None] = lambda _: None,
        when_over: Callable[[str], None] = lambda _: None,
        *,
        when_shared: Callable[[str, bool], None] = lambda *_: None,
    ) -> None:
        self._folder = folder
        self._when_paired = when_paired
        self._when_asked = when_asked
        self._when_over = when_over
        self._again: dict[str, PairAgain] = {}
        self._sessions = Sessions(clock, when_shared)
        self._guesses = Guesses(EACH, clock.monotonic_s)
        self._offers: dict[str, tuple[str, PairOffer]] = {}

    def answer(self, table: str, payload: bytes) -> bytes:
        """Return what the hub answers to a table's wish."""
        try:
            return msgspec.json.encode(self._answer(table, payload))
        except CompanionError as error:
            return msgspec.json.encode(PairAnswer(refused=i18n.packed(error.message)))

    def named(self, game: str) -> Pair | None:
        """Return the game at two tables by its id, while its tables have agreed on no other."""
        file = self._folder.now
        pair = file.pair(game)
        return pair if pair and file.pair_of(pair.tables[Seat.SOUTH]) == pair else None

    def is_seated(self, table: str, pair: str, seat: Seat) -> bool:
        """Return whether this is the table of that seat, in a game on which it has agreed here."""
        known = self._folder.now.pair(pair)
        return known is not None and known.tables[seat] == table

    def forget(self, table: str) -> None:
        """Forget a table that has left the hub."""
        self._offers.pop(table, None)
        self._again.pop(table, None)
        self._sessions.forget(table)
        gone = self._folder.now.pair_of(table)
        self._folder.change(
            lambda file: replace(
                file, pairs=tuple(pair for pair in file.pairs if table not in pair.tables.values())
            )
        )
        if gone is not None:
            self._when_over(gone.id)

    def _answer(self, table: str, payload: bytes) -> PairAnswer:
        match read_wish(payload):
            case PairOffer() as offer:
                require_playable(offer.game, offer.options)
                code = new_code(LENGTH)
                self._offers[table] = (code, offer)
                return PairAnswer(code=code)
            case PairLook() as look:
                return PairAnswer(offer=self._offer_under(look.code, table)[1])
            case PairTake() as take:
                return PairAnswer(pair=self._take(table, take))
            case PairAgain() as again:
                return PairAnswer(self._rematch(table, again))
            case SessionClaim() as claim:
                return PairAnswer(session=self._sessions.claim(table, claim.id))
            case PairWithdrawal():
                self._offers.pop(table, None)
        code, _ = self._offers.get(table, ("", None))
        pair = self._folder.now.pair_of(table)
        return PairAnswer(pair, code, again=bool(pair and self._wants(pair, pair.other_of(table))))

    def _wants(self, pair: Pair, table: str) -> PairAgain | None:
        """Return what a table wants after this game. None: no other one, as far as it has said."""
        again = self._again.get(table)
        return again if again is not None and again.id == pair.id else None

    def _rematch(self, table: str, again: PairAgain) -> Pair | None:
        """Return the next game of two tables, once both want it.

        None: the other one has not asked yet.
        """
        pair = self._folder.now.pair_of(table)
        if pair is None or pair.id != again.id:
            raise Illegal(Refusal.WRONG_PHASE, say("For another game, pair the tables again"))
        self._again[table] = again
        other = pair.other_of(table)
        wish = self._wants(pair, other)
        if wish is None:
            self._when_asked(other)
            return None
        tables, names = pair.tables, pair.names
        # sides change only if both tables want that
        if again.swaps and wish.swaps:
            tables = {seat.other: table for seat, table in tables.items()}
            names = {seat.other: name for seat, name in names.items()}
        # the higher of the two next numbers is free in both journals
        number = max(again.number, wish.number)
        game, options = pair.game, pair.options
        return self._keep(Pair(_new_id(), game, options, number, tables, names, pair.id))

    def _take(self, table: str, take: PairTake) -> Pair:
        other, offer = self._offer_under(take.code, table)
        require_version(offer.version, take.version)
        tables = {offer.seat: other, offer.seat.other: table}
        names = {offer.seat: offer.name, offer.seat.other: take.name}
        number = max(offer.number, take.number)
        return self._keep(Pair(_new_id(), offer.game, offer.options, number, tables, names))

    def _keep(self, pair: Pair) -> Pair:
        """Keep a game on which two tables have agreed."""
        tables = set(pair.tables.values())
        former = [self._folder.now.pair_of(table) for table in tables]
        self._folder.change(lambda file: replace(file, pairs=(*file.pairs[1 - MAX_PAIRS :], pair)))
        for table in tables:
            self._offers.pop(table, None)
            self._again.pop(table, None)
        self._when_paired(pair)
        for game in {old.id for old in former if old is not None} - {pair.id}:
            self._when_over(game)
        return pair

    def _offer_under(self, code: str, asker: str) -> tuple[str, PairOffer]:
        """Return the table that offers a game under a code, and its offer. Raises `Illegal`."""
        typed = plain_code(code).encode()
        owners = [
            table
            for table, (own, _) in self._offers.items()
            # compared in constant time, so that a guess learns nothing from how long it took
            if hmac.compare_digest(own.encode(), typed)
        ]
        wrong = say("No game is offered under that code now")
        often = say("Too many wrong codes: wait a minute")
        self._guesses.require(asker, lambda: bool(owners), wrong, often)
        # should two have drawn the same code, the later offer counts
        owner = owners[-1]
        if owner == asker:
            raise Illegal(
                Refusal.JOIN_CODE, say("That is this table’s own code: enter it at the other table")
            )
        return owner, self._offers[owner][1]


def _new_id() -> str:
    """Return an id for a game at two tables."""
    return secrets.token_hex(8)
