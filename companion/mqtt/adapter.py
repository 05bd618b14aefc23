"""The MQTT adapter: follows the table's public state, publishes it to a broker, and accepts a few
commands.
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
from companion.mqtt import topics
from companion.mqtt.connection import BrokerLine
from companion.mqtt.discovery import config_topic, device_description
from companion.mqtt.topics import encode_json
from companion.table.follower import Follower
from companion.table.listeners import TableListener
from companion.table.seats.staff_call import Call, StaffBell
from companion.table.table import Table
from companion.table.table_view import TableView

log = logging.getLogger(__name__)

# Maximum number of cues that wait to be published. The oldest is dropped.
MAX_SIGNALS = 64
# Interval in seconds of checks while nothing happens at the table.
CHECK_INTERVAL_S = 0.5
# Pause in seconds after publishing. Changes during the pause are published together.
PUBLISH_PAUSE_S = 0.1


class MqttAdapter(Closeable):
    """Publishes the state of a table. A context manager whose `close` may be called twice.

    A thread of its own follows the table, and paho's thread serves the network. Nothing waits for
    the network. If MQTT is switched off or the topic changes, the retained messages of this table
    are cleared at a connected broker. With `threads=False` the table is checked only in `step`, but
    the network still has its own thread.
    """

    def __init__(
        self, table: Table, settings: Settings, clock: Clock, *, threads: bool = True
    ) -> None:
        self._table = table
        self._settings = settings
        self._clock = clock
        # The staff call, which is available while somebody hears it.
        self.bell = StaffBell(table.redraw)
        self._threads = threads
        self.line: BrokerLine | None = None
        self._follower: Follower | None = None
        self._signals: deque[Signal] = deque(maxlen=MAX_SIGNALS)
        self._reset()
        table.connect(TableListener(on_signal=self._signals.append))
        self._open()

    # ---- from any thread ----

    @property
    def sentence(self) -> str:
        """Return the state of the connection as a sentence, for the Health page. Empty if MQTT is
        off.
        """
        return self.line.sentence if self.line else ""

    @property
    def is_connected(self) -> bool:
        """Return whether the broker is connected."""
        return self.line is not None and self.line.is_connected

    def change(self, settings: Settings) -> None:
        """Use other settings. Topics that are no longer published are cleared at the broker."""
        before, self._settings = self._settings, settings
        if before.mqtt != settings.mqtt:
            self._disconnect(retained_topics(before.mqtt) - retained_topics(settings.mqtt))
            self._open()

    def step(self) -> None:
        """Check the table and publish changes, if the adapter has no thread for that."""
        if not self._threads:
            self._publish_changes()

    def close(self) -> None:
        """Disconnect from the broker, and end the threads."""
        self._disconnect()

    # ---- opening and closing ----

    @property
    def _mqtt(self) -> MqttSettings:
        return self._settings.mqtt

    def _reset(self) -> None:
        """Reset what was read from the table and published, so that everything is published."""
        self._version = -1
        self._last_clock: tuple[object, ...] | None = None
        self._last_call = (Call.NONE, self.bell.number)
        self._signals.clear()

    def _open(self) -> None:
        """Connect, if MQTT is switched on."""
        mqtt = self._mqtt
        if not mqtt.enabled:
            return
        self._reset()
        availability_topic = f"{mqtt.base_topic}/{topics.AVAILABILITY}"
        is_allowed = {topics.STAFF_SET: mqtt.staff, topics.PAUSED_SET: mqtt.pause}
        commands = tuple(f"{mqtt.base_topic}/{name}" for name in is_allowed if is_allowed[name])
        line = BrokerLine(mqtt, availability_topic, commands, self._command, self._note_connection)
        if mqtt.home_assistant:
            line.publish({config_topic(mqtt): encode_json(device_description(mqtt, __version__))})
        self.line = line
        line.start()
        if self._threads:
            self._follower = Follower(
                self._table, "mqtt-table", self._publish_changes, CHECK_INTERVAL_S
            )
            self._follower.start()

    def _disconnect(self, cleared: Iterable[str] = ()) -> None:
        line, self.line = self.line, None
        follower, self._follower = self._follower, None
        if follower:
            follower.close()
        if line:
            line.close(cleared)
        self.bell.set_listening(False)

    # ---- in the line's thread ----

    def _note_connection(self, is_connected: bool) -> None:
        self.bell.set_listening(is_connected and self._mqtt.staff and self.line is not None)
        self._table.redraw()

    def _command(self, topic: str, payload: bytes, is_retained: bool) -> None:
        """Execute one of the few allowed commands. Any other is ignored."""
        mqtt = self._mqtt
        if is_retained:
            return  # an old command, which the broker repeats at every connect
        if topic == f"{mqtt.base_topic}/{topics.STAFF_SET}":
            if payload == b"coming":
                self.bell.answer()
            elif payload == b"done":
                self.bell.cancel()
        elif topic == f"{mqtt.base_topic}/{topics.PAUSED_SET}" and payload in (b"ON", b"OFF"):
            pause_or_resume = self._table.pause if payload == b"ON" else self._table.resume
            # No clock runs, or it is already in that state. The retained state shows this.
            with suppress(Illegal):
                pause_or_resume("table")

    # ---- in the follower's thread ----

    def _publish_changes(self) -> float:
        """Publish what is new at the table. Return for how many seconds to pause."""
        line = self.line
        if line is None:
            return CHECK_INTERVAL_S
        version = self._table.version  # changes with the bell, too
        if version == self._version and not self._signals:
            return 0.0
        self._version = version
        view = self._table.view()
        language = best_language((self._settings.table.language,))
        base = self._mqtt.base_topic
        events = [
            (f"{base}/{topics.EVENT}", encode_json(event)) for event in self._events(view, language)
        ]
        state = {
            topics.STATE: topics.state_of(view, language),
            topics.TURN: topics.turn_of(view, language),
            topics.SEATS_TAKEN: topics.seats_of(view, language, self._mqtt.names),
            topics.DEVICES: topics.devices_of(view, language),
        }
        clocks = (view.time.clock, tuple(view.time.clocks.items()))
        # A clock that only runs keeps its message. Otherwise every check would publish new seconds.
        if clocks != self._last_clock:
            self._last_clock = clocks
            state[topics.CLOCK] = topics.clock_of(view, self._table.now_s(), self._clock.wall_s())
        if self._mqtt.staff:
            state[topics.STAFF] = topics.staff_of(self.bell, language)
        line.publish({f"{base}/{name}": encode_json(text) for name, text in state.items()}, events)
        return PUBLISH_PAUSE_S

    def _events(self, view: TableView, language: str) -> Iterator[Mapping[str, Any]]:
        """Yield the events since the last time: public cues, and changes of the staff call."""
        while self._signals:
            event = topics.cue_event(self._signals.popleft(), view, language)
            if event is not None:
                yield event
        call = (self.bell.call, self.bell.number)
        if self._mqtt.staff and call != self._last_call:
            yield topics.staff_event(self.bell.call, self.bell.caller, view, language)
        self._last_call = call


def retained_topics(mqtt: MqttSettings) -> set[str]:
    """Return the topics of this table that the broker retains."""
    if not mqtt.enabled:
        return set()
    names = {f"{mqtt.base_topic}/{name}" for name in topics.RETAINED}
    if not mqtt.staff:
        names.discard(f"{mqtt.base_topic}/{topics.STAFF}")
    return names | {config_topic(mqtt)} if mqtt.home_assistant else names
