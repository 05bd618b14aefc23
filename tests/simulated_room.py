"""A whole companion in simulation on a fake clock, and the hands at its rendered table."""

from __future__ import annotations

from pathlib import Path

from companion.core.clock import FakeClock
from companion.core.config import Settings, TableSettings, WebSettings
from companion.service.app import Companion


class SimulatedRoom:
    """`look` lets the camera see some pictures; `companion` is to be closed in the end."""

    def __init__(self, folder: Path) -> None:
        settings = Settings(
            state_dir=str(folder), web=WebSettings(host="127.0.0.1", port=0), table=TableSettings(reading_time_s=0.1)
        )
        self.clock = FakeClock()
        self.companion = Companion(settings, simulate=True, clock=self.clock, threads=False)
        assert self.companion.simulation
        assert self.companion.eye
        self.table, self.eye = self.companion.table, self.companion.eye
        self.world, self.hands = self.companion.simulation.world, self.companion.simulation.hands

    def look(self, rounds: int = 5) -> None:
        for _ in range(rounds):
            self.clock.advance(0.2)
            self.companion.step()

    def sign(self) -> str:
        return str(self.table.view().sign.text)
