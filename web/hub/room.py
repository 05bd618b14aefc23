"""All tables of a hub, as its pages show them, and the delay for spectators.

Tables send messages over NATS: records (a public view after each input) and states (connection,
call for staff, names). `companion.hub_server` passes them to the `HubRoom`, which the pages follow.
NATS sorts messages by subject. The subjects of a table's messages have its id, a random text.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from werkzeug.exceptions import NotFound

from companion.core.clock import Clock
from companion.core.i18n import Verbatim, say, say_n
from companion.league.league import League
from companion.table.public.messages import PublicRecord, PublicState, decode_record, encode_public
from companion.table.seats.staff_call import Call
from companion.table.session import BETWEEN_GAMES, Phase
from web.security.auth import Auth
from web.server.sse import Streams

# Seconds of silence after which a table counts as lost. Tables send something every ten seconds.
SILENCE_TIMEOUT_S = 30.0
# Minimum interval in seconds between two drawings of the wall.
WALL_INTERVAL_S = 0.25
# Maximum delay for spectators in seconds. A longer delay would need more memory, see
# `MAX_WAITING_BYTES`.
MAX_DELAY_S = 3600
# Maximum size in bytes of a table's records that wait for the delay. A record has about 4 kB, and a
# game sends one every five seconds, which makes 3 MB an hour.
MAX_WAITING_BYTES = 4 * 1024 * 1024
# Maximum number of recent records per table. Spectators who are further behind miss some.
MAX_RECENT_RECORDS = 16


@dataclass(frozen=True)
class TimedRecord:
    """A record, and when its table accepted it."""

    record: PublicRecord
    accepted_at_s: float
    """When the table accepted it, in the hub's monotonic time in seconds.

    In a `SpectatorFeed` it is later by the delay, so that clocks run as late as everything else.
    """


@dataclass(frozen=True)
class HubTable:
    """What the hub knows of a table. A change makes a new object."""

    id: str
    """Id in the subjects of messages. `number` and `name` are for people."""
    number: int
    name: str
    latest: TimedRecord | None = None
    """Latest record, without the delay for spectators."""
    state: PublicState | None = None
    last_heard_at_s: float = 0.0
    """Monotonic time of the last message, 0 if there was none since the hub's start."""
    refusal: str = ""
    """Why the last message was refused, as a sentence. Empty if it was not."""
    is_shut_out: bool = False
    """Whether the table has sent too much."""
    is_waiting: bool = False
    """Whether the table has joined, but the owner has not admitted it yet."""

    def is_lost(self, now_s: float) -> bool:
        """Return whether the table has been silent for more than `SILENCE_TIMEOUT_S`."""
        return now_s - self.last_heard_at_s > SILENCE_TIMEOUT_S

    @property
    def phase(self) -> Phase:
        """The phase of the table's game."""
        return self.latest.record.view.phase if self.latest else Phase.LOBBY

    def need(self, now_s: float) -> str:
        """Return why the table needs attention, as a sentence. Empty if it does not."""
        state = self.state
        # the most serious problem comes first
        if self.is_waiting:
            return say("It wants to join: let it in on the owner’s page.")
        if self.is_shut_out:
            return say("It has sent too much and was shut out.")
        if self.is_lost(now_s):
            return say("It is silent.")
        if state and state.call is Call.CALLED:
            return say("It is calling.")
        if state and state.call is not Call.NONE:
            return say("Somebody is coming.")
        return self.refusal


class Notifier:
    """A version number that any thread can wait for. Streams follow it, see `ChangeSource`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0

    @property
    def version(self) -> int:
        """The current version."""
        return self._version

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the version differs, at most for the timeout. Return the current version."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version, timeout_s)
        return self._version

    def notify(self) -> None:
        """Increase the version and wake all waiting threads."""
        with self._changed:
            self._version += 1
            self._changed.notify_all()


class _EncodedRecord(NamedTuple):
    """A `TimedRecord` whose record is encoded, which takes a tenth of the memory."""

    accepted_at_s: float
    content: bytes


class SpectatorFeed(Notifier):
    """The records of a table for its spectators.

    A new record waits here until the delay has passed, and is then shown. The records that were
    shown most recently stay available, so that slow spectators see each of them.

    Only the thread of the hub's connection to NATS calls `add` and `show_due`. Any thread may call
    `records_after` and `wait`.
    """

    def __init__(self) -> None:
        super().__init__()
        # The record that was shown last, None before the first one.
        self.latest: TimedRecord | None = None
        # Records whose delay has not passed, oldest first.
        self._waiting: deque[_EncodedRecord] = deque()
        self._waiting_bytes = 0
        # The records that were shown most recently, each with its version.
        self._recent: deque[tuple[int, _EncodedRecord]] = deque(maxlen=MAX_RECENT_RECORDS)

    def add(self, timed_record: TimedRecord) -> None:
        """Add a record to those that wait. If all of them are too large, drop the oldest ones."""
        content = encode_public(timed_record.record)
        self._waiting.append(_EncodedRecord(timed_record.accepted_at_s, content))
        self._waiting_bytes += len(content)
        while self._waiting_bytes > MAX_WAITING_BYTES:
            self._take_oldest()

    def show_due(self, now_s: float, delay_s: float) -> None:
        """Show the records whose delay has passed."""
        while self._waiting and self._waiting[0].accepted_at_s + delay_s <= now_s:
            accepted_at_s, content = self._take_oldest()
            # a clock in the record must run as late as everything else
            shown_at_s = accepted_at_s + delay_s
            # record and version change together: with only one of them changed, a reader could get
            # the record twice
            with self._changed:
                self.latest = TimedRecord(decode_record(content), shown_at_s)
                self._recent.append((self.version + 1, _EncodedRecord(shown_at_s, content)))
                self.notify()

    def _take_oldest(self) -> _EncodedRecord:
        """Remove the record that has waited longest, and return it."""
        oldest = self._waiting.popleft()
        self._waiting_bytes -= len(oldest.content)
        return oldest

    def records_after(self, version: int) -> list[tuple[int, TimedRecord | None]]:
        """Return the records that a spectator at a version has missed, oldest first.

        Each record comes with its version. The list is empty if the version is the current one.
        Otherwise it ends with the current version and the latest record, which is None before the
        table's first one. That record comes again if something else has changed, such as the delay.
        A new spectator has the version -1, and gets only the latest record.
        """
        with self._changed:
            newest_version = self.version
            latest = self.latest
            recent = tuple(self._recent)
        if version == newest_version:
            return []
        between = [
            (shown_version, TimedRecord(decode_record(content), accepted_at_s))
            for shown_version, (accepted_at_s, content) in recent
            if 0 <= version < shown_version < newest_version
        ]
        # some of the records between may be gone already, but the newest is always there
        return [*between, (newest_version, latest)]


class HubRoom(Notifier):
    """All tables of a hub.

    The wall follows the room itself, and spectators follow the `feed` of a table. `step` has to be
    called regularly: it shows records that are due, and detects lost tables.

    Only the thread of the hub's connection to NATS calls `step`, `receive_record` and
    `receive_state`. Any thread may call the other methods.
    """

    def __init__(self, name: str, clock: Clock, delay_s: float = 0.0) -> None:
        super().__init__()
        self.name = name
        self.delay_s = delay_s
        """Delay for spectators in seconds."""
        self.trouble = ""
        """Trouble of the hub itself, as a sentence. Empty if there is none."""
        self._clock = clock
        self._lock = threading.Lock()
        self._tables: dict[str, HubTable] = {}
        self._feeds: dict[str, SpectatorFeed] = {}
        self._lost_tables: frozenset[str] = frozenset()
        self._needs_drawing = False
        self._last_drawn_at_s = -WALL_INTERVAL_S

    @property
    def title(self) -> str:
        """The name of the room for people."""
        return Verbatim(self.name) if self.name else say("Our tables")

    # ---- called by pages ----

    def now_s(self) -> float:
        """Return the monotonic time in seconds that clocks on pages use."""
        return self._clock.monotonic_s()

    def due_s(self, wall_s: float) -> float | None:
        """Convert a Unix time to monotonic time. Return None for 0, which means never."""
        # the time from now until then is the same on both clocks
        return self._clock.monotonic_s() + wall_s - self._clock.wall_s() if wall_s else None

    def tables(self) -> tuple[HubTable, ...]:
        """Return all tables, sorted by number."""
        with self._lock:
            return tuple(sorted(self._tables.values(), key=lambda table: table.number))

    def free_tables(self) -> list[str]:
        """Return the ids of the tables that can play, those without a running game first.

        A table can play if it is connected, has told its state and is not shut out.
        """
        now_s = self.now_s()
        usable = [
            table
            for table in self.tables()
            if table.state and not (table.is_lost(now_s) or table.is_shut_out)
        ]
        # False sorts before True, so tables without a game come first
        usable.sort(key=lambda table: table.phase not in BETWEEN_GAMES)
        return [table.id for table in usable]

    def table(self, number: int) -> HubTable | None:
        """Return the table with this number, or None."""
        with self._lock:
            return next((table for table in self._tables.values() if table.number == number), None)

    def has_table(self, table_id: str) -> bool:
        """Return whether there is a table with this id. Called for every message."""
        return table_id in self._tables

    def number_of(self, table_id: str) -> int | None:
        """Return the number of the table with this id, or None."""
        table = self._tables.get(table_id)
        return table.number if table else None

    def feed(self, table_id: str) -> SpectatorFeed:
        """Return the feed of a table, or for an unknown table a feed that never changes."""
        return self._feeds.get(table_id) or SpectatorFeed()

    # ---- called by the hub ----

    def add(self, table: HubTable) -> None:
        """Add a table."""
        with self._lock:
            self._tables[table.id] = table
            self._feeds[table.id] = SpectatorFeed()
        self._request_drawing()

    def remove(self, table_id: str) -> None:
        """Remove a table."""
        with self._lock:
            self._tables.pop(table_id, None)
            removed = self._feeds.pop(table_id, None)
        if removed:
            removed.notify()
        self._request_drawing()

    def receive_record(self, table_id: str, record: PublicRecord, age_s: float = 0.0) -> None:
        """Take in a record that a table accepted `age_s` seconds ago.

        It is ignored if the table is unknown or has already sent a newer record.
        """
        now_s = self.now_s()
        timed_record = TimedRecord(record, now_s - max(0.0, age_s))
        with self._lock:
            table = self._tables.get(table_id)
            if table is None:
                return
            last = table.latest.record if table.latest else None
            if last and (record.epoch, record.entry) <= (last.epoch, last.entry):
                return  # the record is not new
            self._tables[table_id] = replace(
                table, latest=timed_record, last_heard_at_s=now_s, refusal=""
            )
            feed = self._feeds[table_id]
        # without the lock, because this takes long: it encodes the record and wakes all followers
        feed.add(timed_record)
        feed.show_due(now_s, self.delay_s)
        self._request_drawing()

    def receive_state(self, table_id: str, state: PublicState) -> None:
        """Take in the state of a table, which also shows that the table is connected."""
        now_s = self.now_s()
        with self._lock:
            table = self._tables.get(table_id)
            if table is None:
                return
            self._tables[table_id] = replace(table, state=state, last_heard_at_s=now_s)
        # an unchanged state causes no new drawing
        if table.is_lost(now_s) or table.state != state:
            self._request_drawing()

    def update(self, table_id: str, **changes: Any) -> None:
        """Change fields of a table, if it exists."""
        with self._lock:
            table = self._tables.get(table_id)
            changed = replace(table, **changes) if table else None
            if changed is None or changed == table:
                return
            self._tables[table_id] = changed
        self._request_drawing()

    def note_unreadable(self, table_id: str) -> None:
        """Note that a message of a table could not be read."""
        reason = say("It sends what this hub cannot read: give both the same version.")
        self.update(table_id, refusal=reason)

    def set_trouble(self, trouble: str) -> None:
        """Set the trouble of the hub itself. Empty if there is none."""
        if trouble != self.trouble:
            self.trouble = trouble
            self._request_drawing()

    def set_delay(self, delay_s: float) -> None:
        """Set the delay for spectators. Records that they have seen already stay on their pages."""
        self.delay_s = delay_s
        # every page names the delay, so all are drawn again
        for feed in tuple(self._feeds.values()):
            feed.notify()
        self._request_drawing()

    def step(self) -> None:
        """Show records that are due, and detect lost tables."""
        now_s = self.now_s()
        for feed in tuple(self._feeds.values()):
            feed.show_due(now_s, self.delay_s)
        lost = frozenset(table.id for table in self.tables() if table.is_lost(now_s))
        if lost != self._lost_tables:
            self._lost_tables = lost
            self._needs_drawing = True
        self._draw_if_due()

    def _request_drawing(self) -> None:
        """Let the wall be drawn again: at once, or `WALL_INTERVAL_S` after it was last drawn."""
        self._needs_drawing = True
        self._draw_if_due()

    def _draw_if_due(self) -> None:
        now_s = self.now_s()
        # many tables send at once, and the wall must not be drawn for each message
        if self._needs_drawing and now_s - self._last_drawn_at_s >= WALL_INTERVAL_S:
            self._needs_drawing = False
            self._last_drawn_at_s = now_s
            self.notify()


def delay_text(delay_s: float) -> str:
    """Return the delay for spectators in words."""
    if not delay_s:
        return say("As it happens.")
    if delay_s % 60:
        return say_n("{n} second late.", "{n} seconds late.", round(delay_s))
    return say_n("{n} minute late.", "{n} minutes late.", round(delay_s / 60))


@dataclass(frozen=True)
class HubContext:
    """What the hub's pages share: the tables, the league, and the parts of the application."""

    room: HubRoom
    league: League
    """The people, results and tournaments."""
    clock: Clock
    auth: Auth
    streams: Streams
    urls: Callable[[], tuple[str, ...]]
    """Returns the hub's addresses, the best one for phones first."""


class HubRouteGroup:
    """Base class of a hub's route groups. Subclasses set `name`, the prefix of endpoints."""

    def __init__(self, hub: HubContext) -> None:
        self._hub = hub
        self._room = hub.room
        self._league = hub.league
        self._cards = hub.league.cards
        self._tournaments = hub.league.tournaments
        self._auth = hub.auth
        self._streams = hub.streams

    def _require_table(self, number: int) -> HubTable:
        """Return the table with this number. Raises `NotFound`."""
        table = self._room.table(number)
        if table is None:
            raise NotFound
        return table
