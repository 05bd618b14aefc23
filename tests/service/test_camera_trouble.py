"""Test what people see of a camera's troubles: on pages, in signals and on the panel's lamps.

The whole service runs without threads on a fake clock. Its webcam films a rendered table.
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
FRAME_INTERVAL_S = 0.1


class WebcamService:
    """The service without threads, a webcam over a rendered table, and a panel on mock pins."""

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

    def take_frames(self, count: int = 1) -> None:
        for _ in range(count):
            self.companion.step()
            self.clock.advance(FRAME_INTERVAL_S)

    @property
    def camera(self) -> dict[str, str]:
        """State and sentence of the camera in the answer of `/api/view`."""
        with urlopen(f"{self.companion.urls()[0]}api/view") as reply:
            return dict(json.load(reply)["camera"])

    @property
    def page(self) -> str:
        """The table screen's page."""
        with urlopen(self.companion.urls()[0]) as reply:
            return str(reply.read().decode())

    def count_flashes(self) -> int:
        """Count how often South's turn lamp goes on within two seconds."""
        assert self.hands is not None
        flash_count, former_level = 0, 0.0
        for _ in range(100):
            self.companion.step_keys()
            level = self.hands.view().lamps["south_turn"]
            flash_count += level > 0 and former_level == 0
            former_level = level
            self.clock.advance(0.02)
        return flash_count


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WebcamService]:
    """The service before its start, with no camera plugged in."""
    bus = UsbBus(monkeypatch, tmp_path)
    monkeypatch.setitem(sys.modules, "picamera2", None)
    made = WebcamService(bus, tmp_path)

    def open_panel(settings: Any, clock: Any, on_press: Any) -> Any:
        panel, made.hands = simulated_panel(settings, clock, on_press)
        return panel

    monkeypatch.setattr("companion.service.app.open_panel", open_panel)
    yield made
    made.companion.close()


def freeze(service: WebcamService) -> None:
    """Let the webcam send exactly the same picture from now on."""
    last_picture = service.world.render_luma()
    service.webcam.scene, service.webcam.noise = lambda: last_picture, False


def thaw(service: WebcamService) -> None:
    service.webcam.scene, service.webcam.noise = service.world.render_luma, True


# How each trouble begins and ends, and what the pages say of it.
TROUBLES = [
    pytest.param(
        lambda service: service.bus.pull(0),
        lambda service: service.bus.plug(0, service.webcam),
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
    service: WebcamService,
    begin: Callable[[WebcamService], None],
    end: Callable[[WebcamService], None],
    words: str,
) -> None:
    service.bus.plug(0, service.webcam)
    with service.open() as companion:
        table = companion.table
        companion.table.new_game("outbuffered", {}, seed=1)
        service.world.set_up(GAME.expected(GAME.setup(GAME.options({}), Random(1))) or {})
        service.take_frames(6)
        assert service.camera == {"state": "sees_board", "sentence": "The camera sees the board"}
        assert table.view().phase == "orders", "the camera did not tick off the set-up"
        begin(service)
        # 25 s: enough to notice the trouble, and to signal it twice if that were a fault
        for _ in range(25):
            service.clock.advance(0.9)
            service.take_frames(1)
        assert service.camera["state"] == "trouble"
        assert words in service.camera["sentence"]
        assert words.split(":", maxsplit=1)[0] in service.page
        assert service.cues.count(Cue.TROUBLE) == 1, "the trouble is signalled again and again"
        assert service.count_flashes() >= 2, "the lamp does not show the trouble"
        moment = table.view().moment
        for seat in SEATS:
            table.hand_in(seat, moment, "UUS")
        while (view := table.view()).phase == "stages":
            table.confirm("south", view.moment, view.turn.stage)
        assert table.view().phase == "orders", "play does not go on by taps"
        service.world.set_up(table.view().board.layout)
        end(service)
        for _ in range(12):
            service.clock.advance(1.0)
            service.take_frames(1)
        service.take_frames(5)
        assert service.camera["state"] == "sees_board"
        service.world.set_up({})
        service.take_frames(8)
        assert table.view().board.problems, "the board is not followed any more"


def test_a_camera_plugged_in_late_is_used(service: WebcamService) -> None:
    auto = CameraSettings(source="auto")
    service.settings = msgspec.structs.replace(service.settings, camera=auto)
    with service.open():
        service.take_frames(20)
        assert service.camera == {
            "state": "none",
            "sentence": "There is no camera: connect one and it will be used; "
            "without one you play by tapping",
        }
        assert Cue.TROUBLE not in service.cues
        service.bus.plug(2, service.webcam)
        service.clock.advance(10.0)
        service.take_frames(3)
        assert service.camera["state"] == "sees_board"
        service.bus.pull(2)
        service.take_frames(1)
        assert service.camera["state"] == "trouble", "a pulled camera is not missed"
