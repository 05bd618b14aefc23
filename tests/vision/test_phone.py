"""What comes in from an old phone: the newest picture, never an old one, and words for what is
wrong.
"""

from __future__ import annotations

import io

import cv2
import pytest
from PIL import Image

from companion.core.clock import FakeClock
from companion.core.errors import CameraError
from vision.network import phone
from vision.network.latest_picture import MAX_AGE_S
from vision.network.phone import PhoneCamera, PhoneLink


def jpeg_of(tone: int, size: tuple[int, int] = (64, 48)) -> bytes:
    file = io.BytesIO()
    Image.new("L", size, tone).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def line(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> PhoneLink:
    monkeypatch.setattr(phone, "PICTURE_TIMEOUT_S", 0.0)
    return PhoneLink(clock)


def test_the_newest_picture_is_read_and_each_once(clock: FakeClock, line: PhoneLink) -> None:
    camera = PhoneCamera(line, clock)
    for tone in (10, 90, 200):
        line.put(jpeg_of(tone), clock.monotonic_s())
    clock.advance(0.05)
    frame = camera.frame()
    assert frame.luma.shape == (48, 64)
    assert abs(int(frame.luma[20, 20]) - 200) < 3
    assert frame.at_s == pytest.approx(clock.monotonic_s() - 0.05)
    with pytest.raises(CameraError, match="unlock it, open its camera page"):
        camera.frame()


@pytest.mark.parametrize("late_s", [MAX_AGE_S + 0.01, -0.1, float("nan")])
def test_an_old_picture_is_never_read(clock: FakeClock, line: PhoneLink, late_s: float) -> None:
    line.put(jpeg_of(90), clock.monotonic_s() - late_s)
    with pytest.raises(CameraError, match="bring it closer to the Wi-Fi"):
        PhoneCamera(line, clock).frame()
    line.put(jpeg_of(90), clock.monotonic_s())
    clock.advance(MAX_AGE_S + 0.01)
    with pytest.raises(CameraError, match="unlock it, open its camera page"):
        PhoneCamera(line, clock).frame()


def test_a_phone_that_comes_back_is_told_once(clock: FakeClock, line: PhoneLink) -> None:
    backs = []
    line.on_return = lambda: backs.append(clock.monotonic_s())
    line.put(jpeg_of(90), clock.monotonic_s())
    assert line.latest_picture.take(0.0)
    assert line.latest_picture.take(0.0) is None
    line.put(jpeg_of(90), clock.monotonic_s() - 9)
    assert backs == [], "an old picture is no sign of life"
    for _ in range(3):
        line.put(jpeg_of(90), clock.monotonic_s())
    assert len(backs) == 1


@pytest.mark.parametrize(
    "sent",
    [b"", b"GIF89a", jpeg_of(90)[:200], jpeg_of(9, (4000, 3000))],
)
def test_rubbish_is_reported_and_never_reaches_opencv(
    clock: FakeClock, line: PhoneLink, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(cv2, "imdecode", None)  # 4.11 writes beyond its memory (CVE-2025-53644)
    line.put(sent, clock.monotonic_s())
    with pytest.raises(CameraError, match="no pictures that can be read"):
        PhoneCamera(line, clock).frame()
