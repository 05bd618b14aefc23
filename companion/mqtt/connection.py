"""The connection to a broker: a thread connects and tries again, the newest state is told to it.

Nobody waits for the broker. While it is away only the newest words of each topic are kept, and
every connection begins by telling all of them.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from companion.core.config import MqttSettings
from companion.core.errors import trace_of
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.diagnostics.findings import Finding, Grade
from companion.mqtt.broker import (
    Refused,
    connect,
    make_client,
    refusal,
    send_at_once,
    why_lost,
)

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.reasoncodes import ReasonCode

log = logging.getLogger(__name__)

ONLINE, OFFLINE = b"online", b"offline"
FIRST_S, MAX_PAUSE_S = 1.0, 60.0
"""How long to wait after a first failure, and at most. The pause doubles each time."""
MAX_COMMAND = 64
"""Longer messages are none of ours, in bytes."""
ANSWER_S = 10.0
"""Timeout in seconds for the broker's first word."""
REST_S = 1.0
GOODBYE_S = 1.0
JOIN_S = 3.0


class BrokerLine(Closeable):
    """One connection to a broker, kept up by a thread of its own. `close` may be called twice.

    `presence` is the topic that says whether the table is there (empty: none). `commands` are the
    topics to listen to. `on_message` gets topic, payload and whether the broker had retained it.
    `on_state` is told when the connection is there, and when it is not any more. Both are called
    in the thread.
    """

    def __init__(
        self,
        settings: MqttSettings,
        presence: str = "",
        commands: tuple[str, ...] = (),
        on_message: Callable[[str, bytes, bool], None] = lambda _topic, _payload, _retained: None,
        on_state: Callable[[bool], None] = lambda _connected: None,
    ) -> None:
        self._settings = settings
        self._presence = presence
        self._commands = commands
        self._on_message = on_message
        self._on_state = on_state
        self._lock = threading.RLock()
        self._state: dict[str, bytes] = {}
        self._told: dict[str, bytes] = {}
        self._ends = threading.Event()
        self._is_over = threading.Event()
        """The connection has ended, or a try at one."""
        self._is_connected = False
        self._client: Client | None = None
        self._socket: socket.socket | None = None
        host, port = settings.host, settings.port
        self._sentence = say("Connecting to the broker {host}, port {port}.", host=host, port=port)
        self._lost_because = ""
        self._thread = threading.Thread(target=self._run, name="mqtt", daemon=True)

    # ---- from any thread ----

    @property
    def is_connected(self) -> bool:
        """Return whether the broker hears the table."""
        return self._is_connected

    @property
    def sentence(self) -> str:
        """Return how the connection is, and what to do about it."""
        return self._sentence

    def start(self) -> None:
        """Connect, and stay connected."""
        self._thread.start()

    def tell(self, state: Mapping[str, bytes], events: Iterable[tuple[str, bytes]] = ()) -> None:
        """Let these topics say so from now on, retained. An empty payload clears one.

        `events` are topics and payloads that are told once, and only while the broker is there.
        """
        with self._lock:
            self._state.update(state)
            self._tell_changes()
            if self._is_connected and self._client is not None:
                for topic, payload in events:
                    self._publish(self._client, topic, payload, retain=False)

    def close(self, cleared: Iterable[str] = ()) -> None:
        """Say good-bye, clear these topics at the broker, and end the thread."""
        self._ends.set()
        client = self._client
        if client is not None and self._is_connected:
            farewell = {self._presence: OFFLINE} if self._presence else {}
            farewell |= dict.fromkeys(cleared, b"")
            for topic, payload in farewell.items():
                info = client.publish(topic, payload, qos=1, retain=True)
                with contextlib.suppress(ValueError, RuntimeError):  # the broker is gone
                    info.wait_for_publish(GOODBYE_S)
            client.disconnect()
            self._is_over.wait(GOODBYE_S)
        self._is_over.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    # ---- the thread ----

    def _run(self) -> None:
        pause_s = FIRST_S
        while not self._ends.is_set():
            self._lost_because = ""
            try:
                self._serve()
            except Refused as error:
                self._lost_because = error.message
            except Exception as error:
                self._lost_because = why_lost(error, self._settings)
            # after a connection that stood the pauses begin anew
            pause_s = FIRST_S if self._is_connected else min(2 * pause_s, MAX_PAUSE_S)
            self._lose()
            self._ends.wait(pause_s)

    def _serve(self) -> None:
        """Serve one connection from its beginning to its end."""
        self._client = client = make_client(self._settings)
        self._is_over.clear()
        client.on_connect = lambda client, _data, _flags, reason, _more: self._open(client, reason)
        client.on_disconnect = lambda *_: self._is_over.set()
        client.on_message = lambda _client, _data, message: self._hear(message)
        client.on_socket_open = lambda _client, _data, sock: self._use_socket(sock)
        client.on_socket_close = lambda _client, _data, _sock: self._use_socket(None)
        # the broker says so itself when the table is gone without a word
        if self._presence:
            client.will_set(self._presence, OFFLINE, qos=1, retain=True)
        connect(client, self._settings)
        client.loop_start()
        try:
            self._is_over.wait(ANSWER_S)
            while self._is_connected and not self._ends.is_set():
                if self._is_over.wait(REST_S):
                    break
        finally:
            # a socket on which nothing moves would hold paho's thread
            self._cut()
            client.loop_stop()

    def _use_socket(self, sock: Any) -> None:
        self._socket = sock
        send_at_once(sock)

    def _cut(self) -> None:
        sock = self._socket
        if sock is not None:
            with contextlib.suppress(OSError, ValueError):  # closed meanwhile
                sock.shutdown(socket.SHUT_RDWR)

    def _open(self, client: Client, reason: ReasonCode) -> None:
        """Tell everything to a broker that lets the table in, or note why it does not."""
        if reason.is_failure:
            self._lost_because = refusal(str(reason), self._settings)
            return
        host, port = self._settings.host, self._settings.port
        self._sentence = say("Connected to the broker {host}, port {port}.", host=host, port=port)
        log.info("MQTT: %s", self._sentence)
        for topic in self._commands:
            client.subscribe(topic)
        with self._lock:
            self._is_connected = True
            # another broker, or one that began anew, knows nothing
            self._told = {}
            if self._presence:
                self._publish(client, self._presence, ONLINE, retain=True)
            self._tell_changes()
        self._on_state(True)

    def _lose(self) -> None:
        host = self._settings.host
        if not self._lost_because:
            self._lost_because = say("The broker {host} does not answer.", host=host)
            if self._is_connected:
                self._lost_because = say("The broker {host} has closed the connection.", host=host)
        with self._lock:
            self._is_connected = False
        if self._lost_because != self._sentence and not self._ends.is_set():
            log.warning("MQTT: %s", self._lost_because)
        self._sentence = self._lost_because
        self._on_state(False)

    # ---- telling and hearing ----

    def _tell_changes(self) -> None:
        """Publish what the broker does not know yet. The lock is held."""
        if not self._is_connected or self._client is None:
            return
        for topic, payload in self._state.items():
            if self._told.get(topic) != payload:
                if not self._publish(self._client, topic, payload, retain=True):
                    return  # no room: it is tried again with the next change
                self._told[topic] = payload

    def _publish(self, client: Client, topic: str, payload: bytes, *, retain: bool) -> bool:
        return client.publish(topic, payload, qos=1, retain=retain).rc == 0

    def _hear(self, message: MQTTMessage) -> None:
        """Take a message from the broker. Nothing in it may stop the connection."""
        if len(message.payload) > MAX_COMMAND:
            return
        payload = bytes(message.payload)
        try:
            self._on_message(message.topic, payload, message.retain)
        except Exception as error:
            log.error("MQTT: a command failed: %s", trace_of(error))


# ---- for the doctor ----

TRIAL_S = 8.0
"""Timeout in seconds for one try."""


def examine_broker(settings: MqttSettings) -> Iterator[Finding]:
    """Connect once, tell nothing, and say how that went. Nothing where MQTT is switched off."""
    if not settings.enabled:
        return
    is_over = threading.Event()
    with BrokerLine(settings, on_state=lambda _: is_over.set()) as line:
        line.start()
        is_over.wait(TRIAL_S)
        yield broker_finding(line.is_connected, line.sentence)


def broker_finding(is_well: bool, sentence: str) -> Finding:
    """Return what the doctor says of a connection."""
    return Finding("broker", Grade.OK if is_well else Grade.WARN, sentence)
