"""The connection to a broker. A thread of the library paho connects, reconnects and sends.

Nobody waits for the broker, except `close` for a moment. The newest payload of each retained topic
is remembered, and after every connect all of these are published again.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from companion.core.config import MqttSettings
from companion.core.errors import CompanionError, format_trace
from companion.core.files import MAX_TEXT_BYTES, expand_path, read_file
from companion.core.i18n import say
from companion.core.ports import Closeable
from companion.diagnostics.findings import Finding, Grade

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.reasoncodes import ReasonCode

log = logging.getLogger(__name__)

# Payloads of the topic that says whether the table is online.
ONLINE = b"online"
OFFLINE = b"offline"
# Pause in seconds after the first failure to connect, and maximum pause. It doubles each time.
MIN_PAUSE_S = 1
MAX_PAUSE_S = 60
# Maximum size of a command in bytes. Longer messages are ignored.
MAX_COMMAND_BYTES = 64
# Timeout in seconds for each of the last messages before a disconnect.
FAREWELL_TIMEOUT_S = 1.0

CONNECT_TIMEOUT_S = 3.0
KEEPALIVE_S = 30
MAX_PASSWORD_BYTES = 256


class BrokerError(CompanionError, ConnectionError):
    """No connection to the broker is possible. The message says why, and what to do."""

    kind = "mqtt"


def new_client(settings: MqttSettings) -> Client:
    """Return a client of paho with user, password and TLS context.

    Raises `BrokerError` if paho is missing, or a file that the settings name cannot be used.
    """
    try:
        from paho.mqtt import client as paho  # noqa: PLC0415 - an optional package, and it takes time
        from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion  # noqa: PLC0415
    except ImportError:
        raise BrokerError(
            say("MQTT needs the package paho-mqtt: install it, or switch MQTT off.")
        ) from None
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    client.connect_timeout = CONNECT_TIMEOUT_S
    client.reconnect_delay_set(MIN_PAUSE_S, MAX_PAUSE_S)
    if settings.user:
        client.username_pw_set(settings.user, read_password(settings.password_file))
    if settings.tls:
        client.tls_set_context(_tls_context(settings.ca_file))
    return client


def read_password(path: str) -> str | None:
    """Return the only line of a password file, or None if `path` is empty.

    Raises `BrokerError`, whose message does not repeat the content. A file of several lines is
    refused. Otherwise somebody who may change the settings could send another secret of this
    machine, such as a private key, to a broker.
    """
    if not path:
        return None
    try:
        text = read_file(path, MAX_PASSWORD_BYTES).decode("utf-8-sig").rstrip("\r\n")
    except OSError as error:
        raise BrokerError(
            say("The password file {file} cannot be read: {why}.", file=path, why=error.strerror)
        ) from None
    except ValueError:
        text = ""
    if not text.isprintable() or not text:
        raise BrokerError(
            say("The password file {file} must contain one line: the password.", file=path)
        )
    return text


def _tls_context(ca_file: str) -> ssl.SSLContext:
    """Return the TLS context that verifies the broker. Raises `BrokerError`."""
    try:
        if ca_file:
            # OpenSSL would read any file, even an endless one.
            read_file(ca_file, MAX_TEXT_BYTES)
        context = ssl.create_default_context(cafile=str(expand_path(ca_file)) if ca_file else None)
    except OSError as error:
        why = error.strerror or type(error).__name__
        text = say("The broker certificate {file} cannot be read: {why}.", file=ca_file, why=why)
        raise BrokerError(text) from None
    context.sslsocket_class = _SelfClosingSocket
    return context


class _SelfClosingSocket(ssl.SSLSocket):
    """A TLS socket that closes itself after a failed handshake. paho-mqtt would leave it open."""

    def do_handshake(self, block: bool = False) -> None:
        """Perform the handshake, and close the socket if it fails."""
        try:
            super().do_handshake(block)
        except OSError:
            self.close()
            raise


class BrokerConnection(Closeable):
    """One connection to a broker, from `start` to `close`. `close` may be called twice.

    The thread of paho reconnects whenever the connection is lost. It calls `on_message` with the
    topic and the payload of a message and whether the broker had retained it, and `on_state` with
    whether the connection is up.
    """

    def __init__(
        self,
        settings: MqttSettings,
        availability_topic: str = "",
        command_topics: tuple[str, ...] = (),
        on_message: Callable[[str, bytes, bool], None] = lambda _topic, _payload, _retained: None,
        on_state: Callable[[bool], None] = lambda _connected: None,
    ) -> None:
        self._settings = settings
        # Topic that says whether the table is online. Empty for none.
        self._availability_topic = availability_topic
        # Topics to subscribe to.
        self._command_topics = command_topics
        self._on_message = on_message
        # Called after every attempt to connect and after every change, by the thread of paho. If no
        # attempt is possible, `start` calls it.
        self._on_state = on_state
        self._lock = threading.RLock()
        # The newest payload of each retained topic.
        self._retained: dict[str, bytes] = {}
        self.is_connected = False
        self._client: Client | None = None
        host, port = settings.host, settings.port
        self.sentence = say("Connecting to the broker {host}, port {port}.", host=host, port=port)
        """The state of the connection as a sentence, and what to do about it."""
        # Sentence on why the broker has refused the login. Empty as long as it has not.
        self._refusal = ""

    # ---- from any thread ----

    def start(self) -> None:
        """Connect, and stay connected."""
        settings = self._settings
        try:
            client = new_client(settings)
        except BrokerError as error:
            self._report_loss(error.message)
            return
        client.on_socket_open = lambda _client, _data, sock: self._prepare_socket(sock)
        client.on_connect = lambda client, _data, _flags, reason, _more: self._handle_connect(
            client, reason
        )
        client.on_connect_fail = lambda _client, _data: self._report_loss(
            # paho calls this while it handles the error, and does not pass it on
            explain_loss(sys.exc_info()[1], settings)
        )
        client.on_disconnect = lambda *_: self._handle_disconnect()
        client.on_message = lambda _client, _data, message: self._handle_message(message)
        # The last will: the broker publishes it if the table disappears.
        if self._availability_topic:
            client.will_set(self._availability_topic, OFFLINE, qos=1, retain=True)
        self._client = client
        client.connect_async(settings.host, settings.port, KEEPALIVE_S)
        client.loop_start()

    def publish(self, state: Mapping[str, bytes], events: Iterable[tuple[str, bytes]] = ()) -> None:
        """Publish messages: the retained ones of `state`, by topic, and `events`.

        An empty payload clears a topic. What has not changed is not published again. Events are
        topics and payloads that are sent once, and are lost while the broker is not connected.
        """
        with self._lock:
            changes = {
                topic: payload
                for topic, payload in state.items()
                if self._retained.get(topic) != payload
            }
            self._retained |= changes
            if self._client and self.is_connected:
                for topic, payload in changes.items():
                    self._client.publish(topic, payload, retain=True)
                for topic, payload in events:
                    self._client.publish(topic, payload)

    def close(self, topics_to_clear: Iterable[str] = ()) -> None:
        """Publish that the table is offline, clear these topics, disconnect, and end the thread.

        Wait at most `FAREWELL_TIMEOUT_S` for each of these messages.
        """
        client, self._client = self._client, None
        if client is None:
            return
        farewell = {self._availability_topic: OFFLINE} if self._availability_topic else {}
        for topic, payload in {**farewell, **dict.fromkeys(topics_to_clear, b"")}.items():
            with contextlib.suppress(ValueError, RuntimeError):  # the broker is gone
                client.publish(topic, payload, retain=True).wait_for_publish(FAREWELL_TIMEOUT_S)
        client.disconnect()
        client.loop_stop()

    # ---- in paho's thread ----

    def _prepare_socket(self, sock: object) -> None:
        self._refusal = ""
        # Without this, Nagle's algorithm would hold back the second of two small messages for some
        # 40 ms, until the first one is acknowledged.
        if isinstance(sock, socket.socket):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _handle_connect(self, client: Client, reason: ReasonCode) -> None:
        """Publish everything if the broker accepts the login. Otherwise, note why it refuses."""
        if reason.is_failure:
            self._refusal = say(
                "The broker {host} refuses the table ({why}): check [mqtt] user and password_file.",
                host=self._settings.host,
                why=str(reason),
            )
            return
        host, port = self._settings.host, self._settings.port
        self.sentence = say("Connected to the broker {host}, port {port}.", host=host, port=port)
        log.info("MQTT: %s", self.sentence)
        for topic in self._command_topics:
            client.subscribe(topic)
        with self._lock:
            self.is_connected = True
            # A broker that was restarted or replaced has none of the messages.
            online = {self._availability_topic: ONLINE} if self._availability_topic else {}
            for topic, payload in {**online, **self._retained}.items():
                client.publish(topic, payload, retain=True)
        self._on_state(True)

    def _handle_disconnect(self) -> None:
        """Report why a connection has ended."""
        host = self._settings.host
        if self._refusal:
            self._report_loss(self._refusal)
        elif self.is_connected:
            self._report_loss(say("The broker {host} has closed the connection.", host=host))
        else:
            self._report_loss(say("The broker {host} does not answer.", host=host))

    def _report_loss(self, reason: str) -> None:
        """Report that there is no connection, for this reason."""
        self.is_connected = False
        if reason != self.sentence and self._client:
            log.warning("MQTT: %s", reason)
        self.sentence = reason
        self._on_state(False)

    def _handle_message(self, message: MQTTMessage) -> None:
        """Handle a message from the broker. Whatever it contains, the connection must not end."""
        if len(message.payload) > MAX_COMMAND_BYTES:
            return
        payload = bytes(message.payload)
        try:
            self._on_message(message.topic, payload, message.retain)
        except Exception as error:
            log.error("MQTT: a command failed: %s", format_trace(error))


# ---- sentences -----------------------------------------------------------------------------------


def explain_loss(error: BaseException | None, settings: MqttSettings) -> str:
    """Return a sentence on why there is no connection, and what to do about it."""
    host, port = settings.host, settings.port
    if isinstance(error, ssl.SSLError):
        return say(
            "The broker {host} cannot be trusted ({why}): check [mqtt] tls, ca_file and port.",
            host=host,
            why=error.reason or type(error).__name__,
        )
    why = error.strerror if isinstance(error, OSError) else None
    return say(
        "The broker {host} cannot be reached on port {port} ({why}): is it running there?",
        host=host,
        port=port,
        why=why or str(error),
    )


# ---- for the doctor ----

# Timeout in seconds for the doctor's attempt to connect.
TRIAL_TIMEOUT_S = 8.0


def examine_broker(settings: MqttSettings) -> Iterator[Finding]:
    """Connect once without publishing, and yield a finding. Yield nothing if MQTT is off."""
    if not settings.enabled:
        return
    attempted = threading.Event()
    with BrokerConnection(settings, on_state=lambda _: attempted.set()) as connection:
        connection.start()
        attempted.wait(TRIAL_TIMEOUT_S)
        yield broker_finding(connection.is_connected, connection.sentence)


def broker_finding(is_connected: bool, sentence: str) -> Finding:
    """Return the doctor's finding on a connection."""
    return Finding("broker", Grade.OK if is_connected else Grade.WARN, sentence)
