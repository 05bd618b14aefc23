"""From a key of a pad to the message at somebody who listens to the broker, through Mosquitto on this machine."""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from companion.core.config import CameraSettings, MqttSettings
from companion.games import GAMES
from companion.service.app import Companion
from companion.tools.bench.figures import Figure, simulated

PRESSES = 50
KEY_TO_MESSAGE_MS = 100.0
_FINGER_S = 0.15
"""So fast somebody presses one key after the other."""
_REST_S = 0.3


def bench_broker() -> bool:
    """Hand in and take back at a pad again and again; prints what it measured."""
    command = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if command is None:
        print("broker: not measured, mosquitto is needed")
        return False
    with _broker(command) as port, _Listener(port) as listener:
        peer_ms = statistics.median(listener.trip_ms(number) for number in range(PRESSES))
        mqtt = MqttSettings(enabled=True, host="127.0.0.1", port=port)
        with simulated(CameraSettings().fps, mqtt) as companion:
            times_ms = list(_presses(companion, listener))
    figure = Figure("key of a pad -> MQTT message", times_ms, "publish -> message", peer_ms, KEY_TO_MESSAGE_MS)
    print(figure.sentence(), flush=True)
    return figure.is_met()


def _presses(companion: Companion, listener: _Listener) -> Iterator[float]:
    """Milliseconds from the edge of the key that seals three orders, or takes them back, to the event."""
    simulation, table = companion.simulation, companion.table
    if simulation is None:
        raise RuntimeError("the bench runs in simulation")
    hands = simulation.hands

    def press(name: str) -> float:
        began_s = time.monotonic()
        hands.press(f"south_{name}")
        time.sleep(_FINGER_S / 2)
        hands.release(f"south_{name}")
        time.sleep(_FINGER_S / 2)
        return began_s

    press("ready")  # sits down
    table.new_game(next(iter(GAMES)), {}, seed=1)
    view = table.view()
    table.confirm("host", view.moment, view.turn.stage, force=True)
    for _ in range(PRESSES):
        time.sleep(_REST_S)
        for key in ("up", "up", "up"):
            press(key)
        for key, event in (("ready", b'"sealed"'), ("back", b'"taken_back"')):
            began_s = press(key)
            yield (listener.first_after(began_s, event) - began_s) * 1000
            time.sleep(_REST_S)


@contextmanager
def _broker(command: str) -> Iterator[int]:
    """Mosquitto with nothing on disk; answers its port."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
        probe.close()
        words = [f"listener {port} 127.0.0.1", "allow_anonymous true", "persistence false", "log_dest none"]
        words += ["set_tcp_nodelay true", *(["user root"] if os.getuid() == 0 else [])]
        config = Path(folder) / "mosquitto.conf"
        config.write_text("\n".join(words) + "\n", encoding="utf-8")
        with subprocess.Popen([command, "-c", str(config)], stderr=subprocess.DEVNULL) as process:
            try:
                _wait_for_port(port)
                yield port
            finally:
                process.terminate()


def _wait_for_port(port: int) -> None:
    end_s = time.monotonic() + 5
    while time.monotonic() < end_s:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("mosquitto does not answer")


class _Listener:
    """Hears all that the broker is told, and when; a context manager."""

    def __init__(self, port: int) -> None:
        from paho.mqtt import client as paho  # noqa: PLC0415 - an optional package
        from paho.mqtt.enums import CallbackAPIVersion  # noqa: PLC0415 - as above

        self._new = threading.Condition()
        self._heard: list[tuple[float, bytes]] = []
        subscribed = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.on_socket_open = lambda _client, _data, sock: _send_at_once(sock)
        self._client.on_connect = lambda client, *_: client.subscribe("#", qos=1)
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.on_message = self._hear
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        subscribed.wait(5)

    def _hear(self, _client: Any, _data: Any, message: Any) -> None:
        with self._new:
            self._heard.append((time.monotonic(), bytes(message.payload)))
            self._new.notify_all()

    def first_after(self, since_s: float, words: bytes) -> float:
        """When the first message with these words came since a moment; raises TimeoutError."""

        def found() -> float | None:
            return next((at_s for at_s, payload in self._heard if at_s >= since_s and words in payload), None)

        with self._new:
            if not self._new.wait_for(found, 5):
                raise TimeoutError("no message arrived")
            return found() or 0.0

    def trip_ms(self, number: int) -> float:
        """The peer: a bare message to the broker and back."""
        words, began_s = f"trip {number:04}".encode(), time.monotonic()
        self._client.publish("trip", words, qos=1)
        return (self.first_after(began_s, words) - began_s) * 1000

    def __enter__(self) -> _Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def _send_at_once(sock: Any) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
