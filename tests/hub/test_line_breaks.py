"""What ends or breaks in the line's loop leaves no connection open, and nothing of it in the
log.
"""

from __future__ import annotations

import asyncio

import pytest
from nats.errors import ConnectionClosedError

from companion.hub.loop_thread import note_fault


def test_a_fault_is_in_the_log_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    for error in (ConnectionClosedError(), OSError("gone"), ValueError("an order")):
        asyncio.run(note_fault(error))
    assert caplog.text.count("could not be dealt with") == 1
    assert "ValueError" in caplog.text
    assert "an order" not in caplog.text
