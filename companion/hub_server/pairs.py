"""The hub's part in games at two tables: it stores offers and codes, and connects the two tables.

Their messages pass through its store. The hub does not read them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from companion.core import i18n
from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.network import is_code, new_code
from companion.hub.pairing import (
    Pair,
    PairAnswer,
    PairOffer,
    PairTake,
    PairWithdrawal,
    Session,
    SessionClaim,
    read_wish,
    require_version,
)
from companion.hub_server.folder import MAX_PAIRS, HubFolder
from companion.table.remote.remote_table import require_playable
from web.security.codes import EACH, LENGTH
from web.security.rate_limit import Guesses

HELD_S = 25.0
"""Seconds without a claim after which a machine is gone. Machines claim every ten seconds."""


class Sessions:
    """Tracks which machine is each table: the first one of those that live. Two machines with one
    identity would overwrite each other's records.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._claims: dict[str, dict[str, tuple[float, float]]] = {}
        """The times of the first and the last claim of each machine, by table."""

    def claim(self, table: str, machine: str) -> Session:
        """Handle a machine's claim to be a table.

        A second machine is refused at once, and hears why as soon as the first one has shown that
        it lives. The same machine after a lost connection or a restart finds nobody else.
        """
        now_s = self._clock.monotonic_s()
        known = self._claims.get(table, {})
        live = {name: times for name, times in known.items() if now_s - times[1] < HELD_S}
        self._claims[table] = live
        first_s, _ = live.get(machine, (now_s, now_s))
        # so that many names take no memory
        if len(live) < 2 or machine in live:
            live[machine] = (first_s, now_s)
        holder = next(iter(live))
        if holder == machine:
            return "own" if len(live) == 1 else "shared"
        return "taken" if live[holder][1] > first_s else "open"


class PairKeeper:
    """Keeps offers in memory, and stores the games that two tables have arranged.

    `when_paired` is called after a pair is stored and has to grant its tables their subjects.
    `when_over` is called with a game that one of its tables has replaced.
    """

    def __init__(
        self,
        folder: HubFolder,
        clock: Clock,
        *,
        when_paired: Callable[[Pair], None],
        when_over: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._when_paired = when_paired
        self._when_over = when_over
        self._sessions = Sessions(clock)
        self._guesses = Guesses(EACH, clock.monotonic_s)
        self._offers: dict[str, tuple[str, PairOffer]] = {}

    def answer(self, table: str, payload: bytes) -> bytes:
        """Return the encoded answer to a table's request."""
        try:
            return msgspec.json.encode(self._answer(table, payload))
        except CompanionError as error:
            return msgspec.json.encode(PairAnswer(refused=i18n.packed(error.message)))

    def current(self, game: str) -> Pair | None:
        """Return the game with this id. None if one of its tables has begun another game."""
        file = self._folder.file
        pair = file.pair(game)
        return pair if pair and file.pair_of(pair.tables[Seat.SOUTH]) == pair else None

    def is_seated(self, table: str, pair: str, seat: Seat) -> bool:
        """Return whether a table plays this seat in the pair with this id."""
        known = self._folder.file.pair(pair)
        return known is not None and known.tables[seat] == table

    def forget(self, table: str) -> None:
        """Forget a table that has left the hub."""
        self._offers.pop(table, None)
        gone = self._folder.file.pair_of(table)
        self._folder.change(
            lambda file: replace(
                file, pairs=tuple(pair for pair in file.pairs if table not in pair.tables.values())
            )
        )
        if gone is not None:
            self._when_over(gone.id)

    def _answer(self, table: str, payload: bytes) -> PairAnswer:
        """Carry out a request. Raises a `CompanionError`."""
        match read_wish(payload):
            case PairOffer() as offer:
                require_playable(offer.game, offer.options)
                code = new_code(LENGTH)
                self._offers[table] = (code, offer)
                return PairAnswer(code=code)
            case PairTake() as take:
                return PairAnswer(pair=self._accept(table, take))
            case SessionClaim() as claim:
                return PairAnswer(session=self._sessions.claim(table, claim.id))
            case PairWithdrawal():
                self._offers.pop(table, None)
        code, _ = self._offers.get(table, ("", None))
        return PairAnswer(self._folder.file.pair_of(table), code)

    def _accept(self, table: str, take: PairTake) -> Pair:
        """Store the game that a table accepts by its code, and return it."""
        other, offer = self._offer_under(take.code, table)
        require_version(offer.version, take.version)
        tables = {offer.seat: other, offer.seat.other: table}
        names = {offer.seat: offer.name, offer.seat.other: take.name}
        number = max(offer.number, take.number)
        return self._store(Pair(_new_id(), offer.game, offer.options, number, tables, names))

    def _store(self, pair: Pair) -> Pair:
        """Store a new game of two tables and report the games that it replaces."""
        tables = set(pair.tables.values())
        former = [self._folder.file.pair_of(table) for table in tables]
        self._folder.change(lambda file: replace(file, pairs=(*file.pairs[1 - MAX_PAIRS :], pair)))
        for table in tables:
            self._offers.pop(table, None)
        self._when_paired(pair)
        for game in {old.id for old in former if old is not None} - {pair.id}:
            self._when_over(game)
        return pair

    def _offer_under(self, code: str, asker: str) -> tuple[str, PairOffer]:
        """Return the table that offers a game under a code, and its offer. Raises `Illegal`."""
        owners = [table for table, (own, _) in self._offers.items() if is_code(code, own)]
        wrong_code = say("No game is offered under that code now")
        too_many = say("Too many wrong codes: wait a minute")
        self._guesses.require(asker, lambda: bool(owners), wrong_code, too_many)
        # if two offers have the same code, the later one counts
        owner = owners[-1]
        if owner == asker:
            raise Illegal(
                Refusal.JOIN_CODE, say("That is this table’s own code: enter it at the other table")
            )
        return owner, self._offers[owner][1]


def _new_id() -> str:
    return secrets.token_hex(8)
