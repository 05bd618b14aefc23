"""Keys read from the kernel's GPIO device: its structures, its edges, and a panel on them; no real line is here."""

from __future__ import annotations

import errno
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from gpiozero.pins.mock import MockFactory, MockPWMPin

from companion.core.clock import RealClock
from companion.core.config import PanelSettings
from companion.core.ports import Press
from hardware import kernel_keys, pin_factory
from hardware import panel as panel_module
from hardware.kernel_keys import KernelKeys, LineTaken, LineUse, can_read_keys, line_use, read_button, request_button
from hardware.panel import Panel

WAIT_S = 10.0
CHIP = Path("/dev/gpiochip0")


def edge(is_down: bool, at_s: float) -> bytes:
    """An edge as the kernel tells it."""
    return struct.pack("=QIIII24x", round(at_s * 1e9), 1 if is_down else 2, 5, 0, 0)


class Kernel:
    """GPIO lines made of socket pairs: what is written into one end is read from the line."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: dict[int, str] = {}
        self.ends: dict[int, socket.socket] = {}
        self.down: set[int] = set()
        self.pins: dict[int, int] = {}
        monkeypatch.setattr(kernel_keys, "request_button", self.request)
        monkeypatch.setattr(kernel_keys, "read_button", lambda handle: self.pins[handle] in self.down)

    def request(self, chip: Path, pin: int) -> int:
        if pin in self.taken:
            raise LineTaken(self.taken[pin])
        near, self.ends[pin] = socket.socketpair()
        handle = near.detach()
        self.pins[handle] = pin
        return handle

    def tell(self, pin: int, *edges: bytes) -> None:
        self.ends[pin].send(b"".join(edges))

    def close(self) -> None:
        for end in self.ends.values():
            end.close()


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    made = Kernel(monkeypatch)
    yield made
    made.close()


def test_edges_come_with_the_kernels_stamp_in_their_order(kernel: Kernel) -> None:
    heard: Queue[tuple[int, bool, float]] = Queue()
    keys = KernelKeys(CHIP)
    buttons = [keys.button(pin, lambda down, at_s, pin=pin: heard.put((pin, down, at_s))) for pin in (5, 6)]
    keys.start()
    kernel.tell(5, edge(True, 100.001), edge(False, 100.002), edge(True, 100.003))
    assert [heard.get(timeout=WAIT_S) for _ in range(3)] == [
        (5, True, 100.001),
        (5, False, 100.002),
        (5, True, 100.003),
    ]
    kernel.tell(6, edge(True, 101.5))
    assert heard.get(timeout=WAIT_S) == (6, True, 101.5)
    keys.close()
    keys.close()
    for button in buttons:
        button.close()
        button.close()


def test_a_listener_that_raises_and_a_line_that_breaks_cost_no_other_key(
    kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    heard: Queue[int] = Queue()

    def fails(_: bool, __: float) -> None:
        raise RuntimeError("a listener stumbles")

    keys = KernelKeys(CHIP)
    buttons = [keys.button(5, fails), keys.button(6, lambda *_: heard.put(6)), keys.button(7, fails)]
    keys.start()
    kernel.tell(5, edge(True, 1.0))
    kernel.ends[7].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    kernel.ends[7].send(b"x")
    kernel.tell(6, edge(True, 1.0))
    assert heard.get(timeout=WAIT_S) == 6
    keys.close()
    for button in buttons:
        button.close()


def test_a_panel_on_the_kernels_keys(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    factory = MockFactory(revision="c03114", pin_class=MockPWMPin)
    factory.chip = 0
    monkeypatch.setattr(panel_module, "open_factory", lambda: factory)
    monkeypatch.setattr(panel_module, "pin_owners", dict)
    monkeypatch.setattr(pin_factory, "can_read_keys", lambda _: True)
    kernel.taken[6] = "gpio-keys"
    clock, presses = RealClock(), Queue[Press]()
    with Panel(PanelSettings(), clock, presses.put) as panel:
        assert "panel-edges" in {thread.name for thread in threading.enumerate()}
        assert len(panel.buttons) == 16
        assert panel.problems == (
            "south_down on GPIO 6 cannot be used: “gpio-keys” is using this pin. Stop it, or leave the pin out in [panel]",
        )
        at_s = clock.monotonic_s() - 0.01
        kernel.down.add(5)
        kernel.tell(5, edge(True, at_s))
        press = presses.get(timeout=WAIT_S)
        assert (press.key, press.at_s) == ("up", pytest.approx(at_s)), "stamped at its edge, not when it was read"
        kernel.down.clear()
        kernel.tell(5, edge(False, at_s + 0.05))
    assert "panel-edges" not in {thread.name for thread in threading.enumerate()}


# ---- the kernel's structures ------------------------------------------------------------------------------------


def answers(monkeypatch: pytest.MonkeyPatch, answer: Callable[[int, Any], None]) -> None:
    """An ioctl that fills in what the kernel would."""
    monkeypatch.setattr(kernel_keys.os, "open", lambda *_: os.dup(0))

    def ioctl(_: int, request: int, buffer: bytearray) -> int:
        assert request >> 16 & 0x3FFF == len(buffer), "the size of a structure is part of its number"
        assert request >> 8 & 0xFF == 0xB4
        answer(request & 0xFF, buffer)
        return 0

    monkeypatch.setattr(kernel_keys.fcntl, "ioctl", ioctl)


def test_a_line_is_asked_for_with_pull_up_and_both_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(number: int, buffer: Any) -> None:
        if number == 7:
            assert struct.unpack_from("=I", buffer, 0) == (21,)
            assert struct.unpack_from("=Q", buffer, 256 + 32) == (0b1_0011_0110,)
            assert struct.unpack_from("=II", buffer, 256 + 32 + 272) == (1, 0)
            struct.pack_into("=i", buffer, 588, 42)

    answers(monkeypatch, answer)
    assert request_button(CHIP, 21) == 42


def test_a_line_that_somebody_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(number: int, buffer: Any) -> None:
        assert number == 5
        assert struct.unpack_from("=I", buffer, 64) == (4,)
        buffer[32:45] = b"onewire@4\0\0\0\0"
        struct.pack_into("=Q", buffer, 72, 0b101)

    answers(monkeypatch, answer)
    assert line_use(CHIP, 4) == LineUse(True, "onewire@4")
    with pytest.raises(LineTaken, match="onewire@4"):
        request_button(CHIP, 4)


@pytest.mark.parametrize("bits", [0, 1])
def test_a_level_is_read(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    def answer(number: int, buffer: Any) -> None:
        assert number == 14
        assert struct.unpack("=QQ", buffer) == (0, 1)
        struct.pack_into("=Q", buffer, 0, bits)

    answers(monkeypatch, answer)
    assert read_button(0) == bool(bits)


def test_an_old_kernel_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: int, __: Any) -> None:
        raise OSError(errno.ENOTTY, "Inappropriate ioctl for device")

    answers(monkeypatch, answer)
    assert not can_read_keys(CHIP)
