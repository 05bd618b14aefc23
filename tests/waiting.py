"""Helper: wait for what other threads or processes do.

Tests in browsers use `service.until`, which also waits while a page is loading.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

# Timeout of every wait, for a computer that is very busy.
WAIT_S = 60.0


def until(what: str, condition: Callable[[], Any], timeout_s: float = WAIT_S) -> Any:
    """Check the condition every 5 ms until it returns something true, and return that.

    After the timeout, fail with `what`, which says what was expected to happen.
    """
    pause = threading.Event()
    for _ in range(round(timeout_s / 0.005)):
        if answer := condition():
            return answer
        pause.wait(0.005)
    pytest.fail(f"not within {timeout_s:.0f} s: {what}")
