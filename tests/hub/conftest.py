"""Helpers: a hub that runs for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hub_tools import running_hub

from companion.hub_server.app import Hub


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running_hub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub
