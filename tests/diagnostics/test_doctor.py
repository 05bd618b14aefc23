"""Test what `companion doctor` says of cameras while no companion runs. USB cameras are fakes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from camera_tools import UsbBus, Webcam

from companion.cli.doctor import examine
from companion.core.config import CameraSettings, PanelSettings, Settings
from companion.diagnostics.findings import Finding, Grade


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> UsbBus:
    monkeypatch.setitem(sys.modules, "picamera2", None)
    return UsbBus(monkeypatch, tmp_path)


def camera_findings(folder: Path, source: str = "auto") -> list[Finding]:
    """Return the doctor's findings about cameras.

    :param source: the setting `[camera] source`, by default the first camera that is found
    """
    settings = Settings(
        state_dir=str(folder / "state"),
        camera=CameraSettings(source=source),
        panel=PanelSettings(enabled="no"),
    )
    return [finding for finding in examine(settings) if finding.topic == "camera"]


def test_a_working_camera_is_named_with_its_size(bus: UsbBus, tmp_path: Path) -> None:
    webcam = bus.plug(0, Webcam(size=(1280, 720)))
    assert camera_findings(tmp_path) == [
        Finding("camera", Grade.OK, "usb:0, 1280 x 720."),
    ]
    # The doctor closes the camera, so that others can use it.
    assert webcam.opened[0].released == 1


def test_a_covered_lens_is_noted(bus: UsbBus, tmp_path: Path) -> None:
    bus.plug(0, Webcam()).light = 0.01
    assert camera_findings(tmp_path)[0] == Finding(
        "camera",
        Grade.NOTE,
        "usb:0, 1920 x 1080: It is dark: switch on a lamp, or take off the lens cap.",
    )


def test_an_absent_camera_is_noted_and_others_fail(bus: UsbBus, tmp_path: Path) -> None:
    # No camera is plugged in. That is fine unless the settings name one.
    (missing,) = camera_findings(tmp_path)
    assert missing.grade is Grade.NOTE
    assert missing.text.endswith("or try another number. Without a camera you play by tapping.")
    assert camera_findings(tmp_path, "usb:0")[0].grade is Grade.FAIL

    # A camera is plugged in, but another program uses it.
    bus.plug(0, Webcam()).busy = True
    assert camera_findings(tmp_path)[0].grade is Grade.FAIL
    assert "close other programs" in camera_findings(tmp_path)[0].text

    # If the settings want no camera, none is looked for.
    assert (
        camera_findings(tmp_path, "none")[0].text
        == "Switched off in the settings: you play by tapping."
    )
