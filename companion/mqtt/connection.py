"""The connection to a broker: a thread connects, reconnects, and publishes the newest state.

Nobody waits for the broker. While it is away only the newest payload of each topic is kept. Every
connection begins by publishing all of them.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from companion.core.config import MqttSettings
from companion.core.errors import CompanionError, trace_of
from companion.core.files import MAX_TEXT, expand_path, open_file, read_file
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.diagnostics.findings import Finding, Grade

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.reasoncodes import ReasonCode

log = logging.getLogger(__name__)

ONLINE, OFFLINE = b"online", b"offline"
FIRST_S, MAX_PAUSE_S = 1.0, 60.0
"""Pause in seconds after the first failure, and maximum pause. It doubles each time."""
MAX_COMMAND = 64
"""Maximum size of a command in bytes. Longer messages are ignored."""
GOODBYE_S = 1.0
JOIN_S = 3.0


CONNECT_S = 5.0
KEEPALIVE_S = 30
MAX_QUEUED = 128
"""Maximum number of messages that wait for the broker's acknowledgement. Others wait until there is
room.
"""
MAX_PACKET = 4096
"""Maximum size in bytes of packets from the broker, whatever others publish under this table's
topics.
"""
MAX_PASSWORD = 256


class Refused(CompanionError, ConnectionError):
    """The connection is impossible or was refused. The message says why and what to do."""

    kind = "mqtt"


def make_client(settings: MqttSettings) -> Client:
    """Return a client with user, password and TLS context. Raises `Refused` if that is
    impossible.
    """
    try:
        from paho.mqtt import client as paho  # noqa: PLC0415 - an optional package, and it takes time
        from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion  # noqa: PLC0415
    except ImportError:
        raise Refused(
            say("MQTT needs the package paho-mqtt: install it, or switch MQTT off.")
        ) from None
    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        protocol=MQTTProtocolVersion.MQTTv5,
        # This module's own thread reconnects, after growing pauses.
        reconnect_on_failure=False,
    )
    client.connect_timeout = CONNECT_S
    client.max_queued_messages_set(MAX_QUEUED)
    if settings.user:
        client.username_pw_set(settings.user, password_of(settings.password_file))
    if settings.tls:
        client.tls_set_context(_trust(settings.ca_file))
    return client


def connect(client: Client, settings: MqttSettings) -> None:
    """Connect and log in. Raises OSError."""
    from paho.mqtt.packettypes import PacketTypes  # noqa: PLC0415 - an optional package
    from paho.mqtt.properties import Properties  # noqa: PLC0415

    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho's own lack of a type
    properties.MaximumPacketSize = MAX_PACKET
    client.connect(settings.host, settings.port, KEEPALIVE_S, properties=properties)


def send_at_once(sock: object) -> None:
    """Disable Nagle's algorithm. With it the second small message waits some 40 ms for the first
    one's acknowledgement.
    """
    if isinstance(sock, socket.socket):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def password_of(path: str) -> str | None:
    """Return the one line of a password file. None without a file.

    Raises `Refused` without repeating the content. Files of several lines are refused, so that
    nobody who may change the settings can send another secret of this machine to a broker.
    """
    if not path:
        return None
    try:
        with open_file(path) as file:
            text = file.read(MAX_PASSWORD + 5).decode("utf-8-sig").rstrip("\r\n")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else say("not UTF-8 text")
        raise Refused(
            say("The password file {file} cannot be read: {why}.", file=path, why=why or "")
        ) from None
    if not text or len(text) > MAX_PASSWORD or not text.isprintable():
        raise Refused(
            say("The password file {file} must contain one line: the password.", file=path)
        )
    return text


def _trust(ca_file: str) -> ssl.SSLContext:
    """Return the TLS context that verifies the broker. Raises `Refused`."""
    try:
        if ca_file:
            read_file(ca_file, MAX_TEXT)  # OpenSSL would read any file, even an endless one
        cafile = str(expand_path(ca_file)) if ca_file else None
        context = ssl.create_default_context(cafile=cafile)
    except OSError as error:
        why = error.strerror or type(error).__name__
        text = say("The broker certificate {file} cannot be read: {why}.", file=ca_file, why=why)
        raise Refused(text) from None
    context.sslsocket_class = _TidySocket
    return context


class _TidySocket(ssl.SSLSocket):
    """Closes itself after a failed handshake, which paho-mqtt forgets."""

    def do_handshake(self, block: bool = False) -> None:
        """Perform the handshake, and close the socket if it fails."""
        try:
            super().do_handshake(block)
        except OSError:
            self.close()
            raise


class BrokerLine(Closeable):
    """One connection to a broker, kept up by its own thread. `close` may be called twice.

    `presence` is the topic of the table's availability (empty for none). `commands` are the topics
    to subscribe to. `on_message` receives topic, payload and whether it was a retained message.
    `on_state` is called with whether the connection is up, at every change. Both are called in the
    thread.
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
        self._stop = threading.Event()
        self.is_connected = False
        """Whether the broker is connected."""
        self._client: Client | None = None
        host, port = settings.host, settings.port
        self.sentence = say("Connecting to the broker {host}, port {port}.", host=host, port=port)
        """State of the connection as a sentence, and what to do about it."""
        self._refusal = ""
        self._thread = threading.Thread(target=self._run, name="mqtt", daemon=True)

    # ---- from any thread ----

    def start(self) -> None:
        """Connect, and stay connected."""
        self._thread.start()

    def publish(self, state: Mapping[str, bytes], events: Iterable[tuple[str, bytes]] = ()) -> None:
        """Publish these topics as retained messages. An empty payload clears a topic.

        `events` are topics and payloads that are published once, and only while the broker is
        connected.
        """
        with self._lock:
            self._state.update(state)
            self._publish_changes()
            if self.is_connected and self._client is not None:
                for topic, payload in events:
                    self._publish(self._client, topic, payload, retain=False)

    def close(self, cleared: Iterable[str] = ()) -> None:
        """Disconnect, clear these topics at the broker, and end the thread."""
        self._stop.set()
        client = self._client
        if client is not None and self.is_connected:
            farewell = {self._presence: OFFLINE} if self._presence else {}
            farewell |= dict.fromkeys(cleared, b"")
            for topic, payload in farewell.items():
                info = client.publish(topic, payload, qos=1, retain=True)
                with contextlib.suppress(ValueError, RuntimeError):  # the broker is gone
                    info.wait_for_publish(GOODBYE_S)
        if client is not None:
            client.disconnect()
        if self._thread.is_alive():
            self._thread.join(GOODBYE_S)
            self._cut()
            self._thread.join(JOIN_S)

    # ---- the thread ----

    def _run(self) -> None:
        pause_s = FIRST_S
        while not self._stop.is_set():
            try:
                reason = self._serve()
            except Refused as error:
                reason = error.message
            except Exception as error:
                reason = loss_sentence(error, self._settings)
            # The pauses start again after a connection that was up.
            pause_s = FIRST_S if self.is_connected else min(2 * pause_s, MAX_PAUSE_S)
            with self._lock:
                self.is_connected = False
            if reason != self.sentence and not self._stop.is_set():
                log.warning("MQTT: %s", reason)
            self.sentence = reason
            self._on_state(False)
            self._stop.wait(pause_s)

    def _serve(self) -> str:
        """Run one connection from its start to its end. Return why it has ended, as a sentence."""
        self._refusal = ""
        self._client = client = make_client(self._settings)
        client.on_connect = lambda client, _data, _flags, reason, _more: self._open(client, reason)
        client.on_message = lambda _client, _data, message: self._receive(message)
        client.on_socket_open = lambda _client, _data, sock: send_at_once(sock)
        # The last will: the broker publishes it if the table disappears.
        if self._presence:
            client.will_set(self._presence, OFFLINE, qos=1, retain=True)
        connect(client, self._settings)
        if not self._stop.is_set():
            client.loop_forever()
        host = self._settings.host
        if self._refusal:
            return self._refusal
        if self.is_connected:
            return say("The broker {host} has closed the connection.", host=host)
        return say("The broker {host} does not answer.", host=host)

    def _cut(self) -> None:
        """Shut down a socket on which nothing moves, because it would block the thread."""
        sock = self._client.socket() if self._client else None
        if isinstance(sock, socket.socket):
            with contextlib.suppress(OSError, ValueError):  # closed meanwhile
                sock.shutdown(socket.SHUT_RDWR)

    def _open(self, client: Client, reason: ReasonCode) -> None:
        """Publish everything once the broker accepts the login, or note why it refuses."""
        if reason.is_failure:
            self._refusal = refusal_sentence(str(reason), self._settings)
            return
        host, port = self._settings.host, self._settings.port
        self.sentence = say("Connected to the broker {host}, port {port}.", host=host, port=port)
        log.info("MQTT: %s", self.sentence)
        for topic in self._commands:
            client.subscribe(topic)
        with self._lock:
            self.is_connected = True
            # A new or restarted broker has none of the messages.
            self._told = {}
            if self._presence:
                self._publish(client, self._presence, ONLINE, retain=True)
            self._publish_changes()
        self._on_state(True)

    # ---- telling and hearing ----

    def _publish_changes(self) -> None:
        """Publish what the broker does not have yet. The caller holds the lock."""
        if not self.is_connected or self._client is None:
            return
        for topic, payload in self._state.items():
            if self._told.get(topic) != payload:
                if not self._publish(self._client, topic, payload, retain=True):
                    return  # no room: try again at the next change
                self._told[topic] = payload

    def _publish(self, client: Client, topic: str, payload: bytes, *, retain: bool) -> bool:
        return client.publish(topic, payload, qos=1, retain=retain).rc == 0

    def _receive(self, message: MQTTMessage) -> None:
        """Handle a message from the broker. Its content must not end the connection."""
        if len(message.payload) > MAX_COMMAND:
            return
        payload = bytes(message.payload)
        try:
            self._on_message(message.topic, payload, message.retain)
        except Exception as error:
            log.error("MQTT: a command failed: %s", trace_of(error))


# ---- in words ------------------------------------------------------------------------------------


def refusal_sentence(reason: str, settings: MqttSettings) -> str:
    """Return what the broker's answer means, and what to do about it."""
    host = settings.host
    if reason == "Unsupported protocol version":
        return say("The broker {host} does not speak MQTT 5: it needs a newer version.", host=host)
    if reason in ("Bad user name or password", "Not authorized"):
        return say(
            "The broker {host} refuses the user or the password: check [mqtt] user and "
            "password_file.",
            host=host,
        )
    return say("The broker {host} refuses the table: {why}.", host=host, why=reason)


def loss_sentence(error: Exception, settings: MqttSettings) -> str:
    """Return why there is no connection, and what to do about it."""
    host, port = settings.host, settings.port
    if isinstance(error, ssl.SSLError):
        return say(
            "The broker {host} cannot be trusted ({why}): check [mqtt] tls, ca_file and port.",
            host=host,
            why=error.reason or type(error).__name__,
        )
    if isinstance(error, OSError):
        why = error.strerror or str(error) or type(error).__name__
        return say(
            "The broker {host} cannot be reached on port {port} ({why}): is it running there?",
            host=host,
            port=port,
            why=why,
        )
    return say(
        "What answers on {host}, port {port}, does not speak MQTT: check [mqtt] port and tls.",
        host=host,
        port=port,
    )


# ---- for the doctor ----

TRIAL_S = 8.0
"""Timeout in seconds for one attempt."""


def examine_broker(settings: MqttSettings) -> Iterator[Finding]:
    """Connect once without publishing, and yield the result. Nothing if MQTT is switched off."""
    if not settings.enabled:
        return
    is_over = threading.Event()
    with BrokerLine(settings, on_state=lambda _: is_over.set()) as line:
        line.start()
        is_over.wait(TRIAL_S)
        yield broker_finding(line.is_connected, line.sentence)


def broker_finding(is_well: bool, sentence: str) -> Finding:
    """Return the doctor's finding on a connection."""
    return Finding("broker", Grade.OK if is_well else Grade.WARN, sentence)
