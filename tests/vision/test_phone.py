"""Test the pictures of a phone that serves as a camera.

The newest picture is read once, old ones never, and errors say what to do.
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


def grey_jpeg(tone: int, size: tuple[int, int] = (64, 48)) -> bytes:
    file = io.BytesIO()
    Image.new("L", size, tone).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def link(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> PhoneLink:
    """Where pictures of the phone arrive. A camera does not wait for one that is missing."""
    monkeypatch.setattr(phone, "PICTURE_TIMEOUT_S", 0.0)
    return PhoneLink(clock)


def test_only_the_newest_picture_is_read_once(clock: FakeClock, link: PhoneLink) -> None:
    camera = PhoneCamera(link, clock)
    for tone in (10, 90, 200):
        link.put(grey_jpeg(tone), clock.monotonic_s())
    clock.advance(0.05)
    frame = camera.frame()
    assert frame.luma.shape == (48, 64)
    assert abs(int(frame.luma[20, 20]) - 200) < 3
    assert frame.at_s == pytest.approx(clock.monotonic_s() - 0.05)
    with pytest.raises(CameraError, match="unlock it, open its camera page"):
        camera.frame()


# too old, from the future, and of no time at all
@pytest.mark.parametrize("age_s", [MAX_AGE_S + 0.01, -0.1, float("nan")])
def test_an_old_picture_is_never_read(clock: FakeClock, link: PhoneLink, age_s: float) -> None:
    # a picture that is old when it arrives
    link.put(grey_jpeg(90), clock.monotonic_s() - age_s)
    with pytest.raises(CameraError, match="bring it closer to the Wi-Fi"):
        PhoneCamera(link, clock).frame()

    # a picture that becomes too old before it is read
    link.put(grey_jpeg(90), clock.monotonic_s())
    clock.advance(MAX_AGE_S + 0.01)
    with pytest.raises(CameraError, match="unlock it, open its camera page"):
        PhoneCamera(link, clock).frame()


def test_the_return_of_a_phone_is_reported_once(clock: FakeClock, link: PhoneLink) -> None:
    """A phone is gone when a wait for its picture has ended in vain.

    A picture that is too old when it arrives does not count as a return.
    """
    # a first picture arrives, and a wait for the next one ends in vain
    returned_at_s = []
    link.on_return = lambda: returned_at_s.append(clock.monotonic_s())
    link.put(grey_jpeg(90), clock.monotonic_s())
    assert link.latest_picture.take(0.0)
    assert link.latest_picture.take(0.0) is None

    # then a picture arrives that is 9 s old, and after that three new ones
    link.put(grey_jpeg(90), clock.monotonic_s() - 9)
    assert returned_at_s == [], "an old picture counts as a return"
    for _ in range(3):
        link.put(grey_jpeg(90), clock.monotonic_s())
    assert len(returned_at_s) == 1


# nothing, another format, the beginning of a picture, and one that is too large
@pytest.mark.parametrize(
    "sent",
    [b"", b"GIF89a", grey_jpeg(90)[:200], grey_jpeg(9, (4000, 3000))],
)
def test_garbage_is_reported_and_never_reaches_opencv(
    clock: FakeClock, link: PhoneLink, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    # calling this function, which writes beyond its memory in 4.11 (CVE-2025-53644), would raise
    monkeypatch.setattr(cv2, "imdecode", None)
    link.put(sent, clock.monotonic_s())
    with pytest.raises(CameraError, match="no pictures that can be read"):
        PhoneCamera(link, clock).frame()
