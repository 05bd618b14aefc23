"""A table's connection to its hub, in its own thread.

The connection sends a record for every input that the table has accepted, exactly once and in
order. It also sends the current state of the table. It works like this:

1. After each connect, it asks the hub for the last record that the hub has stored of this table,
   and continues after that record.
2. Each record is sent with the sequence number of the record before it. JetStream (the store in
   NATS) rejects the record if any other one of this table has been stored since.

So each record is stored once and in order, whatever crashes or is sent again. The table never waits
for this thread.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError, NoRespondersError, NoServersError
from nats.errors import Error as NatsError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import say
from companion.hub.joining import tls_context
from companion.hub.loop_thread import LoopThread, loop_time_s, nats_client
from companion.hub.membership import Membership
from companion.hub.pair_client import PairClient
from companion.hub.subjects import (
    EXPECTED_SEQUENCE_HEADER,
    RECORDS_STREAM,
    WRONG_SEQUENCE_CODE,
    command_subject,
    inbox_prefix,
    record_subject,
    state_subject,
)
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.public.messages import PublicRecord, decode_record, encode_public

log = logging.getLogger(__name__)
# Timeout in seconds for the hub's confirmation that it has stored a message.
ANSWER_TIMEOUT_S = 3.0
# Pause in seconds before reconnecting. It doubles at every failure up to the maximum. That is
# short, because the hub's owner may be admitting this table at this moment.
MIN_RECONNECT_PAUSE_S = 0.25
MAX_RECONNECT_PAUSE_S = 5.0
# Interval in seconds between two attempts to send to a hub that stores nothing.
STORE_RETRY_S = 3.0
# Timeout in seconds for finishing the current message when the connection closes.
CLOSE_TIMEOUT_S = 0.5
# Interval in seconds at which the hub is asked again for our game at two tables while it does not
# answer. A hub that is still starting does not.
PAIR_RETRY_S = 2.0
# Interval in seconds at which this thread checks for something new to send. It has to look by
# itself, because `wake` only sets a flag.
POLL_INTERVAL_S = 0.03
# Pause in seconds before something new is sent, because the table's own work after an input comes
# first.
YIELD_PAUSE_S = 0.02
# Interval in seconds at which an unchanged state is sent again. Without it the hub would count the
# table as lost.
STATE_INTERVAL_S = 10.0

_DISK_FULL = say(
    "The hub cannot keep anything just now: its disk may be full. What is played here is sent "
    "later."
)


class HubStorageError(CompanionError, RuntimeError):
    """The hub is connected but cannot store messages, or does not confirm them."""

    kind = "hub_keeps_nothing"


class HubConnection:
    """Connects to the hub and sends what is new until `close`, which may be called twice.

    `start`, `wake`, `look_for_pair` and `close` may be called from any thread. The connection's
    thread calls three functions:

    - `encode_state` returns the table's encoded state.
    - `execute_command` gets each encoded command of the hub.
    - `note_connection` gets whether the hub is connected. It is called whenever that or `trouble`
      changes.
    """

    def __init__(
        self,
        membership: Membership,
        journal: Journal,
        pairs: PairClient,
        *,
        encode_state: Callable[[], bytes],
        execute_command: Callable[[bytes], None],
        note_connection: Callable[[bool], None],
    ) -> None:
        self._membership = membership
        self._outbox = Outbox(journal)
        self._pairs = pairs
        self._encode_state = encode_state
        self._execute_command = execute_command
        self._note_connection = note_connection
        self._has_news = False
        self._is_closing = False
        # sequence number in the hub's store of the last record of this table, 0 if there is none
        self._last_sequence = 0
        self._sent_state: bytes = b""
        self._state_sent_at_s = 0.0
        # time by `loop_time_s` at which the hub is asked for our game at two tables
        self._next_pair_request_at_s = 0.0
        self.is_connected = False
        self.trouble = ""
        """Sentence on why the hub does not receive everything.

        Empty if it receives everything, before the first attempt to connect, and after `close`.
        """
        self._thread = LoopThread("hub", self._run)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Note that there is something new to send."""
        self._has_news = True

    def look_for_pair(self) -> None:
        """Note that the hub has a game at two tables for this table."""
        self._next_pair_request_at_s = 0.0
        self.wake()

    def close(self) -> None:
        """Disconnect. What has not been sent yet is sent after the next start."""
        self._is_closing = True
        self.wake()
        self._thread.close(CLOSE_TIMEOUT_S)

    # ---- in the connection's thread ----

    async def _run(self) -> None:
        try:
            await self._keep_connected()
        finally:
            self._pairs.close()
            self._set_connection(False, "")

    async def _keep_connected(self) -> None:
        """Connect, and connect again after every failure until `close`. Report each failure."""
        pause_s = MIN_RECONNECT_PAUSE_S
        while not self._is_closing:
            try:
                await self._connect_and_serve()
            except (OSError, NatsError, CompanionError) as error:
                # the pause grows only while no attempt succeeds
                was_connected = self.is_connected
                self._set_connection(False, _explain_failure(error))
                pause_s = min(MAX_RECONNECT_PAUSE_S, pause_s * 2)
                if was_connected:
                    pause_s = MIN_RECONNECT_PAUSE_S
            except Exception:
                log.exception("Hub: the connection failed")
                trouble = say(
                    "Something went wrong with the connection to the hub: the log says more."
                )
                self._set_connection(False, trouble)
                pause_s = MAX_RECONNECT_PAUSE_S
            if not self._is_closing:
                await self._wait(pause_s)

    async def _connect_and_serve(self) -> None:
        """Connect, and serve the connection until it breaks."""
        membership = self._membership
        is_secure = any(server.startswith("tls:") for server in membership.servers)
        options = {
            "inbox_prefix": inbox_prefix(membership.table_id),
            "tls": tls_context(membership.ca) if is_secure else None,
            "ping_interval": 10,
        }
        try:
            async with nats_client(
                membership.servers, membership.private_key, self.wake, **options
            ) as client:
                await client.subscribe(
                    command_subject(membership.table_id), cb=self._handle_command
                )
                await self._serve(client)
        finally:
            self._pairs.note_loss()

    async def _serve(self, client: Client) -> None:
        """Serve a connection until it breaks or `close` is called.

        First find the record after the last one that the hub has. Then, again and again, claim the
        table for this machine, send the state if it has changed, send all records that wait, and
        wait for something new. If the hub cannot store records, only the records have to wait, for
        `STORE_RETRY_S`.
        """
        jetstream = client.jetstream(timeout=ANSWER_TIMEOUT_S)
        await self._pairs.claim(client)
        await self._seek(jetstream)
        self._pairs.reset_connection()
        self._next_pair_request_at_s = 0.0
        # if records wait, keep the trouble: the hub may still be unable to store them
        self._set_connection(True, self.trouble if self._outbox.next() else "")
        # every real state differs from an empty one, so the present state is sent
        self._sent_state = b""
        next_send_at_s = 0.0
        while client.is_connected and not self._is_closing:
            self._has_news = False
            await self._pairs.claim(client)
            await self._send_state(client)
            if loop_time_s() >= next_send_at_s:
                try:
                    await self._send_all(client, jetstream)
                    self._set_connection(True, "")
                except HubStorageError as error:
                    # there was no answer because the connection broke
                    if not client.is_connected:
                        raise ConnectionClosedError from None
                    # stay connected, because calls for the staff still need the connection
                    self._set_connection(True, error.message)
                    await self._seek(jetstream)
                    self._next_pair_request_at_s = 0.0
                    next_send_at_s = loop_time_s() + STORE_RETRY_S
            pause_s = STORE_RETRY_S if next_send_at_s > loop_time_s() else STATE_INTERVAL_S
            await self._wait(min(pause_s, self._pairs.pause_s), until_news=True)
            if self._has_news:
                await self._wait(YIELD_PAUSE_S)
            elif loop_time_s() >= self._state_sent_at_s + STATE_INTERVAL_S:
                # the state is sent again, although it has not changed
                self._sent_state = b""

    async def _send_all(self, client: Client, jetstream: JetStreamContext) -> None:
        """Send all records that wait. Raises what `_send` and `_exchange` raise."""
        await self._exchange(client, jetstream)
        while (record := self._outbox.next()) and not self._is_closing:
            await self._send(jetstream, record)
            self._outbox.note_sent()
            await self._send_state(client)
            await self._exchange(client, jetstream)

    async def _exchange(self, client: Client, jetstream: JetStreamContext) -> None:
        """Exchange messages of a game at two tables.

        It is called before each record is sent, because the other table is waiting. Raises
        `HubStorageError`, and errors of the library that end the connection.
        """
        try:
            if loop_time_s() >= self._next_pair_request_at_s:
                await self._fetch_pair(client)
            await self._pairs.exchange(client, jetstream)
        except (NatsTimeout, NoStreamResponseError):
            raise HubStorageError(_DISK_FULL) from None

    async def _fetch_pair(self, client: Client) -> None:
        """Ask the hub for our game at two tables. Ask again later if it does not answer."""
        # set before the request, because `look_for_pair` may reset this until the answer arrives
        self._next_pair_request_at_s = math.inf
        try:
            await self._pairs.fetch_pair(client)
        except (NatsTimeout, NoRespondersError):
            retry_at_s = loop_time_s() + PAIR_RETRY_S
            self._next_pair_request_at_s = min(self._next_pair_request_at_s, retry_at_s)
            log.info("Hub: it does not answer about games at two tables")

    async def _seek(self, jetstream: JetStreamContext) -> None:
        """Move the outbox to the record after the last one that the hub has.

        If the hub's last record is not from this journal, the current game is sent again from its
        beginning, under a higher epoch (see `PublicRecord.epoch`).
        """
        outbox = self._outbox
        subject = record_subject(self._membership.table_id)
        try:
            last = await jetstream.get_msg(RECORDS_STREAM, subject=subject, direct=True)
        except NotFoundError:
            self._last_sequence = 0
            outbox.seek(min(self._membership.start_after, outbox.last_position()))
            return
        self._last_sequence = last.seq or 0
        try:
            last_record = decode_record(last.data or b"")
        except Malformed:
            # The record is from a newer program, or from somebody else with this table's key. Its
            # epoch is unknown, so take its sequence number as the epoch. That is higher than any
            # epoch that this program has sent.
            outbox.seek(outbox.first_position(), last.seq or 1)
            return
        if outbox.mark_of(last_record.entry) == last_record.mark:
            outbox.seek(last_record.entry, last_record.epoch)
        else:
            # the journal was restored from a backup and differs from what the hub has
            outbox.seek(outbox.first_position(), last_record.epoch + 1)

    async def _send(self, jetstream: JetStreamContext, record: PublicRecord) -> None:
        """Send a record and wait until the hub has stored it.

        Raises `HubStorageError` if the hub does not confirm that. Raises `APIError` of the library
        if another record of this table has been stored since the last one that we know.
        """
        headers = {EXPECTED_SEQUENCE_HEADER: str(self._last_sequence)}
        try:
            answer = await jetstream.publish(
                record_subject(self._membership.table_id), encode_public(record), headers=headers
            )
        except (NatsTimeout, NoStreamResponseError):
            raise HubStorageError(_DISK_FULL) from None
        # JetStream has stored nothing, which cannot happen to messages without ids
        if answer.duplicate:
            raise HubStorageError(say("The hub did not keep a message: trying again."))
        self._set_connection(True, "")
        self._last_sequence = answer.seq

    async def _send_state(self, client: Client) -> None:
        state = self._encode_state()
        if state != self._sent_state:
            await client.publish(state_subject(self._membership.table_id), state)
            self._sent_state = state
            self._state_sent_at_s = loop_time_s()

    async def _handle_command(self, message: Msg) -> None:
        self._execute_command(message.data)

    async def _wait(self, seconds: float, until_news: bool = False) -> None:
        """Wait some seconds. With `until_news`, return early if there is something new to send."""
        ends_at_s = loop_time_s() + seconds
        while not (self._is_closing or (until_news and self._has_news)):
            remaining_s = ends_at_s - loop_time_s()
            if remaining_s <= 0:
                return
            await asyncio.sleep(min(POLL_INTERVAL_S, remaining_s))

    def _set_connection(self, is_connected: bool, trouble: str) -> None:
        """Set whether the hub is connected, and the trouble. If one of them changes, report it."""
        if trouble != self.trouble and trouble:
            log.warning("Hub: %s", trouble)
        has_changed = (is_connected, trouble) != (self.is_connected, self.trouble)
        self.is_connected = is_connected
        self.trouble = trouble
        if has_changed:
            self._note_connection(is_connected)


def _explain_failure(error: BaseException) -> str:
    """Return a sentence for people on why the connection broke."""
    if isinstance(error, CompanionError):
        return error.message
    if isinstance(error, APIError) and error.err_code == WRONG_SEQUENCE_CODE:
        return say("The hub has more from this table than was sent: checking again.")
    if any(word in str(error).lower() for word in ("authorization", "permissions")):
        return say(
            "The hub does not let this table in: ask its owner. If nobody knows it there, join "
            "again."
        )
    if isinstance(error, NoServersError | OSError):
        return say("The hub does not answer. What is played here is sent later.")
    return say("The connection to the hub was lost. What is played here is sent later.")
