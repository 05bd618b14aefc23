"""What Picamera2 does and the program relies on: one set of tests for the fake, and in the machine
for the real one.

Where both disagree, the fake is wrong.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator

import pytest
from camera_rigs import RIGS, SETTINGS, Rig, open_pi

from companion.core.errors import CameraError
from vision.cameras.picamera import PiCamera
from vision.cameras.ribbon import CLOSE_TIMEOUT_S, import_picamera2, pi_devices
from vision.cameras.source import Locks


@pytest.fixture(params=list(RIGS))
def rig(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    made: Rig = RIGS[request.param](monkeypatch)
    yield made
    made.close()


def held() -> tuple[int, int]:
    """Return how many descriptors are open and how many threads run."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def several(camera: PiCamera) -> None:
    """Take some pictures, because those that were on their way still come."""
    for _ in range(5):
        camera.frame()


def test_cameras_are_listed_by_their_ids(rig: Rig) -> None:
    listed = import_picamera2().Picamera2.global_camera_info()
    assert [each["Id"] for each in listed] == sorted((each["Id"] for each in listed), reverse=True)
    assert [each["Num"] for each in listed] == [1, 0], (
        "these two are in another order for libcamera"
    )
    assert {"Id", "Model", "Num"} <= set(listed[0])


def test_a_picture_is_a_plane_without_padding(rig: Rig) -> None:
    with open_pi() as camera:
        width, height = SETTINGS.size_px
        request = camera.device.capture_request(wait=False).get_result(timeout=5)
        main = camera.device.camera_configuration()["main"]
        with import_picamera2().MappedArray(request, "main", write=False) as mapped:
            assert mapped.array.shape == (height * 3 // 2, main["stride"])
            assert mapped.array.dtype == "uint8"
        request.release()
        assert main["size"] == (width, height)
        assert main["stride"] >= width
        first, second = camera.frame(), camera.frame()
        assert first.luma.shape == second.luma.shape == (height, width)
        assert second.number == first.number + 1
        assert first.luma.max() > first.luma.min(), "they see something"


def test_a_picture_tells_when_it_was_exposed(rig: Rig) -> None:
    with open_pi() as camera:
        request = camera.device.capture_request(wait=False).get_result(timeout=5)
        stamp_s = request.get_metadata()["SensorTimestamp"] / 1e9
        request.release()
        assert 0 <= time.clock_gettime(time.CLOCK_BOOTTIME) - stamp_s < 60
        for _ in range(3):
            at_s = camera.frame().at_s
            assert 0 <= time.monotonic() - at_s < 60


def test_controls_that_a_camera_lacks_are_skipped(rig: Rig) -> None:
    with open_pi() as camera:
        assert camera.locks is None or isinstance(camera.locks, Locks)
        camera.frame()
        camera.lock(True, True)
        camera.meter(slow=True)
        camera.frame()
        with pytest.raises(RuntimeError, match="NoSuchControl is not advertised"):
            camera.device.set_controls({"NoSuchControl": 1})


def test_a_busy_camera_is_named_and_costs_nothing(rig: Rig) -> None:
    which = pi_devices()[0].id
    with rig.taken_elsewhere(which):
        before = None
        for number in range(rig.many):
            with pytest.raises(CameraError, match="it is in use by another program"):
                open_pi(which)
            if number == 2:  # libcamera opens some things once and for all
                before = held()
        assert held() == before
    with open_pi(which) as camera:
        assert camera.frame() is not None


@pytest.mark.parametrize("fault", ["silence", "end_loop"])
def test_a_silent_camera_is_opened_anew(rig: Rig, fault: str) -> None:
    camera = open_pi()
    camera.frame()
    getattr(rig, fault)(camera)
    with pytest.raises(CameraError, match="has stopped sending pictures"):
        several(camera)
    began_s = time.monotonic()
    camera.close()
    assert time.monotonic() - began_s < CLOSE_TIMEOUT_S
    with open_pi() as camera:
        assert camera.frame() is not None


def test_a_camera_is_opened_a_hundred_times(rig: Rig) -> None:
    before = None
    for number in range(100):
        with open_pi() as camera:
            camera.frame()
        if number == 2:
            before = held()
    assert held() == before


def test_two_cameras_work_at_once(rig: Rig) -> None:
    one, other = pi_devices()
    with open_pi(one.id) as first:
        with open_pi(other.id) as second:
            assert second.device.camera.id == other.id
            assert second.frame() is not None
            with pytest.raises(CameraError, match="in use by another program"):
                open_pi(other.id)
        assert first.frame() is not None, "closing one leaves the other"
