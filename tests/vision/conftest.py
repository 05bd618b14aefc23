"""Cameras for tests that ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from camera_tools import UsbBus
from picamera_tools import PiHost


@pytest.fixture
def pi(monkeypatch: pytest.MonkeyPatch) -> Iterator[PiHost]:
    """A Raspberry Pi with a ribbon camera."""
    host = PiHost(monkeypatch)
    yield host
    host.close()


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> UsbBus:
    return UsbBus(monkeypatch, tmp_path)
