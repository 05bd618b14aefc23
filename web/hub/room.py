"""A room of tables as its pages know it: what each has told, since when it is silent, and what may
be shown by now.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from companion.core.clock import Clock
from companion.core.i18n import Verbatim, say, say_n
from companion.league.league import League
from companion.table.public.messages import PublicRecord, PublicState, encode_public, read_record
from companion.table.seats.staff_call import Call
from companion.table.session import Phase
from web.security.auth import Auth
from web.server.sse import Streams

SILENT_S = 30.0
"""Seconds of silence after which a table counts as lost. It says something every ten."""
CLOCK_OFF_S = 120.0
"""Seconds by which a table's clock may be off before that is said."""
WALL_S = 0.25
"""Least time between two drawings of the wall, in seconds."""
MAX_DELAY_S = 3600
MAX_RECENT = 16
"""Maximum number of a table's records for spectators who are late. Later ones miss some."""
MAX_WAITING_BYTES = 4 * 1024 * 1024
"""Bytes of a table's records that wait for a delay to be over.

A record has some 4 kB, and a game one in five seconds: an hour of it has 3 MB. With more, the
oldest are left out.
"""


@dataclass(frozen=True)
class Shown:
    """A record, when it came (the hub's monotonic time), and how old it was by then."""

    record: PublicRecord
    came_s: float
    age_s: float = 0.0


@dataclass(frozen=True)
class RoomTable:
    """A table: its name in subjects, its number and name for people, and what it has told.

    `heard_s` is when it was heard last (0: never since the hub began), `clock_off_s` how far its
    clock is ahead. `refused` says what the hub does not take of it; `shut`: it may say nothing any
    more; `closed`: no game begins at it. `asked`: settings wait for its answer; `answer` is what
    came of the last ones, packed.
    """

    id: str
    number: int
    name: str
    shown: Shown | None = None
    state: PublicState | None = None
    heard_s: float = 0.0
    clock_off_s: float = 0.0
    refused: str = ""
    shut: bool = False
    closed: bool = False
    waits: bool = False
    """Whether the host has not let it in yet."""
    asked: bool = False
    answer: Any = ""
    is_shared: bool = False
    """Whether two machines have tried to be this table."""

    def is_lost(self, now_s: float) -> bool:
        """Return whether it has been silent for long."""
        return now_s - self.heard_s > SILENT_S

    @property
    def phase(self) -> Phase:
        """Return the phase of its game."""
        return self.shown.record.view.phase if self.shown else Phase.LOBBY

    def needs(self, now_s: float) -> str:
        """Return what somebody should do there, as a sentence. Empty: nothing."""
        state = self.state
        # what hinders most is said before what can wait
        if self.waits:
            return say("It wants to join: let it in on the owner’s page.")
        if self.shut:
            return say("It has sent too much and was shut out.")
        if self.is_shared:
            return say("Two machines want to be this table.")
        if self.is_lost(now_s):
            return say("It is silent.")
        if state and state.call is not Call.NONE:
            return (
                say("It is calling.") if state.call is Call.CALLED else say("Somebody is coming.")
            )
        if self.refused:
            return self.refused
        if abs(self.clock_off_s) > CLOCK_OFF_S:
            return say("Its clock is wrong.")
        return ""


class Notifier:
    """A version that pages follow. Any thread may wait."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0

    @property
    def version(self) -> int:
        """Return the number of the newest change."""
        return self._version

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until there is another version, or for the timeout. Return the newest."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != version, timeout_s)
        return self._version

    def change(self) -> None:
        """Count a change and wake whoever waits."""
        with self._changed:
            self._version += 1
            self._changed.notify_all()


@dataclass(frozen=True)
class _Packed:
    """A record as it was sent, which takes a tenth of the memory."""

    content: bytes
    came_s: float
    age_s: float

    def unpack(self) -> Shown:
        """Return the record to be shown."""
        return Shown(read_record(self.content), self.came_s, self.age_s)


def _pack(shown: Shown) -> _Packed:
    return _Packed(encode_public(shown.record), shown.came_s, shown.age_s)


class Delayed(Notifier):
    """A table as spectators may see it by now. Records that are too young wait.

    The last ones are kept, so that a spectator who is late sees each of them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shown: Shown | None = None
        self._waiting: deque[_Packed] = deque()
        self._waiting_bytes = 0
        self._recent: deque[tuple[int, _Packed]] = deque(maxlen=MAX_RECENT)
        """The last records by their versions."""

    def take(self, shown: Shown, now_s: float, delay_s: float) -> None:
        """Take a record, and show what is old enough by now."""
        packed = _pack(shown)
        self._waiting.append(packed)
        self._waiting_bytes += len(packed.content)
        # a long delay may not fill the memory
        while self._waiting_bytes > MAX_WAITING_BYTES:
            self._pop()
        self.step(now_s, delay_s)

    def step(self, now_s: float, delay_s: float) -> None:
        """Show what is old enough by now."""
        # a record is due by when the table accepted it, not by when it came
        while self._waiting and self._waiting[0].came_s - self._waiting[0].age_s + delay_s <= now_s:
            packed = self._pop()
            self.shown = packed.unpack()
            self._recent.append((self.version + 1, packed))
            self.change()

    def _pop(self) -> _Packed:
        """Take the oldest record that waits."""
        oldest = self._waiting.popleft()
        self._waiting_bytes -= len(oldest.content)
        return oldest

    def since(self, version: int) -> list[tuple[int, Shown | None]]:
        """Return what was shown after this version, the oldest first.

        From -1 on it is the newest alone.
        """
        newest, shown = self.version, self.shown
        if version == newest:
            return []
        recent = tuple(self._recent) if version >= 0 else ()
        between = [
            (number, packed.unpack()) for number, packed in recent if version < number < newest
        ]
        # the newest comes last, whatever is still there of those between
        return [*between, (newest, shown)]


class Room(Notifier):
    """All tables. Every method may be called from any thread.

    What pages follow is the room itself (the wall) and `delayed(number)` (spectators). `step` has
    to be called every now and then: it shows what has become old enough, and who has fallen silent.
    """

    def __init__(self, name: str, clock: Clock, delay_s: float = 0.0) -> None:
        super().__init__()
        self.name = name
        self.delay_s = delay_s
        self.trouble = ""
        """Trouble of the hub itself, as a sentence."""
        self._clock = clock
        self._lock = threading.Lock()
        self._tables: dict[str, RoomTable] = {}
        self._delayed: dict[str, Delayed] = {}
        self._lost: frozenset[str] = frozenset()
        self._is_stale = False
        self._drawn_s = -WALL_S

    @property
    def title(self) -> str:
        """Return the name of the room for people."""
        return Verbatim(self.name) if self.name else say("Our tables")

    # ---- asked by pages ----

    def now_s(self) -> float:
        """Return the monotonic time by which clocks are shown."""
        return self._clock.monotonic_s()

    def due_s(self, wall_s: float) -> float | None:
        """Return the monotonic time of a Unix time. None for 0, which is never."""
        # as far from now by the monotonic clock as by the clock on the wall
        return self._clock.monotonic_s() + wall_s - self._clock.wall_s() if wall_s else None

    def tables(self) -> tuple[RoomTable, ...]:
        """Return all tables by their numbers."""
        with self._lock:
            return tuple(sorted(self._tables.values(), key=lambda table: table.number))

    def free_tables(self) -> list[str]:
        """Return the tables where a game may begin, those at which nobody plays first."""
        now_s = self.now_s()
        usable = [
            table
            for table in self.tables()
            if table.state and not (table.is_lost(now_s) or table.closed or table.shut)
        ]
        # False sorts before True, so tables without a game come first
        usable.sort(key=lambda table: table.phase not in (Phase.LOBBY, Phase.OVER))
        return [table.id for table in usable]

    def table(self, number: int) -> RoomTable | None:
        """Return the table of that number."""
        with self._lock:
            return next((table for table in self._tables.values() if table.number == number), None)

    def delayed(self, table: str) -> Delayed | None:
        """Return what spectators of a table follow."""
        return self._delayed.get(table)

    # ---- told by the hub ----

    def put(self, table: RoomTable) -> None:
        """Add a table, or change what is registered of it."""
        with self._lock:
            self._delayed.setdefault(table.id, Delayed())
            # what the table itself has told stays
            known = self._tables.setdefault(table.id, table)
            self._tables[table.id] = replace(
                known,
                number=table.number,
                name=table.name,
                shut=table.shut,
                closed=table.closed,
                waits=table.waits,
            )
        self._touch()

    def remove(self, table: str) -> None:
        """Remove a table."""
        with self._lock:
            self._tables.pop(table, None)
            removed = self._delayed.pop(table, None)
        if removed:
            removed.change()
        self._touch()

    def record(self, table: str, record: PublicRecord, age_s: float = 0.0) -> None:
        """Take a record that a table accepted `age_s` ago."""
        now_s = self.now_s()
        shown = Shown(record, now_s, max(0.0, age_s))
        with self._lock:
            known = self._tables.get(table)
            if known is None:
                return
            last = known.shown.record if known.shown else None
            if last and (record.epoch, record.entry) <= (last.epoch, last.entry):
                return  # it is there already
            self._tables[table] = replace(known, shown=shown, heard_s=now_s, refused="")
            delayed = self._delayed[table]
        # outside of the lock: it unpacks the record and wakes all who follow
        delayed.take(shown, now_s, self.delay_s)
        self._touch()

    def state(self, table: str, state: PublicState) -> None:
        """Take the state of a table."""
        now_s = self.now_s()
        with self._lock:
            known = self._tables.get(table)
            if known is None:
                return
            off_s = state.at - self._clock.wall_s()
            self._tables[table] = replace(known, state=state, heard_s=now_s, clock_off_s=off_s)
        # a mere sign of life draws nothing anew
        if known.is_lost(now_s) or _without_time(known.state) != _without_time(state):
            self._touch()

    def update(self, table: str, **changes: Any) -> None:
        """Change what is known of a table, if it is there."""
        with self._lock:
            known = self._tables.get(table)
            if known is None or known == replace(known, **changes):
                return
            self._tables[table] = replace(known, **changes)
        self._touch()

    def share(self, table: str, is_shared: bool) -> None:
        """Mark a table as which two machines are connected, or one again."""
        self.update(table, is_shared=is_shared)

    def refuse_unread(self, table: str) -> None:
        """Mark a table of which something cannot be read."""
        why = say("It sends what this hub cannot read: give both the same version.")
        self.update(table, refused=why)

    def is_in_trouble(self, trouble: str) -> None:
        """Say what is wrong with the hub itself. Empty: nothing."""
        if trouble != self.trouble:
            self.trouble = trouble
            self._touch()

    def use_delay(self, delay_s: float) -> None:
        """Show spectators everything later from now on. What they have seen stays."""
        self.delay_s = min(max(0.0, delay_s), MAX_DELAY_S)
        self._touch()

    def step(self) -> None:
        """Show what has become old enough, and who has fallen silent."""
        now_s = self.now_s()
        for delayed in tuple(self._delayed.values()):
            delayed.step(now_s, self.delay_s)
        lost = frozenset(table.id for table in self.tables() if table.is_lost(now_s))
        if lost != self._lost:
            self._lost = lost
            self._is_stale = True
        self._draw_if_stale()

    def _touch(self) -> None:
        self._is_stale = True
        self._draw_if_stale()

    def _draw_if_stale(self) -> None:
        now_s = self.now_s()
        # tables tell all at once: without a pause the wall would be drawn for each
        if self._is_stale and now_s - self._drawn_s >= WALL_S:
            self._is_stale, self._drawn_s = False, now_s
            self.change()


def _without_time(state: PublicState | None) -> PublicState | None:
    return msgspec.structs.replace(state, at=0.0) if state else None


def late_words(delay_s: float) -> str:
    """Return how late spectators see what happens, in words."""
    if not delay_s:
        return say("As it happens.")
    if delay_s % 60 == 0:
        return say_n("{n} minute late.", "{n} minutes late.", round(delay_s / 60))
    return say_n("{n} second late.", "{n} seconds late.", round(delay_s))


@dataclass(frozen=True)
class HubContext:
    """A hub as its pages see it. `urls` are its addresses, the best one for phones first."""

    room: Room
    league: League
    clock: Clock
    guard: Auth
    streams: Streams
    urls: Callable[[], tuple[str, ...]]


class HubGroup:
    """A class with declared routes of a hub's pages, to be derived from and named."""

    def __init__(self, hub: HubContext) -> None:
        self._hub = hub
        self._room = hub.room
        self._league = hub.league
        self._guard = hub.guard
        self._streams = hub.streams
