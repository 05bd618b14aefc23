"""The hub's part in games at two tables: it keeps offers, and connects the two tables of each pair.

Messages between the tables pass through NATS's store. The hub does not read them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from companion.core import i18n
from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.network import matches_code, new_code
from companion.hub.pair_messages import (
    ClaimAnswer,
    MachineClaim,
    Pair,
    PairAcceptance,
    PairAnswer,
    PairOffer,
    PairWithdrawal,
    read_request,
    require_version,
)
from companion.hub_server.folder import MAX_PAIRS, HubFolder
from companion.table.remote.remote_table import require_playable
from web.security.codes import CODE_GUESS_RATE, JOIN_CODE_LENGTH
from web.security.rate_limit import GuessLimit

# Seconds without a claim after which a machine is gone. Machines claim every ten seconds.
CLAIM_TIMEOUT_S = 25.0


class _Claims(NamedTuple):
    """Monotonic times in seconds of a machine's first and last claim to be a table."""

    first_s: float
    last_s: float


class MachineClaims:
    """Tracks which machine is each table: the first one of those that still claim it.

    Two machines with one identity would overwrite each other's records. That happens if somebody
    copies the SD card of a table.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # by table, the claims of each machine, with the machine that claimed first at the front
        self._claims: dict[str, dict[str, _Claims]] = {}

    def claim(self, table: str, machine: str) -> ClaimAnswer:
        """Handle a machine's claim to be a table, and return the answer.

        A second machine is refused at once. The answer is `open` until the first one claims the
        table again, then `taken`. After a lost connection or a restart, the same machine is still
        the first one.
        """
        now_s = self._clock.monotonic_s()
        live = {
            name: claims
            for name, claims in self._claims.get(table, {}).items()
            if now_s - claims.last_s < CLAIM_TIMEOUT_S
        }
        self._claims[table] = live
        first_s = live[machine].first_s if machine in live else now_s
        # two are enough to refuse a third. Storing any number of machines would fill the memory
        if len(live) < 2 or machine in live:
            live[machine] = _Claims(first_s, now_s)
        holder = next(iter(live))
        if holder == machine:
            return "own" if len(live) == 1 else "shared"
        return "taken" if live[holder].last_s > first_s else "open"


class _OpenOffer(NamedTuple):
    """An offer of a table that nobody has accepted yet."""

    code: str
    """Code to enter at the other table."""
    offer: PairOffer


class PairKeeper:
    """Keeps offers in memory, and stores the pairs: games that two tables have arranged.

    The hub's connection to NATS calls it in its own thread, the owner's pages only `forget`.
    `when_paired` is called after a pair is stored, and has to let its tables use the subjects of
    their game. `when_over` is called with the id of a pair when one of its tables has begun another
    one or has left the hub.
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
        self._machine_claims = MachineClaims(clock)
        self._guesses = GuessLimit(CODE_GUESS_RATE, clock.monotonic_s)
        # by the table that offers
        self._offers: dict[str, _OpenOffer] = {}

    def answer(self, table: str, payload: bytes) -> bytes:
        """Return the encoded answer to a table's request. A refusal is an answer, too."""
        try:
            return msgspec.json.encode(self._answer(table, payload))
        except CompanionError as error:
            return msgspec.json.encode(PairAnswer(refused=i18n.sentence_to_json(error.message)))

    def current(self, pair_id: str) -> Pair | None:
        """Return the pair with this id.

        None if there is none, or if one of its tables has begun another game.
        """
        file = self._folder.file
        pair = file.pair(pair_id)
        return pair if pair and file.pair_of(pair.tables[Seat.SOUTH]) == pair else None

    def is_seated(self, table: str, pair_id: str, seat: Seat) -> bool:
        """Return whether a table plays this seat in the pair with this id."""
        pair = self._folder.file.pair(pair_id)
        return pair is not None and pair.tables[seat] == table

    def forget(self, table: str) -> None:
        """Forget the offer and the games of a table that has left the hub.

        Raises `SystemTrouble` if the hub's file cannot be written.
        """
        self._offers.pop(table, None)
        current = self._folder.file.pair_of(table)
        self._folder.change(
            lambda file: replace(
                file, pairs=tuple(pair for pair in file.pairs if table not in pair.tables.values())
            )
        )
        if current is not None:
            self._when_over(current.id)

    def _answer(self, table: str, payload: bytes) -> PairAnswer:
        """Carry out a request. Raises a `CompanionError`."""
        match read_request(payload):
            case PairOffer() as offer:
                require_playable(offer.game, offer.options)
                code = new_code(JOIN_CODE_LENGTH)
                self._offers[table] = _OpenOffer(code, offer)
                return PairAnswer(code=code)
            case PairAcceptance() as acceptance:
                return PairAnswer(pair=self._accept(table, acceptance))
            case MachineClaim() as claim:
                return PairAnswer(claim_answer=self._machine_claims.claim(table, claim.id))
            case PairWithdrawal():
                self._offers.pop(table, None)
        # the answer to a withdrawal, or to a question
        own = self._offers.get(table)
        return PairAnswer(self._folder.file.pair_of(table), own.code if own else "")

    def _accept(self, table: str, acceptance: PairAcceptance) -> Pair:
        """Store the game that a table accepts by its code, and return it."""
        offering_table, offer = self._find_offer(acceptance.code, table)
        require_version(offer.version, acceptance.version)
        tables = {offer.seat: offering_table, offer.seat.other: table}
        names = {offer.seat: offer.name, offer.seat.other: acceptance.name}
        number = max(offer.number, acceptance.number)
        pair_id = secrets.token_hex(8)
        return self._store(Pair(pair_id, offer.game, offer.options, number, tables, names))

    def _store(self, pair: Pair) -> Pair:
        """Store a new game of two tables and report the games that it replaces."""
        tables = set(pair.tables.values())
        former = [self._folder.file.pair_of(table) for table in tables]
        self._folder.change(lambda file: replace(file, pairs=(*file.pairs[1 - MAX_PAIRS :], pair)))
        for table in tables:
            self._offers.pop(table, None)
        self._when_paired(pair)
        for pair_id in {old.id for old in former if old is not None} - {pair.id}:
            self._when_over(pair_id)
        return pair

    def _find_offer(self, typed: str, asker: str) -> tuple[str, PairOffer]:
        """Return the table that offers a game under a code, and its offer. Raises `Illegal`."""
        matches = [
            (table, open_offer.offer)
            for table, open_offer in self._offers.items()
            if matches_code(typed, open_offer.code)
        ]
        wrong_code = say("No game is offered under that code now")
        too_many = say("Too many wrong codes: wait a minute")
        self._guesses.require_right_guess(asker, lambda: bool(matches), wrong_code, too_many)
        # if two offers have the same code, the later one counts
        owner, offer = matches[-1]
        if owner == asker:
            raise Illegal(
                Refusal.JOIN_CODE, say("That is this table’s own code: enter it at the other table")
            )
        return owner, offer
