"""The hub's connection to NATS, in its own thread.

The connection creates the streams, passes on tables' messages, and supervises the NATS server.
Tables publish a record for every input that they have accepted. JetStream, the store in NATS, keeps
the records in a stream, and a consumer delivers them to the hub in order. Messages between the two
tables of a game are in a stream of their own.

After any failure, the connection and the consumer are set up again. The server is restarted if it
has stopped or does not answer. The consumer continues after the last record whose results are
stored in the league.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import (
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    StorageType,
    StreamConfig,
    StreamInfo,
)
from nats.js.errors import APIError, NotFoundError, ServerError

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import say
from companion.core.messages import MAX_MESSAGE_BYTES
from companion.hub.loop_thread import LoopThread, nats_client
from companion.hub.subjects import (
    ALL_PAIRS,
    ALL_PRESENCE,
    ALL_RECORDS,
    ALL_REQUESTS,
    ALL_STATES,
    PAIRS_STREAM,
    PRESENCE,
    RECORDS_STREAM,
    announcement_subject,
    command_subject,
    message_subject,
    record_subject,
    table_id_of,
)
from companion.hub_server.members import Members
from companion.hub_server.nats_server import NatsServer
from companion.hub_server.pairs import PairRegistry
from companion.league.league import League
from companion.table.public.messages import PublicRecord, decode_record, decode_state
from web.hub.room import HubRoom
from web.security.rate_limit import Rate, TokenBuckets

log = logging.getLogger(__name__)
# Maximum number of records stored for each table. They are about fifty games.
MAX_RECORDS_PER_TABLE = 5000
# Pause in seconds between two steps of the periodic tasks.
STEP_PAUSE_S = 0.1
# Interval in seconds of checks of the server and the disk.
CHECK_INTERVAL_S = 1.0
# Timeout in seconds for finishing the current message when the connection closes.
CLOSE_TIMEOUT_S = 1.0
# Pause in seconds after an unanswered request to the server.
RETRY_S = 0.25
# Number of unanswered requests after which the server is restarted.
MAX_UNANSWERED = 3
# Timeout in seconds for an answer of the server.
ANSWER_TIMEOUT_S = 5.0
# Minimum free space in bytes. With less, the hub reports that its disk is full.
MIN_FREE_BYTES = 32 * 1024 * 1024
# Maximum size of a message between two tables in bytes, with its headers.
MAX_PAIR_MESSAGE_BYTES = 4096
# Maximum number of digits in the number of a message between two tables. It limits what one table
# can store for a game to some 40 MB, which leaves room for other tables' messages.
MAX_NUMBER_DIGITS = 4
# Time in seconds for which JetStream remembers message ids to find duplicates. It is the shortest
# time that JetStream allows, because our messages have no ids.
DUPLICATE_WINDOW_S = 0.1
# Seconds after which messages of a game at two tables are deleted.
MAX_PAIR_AGE_S = 60 * 86_400.0

# Rate limit of a table's messages: the size of a burst, then messages a second. A table that
# exceeds the limit is shut out. The burst covers what a long outage has delayed, and the rate is
# higher than any table needs.
MESSAGE_RATE = Rate(20_000, 100.0)
# Number of messages for which an invalid one counts.
BAD_MESSAGE_COST = 200
# Number of messages for which a request about a game at two tables counts. It counts for many,
# because NATS loads all permissions again when an offer is accepted.
REQUEST_COST = 20

_DISK_FULL = say(
    "The hub’s disk is full: make room, then start the hub again. Tables keep what they have and "
    "send it then."
)


class NatsConnection:
    """Runs the NATS server and a connection to it, from `start` to `close`.

    The connection's thread calls the members, the room, the league and the pairs. `close` may be
    called twice. Any thread may call the public methods, except `handle_record`, which only the
    connection's thread may call.
    """

    # set by `start`, because these parts need the connection themselves
    _members: Members
    _room: HubRoom
    _league: League
    _pairs: PairRegistry
    _step_parts: Callable[[], None]

    def __init__(
        self, folder: Path, server: NatsServer, private_key: str, max_store_mb: int
    ) -> None:
        self._folder = folder
        self._server = server
        self._private_key = private_key
        self._max_store_bytes = max_store_mb * 1024 * 1024
        self._client: Client | None = None
        # whether the disk has been full. After that NATS stores nothing until it is started again
        self._has_been_full = False
        self._is_closing = False
        self._message_tokens = TokenBuckets(MESSAGE_RATE, time.monotonic)
        # whether the room has shown each table's last record since the start of the hub
        self._has_last_records = False
        # why a record could not be stored, an error that ends the connection
        self._record_error: CompanionError | None = None
        self._checked_at_s = -CHECK_INTERVAL_S
        # set when tables can connect, or when the start has failed
        self.is_ready = threading.Event()
        # what has to be deleted: pairs of a stream and the subject of the messages in it
        self._pending_purges: set[tuple[str, str]] = set()
        self._thread = LoopThread("hub-store", self._run)
        self._start_error: CompanionError | None = None

    def start(
        self,
        members: Members,
        room: HubRoom,
        league: League,
        pairs: PairRegistry,
        step_parts: Callable[[], None],
    ) -> None:
        """Start the thread and wait until tables can connect, however long that takes.

        `step_parts` is called every `STEP_PAUSE_S` in the thread, and has to return quickly. Raises
        `SystemTrouble` if the NATS server cannot be started.
        """
        self._members = members
        self._room = room
        self._league = league
        self._pairs = pairs
        self._step_parts = step_parts
        self._thread.start()
        while not self.is_ready.wait(0.1):
            if not self._thread.is_alive:
                break
        if self._start_error:
            raise self._start_error

    def send_command(self, table_id: str, payload: bytes) -> None:
        """Send an encoded command to a table. It is lost if the table is not connected."""
        self._thread.call(
            lambda: asyncio.ensure_future(self._publish(command_subject(table_id), payload))
        )

    def forget(self, table_id: str) -> None:
        """Delete a table's records, and its messages to other tables."""
        subjects = {
            (RECORDS_STREAM, record_subject(table_id)),
            (PAIRS_STREAM, message_subject("*", table_id, "*")),
        }
        self._thread.call(lambda: self._pending_purges.update(subjects))

    def forget_pair(self, pair_id: str) -> None:
        """Delete the messages of a game at two tables."""
        self._thread.call(
            lambda: self._pending_purges.add((PAIRS_STREAM, message_subject(pair_id, "*", "*")))
        )

    def close(self) -> None:
        """Disconnect and stop the NATS server."""
        self._is_closing = True
        self._thread.close(CLOSE_TIMEOUT_S)

    # ---- in the connection's thread ----

    def handle_record(
        self, table_id: str, record: PublicRecord, age_s: float, sequence: int, stored_at_s: float
    ) -> None:
        """Handle a table's record. A result is stored before the room shows the record.

        `sequence` is the record's number in the stream. `stored_at_s` is the Unix time, by the
        hub's clock, at which the record was stored there, and `age_s` the seconds since then.
        Raises a `CompanionError` if the result cannot be stored.
        """
        if self._room.has_table(table_id):
            pair = record.pair
            if pair and not self._pairs.is_seated(table_id, pair.id, pair.seat):
                log.warning("Hub: a table reported a game at two tables in which it does not play")
                record = msgspec.structs.replace(record, pair=None)
            self._league.results.process_record(table_id, record, stored_at_s, sequence)
        self._room.receive_record(table_id, record, age_s)

    async def _run(self) -> None:
        """Run the NATS server, and serve it again after every failure until `close`."""
        # one thread is enough to write positions (`_save_positions`), so do not start several
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        try:
            self._server.start()
            while not self._is_closing:
                await self._serve()
        except CompanionError as error:
            self._start_error = error
        finally:
            self._server.close()
            self.is_ready.set()

    async def _serve(self) -> None:
        """Serve until the connection breaks, and report why it did. The caller tries again."""
        try:
            # periodic tasks also run without a connection
            await self._step()
            if not self._server.ensure_running():
                log.warning("Hub: nats-server had stopped and was restarted")
            await self._listen()
        except (OSError, NatsError, CompanionError) as error:
            log.warning("Hub: NATS: %s", error)
            if isinstance(error, ServerError):
                self._server.close()  # `ensure_running` restarts it
            self._room.set_trouble(self._explain_failure(error))
        except Exception:
            log.exception("Hub: the connection to NATS failed")
            self._room.set_trouble(say("Something went wrong in the hub: the log says more."))

    async def _listen(self) -> None:
        """Connect to NATS, and handle messages until the connection breaks. Raises what broke it.

        First create the streams and subscribe to the tables' messages, which callbacks then handle.
        Meanwhile, run the periodic tasks, delete data that is no longer needed, and check that the
        server answers.
        """
        # the server is on this machine, so the name in its certificate does not matter
        is_secure = self._server.url.startswith("tls:")
        options = {
            "tls": ssl._create_unverified_context() if is_secure else None,
            # messages that wait to be sent may take 8 MB, four times nats-py's default
            "pending_size": 8 * 1024 * 1024,
        }
        async with nats_client(
            [self._server.url], self._private_key, lambda: None, **options
        ) as client:
            self._client = client
            jetstream = client.jetstream(timeout=ANSWER_TIMEOUT_S)
            records_info = await self._create_streams(jetstream)
            self._record_error = None
            # a lower sequence number than before means that this is another store
            if records_info.state.last_seq < self._league.results.sequence:
                self._league.results.restart_sequence()
            # after a reconnect, the room still shows the last records and needs no others
            if not self._has_last_records:
                await self._load_last_records(jetstream)
            await self._subscribe(client, jetstream)
            self._room.set_trouble(_DISK_FULL if self._is_full() else "")
            self.is_ready.set()
            while client.is_connected and not self._is_closing:
                await self._step()
                # reconnect, so that the record that could not be stored is delivered again
                if self._record_error is not None:
                    raise self._record_error
                if time.monotonic() - self._checked_at_s >= CHECK_INTERVAL_S:
                    self._checked_at_s = time.monotonic()
                    await self._purge(jetstream)
                    await self._check_server(jetstream)

    async def _subscribe(self, client: Client, jetstream: JetStreamContext) -> None:
        """Subscribe to the tables' messages, and to their records from the stream."""
        handlers = {
            ALL_STATES: self._handle_state,
            ALL_PAIRS: self._handle_pair_message,
            ALL_PRESENCE: self._handle_presence,
            ALL_REQUESTS: self._handle_request,
        }
        for subject, handler in handlers.items():
            await client.subscribe(subject, cb=handler)
        # continue after the last record whose results were stored
        first_sequence = self._league.results.sequence + 1
        consumer = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=first_sequence
        )
        await jetstream.subscribe(
            ALL_RECORDS,
            stream=RECORDS_STREAM,
            ordered_consumer=True,
            config=consumer,
            cb=self._handle_record_message,
            # no limit, because an outage of the hub may leave many records
            pending_msgs_limit=-1,
        )

    async def _step(self) -> None:
        """Run the periodic tasks once, then pause."""
        self._room.step()
        self._step_parts()
        await self._save_positions()
        await asyncio.sleep(STEP_PAUSE_S)

    async def _save_positions(self) -> None:
        """Write the positions in tables' records, if they are due.

        A full disk is only logged. The connection has to stay, because calls for the staff need it,
        but need no disk.
        """
        try:
            await asyncio.to_thread(self._league.results.save_positions)
        except CompanionError as error:
            log.warning("Hub: %s", error)

    def _is_full(self) -> bool:
        """Return whether the disk is full, or was since the start of the hub."""
        self._has_been_full |= shutil.disk_usage(self._folder).free < MIN_FREE_BYTES
        return self._has_been_full

    async def _create_streams(self, jetstream: JetStreamContext) -> StreamInfo:
        """Create or update the streams. Return the information on the stream of records."""
        shared = StreamConfig(
            storage=StorageType.FILE,
            discard=DiscardPolicy.OLD,
            duplicate_window=DUPLICATE_WINDOW_S,
            allow_direct=True,
        )
        records = shared.evolve(
            name=RECORDS_STREAM,
            subjects=[ALL_RECORDS],
            max_msgs_per_subject=MAX_RECORDS_PER_TABLE,
            # most of the space is for records, some for games at two tables
            max_bytes=self._max_store_bytes * 9 // 10,
            max_msg_size=MAX_MESSAGE_BYTES * 2,
        )
        pairs = shared.evolve(
            name=PAIRS_STREAM,
            subjects=[ALL_PAIRS],
            max_msgs_per_subject=1,
            max_age=MAX_PAIR_AGE_S,
            max_bytes=self._max_store_bytes // 20,
            max_msg_size=MAX_PAIR_MESSAGE_BYTES,
        )
        for config in (records, pairs):
            try:
                await jetstream.update_stream(config)
            except NotFoundError:
                await jetstream.add_stream(config)
        return await jetstream.stream_info(RECORDS_STREAM)

    async def _load_last_records(self, jetstream: JetStreamContext) -> None:
        """Show the last record of every table in the room, until the consumer has caught up."""
        for table in self._room.tables():
            try:
                last = await jetstream.get_msg(
                    RECORDS_STREAM, subject=record_subject(table.id), direct=True
                )
                record = decode_record(last.data or b"")
                self._room.receive_record(table.id, record, _age_s(last.time))
            except (NotFoundError, Malformed):
                continue
        self._has_last_records = True

    async def _handle_record_message(self, message: Msg) -> None:
        """Handle a record of a table, unless an earlier one could not be stored."""
        table_id = table_id_of(message.subject)
        sequence = message.metadata.sequence.stream
        self._count_message(table_id)
        try:
            record = decode_record(message.data)
        except Malformed as error:
            self._reject(table_id, error)
            return
        stored = message.metadata.timestamp
        # after a failure, this and later records are delivered again
        if self._record_error is None:
            try:
                self.handle_record(table_id, record, _age_s(stored), sequence, stored.timestamp())
            except CompanionError as error:
                self._record_error = error

    async def _handle_state(self, message: Msg) -> None:
        table_id = table_id_of(message.subject)
        try:
            state = decode_state(message.data)
        except Malformed as error:
            self._reject(table_id, error)
            return
        self._count_message(table_id)
        self._room.receive_state(table_id, state)

    async def _handle_request(self, message: Msg) -> None:
        table_id = table_id_of(message.subject)
        self._count_message(table_id, REQUEST_COST)
        answer = self._pairs.answer(table_id, message.data)
        # permissions may have changed: let pending tasks run first
        await asyncio.sleep(0)
        await self._publish(message.reply, answer)

    async def _handle_pair_message(self, message: Msg) -> None:
        """Announce a table's message to the other table of its game.

        Only the number of the message is announced. The other table then fetches the message.
        """
        _, pair_id, table_id, number = message.subject.split(".")
        if self._room.has_table(table_id):
            is_valid = number.isdecimal() and len(number) <= MAX_NUMBER_DIGITS
            self._count_message(table_id, 1 if is_valid else BAD_MESSAGE_COST)
            if not is_valid:
                return
        # notify the other table only if both have arranged this game
        pair = self._pairs.current(pair_id)
        if pair and table_id in pair.tables.values():
            await self._publish(announcement_subject(pair.other_of(table_id), pair_id, number), b"")

    async def _handle_presence(self, message: Msg) -> None:
        """Announce a table's presence to the other table of its game."""
        _, pair_id, table_id = message.subject.split(".")
        self._count_message(table_id)
        if pair := self._pairs.current(pair_id):
            await self._publish(
                announcement_subject(pair.other_of(table_id), pair_id, PRESENCE), b""
            )

    def _count_message(self, table_id: str, cost: int = 1) -> None:
        """Count a message of a table as `cost` messages. Shut out a table that sends too many."""
        if not all(self._message_tokens.take_token(table_id) for _ in range(cost)):
            self._members.shut_out(table_id)

    def _reject(self, table_id: str, error: Malformed) -> None:
        """Count an invalid message, and show on the wall that this table's messages are refused."""
        self._count_message(table_id, BAD_MESSAGE_COST)
        log.debug("Hub: %s: %s", table_id, error.message)
        self._room.note_unreadable(table_id)

    async def _check_server(self, jetstream: JetStreamContext) -> None:
        """Check the free space and whether the server answers.

        Raises `ServerError` if the server has to be restarted.
        """
        # NATS refuses requests for a moment during a reload
        for _ in range(MAX_UNANSWERED):
            with contextlib.suppress(NatsError, TimeoutError):
                await jetstream.stream_info(RECORDS_STREAM)
                break
            await asyncio.sleep(RETRY_S)
        else:
            raise ServerError(description="no answer")
        self._room.set_trouble(_DISK_FULL if self._is_full() else "")

    async def _publish(self, subject: str, payload: bytes) -> None:
        if subject and self._client and self._client.is_connected:
            await self._client.publish(subject, payload)

    async def _purge(self, jetstream: JetStreamContext) -> None:
        """Delete the data of tables and games that are gone. What fails is tried again later."""
        for name, subject in tuple(self._pending_purges):
            try:
                await jetstream.purge_stream(name, subject=subject)
                self._pending_purges.discard((name, subject))
            except APIError as error:  # for example during a reload of NATS
                log.warning("Hub: data of a table cannot be deleted yet: %s", error)

    def _explain_failure(self, error: BaseException) -> str:
        """Return a sentence for people on why the connection failed."""
        if self._is_full():
            return _DISK_FULL
        if isinstance(error, CompanionError):
            return error.message
        return say("The hub’s store does not answer. It is being restarted.")


def _age_s(stored: datetime | None) -> float:
    """Return for how many seconds a record has been in the store."""
    return max(0.0, time.time() - stored.timestamp()) if stored else 0.0
