"""How many of the project's files and functions lie on three ways through the running service.

An order from its request until a watching page has it, a picture until the table names a wrong
piece, a key from its pin until watching pages are told. The real service runs in this process and
is traced from outside. Only threads that lie on a way count: neither those that follow the table
for themselves nor what draws the simulated table.
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
TABLE, CAMERA, KEYS = "table", "board-watcher", "panel-input"
PAGES = ("waitress", "web", "streams")
# Time after which nothing of an earlier act is on its way any more.
QUIET_S = 0.4
# Largest numbers of files and functions on each path.
MOST = {"order": (40, 190), "picture": (35, 160), "press": (28, 120)}


class Trace:
    """Notes which functions of the project are called, thread by thread, while `is_on`."""

    def __init__(self) -> None:
        self.is_on = False
        self._called: dict[str, set[CodeType]] = {}
        self._runs: list[dict[str, set[CodeType]]] = []

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Note one call; every thread calls this."""
        code = frame.f_code
        if not self.is_on or event != "call" or not code.co_filename.startswith(PACKAGES):
            return
        if not code.co_filename.startswith(SIMULATION):
            self._called.setdefault(threading.current_thread().name, set()).add(code)

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what is called in this block."""
        time.sleep(QUIET_S)
        self._called = {}
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False
            self._runs.append(self._called)

    def hold(self, way: str, *threads: str) -> None:
        """Print how long a way was, counting threads whose names begin so, and hold its bounds.

        Of several runs only what all have in common counts: the rest fell together by chance.
        """
        runs = [
            set[CodeType]().union(*(run[name] for name in run if name.startswith(threads)))
            for run in self._runs
        ]
        codes = set.intersection(*runs)
        files = len({code.co_filename for code in codes})
        functions = len({(code.co_filename, code.co_qualname) for code in codes})
        print(
            f"{way}: {files} files and {functions} functions; "
            f"wanted {MOST[way][0]} and {MOST[way][1]}"
        )
        assert files > 0
        assert files <= MOST[way][0]
        assert functions <= MOST[way][1]


class Page:
    """A page that watches the table."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._connection.request("GET", "/live/table")
        self._answer = self._connection.getresponse()
        self.wait()

    def wait(self) -> None:
        """Wait for the next message."""
        has_data = False
        while line := self._answer.readline():
            if line == b"\n" and has_data:
                return
            has_data = has_data or line.startswith(b"data:")
        raise EOFError("the stream has ended")

    def close(self) -> None:
        """Leave."""
        self._answer.close()
        self._connection.close()


@pytest.fixture
def trace() -> Iterator[Trace]:
    noted = Trace()
    threading.setprofile(noted.note)
    yield noted
    threading.setprofile(None)


@pytest.fixture
def companion(trace: Trace, tmp_path: Path) -> Iterator[Companion]:
    settings = local_settings(
        tmp_path, table=TableSettings(reading_time_s=0.3), voice=VoiceSettings(by="off")
    )
    with Companion(settings, simulate=True) as running:
        yield running


def begin(companion: Companion, game: str, **options: Any) -> None:
    """Begin a game up to its first decision."""
    companion.table.new_game(game, options)
    until("the first decision", lambda: companion.table.view().phase is Phase.ORDERS)


def test_an_order_reaches_a_page(companion: Companion, trace: Trace) -> None:
    begin(companion, "outbuffered")
    phone = Client(f"http://127.0.0.1:{companion.server.port}")
    phone.post("/api/seat/south/take", name="Mara")
    moment = companion.table.view().moment
    order = {"moment": moment, "action": "UUU", "salt": "aa"}
    for _ in range(6):
        phone.post("/api/seat/south/hand-in", **order)
        phone.post("/api/seat/south/take-back", moment=moment)
        with closing(Page(companion.server.port)) as page, trace.noting():
            phone.post("/api/seat/south/hand-in", **order)
            page.wait()
        phone.post("/api/seat/south/take-back", moment=moment)
    trace.hold("order", TABLE, *PAGES)


def test_a_picture_names_a_wrong_piece(companion: Companion, trace: Trace) -> None:
    assert companion.simulation
    begin(companion, "outbuffered")
    layout = dict(companion.table.view().board.layout)
    stray = Square(4, 4)
    assert stray not in layout
    wrong = dict(layout)
    wrong[stray] = wrong.pop(next(iter(wrong)))
    for _ in range(6):
        with trace.noting():
            companion.simulation.world.set_up(wrong)
            until("the wrong piece", lambda: companion.table.view().board.problems)
        companion.simulation.world.set_up(layout)
        until("all in its place", lambda: not companion.table.view().board.problems)
    trace.hold("picture", TABLE, CAMERA)


def test_a_key_reaches_the_pages(companion: Companion, trace: Trace) -> None:
    assert companion.simulation
    begin(companion, "binmat", way="referee")
    table, hands = companion.table, companion.simulation.hands
    # in the dark: reading cards is the camera's way, not the clock's
    companion.simulation.world.set_view(replace(companion.simulation.world.view, light=0.0))
    until("dark", lambda: table.view().devices.camera.state is not CameraState.SEES_BOARD)
    table.resume("host")
    hands.press("south_ready")  # sits down
    hands.release("south_ready")
    hands.press("north_ready")
    hands.release("north_ready")
    until("both seats", lambda: all(seat.door == "pad" for seat in table.view().seats.values()))
    for _ in range(5):
        view = table.view()
        key = f"{min(seat for seat in view.seats if view.seats[seat].is_awaited)}_ready"
        with trace.noting():
            hands.press(key)
            until("the next turn", lambda before=view.moment: table.progress().moment != before)
        hands.release(key)
    trace.hold("press", TABLE, KEYS)
