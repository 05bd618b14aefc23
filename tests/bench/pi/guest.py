"""The service that the bench measures, as a process: mock pins, and a camera whose pictures another
process paints.

It reads orders from its standard input and writes answers to its standard output, one JSON value
per line. All times are seconds of the machine's monotonic clock, which all processes share.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from gpiozero.pins.mock import MockPWMPin

import hardware.simulated
from companion.core.clock import Clock
from companion.core.config import load_settings
from companion.core.ports import Alarm, Camera, Cue
from companion.core.resources import tune_allocator
from companion.games.base import plain_layout
from companion.service.app import Companion
from companion.service.lifecycle import freeze_objects
from companion.table.listeners import TableListener
from vision.cameras.source import Capture, FrameSource
from vision.simulation.table import SimulatedTable

# Head of the file of pictures: the number of the newest, and when it was exposed. Two pictures
# follow.
HEAD = np.dtype([("number", "<i8"), ("at_s", "<f8")])
_LOOK_S, _WAIT_S = 0.005, 1.0


def shared_pictures(path: Path, size: tuple[int, int], mode: Any) -> tuple[Any, Any]:
    """Map the head and the two pictures (2, height, width) of a file in memory that two processes
    share.
    """
    width, height = size
    head = np.memmap(path, HEAD, mode, 0, (1,))
    return head, np.memmap(
        path, np.uint8, "r+" if mode == "w+" else mode, HEAD.itemsize, (2, height, width)
    )


class PaintedCamera(FrameSource):
    """Waits for the next picture and gives a copy of it, as a camera's driver does."""

    name = "the painted camera"

    def __init__(self, path: Path, size: tuple[int, int], clock: Clock) -> None:
        super().__init__(clock)
        self._head, self._pictures = shared_pictures(path, size, "r")
        self._number = 0

    def _capture(self) -> Capture:
        end_s = time.monotonic() + _WAIT_S
        while self._number == int(self._head["number"][0]) and time.monotonic() < end_s:
            time.sleep(_LOOK_S)
        self._number = int(self._head["number"][0])
        luma = np.array(self._pictures[self._number % 2])
        return Capture(luma, age_s=self._clock.monotonic_s() - float(self._head["at_s"][0]))


class StampedPin(MockPWMPin):  # type: ignore[misc]  # gpiozero has no types
    """A mock pin that stamps, in monotonic seconds, when it switches on or changes its
    frequency.
    """

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self.began_s: deque[float] = deque(maxlen=1000)
        super().__init__(*arguments, **more)

    def _change_state(self, value: float) -> bool:
        was_on = bool(self._state)
        has_changed = bool(super()._change_state(value))
        if has_changed and not was_on:
            self.began_s.append(time.monotonic())
        return has_changed

    def _set_frequency(self, value: float | None) -> None:
        if self._state and value not in (None, self._frequency):
            self.began_s.append(time.monotonic())
        super()._set_frequency(value)


class Guest(Companion):
    """The program in simulation, except for its camera."""

    def __init__(self, settings: Path, pictures: Path, size: tuple[int, int]) -> None:
        self._painted = pictures, size
        self.alarms: list[Alarm] = []
        super().__init__(load_settings(settings), simulate=True)
        self.table.connect(TableListener(on_alarms=self.alarms.extend))

    def _simulated_camera(self, world: SimulatedTable) -> Camera:
        return PaintedCamera(*self._painted, self.clock)

    def obey(self, order: dict[str, Any]) -> Any:
        """Carry out an order. Return its answer, or None if nobody waits for one."""
        if self.simulation is None:
            raise RuntimeError("the guest runs in simulation")
        hands = self.simulation.hands
        match order["do"]:
            case "press":
                hands.press(order["button"])
            case "release":
                hands.release(order["button"])
            case "game":
                if self.table.view().phase not in ("lobby", "over"):
                    self.table.abandon()
                self.table.new_game(order["game"], order["options"], seed=1)
                view = self.table.view()
                if view.phase == "setup":
                    self.table.confirm("host", view.moment, view.turn.stage, force=True)
                return plain_layout(self.table.view().board.layout)
            case "resume":
                self.table.resume("host")
            case "stamps":
                return {
                    "lit_s": list(hands.lamps[order["lamp"]][0].began_s),
                    "tones_s": list(hands.buzzer.began_s),
                    "due_s": sorted({alarm.at_s for alarm in self.alarms}),
                    "ends_s": [
                        alarm.at_s for alarm in self.alarms if alarm.signal.cue is Cue.TIME_OUT
                    ],
                }
        return None


def main() -> None:
    """Run `guest SETTINGS PICTURES WIDTH HEIGHT`."""
    settings, pictures, width, height = sys.argv[1:]
    tune_allocator()
    hardware.simulated.MockPWMPin = StampedPin
    guest = Guest(Path(settings), Path(pictures), (int(width), int(height)))
    with guest:
        freeze_objects()
        print(json.dumps(guest.server.port), flush=True)
        for line in sys.stdin:
            if (answer := guest.obey(json.loads(line))) is not None:
                print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
