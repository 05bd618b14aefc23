"""A league on a file of its own and its clock, for every test that asks for them by `league` and
`clock`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_room import open_league

from companion.core.clock import FakeClock
from companion.league.league import League

__all__ = ["clock", "free_tables", "league"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def free_tables() -> tuple[str, ...]:
    """Where boards may be played; a test's module says so where it matters."""
    return ()


@pytest.fixture
def league(tmp_path: Path, clock: FakeClock, free_tables: tuple[str, ...]) -> Iterator[League]:
    with open_league(tmp_path, clock, *free_tables) as league:
        yield league
