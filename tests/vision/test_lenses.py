"""Test where the lens of a camera comes from, and which lenses are stored for the next start.

A lens is nominal for a model of camera, estimated from views of the board, or measured (*exact*).
An estimate is stored if it is better than the stored one.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from camera_tools import UsbBus, Webcam
from reading_tools import KITS, render_table

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from companion.core.ports import Reading
from vision.cameras.camera_link import Cameras
from vision.cameras.catalogue import open_camera
from vision.cameras.files import PictureCamera
from vision.cameras.lenses import LensStore, nominal_lens
from vision.cameras.source import PhysicalCamera
from vision.pose.lens_estimate import LensEstimate
from vision.pose.optics import LENSES, Lens
from vision.pose.pose import Pose
from vision.reading.board_reader import make_board_reader
from vision.simulation.view import CameraView
from vision.watcher import Watcher, WatchListeners

KIT = KITS["outbuffered"]
SETTINGS = CameraSettings()


class IdleCamera(PhysicalCamera):
    """A camera that has an identity, a lens and a zoom, but no pictures."""

    def __init__(
        self, identity: str = "usb 046d:082d:A1", lens_name: str = "webcam", zoom: float = 1.0
    ) -> None:
        super().__init__(FakeClock())
        self.identity, self.lens_name, self._zoom = identity, lens_name, zoom

    @property
    def zoom(self) -> float:
        return self._zoom


def estimate_of(lens: Lens, spread: float, views: int = 50) -> LensEstimate:
    """Return an estimate of a lens, with `spread` as its standard deviation."""
    information = np.diag([1 / spread**2, 1 / spread**2])
    return LensEstimate(LENSES["webcam"], lens, False, views, information=information)


def make_pose(rms_px: float = 0.3, markers: int = 4) -> Pose:
    return Pose(np.zeros(3), np.array([0.0, 0, 500]), Lens(0.75), (1920, 1080), markers, rms_px)


def store_lens(store: LensStore, estimate: LensEstimate, pose: Pose | None = None) -> None:
    store.update(IdleCamera(), estimate, pose or make_pose())
    store.save()


def load_lens(folder: Path) -> tuple[Lens, bool]:
    """Return the lens of the camera after a restart, and whether it was measured."""
    return LensStore(folder / "lenses.json", SETTINGS).lens_of(IdleCamera())


# ---- nominal lenses ------------------------------------------------------------------------------


def test_settings_overrule_the_lens_of_a_model() -> None:
    assert (
        nominal_lens(SETTINGS, IdleCamera(lens_name="camera-module-3-wide"))
        == LENSES["camera-module-3-wide"]
    )
    assert nominal_lens(CameraSettings(model="hq-6mm"), IdleCamera()) == LENSES["hq-6mm"]


def test_a_field_of_view_sets_the_focal_length() -> None:
    lens = nominal_lens(
        CameraSettings(field_of_view_deg=90.0), IdleCamera(lens_name="camera-module-3")
    )
    assert lens.focal_ratio == pytest.approx(0.5)


# ---- stored lenses -------------------------------------------------------------------------------


def test_an_estimated_lens_is_there_after_a_restart(tmp_path: Path) -> None:
    """It is used for the same camera again, unless the size or zoom of its pictures has changed."""
    path = tmp_path / "state" / "lenses.json"
    store = LensStore(path, SETTINGS)
    assert store.lens_of(IdleCamera()) == (LENSES["webcam"], False)

    # the second estimate is more certain and replaces the first one
    store_lens(store, estimate_of(Lens(0.78, 0.01), 0.02))
    store_lens(store, estimate_of(Lens(0.81, -0.04), 0.005))
    restarted = LensStore(path, SETTINGS)
    assert restarted.lens_of(IdleCamera()) == (Lens(0.81, -0.04), False)

    # Another camera has another lens. Another size or zoom may show another part of the sensor.
    assert restarted.lens_of(IdleCamera("usb 1234:5678")) == (LENSES["webcam"], False)
    other_size = LensStore(path, CameraSettings(size="1280x720"))
    assert other_size.lens_of(IdleCamera()) == (LENSES["webcam"], False)
    zoomed = IdleCamera(zoom=1.5)
    assert restarted.lens_of(zoomed)[0] == nominal_lens(SETTINGS, zoomed)

    # no temporary file is left behind
    assert [file.name for file in path.parent.iterdir()] == ["lenses.json"]


BETTER_LENS = Lens(0.81, -0.04)


@pytest.mark.parametrize(
    ("estimate", "pose"),
    [
        (estimate_of(BETTER_LENS, 0.02), make_pose()),
        (estimate_of(BETTER_LENS, 0.005, views=5), make_pose()),
        (estimate_of(BETTER_LENS, 0.004), make_pose(rms_px=4.0)),
        (estimate_of(BETTER_LENS, 0.004), make_pose(markers=2)),
        (estimate_of(Lens(1.2, -0.04), 0.004), make_pose()),
        (estimate_of(Lens(0.81, -0.3), 0.004), make_pose()),
        (estimate_of(Lens(math.nan, 0.0), 0.004), make_pose()),
    ],
    ids=[
        "less certain",
        "few views",
        "bad fit",
        "hidden markers",
        "implausible focal length",
        "implausible distortion",
        "not a number",
    ],
)
def test_a_worse_lens_is_not_stored(tmp_path: Path, estimate: LensEstimate, pose: Pose) -> None:
    store = LensStore(tmp_path / "lenses.json", SETTINGS)
    store_lens(store, estimate_of(Lens(0.78, 0.01), 0.005))
    store_lens(store, estimate, pose)
    assert load_lens(tmp_path) == (Lens(0.78, 0.01), False)


def test_an_estimate_never_replaces_a_measured_lens(tmp_path: Path) -> None:
    lens = {"focal_ratio": 0.79, "k1": 0.02, "spread": 0.001, "exact": True}
    content = json.dumps({"usb 046d:082d:A1 1920x1080": lens})
    (tmp_path / "lenses.json").write_text(content)
    store_lens(LensStore(tmp_path / "lenses.json", SETTINGS), estimate_of(BETTER_LENS, 0.0001))
    assert load_lens(tmp_path) == (Lens(0.79, 0.02), True)


def test_lenses_are_stored_every_five_minutes(tmp_path: Path) -> None:
    path = tmp_path / "lenses.json"
    store = LensStore(path, SETTINGS)
    for second in range(300):
        store.save_periodically(
            IdleCamera(), estimate_of(Lens(0.8), 0.01), make_pose(), float(second)
        )
    assert not path.exists()

    # The key is the camera's identity and the size of its pictures. The spread is a little smaller
    # than in the estimate, because the prior of a lens adds information.
    store.save_periodically(IdleCamera(), estimate_of(Lens(0.8), 0.01), make_pose(), 300.0)
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
    assert load_lens(tmp_path) == (LENSES["webcam"], False)
    assert "the cameras learn their lenses anew" in caplog.text
    store_lens(LensStore(path, SETTINGS), estimate_of(Lens(0.8), 0.01))
    assert load_lens(tmp_path)[0] == Lens(0.8)


def test_a_failure_to_store_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    store = LensStore(tmp_path / "state" / "lenses.json", SETTINGS)
    store_lens(store, estimate_of(Lens(0.8), 0.01))
    assert caplog.text.count("the lenses cannot be stored") == 1
    with pytest.raises(
        CameraError, match=r"the lenses cannot be stored: .*: make room, or mend state_dir"
    ):
        store.save_calibrated(IdleCamera(), Lens(0.79, 0.02), 0.001)


def test_files_have_no_lens_of_their_own(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), np.full((48, 64), 90, np.uint8))
    store = LensStore(tmp_path / "lenses.json", SETTINGS)
    camera = PictureCamera(tmp_path / "a.png", FakeClock())
    store.update(camera, estimate_of(Lens(0.8), 0.01), make_pose())
    store.save()
    assert not (tmp_path / "lenses.json").exists()
    with pytest.raises(CameraError, match="has no lens that can be stored"):
        store.save_calibrated(camera, Lens(0.79, 0.02), 0.001)


# ---- the watcher and the reader ------------------------------------------------------------------


class WatchedWebcam:
    """A rendered board under a webcam whose lens nobody knows, and its watcher."""

    def __init__(self, bus: UsbBus, folder: Path) -> None:
        self.clock = FakeClock()
        self.world = render_table(KIT, CameraView(focal_ratio=0.86, k1=-0.05, tilt_deg=40.0))
        self.webcam = Webcam("YUYV", (1280, 720))
        self.webcam.scene = self.world.render_luma
        bus.plug(0, self.webcam)
        self.path = folder / "lenses.json"
        self.readings: list[Reading] = []

    def start(self) -> Watcher:
        """Return a new watcher with a new reader, as after a restart."""
        settings = CameraSettings(source="usb:0", size="1280x720")
        self.reader = make_board_reader({KIT.game: KIT})
        cameras = Cameras(
            lambda source: open_camera(settings, self.clock, source),
            lenses=LensStore(self.path, settings),
        )
        return Watcher(cameras, self.reader, self.clock, WatchListeners(self.readings.append))


def test_a_lens_from_views_is_restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    watched = WatchedWebcam(UsbBus(monkeypatch, tmp_path), tmp_path)
    # from 24 views of the board, in another position each, the reader learns the lens
    with watched.start() as watcher:
        for turn in range(24):
            view = replace(
                watched.world.view,
                board_turn_deg=12.0 * turn,
                tilt_deg=30.0 + turn % 5 * 4,
                seed=turn,
            )
            watched.world.set_view(view)
            watcher.step()
            watched.clock.advance(0.1)
        assert watched.readings[-1].game == KIT.game
    assert len(json.loads(watched.path.read_text())) == 1

    # after a restart, the first picture is read with that lens
    with watched.start() as watcher:
        watcher.step()
        assert watched.reader.details.lens.focal_ratio == pytest.approx(0.86, rel=0.02)
        assert watched.reader.details.lens.k1 == pytest.approx(-0.05, abs=0.02)
