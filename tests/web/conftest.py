"""A table with its pages for tests that ask for a `place`; a hub's league for those that ask for a
`league`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from league_fixtures import clock, free_tables, league
from web_fixtures import Place, open_place

__all__ = ["clock", "free_tables", "league", "place"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path) as place:
        yield place
