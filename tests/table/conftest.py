"""A table at which both seats are taken, for every test that asks for what is `played`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from table_tools import Played, playing, seat_both


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    with playing(tmp_path) as opened:
        seat_both(opened)
        yield opened
