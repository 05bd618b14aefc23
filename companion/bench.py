"""`companion bench`: speeds and latencies on this machine, each beside a named peer measured in the same process.

A figure that falls short fails the bench (exit status 1); nothing here is part of the tests.
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random

from gpiozero import LED, Button
from gpiozero.pins.mock import MockFactory, MockPWMPin

from companion.app import Companion
from companion.bench_time import EDGE_MS, REAL_S, SCALED_S, WATCHERS, time_turns
from companion.config import CameraSettings, Settings, TableSettings, WebSettings
from companion.engine import Engine
from companion.games import GAMES, game_named
from companion.kit import SEATS, Seat
from companion.selfplay import Phone
from vision.read import bench_reader

VIEWERS = 3
PRESSES = 200
POSTS = 100
KEY_TO_LAMP_MS = 15.0
"""The cue language: the tick starts within 15 ms of the press's edge."""
POST_TO_EVENT_MS = 100.0
WRONG_TO_WORD_MS = 1000.0
STRAYS = 20


@dataclass(frozen=True)
class Figure:
    """One measured quantity: percentiles in ms, the peer's median in ms, and the bound on the 99th percentile."""

    name: str
    times_ms: Sequence[float]
    peer: str
    peer_ms: float
    bound_ms: float

    def percentile(self, share: float) -> float:
        """The value below which this share of the times lies."""
        ordered = sorted(self.times_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def is_met(self) -> bool:
        """Does the 99th percentile keep its bound?"""
        return self.percentile(0.99) <= self.bound_ms

    def sentence(self) -> str:
        """The figure for people."""
        p50, p99 = self.percentile(0.5), self.percentile(0.99)
        verdict = "ok" if self.is_met() else "TOO SLOW"
        return (
            f"{self.name:<42} p50 {p50:6.2f} ms  p99 {p99:6.2f} ms  (at most {self.bound_ms:.0f})  "
            f"{p50 / self.peer_ms:6.1f} x {self.peer} ({self.peer_ms:.2f} ms)  {verdict}"
        )


def run(games: int, real_time: bool = False) -> bool:
    """Measure everything and print it; answers whether every bound is kept.

    With `real_time` a game on the clock is also measured at its real length, which takes nine minutes.
    """
    good = True
    for turn_s in (SCALED_S, REAL_S) if real_time else (SCALED_S,):
        good &= _turns_on_time(turn_s)
    with _companion(fps=CameraSettings().fps) as companion:
        figure = _wrong_to_word(companion)
        print(figure.sentence(), flush=True)
        good &= figure.is_met()
    with _companion(fps=30) as companion, ExitStack() as viewers:
        listeners = [viewers.enter_context(Listener(companion.server.port)) for _ in range(VIEWERS)]
        _sit_down(companion)
        for measure in (_key_to_lamp, _post_to_event):
            figure = measure(companion, listeners)
            print(figure.sentence(), flush=True)
            good &= figure.is_met()
    for name, game in GAMES.items():
        _reading(name, bench_reader(game.kit(game.options({}))))
        good &= _engine_games(name, games)
    return good


def _turns_on_time(turn_s: float) -> bool:
    """A whole game on the clock, with the camera and the viewers that it is promised for."""
    with _companion(fps=CameraSettings().fps) as companion, ExitStack() as viewers:
        for _ in range(WATCHERS):
            viewers.enter_context(Listener(companion.server.port))
        timing = time_turns(companion, turn_s)
    peer_ms = max(statistics.median(timing.sleep_ms), 0.001)
    figure = Figure(f"end of a turn of {turn_s:g} s -> buzzer", timing.late_ms, "time.sleep", peer_ms, EDGE_MS)
    print(figure.sentence(), flush=True)
    print(timing.sentence(), flush=True)
    return figure.is_met() and timing.is_good()


def _reading(name: str, costs_ms: dict[str, float]) -> None:
    """What reading a frame of this game's board costs beside bare marker detection."""
    peer_ms = costs_ms.pop("peer")
    told = "  ".join(f"{what} {cost:.1f} ms ({cost / peer_ms:.2f} x)" for what, cost in costs_ms.items())
    print(f"{name}: reading a 720p frame: {told}; cv2.aruco.ArucoDetector's defaults {peer_ms:.1f} ms", flush=True)


@contextmanager
def _companion(fps: float) -> Iterator[Companion]:
    """A simulation on the real clock, with the camera at this rate."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            state_dir=folder,
            camera=CameraSettings(fps=fps),
            web=WebSettings(host="127.0.0.1", port=0),
            table=TableSettings(reading_time_s=0.0),
        )
        with Companion(settings, simulate=True) as companion:
            yield companion


def _sit_down(companion: Companion) -> None:
    table = companion.table
    table.new_game(next(iter(GAMES)), {}, seed=1)
    view = table.view()
    if view.phase == "setup":
        table.confirm("host", view.moment, view.stage, force=True)


# ---- latencies ----------------------------------------------------------------------------------------------------


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
        while line := self._stream.readline():
            if line == b"\n":
                with self._arrived:
                    self._times_s.append(time.monotonic())
                    self._arrived.notify_all()

    def first_after(self, since_s: float, timeout_s: float = 5.0) -> float:
        """When the first fragment after a moment came; raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: bool(self._times_s) and self._times_s[-1] >= since_s, timeout_s):
                raise TimeoutError("no event arrived")
            return next(moment for moment in self._times_s if moment >= since_s)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._stream.close()
        self._connection.close()


def _key_to_lamp(companion: Companion, listeners: Sequence[Listener]) -> Figure:  # noqa: ARG001 - they only watch
    """From the edge of a pad's key to the lamp that counts it, through debouncing and table."""
    simulation = companion.simulation
    if simulation is None:
        raise RuntimeError("the bench runs in simulation")
    hands = simulation.hands
    _press(hands.press, hands.release, "south_ready")  # sits down
    times = []
    for number in range(PRESSES):
        button, lit = ("south_up", number % 2 == 0) if number % 2 == 0 else ("south_back", False)
        began_s = time.monotonic()
        hands.press(button)
        while (hands.view().lamps["south_1"] > 0) != lit:
            if time.monotonic() - began_s > 1:
                break
            time.sleep(0.0002)
        times.append((time.monotonic() - began_s) * 1000)
        hands.release(button)
        time.sleep(0.06)
    return Figure("key of a pad -> its lamp", times, "gpiozero Button -> LED", _bare_button_ms(), KEY_TO_LAMP_MS)


def _wrong_to_word(companion: Companion) -> Figure:
    """From a piece put on a wrong square to the sentence that names it, at the camera's default rate."""
    simulation, table = companion.simulation, companion.table
    if simulation is None:
        raise RuntimeError("the bench runs in simulation")
    _sit_down(companion)
    world = simulation.world
    layout = table.view().layout
    piece = world.pieces()[-1]
    free = [square for square in world.kit.board.squares if square not in layout]
    times = []
    for number in range(STRAYS):
        world.set_up(layout)
        _wait_for(lambda: table.view().watched and not table.view().problems)
        began_s = time.monotonic()
        world.move_to(piece.id, free[number % len(free)])
        _wait_for(lambda: bool(table.view().problems))
        times.append((time.monotonic() - began_s) * 1000)
    frame_ms = 1000 / CameraSettings().fps
    return Figure("piece on a wrong square -> named", times, "time of one frame", frame_ms, WRONG_TO_WORD_MS)


def _wait_for(happened: Callable[[], bool]) -> None:
    """Look every 2 ms, at most 5 s."""
    end_s = time.monotonic() + 5
    while not happened() and time.monotonic() < end_s:
        time.sleep(0.002)


def _press(press: Callable[[str], None], release: Callable[[str], None], button: str) -> None:
    press(button)
    time.sleep(0.06)
    release(button)
    time.sleep(0.3)


def _bare_button_ms() -> float:
    """The peer: a mock button whose callback lights a mock lamp, in milliseconds."""
    factory = MockFactory(revision="c03114", pin_class=MockPWMPin)
    times = []
    with Button(2, pin_factory=factory) as button, LED(3, pin_factory=factory) as lamp:
        button.when_pressed = lamp.on
        pin = factory.pin(2)
        for _ in range(100):
            began_s = time.monotonic()
            pin.drive_low()
            while not lamp.is_lit:
                time.sleep(0.0002)
            times.append((time.monotonic() - began_s) * 1000)
            pin.drive_high()
            lamp.off()
    factory.reset()
    return max(statistics.median(times), 0.001)


def _post_to_event(companion: Companion, listeners: Sequence[Listener]) -> Figure:
    """From a phone's POST to the fragment at the last of the other viewers."""
    url = f"http://127.0.0.1:{companion.server.port}"
    phone = Phone(url, Seat.NORTH)
    phone.post("take", {"name": "Bench"})
    moment = companion.table.view().moment
    times = []
    for number in range(POSTS):
        time.sleep(0.05)
        began_s = time.monotonic()
        if number % 2 == 0:
            phone.post("hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"})
        else:
            phone.post("take-back", {"moment": moment})
        times.append((max(listener.first_after(began_s) for listener in listeners) - began_s) * 1000)
    return Figure(
        "POST of a phone -> event at 3 viewers",
        times,
        "GET /health",
        _health_ms(companion.server.port),
        POST_TO_EVENT_MS,
    )


def _health_ms(port: int) -> float:
    """The peer: a request that touches neither table nor disk."""
    times = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    for _ in range(50):
        began_s = time.monotonic()
        connection.request("GET", "/health")
        connection.getresponse().read()
        times.append((time.monotonic() - began_s) * 1000)
    connection.close()
    return statistics.median(times)


# ---- rules ----------------------------------------------------------------------------------------------------------


def _engine_games(name: str, games: int) -> bool:
    """Random games through the engine's own bytes; no reply may be an error. The peer is `json` on the same lines."""
    engine, rng, turns, lines = Engine(game_named(name)), Random(1), 0, 0
    engine.answer(b'{"new": {}}')
    legal = {seat: json.loads(engine.answer(b'{"legal": "%s"}' % seat.encode()))["legal"] for seat in SEATS}
    began_s = time.perf_counter()
    for number in range(games):
        reply = engine.answer(b'{"new": {"seed": %d}}' % number)
        lines += 1
        while not reply.startswith(b'{"to_act":[]'):
            orders = {seat: rng.choice(legal[seat]) for seat in SEATS}
            request = b'{"apply": {"south": "%s", "north": "%s"}}' % tuple(orders[s].encode() for s in SEATS)
            reply = engine.answer(request)
            if reply.startswith(b'{"error"'):
                print(f"{name}: {request!r} was answered {reply!r}")
                return False
            turns += 1
            lines += 1
    took_s = time.perf_counter() - began_s
    peer_s = _json_s(b'{"apply": {"south": "UUS", "north": "IRS"}}', reply, 20_000)
    rate = lines / took_s
    print(
        f"{name}: {games} random games, {turns} turns, no error; {rate:,.0f} requests a second, "
        f"{1 / rate / peer_s:.1f} x the time of json.loads + json.dumps of the same lines"
    )
    return rate >= 2000


def _json_s(request: bytes, reply: bytes, times: int) -> float:
    """Seconds that the standard library takes to decode a request and encode a reply."""
    plain = json.loads(reply)
    began_s = time.perf_counter()
    for _ in range(times):
        json.loads(request)
        json.dumps(plain)
    return (time.perf_counter() - began_s) / times
