"""Test that three paths through the running service cross few files and functions of the project.

Somebody who looks for a fault follows such a path through the source, so it has to stay short. The
paths are:

- an order, from its request until a watching page has received it
- a picture, until the table names a piece on a wrong square
- a key of a pad, from its pin until watching pages are notified

The real service runs in this process, and `threading.setprofile` notes its calls. Only calls by the
threads on a path count, without those that draw the simulated table.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from service import Client, until
from simulated_room import local_settings

from companion.core.config import TableSettings, VoiceSettings
from companion.core.grid import Square
from companion.core.ports import CameraState
from companion.service.app import Companion
from companion.table.session import Phase

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGES = tuple(f"{ROOT / name}/" for name in ("companion", "hardware", "vision", "web"))
SIMULATION = f"{ROOT / 'vision/simulation'}/"
# Beginnings of the names of the threads on the paths.
TABLE = "table"
CAMERA = "board-watcher"
KEYS = "panel-input"
PAGES = ("waitress", "web", "streams")
# Time in seconds after which the threads have finished what an earlier step began.
QUIET_S = 0.4
# Maximum numbers of files and of functions on each path, just above what was counted last.
MAX_FILES_AND_FUNCTIONS = {"order": (40, 190), "picture": (35, 160), "press": (28, 120)}


class Trace:
    """Notes which functions of the project each thread calls while `is_on`."""

    def __init__(self) -> None:
        self.is_on = False
        self._called: dict[str, set[CodeType]] = {}
        self._runs: list[dict[str, set[CodeType]]] = []

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Note one call. Every thread runs this as its profile function."""
        code = frame.f_code
        if not self.is_on or event != "call" or not code.co_filename.startswith(PACKAGES):
            return
        if not code.co_filename.startswith(SIMULATION):
            self._called.setdefault(threading.current_thread().name, set()).add(code)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note one run of a path: all calls until the end of the block."""
        time.sleep(QUIET_S)
        self._called = {}
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False
            self._runs.append(self._called)

    def assert_short(self, path: str, *threads: str) -> None:
        """Print how many files and functions a path crosses, and require at most the maximum.

        `threads` are the beginnings of the names of the threads on the path. Only functions that
        every noted run has called count. Others were called at the same time by chance.
        """
        max_files, max_functions = MAX_FILES_AND_FUNCTIONS[path]
        runs = [
            set[CodeType]().union(*(run[name] for name in run if name.startswith(threads)))
            for run in self._runs
        ]
        codes = set.intersection(*runs)
        files = len({code.co_filename for code in codes})
        functions = len({(code.co_filename, code.co_qualname) for code in codes})
        print(
            f"{path}: {files} files and {functions} functions, "
            f"at most {max_files} and {max_functions} are allowed"
        )
        assert files > 0, f"no call of {threads} was noted"
        assert files <= max_files
        assert functions <= max_functions


class WatchingPage:
    """The stream of a table screen, as a browser would read it.

    Its first message has come once it is made.
    """

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._connection.request("GET", "/live/table")
        self._answer = self._connection.getresponse()
        self.wait()

    def wait(self) -> None:
        """Wait for the next message of the page's stream, which ends with an empty line."""
        has_data = False
        while line := self._answer.readline():
            if line == b"\n" and has_data:
                return
            has_data = has_data or line.startswith(b"data:")
        raise EOFError("the stream has ended")

    def close(self) -> None:
        """End the stream."""
        self._answer.close()
        self._connection.close()


@pytest.fixture
def trace() -> Iterator[Trace]:
    """A trace of all threads that start from now on."""
    trace = Trace()
    threading.setprofile(trace.note)
    yield trace
    threading.setprofile(None)


@pytest.fixture
def companion(trace: Trace, tmp_path: Path) -> Iterator[Companion]:
    """The simulated service, started after `trace` so that its threads are traced."""
    settings = local_settings(
        tmp_path, table=TableSettings(reading_time_s=0.3), voice=VoiceSettings(by="off")
    )
    with Companion(settings, simulate=True) as running:
        yield running


def begin_game(companion: Companion, game: str, **options: Any) -> None:
    """Begin a game, and wait until the first decision is due."""
    companion.table.new_game(game, options)
    until("the first decision", lambda: companion.table.view().phase is Phase.ORDERS)


def test_order_takes_a_short_path_to_a_page(companion: Companion, trace: Trace) -> None:
    """Hand in an order several times, until a watching page has received each.

    The first time is not noted, because it also makes what later times find ready.
    """
    begin_game(companion, "outbuffered")
    phone = Client(f"http://127.0.0.1:{companion.server.port}")
    phone.post("/api/seat/south/take", name="Mara")
    moment = companion.table.view().moment
    order = {"moment": moment, "action": "UUU", "salt": "aa"}
    for _ in range(6):
        phone.post("/api/seat/south/hand-in", **order)
        phone.post("/api/seat/south/take-back", moment=moment)
        with closing(WatchingPage(companion.server.port)) as page, trace.noting():
            phone.post("/api/seat/south/hand-in", **order)
            page.wait()
        phone.post("/api/seat/south/take-back", moment=moment)
    trace.assert_short("order", TABLE, *PAGES)


def test_picture_takes_a_short_path_to_the_table(companion: Companion, trace: Trace) -> None:
    """Put a piece on a wrong square several times, until the table names it, and back."""
    assert companion.simulation
    begin_game(companion, "outbuffered")
    layout = dict(companion.table.view().board.layout)
    empty_square = Square(4, 4)
    assert empty_square not in layout
    wrong_layout = dict(layout)
    wrong_layout[empty_square] = wrong_layout.pop(next(iter(layout)))
    for _ in range(6):
        with trace.noting():
            companion.simulation.world.set_up(wrong_layout)
            until("the wrong piece", lambda: companion.table.view().board.problems)
        companion.simulation.world.set_up(layout)
        until("no wrong piece", lambda: not companion.table.view().board.problems)
    trace.assert_short("picture", TABLE, CAMERA)


def test_key_takes_a_short_path_to_the_pages(companion: Companion, trace: Trace) -> None:
    """Press the key that ends a turn of BINMAT on the pads, by turns, until the turn is over."""
    assert companion.simulation
    begin_game(companion, "binmat", way="referee")
    table = companion.table
    hands = companion.simulation.hands
    # in the dark the camera sees nothing, so it does not read the cards meanwhile
    companion.simulation.world.set_view(replace(companion.simulation.world.view, light=0.0))
    until(
        "a picture in the dark",
        lambda: table.view().devices.camera.state is not CameraState.SEES_BOARD,
    )
    # start the clock; the first press of each pad takes its seat
    table.resume("host")
    hands.press("south_ready")
    hands.release("south_ready")
    hands.press("north_ready")
    hands.release("north_ready")
    until(
        "pads at both seats",
        lambda: all(seat.door == "pad" for seat in table.view().seats.values()),
    )
    for _ in range(5):
        view = table.view()
        key = f"{min(seat for seat in view.seats if view.seats[seat].is_awaited)}_ready"
        with trace.noting():
            hands.press(key)
            until("the next turn", lambda before=view.moment: table.progress().moment != before)
        hands.release(key)
    trace.assert_short("press", TABLE, KEYS)
