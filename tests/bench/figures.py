"""What a measurement says, and the companion in simulation in front of which it is made."""

from __future__ import annotations

import contextlib
import http.client
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from companion.core.config import CameraSettings, MqttSettings, Settings, TableSettings, WebSettings
from companion.service.app import Companion
from companion.service.lifecycle import spare_collections


@dataclass(frozen=True)
class Figure:
    """One measured quantity: its samples, and the bound on their 99th percentile."""

    name: str
    samples: Sequence[float]
    bound: float
    unit: str = "ms"

    def percentile(self, share: float) -> float:
        """The value below which this share of the samples lies."""
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def is_met(self) -> bool:
        """Does the 99th percentile keep its bound?"""
        return self.percentile(0.99) <= self.bound

    def sentence(self) -> str:
        """The figure for people."""
        p50, p99 = self.percentile(0.5), self.percentile(0.99)
        verdict = "ok" if self.is_met() else "NOT GOOD ENOUGH"
        return (
            f"{self.name:<42} p50 {p50:7.2f} {self.unit}  p99 {p99:7.2f} {self.unit}  "
            f"of {len(self.samples)} (at most {self.bound:g})  {verdict}"
        )


@contextmanager
def simulated(
    fps: float, mqtt: MqttSettings | None = None, keep_in: str | None = None
) -> Iterator[Companion]:
    """A simulation on the real clock, with the camera at this rate, a broker where one is named, games in a folder."""
    with tempfile.TemporaryDirectory(dir=keep_in) as folder:
        settings = Settings(
            state_dir=folder,
            camera=CameraSettings(fps=fps),
            web=WebSettings(host="127.0.0.1", port=0),
            table=TableSettings(reading_time_s=0.0),
            mqtt=mqtt or MqttSettings(),
        )
        with Companion(settings, simulate=True) as companion:
            spare_collections()
            yield companion


class Listener:
    """A viewer of the table screen: follows its stream and notes when each fragment arrived."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._connection.request("GET", "/live/table")
        self._socket = self._connection.sock
        self._stream = self._connection.getresponse()
        self._arrived = threading.Condition()
        self._times_s: list[float] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with contextlib.suppress(ConnectionError):  # the service may end before its viewer
            while line := self._stream.readline():
                if line == b"\n":
                    with self._arrived:
                        self._times_s.append(time.monotonic())
                        self._arrived.notify_all()

    def first_after(self, since_s: float, timeout_s: float = 5.0) -> float:
        """When the first fragment after a moment came; raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(
                lambda: bool(self._times_s) and self._times_s[-1] >= since_s, timeout_s
            ):
                raise TimeoutError("no event arrived")
            return next(moment for moment in self._times_s if moment >= since_s)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._stream.close()
        self._connection.close()
