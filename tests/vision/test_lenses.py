"""Lenses by camera: nominal from the model, learned from the board, kept over restarts, and only
when they are better.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from camera_tools import UsbBus, Webcam
from reading_tools import render_table

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.ports import Reading
from companion.games.outbuffered import Outbuffered
from vision.cameras.camera_link import Cameras
from vision.cameras.catalogue import open_camera
from vision.cameras.files import PictureCamera
from vision.cameras.lenses import LensStore, nominal_lens
from vision.cameras.source import PhysicalCamera
from vision.pose.lens_estimate import LensEstimate
from vision.pose.optics import LENSES, Lens
from vision.pose.pose import Pose
from vision.reading.board_reader import board_reader
from vision.simulation.view import CameraView
from vision.watcher import Watcher, WatchListeners

GAME = Outbuffered()
KIT = GAME.kit(GAME.options({}))
SETTINGS = CameraSettings()


class Camera(PhysicalCamera):
    """A camera that is only known by its name."""

    def __init__(
        self, identity: str = "usb 046d:082d:A1", lens_name: str = "webcam", zoom: float = 1.0
    ) -> None:
        super().__init__(FakeClock())
        self.identity, self.lens_name, self._zoom = identity, lens_name, zoom

    @property
    def zoom(self) -> float:
        return self._zoom


def estimate_of(lens: Lens, spread: float, views: int = 50, exact: bool = False) -> LensEstimate:
    """Return an estimate that has come to a lens."""
    information = np.diag([1 / spread**2, 1 / spread**2])  # so sure is it of itself
    return LensEstimate(LENSES["webcam"], lens, exact, views, information=information)


def pose(rms_px: float = 0.3, markers: int = 4) -> Pose:
    return Pose(np.zeros(3), np.array([0.0, 0, 500]), Lens(0.75), (1920, 1080), markers, rms_px)


def store_lens(
    store: LensStore, estimate: LensEstimate, camera: Camera | None = None, seen: Pose | None = None
) -> None:
    store.update(camera or Camera(), estimate, seen or pose())
    store.save()


def stored_lens(folder: Path) -> tuple[Lens, bool]:
    """Return the camera's lens after a restart, and whether it was measured."""
    return LensStore(folder / "lenses.json", SETTINGS).lens_of(Camera())


# ---- nominal lenses ------------------------------------------------------------------------------


def test_settings_overrule_the_lens_of_a_model() -> None:
    assert (
        nominal_lens(SETTINGS, Camera(lens_name="camera-module-3-wide"))
        == LENSES["camera-module-3-wide"]
    )
    assert nominal_lens(CameraSettings(model="hq-6mm"), Camera()) == LENSES["hq-6mm"]


def test_a_field_of_view_sets_the_focal_length() -> None:
    lens = nominal_lens(CameraSettings(field_of_view_deg=90.0), Camera(lens_name="camera-module-3"))
    assert lens.focal_ratio == pytest.approx(0.5)


# ---- kept lenses ---------------------------------------------------------------------------------


def test_what_was_learned_is_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lenses.json"
    store = LensStore(path, SETTINGS)
    assert store.lens_of(Camera()) == (LENSES["webcam"], False)
    store_lens(store, estimate_of(Lens(0.78, 0.01), 0.02))
    store_lens(store, estimate_of(Lens(0.81, -0.04), 0.005))
    again = LensStore(path, SETTINGS)
    assert again.lens_of(Camera()) == (Lens(0.81, -0.04), False)
    assert again.lens_of(Camera("usb 1234:5678")) == (LENSES["webcam"], False), (
        "another camera has another lens"
    )
    small = LensStore(path, CameraSettings(size="1280x720"))
    assert small.lens_of(Camera()) == (LENSES["webcam"], False), (
        "another size may show another part of the sensor"
    )
    part = Camera(zoom=1.5)
    assert again.lens_of(part)[0] == nominal_lens(SETTINGS, part), (
        "a part of the sensor is another lens"
    )
    assert [each.name for each in path.parent.iterdir()] == ["lenses.json"]


SURE = Lens(0.81, -0.04)


@pytest.mark.parametrize(
    ("estimate", "seen"),
    [
        (estimate_of(SURE, 0.02), pose()),
        (estimate_of(SURE, 0.005, views=5), pose()),
        (estimate_of(SURE, 0.004), pose(rms_px=4.0)),
        (estimate_of(SURE, 0.004), pose(markers=2)),
        (estimate_of(Lens(1.2, -0.04), 0.004), pose()),
        (estimate_of(Lens(0.81, -0.3), 0.004), pose()),
        (estimate_of(Lens(math.nan, 0.0), 0.004), pose()),
    ],
    ids=["less sure", "few views", "no fit", "half hidden", "far off", "bent", "no number"],
)
def test_a_lens_that_is_worse_is_not_kept(
    tmp_path: Path, estimate: LensEstimate, seen: Pose
) -> None:
    store = LensStore(tmp_path / "lenses.json", SETTINGS)
    store_lens(store, estimate_of(Lens(0.78, 0.01), 0.005))
    store_lens(store, estimate, seen=seen)
    assert stored_lens(tmp_path) == (Lens(0.78, 0.01), False)


def test_a_measured_lens_stays(tmp_path: Path) -> None:
    lens = {"focal_ratio": 0.79, "k1": 0.02, "spread": 0.001, "exact": True}
    content = json.dumps({"usb 046d:082d:A1 1920x1080": lens})
    (tmp_path / "lenses.json").write_text(content)
    store_lens(LensStore(tmp_path / "lenses.json", SETTINGS), estimate_of(SURE, 0.0001))
    assert stored_lens(tmp_path) == (Lens(0.79, 0.02), True)


def test_lenses_are_stored_every_five_minutes(tmp_path: Path) -> None:
    path = tmp_path / "lenses.json"
    store = LensStore(path, SETTINGS)
    for second in range(300):
        store.save_periodically(Camera(), estimate_of(Lens(0.8), 0.01), pose(), float(second))
    assert not path.exists()
    store.save_periodically(Camera(), estimate_of(Lens(0.8), 0.01), pose(), 300.0)
    assert json.loads(path.read_text()) == {
        "usb 046d:082d:A1 1920x1080": {
            "focal_ratio": 0.8,
            "k1": 0.0,
            "spread": 0.00997,
            "exact": False,
            "k2": 0.0,
            "fisheye": False,
        }
    }


def test_a_damaged_file_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "lenses.json"
    path.write_bytes(b'{"a": {"focal_ratio": "x"}}')
    assert stored_lens(tmp_path) == (LENSES["webcam"], False)
    assert "the cameras learn their lenses anew" in caplog.text
    store_lens(LensStore(path, SETTINGS), estimate_of(Lens(0.8), 0.01))
    assert stored_lens(tmp_path)[0] == Lens(0.8)


def test_a_disk_that_takes_nothing_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    store = LensStore(tmp_path / "state" / "lenses.json", SETTINGS)
    store_lens(store, estimate_of(Lens(0.8), 0.01))
    assert caplog.text.count("the lenses cannot be stored") == 1
    with pytest.raises(
        CameraError, match=r"the lenses cannot be stored: .*: make room, or mend state_dir"
    ):
        store.save_calibrated(Camera(), Lens(0.79, 0.02), 0.001)


def test_files_have_no_lens_of_their_own(tmp_path: Path) -> None:
    import cv2  # noqa: PLC0415 - here only

    cv2.imwrite(str(tmp_path / "a.png"), np.full((48, 64), 90, np.uint8))
    store = LensStore(tmp_path / "lenses.json", SETTINGS)
    camera = PictureCamera(tmp_path / "a.png", FakeClock())
    store.update(camera, estimate_of(Lens(0.8), 0.01), pose())
    store.save()
    assert not (tmp_path / "lenses.json").exists()
    with pytest.raises(CameraError, match="has no lens that can be stored"):
        store.save_calibrated(camera, Lens(0.79, 0.02), 0.001)


# ---- the watcher and the reader ------------------------------------------------------------------


class WatchedWebcam:
    """A webcam with a lens of its own over a rendered board, watched from here."""

    def __init__(self, bus: UsbBus, folder: Path) -> None:
        self.clock = FakeClock()
        self.world = render_table(KIT, CameraView(focal_ratio=0.86, k1=-0.05, tilt_deg=40.0))
        self.webcam = Webcam("YUYV", (1280, 720))
        self.webcam.scene = self.world.render_luma
        bus.plug(0, self.webcam)
        self.path = folder / "lenses.json"
        self.readings: list[Reading] = []

    def start(self) -> Watcher:
        settings = CameraSettings(source="usb:0", size="1280x720")
        self.reader = board_reader({KIT.game: KIT})
        cameras = Cameras(
            lambda source: open_camera(settings, self.clock, source),
            lenses=LensStore(self.path, settings),
        )
        return Watcher(cameras, self.reader, self.clock, WatchListeners(self.readings.append))


def test_a_learned_lens_survives_a_restart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    watched = WatchedWebcam(UsbBus(monkeypatch, tmp_path), tmp_path)
    with watched.start() as watcher:
        for turn in range(24):
            watched.world.set_view(
                replace(
                    watched.world.view,
                    board_turn_deg=12.0 * turn,
                    tilt_deg=30.0 + turn % 5 * 4,
                    seed=turn,
                )
            )
            watcher.step()
            watched.clock.advance(0.1)
        assert watched.readings[-1].game == KIT.game
    kept = json.loads(watched.path.read_text())
    assert len(kept) == 1
    with watched.start() as watcher:
        watcher.step()
        assert watched.reader.details.lens.focal_ratio == pytest.approx(0.86, rel=0.02)
        assert watched.reader.details.lens.k1 == pytest.approx(-0.05, abs=0.02)
