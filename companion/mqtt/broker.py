"""A client for one connection to a broker, and in words what keeps it away."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

from companion.core.config import MqttSettings
from companion.core.errors import CompanionError
from companion.core.files import MAX_TEXT, expanded, open_file, read_file
from companion.core.i18n import say

if TYPE_CHECKING:
    from paho.mqtt.client import Client

CONNECT_S = 5.0
KEEPALIVE_S = 30
MAX_QUEUED = 128
"""Messages that wait for the broker's answer. What is more is told once there is room."""
MAX_PACKET = 4096
"""The broker is asked to send nothing longer, whatever others publish under our topics."""
MAX_PASSWORD = 256


class Refused(CompanionError, ConnectionError):
    """There is no connection. The message says why and what to do."""

    kind = "mqtt"


def make_client(settings: MqttSettings) -> Client:
    """Make a client with user, password and trust. Raises `Refused` where that cannot be."""
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
        # our own thread tries again, after pauses that grow
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
    """Connect and ask to be let in. Raises OSError."""
    from paho.mqtt.packettypes import PacketTypes  # noqa: PLC0415 - an optional package
    from paho.mqtt.properties import Properties  # noqa: PLC0415

    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho's own lack of a type
    properties.MaximumPacketSize = MAX_PACKET
    client.connect(settings.host, settings.port, KEEPALIVE_S, properties=properties)


def send_at_once(sock: object) -> None:
    """Let small messages go at once: else the second waits some 40 ms for the first one's
    answer.
    """
    if isinstance(sock, socket.socket):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def password_of(path: str) -> str | None:
    """Return the one line of a file. None where no file is named.

    Raises `Refused`, which does not repeat what stands there. Files of several lines are refused:
    who may change the settings may not have any other secret of this machine sent to a broker.
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
    """Return whom to believe to be the broker. Raises `Refused`."""
    try:
        if ca_file:
            read_file(ca_file, MAX_TEXT)  # OpenSSL would read whatever has this name, and for ever
        cafile = str(expanded(ca_file)) if ca_file else None
        context = ssl.create_default_context(cafile=cafile)
    except OSError as error:
        why = error.strerror or type(error).__name__
        text = say("The broker certificate {file} cannot be read: {why}.", file=ca_file, why=why)
        raise Refused(text) from None
    context.sslsocket_class = _TidySocket
    return context


class _TidySocket(ssl.SSLSocket):
    """Closes itself where the other side is not trusted: paho-mqtt forgets it then."""

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands as every other one."""
        try:
            super().do_handshake(block)
        except OSError:
            self.close()
            raise


# ---- in words ------------------------------------------------------------------------------------


def refusal(reason: str, settings: MqttSettings) -> str:
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


def why_lost(error: Exception, settings: MqttSettings) -> str:
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
