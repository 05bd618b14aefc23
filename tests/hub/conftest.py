"""A hub that runs for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hub_tools import running

from companion.hub_server.app import Hub


@pytest.fixture(scope="session", autouse=True)
def thieves_at_the_same_time() -> Iterator[None]:
    """Whoever has a table's key may be connected beside it; else NATS lets one in at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("companion.hub_server.nats_server.MAX_LINES", 32)
        yield


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with running(tmp_path_factory.mktemp("hub")) as hub:
        yield hub
