"""Fixtures of the camera tests: fakes of a Raspberry Pi and of USB sockets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from camera_tools import UsbBus
from picamera_tools import PiHost


@pytest.fixture
def pi(monkeypatch: pytest.MonkeyPatch) -> Iterator[PiHost]:
    """A Raspberry Pi with one ribbon camera, an imx708."""
    host = PiHost(monkeypatch)
    yield host
    host.close()


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> UsbBus:
    """USB sockets with nothing plugged in."""
    return UsbBus(monkeypatch, tmp_path)
