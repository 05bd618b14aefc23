"""Test what people see of a camera's troubles: on pages, in signals and on the panel's lamps.

The whole service runs without threads on a fake clock. Its webcam is a fake that films a rendered
table.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.request import urlopen

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
from hardware.simulated import simulated_panel

GAME = Outbuffered()
OPTIONS = GAME.options({})
FRAME_INTERVAL_S = 0.1
# An action of Outbuffered: the robot goes up twice, then shoots. Any legal action would do here.
ANY_ACTION = "UUS"


class WebcamService:
    """The running service, with a webcam over a rendered table and a panel on mock pins.

    It has no threads: a test runs its rounds. The webcam is not plugged in yet.

    :param source: the setting `[camera] source`
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, source: str) -> None:
        monkeypatch.setitem(sys.modules, "picamera2", None)
        monkeypatch.setattr("companion.service.app.open_panel", self._open_panel)
        self.bus = UsbBus(monkeypatch, folder)
        self.clock = FakeClock()
        self.world = printed_table(GAME.kit(OPTIONS))
        self.webcam = Webcam("YUYV", (1280, 720))
        self.webcam.scene = self.world.render_luma
        settings = local_settings(folder / "state", camera=CameraSettings(source=source))
        self.companion = Companion(settings, simulate=False, clock=self.clock, threads=False)
        self.cues: list[Cue] = []
        self.companion.table.connect(
            TableListener(on_signal=lambda signal: self.cues.append(signal.cue))
        )

    def _open_panel(self, settings: Any, clock: Any, on_press: Any) -> Any:
        panel, self.hands = simulated_panel(settings, clock, on_press)
        return panel

    def take_frames(self, count: int, interval_s: float = FRAME_INTERVAL_S) -> None:
        """Let the camera take some frames, and let all other parts do their work after each."""
        for _ in range(count):
            self.companion.step()
            self.clock.advance(interval_s)

    def fetch_camera(self) -> dict[str, str]:
        """Return state and sentence of the camera in the answer of `/api/view`."""
        with urlopen(f"{self.companion.urls()[0]}api/view") as reply:
            return dict(json.load(reply)["camera"])

    def fetch_page(self) -> str:
        """Return the page of the table screen."""
        with urlopen(self.companion.urls()[0]) as reply:
            return str(reply.read().decode())

    def count_flashes(self) -> int:
        """Return how often South's turn lamp goes on within two seconds."""
        flash_count = 0
        was_lit = False
        for _ in range(100):
            self.companion.step_keys()
            is_lit = self.hands.view().lamps["south_turn"]
            flash_count += is_lit and not was_lit
            was_lit = is_lit
            self.clock.advance(0.02)
        return flash_count


@pytest.fixture
def service(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[WebcamService]:
    """The running service. A test gives its camera source by an indirect parameter."""
    running = WebcamService(monkeypatch, tmp_path, request.param)
    yield running
    running.companion.close()


def freeze(service: WebcamService) -> None:
    """Let the webcam send exactly the same picture from now on."""
    last_picture = service.world.render_luma()
    service.webcam.scene = lambda: last_picture
    service.webcam.noise = False


def thaw(service: WebcamService) -> None:
    """Let the webcam film the table again."""
    service.webcam.scene = service.world.render_luma
    service.webcam.noise = True


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


@pytest.mark.parametrize(("begin_trouble", "end_trouble", "sentence"), TROUBLES)
@pytest.mark.parametrize("service", ["usb:0"], indirect=True)
def test_play_goes_on_until_the_camera_returns(
    service: WebcamService,
    begin_trouble: Callable[[WebcamService], None],
    end_trouble: Callable[[WebcamService], None],
    sentence: str,
) -> None:
    """Without its camera the table goes on by taps, and afterwards it follows the board again."""
    # A game is set up, and the camera sees that it is.
    service.bus.plug(0, service.webcam)
    table = service.companion.table
    table.new_game("outbuffered", {}, seed=1)
    service.world.set_up(GAME.expected(GAME.setup(OPTIONS, Random(1))) or {})
    service.take_frames(6)
    assert service.fetch_camera() == {
        "state": "sees_board",
        "sentence": "The camera sees the board",
    }
    assert table.view().phase == "orders", "the camera must confirm the set-up by itself"

    # The trouble lasts for 25 s. That is enough to notice it, and would be enough to signal it a
    # second time, which must not happen.
    begin_trouble(service)
    service.take_frames(25, interval_s=1.0)
    camera = service.fetch_camera()
    assert camera["state"] == "trouble"
    assert sentence in camera["sentence"]
    assert sentence in service.fetch_page()
    assert service.cues.count(Cue.TROUBLE) == 1, "the trouble must be signalled exactly once"
    assert service.count_flashes() >= 2, "the turn lamp must show the trouble"

    # Meanwhile people play a whole turn, and confirm each of its stages by a tap.
    moment = table.view().moment
    for seat in SEATS:
        table.hand_in(seat, moment, ANY_ACTION)
    while (view := table.view()).phase == "stages":
        table.confirm("south", view.moment, view.turn.stage)
    assert table.view().phase == "orders", "the next turn must begin after the taps"

    # The trouble ends. The watcher tries to open the camera at growing intervals, up to 10 s.
    service.world.set_up(table.view().board.layout)
    end_trouble(service)
    service.take_frames(12, interval_s=1.1)
    service.take_frames(5)
    assert service.fetch_camera()["state"] == "sees_board"

    # The board is read again: an empty one is noticed as wrong.
    service.world.set_up({})
    service.take_frames(8)
    assert table.view().board.problems, "the camera must follow the board again"


@pytest.mark.parametrize("service", ["auto"], indirect=True)
def test_a_camera_plugged_in_late_is_used(service: WebcamService) -> None:
    # If the settings leave the choice open, a table that has no camera is not in trouble.
    service.take_frames(20)
    assert service.fetch_camera() == {
        "state": "none",
        "sentence": "There is no camera: connect one and it will be used; "
        "without one you play by tapping",
    }
    assert Cue.TROUBLE not in service.cues

    # A camera that is plugged in now is found, on a port of its own.
    service.bus.plug(2, service.webcam)
    service.clock.advance(10.0)
    service.take_frames(3)
    assert service.fetch_camera()["state"] == "sees_board"

    # From then on the table is in trouble without it.
    service.bus.pull(2)
    service.take_frames(1)
    assert service.fetch_camera()["state"] == "trouble", "a camera that was used must be missed"
