"""Helpers: a real Mosquitto broker on a free port, a subscriber, and a table that publishes.

A broker passes messages from whoever publishes them on a topic to all subscribers of the topic. It
keeps the last message that is *retained*, and gives it to later subscribers at once.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from ports import free_port
from simulated_room import simulated
from waiting import WAIT_S, until

from companion.core.clock import FakeClock
from companion.core.config import MqttSettings, TableSettings
from companion.service.app import Companion

# Folders of programs. Mosquitto is in one that only root has on its path.
SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
MOSQUITTO = shutil.which("mosquitto", path=SEARCH_PATH)
needs_broker = pytest.mark.skipif(
    MOSQUITTO is None, reason="no Mosquitto: apt-get install mosquitto"
)


class Broker:
    """A process of Mosquitto that stores nothing on disk.

    It admits `user` with the password `secret`, or everybody if `user` is None. With `tls`, its
    certificate and its key are in the folder, as `cert.pem` and `key.pem`.
    """

    def __init__(self, folder: Path, user: str | None = None, tls: bool = False) -> None:
        self.port = free_port()
        directives = [
            f"listener {self.port} 127.0.0.1",
            "persistence false",
            "log_dest none",
            "set_tcp_nodelay true",
        ]
        if user:
            # make a file of passwords (-c), with the password from the command line (-b)
            subprocess.run(
                [
                    shutil.which("mosquitto_passwd", path=SEARCH_PATH) or "",
                    "-b",
                    "-c",
                    str(folder / "users"),
                    user,
                    "secret",
                ],
                check=True,
                capture_output=True,
            )
            (folder / "users").chmod(0o644)  # Mosquitto reads it without the rights of root
            folder.chmod(0o755)
            directives += ["allow_anonymous false", f"password_file {folder / 'users'}"]
        else:
            directives += ["allow_anonymous true"]
        if tls:
            directives += [f"certfile {folder / 'cert.pem'}", f"keyfile {folder / 'key.pem'}"]
        # otherwise Mosquitto would give up the rights of root, and could not read root's folders
        if os.getuid() == 0:
            directives.append("user root")
        self._config = folder / "mosquitto.conf"
        self._config.write_text("\n".join(directives) + "\n")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        assert MOSQUITTO is not None
        self._process = subprocess.Popen([MOSQUITTO, "-c", str(self._config)])
        until("the start of the broker", self._is_up)

    def _is_up(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Subscriber:
    """A client that receives the messages of all topics, and can also publish some."""

    def __init__(self, port: int) -> None:
        self._new = threading.Condition()
        self.messages: list[tuple[str, bytes, bool]] = []
        """Topic, payload and whether it was retained, of each message in order."""
        self._marks = 0  # number of the messages by which `sync` knows that it is up to date
        self.client = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        self.client.on_message = self._receive
        self.client.on_connect = lambda client, *_: client.subscribe("#", qos=1)
        self.client.on_socket_open = lambda _client, _data, sock: sock.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        self.sync()

    def _receive(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        with self._new:
            self.messages.append((message.topic, bytes(message.payload), message.retain))
            self._new.notify_all()

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> None:
        self.client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(WAIT_S)

    def sync(self) -> None:
        """Wait until everything has arrived that the broker has received before this call.

        Publish a message, a mark, and wait until it comes back. It comes after all earlier ones.
        """
        self._marks += 1
        mark = str(self._marks).encode()
        for _ in range(50):  # the subscription may not be active yet
            self.publish("mark", mark)
            with self._new:
                if self._new.wait_for(lambda: ("mark", mark, False) in self.messages, 0.2):
                    return
        pytest.fail("the broker does not pass on messages")

    def wait_for(self, condition: Callable[[list[tuple[str, bytes, bool]]], Any]) -> Any:
        """Wait until the condition, which gets all messages so far, is true. Return its result."""
        with self._new:
            if not self._new.wait_for(lambda: condition(self.messages), WAIT_S):
                pytest.fail(f"a message did not arrive; the last were {self.messages[-5:]}")
            return condition(self.messages)

    def last(self, topic: str) -> bytes | None:
        """Return the newest payload of a topic, or None if it has had no message."""
        newest_first = reversed(self.messages)
        return next((payload for other, payload, _ in newest_first if other == topic), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def mqtt_settings(port: int, **changed: Any) -> MqttSettings:
    changed.setdefault("topic", "tabletop")
    return MqttSettings(enabled=True, host="127.0.0.1", port=port, **changed)


@contextmanager
def table_with_broker(
    folder: Path, mqtt: MqttSettings, clock: FakeClock | None = None
) -> Iterator[Companion]:
    """Open a simulated table that connects to a broker. It works in the caller's thread."""
    table = TableSettings(reading_time_s=0.1)
    with simulated(folder, clock, table=table, mqtt=mqtt) as companion:
        yield companion


def publish_now(companion: Companion) -> None:
    """Publish the state of the table, and wait until the broker has it."""
    companion.step_keys()
    connection = companion.broker.connection
    if connection is None:
        return

    until("the connection to the broker", lambda: connection.is_connected)
    assert connection._client
    # the broker acknowledges this only after all that was published before
    connection._client.publish("mark", b"published", qos=1).wait_for_publish(WAIT_S)
