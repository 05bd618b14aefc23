"""The buzzer's tone made by the hardware, through the kernel's `/sys/class/pwm`: it costs no wake-up and wavers not.

It is there when the device tree gives the buzzer's pin to a PWM: `dtoverlay=pwm,pin=18,func=2` in `config.txt`.
Channels by pin are those of the data sheets (alternate functions in "BCM2711 ARM Peripherals" and "RP1 Peripherals").
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Mapping
from pathlib import Path

from hardware.pin_owners import PinOwner

_log = logging.getLogger(__name__)

OVERLAY = "dtoverlay=pwm,pin=18,func=2"
OVERLAY_PIN = 18
"""The one pin of the header that has a PWM of its own on every board, with this overlay."""
_CHANNELS: Mapping[str, Mapping[int, int]] = {
    "rp1": {12: 0, 13: 1, 14: 2, 15: 3, 18: 2, 19: 3},
    "": {12: 0, 13: 1, 18: 0, 19: 1},
}
_ANY_NS = 1_000_000
READY_S = 1.0
"""So long udev may take to let the group have a channel that was just exported."""


class HardwareTone:
    """One PWM channel of the hardware; raises `OSError` when it cannot be used. `close` may be called twice."""

    def __init__(self, chip: Path, channel: int) -> None:
        self._folder = chip / f"pwm{channel}"
        if not self._folder.exists():
            (chip / "export").write_text(str(channel), encoding="ascii")
        self._wait_until_ready()
        self._is_on = False

    def _wait_until_ready(self) -> None:
        end_s = time.monotonic() + READY_S
        while True:
            try:
                if (self._folder / "period").read_text(encoding="ascii").strip() == "0":
                    self._write("period", _ANY_NS)  # nothing else is taken before there is one
                self._write("duty_cycle", 0)
                self._write("enable", 0)
            except OSError:
                if time.monotonic() >= end_s:
                    raise
                time.sleep(0.02)
            else:
                return

    def sound(self, hz: float | None) -> None:
        """Sound a frequency, half of the time high, or None: be silent."""
        if hz is None:
            if self._is_on:
                self._write("enable", 0)
            self._is_on = False
            return
        period_ns = round(1e9 / hz)
        self._write("duty_cycle", 0)  # it may never be longer than the period
        self._write("period", period_ns)
        self._write("duty_cycle", period_ns // 2)
        if not self._is_on:
            self._write("enable", 1)
        self._is_on = True

    def _write(self, name: str, value: int) -> None:
        (self._folder / name).write_text(str(value), encoding="ascii")

    def close(self) -> None:
        """Be silent."""
        with contextlib.suppress(OSError):
            self.sound(None)


def hardware_tone(pin: int, owners: Mapping[int, PinOwner], root: Path = Path("/")) -> HardwareTone | None:
    """The hardware's tone on a pin; None where no PWM has the pin, or it may not be used."""
    if pin not in owners or owners[pin].kind != "pwm":
        return None
    for chip in sorted((root / "sys/class/pwm").glob("pwmchip*")):
        device = (chip / "device").resolve()
        names = (device.name, (device / "of_node").resolve().name)
        channels = _CHANNELS["rp1" if "rp1" in str((device / "of_node").resolve()) else ""]
        if owners[pin].device not in names or pin not in channels:
            continue
        try:
            return HardwareTone(chip, channels[pin])
        except OSError as error:
            _log.warning("The hardware's tone on GPIO %s cannot be used: %s", pin, error)
    return None
