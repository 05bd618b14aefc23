"""What `/metrics` tells Prometheus: numbers alone, no person's name, no order, no key. Off unless wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from prometheus_client import CollectorRegistry, Counter, GCCollector, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from companion import __version__
from companion.diagnostics.findings import Status
from companion.diagnostics.probes import Machine, temperature_c, throttling

if TYPE_CHECKING:
    from companion.core.clock import Clock
    from companion.service.game_log import GameLog
    from companion.service.health import ServiceHealth
    from companion.table.table import Table
    from vision.diagnosis import BoardEye
    from web.server.server import Server

_REQUEST_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_WRITE_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0)
_READ_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


class MetricsSource(Protocol):
    """What is asked of the service at every reading."""

    clock: Clock
    table: Table
    server: Server
    games: GameLog
    health: ServiceHealth

    @property
    def eye(self) -> BoardEye | None:
        """What has seen the board, if there is a camera."""


class Metrics:
    """The registry of one service; every method may be called from any thread.

    What happens is counted as it happens; what merely is, is asked of the companion when somebody reads.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "companion_requests", "Requests answered", ("method", "route", "status"), registry=self.registry
        )
        self._request_s = Histogram(
            "companion_request_seconds",
            "From a request's first byte to its answer, streams left out",
            ("route",),
            buckets=_REQUEST_S,
            registry=self.registry,
        )
        self._write_s = Histogram(
            "companion_journal_write_seconds", "An input written and synced", buckets=_WRITE_S, registry=self.registry
        )
        self._read_s = Histogram(
            "companion_camera_read_seconds", "A frame read", buckets=_READ_S, registry=self.registry
        )
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)

    def request(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """A request was answered; `route` is the pattern of its address, never the address."""
        self._requests.labels(method, route, str(status)).inc()
        if seconds is not None:
            self._request_s.labels(route).observe(seconds)

    def wrote(self, seconds: float) -> None:
        """An input was written to the journal."""
        self._write_s.observe(seconds)

    def read(self, seconds: float) -> None:
        """The board was read in a frame."""
        self._read_s.observe(seconds)

    def watch(self, companion: MetricsSource, machine: Machine) -> None:
        """Ask this companion for what merely is."""
        self.registry.register(_Asked(companion, machine))

    def page(self, accept: str) -> tuple[bytes, str]:
        """Everything as text, and its content type."""
        encoder, content_type = choose_encoder(accept)
        return bytes(encoder(self.registry)), content_type


class _Asked(Collector):
    """What is asked of the companion at every reading."""

    def __init__(self, companion: MetricsSource, machine: Machine) -> None:
        self._companion = companion
        self._machine = machine

    def describe(self) -> Iterator[Metric]:
        """Nothing is asked before somebody reads."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All of it."""
        yield from self._service()
        yield from self._table()
        yield from self._camera()
        yield from self._board()

    def _service(self) -> Iterator[Metric]:
        health = self._companion.health
        state = health.state()
        yield InfoMetricFamily("companion", "The program", {"version": __version__})
        up = GaugeMetricFamily("companion_status", "1 for how the service is", labels=("status",))
        for status in Status:
            up.add_metric((status.value,), float(state.status is status))
        yield up
        yield GaugeMetricFamily("companion_uptime_seconds", "Since the service began", state.uptime_s)
        ages = GaugeMetricFamily("companion_silent_seconds", "Since a loop was heard", labels=("loop",))
        for name, age_s in health.vitals.ages().items():
            ages.add_metric((name,), age_s)
        yield ages
        yield GaugeMetricFamily("companion_disk_free_bytes", "Left for games", float(state.disk_free_mb) * 1e6)
        yield _counts("companion_refused", "Requests refused", "kind", health.tally.counts())

    def _table(self) -> Iterator[Metric]:
        companion = self._companion
        yield CounterMetricFamily(
            "companion_table_changes", "What pages could show anew", float(companion.table.version)
        )
        yield GaugeMetricFamily("companion_table_waiting", "Inputs that wait for the table", companion.table.waiting)
        streams = GaugeMetricFamily("companion_streams_open", "Pages that follow the table")
        streams.add_metric((), companion.server.streams_open)
        yield streams
        yield _counts("companion_games_begun", "Games begun", "game", companion.games.begun)
        yield _counts("companion_games_ended", "Games ended", "game", companion.games.ended)

    def _camera(self) -> Iterator[Metric]:
        eye = self._companion.eye
        if eye is None:
            return
        yield CounterMetricFamily("companion_camera_frames", "Frames read", float(eye.number()))
        if eye.taken_s is not None:
            age_s = max(0.0, self._companion.clock.monotonic_s() - eye.taken_s)
            yield GaugeMetricFamily("companion_camera_frame_age_seconds", "Since the last frame was taken", age_s)

    def _board(self) -> Iterator[Metric]:
        degrees = temperature_c(self._machine)
        if degrees is not None:
            yield GaugeMetricFamily("companion_temperature_celsius", "Of the processor", degrees)
        flags = throttling(self._machine)
        if flags is not None:
            yield GaugeMetricFamily(
                "companion_under_voltage", "1: the voltage is too low now", float(flags.under_voltage)
            )
            yield GaugeMetricFamily("companion_throttled", "1: the processor is slowed down", float(flags.throttled))


def _counts(name: str, about: str, label: str, counts: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, about, labels=(label,))
    for key, number in sorted(counts.items()):
        family.add_metric((key,), number)
    return family
