"""A walk through every page in every state of every game: what screenshots show and what the
accessibility check reads.

`tour_hub` walks on through a hub and through a game at two tables.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from unittest.mock import patch

from bot_tools import QuickCoach
from inside import session_of
from selenium.webdriver.remote.webdriver import WebDriver
from service import Client, until
from simulated_room import local_settings

from companion.bots.characters import CHARACTERS
from companion.bots.machine_players import MachinePlayers
from companion.core.clock import FakeClock
from companion.core.config import CameraSettings, TableSettings
from companion.core.kit import SEATS, Seat
from companion.core.network import Wifi
from companion.games import GAMES
from companion.maintenance.own_wifi import trouble_words
from companion.service.app import Companion
from companion.table.session import Phase

SIZES: Mapping[str, tuple[int, int]] = {
    "phone": (390, 844),
    "tablet": (768, 1024),
    "display": (800, 480),
    "laptop": (1366, 768),
    "screen": (1920, 1080),
}
THEMES = ("light", "dark")
NOWHERE = "/nowhere"
# Steps without a new kind of state after which none is to be expected: somebody resigns.
MAX_STALE_STEPS = 50
# Greatest height of a picture of a page.
MAX_PICTURE_PX = 4000


@dataclass(frozen=True)
class Stop:
    """One page in one state: its name, its path, and whether the guest's browser has neither seat
    nor host key.

    `client` is whoever looks at it, where that is not the walk's own one.
    """

    name: str
    path: str
    is_guest: bool = False
    client: Client | None = None


def screen_and_south(state: str) -> Iterator[Stop]:
    """The table screen and South's page."""
    yield Stop(f"{state}-screen", "/")
    yield Stop(f"{state}-south", "/seat/south")


def everybody(state: str) -> Iterator[Stop]:
    """Both seats, the table screen and a spectator."""
    yield from screen_and_south(state)
    yield Stop(f"{state}-north", "/seat/north")
    yield Stop(f"{state}-watch", "/watch")


class Walk(Protocol):
    """What leads from state to state: `stops` are the pages, as `client` sees them."""

    client: Client

    def stops(self) -> Iterator[Stop]:
        """Every page in every state; what a stop shows holds until the next one is asked for."""


class Tour:
    """A simulated companion without threads, led from state to state; `stops` is the walk."""

    def __init__(self, folder: Path, clock: FakeClock | None = None) -> None:
        settings = local_settings(
            folder, camera=CameraSettings(size="1280x720"), table=TableSettings()
        )
        self.clock = clock or FakeClock()
        # an opponent that answers at once, however busy the machine is
        machines = partial(MachinePlayers, open_process=QuickCoach)
        with (
            patch.dict(os.environ, RUNTIME_DIRECTORY=str(folder)),  # as its unit has it
            patch("companion.service.app.MachinePlayers", machines),
        ):
            self.companion = Companion(settings, simulate=True, clock=self.clock, threads=False)
        self.table = self.companion.table
        self.client = Client(f"http://127.0.0.1:{self.companion.server.port}")
        self._rng = Random(4)

    def close(self) -> None:
        """End the service."""
        self.companion.close()

    def stops(
        self, games: tuple[str, ...] = tuple(GAMES), machines: tuple[str, ...] = tuple(GAMES)
    ) -> Iterator[Stop]:
        """As in `Walk`, with the pages of these games, and of these against the machine, too."""
        yield from self._before()
        for name in games:
            yield from self._game(name)
            if name in machines:
                yield from self._machine(name)
        yield from self._documents()

    # ---- states ----------------------------------------------------------------------------------

    def _before(self) -> Iterator[Stop]:
        yield Stop("lobby-screen", "/")
        yield from self._own_wifi()
        yield Stop("join", "/join", is_guest=True)
        yield Stop("join-seat", "/join/south", is_guest=True)
        yield Stop("host-key", "/host", is_guest=True)
        yield Stop("history-empty", "/history")
        yield Stop("missing", NOWHERE)
        self._sit()
        yield Stop("taken", "/join/south", is_guest=True)
        yield Stop("lobby-seat", "/seat/south")
        self.table.choose_game("binmat")
        yield Stop("chosen-screen", "/")
        yield Stop("chosen-seat", "/seat/south")
        self.table.return_to_lobby()
        yield Stop("lobby-host", "/host")
        yield Stop("lobby-watch", "/watch")

    def _sit(self) -> None:
        for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
            self.client.post(f"/api/seat/{seat}/take", name=name)
        self.client.send("/host", f"key={self.companion.host_key}".encode())

    def _game(self, name: str) -> Iterator[Stop]:
        """One game from its lesson and its set-up to its end, as far as each state shows something
        of its own.
        """
        self.table.begin_lesson(name)
        if self.table.view().phase is Phase.SETUP:
            yield Stop(f"{name}-lesson-setup-screen", "/")
            self.table.confirm("host", self.table.view().moment, 0, force=True)
        yield from screen_and_south(f"{name}-lesson")
        self.table.skip_lesson("host")
        self.table.show_help(True)
        yield Stop(f"{name}-help-screen", "/")
        self.table.abandon()
        if len(GAMES[name].presets) > 1:
            self.table.new_game(name, dict(GAMES[name].presets[0].options), 7)
            yield from screen_and_south(f"{name}-orders-first")
            self.table.resume("host")
            self._look()
            yield from everybody(f"{name}-orders-dealt")
            self.table.abandon()
        self.table.new_game(name, dict(GAMES[name].presets[-1].options), 7)
        self._look()
        if self.table.view().phase is Phase.SETUP:
            yield from screen_and_south(f"{name}-setup")
        shown: set[str] = set()
        steps = 0
        while self._state() != "over" and steps < MAX_STALE_STEPS:
            state = self._state()
            steps += 1
            if state not in shown:
                shown.add(state)
                steps = 0
                self._look()
                yield from everybody(f"{name}-{state}")
            self.go_on()
        if self._state() != "over":
            self.table.resign(Seat.NORTH)
        yield from everybody(f"{name}-over")
        yield Stop(f"{name}-host", f"/host?game={name}")
        yield Stop(f"{name}-rules", f"/rules/{name}")

    def _machine(self, name: str) -> Iterator[Stop]:
        """The same game against the machine: it is awaited, and it wins."""
        self.table.free_seat(Seat.NORTH)
        self.table.machines.seat_machine(Seat.NORTH, CHARACTERS[0].name)
        self.table.new_game(name, dict(GAMES[name].presets[0].options), 7)
        while self.table.view().phase is not Phase.ORDERS or session_of(self.table).paused_by:
            self.go_on()
        while Seat.SOUTH in session_of(self.table).awaited:
            self.table.hand_in(Seat.SOUTH, self.table.view().moment, self.next_action()[1])
        self._lay()
        yield from screen_and_south(f"{name}-orders-machine")
        yield Stop(f"{name}-here", "/here")
        self.table.resign(Seat.SOUTH)
        yield from screen_and_south(f"{name}-over-machine")
        self.table.free_seat(Seat.NORTH)
        self.client.post("/api/seat/north/take", name="Jonas")

    def _own_wifi(self) -> Iterator[Stop]:
        """The Wi-Fi that a machine without a network opens."""
        own = self.companion.own_wifi
        assert own is not None
        own.hotspot = Wifi("Tabletop table", "tabletop")
        own.trouble = trouble_words("password", "Home")
        self.table.redraw()
        yield Stop("wifi-screen", "/")
        yield Stop("wifi-join", "/join", is_guest=True)
        yield Stop("wifi", "/wifi")
        own.hotspot, own.trouble = None, ""
        self.table.redraw()

    def _documents(self) -> Iterator[Stop]:
        yield Stop("rules", "/rules/")
        yield Stop("history", "/history")
        yield Stop("replay", "/history/2?at=9")
        yield Stop("kit", "/kit")
        yield Stop("settings", "/settings")
        yield Stop("health", "/host/health")
        yield from (Stop(f"first-{number}", f"/host/first/{number}") for number in range(1, 5))
        yield Stop("phone-camera-code", "/camera/phone")
        yield Stop("phone-camera", "/eye")
        yield Stop("pass", "/pass")
        yield Stop("workbench", "/workbench")
        yield Stop("hub-join", "/host/hub")
        yield Stop("hub-game-without-hub", "/host/hub/game")

    # ---- one step of a game ----------------------------------------------------------------------

    def _state(self) -> str:
        """What is going on, in a word: the phase, whether a placing or a duel is on, whether
        somebody has sealed.
        """
        view = self.table.view(Seat.SOUTH)
        words, standing = [str(view.phase)], view.board.board_ui
        if standing and standing.placing:
            words.append("placing")
        if standing and standing.duel:
            words.append("duel")
        if any(each.sealed_at for each in view.seats.values()):
            words.append("sealed")
        return "-".join(words)

    def _look(self) -> None:
        """The camera looks at the rendered table until it lies as it should."""
        for _ in range(3):
            self.clock.advance(0.2)
            self.companion.step()

    def _lay(self) -> None:
        """Hands lay the rendered table as the game has it."""
        target = session_of(self.table).expected_layout
        if self.companion.simulation and target is not None:
            self.companion.simulation.world.set_up(target)
        self._look()

    def go_on(self) -> None:
        """One step of the game that is on: the board is confirmed, the clock started, or an action
        handed in.
        """
        view = self.table.view()
        if view.phase in (Phase.SETUP, Phase.STAGES):
            self.table.confirm("host", view.moment, view.turn.stage, force=True)
        elif session_of(self.table).paused_by:
            self.table.resume("host")
        else:
            seat, action = self.next_action()
            self.table.hand_in(seat, self.table.view().moment, action)

    def next_action(self) -> tuple[Seat, str]:
        """A random action of a seat that is awaited; the walk plays for both sides."""
        session = session_of(self.table)
        seat = next(seat for seat in SEATS if seat in session.awaited)
        action = session.require_game().random_action(session.state, seat, self._rng)
        return seat, session.require_game().format(action)


@contextmanager
def open_tour() -> Iterator[Tour]:
    """A walk in a folder of its own."""
    with TemporaryDirectory() as folder:
        tour = Tour(Path(folder))
        try:
            yield tour
        finally:
            tour.close()


# ---- looking -------------------------------------------------------------------------------------


def resize(window: WebDriver, size: tuple[int, int]) -> None:
    """Give a window a size."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    cdp(window, "Emulation.setDeviceMetricsOverride", **metrics)


def set_size_and_theme(window: WebDriver, size: tuple[int, int], theme: str) -> None:
    """Give a window a size and a theme."""
    resize(window, size)
    features = [
        {"name": "prefers-color-scheme", "value": theme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    cdp(window, "Emulation.setEmulatedMedia", features=features)


def visit(window: WebDriver, walk: Walk, stop: Stop, language: str = "en") -> None:
    """Open a page as the stop's visitor and wait until it stands."""
    client = stop.client or walk.client
    url = client.url
    cdp(window, "Network.clearBrowserCookies")
    cookies = {"language": language}
    if not stop.is_guest:
        cookies |= {cookie.name: cookie.value or "" for cookie in client.jar}
    cdp(
        window,
        "Network.setCookies",
        cookies=[{"name": name, "value": value, "url": url} for name, value in cookies.items()],
    )
    window.get(url + stop.path)
    script = "return document.readyState === 'complete' && !document.querySelector('.sign:empty')"
    until(f"{stop.name} stands", lambda: window.execute_script(script))


def screenshot(window: WebDriver) -> bytes:
    """A PNG of the page, down to its end where it is longer than the window."""
    script = "return [innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]"
    width, height = window.execute_script(script)
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, MAX_PICTURE_PX), "scale": 1}
    answer = cdp(
        window, "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
    )
    return base64.b64decode(answer["data"])


def cdp(window: WebDriver, command: str, **parameters: Any) -> Any:
    """One command of Chromium's own protocol."""
    return window.execute_cdp_cmd(command, parameters)  # type: ignore[attr-defined]  # Chrome has it
