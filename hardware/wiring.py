"""Which pin is which button or lamp, and the devices on them: thin covers of gpiozero's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpiozero import LED, InputDevice, OutputDevice
from gpiozero.exc import PinPWMUnsupported

from companion.core.config import PanelSettings
from companion.core.event_cues import NOTES_HZ
from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey
from hardware.cues import LAMPS
from hardware.pwm_buzzer import HardwareTone

_LAMP_PWM_HZ = 200
_FIRST_HZ = NOTES_HZ["A6"]
"""A tone begins with one cycle of this: a software PWM takes a new frequency only at its end, so it is kept short."""


class LineTaken(Exception):
    """Another program or a driver has a line; `owner` is the name that it gave."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.owner = owner


@dataclass(frozen=True)
class ButtonPin:
    """A wired button; `name` as in `PanelHands`, no seat for the table button. It connects the pin to ground."""

    name: str
    seat: Seat | None
    key: PadKey
    pin: int


@dataclass(frozen=True)
class LampPin:
    """A wired lamp; `lamp` is one of `cues.LAMPS`, `is_active_low`: it is wired between 3V3 and the pin."""

    name: str
    seat: Seat
    lamp: str
    pin: int
    is_active_low: bool


def button_pins(settings: PanelSettings) -> tuple[ButtonPin, ...]:
    """All wired buttons."""
    buttons = []
    for seat in SEATS:
        pins = settings.south if seat is Seat.SOUTH else settings.north
        for key in PadKey:
            pin = getattr(pins, key, "")  # the settings name a pad's pins like its keys; the table button is no pad's
            if isinstance(pin, int):
                buttons.append(ButtonPin(f"{seat}_{key}", seat, key, pin))
    if isinstance(settings.table_button, int):
        buttons.append(ButtonPin("table", None, PadKey.TABLE, settings.table_button))
    return tuple(buttons)


def lamp_pins(settings: PanelSettings) -> tuple[LampPin, ...]:
    """All wired lamps."""
    lamps = []
    for seat in SEATS:
        pins = settings.south if seat is Seat.SOUTH else settings.north
        for lamp in LAMPS:
            pin = getattr(pins, f"lamp_{lamp}")
            if isinstance(pin, int):
                is_active_low = f"lamp_{lamp}" in pins.lamps_active_low
                lamps.append(LampPin(f"{seat}_{lamp}", seat, lamp, pin, is_active_low))
    return tuple(lamps)


class Button:
    """An open button. `when_changed(is_down, stamp)` is called in the pin factory's thread and must never block or
    raise; the stamp is the factory's own."""

    def __init__(self, pin: int, when_changed: Callable[[bool, float], None], factory: Any) -> None:
        # Not gpiozero's own Button: that keeps a thread for each, and swallows a press after a lost release.
        self._device = InputDevice(pin, pull_up=True, pin_factory=factory)
        self._when_changed = when_changed
        try:
            self._device.pin.edges = "both"
            self._device.pin.when_changed = self._changed
        except BaseException:
            self._device.close()
            raise

    def _changed(self, stamp: float, state: object) -> None:
        # What raises here would end the only notification thread, and every button with it.
        with contextlib.suppress(Exception):
            self._when_changed(not state, stamp)

    def is_down(self) -> bool:
        """The line's level now."""
        return bool(self._device.is_active)

    def close(self) -> None:
        """Give the pin back."""
        if not self._device.closed:
            self._device.pin.when_changed = None
        self._device.close()


class Lamp:
    """An open lamp; dimmed where the pins can, else on or off.

    The pins' PWM is made by the processor and wakes it hundreds of times a second: it runs only while a lamp is dimmed.
    """

    def __init__(self, lamp: LampPin, factory: Any) -> None:
        self._device = LED(lamp.pin, active_high=not lamp.is_active_low, pin_factory=factory)
        self.can_dim = True
        self._shown = 0.0
        try:
            self._run_pwm(True)
            self._run_pwm(False)
            self._device.value = 0
        except PinPWMUnsupported:
            self.can_dim = False
        except BaseException:
            self._device.close()
            raise

    def show(self, level: float, brightness: float) -> None:
        """Show a level (0..1) at the panel's brightness (0..1), in steps of 1 % as the pins have them."""
        value = round(level * brightness, 2) if self.can_dim else float(level >= 0.5 and brightness > 0)
        if value == self._shown:
            return
        if not self.can_dim:
            self._device.value = value
        else:
            is_steady = value in (0.0, 1.0)
            if not is_steady or self._device.pin.frequency is not None:
                self._run_pwm(True)  # also for the last cycle, so that whatever comes of it late is the right level
                self._device.pin.state = value if self._device.active_high else 1 - value
            if is_steady:
                self._run_pwm(False)
                self._device.value = value
        self._shown = value

    def _run_pwm(self, on: bool) -> None:
        if self.can_dim and on != (self._device.pin.frequency is not None):
            self._device.pin.frequency = _LAMP_PWM_HZ if on else None

    def close(self) -> None:
        """Give the pin back; the lamp is dark."""
        if not self._device.closed:
            with contextlib.suppress(Exception):  # a pin that fails is given back all the same
                self.show(0.0, 0.0)
        self._device.close()


class Buzzer:
    """An open buzzer: a square wave, equally loud for every note. While it is silent nothing runs.

    `tone` is the hardware's, where it has the pin; else the pins must be able to do PWM.
    """

    def __init__(self, pin: int, factory: Any, tone: HardwareTone | None = None) -> None:
        self._hz: float | None = None
        self._tone = tone
        self._device: Any = None
        if tone is None:
            self._device = OutputDevice(pin, pin_factory=factory)
            try:
                self._device.pin.frequency = _FIRST_HZ  # raises where the pins cannot
                self._device.pin.frequency = None
                self._device.off()
            except BaseException:
                self._device.close()
                raise

    @property
    def is_made_by_hardware(self) -> bool:
        """Does the tone cost the processor nothing?"""
        return self._tone is not None

    def sound(self, hz: float | None) -> None:
        """Sound a frequency, or None: be silent."""
        if hz == self._hz:
            return
        if self._tone is not None:
            self._tone.sound(hz)
        elif hz is None:
            self._device.pin.state = 0.0
            self._device.pin.frequency = None
            self._device.off()
        else:
            if self._hz is None:
                self._device.pin.frequency = _FIRST_HZ
            self._device.pin.frequency = hz
            self._device.pin.state = 0.5
        self._hz = hz

    def close(self) -> None:
        """Give the pin back."""
        if self._tone is not None:
            self._tone.close()
        elif not self._device.closed:
            with contextlib.suppress(Exception):  # a pin that fails is given back all the same
                self.sound(None)
            self._device.close()
