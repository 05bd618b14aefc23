"""Cameras for tests that ask for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from picamera_tools import PiHost


@pytest.fixture
def pi(monkeypatch: pytest.MonkeyPatch) -> Iterator[PiHost]:
    """A Raspberry Pi with a ribbon camera."""
    host = PiHost(monkeypatch)
    yield host
    host.close()
