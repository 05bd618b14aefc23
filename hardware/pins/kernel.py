"""The machine's own pins for gpiozero, by the kernel's GPIO device and its library, libgpiod: at rest nothing wakes.

gpiozero's lgpio looks at buttons 2,000 times a second, and its thread for outputs wakes 50 times a second as long as a
chip is open. Here one thread sleeps until the kernel tells an edge, with the kernel's stamp; a steady line costs
nothing; dimmed lamps and tones are made by a process of its own (`hardware.pins.pwm`), begun with the first of them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import gpiod
from gpiod.line import Bias, Direction, Edge, Value
from gpiozero.exc import (
    PinFixedPull,
    PinInvalidEdges,
    PinInvalidFunction,
    PinInvalidPull,
    PinPWMFixedValue,
    PinSetInput,
)
from gpiozero.pins.local import LocalPiFactory, LocalPiPin

from hardware.pins import pwm
from hardware.wiring import LineTaken

_log = logging.getLogger(__name__)

CHIPS = ("pinctrl-rp1", "pinctrl-bcm2711", "pinctrl-bcm2835")
"""Labels of the chips that the header's pins are on: their numbers change with the kernel."""
_CONSUMER = "tabletop-companion"
_ANSWER_S = 2.0
_DIRECTIONS = {"input": Direction.INPUT, "output": Direction.OUTPUT}
_PULLS = {"up": Bias.PULL_UP, "down": Bias.PULL_DOWN, "floating": Bias.DISABLED}
_EDGES = {"both": Edge.BOTH, "rising": Edge.RISING, "falling": Edge.FALLING, "none": Edge.NONE}


def header_chip(devices: Path = Path("/dev")) -> Path:
    """The chip that the header's pins are on; raises `OSError`."""
    refused: OSError = FileNotFoundError(f"none of {devices}/gpiochip* is a Raspberry Pi's")
    for path in sorted(devices.glob("gpiochip*")):
        try:
            with gpiod.Chip(str(path)) as chip:
                if chip.get_info().label in CHIPS:
                    return path
        except OSError as error:
            refused = error
    raise refused


class KernelFactory(LocalPiFactory):  # type: ignore[misc]  # gpiozero has no types
    """The pins of one chip; `close` gives all of them back and may be called twice."""

    stamps_edges = True
    """Its stamps are seconds of the machine's monotonic clock, by the kernel."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.pin_class = KernelPin
        self.chip = gpiod.Chip(str(path))
        self.edges = _EdgeThread()
        self.waves = _WaveProcess()

    def close(self) -> None:
        """Give everything back, and end the thread and the process."""
        self.edges.close()
        super().close()
        self.waves.close()
        self.chip.close()


class KernelPin(LocalPiPin):  # type: ignore[misc]  # gpiozero has no types
    """One pin, asked of the kernel as soon as it is used; raises `LineTaken` then, or `OSError`.

    `when_changed` gets the kernel's stamp of an edge in seconds of the monotonic clock, and must never block.
    """

    def __init__(self, factory: KernelFactory, info: Any) -> None:
        super().__init__(factory, info)
        self._lock = threading.Lock()
        self._line: gpiod.LineRequest | None = None
        self._settings = gpiod.LineSettings(direction=Direction.INPUT, bias=Bias.DISABLED)
        self._wave: tuple[float, float] | None = None
        self._edge = Edge.BOTH

    def close(self) -> None:
        """Give the line back; another program may have it from then on."""
        self._when_changed = None
        if self._line is not None:
            self.factory.edges.forget(self._line.fd)
            self.factory.waves.forget(self._number)
            with self._lock:
                self._line.release()
            self._line, self._wave = None, None

    def output_with_state(self, state: float) -> None:
        """An output that begins with its level, without a moment of the other one."""
        self._configure(direction=Direction.OUTPUT, bias=Bias.AS_IS, output_value=Value(bool(state)))

    def input_with_pull(self, pull: str) -> None:
        """An input with its pull."""
        self._configure(direction=Direction.INPUT, bias=self._bias(pull))

    def _configure(self, **changes: Any) -> gpiod.LineRequest:
        """The line, with these settings from now on."""
        for name, value in changes.items():
            setattr(self._settings, name, value)
        with self._lock:
            if self._line is not None:
                self._line.reconfigure_lines({self._number: self._settings})
                return self._line
            use = self.factory.chip.get_line_info(self._number)
            if use.used:
                raise LineTaken(use.consumer or "?")
            self._line = self.factory.chip.request_lines({self._number: self._settings}, _CONSUMER)
            return self._line

    def _get_function(self) -> str:
        return "output" if self._settings.direction is Direction.OUTPUT else "input"

    def _set_function(self, value: str) -> None:
        if value not in _DIRECTIONS:
            raise PinInvalidFunction(f'invalid function "{value}" for pin {self!r}')
        self._configure(direction=_DIRECTIONS[value], bias=Bias.AS_IS)

    def _get_pull(self) -> str:
        return next((name for name, bias in _PULLS.items() if bias is self._settings.bias), "floating")

    def _set_pull(self, value: str) -> None:
        if self.function != "input":
            raise PinFixedPull(f"cannot set pull on non-input pin {self!r}")
        self._configure(bias=self._bias(value))

    def _bias(self, pull: str) -> Bias:
        if pull not in _PULLS:
            raise PinInvalidPull(f'invalid pull "{pull}" for pin {self!r}')
        if self.info.pull not in (pull, ""):
            raise PinFixedPull(f"{self!r} has a physical pull-{self.info.pull} resistor")
        return _PULLS[pull]

    # ---- levels ----

    def _get_state(self) -> float:
        if self._wave is not None:
            return self._wave[1]
        line = self._line or self._configure()
        with self._lock:
            return line.get_value(self._number).value

    def _set_state(self, value: float) -> None:
        if self._line is None or self.function != "output":
            raise PinSetInput(f"cannot set state of pin {self!r}")
        if self._wave is not None:
            self._make(self._wave[0], value)
            return
        level = Value(bool(value))
        self._line.set_value(self._number, level)
        self._settings.output_value = level

    def _get_frequency(self) -> float | None:
        return self._wave[0] if self._wave is not None else None

    def _set_frequency(self, value: float | None) -> None:
        if self._line is None or self.function != "output":
            raise PinPWMFixedValue(f"cannot start PWM on pin {self!r}")
        share = self._wave[1] if self._wave is not None else float(self._line.get_value(self._number).value)
        if value:
            self._make(value, share)
        elif self._wave is not None:
            self.factory.waves.make(self._line, self._number, 0.0, share)
            self._wave = None

    def _make(self, hz: float, share: float) -> None:
        if self._line is not None and (hz, share) != self._wave:
            self.factory.waves.make(self._line, self._number, hz, share)
            self._wave = hz, share

    # ---- edges ----

    def _get_edges(self) -> str:
        return next(name for name, edge in _EDGES.items() if edge is self._edge)

    def _set_edges(self, value: str) -> None:
        if value not in _EDGES:
            raise PinInvalidEdges(f'invalid edge specification "{value}" for pin {self!r}')
        self._edge = _EDGES[value]
        if self._when_changed is not None:
            self._enable_event_detect()

    def _enable_event_detect(self) -> None:
        self.factory.edges.listen(self._configure(edge_detection=self._edge).fd, self)

    def _disable_event_detect(self) -> None:
        if self._line is not None:
            self.factory.edges.forget(self._line.fd)
            self._configure(edge_detection=Edge.NONE)

    def take_edges(self) -> None:
        """Tell all edges that wait; raises `OSError` when the line is gone."""
        with self._lock:
            told = self._line.read_edge_events() if self._line is not None else []
        for event in told:
            with contextlib.suppress(Exception):  # what a listener raises must not end every other button
                self._call_when_changed(event.timestamp_ns / 1e9, event.event_type is event.Type.RISING_EDGE)


class _EdgeThread:
    """The thread that waits for edges of all pins; it begins with the first one."""

    def __init__(self) -> None:
        self._pins: dict[int, KernelPin] = {}
        self._poll = select.epoll()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll.register(self._wake, select.EPOLLIN)
        self._thread = threading.Thread(target=self._run, name="panel-edges", daemon=True)
        self._is_closed = False

    def listen(self, handle: int, pin: KernelPin) -> None:
        """Tell a pin from now on when its descriptor has edges."""
        if handle not in self._pins:
            self._pins[handle] = pin
            self._poll.register(handle, select.EPOLLIN)
        if not self._thread.ident:
            self._thread.start()

    def forget(self, handle: int) -> None:
        """No more edges of a descriptor."""
        if self._pins.pop(handle, None) is not None:
            with contextlib.suppress(OSError, ValueError):  # it may be closed already
                self._poll.unregister(handle)

    def _run(self) -> None:
        while not self._is_closed:
            for handle, _ in self._poll.poll():
                if (pin := self._pins.get(handle)) is None or self._is_closed:
                    continue
                try:
                    pin.take_edges()
                except OSError as error:  # one that cannot be read any more is left alone
                    _log.warning("A button's line cannot be read any more: %s", error)
                    self.forget(handle)

    def close(self) -> None:
        """End the thread; the pins are closed by whoever opened them."""
        if self._is_closed:
            return
        self._is_closed = True
        os.eventfd_write(self._wake, 1)
        if self._thread.ident and self._thread is not threading.current_thread():
            self._thread.join(_ANSWER_S)
        self._poll.close()
        os.close(self._wake)


class _WaveProcess:
    """The process that dims and sounds, begun with the first line; raises `OSError` once it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._lent: set[int] = set()

    def make(self, line: gpiod.LineRequest, pin: int, hz: float, share: float) -> None:
        """A line is high for a share of the time, so many times a second; with 0 Hz it stays high or low."""
        near = self._socket or self._begin()
        message = pwm.MESSAGE.pack(pin, hz, share)
        if pin in self._lent:
            near.send(message)
        else:
            socket.send_fds(near, [message], [line.fd])
            self._lent.add(pin)

    def _begin(self) -> socket.socket:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        near.settimeout(_ANSWER_S)
        with far:
            command = [sys.executable, "-I", "-S", pwm.__file__, str(far.fileno())]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[far.fileno()])
        self._socket = near
        return near

    def forget(self, pin: int) -> None:
        """A line is given back: the process has let it go when this returns."""
        if pin in self._lent and self._socket is not None:
            self._lent.discard(pin)
            with contextlib.suppress(OSError):  # it has ended: then it holds nothing
                self._socket.send(pwm.MESSAGE.pack(pin, -1.0, 0.0))
                self._socket.recv(1)

    def close(self) -> None:
        """End the process."""
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._socket = None
            try:
                self._process.wait(_ANSWER_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
