"""Fixtures: a league in a temporary folder, and its fake clock."""

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
    """The tables at which boards can be played. Modules of tests may replace this fixture."""
    return ()


@pytest.fixture
def league(tmp_path: Path, clock: FakeClock, free_tables: tuple[str, ...]) -> Iterator[League]:
    with open_league(tmp_path, clock, *free_tables) as league:
        yield league
