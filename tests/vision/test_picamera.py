"""Test Raspberry Pi cameras with a fake of Picamera2: pictures, errors, memory, focus and exposure.

`test_camera_contract` tests that the fake behaves like the real Picamera2.
"""

from __future__ import annotations

import pytest
from camera_tools import striped_picture
from picamera_tools import WIDE_PX, PiHost

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.errors import CameraError
from vision.cameras.picamera import PiCamera
from vision.cameras.ribbon import choose_device, close_device
from vision.cameras.source import Locks


def open_pi(settings: CameraSettings | None = None, which: str = "") -> PiCamera:
    return PiCamera(settings or CameraSettings(), FakeClock(), choose_device(which))


def test_brightness_comes_without_padding_and_colours(pi: PiHost) -> None:
    camera = open_pi()
    size_px = (1920, 1080)
    width, height = size_px
    device = pi.opened[0]

    # the picture shows two thirds of the width of the sensor, which has (4608, 2592) px
    device.metadata["ScalerCrop"] = (768, 432, 3072, 1728)
    frame = camera.frame()
    assert camera.zoom == 1.5

    # the padding of the buffer is cut off, and only the first column is noise
    assert device.requests[0].buffer.shape[1] > width, "the fake has no padding"
    assert frame.luma.shape == (height, width)
    assert (frame.luma[:, 1:] == striped_picture(size_px)[:, 1:]).all()

    # what was asked of Picamera2, to which the request was given back
    main = {"size": size_px, "format": "YUV420", "stride": width + 64}
    assert device.configuration["main"] == main
    assert device.configuration["sensor"] == {"output_size": WIDE_PX, "bit_depth": 10}
    assert device.requests[0].released == 1


def test_a_picture_is_stamped_when_it_was_exposed(
    pi: PiHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the fake's own stamp is of just now
    clock = FakeClock(50.0)
    camera = PiCamera(CameraSettings(), clock)
    assert camera.frame().at_s == pytest.approx(50.0, abs=1.0)

    # 7000 s after the start of the machine, a picture arrives that was exposed 70 ms before
    monkeypatch.setattr("vision.cameras.picamera.time.clock_gettime", lambda _: 7000.0)
    pi.opened[0].metadata["SensorTimestamp"] = 6_999_930_000_000
    assert camera.frame().at_s == pytest.approx(49.93)


@pytest.mark.parametrize(
    ("sensor", "lens_name"),
    [
        ("imx708", "camera-module-3"),
        ("imx708_wide_noir", "camera-module-3-wide"),
        ("imx219", "camera-module-2"),
        ("imx477", "hq-6mm"),
        ("ov5647", "camera-module-1"),
    ],
)
def test_the_lens_follows_from_the_sensor(pi: PiHost, sensor: str, lens_name: str) -> None:
    pi.info[0]["Model"] = sensor
    assert open_pi().lens_name == lens_name


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            TimeoutError(),
            r"has stopped sending pictures \(TimeoutError\): use a shorter ribbon cable",
        ),
        (
            RuntimeError("Camera frontend has timed out"),
            r"\(Camera frontend has timed out\): use a shorter ribbon",
        ),
    ],
)
def test_a_lost_camera_is_closed_without_hanging(pi: PiHost, error: Exception, words: str) -> None:
    """An open request would block `stop` for ever, so requests are cancelled first."""
    camera = open_pi()
    camera.frame()
    device = pi.opened[0]
    device.trouble = error
    with pytest.raises(CameraError, match=words):
        camera.frame()
    assert all(request.released == 1 for request in device.requests)
    camera.close()
    assert device.calls[1:] == ["cancel_all_and_flush", "stop", "close"]


def test_a_failed_opening_reports_the_first_cause(pi: PiHost) -> None:
    pi.opening_error = RuntimeError("Initialization failed.")
    pi.opening_error.__cause__ = RuntimeError("no tuning file for ov9999")
    with pytest.raises(
        CameraError, match="cannot be opened: no tuning file for ov9999, check the ribbon cable"
    ):
        open_pi()


# ---- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("megabytes", "size", "output"),
    [
        (60, (1920, 1080), (3280, 2464)),
        (14, (1280, 720), (1640, 1232)),
    ],
)
def test_little_memory_means_smaller_pictures(
    pi: PiHost,
    megabytes: int,
    size: tuple[int, int],
    output: tuple[int, int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An imx219 has modes of several sizes. `output` is the size in which the sensor is read."""
    pi.info[0]["Model"] = "imx219"
    pi.contiguous_bytes = megabytes << 20
    camera = open_pi()
    configuration = pi.opened[0].configuration
    assert configuration["main"]["size"] == size
    assert configuration["sensor"]["output_size"] == output
    assert camera.frame().luma.shape == size[::-1]
    assert ("No contiguous memory" in caplog.text) == (megabytes < 60)
    camera.close()


def test_too_little_memory_has_a_remedy(pi: PiHost) -> None:
    pi.contiguous_bytes = 1 << 20
    with pytest.raises(
        CameraError,
        match=r"does not start: the contiguous memory is too small \(CMA\), so set dtoverlay=",
    ):
        open_pi()
    assert not pi.acquired


def test_a_camera_that_does_not_close_is_reported(pi: PiHost) -> None:
    camera = open_pi()
    pi.close_hangs = True
    with pytest.raises(CameraError, match="cannot be closed: 0 s: restart the program"):
        close_device(camera.device, timeout_s=0.05)


def test_libcamera_chooses_an_unknown_sensors_mode(pi: PiHost) -> None:
    pi.info[0]["Model"] = "ov9281"
    with open_pi() as camera:
        assert camera.frame() is not None
        assert camera.lens_name == "webcam"
    assert pi.opened[0].configuration["sensor"] == {}


# ---- focus and exposure --------------------------------------------------------------------------

# Controls of an automatic exposure: at 30 pictures a second, in whole periods of lamps on 50 Hz.
AUTOMATIC = {
    "AeExposureMode": 0,
    "FrameDurationLimits": (33333, 33333),
    "AeFlickerMode": 1,
    "AeFlickerPeriod": 10000,
}


def test_settled_focus_and_exposure_are_locked(pi: PiHost) -> None:
    """They are locked after four seconds, which are 40 pictures.

    The camera measured 12 ms at a gain of 2.5, as `FakePicamera2.metadata` says. Lamps on 50 Hz
    flicker every 10 ms, so the exposure becomes 10 ms at a gain of 3.0.
    """
    # at first both are automatic
    camera = open_pi()
    device = pi.opened[0]
    assert device.controls == [{"AfMode": 2, **AUTOMATIC}]
    assert camera.locks == Locks(False, False)

    # nothing is set before the 40th picture
    for _ in range(39):
        camera.frame()
    assert len(device.controls) == 1

    # then first the focus is locked, and after it the exposure
    for _ in range(20):
        camera.frame()
    assert device.controls[1:] == [
        {"AfMode": 0, "LensPosition": 1.7},
        {"AeEnable": False, "ExposureTime": 10000, "AnalogueGain": 3.0},
    ]
    assert camera.locks == Locks(True, True)


def test_a_fixed_lens_has_no_focus_to_lock(pi: PiHost) -> None:
    pi.missing_controls = {"AfMode", "LensPosition", "AeFlickerMode", "AeFlickerPeriod"}
    camera = open_pi()
    assert camera.locks == Locks(None, False)
    camera.lock(True, None)
    for _ in range(45):
        camera.frame()
    assert camera.locks == Locks(None, True)

    # a camera without control of its exposure either has nothing to lock
    pi.missing_controls |= {"AeEnable"}
    camera.close()
    camera = open_pi()
    assert camera.locks is None
    assert not camera.meter(slow=True)


def test_focus_and_exposure_are_locked_by_hand(pi: PiHost) -> None:
    # after 45 pictures both have been locked automatically, and are unlocked
    camera = open_pi()
    device = pi.opened[0]
    for _ in range(45):
        camera.frame()
    camera.lock(False, False)
    assert device.controls[-2:] == [{"AfMode": 2}, {"AeEnable": True, **AUTOMATIC}]

    # they can be locked again, and unlocked one by one
    camera.lock(True, True)
    assert camera.locks == Locks(True, True)
    camera.lock(False, None)
    camera.lock(None, False)
    for _ in range(60):
        camera.frame()
    assert camera.locks == Locks(False, False), "what was unlocked by hand is locked again"


def test_an_exposure_may_last_a_whole_frame(pi: PiHost) -> None:
    """At 8 pictures a second a frame lasts 125 ms.

    The camera then measures 118 ms, of which eleven whole periods of 10 ms are kept.
    """
    camera = open_pi(CameraSettings(fps=8))
    for _ in range(45):
        camera.frame()

    # asked to measure again, it may expose for a whole frame
    device = pi.opened[0]
    assert camera.meter(slow=True)
    longest = {"AeExposureMode": 2, "FrameDurationLimits": (33333, 125000)}
    assert device.controls[-1] == {"AeEnable": True, **AUTOMATIC, **longest}
    assert camera.locks == Locks(True, False)

    # what it has measured is locked after another 40 pictures
    device.metadata["ExposureTime"] = 118_000
    for _ in range(45):
        camera.frame()
    assert device.controls[-1]["ExposureTime"] == 110_000
    assert camera.locks == Locks(True, True)
