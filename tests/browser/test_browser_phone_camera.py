"""An old phone as the camera: a real browser whose camera is a film of a rendered table."""

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
        self.film.world.set_up(layout)
        self.film.show()

    def open(self, phone: WebDriver, code: str = "") -> None:
        """Scan the code on the owner's page with the phone."""
        camera_server = self.companion.phone_server
        phone.get(
            f"{camera_server.open_address()}eye/{code or camera_server.phone_camera.pairing.code()}"
        )

    @property
    def state(self) -> CameraState:
        return self.companion.table.view().devices.camera.state

    def until_seen(self) -> None:
        until("the board in the phone's pictures", lambda: self.state is CameraState.SEES_BOARD)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[PhoneCameraRig]:
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


def words_of(phone: WebDriver) -> str:
    return text_of(phone, "#words")


def test_a_wrong_piece_is_named(rig: PhoneCameraRig) -> None:
    """A hand puts it on a wrong square, and back."""
    table = rig.companion.table
    with browser_with(*rig.film.flags()) as phone:
        rig.open(phone)
        rig.until_seen()
        assert phone.current_url.endswith("/eye"), "the code is used up"
        for seat in SEATS:
            table.take_seat(seat, "")
        table.new_game("outbuffered", {}, 1)
        until("orders", lambda: table.view().phase is Phase.ORDERS)
        right = dict(table.view().board.layout)
        square = min(right)
        free = next(place for place in GAME.kit(OPTIONS).board.squares if place not in right)
        rig.film.world.hold_hand(free)
        rig.film.show()
        until(
            "pictures come often",
            lambda: rig.companion.phone_server.phone_camera.connection.is_moving,
        )
        rig.film.world.hold_hand(None)
        wrong = {place: faces for place, faces in right.items() if place != square}
        rig.show(wrong | {free: right[square]})
        until("the wrong piece", lambda: table.view().board.problems)
        rig.show(right)
        until("all is right", lambda: not table.view().board.problems)


def test_a_camera_phone_comes_back(rig: PhoneCameraRig) -> None:
    table = rig.companion.table
    with browser_with(*rig.film.flags()) as phone:
        cdp(phone, "Network.enable")
        rig.open(phone)
        rig.until_seen()
        line = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        cdp(phone, "Network.emulateNetworkConditions", offline=True, **line)
        until(
            "the line is missed",
            lambda: words_of(phone) == "No connection to the table. Trying again.",
        )
        # the last picture may have come late on a busy machine, which is told first
        missed = "The phone sends no pictures: unlock it"
        until("trouble", lambda: missed in table.view().devices.camera.sentence)
        assert rig.state is CameraState.TROUBLE
        cdp(phone, "Network.emulateNetworkConditions", offline=False, **line)
        rig.until_seen()
        here = phone.current_window_handle
        phone.switch_to.new_window("tab")
        until("the phone is missed", lambda: rig.state is CameraState.TROUBLE)
        phone.switch_to.window(here)
        rig.until_seen()
        tap(phone, "#stop")
        until("the phone has stopped", lambda: rig.state is CameraState.TROUBLE)
        tap(phone, "#start")
        rig.until_seen()
        tap(phone, "#dim")
        until("a dark screen", lambda: phone.find_element(By.ID, "dark").is_displayed())
        rig.until_seen()
