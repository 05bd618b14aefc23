"""Test a phone as the table's camera: a browser whose camera shows a film of a rendered table.

An old phone above the table sends pictures to the table from a page of its own. Here the phone is
Chromium, which plays a film in place of a camera. A test changes the table in the film while it is
played.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from film_tools import Film
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import browser_with, tap, until
from simulated_room import local_settings
from tour import cdp
from window_tools import text_of

from companion.core.config import PanelSettings, TableSettings, VoiceSettings
from companion.core.grid import Square
from companion.core.kit import SEATS
from companion.core.ports import CameraState
from companion.games import GAMES
from companion.printing.printed_kit import printed_table
from companion.service.app import Companion
from companion.table.session import Phase

pytestmark = [pytest.mark.browser, pytest.mark.slow]
GAME = GAMES["outbuffered"]
OPTIONS = GAME.options({})


@dataclass
class PhoneCameraRig:
    """A table without a camera, and the film that an old phone above it sees."""

    companion: Companion
    film: Film

    def show(self, layout: dict[Square, tuple[str, ...]]) -> None:
        """Show a layout in the film."""
        self.film.world.set_up(layout)
        self.film.show()

    def open(self, phone: WebDriver, code: str = "") -> None:
        """Open the page to which the owner's QR code leads, as if the phone had scanned it."""
        camera_server = self.companion.phone_server
        phone.get(
            f"{camera_server.open_address()}eye/{code or camera_server.phone_camera.pairing.code()}"
        )

    @property
    def state(self) -> CameraState:
        return self.companion.table.view().devices.camera.state

    def wait_until_seen(self) -> None:
        until("the board in the phone's pictures", lambda: self.state is CameraState.SEES_BOARD)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[PhoneCameraRig]:
    """A table without a game, and a film of Outbuffered's board at the start."""
    world = printed_table(GAME.kit(OPTIONS))
    film = Film(tmp_path / "film.y4m", world)
    settings = local_settings(
        tmp_path,
        panel=PanelSettings(enabled="no"),
        table=TableSettings(reading_time_s=0.1),
        voice=VoiceSettings(by="off"),
    )
    with Companion(settings, simulate=False) as companion:
        opened = PhoneCameraRig(companion, film)
        opened.show(dict(GAME.expected(GAME.setup(OPTIONS, Random(0))) or {}))
        yield opened


def test_a_phone_sees_a_wrong_piece(rig: PhoneCameraRig) -> None:
    """Move a piece to a wrong square, and back. The table must report a problem and then none."""
    table = rig.companion.table
    with browser_with(*rig.film.flags()) as phone:
        # The phone becomes the table's camera.
        rig.open(phone)
        rig.wait_until_seen()
        assert phone.current_url.endswith("/eye"), "the used code is still in the address"

        # The pieces of a new game lie right, so it waits for orders.
        for seat in SEATS:
            table.take_seat(seat, "")
        table.new_game("outbuffered", seed=1)
        until("orders", lambda: table.view().phase is Phase.ORDERS)

        # A hand comes to a free square. While something moves, the phone sends more pictures.
        layout = dict(table.view().board.layout)
        square = min(layout)
        squares = GAME.kit(OPTIONS).board.squares
        free_square = next(place for place in squares if place not in layout)
        rig.film.world.hold_hand(free_square)
        rig.film.show()
        until(
            "frequent pictures",
            lambda: rig.companion.phone_server.phone_camera.connection.is_moving,
        )

        # The hand has put a piece there. Then it puts it back.
        rig.film.world.hold_hand(None)
        others = {place: faces for place, faces in layout.items() if place != square}
        rig.show(others | {free_square: layout[square]})
        until("the problem", lambda: table.view().board.problems)
        rig.show(layout)
        until("the end of the problem", lambda: not table.view().board.problems)


def test_a_camera_phone_recovers_from_interruptions(rig: PhoneCameraRig) -> None:
    """Cut the network, hide the page, stop and start, and dim the screen.

    Each time the table must report that pictures are missing, and then see the board again. Only
    the dimmed screen must interrupt nothing.
    """
    table = rig.companion.table
    with browser_with(*rig.film.flags()) as phone:
        cdp(phone, "Network.enable")
        rig.open(phone)
        rig.wait_until_seen()

        # Without a network, the phone says so, and so does the table. On a busy machine the table
        # may report another trouble before: that the last picture came late.
        full_speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        cdp(phone, "Network.emulateNetworkConditions", offline=True, **full_speed)
        until(
            "the notice on the phone",
            lambda: text_of(phone, "#words") == "No connection to the table. Trying again.",
        )
        sentence = "The phone sends no pictures: unlock it"
        until("the table's report", lambda: sentence in table.view().devices.camera.sentence)
        assert rig.state is CameraState.TROUBLE
        cdp(phone, "Network.emulateNetworkConditions", offline=False, **full_speed)
        rig.wait_until_seen()

        # A phone takes no pictures for a page behind another tab.
        camera_tab = phone.current_window_handle
        phone.switch_to.new_window("tab")
        until("trouble with a hidden page", lambda: rig.state is CameraState.TROUBLE)
        phone.switch_to.window(camera_tab)
        rig.wait_until_seen()

        # The phone's own keys stop and start the camera.
        tap(phone, "#stop")
        until("trouble with a stopped camera", lambda: rig.state is CameraState.TROUBLE)
        tap(phone, "#start")
        rig.wait_until_seen()

        # A dark screen saves power, and pictures go on.
        tap(phone, "#dim")
        until("a dark screen", lambda: phone.find_element(By.ID, "dark").is_displayed())
        rig.wait_until_seen()
