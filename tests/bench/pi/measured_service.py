"""The program of the service that the bench measures: `python -m bench.pi.measured_service`.

Its pins are mocks, and its camera reads pictures that another process paints.
`bench.pi.measured_process` writes requests to its standard input and reads answers from its
standard output, one JSON value per line. All moments are seconds of the machine's monotonic clock,
which all processes share.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import msgspec
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

# Head of the file of pictures: the number of the newest picture, and when the picture in each of
# the two slots was exposed. The picture with this number lies in the slot `number % 2`, so that the
# next one can be painted into the other slot while this one is read.
HEAD = np.dtype([("number", "<i8"), ("exposed_at_s", "<f8", 2)])
# Pause between two looks for a new picture, and how long to wait for one.
_POLL_INTERVAL_S = 0.005
_PICTURE_TIMEOUT_S = 1.0


class Times(msgspec.Struct):
    """When things have happened at the service, in seconds of the monotonic clock."""

    lit_at_s: list[float]
    """When the lamp that was asked for was lit."""
    tones_at_s: list[float]
    """When the buzzer began each tone."""
    due_at_s: list[float]
    """When each alarm of a clock was due, such as the warning before the end of a turn."""
    ends_at_s: list[float]
    """When each turn ran out."""


def shared_pictures(path: Path, size: tuple[int, int], mode: Any) -> tuple[Any, Any]:
    """Map a file that two processes share to arrays.

    Return its head (1,), and its two pictures (2, height, width). `size` is width and height.
    `mode` is that of `numpy.memmap`: `w+` makes a new file, `r` opens it for reading.
    """
    width, height = size
    head = np.memmap(path, HEAD, mode, 0, (1,))
    return head, np.memmap(
        path, np.uint8, "r+" if mode == "w+" else mode, HEAD.itemsize, (2, height, width)
    )


class PaintedCamera(FrameSource):
    """A camera that waits for the next painted picture and copies it, as a driver does."""

    name = "the painted camera"

    def __init__(self, path: Path, size: tuple[int, int], clock: Clock) -> None:
        super().__init__(clock)
        self._head, self._pictures = shared_pictures(path, size, "r")
        self._number = 0

    def _capture(self) -> Capture:
        end_s = time.monotonic() + _PICTURE_TIMEOUT_S
        while self._newest() == self._number and time.monotonic() < end_s:
            time.sleep(_POLL_INTERVAL_S)
        while True:
            self._number = self._newest()
            slot = self._number % 2
            luma = np.array(self._pictures[slot])
            exposed_at_s = float(self._head["exposed_at_s"][0, slot])
            # A picture was copied whole only if it is still the newest one. Otherwise the painter
            # may have begun to paint the next but one into the same slot: copy the newest instead.
            if self._newest() == self._number:
                return Capture(luma, age_s=self._clock.monotonic_s() - exposed_at_s)

    def _newest(self) -> int:
        return int(self._head["number"][0])


class StampedPin(MockPWMPin):  # type: ignore[misc]  # gpiozero has no types
    """A mock pin that notes when it is switched on, or changes its frequency while it is on."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self.edges_s: deque[float] = deque(maxlen=1000)
        super().__init__(*arguments, **keywords)

    def _change_state(self, value: float) -> bool:
        was_on = bool(self._state)
        has_changed = bool(super()._change_state(value))
        if has_changed and not was_on:
            self.edges_s.append(time.monotonic())
        return has_changed

    def _set_frequency(self, value: float | None) -> None:
        if self._state and value not in (None, self._frequency):
            self.edges_s.append(time.monotonic())
        super()._set_frequency(value)


class MeasuredService(Companion):
    """The program in simulation, with a painted camera. It notes the alarms of clocks."""

    def __init__(self, settings: Path, pictures: Path, size: tuple[int, int]) -> None:
        self._painted = pictures, size
        self.alarms: list[Alarm] = []
        super().__init__(load_settings(settings), simulate=True)
        self.table.connect(TableListener(on_alarms=self.alarms.extend))

    def _simulated_camera(self, world: SimulatedTable) -> Camera:
        return PaintedCamera(*self._painted, self.clock)

    def handle_request(self, request: dict[str, Any]) -> Any:
        """Do what `request["do"]` names. Return the answer, or None if the request has none.

        - `press` and `release`: press or release the `button` of the panel.
        - `game`: begin the `game` with its `options`, skip its set-up, and answer its layout.
        - `resume`: let the stopped clock run.
        - `times`: answer the `Times`, with those of one `lamp`.
        """
        if self.simulation is None:
            raise RuntimeError("the service is not in simulation")
        hands = self.simulation.hands
        match request["do"]:
            case "press":
                hands.press(request["button"])
            case "release":
                hands.release(request["button"])
            case "game":
                if self.table.view().phase not in ("lobby", "over"):
                    self.table.abandon()
                self.table.new_game(request["game"], request["options"], seed=1)
                view = self.table.view()
                if view.phase == "setup":
                    self.table.confirm("host", view.moment, view.turn.stage, force=True)
                return plain_layout(self.table.view().board.layout)
            case "resume":
                self.table.resume("host")
            case "times":
                ends_at_s = [
                    alarm.at_s for alarm in self.alarms if alarm.signal.cue is Cue.TIME_OUT
                ]
                return Times(
                    lit_at_s=list(hands.lamps[request["lamp"]][0].edges_s),
                    tones_at_s=list(hands.buzzer.edges_s),
                    due_at_s=sorted({alarm.at_s for alarm in self.alarms}),
                    ends_at_s=ends_at_s,
                )
        return None


def main() -> None:
    """Run the service with the arguments `SETTINGS PICTURES WIDTH HEIGHT`.

    Print the port of its pages first, and then the answer to each request that has one.
    """
    settings, pictures, width, height = sys.argv[1:]
    tune_allocator()
    hardware.simulated.MockPWMPin = StampedPin
    service = MeasuredService(Path(settings), Path(pictures), (int(width), int(height)))
    with service:
        freeze_objects()
        print(service.server.port, flush=True)
        for line in sys.stdin:
            if (answer := service.handle_request(msgspec.json.decode(line))) is not None:
                print(msgspec.json.encode(answer).decode(), flush=True)


if __name__ == "__main__":
    main()
