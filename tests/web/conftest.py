"""A table with its pages for every test that asks for a `place`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_fixtures import Place, open_place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path) as opened:
        yield opened
