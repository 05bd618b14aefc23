"""The rig of a table at which both seats are taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from table_tools import TableRig, open_table_rig, seat_both


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[TableRig]:
    """A table at which both people play on phones."""
    with open_table_rig(tmp_path) as opened:
        seat_both(opened)
        yield opened
