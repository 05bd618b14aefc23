"""Test how the service starts and closes its parts, in the test's process."""

from __future__ import annotations

import threading
import urllib.request
from pathlib import Path

import pytest
from simulated_room import local_settings, simulated

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings, PanelSettings
from companion.core.errors import CameraError
from companion.core.ports import Camera, CameraState
from companion.service.app import Companion


def test_all_lamps_flash_at_the_start(tmp_path: Path) -> None:
    """Each lamp is lit once and goes out again, so that a broken lamp is seen."""
    clock = FakeClock()
    with simulated(tmp_path, clock) as companion:
        assert companion.simulation is not None
        lit_lamps = set()
        for _ in range(60):
            clock.advance(0.02)
            companion.step_keys()
            lamps = companion.simulation.hands.view().lamps
            lit_lamps |= {name for name, is_lit in lamps.items() if is_lit}
        # Both pads have four lamps.
        assert len(lit_lamps) == 8
        assert not any(companion.simulation.hands.view().lamps.values())
    companion.close()  # may be called twice


def test_notes_say_which_devices_are_missing(tmp_path: Path) -> None:
    no_devices = local_settings(
        tmp_path, panel=PanelSettings(enabled="no"), camera=CameraSettings(source="none")
    )
    with Companion(no_devices, simulate=False, clock=FakeClock(), threads=False) as companion:
        assert companion.notes[0].startswith("No pads: The panel is switched off")
        assert companion.notes[1] == "No camera: switched off in the settings."
        assert companion.simulation is None
        companion.step()
        assert companion.table.view().devices.panel_notice == "No pads: phones only."


def test_pages_do_not_wait_for_slow_cameras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages are served while a camera is being opened, and show later that this has failed."""
    is_opening = threading.Event()
    may_fail = threading.Event()

    def open_slowly(*_: object) -> Camera:
        is_opening.set()
        assert may_fail.wait(60)
        raise CameraError("It is broken")

    monkeypatch.setattr("companion.service.board_watch.open_camera", open_slowly)
    with_camera = local_settings(
        tmp_path, camera=CameraSettings(source="usb:0"), panel=PanelSettings(enabled="no")
    )
    with Companion(with_camera, simulate=False) as companion:
        # The camera is being opened, and a page is served.
        assert companion.notes[1] == "The camera is being opened; the pages work already."
        assert is_opening.wait(60)
        with urllib.request.urlopen(
            f"http://127.0.0.1:{companion.server.port}/", timeout=60
        ) as answer:
            assert answer.status == 200

        # Then opening fails. Wait for changes of the table until it shows that.
        version = companion.table.version
        may_fail.set()
        while companion.table.view().devices.camera.state is not CameraState.TROUBLE:
            assert (version := companion.table.wait(version, 20))
        assert companion.table.view().devices.camera.sentence == "It is broken"
