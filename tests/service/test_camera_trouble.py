"""Every trouble of a camera as people meet it: on the pages and the lamps; play goes on, and the
camera comes back.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
from camera_tools import UsbBus, Webcam
from simulated_room import local_settings

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.kit import SEATS
from companion.core.ports import Cue
from companion.games.outbuffered import Outbuffered
from companion.printing.printed_kit import printed_table
from companion.service.app import Companion
from companion.table.listeners import TableListener
from hardware.simulated import SimulatedPanelHands, simulated_panel

GAME = Outbuffered()
KIT = GAME.kit(GAME.options({}))
PERIOD_S = 0.1


class House:
    """A whole companion without threads, a webcam over a rendered table, a panel on mock pins."""

    def __init__(self, bus: UsbBus, folder: Path) -> None:
        self.bus = bus
        self.clock = FakeClock()
        self.world = printed_table(KIT)
        self.webcam = Webcam("YUYV", (1280, 720))
        self.webcam.scene = self.world.render_luma
        self.hands: SimulatedPanelHands | None = None
        self.cues: list[Cue] = []
        self.settings = local_settings(folder / "state", camera=CameraSettings(source="usb:0"))

    def open(self) -> Companion:
        self.companion = Companion(self.settings, simulate=False, clock=self.clock, threads=False)
        self.companion.table.connect(
            TableListener(on_signal=lambda signal: self.cues.append(signal.cue))
        )
        return self.companion

    def frames(self, count: int = 1) -> None:
        for _ in range(count):
            self.companion.step()
            self.clock.advance(PERIOD_S)

    @property
    def camera(self) -> dict[str, str]:
        """What the pages say of the camera, as programs get it."""
        with urlopen(f"{self.companion.urls()[0]}api/view") as reply:
            return dict(json.load(reply)["camera"])

    @property
    def page(self) -> str:
        with urlopen(self.companion.urls()[0]) as reply:
            return str(reply.read().decode())

    def flashes(self) -> int:
        """Count how often South's turn lamp goes on within two seconds."""
        assert self.hands is not None
        lit, before = 0, 0.0
        for _ in range(100):
            self.companion.step_keys()
            now = self.hands.view().lamps["south_turn"]
            lit += now > 0 and before == 0
            before = now
            self.clock.advance(0.02)
        return lit


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[House]:
    bus = UsbBus(monkeypatch, tmp_path)
    monkeypatch.setitem(sys.modules, "picamera2", None)
    built = House(bus, tmp_path)

    def open_panel(settings: Any, clock: Any, on_press: Any) -> Any:
        panel, built.hands = simulated_panel(settings, clock, on_press)
        return panel

    monkeypatch.setattr("companion.service.app.open_panel", open_panel)
    yield built
    built.companion.close()


def freeze(house: House) -> None:
    still = house.world.render_luma()
    house.webcam.scene, house.webcam.noise = lambda: still, False


def thaw(house: House) -> None:
    house.webcam.scene, house.webcam.noise = house.world.render_luma, True


TROUBLES = [
    pytest.param(
        lambda house: house.bus.pull(0),
        lambda house: house.bus.plug(0, house.webcam),
        "USB camera 0 is missing (/dev/video0): plug it in",
        id="unplugged",
    ),
    pytest.param(
        freeze,
        thaw,
        "The camera usb:0 sends the same picture again and again: unplug it",
        id="frozen",
    ),
]


@pytest.mark.parametrize(("begin", "end", "words"), TROUBLES)
def test_play_goes_on_until_the_camera_returns(
    house: House, begin: Callable[[House], None], end: Callable[[House], None], words: str
) -> None:
    house.bus.plug(0, house.webcam)
    with house.open() as companion:
        table = companion.table
        companion.table.new_game("outbuffered", {}, 1)
        house.world.set_up(GAME.expected(GAME.setup(GAME.options({}), Random(1))) or {})
        house.frames(6)
        assert house.camera == {"state": "sees_board", "sentence": "The camera sees the board"}
        assert table.view().phase == "orders", "the camera did not tick off the set-up"
        begin(house)
        for _ in range(25):
            house.clock.advance(0.9)
            house.frames(1)
        assert house.camera["state"] == "trouble"
        assert words in house.camera["sentence"]
        assert words.split(":", maxsplit=1)[0] in house.page
        assert house.cues.count(Cue.TROUBLE) == 1, "said again and again"
        assert house.flashes() >= 2, "the lamp does not show it"
        moment = table.view().moment
        for seat in SEATS:
            table.hand_in(seat, moment, "UUS")
        while (view := table.view()).phase == "stages":
            table.confirm("south", view.moment, view.turn.stage)
        assert table.view().phase == "orders", "play does not go on by taps"
        house.world.set_up(table.view().board.layout)
        end(house)
        for _ in range(12):
            house.clock.advance(1.0)
            house.frames(1)
        house.frames(5)
        assert house.camera["state"] == "sees_board"
        house.world.set_up({})
        house.frames(8)
        assert table.view().board.problems, "the board is not followed any more"


def test_a_camera_that_comes_late_is_used(
    house: House,
) -> None:
    auto = CameraSettings(source="auto")
    house.settings = msgspec.structs.replace(house.settings, camera=auto)
    with house.open():
        house.frames(20)
        assert house.camera == {
            "state": "none",
            "sentence": "There is no camera: connect one and it will be used; "
            "without one you play by tapping",
        }
        assert Cue.TROUBLE not in house.cues
        house.bus.plug(2, house.webcam)
        house.clock.advance(10.0)
        house.frames(3)
        assert house.camera["state"] == "sees_board"
        house.bus.pull(2)
        house.frames(1)
        assert house.camera["state"] == "trouble", "a camera that was there is missed"
