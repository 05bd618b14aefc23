"""The hub's part in games at two tables: it holds the offers, and pairs tables that accept them.

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
    decode_request,
    require_same_version,
)
from companion.hub_server.folder import MAX_PAIRS, HubFolder
from companion.table.remote.remote_table import require_playable
from web.security.codes import CODE_GUESS_RATE, JOIN_CODE_LENGTH
from web.security.rate_limit import GuessLimit

# Time in seconds without a claim after which a machine counts as gone. Machines claim every ten
# seconds (see `CLAIM_INTERVAL_S` in `companion.hub.pair_client`).
CLAIM_TIMEOUT_S = 25.0


class _ClaimTimes(NamedTuple):
    """Monotonic times in seconds of a machine's first and last claim to be a table."""

    first_at_s: float
    last_at_s: float


class MachineClaims:
    """Decides which machine is a table if several claim to be: the first one that still claims it.

    If somebody copies the SD card of a table, two machines have one identity. Without this class
    they would write their records over each other's.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # times of the claims, by table and then by machine. The machine that claimed the table
        # first is the first one in its dictionary
        self._claims: dict[str, dict[str, _ClaimTimes]] = {}

    def claim(self, table_id: str, machine_id: str) -> ClaimAnswer:
        """Record a machine's claim to be a table, and return the answer.

        A second machine is refused at once. The answer is `open` until the first machine claims the
        table again, and `taken` from then on. If the first machine reconnects or restarts in time,
        it is still the first one.
        """
        now_s = self._clock.monotonic_s()
        claims = {
            machine: times
            for machine, times in self._claims.get(table_id, {}).items()
            if now_s - times.last_at_s < CLAIM_TIMEOUT_S
        }
        self._claims[table_id] = claims
        first_at_s = claims[machine_id].first_at_s if machine_id in claims else now_s
        # store two machines at most, because any number of claims could fill the memory
        if len(claims) < 2 or machine_id in claims:
            claims[machine_id] = _ClaimTimes(first_at_s, now_s)
        holder = next(iter(claims))
        if holder == machine_id:
            return "own" if len(claims) == 1 else "shared"
        return "taken" if claims[holder].last_at_s > first_at_s else "open"


class _OpenOffer(NamedTuple):
    """An offer of a table that nobody has accepted yet."""

    code: str
    """Code to enter at the other table."""
    offer: PairOffer


class PairRegistry:
    """Holds offers in memory, and stores the pairs: games that two tables have arranged.

    The thread of the hub's connection to NATS calls this object. The owner's pages call only
    `forget`. `when_paired` is called after a pair is stored, and has to let the pair's tables use
    the subjects of their game. `when_over` is called with the id of a pair when one of its tables
    has begun another game or has left the hub.
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
        # by the id of the table that offers
        self._offers: dict[str, _OpenOffer] = {}

    def answer(self, table_id: str, payload: bytes) -> bytes:
        """Carry out a table's encoded request, and return the encoded answer or refusal."""
        try:
            return msgspec.json.encode(self._answer(table_id, payload))
        except CompanionError as error:
            return msgspec.json.encode(PairAnswer(refused=i18n.sentence_to_json(error.message)))

    def current(self, pair_id: str) -> Pair | None:
        """Return the pair with this id, if it is the current game of both its tables.

        Return None if there is no such pair, or if one of its tables has begun another game.
        """
        file = self._folder.file
        pair = file.pair(pair_id)
        return pair if pair and file.current_pair(pair.tables[Seat.SOUTH]) == pair else None

    def is_seated(self, table_id: str, pair_id: str, seat: Seat) -> bool:
        """Return whether a table plays this seat in the pair with this id."""
        pair = self._folder.file.pair(pair_id)
        return pair is not None and pair.tables[seat] == table_id

    def forget(self, table_id: str) -> None:
        """Forget the offer and the games of a table that has left the hub.

        Raises `SystemTrouble` if the hub's file cannot be written.
        """
        self._offers.pop(table_id, None)
        current = self._folder.file.current_pair(table_id)
        self._folder.change(
            lambda file: replace(
                file,
                pairs=tuple(pair for pair in file.pairs if table_id not in pair.tables.values()),
            )
        )
        if current is not None:
            self._when_over(current.id)

    def _answer(self, table_id: str, payload: bytes) -> PairAnswer:
        """Carry out a request, and return the answer. Raises `CompanionError` if it is refused."""
        match decode_request(payload):
            case PairOffer() as offer:
                require_playable(offer.game, offer.options)
                code = new_code(JOIN_CODE_LENGTH)
                self._offers[table_id] = _OpenOffer(code, offer)
                return PairAnswer(code=code)
            case PairAcceptance() as acceptance:
                return PairAnswer(pair=self._accept(table_id, acceptance))
            case MachineClaim() as claim:
                return PairAnswer(claim_answer=self._machine_claims.claim(table_id, claim.id))
            case PairWithdrawal():
                self._offers.pop(table_id, None)
        # the answer to a withdrawal, or to a query
        own_offer = self._offers.get(table_id)
        pair = self._folder.file.current_pair(table_id)
        return PairAnswer(pair, own_offer.code if own_offer else "")

    def _accept(self, table_id: str, acceptance: PairAcceptance) -> Pair:
        """Store the game that a table accepts by its code, and return it."""
        offering_table, offer = self._find_offer(acceptance.code, table_id)
        require_same_version(offer.version, acceptance.version)
        tables = {offer.seat: offering_table, offer.seat.other: table_id}
        names = {offer.seat: offer.name, offer.seat.other: acceptance.name}
        number = max(offer.number, acceptance.number)
        pair_id = secrets.token_hex(8)
        return self._store(Pair(pair_id, offer.game, offer.options, number, tables, names))

    def _store(self, pair: Pair) -> Pair:
        """Store a new game of two tables, and report the games that it replaces as over."""
        table_ids = set(pair.tables.values())
        former_pairs = [self._folder.file.current_pair(table_id) for table_id in table_ids]
        self._folder.change(lambda file: replace(file, pairs=(*file.pairs[1 - MAX_PAIRS :], pair)))
        for table_id in table_ids:
            self._offers.pop(table_id, None)
        self._when_paired(pair)
        for pair_id in {former.id for former in former_pairs if former} - {pair.id}:
            self._when_over(pair_id)
        return pair

    def _find_offer(self, typed_code: str, asking_table: str) -> tuple[str, PairOffer]:
        """Return the table that offers a game under a code, and its offer.

        Raises `Illegal` for a wrong code, after too many wrong codes, and for the code of the
        asking table itself.
        """
        matches = [
            (table_id, open_offer.offer)
            for table_id, open_offer in self._offers.items()
            if matches_code(typed_code, open_offer.code)
        ]
        wrong_code = say("No game is offered under that code now")
        too_many = say("Too many wrong codes: wait a minute")
        self._guesses.require_right_guess(asking_table, lambda: bool(matches), wrong_code, too_many)
        # if two offers have the same code, the later one counts
        offering_table, offer = matches[-1]
        if offering_table == asking_table:
            raise Illegal(
                Refusal.JOIN_CODE, say("That is this table’s own code: enter it at the other table")
            )
        return offering_table, offer
