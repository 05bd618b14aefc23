"""Buttons read straight from the kernel's GPIO character device, so that keys at rest wake nothing.

lgpio looks at its buttons 2,000 times a second in a thread of its own; here one thread sleeps in `poll` until an edge
comes, and the kernel itself stamps the edge. The structures are those of `linux/gpio.h`, version 2 (Linux 5.10 on).
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import select
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_log = logging.getLogger(__name__)

_GET_LINE = 0xC250B407
"""`GPIO_V2_GET_LINE_IOCTL`, a structure of 592 bytes."""
_GET_VALUES = 0xC010B40E
"""`GPIO_V2_LINE_GET_VALUES_IOCTL`, two words of 64 bits: the bits and which of them are asked for."""
_GET_INFO = 0xC100B405
"""`GPIO_V2_GET_LINEINFO_IOCTL`, a structure of 256 bytes."""
_USED, _ACTIVE_LOW, _INPUT, _RISING, _FALLING, _PULL_UP = 1, 1 << 1, 1 << 2, 1 << 4, 1 << 5, 1 << 8
_REQUEST = struct.Struct("=256s32sQ264sII20si")
"""Offsets, consumer, flags, the rest of the configuration, number of lines, events kept, padding, descriptor."""
_EVENT = struct.Struct("=QIIII24x")
"""Stamp in ns of the monotonic clock, 1 rising or 2 falling, offset, two counters."""
_INFO = struct.Struct("=32s32sIIQ176s")
_CONSUMER = b"tabletop-companion"
_JOIN_S = 2.0


class LineUse(NamedTuple):
    """Whether some program or driver has a line, and the name it gave."""

    is_used: bool
    consumer: str


def line_use(chip: Path, pin: int) -> LineUse:
    """Who has a line now; raises `OSError`."""
    asked = bytearray(_INFO.pack(b"", b"", pin, 0, 0, b""))
    handle = os.open(chip, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(handle, _GET_INFO, asked)
    finally:
        os.close(handle)
    _, consumer, _, _, flags, _ = _INFO.unpack(asked)
    return LineUse(bool(flags & _USED), consumer.split(b"\0")[0].decode(errors="replace"))


class LineTaken(Exception):
    """Another program or a driver has a line; `owner` is the name that it gave."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.owner = owner


def can_read_keys(chip: Path) -> bool:
    """Does the kernel have this interface, and may it be used?"""
    try:
        line_use(chip, 0)
    except OSError:
        return False
    return True


def request_button(chip: Path, pin: int) -> int:
    """A descriptor of a line with a pull-up, whose edges are told; high means pressed.

    Raises `LineTaken` when somebody has it, or `OSError`.
    """
    if (use := line_use(chip, pin)).is_used:
        raise LineTaken(use.consumer or "?")
    flags = _ACTIVE_LOW | _INPUT | _RISING | _FALLING | _PULL_UP
    asked = bytearray(_REQUEST.pack(struct.pack("=I", pin), _CONSUMER, flags, b"", 1, 0, b"", -1))
    handle = os.open(chip, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(handle, _GET_LINE, asked)
    finally:
        os.close(handle)
    return int(_REQUEST.unpack(asked)[-1])


def read_button(handle: int) -> bool:
    """Is the button of a descriptor pressed now? Raises `OSError`."""
    asked = bytearray(struct.pack("=QQ", 0, 1))
    fcntl.ioctl(handle, _GET_VALUES, asked)
    return bool(struct.unpack("=QQ", asked)[0] & 1)


WhenChanged = Callable[[bool, float], None]
"""Gets whether a button is pressed now, and the kernel's stamp of the edge in monotonic seconds."""


class KernelButton:
    """One button of `KernelKeys`."""

    def __init__(self, keys: KernelKeys, handle: int) -> None:
        self._keys = keys
        self._handle = handle
        self._is_open = True

    def is_down(self) -> bool:
        """The line's level now."""
        return read_button(self._handle)

    def close(self) -> None:
        """Give the line back; may be called twice."""
        if self._is_open:
            self._is_open = False
            self._keys.forget(self._handle)
            os.close(self._handle)


class KernelKeys:
    """The buttons on one GPIO chip and the thread that waits for their edges; `close` may be called twice."""

    def __init__(self, chip: Path) -> None:
        self._chip = chip
        self._calls: dict[int, WhenChanged] = {}
        self._poll = select.poll()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll.register(self._wake, select.POLLIN)
        self._thread = threading.Thread(target=self._run, name="panel-edges", daemon=True)
        self._is_closed = False

    def button(self, pin: int, when_changed: WhenChanged) -> KernelButton:
        """Open a button; `when_changed` is called in the thread for edges and must never block. Raises `OSError`."""
        handle = request_button(self._chip, pin)
        self._calls[handle] = when_changed
        self._poll.register(handle, select.POLLIN)
        return KernelButton(self, handle)

    def start(self) -> None:
        """Begin to listen, once all buttons are open."""
        self._thread.start()

    def forget(self, handle: int) -> None:
        """No more edges of a button."""
        if self._calls.pop(handle, None) is not None:
            self._poll.unregister(handle)

    def _run(self) -> None:
        while not self._is_closed:
            for handle, _ in self._poll.poll():
                if handle != self._wake and not self._is_closed:
                    self._take(handle)

    def _take(self, handle: int) -> None:
        """Tell all edges that wait at a button; one that cannot be read any more is left alone."""
        try:
            told = os.read(handle, 16 * _EVENT.size)
        except OSError as error:
            _log.warning("A button's line cannot be read any more: %s", error)
            self.forget(handle)
            return
        for stamp_ns, kind, *_ in _EVENT.iter_unpack(told[: len(told) // _EVENT.size * _EVENT.size]):
            if (call := self._calls.get(handle)) is not None:
                with contextlib.suppress(Exception):  # what a listener raises must not end every other button
                    call(kind == 1, stamp_ns / 1e9)

    def close(self) -> None:
        """End the thread; the buttons are closed by whoever opened them, after this."""
        if self._is_closed:
            return
        self._is_closed = True
        os.eventfd_write(self._wake, 1)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_S)
        os.close(self._wake)
