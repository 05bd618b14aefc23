"""Helpers: run the whole service in the test's own process, where it starts ten times as fast.

Tests that kill or restart the service, or check its exit or its log, run it as a process of its own
instead (`service_process` in `service.py`). Tests whose clock must stand use
`simulated_room.simulated`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service import Service
from simulated_room import local_settings

from companion.core.config import CameraSettings, TableSettings, VoiceSettings
from companion.service.app import Companion


class InProcessService(Service):
    """A service in this process."""

    def __init__(self, companion: Companion) -> None:
        self.url = f"http://127.0.0.1:{companion.server.port}"
        self.host_key = companion.host_key


@contextmanager
def in_process_service(
    folder: Path,
    game: str = "",
    *,
    reading_time_s: float = 0.3,
    picture: str = "",
) -> Iterator[InProcessService]:
    """Run the service until the end of the block, with `game` begun if one is named.

    Its table is simulated: a camera sees rendered pieces, and the pages of the workbench move them.
    With `picture`, the path of a still picture, there is no simulation. The camera sees the picture
    then, and there are no pads. `reading_time_s` is the setting for how long words stay on the
    table screen.
    """
    settings = local_settings(
        folder,
        camera=CameraSettings(source=picture) if picture else CameraSettings(fps=5),
        table=TableSettings(reading_time_s=reading_time_s),
        voice=VoiceSettings(by="off"),
    )
    with Companion(settings, simulate=not picture) as companion:
        if game:
            companion.table.new_game(game)
        yield InProcessService(companion)
