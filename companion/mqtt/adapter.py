"""The door to the house: follows the table as everybody may know it, tells a broker, and hears a
few commands.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from companion import __version__
from companion.core.clock import Clock
from companion.core.config import MqttSettings, Settings
from companion.core.errors import Illegal
from companion.core.i18n import best_language
from companion.core.ports import Closeable, Signal
from companion.mqtt import topics as told
from companion.mqtt.connection import BrokerLine
from companion.mqtt.discovery import config_topic, description
from companion.mqtt.topics import packed
from companion.table.follower import Follower
from companion.table.listeners import TableListener
from companion.table.seats.staff_call import Call, StaffBell
from companion.table.table import Table
from companion.table.table_view import TableView

log = logging.getLogger(__name__)

MAX_SIGNALS = 64
LOOK_S = 0.5
"""How often the connection is looked at while nothing happens at the table."""
TELL_S = 0.1
"""How long to wait after something was told: what changes meanwhile is told as it is then."""


class MqttAdapter(Closeable):
    """Follows a table.

    A context manager, and `close` may be called twice. Nothing waits for the network.

    Switching MQTT off, or another topic, clears at a broker that is there what it keeps of this
    table. With `threads=False` the table is looked at in `step` only. The network has its own
    thread all the same.
    """

    def __init__(
        self, table: Table, settings: Settings, clock: Clock, *, threads: bool = True
    ) -> None:
        self._table = table
        self._settings = settings
        self._clock = clock
        self.bell = StaffBell(clock, table.redraw)
        """The key that calls the staff: it is there while somebody hears it."""
        self._threads = threads
        self.line: BrokerLine | None = None
        self._follower: Follower | None = None
        self._signals: deque[Signal] = deque(maxlen=MAX_SIGNALS)
        self._forget()
        table.connect(TableListener(on_signal=self._signals.append))
        self._open()

    # ---- from any thread ----

    @property
    def sentence(self) -> str:
        """Return how the connection to the broker is, for the page Health.

        Empty: MQTT is switched off.
        """
        line = self.line
        return line.sentence if line else ""

    @property
    def is_connected(self) -> bool:
        """Return whether the broker hears us."""
        line = self.line
        return bool(line and line.is_connected)

    def change(self, settings: Settings) -> None:
        """Go by other settings. What is no longer told is cleared at the broker."""
        before, self._settings = self._settings, settings
        if before.mqtt != settings.mqtt:
            self._hang_up(retained_topics(before.mqtt) - retained_topics(settings.mqtt))
            self._open()

    def step(self) -> None:
        """Look at the table and have it told. Only without a thread of its own."""
        if not self._threads:
            self._look()

    def close(self) -> None:
        """Say good-bye to the broker, and end the threads."""
        self._hang_up()

    # ---- opening and closing ----

    @property
    def _mqtt(self) -> MqttSettings:
        return self._settings.mqtt

    def _forget(self) -> None:
        """Forget what was looked at."""
        self._seen = -1
        self._clock_seen: tuple[object, ...] | None = None
        self._clock_told: bytes = b""
        self._call_told = (Call.NONE, self.bell.number)
        self._signals.clear()

    def _open(self) -> None:
        """Connect where that is wanted."""
        mqtt = self._mqtt
        if not mqtt.enabled:
            return
        self._forget()
        presence = f"{mqtt.base_topic}/{told.AVAILABILITY}"
        is_heard = {told.STAFF_SET: mqtt.staff, told.PAUSED_SET: mqtt.pause}
        commands = tuple(f"{mqtt.base_topic}/{name}" for name, is_on in is_heard.items() if is_on)
        line = BrokerLine(mqtt, presence, commands, self._command, self._connected)
        if mqtt.home_assistant:
            line.tell({config_topic(mqtt): packed(description(mqtt, __version__))})
        self.line = line
        line.start()
        if self._threads:
            self._follower = Follower(self._table, "mqtt-table", self._look, LOOK_S)
            self._follower.start()

    def _hang_up(self, cleared: Iterable[str] = ()) -> None:
        line, self.line = self.line, None
        follower, self._follower = self._follower, None
        if follower:
            follower.close()
        if line:
            line.close(cleared)
        self.bell.hear(False)

    # ---- in the line's thread ----

    def _connected(self, is_connected: bool) -> None:
        self.bell.hear(is_connected and self._mqtt.staff and self.line is not None)
        self._table.redraw()

    def _command(self, topic: str, payload: bytes, is_retained: bool) -> None:
        """Obey one of the few words that are let in. Any other changes nothing."""
        mqtt = self._mqtt
        if is_retained:
            return  # nobody gives it now
        if topic == f"{mqtt.base_topic}/{told.STAFF_SET}":
            if payload == b"coming":
                self.bell.answer()
            elif payload == b"done":
                self.bell.cancel()
        elif topic == f"{mqtt.base_topic}/{told.PAUSED_SET}" and payload in (b"ON", b"OFF"):
            act = self._table.pause if payload == b"ON" else self._table.resume
            # no clock runs, or it does already: the state that is retained says so
            with suppress(Illegal):
                act("table")

    # ---- looking ----

    def _look(self) -> float:
        """Have what is new told. Return how many seconds to rest."""
        line = self.line
        if line is None:
            return LOOK_S
        self.bell.step()
        version = self._table.version  # changes with the bell, too
        if version == self._seen and not self._signals:
            return 0.0
        self._seen = version
        view = self._table.view()
        language = best_language((self._settings.table.language,))
        base = self._mqtt.base_topic
        events = [(f"{base}/{told.EVENT}", packed(event)) for event in self._events(view, language)]
        state = {f"{base}/{name}": fields for name, fields in self._state(view, language).items()}
        line.tell(state, events)
        return TELL_S

    def _state(self, view: TableView, language: str) -> Mapping[str, bytes]:
        mqtt = self._mqtt
        return {
            told.STATE: packed(told.state_of(view, language)),
            told.TURN: packed(told.turn_of(view, language)),
            told.CLOCK: self._clock_words(view),
            told.SEATS_TAKEN: packed(told.seats_of(view, language, mqtt.names)),
            told.DEVICES: packed(told.devices_of(view, language)),
            told.STAFF: packed(told.staff_of(self.bell, language)) if mqtt.staff else b"",
        }

    def _clock_words(self, view: TableView) -> bytes:
        """Return it as it was told, as long as the clock runs on as it did: every look would find
        other seconds.
        """
        clocks = (view.time.clock, tuple(view.time.clocks.items()))
        if clocks != self._clock_seen:
            self._clock_seen = clocks
            self._clock_told = packed(
                told.clock_of(view, self._table.now_s(), self._clock.wall_s())
            )
        return self._clock_told

    def _events(self, view: TableView, language: str) -> Iterator[Mapping[str, Any]]:
        while self._signals:
            event = told.event_of(self._signals.popleft(), view, language)
            if event is not None:
                yield event
        call = (self.bell.call, self.bell.number)
        if self._mqtt.staff and call != self._call_told:
            yield told.staff_event(call[0], self.bell.by, view, language)
        self._call_told = call


def retained_topics(mqtt: MqttSettings) -> set[str]:
    """Return the topics that the broker keeps of this table."""
    if not mqtt.enabled:
        return set()
    topics = {f"{mqtt.base_topic}/{name}" for name in told.RETAINED}
    return topics | {config_topic(mqtt)} if mqtt.home_assistant else topics
