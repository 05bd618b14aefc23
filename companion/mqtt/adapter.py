"""The MQTT adapter: follows a table, publishes its public state, and accepts a few commands.

MQTT passes messages through a *broker*: whoever publishes a message on a topic reaches everybody
who subscribes to that topic. The broker keeps the last message of a topic that is *retained*, and
gives it to later subscribers at once.

`topics` makes the messages, `discovery` describes them to Home Assistant, and `connection` sends
them.
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
from companion.mqtt.connection import BrokerConnection
from companion.mqtt.discovery import config_topic, device_description
from companion.mqtt.topics import encode_json
from companion.table.follower import TableFollower
from companion.table.listeners import TableListener
from companion.table.seats.staff_call import Call, StaffBell
from companion.table.table import Table
from companion.table.table_view import TableView

log = logging.getLogger(__name__)

# Maximum number of signals that wait to be published. If more come, the oldest are dropped.
MAX_SIGNALS = 64
# Interval in seconds of checks while nothing happens at the table.
CHECK_INTERVAL_S = 0.5
# Pause in seconds after publishing. Changes during the pause are published together.
PUBLISH_PAUSE_S = 0.1


class MqttAdapter(Closeable):
    """Publishes the state of a table. A context manager whose `close` may be called twice.

    - A thread of its own follows the table, and the thread of the library paho serves the network.
      With `threads=False` there is no thread for the table, which is then checked only in `step`.
    - Only `use_settings` and `close` wait for the network: at most `FAREWELL_TIMEOUT_S` for each of
      the last messages.
    - If MQTT is switched off or its topic changes, the old retained messages are cleared, if the
      broker is connected.
    """

    def __init__(
        self, table: Table, settings: Settings, clock: Clock, *, threads: bool = True
    ) -> None:
        self._table = table
        self._settings = settings
        self._clock = clock
        self.bell = StaffBell(table.redraw)
        """The bell by which a seat calls the staff, as long as the broker is connected."""
        self._threads = threads
        self.connection: BrokerConnection | None = None
        """The connection to the broker. None while MQTT is off."""
        self._follower: TableFollower | None = None
        # Signals of the table that wait to be published as events.
        self._signals: deque[Signal] = deque(maxlen=MAX_SIGNALS)
        # Sets `_published_…`: what was last sent to the broker.
        self._forget_published()
        table.connect(TableListener(on_signal=self._signals.append))
        self._connect()

    # ---- from any thread ----

    @property
    def sentence(self) -> str:
        """The state of the connection as a sentence for the Health page. Empty if MQTT is off."""
        return self.connection.sentence if self.connection else ""

    @property
    def is_connected(self) -> bool:
        """Whether the broker is connected."""
        return self.connection is not None and self.connection.is_connected

    def use_settings(self, settings: Settings) -> None:
        """Use other settings. Clear the topics at the broker that are no longer published."""
        old, new = self._settings.mqtt, settings.mqtt
        self._settings = settings
        # The table may have been published already, in the language of the old settings.
        self._published_version = -1
        if old != new:
            self._disconnect(retained_topics(old) - retained_topics(new))
            self._connect()

    def step(self) -> None:
        """Publish what has changed at the table, if the adapter has no thread for that."""
        if not self._threads:
            self._publish_changes()

    def close(self) -> None:
        """Disconnect from the broker, and end the threads."""
        self._disconnect()

    # ---- connecting and disconnecting ----

    def _forget_published(self) -> None:
        """Forget what was published, so that everything is published again."""
        self._published_version = -1
        self._published_clocks: tuple[object, ...] | None = None
        self._published_call = (Call.NONE, self.bell.number)
        self._signals.clear()

    def _connect(self) -> None:
        """Connect, if MQTT is switched on."""
        mqtt = self._settings.mqtt
        if not mqtt.enabled:
            return
        self._forget_published()
        base = mqtt.base_topic
        command_topics = []
        if mqtt.staff:
            command_topics.append(f"{base}/{topics.STAFF_SET}")
        if mqtt.pause:
            command_topics.append(f"{base}/{topics.PAUSED_SET}")
        connection = BrokerConnection(
            mqtt,
            f"{base}/{topics.AVAILABILITY}",
            tuple(command_topics),
            on_message=self._execute_command,
            on_state=self._note_connection,
        )
        if mqtt.home_assistant:
            connection.publish(
                {config_topic(mqtt): encode_json(device_description(mqtt, __version__))}
            )
        self.connection = connection
        connection.start()
        if self._threads:
            self._follower = TableFollower(
                self._table, "mqtt-table", self._publish_changes, CHECK_INTERVAL_S
            )
            self._follower.start()

    def _disconnect(self, topics_to_clear: Iterable[str] = ()) -> None:
        connection, self.connection = self.connection, None
        follower, self._follower = self._follower, None
        if follower:
            follower.close()
        if connection:
            connection.close(topics_to_clear)
        self.bell.set_listening(False)

    # ---- in the connection's thread ----

    def _note_connection(self, is_connected: bool) -> None:
        # A connection that is being closed still reports that it is up or down. As it is no longer
        # ours, nobody can hear the bell through it.
        is_listening = is_connected and self._settings.mqtt.staff and self.connection is not None
        self.bell.set_listening(is_listening)
        self._table.redraw()

    def _execute_command(self, topic: str, payload: bytes, is_retained: bool) -> None:
        """Execute one of the few allowed commands. Ignore any other."""
        # The broker sends a retained command again at every connect, when it is long out of date.
        if is_retained:
            return
        base = self._settings.mqtt.base_topic
        if topic == f"{base}/{topics.STAFF_SET}":
            if payload == b"coming":
                self.bell.answer()
            elif payload == b"done":
                self.bell.cancel()
        elif topic == f"{base}/{topics.PAUSED_SET}" and payload in (b"ON", b"OFF"):
            pause_or_resume = self._table.pause if payload == b"ON" else self._table.resume
            # Refused if no clock runs, or if it is in that state already. The sender can see that
            # by the retained state.
            with suppress(Illegal):
                pause_or_resume("table")

    # ---- in the follower's thread ----

    def _publish_changes(self) -> float:
        """Publish what is new at the table, and return the pause in seconds before the next step.

        The pause is 0 if nothing is new: the follower then waits for the table (`TableFollower`).
        """
        connection, mqtt = self.connection, self._settings.mqtt
        if connection is None:
            return CHECK_INTERVAL_S
        # The version of the table also changes if only the bell has changed.
        version = self._table.version
        if version == self._published_version and not self._signals:
            return 0.0
        self._published_version = version
        view = self._table.view()
        language = best_language((self._settings.table.language,))
        base = mqtt.base_topic
        event_topic = f"{base}/{topics.EVENT}"
        events = [(event_topic, encode_json(event)) for event in self._events(view, language)]
        state = {
            topics.STATE: topics.state_message(view, language),
            topics.TURN: topics.turn_message(view, language),
            topics.SEATS_TAKEN: topics.seats_message(view, language, with_names=mqtt.names),
            topics.DEVICES: topics.devices_message(view, language),
        }
        # The clock of the decision that is due, and the chess clocks of both seats.
        clocks = (view.time.clock, tuple(view.time.clocks.items()))
        # As long as a clock only runs on, its message stays. Otherwise every check would publish
        # other seconds.
        if clocks != self._published_clocks:
            self._published_clocks = clocks
            state[topics.CLOCK] = topics.clock_message(
                view, self._table.now_s(), self._clock.wall_s()
            )
        if mqtt.staff:
            state[topics.STAFF] = topics.staff_message(self.bell, language)
        messages = {f"{base}/{name}": encode_json(content) for name, content in state.items()}
        connection.publish(messages, events)
        return PUBLISH_PAUSE_S

    def _events(self, view: TableView, language: str) -> Iterator[Mapping[str, Any]]:
        """Yield the events since the last call: public signals, and changes of the staff call."""
        while self._signals:
            event = topics.cue_event(self._signals.popleft(), view, language)
            if event is not None:
                yield event
        call = (self.bell.call, self.bell.number)
        if self._settings.mqtt.staff and call != self._published_call:
            yield topics.staff_event(self.bell.call, self.bell.caller, view, language)
        self._published_call = call


def retained_topics(mqtt: MqttSettings) -> set[str]:
    """Return the topics on which a table with these settings publishes retained messages."""
    if not mqtt.enabled:
        return set()
    retained = {f"{mqtt.base_topic}/{name}" for name in topics.RETAINED}
    if not mqtt.staff:
        retained.remove(f"{mqtt.base_topic}/{topics.STAFF}")
    if mqtt.home_assistant:
        retained.add(config_topic(mqtt))
    return retained
