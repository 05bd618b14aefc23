"""Cameras by their source, with fakes of the real devices' shapes."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

from companion.clock import FakeClock
from companion.config import CameraSettings
from companion.errors import CameraError
from companion.ports import Camera
from vision.camera import open_camera


def picture(path: Path, tone: int, size: tuple[int, int] = (64, 48)) -> Path:
    cv2.imwrite(str(path), np.full((size[1], size[0], 3), tone, np.uint8))
    return path


def opened(source: Path | str) -> Camera:
    return open_camera(CameraSettings(source=str(source)), FakeClock(5.0))


# ---- pictures, folders, films -----------------------------------------------------------------------------------


def test_a_picture_comes_again_and_again_with_rising_numbers(tmp_path: Path) -> None:
    camera = opened(picture(tmp_path / "a.png", 90))
    frames = [camera.frame() for _ in range(3)]
    assert [frame.number for frame in frames if frame] == [1, 2, 3]
    assert all(frame and frame.luma.shape == (48, 64) and frame.luma[0, 0] == 90 for frame in frames)
    assert frames[0] is not None
    assert frames[0].at_s == 5.0
    assert camera.name.endswith("a.png")


def test_a_folder_comes_once_by_name_and_stays_on_its_last_picture(tmp_path: Path) -> None:
    for name, tone in (("b.png", 20), ("a.jpg", 10), ("c.bmp", 30)):
        picture(tmp_path / name, tone)
    (tmp_path / "notes.txt").write_text("not a picture")
    camera = opened(tmp_path)
    assert [int(frame.luma.mean()) for _ in range(5) if (frame := camera.frame())] == [10, 20, 30, 30, 30]


def test_a_damaged_picture_in_a_folder_is_named_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG damaged")
    picture(tmp_path / "b.png", 20)
    camera = opened(tmp_path)
    frame = camera.frame()
    assert frame is not None
    assert frame.luma[0, 0] == 20
    assert "a.png: is not a picture that can be read: use PNG or JPEG" in caplog.text


def test_a_film_runs_to_its_end_and_stays_there(tmp_path: Path) -> None:
    path = tmp_path / "film.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, (64, 48))
    if not writer.isOpened():
        pytest.skip("this OpenCV cannot write films")
    for tone in (50, 120, 200):
        writer.write(np.full((48, 64, 3), tone, np.uint8))
    writer.release()
    camera = opened(path)
    tones = [int(frame.luma.mean()) for _ in range(5) if (frame := camera.frame())]
    camera.close()
    assert [abs(tone - want) < 4 for tone, want in zip(tones, (50, 120, 200, 200, 200), strict=True)] == [True] * 5


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone.png", None, r"gone\.png: cannot be read: No such file or directory\. Check the path"),
        ("empty.png", b"", r"empty\.png: is not a picture that can be read"),
        ("text.jpg", b"hello", r"text\.jpg: is not a picture that can be read: use PNG or JPEG, or take it again"),
        ("gone.mp4", None, r"gone\.mp4: there is no such film: check the path"),
        ("text.mp4", b"hello", r"text\.mp4: is not a film that can be read"),
    ],
)
def test_unreadable_sources_say_what_where_and_what_to_do(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CameraError, match=words):
        opened(tmp_path / name)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CameraError, match="holds no pictures: put PNG or JPEG files into it"):
        opened(tmp_path)


def test_a_closed_camera_refuses_frames_and_may_be_closed_twice(tmp_path: Path) -> None:
    camera = opened(picture(tmp_path / "a.png", 90))
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match="is closed: open it again"):
        camera.frame()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("none", "The camera is switched off"),
        ("usb:front", "is not a USB camera: write usb:0"),
        ("usb:77", r"USB camera 77 is missing \(/dev/video77\): plug it in"),
    ],
)
def test_other_sources_are_refused_in_words(source: str, words: str) -> None:
    with pytest.raises(CameraError, match=words):
        opened(source)


# ---- USB --------------------------------------------------------------------------------------------------------


class FakeDevice:
    """cv2.VideoCapture as far as it is used: BGR pictures until the plug is pulled."""

    opens = True

    def __init__(self, number: int, backend: int) -> None:
        self.number, self.backend = number, backend
        self.plugged, self.released = True, 0
        self.settings: dict[int, float] = {}

    def isOpened(self) -> bool:  # noqa: N802 - OpenCV's name
        return self.opens

    def set(self, key: int, value: float) -> bool:
        self.settings[key] = value
        return True

    def read(self) -> tuple[bool, Any]:
        return (True, np.full((720, 1280, 3), 77, np.uint8)) if self.plugged else (False, None)

    def release(self) -> None:
        self.released += 1


@pytest.fixture
def usb(monkeypatch: pytest.MonkeyPatch) -> list[FakeDevice]:
    devices: list[FakeDevice] = []

    def plug(number: int, backend: int) -> FakeDevice:
        devices.append(FakeDevice(number, backend))
        return devices[-1]

    monkeypatch.setattr(cv2, "VideoCapture", plug)
    monkeypatch.setattr(Path, "exists", lambda path: str(path).startswith("/dev/video"))
    monkeypatch.setenv("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "3")
    return devices


def test_a_usb_camera_gives_brightness_at_720p(usb: list[FakeDevice]) -> None:
    camera = opened("usb:2")
    frame = camera.frame()
    assert frame is not None
    assert frame.luma.shape == (720, 1280)
    assert frame.luma[0, 0] == 77
    assert (usb[0].number, usb[0].backend) == (2, cv2.CAP_V4L2)
    assert usb[0].settings[cv2.CAP_PROP_FRAME_WIDTH] == 1280
    assert usb[0].settings[cv2.CAP_PROP_FRAME_HEIGHT] == 720
    camera.close()
    camera.close()
    assert usb[0].released == 1


def test_a_usb_camera_that_is_unplugged_says_so(usb: list[FakeDevice]) -> None:
    camera = opened("usb:0")
    usb[0].plugged = False
    with pytest.raises(CameraError, match="usb:0 sends no pictures any more: check its plug and cable"):
        camera.frame()


def test_a_busy_usb_camera_is_not_kept(usb: list[FakeDevice], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeDevice, "opens", False)
    with pytest.raises(CameraError, match=r"cannot be opened .* close other programs"):
        opened("usb:0")
    assert usb[0].released == 1


# ---- Picamera2 --------------------------------------------------------------------------------------------------


class FakeRequest:
    """A completed request: YUV420 with rows padded to a stride, colour planes below."""

    def __init__(self) -> None:
        self.lores = np.full((720 * 3 // 2, 1344), 200, np.uint8)
        self.lores[:720, :1280] = 60
        self.released = 0

    def get_metadata(self) -> dict[str, float]:
        return {"ExposureTime": 12000, "AnalogueGain": 2.5}

    def release(self) -> None:
        self.released += 1


class FakePicamera2:
    """Picamera2 as far as it is used."""

    connected = True
    camera_controls = {"LensPosition": (0.0, 15.0, 1.0), "AeEnable": (False, True, None)}  # noqa: RUF012 - as there

    def __init__(self) -> None:
        self.controls: list[dict[str, Any]] = []
        self.requests: list[FakeRequest] = []
        self.calls: list[str] = []
        self.dead = False

    @classmethod
    def global_camera_info(cls) -> list[dict[str, str]]:
        return [{"Model": "imx708"}] if cls.connected else []

    def create_video_configuration(self, **streams: Any) -> dict[str, Any]:
        return dict(streams)

    def configure(self, configuration: dict[str, Any]) -> None:
        self.configuration = configuration

    def camera_configuration(self) -> dict[str, Any]:
        return self.configuration

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")

    def close(self) -> None:
        self.calls.append("close")

    def set_controls(self, controls: dict[str, Any]) -> None:
        self.controls.append(controls)

    def capture_request(self, wait: bool) -> Any:
        assert wait is False

        def result(timeout: float) -> FakeRequest:
            if self.dead:
                raise TimeoutError
            self.requests.append(FakeRequest())
            return self.requests[-1]

        return SimpleNamespace(get_result=result)


class FakeMapping:
    def __init__(self, request: FakeRequest, stream: str) -> None:
        assert stream == "lores"
        self.array = request.lores

    def __enter__(self) -> "FakeMapping":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def pi(monkeypatch: pytest.MonkeyPatch) -> list[FakePicamera2]:
    devices: list[FakePicamera2] = []

    class Counted(FakePicamera2):
        def __init__(self) -> None:
            super().__init__()
            devices.append(self)

    module = SimpleNamespace(Picamera2=Counted, MappedArray=FakeMapping)
    monkeypatch.setitem(sys.modules, "picamera2", module)
    return devices


def test_the_pi_camera_gives_the_luma_plane_without_padding(pi: list[FakePicamera2]) -> None:
    camera = opened("picamera")
    frame = camera.frame()
    assert frame is not None
    assert frame.luma.shape == (720, 1280)
    assert (frame.luma == 60).all()
    assert pi[0].configuration["lores"] == {"size": (1280, 720), "format": "YUV420"}
    assert pi[0].requests[0].released == 1
    camera.close()
    camera.close()
    assert pi[0].calls == ["start", "stop", "close"]


def test_the_pi_camera_locks_focus_at_once_and_exposure_once_settled(pi: list[FakePicamera2]) -> None:
    camera = opened("picamera")
    assert pi[0].controls == [{"AfMode": 0, "LensPosition": 2.0}]
    for _ in range(60):
        camera.frame()
    assert pi[0].controls[1:] == [{"AeEnable": False, "ExposureTime": 12000, "AnalogueGain": 2.5}]


def test_a_silent_pi_camera_says_so(pi: list[FakePicamera2]) -> None:
    camera = opened("picamera")
    pi[0].dead = True
    with pytest.raises(CameraError, match="sends no pictures any more: check the ribbon cable"):
        camera.frame()


def test_a_missing_pi_camera_is_named(pi: list[FakePicamera2], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePicamera2, "connected", False)
    with pytest.raises(CameraError, match="No Raspberry Pi camera is connected: check the ribbon cable"):
        opened("picamera")


def test_without_picamera2_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "picamera2", None)  # None makes the import fail
    with pytest.raises(CameraError, match=r"install python3-picamera2 .* --system-site-packages"):
        opened("picamera")


def test_auto_takes_the_pi_camera_first_then_usb_then_explains(
    pi: list[FakePicamera2], usb: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opened("auto").name == "picamera"
    monkeypatch.setattr(FakePicamera2, "connected", False)
    assert opened("auto").name == "usb:0"
    monkeypatch.setattr(Path, "exists", lambda _: False)
    with pytest.raises(CameraError, match=r"No camera found: .*No Raspberry Pi camera.*USB camera 0 is missing"):
        opened("auto")
