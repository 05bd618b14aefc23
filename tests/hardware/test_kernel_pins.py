"""gpiozero's devices and the panel on the kernel's GPIO lines, here made of socket pairs; `make appliance` has real ones."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import gpiod
import pytest
from gpiod.line import Bias, Direction, Edge, Value
from gpiozero import LED, PWMLED, InputDevice, OutputDevice
from gpiozero.exc import (
    PinFixedPull,
    PinInvalidEdges,
    PinInvalidFunction,
    PinInvalidPull,
    PinPWMFixedValue,
    PinSetInput,
)

from companion.core.clock import RealClock
from companion.core.config import PanelSettings
from companion.core.kit import SEATS
from companion.core.ports import Cue, Press, SeatLamps, Signal, TurnLamp
from hardware import panel as panel_module
from hardware.panel import Panel
from hardware.pins import kernel as kernel_pins
from hardware.pins import pwm
from hardware.pins.kernel import KernelFactory, header_chip
from hardware.wiring import LineTaken

SOUTH, NORTH = SEATS
WAIT_S = 10.0
CHIP = Path("/dev/gpiochip0")


class Line:
    """A line that somebody has asked for, as the library shows it; edges are told by the other end of its socket."""

    def __init__(self, kernel: Kernel, pin: int, settings: Any) -> None:
        self._kernel, self.pin = kernel, pin
        near, self.end = socket.socketpair()
        self.fd = near.detach()
        self.waiting: list[gpiod.EdgeEvent] = []
        self.reconfigure_lines({pin: settings})

    def reconfigure_lines(self, config: dict[int, Any]) -> None:
        self.settings = SimpleNamespace(**vars(config[self.pin]))
        if self.settings.direction is Direction.OUTPUT:
            self._kernel.write(self.pin, bool(self.settings.output_value.value))

    def get_value(self, pin: int) -> Value:
        is_output = self.settings.direction is Direction.OUTPUT
        return Value(int(self._kernel.levels[pin][-1])) if is_output else Value(int(pin not in self._kernel.down))

    def set_value(self, pin: int, value: Value) -> None:
        self._kernel.write(pin, value is Value.ACTIVE)

    def read_edge_events(self) -> list[gpiod.EdgeEvent]:
        if not os.read(self.fd, 100):
            raise OSError("the line is gone")
        told, self.waiting = self.waiting, []
        return told

    def release(self) -> None:
        os.close(self.fd)
        self.end.close()
        del self._kernel.lines[self.pin]


class Kernel:
    """One chip with its lines, who has them, and every level that they ever had."""

    def __init__(self) -> None:
        self.label = "pinctrl-bcm2711"
        self.lines: dict[int, Line] = {}
        self.taken: dict[int, str] = {}
        self.levels: dict[int, list[bool]] = {}
        self.down: set[int] = set()
        self.by_socket: dict[int, int] = {}
        self.processes: list[threading.Thread] = []
        self.is_broken = False
        self.wrote = threading.Condition()

    # the chip, as the library shows it

    def __call__(self, path: str) -> Kernel:
        return self

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass

    def get_info(self) -> Any:
        return SimpleNamespace(label=self.label)

    def get_line_info(self, pin: int) -> Any:
        return SimpleNamespace(used=pin in self.taken or pin in self.lines, consumer=self.taken.get(pin, "companion"))

    def request_lines(self, config: dict[int, Any], consumer: str) -> Line:
        ((pin, settings),) = config.items()
        self.lines[pin] = Line(self, pin, settings)
        self.by_socket[os.fstat(self.lines[pin].fd).st_ino] = pin
        return self.lines[pin]

    # what goes over the lines

    def write(self, pin: int, is_high: bool) -> None:
        with self.wrote:
            self.levels.setdefault(pin, []).append(is_high)
            self.wrote.notify_all()

    def write_level(self, handle: int, is_high: bool) -> None:
        if self.is_broken:
            raise OSError(5, "Input/output error")
        self.write(self.by_socket[os.fstat(handle).st_ino], is_high)

    def comes_to(self, pin: int, *last: bool) -> bool:
        """Does a line come to these levels, one after the other?"""
        with self.wrote:
            return self.wrote.wait_for(lambda: tuple(self.levels.get(pin, [])[-len(last) :]) == last, WAIT_S)

    def tell(self, pin: int, *edges: tuple[bool, float]) -> None:
        """Edges of a button, each with its time; the last is the level from then on."""
        for is_pressed, at_s in edges:
            (self.down.add if is_pressed else self.down.discard)(pin)
            self.lines[pin].waiting.append(gpiod.EdgeEvent(2 if is_pressed else 1, round(at_s * 1e9), pin, 0, 0))
        self.lines[pin].end.send(b"!")


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """A chip, and a thread in place of the process of the waves."""
    made = Kernel()

    class Process:
        def __init__(self, _: list[str], pass_fds: list[int], **__: object) -> None:
            line = socket.socket(fileno=os.dup(pass_fds[0]))
            self._thread = threading.Thread(target=self._serve, args=(line,))
            self._thread.start()
            made.processes.append(self._thread)

        def _serve(self, line: socket.socket) -> None:
            with line, contextlib.suppress(OSError):  # what breaks ends the process
                pwm.serve(line, made.write_level)

        def wait(self, timeout_s: float) -> None:
            self._thread.join(timeout_s)

    monkeypatch.setattr(gpiod, "Chip", made)
    monkeypatch.setattr(kernel_pins.subprocess, "Popen", Process)
    monkeypatch.setattr("gpiozero.pins.local.get_pi_revision", lambda: 0xC03114)
    yield made
    assert made.lines == {}, "every line was given back"
    assert not any(thread.is_alive() for thread in made.processes)


@pytest.fixture
def factory(kernel: Kernel) -> Iterator[KernelFactory]:
    made = KernelFactory(CHIP)
    yield made
    made.close()
    made.close()


# ---- gpiozero's devices ------------------------------------------------------------------------------------------


def test_an_output_begins_with_its_level_and_switches(kernel: Kernel, factory: KernelFactory) -> None:
    with LED(17, pin_factory=factory) as lamp, OutputDevice(14, active_high=False, pin_factory=factory) as low:
        assert (kernel.levels[17], kernel.levels[14]) == ([False], [True]), "not a moment of the other level"
        lamp.on()
        low.on()
        assert (lamp.value, low.value, kernel.levels[17], kernel.levels[14]) == (1, 1, [False, True], [True, False])
        lamp.off()
        assert (lamp.value, kernel.levels[17][-1]) == (0, False)
    with LED(17, initial_value=True, pin_factory=factory):
        assert kernel.levels[17][-1] is True


def test_a_dimmed_lamp_goes_up_and_down_and_stops_at_the_level_that_is_asked(
    kernel: Kernel, factory: KernelFactory
) -> None:
    with PWMLED(17, frequency=2000, pin_factory=factory) as lamp:
        assert set(kernel.levels[17]) == {False}
        lamp.value = 0.4
        assert (lamp.value, lamp.frequency) == (0.4, 2000)
        assert kernel.comes_to(17, True, False, True, False)
        lamp.frequency = 1000
        assert kernel.comes_to(17, False, True, False, True)
        lamp.value = 1
        assert kernel.comes_to(17, True)
        lamp.frequency = None
        lamp.pin.state = 0
        assert kernel.comes_to(17, False)
    with LED(17, pin_factory=factory):
        assert kernel.levels[17][-1] is False, "the process has let the line go"


def test_a_button_tells_edges_with_the_kernels_stamp(kernel: Kernel, factory: KernelFactory) -> None:
    heard: Queue[tuple[float, bool]] = Queue()

    def hear(stamp_s: float, state: bool) -> None:
        heard.put((stamp_s, state))
        raise RuntimeError("a listener stumbles")

    with InputDevice(5, pull_up=True, pin_factory=factory) as button, InputDevice(6, pin_factory=factory) as other:
        assert kernel.lines[5].settings.bias is Bias.PULL_UP
        assert kernel.lines[5].settings.edge_detection is Edge.NONE
        assert (button.value, other.pin.pull, button.pin.function) == (0, "down", "input")
        button.pin.when_changed = hear
        other.pin.when_changed = hear
        assert kernel.lines[5].settings.edge_detection is Edge.BOTH
        kernel.tell(5, (True, 100.001), (False, 100.002), (True, 100.003))
        assert [heard.get(timeout=WAIT_S) for _ in range(3)] == [(100.001, False), (100.002, True), (100.003, False)]
        assert button.value == 1
        kernel.lines[6].end.close()  # a line that breaks costs no other key
        kernel.tell(5, (False, 101.5))
        assert heard.get(timeout=WAIT_S) == (101.5, True)
        button.pin.when_changed = None
        assert kernel.lines[5].settings.edge_detection is Edge.NONE


def test_what_a_pin_cannot_do_is_refused(kernel: Kernel, factory: KernelFactory) -> None:
    pin, fixed = factory.pin(5), factory.pin(3)
    with pytest.raises(PinSetInput):
        pin.state = 1
    with pytest.raises(PinPWMFixedValue):
        pin.frequency = 100
    pin.function = "output"
    with pytest.raises(PinFixedPull, match="non-input"):
        pin.pull = "up"
    pin.function = "input"
    pin.pull = "floating"
    assert kernel.lines[5].settings.bias is Bias.DISABLED
    with pytest.raises(PinInvalidPull):
        pin.pull = "sideways"
    with pytest.raises(PinInvalidFunction):
        pin.function = "dance"
    with pytest.raises(PinInvalidEdges):
        pin.edges = "soft"
    with pytest.raises(PinFixedPull, match="physical pull-up"):
        fixed.input_with_pull("down")
    assert pin.state == 1


def test_a_line_that_somebody_has_is_named(kernel: Kernel, factory: KernelFactory) -> None:
    kernel.taken[4] = "onewire@4"
    with pytest.raises(LineTaken, match="onewire@4"):
        LED(4, pin_factory=factory)


def test_the_chip_is_found_by_its_label(kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Raspberry Pi"):
        header_chip(tmp_path)
    (tmp_path / "gpiochip4").touch()
    assert header_chip(tmp_path) == tmp_path / "gpiochip4"
    kernel.label = "raspberrypi-exp-gpio"
    with pytest.raises(OSError, match="Raspberry Pi"):
        header_chip(tmp_path)


def test_a_chip_that_may_not_be_used_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(_: str) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "gpiochip0").touch()
    monkeypatch.setattr(gpiod, "Chip", refuse)
    with pytest.raises(PermissionError):
        header_chip(tmp_path)


# ---- the panel ---------------------------------------------------------------------------------------------------


@pytest.fixture
def own_pins(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """The panel takes these pins for the machine's own."""
    monkeypatch.setattr(panel_module, "open_factory", lambda: KernelFactory(CHIP))
    monkeypatch.setattr(panel_module, "pin_owners", dict)
    return kernel


def test_a_panel_on_the_kernels_pins(own_pins: Kernel) -> None:
    own_pins.taken[6] = "gpio-keys"
    clock, presses = RealClock(), Queue[Press]()
    with Panel(PanelSettings(), clock, presses.put) as panel:
        assert (len(panel.buttons), len(panel.lamps), panel.has_buzzer) == (16, 8, True)
        assert panel.problems == (
            "south_down on GPIO 6 cannot be used: “gpio-keys” is using this pin. Stop it, or leave the pin out in [panel]",
        )
        at_s = clock.monotonic_s() - 0.01
        own_pins.tell(5, (True, at_s))
        press = presses.get(timeout=WAIT_S)
        assert (press.key, press.at_s) == ("up", pytest.approx(at_s)), "stamped at its edge, not when it was read"
        own_pins.tell(5, (False, at_s + 0.05))
        panel.show({SOUTH: SeatLamps(frozenset({1})), NORTH: SeatLamps(turn=TurnLamp.ON)})
        assert own_pins.comes_to(17, True, False, True, False)
        assert own_pins.comes_to(2, False, True, False, True), "dimmed, between 3V3 and the pin"
        panel.signal(Signal(Cue.TIME_OUT))
        assert own_pins.comes_to(18, True, False, True, False)
        panel.adjust(True, 1.0)
        assert own_pins.comes_to(17, True)
        assert own_pins.comes_to(18, False)
        assert own_pins.comes_to(2, False)
    assert not {thread.name for thread in threading.enumerate()} & {"panel-edges", "panel-input", "panel-output"}
    assert (own_pins.levels[17][-1], own_pins.levels[2][-1]) == (False, True), "both are dark"


def test_a_lamp_that_nobody_dims_any_more_is_named(own_pins: Kernel) -> None:
    with Panel(PanelSettings(), RealClock(), lambda _: None, threads=False) as panel:
        own_pins.is_broken = True
        panel.show({SOUTH: SeatLamps(frozenset({1}))})
        panel.step()
        own_pins.processes[0].join(WAIT_S)
        panel.show({SOUTH: SeatLamps(frozenset({1, 2}))})
        panel.step()
        assert panel.problems[-1].startswith("south_2 no longer works: "), "south_1 as well, where it met the end of it"
