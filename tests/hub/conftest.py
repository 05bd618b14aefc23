"""A hub that runs for all tests of a module, and a table with a remote phone, for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from far_tools import FarTable, far_table
from hub_tools import running

from companion.hub_server.app import Hub


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


@pytest.fixture
def far(tmp_path: Path) -> Iterator[FarTable]:
    with far_table(tmp_path) as there:
        yield there
