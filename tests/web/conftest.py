"""Fixtures for tests of the pages: the rig of a table with its pages, and the league of a hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from league_fixtures import clock, free_tables, league
from web_fixtures import WebRig, open_web_rig

__all__ = ["clock", "free_tables", "league", "rig"]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path) as rig:
        yield rig
