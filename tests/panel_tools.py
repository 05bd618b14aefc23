"""Helpers: the rig of a panel on mock pins, and measurements of its lamps and buzzer.

Buttons and lamps are named by seat and key or number, such as `south_up` and `north_2`.
"""

from __future__ import annotations

import itertools

from companion.core.clock import FakeClock
from companion.core.config import PanelSettings
from companion.core.event_cues import EventCue
from companion.core.kit import SEATS, Seat
from companion.core.ports import Alarm, Cue, Press, SeatLamps, Signal
from hardware.cue_player import CuePlayer
from hardware.simulated import simulated_panel

SOUTH, NORTH = SEATS
# Default settings, by which both pads have all their keys and lamps.
WIRED = PanelSettings()


class PanelRig:
    """A panel without threads on a fake clock, and the hands that press its buttons.

    `presses` has all presses that the panel has reported.
    """

    def __init__(self, settings: PanelSettings = WIRED) -> None:
        self.clock = FakeClock(100.0)
        self.presses: list[Press] = []
        self.panel, self.hands = simulated_panel(settings, self.clock, self.presses.append)

    def after(self, ms: float) -> None:
        """Let time pass, then let the panel do what is due."""
        self.clock.advance(ms / 1000)
        self.panel.step()

    def bounce(self, button: str, *waits_ms: float) -> None:
        """Press and release a button by turns, as a bouncing contact does.

        `waits_ms` has the time to wait after each change. The panel does nothing meanwhile.
        """
        for change, wait_ms in zip(
            itertools.cycle((self.hands.press, self.hands.release)), waits_ms, strict=False
        ):
            change(button)
            self.clock.advance(wait_ms / 1000)

    def lit(self) -> set[str]:
        """Return the names of the lamps that are lit."""
        return {name for name, is_lit in self.hands.view().lamps.items() if is_lit}

    def show(self, south: SeatLamps, north: SeatLamps | None = None, trouble: bool = False) -> None:
        self.panel.show({SOUTH: south, NORTH: north or SeatLamps()}, trouble)
        self.panel.step()

    def signal(self, cue: Cue | EventCue, *seats: Seat, number: int = 0) -> None:
        self.panel.signal(Signal(cue, frozenset(seats), number))
        self.panel.step()

    def alarms(self, *alarms: tuple[float, Cue, Seat]) -> None:
        """Replace all alarms by these: the time on the fake clock, the cue and the seat of each."""
        self.panel.set_alarms(
            [Alarm(at_s, Signal(cue, frozenset({seat}))) for at_s, cue, seat in alarms]
        )
        self.panel.step()

    def tone_hz(self) -> float | None:
        """Return the frequency that the buzzer sounds, or None while it is silent."""
        return self.hands.view().tone_hz


def lit_edges(levels: list[bool]) -> list[int]:
    """Return the indexes at which a lamp goes on, that is, is lit but was not just before."""
    return [
        index
        for index, (before, now) in enumerate(itertools.pairwise([False, *levels]))
        if now and not before
    ]


def tones_hz(player: CuePlayer, start_ms: int, end_ms: int) -> list[float | None]:
    """Return the buzzer's frequency in each millisecond from `start_ms` to before `end_ms`."""
    return [player.tone_hz(float(at_ms)) for at_ms in range(start_ms, end_ms)]


def lamp_levels(player: CuePlayer, seat: Seat, lamp: str, start_ms: int, end_ms: int) -> list[bool]:
    """Return whether a lamp is lit in each millisecond from `start_ms` to before `end_ms`."""
    return [player.is_lit(seat, lamp, float(at_ms)) for at_ms in range(start_ms, end_ms)]
