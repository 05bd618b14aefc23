"""Dimmed lamps and tones on pins that have no PWM of their own: a process that switches lines on and off in time.

It is run by its path and knows the standard library alone, so that it is there within hundredths of a second. The lines
come as descriptors over a socket, from `hardware.pins.kernel`, which holds them. While nothing is dimmed and nothing
sounds it sleeps; it ends when the other end of the socket is closed. In the service's own process a thread of Python
could not keep this time: another one may hold the interpreter.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

MESSAGE = struct.Struct("=Idd")
"""A line's number, its frequency in Hz and the share of the time that it is high. 0 Hz: it stays high or low; below
that: it is given back, and one byte answers. The first message of a line brings its descriptor."""
_SET_VALUES = 0xC010B40F
"""`GPIO_V2_LINE_SET_VALUES_IOCTL` of `linux/gpio.h`: two words of 64 bits, the levels and which lines they are for."""
_LEVELS = (struct.pack("=QQ", 0, 1), struct.pack("=QQ", 1, 1))
TOGETHER_S = 0.00002
"""Edges that are so near are made together."""

Write = Callable[[int, bool], None]
"""Sets the level of the line of a descriptor; raises `OSError`."""


@dataclass
class _Wave:
    hz: float
    share: float
    from_s: float
    is_high: bool | None = None
    due_s: float = -math.inf
    """When the next edge is to be made."""

    @property
    def is_steady(self) -> bool:
        return self.hz <= 0 or not 0 < self.share < 1

    def edge(self, now_s: float) -> bool:
        """Make the edge that is due; answers the level from now on.

        Rises come in the time of the frequency, falls so long after them: an edge that was late costs no brightness.
        """
        if self.is_steady:
            self.due_s = math.inf
            return self.share >= 0.5
        if not self.is_high:
            self.due_s = now_s + self.share / self.hz
            return True
        low_s = (1 - self.share) / self.hz
        left_s = -(now_s - self.from_s) % (1 / self.hz)
        self.due_s = now_s + (left_s if left_s <= 2 * low_s else low_s)
        return False


class Waves:
    """What lines do, by their descriptors. Waves of one frequency go in step, so that all wake the processor once."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._waves: dict[int, _Wave] = {}

    def put(self, handle: int, hz: float, share: float, now_s: float) -> None:
        """A line does this from now on; a wave that is under way only gets another share."""
        before, wave = self._waves.get(handle), _Wave(hz, share, now_s)
        if before and before.hz == hz and not before.is_steady and not wave.is_steady:
            before.share = share
            return
        wave.is_high = before.is_high if before else None
        beside = (each for each in self._waves.values() if each.hz == hz and not each.is_steady)
        if not wave.is_steady and (leader := next(beside, None)):
            wave.from_s = leader.from_s
            wave.due_s = now_s + -(now_s - wave.from_s) % (1 / hz)
        self._waves[handle] = wave

    def drop(self, handle: int) -> None:
        """A line is given back as it is."""
        self._waves.pop(handle, None)

    def step(self, now_s: float) -> float:
        """Make the edges that are due; answers when the next one is, infinite where there is none."""
        for handle, wave in self._waves.items():
            if wave.due_s <= now_s + TOGETHER_S:
                is_high = wave.edge(now_s)
                if is_high is not wave.is_high:
                    self._write(handle, is_high)
                wave.is_high = is_high
        return min((wave.due_s for wave in self._waves.values()), default=math.inf)


def write_level(handle: int, is_high: bool) -> None:
    """Set the level of a line that the kernel has lent; raises `OSError`."""
    fcntl.ioctl(handle, _SET_VALUES, _LEVELS[is_high])


def serve(line: socket.socket, write: Write, now: Callable[[], float] = time.monotonic) -> None:
    """Do what comes over the socket until its other end is closed."""
    waves, handles, next_s = Waves(write), dict[int, int](), math.inf
    while True:
        wait_s = None if math.isinf(next_s) else max(0.0, next_s - now())
        if select.select([line], [], [], wait_s)[0]:
            message, sent, *_ = socket.recv_fds(line, MESSAGE.size, 1)
            if not message:
                return
            pin, hz, share = MESSAGE.unpack(message)
            if sent:
                handles[pin] = sent[0]
            if hz < 0:
                if pin in handles:
                    waves.drop(handles[pin])
                    os.close(handles.pop(pin))
                line.send(b"\0")
            else:
                waves.put(handles[pin], hz, share, now())
        next_s = waves.step(now())


def _hurry() -> None:
    """This process is served before ordinary ones and woken when it asks to be, where the system permits that."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    with contextlib.suppress(OSError), open("/proc/self/timerslack_ns", "w", encoding="ascii") as file:
        file.write("1")


if __name__ == "__main__":
    for ending in (signal.SIGTERM, signal.SIGINT):  # the last tone of the service is not to be cut
        signal.signal(ending, signal.SIG_IGN)
    _hurry()
    serve(socket.socket(fileno=int(sys.argv[1])), write_level)
