"""Helpers: a tour of every page in every state of every game.

A tour brings a table from state to state and yields a `Stop` for each page that is worth looking at
in a state. Whoever follows it opens the page before asking for the next stop: screenshots, the
checks in browsers (`browser/test_browser_walk.py`) and `test_tour`. `tour_hub` has the tours of a
hub and of a game at two tables.
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

from bot_tools import InProcessBot
from internals import session_of
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
from companion.maintenance.own_wifi import describe_failure
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
# A path without a page, at which visitors see an error page.
NOWHERE = "/nowhere"
# Number of steps without a new kind of state after which no new one is expected. Then somebody
# resigns.
MAX_STALE_STEPS = 50
# Maximum height of a screenshot.
MAX_PICTURE_PX = 4000


@dataclass(frozen=True)
class Stop:
    """One page in one state."""

    name: str
    """Words with hyphens: the state, then mostly the page, such as `scouts-orders-south`."""
    path: str
    is_guest: bool = False
    """Whether it is seen by a browser that has neither a seat nor the host's key."""
    client: Client | None = None
    """The client that opens the page. None stands for the tour's own client."""


def stops_of_screen_and_south(state: str) -> Iterator[Stop]:
    """Yield stops at the table screen and at South's page."""
    yield Stop(f"{state}-screen", "/")
    yield Stop(f"{state}-south", "/seat/south")


def stops_of_everybody(state: str) -> Iterator[Stop]:
    """Yield stops at the table screen, both seats' pages and a spectator's page."""
    yield from stops_of_screen_and_south(state)
    yield Stop(f"{state}-north", "/seat/north")
    yield Stop(f"{state}-watch", "/watch")


class Tour(Protocol):
    """What brings one or more tables from state to state, and yields the pages to look at."""

    client: Client
    """The client that opens the pages."""

    def stops(self) -> Iterator[Stop]:
        """Yield every page in every state. A page stays as it is until the next stop is taken."""


class TableTour:
    """The tour of a table: a whole simulated program without threads, on a clock that stands."""

    def __init__(self, folder: Path, clock: FakeClock | None = None) -> None:
        settings = local_settings(
            folder, camera=CameraSettings(size="1280x720"), table=TableSettings()
        )
        self.clock = clock or FakeClock()
        # opponents that answer at once, however busy this computer is
        machines = partial(MachinePlayers, open_process=InProcessBot)
        with (
            patch.dict(os.environ, RUNTIME_DIRECTORY=str(folder)),  # as the systemd unit sets it
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
        """Yield every page in every state.

        Each of `games` is played by two people. Those that are also in `machines` are then played
        against a machine player as well.
        """
        yield from self._before()
        for name in games:
            yield from self._game(name)
            if name in machines:
                yield from self._machine(name)
        yield from self._documents()

    # ---- states ----------------------------------------------------------------------------------

    def _before(self) -> Iterator[Stop]:
        """Show the table before its first game."""
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
        # the tour's client may open all pages: it takes both seats, and enters the owner key
        for seat, name in ((Seat.SOUTH, "Mara"), (Seat.NORTH, "Jonas")):
            self.client.post(f"/api/seat/{seat}/take", name=name)
        self.client.send("/host", f"key={self.companion.host_key}".encode())

    def _game(self, name: str) -> Iterator[Stop]:
        """Show a game of two people from its lesson to its end, each kind of state once.

        Both sides play at random. Kinds of states are those that `_state` distinguishes.
        """
        # the lesson, with its set-up if the game has one, and the help
        self.table.begin_lesson(name)
        if self.table.view().phase is Phase.SETUP:
            yield Stop(f"{name}-lesson-setup-screen", "/")
            self.table.confirm("host", self.table.view().moment, 0, force=True)
        yield from stops_of_screen_and_south(f"{name}-lesson")
        self.table.skip_lesson("host")
        self.table.show_help(True)
        yield Stop(f"{name}-help-screen", "/")
        self.table.abandon()

        # the first orders with the options of the first preset, before and after the clock starts
        if len(GAMES[name].presets) > 1:
            self.table.new_game(name, dict(GAMES[name].presets[0].options), seed=7)
            yield from stops_of_screen_and_south(f"{name}-orders-first")
            self.table.resume("host")
            self._take_pictures()
            yield from stops_of_everybody(f"{name}-orders-dealt")
            self.table.abandon()

        # a whole game with the options of the last preset
        self.table.new_game(name, dict(GAMES[name].presets[-1].options), seed=7)
        self._take_pictures()
        if self.table.view().phase is Phase.SETUP:
            yield from stops_of_screen_and_south(f"{name}-setup")
        past_states: set[str] = set()
        stale_steps = 0
        while self._state() != "over" and stale_steps < MAX_STALE_STEPS:
            state = self._state()
            stale_steps += 1
            if state not in past_states:
                past_states.add(state)
                stale_steps = 0
                self._take_pictures()
                yield from stops_of_everybody(f"{name}-{state}")
            self.go_on()
        if self._state() != "over":
            self.table.resign(Seat.NORTH)
        yield from stops_of_everybody(f"{name}-over")
        yield Stop(f"{name}-host", f"/host?game={name}")
        yield Stop(f"{name}-rules", f"/rules/{name}")

    def _machine(self, name: str) -> Iterator[Stop]:
        """Show the game against a machine player: while it thinks, and when it has won."""
        self.table.free_seat(Seat.NORTH)
        self.table.machines.seat_machine(Seat.NORTH, CHARACTERS[0].name)
        self.table.new_game(name, dict(GAMES[name].presets[0].options), seed=7)
        while self.table.view().phase is not Phase.ORDERS or session_of(self.table).paused_by:
            self.go_on()
        # once South has handed in everything it owes, pages show that the machine thinks
        while Seat.SOUTH in session_of(self.table).awaited_seats:
            self.table.hand_in(Seat.SOUTH, self.table.view().moment, self.next_action()[1])
        self._set_up_board()
        yield from stops_of_screen_and_south(f"{name}-orders-machine")
        yield Stop(f"{name}-here", "/here")
        self.table.resign(Seat.SOUTH)
        yield from stops_of_screen_and_south(f"{name}-over-machine")
        self.table.free_seat(Seat.NORTH)
        self.client.post("/api/seat/north/take", name="Jonas")

    def _own_wifi(self) -> Iterator[Stop]:
        """Show what pages say while this computer has opened a Wi-Fi of its own.

        It does that if it cannot join another one. Here the password of that Wi-Fi is wrong.
        """
        own = self.companion.own_wifi
        assert own is not None
        own.hotspot = Wifi("Tabletop table", "tabletop")
        own.trouble = describe_failure("password", "Home")
        self.table.redraw()
        yield Stop("wifi-screen", "/")
        yield Stop("wifi-join", "/join", is_guest=True)
        yield Stop("wifi", "/wifi")
        own.hotspot = None
        own.trouble = ""
        self.table.redraw()

    def _documents(self) -> Iterator[Stop]:
        """Show the pages that belong to no game."""
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
        """Return the kind of state as words with hyphens, such as `orders-sealed`.

        The words are the phase, whether pieces are being placed or a duel is on, and whether a seat
        has handed in a sealed action.
        """
        view = self.table.view(Seat.SOUTH)
        words = [str(view.phase)]
        board_ui = view.board.board_ui
        if board_ui and board_ui.placing:
            words.append("placing")
        if board_ui and board_ui.duel:
            words.append("duel")
        if any(seat.sealed_at for seat in view.seats.values()):
            words.append("sealed")
        return "-".join(words)

    def _take_pictures(self) -> None:
        """Let the camera take three pictures of the rendered table, so that it believes them."""
        for _ in range(3):
            self.clock.advance(0.2)
            self.companion.step()

    def _set_up_board(self) -> None:
        """Put the pieces on the rendered table as the game expects them."""
        target = session_of(self.table).expected_layout
        if self.companion.simulation and target is not None:
            self.companion.simulation.world.set_up(target)
        self._take_pictures()

    def go_on(self) -> None:
        """Take one step of the game: confirm the board, start the clock, or hand in an action."""
        view = self.table.view()
        if view.phase in (Phase.SETUP, Phase.STAGES):
            self.table.confirm("host", view.moment, view.turn.stage, force=True)
        elif session_of(self.table).paused_by:
            self.table.resume("host")
        else:
            seat, action = self.next_action()
            self.table.hand_in(seat, self.table.view().moment, action)

    def next_action(self) -> tuple[Seat, str]:
        """Return a seat that is awaited, and a random action for it in notation."""
        session = session_of(self.table)
        seat = next(seat for seat in SEATS if seat in session.awaited_seats)
        action = session.require_game().random_action(session.state, seat, self._rng)
        return seat, session.require_game().format(action)


@contextmanager
def open_table_tour() -> Iterator[TableTour]:
    """Open the tour of a table in a temporary folder."""
    with TemporaryDirectory() as folder:
        tour = TableTour(Path(folder))
        try:
            yield tour
        finally:
            tour.close()


# ---- browser windows -----------------------------------------------------------------------------


def resize(window: WebDriver, size: tuple[int, int], scale: float = 1.0) -> None:
    """Set the size of a window's page.

    `scale` changes only how large the page is painted, not its layout. Unless it is 1, taps hit the
    wrong places.
    """
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    cdp(window, "Emulation.setDeviceMetricsOverride", **metrics, scale=scale)


def set_size_and_theme(
    window: WebDriver, size: tuple[int, int], theme: str, scale: float = 1.0
) -> None:
    """Set the size and the theme of a window's page, and stop its animations."""
    resize(window, size, scale)
    features = [
        {"name": "prefers-color-scheme", "value": theme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    cdp(window, "Emulation.setEmulatedMedia", features=features)


def visit(window: WebDriver, tour: Tour, stop: Stop, language: str = "en") -> None:
    """Open a stop's page with the cookies of its client, and wait until the page is drawn.

    A guest's page is opened without these cookies, so that the guest has neither seat nor key.
    """
    client = stop.client or tour.client
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
    until(f"drawing {stop.name}", lambda: window.execute_script(script))


def screenshot(window: WebDriver) -> bytes:
    """Return a PNG of the whole page, also of what is below the window, up to `MAX_PICTURE_PX`."""
    script = "return [innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]"
    width, height = window.execute_script(script)
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, MAX_PICTURE_PX), "scale": 1}
    answer = cdp(
        window, "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
    )
    return base64.b64decode(answer["data"])


def cdp(window: WebDriver, command: str, **parameters: Any) -> Any:
    """Run a command of the Chrome DevTools Protocol."""
    return window.execute_cdp_cmd(command, parameters)  # type: ignore[attr-defined]  # Chrome has it
