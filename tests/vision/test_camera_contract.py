"""Test the behaviour of Picamera2 that the program relies on.

The same tests run on the fake, and in the virtual machine of `make appliance` on the real one. If
they disagree, the fake is wrong.
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
    rig: Rig = RIGS[request.param](monkeypatch)
    yield rig
    rig.close()


def count_descriptors_and_threads() -> tuple[int, int]:
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()


def take_pictures(camera: PiCamera) -> None:
    """Take five pictures, because pictures that were already on their way still arrive."""
    for _ in range(5):
        camera.frame()


def test_cameras_are_listed_by_their_ids(rig: Rig) -> None:
    """`Num` is the position in libcamera's own list, where these two are in the other order."""
    cameras = import_picamera2().Picamera2.global_camera_info()
    ids = [camera["Id"] for camera in cameras]
    assert ids == sorted(ids, reverse=True)
    assert [camera["Num"] for camera in cameras] == [1, 0]
    assert {"Id", "Model", "Num"} <= set(cameras[0])


def test_a_picture_has_no_padding(rig: Rig) -> None:
    """Picamera2 pads the rows of its buffers. The program cuts the padding off."""
    with open_pi() as camera:
        width, height = SETTINGS.size_px

        # the buffer has rows of `stride` bytes, and one and a half times the rows for the colours
        request = camera.device.capture_request(wait=False).get_result(timeout=5)
        main = camera.device.camera_configuration()["main"]
        with import_picamera2().MappedArray(request, "main", write=False) as mapped:
            assert mapped.array.shape == (height * 3 // 2, main["stride"])
            assert mapped.array.dtype == "uint8"
        request.release()
        assert main["size"] == (width, height)
        assert main["stride"] >= width

        # the frames of the program have the size of the settings
        first = camera.frame()
        second = camera.frame()
        assert first.luma.shape == second.luma.shape == (height, width)
        assert second.number == first.number + 1
        assert first.luma.max() > first.luma.min(), "the picture shows nothing"


def test_a_picture_is_stamped_with_its_exposure(rig: Rig) -> None:
    """Picamera2 counts from the start of the machine, the program by its own monotonic clock."""
    with open_pi() as camera:
        # in nanoseconds since the start of the machine
        request = camera.device.capture_request(wait=False).get_result(timeout=5)
        stamp_s = request.get_metadata()["SensorTimestamp"] / 1e9
        request.release()
        assert 0 <= time.clock_gettime(time.CLOCK_BOOTTIME) - stamp_s < 60

        # in seconds of the program's clock
        for _ in range(3):
            at_s = camera.frame().at_s
            assert 0 <= time.monotonic() - at_s < 60


def test_missing_controls_are_skipped(rig: Rig) -> None:
    """Picamera2 refuses controls that a camera lacks, so the program must not send them."""
    with open_pi() as camera:
        assert camera.locks is None or isinstance(camera.locks, Locks)
        camera.frame()
        camera.lock(True, True)
        camera.meter(slow=True)
        camera.frame()
        with pytest.raises(RuntimeError, match="NoSuchControl is not advertised"):
            camera.device.set_controls({"NoSuchControl": 1})


def test_attempts_to_open_a_busy_camera_leak_nothing(rig: Rig) -> None:
    identity = pi_devices()[0].id
    with rig.taken_elsewhere(identity):
        before = None
        for attempt in range(rig.repetitions):
            with pytest.raises(CameraError, match="it is in use by another program"):
                open_pi(identity)
            if attempt == 2:  # libcamera keeps some descriptors of the first openings
                before = count_descriptors_and_threads()
        assert count_descriptors_and_threads() == before
    with open_pi(identity) as camera:
        assert camera.frame() is not None


@pytest.mark.parametrize("fault", ["silence", "end_loop"])
def test_a_silent_camera_can_be_opened_again(rig: Rig, fault: str) -> None:
    """`fault` is the method of the rig that silences the camera."""
    camera = open_pi()
    camera.frame()
    getattr(rig, fault)(camera)
    with pytest.raises(CameraError, match="has stopped sending pictures"):
        take_pictures(camera)

    # the camera is closed properly, without waiting until the time is up
    began_at_s = time.monotonic()
    camera.close()
    assert time.monotonic() - began_at_s < CLOSE_TIMEOUT_S
    with open_pi() as camera:
        assert camera.frame() is not None


def test_opening_a_camera_often_leaks_nothing(rig: Rig) -> None:
    before = None
    for opening in range(100):
        with open_pi() as camera:
            camera.frame()
        if opening == 2:  # libcamera keeps some descriptors of the first openings
            before = count_descriptors_and_threads()
    assert count_descriptors_and_threads() == before


def test_two_cameras_work_at_once(rig: Rig) -> None:
    first, second = pi_devices()
    with open_pi(first.id) as first_camera:
        with open_pi(second.id) as second_camera:
            assert second_camera.device.camera.id == second.id
            assert second_camera.frame() is not None
            with pytest.raises(CameraError, match="in use by another program"):
                open_pi(second.id)
        assert first_camera.frame() is not None, "closing the second camera has stopped the first"
