"""Waiting for something that other threads or processes do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

# Timeout of every wait.
WAIT_S = 60.0


def until(what: str, look: Callable[[], Any], timeout_s: float = WAIT_S) -> Any:
    """Look every 5 ms until the answer is true, and return it. Otherwise fail with `what`."""
    pause = threading.Event()
    for _ in range(round(timeout_s / 0.005)):
        if answer := look():
            return answer
        pause.wait(0.005)
    pytest.fail(f"{what} did not happen within {timeout_s:.0f} s")
