"""One table's end of a game at two tables.

This table's messages go from its journal to the hub, and those of the other table from the hub to
this journal. A pair is such a game with its two tables, as the hub knows it
(`companion.hub.pair_messages`).

    journal ── message n ──> hub (NATS JetStream) ── message n ──> journal of the other table

Each message has its own subject, which has its number, and JetStream accepts one message for each
subject. So every message is stored exactly once, whatever crashes or is sent again. A table knows
from its own journal how many messages it has, and requests the next number.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from typing import Any

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.errors import APIError, NotFoundError

from companion import __version__
from companion.core.clock import Clock
from companion.core.errors import CompanionError, JournalError, Malformed, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.hub.loop_thread import loop_time_s
from companion.hub.membership import machine_id
from companion.hub.pair_messages import (
    MachineClaim,
    Pair,
    PairAcceptance,
    PairAnswer,
    PairOffer,
    PairQuery,
    PairRequest,
    PairWithdrawal,
    decode_answer,
)
from companion.hub.subjects import (
    EXPECTED_SEQUENCE_HEADER,
    PAIRS_STREAM,
    WRONG_SEQUENCE_CODE,
    announcement_subject,
    message_subject,
    presence_subject,
    request_subject,
)
from companion.storage.journal import Journal
from companion.table.remote.messages import GameLeft, RemoteGame, RemoteSeat
from companion.table.remote.remote_table import require_playable
from companion.table.table import Table

log = logging.getLogger(__name__)
# Timeout in seconds for the hub's answer to a request.
ANSWER_TIMEOUT_S = 5.0
# Pause in seconds before a message is fetched again that was announced but is still being stored.
WRITE_PAUSE_S = 0.05
# Interval in seconds at which the hub is asked for new messages during a game.
POLL_INTERVAL_S = 2.0
# Interval in seconds at which this table reports its presence.
PRESENCE_INTERVAL_S = 10.0
# Time in seconds after which the other table counts as silent if there was no sign of it.
SILENCE_TIMEOUT_S = 30.0
# Interval in seconds between two claims that this machine is the table (see `MachineClaim`).
CLAIM_INTERVAL_S = 10.0

TWO_MACHINES = say(
    "Another machine is connected to the hub as this table. On one of the two run “companion hub "
    "leave”, and join again."
)
_OLD_JOURNAL = say(
    "This table’s journal is older than what the other table knows: this game cannot go on."
)
_BAD_MESSAGE = say("What the other table sends does not fit this game: it cannot go on")


async def fetch_stored_message(jetstream: JetStreamContext, subject: str) -> bytes | None:
    """Return the stored message of a subject in the stream of pairs, or None if there is none."""
    try:
        return (await jetstream.get_msg(PAIRS_STREAM, subject=subject, direct=True)).data or b""
    except NotFoundError:
        return None


class PairClient:
    """Arranges games at two tables and exchanges their messages.

    `offer`, `accept` and `withdraw` may be called from any thread, everything else only from the
    thread of the hub's connection (`companion.hub.hub_connection`). `own_table_id` is this table's
    id in NATS subjects, and `wake` makes that thread call `exchange` soon.
    """

    def __init__(
        self,
        table: Table,
        journal: Journal,
        clock: Clock,
        own_table_id: str,
        wake: Callable[[], None],
    ) -> None:
        self._table = table
        self._journal = journal
        self._clock = clock
        self._own_table_id = own_table_id
        self._machine_id = machine_id(journal.path)
        self._next_claim_at_s = 0.0
        self.is_shared = False
        """Whether another machine claims to be this table as well."""
        self._wake = wake
        # requests to the hub, each with the future of its answer, on which the caller waits
        self._queue: deque[tuple[PairRequest, Future[PairAnswer]]] = deque()
        self._pair: Pair | None = None
        # the pair's game if it is not on the table (any more), but may still have messages to send
        self._game_off_table: RemoteGame | None = None
        # sentence on why the game cannot go on, empty if it can
        self._fault = ""
        self._last_heard_at_s = 0.0
        # highest number of the other table's messages that the hub has announced
        self._announced_number = 0
        self._shown_trouble = ""
        self.offered_code = ""
        """Code under which this table offers a game. Empty if it offers no game."""
        self.reset_connection()

    # ---- from any thread ----

    def offer(self, game: str, options: dict[str, Any], seat: Seat, name: str) -> str:
        """Offer a game in which this table plays a seat.

        Return the code to enter at the other table. Raises a `CompanionError`.
        """
        require_playable(game, options)
        number = self._journal.next_number()
        offer = PairOffer(game, options, seat, __version__, number, name)
        self.offered_code = self._send_request(offer).code
        self._table.redraw()
        return self.offered_code

    def accept(self, code: str, name: str) -> None:
        """Accept the game that another table offers under this code, and begin it.

        Raises a `CompanionError`.
        """
        self._send_request(PairAcceptance(code, __version__, self._journal.next_number(), name))
        if self._fault:
            raise wrong_phase(self._fault)

    def withdraw(self) -> None:
        """Withdraw the offer. Raises a `CompanionError`."""
        self._send_request(PairWithdrawal())
        self.offered_code = ""
        self._table.redraw()

    def _send_request(self, request: PairRequest) -> PairAnswer:
        """Have the connection's thread send a request, and wait for the answer.

        Raises a `CompanionError`.
        """
        answer: Future[PairAnswer] = Future()
        self._queue.append((request, answer))
        self._wake()
        try:
            return answer.result(ANSWER_TIMEOUT_S)
        except (TimeoutError, CancelledError):
            answer.cancel()
            raise Malformed(say("The hub does not answer")) from None

    # ---- in the connection's thread ----

    @property
    def pause_s(self) -> float:
        """Maximum time in seconds between two exchanges if `wake` is not called."""
        is_playing = self._pair is not None and self._table.remote.is_running
        return POLL_INTERVAL_S if is_playing else PRESENCE_INTERVAL_S

    def reset_connection(self) -> None:
        """Reset what is valid for one connection only. Called after each connect."""
        self._announcements: Subscription | None = None
        # number of our messages that the hub has, or -1 if it has to be asked
        self._sent_count = -1
        # both are so long ago that presence and poll are due at once
        self._presence_sent_at_s = -PRESENCE_INTERVAL_S
        self._polled_at_s = -POLL_INTERVAL_S

    async def claim(self, client: Client) -> None:
        """Claim this table for this machine, at most every `CLAIM_INTERVAL_S` seconds.

        Raises `Illegal` if another machine is this table, or perhaps still is. If the hub does not
        answer, it is still starting, and the claim is repeated after the next interval.
        """
        if loop_time_s() < self._next_claim_at_s:
            return
        self._next_claim_at_s = loop_time_s() + CLAIM_INTERVAL_S
        try:
            answer = await self._request(client, MachineClaim(self._machine_id))
        except (NatsTimeout, NoRespondersError):
            return
        self.is_shared = answer.claim_answer == "shared"
        if answer.claim_answer == "taken":
            raise wrong_phase(TWO_MACHINES)
        # The connection ends and is tried again, until the hub knows whether the other machine
        # still is this table.
        if answer.claim_answer == "open":
            raise wrong_phase(say("Looking for the hub."))

    async def fetch_pair(self, client: Client) -> None:
        """Ask the hub for the game at two tables of this table, and begin it if it is new."""
        answer = await self._request(client, PairQuery())
        if answer.code != self.offered_code:
            self.offered_code = answer.code
            self._table.redraw()
        if answer.pair is not None and (self._pair is None or self._pair.id != answer.pair.id):
            self._begin(answer.pair)

    async def exchange(self, client: Client, jetstream: JetStreamContext) -> None:
        """Send pending requests to the hub, then exchange messages of the current game.

        Our messages that the hub does not have are sent at once. Those of the other table are
        fetched if the hub has announced one, and otherwise every `POLL_INTERVAL_S`, because an
        announcement may be lost.
        """
        await self._send_queue(client)
        pair = self._pair
        if pair is None:
            return
        await self._subscribe(client, announcement_subject(self._own_table_id, pair.id, "*"))
        game = self._game(pair)
        if loop_time_s() >= self._presence_sent_at_s + PRESENCE_INTERVAL_S:
            self._presence_sent_at_s = loop_time_s()
            await client.publish(presence_subject(pair.id, self._own_table_id), b"")
        await self._send(jetstream, pair, game)
        is_poll_due = loop_time_s() >= self._polled_at_s + POLL_INTERVAL_S
        if is_poll_due or game.received_count < self._announced_number:
            self._polled_at_s = loop_time_s()
            await self._receive(jetstream, pair)
        self._show_trouble()

    async def _subscribe(self, client: Client, subject: str) -> None:
        """Subscribe to announcements about this game instead of those about the previous one."""
        if self._announcements and self._announcements.subject != subject:
            await self._announcements.unsubscribe()
            self._announcements = None
        if self._announcements is None:
            self._announcements = await client.subscribe(subject, cb=self._handle_announcement)

    async def _send_queue(self, client: Client) -> None:
        """Send the queued requests and pass the answers to their callers.

        If the connection breaks, the request that is being sent stays queued for the next one.
        """
        while self._queue:
            request, future = self._queue[0]
            with contextlib.suppress(InvalidStateError):  # the caller has given up waiting
                try:
                    if not future.cancelled():
                        answer = await self._request(client, request)
                        if isinstance(request, PairAcceptance) and answer.pair is not None:
                            self._begin(answer.pair)
                        future.set_result(answer)
                except CompanionError as error:
                    future.set_exception(error)
            self._queue.popleft()

    def note_loss(self) -> None:
        """Show that the connection is lost, if a game needs it. Called after each disconnect."""
        # claim the table as soon as there is another connection
        self._next_claim_at_s = 0.0
        self._show_trouble(
            say("The connection to the other table is lost. The game goes on when it is back.")
        )

    def close(self) -> None:
        """Cancel all queued requests and clear the notice at the table."""
        while self._queue:
            _, future = self._queue.pop()
            future.cancel()
        self._table.set_notice("remote", "")

    async def _handle_announcement(self, message: Msg) -> None:
        """Note that the other table is there, and the number of its message if there is one."""
        self._last_heard_at_s = self._clock.monotonic_s()
        number = message.subject.rpartition(".")[2]
        # the number comes from outside, so accept only a number that a game can reach
        if number.isdecimal() and len(number) < 8:
            self._announced_number = max(self._announced_number, int(number))
        self._wake()

    async def _request(self, client: Client, request: PairRequest) -> PairAnswer:
        """Send a request and return the hub's answer.

        Raises `Illegal` if the hub refuses the request, `Malformed` for an answer that is not
        valid, and `NatsError` of the library if no answer comes.
        """
        payload = msgspec.json.encode(request)
        subject = request_subject(self._own_table_id)
        answer = await client.request(subject, payload, timeout=ANSWER_TIMEOUT_S)
        return decode_answer(answer.data)

    def _begin(self, pair: Pair) -> None:
        """Begin the game that was arranged.

        If the game cannot begin here, the other table has to know. It is sent the message that this
        table has left, which `_game` makes.
        """
        fault = ""
        self._game_off_table = None
        if self._find_in_journal(pair) is None:
            other = pair.seat_of(self._own_table_id).other
            seat = RemoteSeat(pair.id, other, pair.names.get(other, ""))
            next_number = self._journal.next_number()
            try:
                self._table.remote.begin_game(
                    seat, pair.number, pair.game, pair.options, next_number
                )
            except JournalError:
                raise
            except CompanionError as error:
                log.warning("Hub: the game at two tables cannot begin: %s", error.kind)
                fault = error.message
        self._pair = pair
        self._fault = fault
        self._sent_count = -1
        self._announced_number = 0
        self._polled_at_s = -POLL_INTERVAL_S
        self._last_heard_at_s = self._clock.monotonic_s()
        self.offered_code = ""

    def _find_in_journal(self, pair: Pair) -> RemoteGame | None:
        """Return the game of a pair if the journal has it, on the table or from before.

        Raises `JournalError` if the journal cannot be read.
        """
        if not self._journal.entries(pair.number):
            return None
        try:
            remote = self._journal.fold(pair.number).remote
        except CompanionError:  # a game of an earlier version may no longer fold to a session
            return None
        return remote if remote is not None and remote.remote_seat.id == pair.id else None

    def _game(self, pair: Pair) -> RemoteGame:
        """Return the game of a pair, from the table or else from the journal.

        If the game could not begin, its only message is that this table has left.
        """
        game = self._table.remote.remote_game
        if game is not None and game.remote_seat.id == pair.id:
            return game
        if self._game_off_table is None:
            seat = RemoteSeat(pair.id, pair.seat_of(self._own_table_id).other)
            self._game_off_table = self._find_in_journal(pair) or RemoteGame(seat, (GameLeft(),))
        return self._game_off_table

    async def _send(self, jetstream: JetStreamContext, pair: Pair, game: RemoteGame) -> None:
        """Send all messages of our game that the hub does not have."""
        if self._sent_count < 0:
            self._sent_count = await self._count_stored_messages(jetstream, pair, game)
        while self._sent_count < len(game.outgoing_messages) and self._fault != _OLD_JOURNAL:
            number = self._sent_count + 1
            subject = message_subject(pair.id, self._own_table_id, number)
            try:
                await jetstream.publish(
                    subject, game.encode_message(number), headers={EXPECTED_SEQUENCE_HEADER: "0"}
                )
            except APIError as error:
                # the hub has the message already, because the answer to an earlier attempt was lost
                if error.err_code != WRONG_SEQUENCE_CODE:
                    raise
            self._sent_count = number

    async def _count_stored_messages(
        self, jetstream: JetStreamContext, pair: Pair, game: RemoteGame
    ) -> int:
        """Return the number of our messages that the hub has.

        Note a fault if they differ from the journal's messages, as after an older journal was
        restored.
        """
        subject_after_last = message_subject(
            pair.id, self._own_table_id, len(game.outgoing_messages) + 1
        )
        if await fetch_stored_message(jetstream, subject_after_last) is not None:
            self._fault = _OLD_JOURNAL
        # search from the newest message back, because there are no gaps
        for number in range(len(game.outgoing_messages), 0, -1):
            payload = await fetch_stored_message(
                jetstream, message_subject(pair.id, self._own_table_id, number)
            )
            if payload is not None:
                if payload != game.encode_message(number):
                    self._fault = _OLD_JOURNAL
                return number
        return 0

    async def _receive(self, jetstream: JetStreamContext, pair: Pair) -> None:
        """Fetch and process the other table's messages in order, until there is no further one.

        A message that does not fit the game is a fault, after which nothing more is fetched.
        """
        other_table_id = pair.other_of(self._own_table_id)
        while not self._fault:
            game = self._table.remote.remote_game
            if game is None or game.remote_seat.id != pair.id:
                return
            number = game.received_count + 1
            subject = message_subject(pair.id, other_table_id, number)
            payload = await fetch_stored_message(jetstream, subject)
            # the message has been announced but is still being stored
            if payload is None and number <= self._announced_number:
                await asyncio.sleep(WRITE_PAUSE_S)
                payload = await fetch_stored_message(jetstream, subject)
            if payload is None:
                self._announced_number = number - 1
                return
            self._last_heard_at_s = self._clock.monotonic_s()
            try:
                self._table.remote.receive(pair.id, number, payload)
            except JournalError:
                raise
            except CompanionError as error:
                log.warning("Hub: the other table's message %s was refused: %s", number, error.kind)
                self._fault = _BAD_MESSAGE
            # send our answer to this message before the next one is processed
            await self._send(jetstream, pair, self._game(pair))

    def _show_trouble(self, connection_trouble: str = "") -> None:
        """Show at the table what is wrong with the game at two tables, if anything.

        `connection_trouble` is the sentence for a lost connection to the hub.
        """
        sentence = self._trouble(connection_trouble)
        if sentence != self._shown_trouble:
            self._shown_trouble = sentence
            self._table.set_notice("remote", sentence)

    def _trouble(self, connection_trouble: str) -> str:
        """Return what the table screen says about the other table, or "" if nothing is wrong."""
        game = self._table.remote.remote_game
        if self._pair is None:
            return ""
        # without a game on the table, the pair's game could not begin, and the fault says why
        if game is None:
            return self._fault
        if game.remote_seat.id != self._pair.id or not self._table.remote.is_running:
            return ""
        if trouble := self._fault or connection_trouble:
            return trouble
        if self._clock.monotonic_s() - self._last_heard_at_s >= SILENCE_TIMEOUT_S:
            return say("The other table is silent. The game goes on when it is back.")
        return ""
