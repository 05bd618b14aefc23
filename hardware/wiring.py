"""Buttons, lamps and buzzer: which of them are wired to which pin, and the devices on these pins.

Pins have the GPIO (BCM) numbers of Raspberry Pi's documentation, not their positions on the header.
`PanelSettings` has the number of each part, with the defaults in `core/config.py`. The devices are
thin wrappers of gpiozero's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

from gpiozero import LED, InputDevice, PWMOutputDevice

from companion.core.config import PanelSettings
from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey
from hardware.cues import LAMPS

# Frequency in Hz that the pin of a silent buzzer keeps, without a pulse.
#
# lgpio's thread for tones wakes up once in each period. If the pin had no frequency, the thread
# would sleep for 20 ms, and a tick of the clock, which sounds for 20 ms, might not be heard. At 100
# Hz a tone begins within 10 ms. The price is 100 wake-ups a second.
REST_HZ = 100


class ButtonPin(NamedTuple):
    """A wired button, which pulls its pin to ground when it is pressed."""

    name: str
    """Name such as `south_up` or `table`."""
    seat: Seat | None
    """Seat of its pad. None for the table button."""
    key: PadKey
    gpio: int


class LampPin(NamedTuple):
    """A wired lamp."""

    name: str
    """Name such as `south_1` or `north_turn`."""
    seat: Seat
    lamp: str
    """One of `cues.LAMPS`."""
    gpio: int
    is_active_low: bool
    """Whether it is wired between 3V3 and the pin."""


def button_pins(settings: PanelSettings) -> tuple[ButtonPin, ...]:
    """Return all wired buttons."""
    buttons = []
    for seat in SEATS:
        pins = settings.south if seat is Seat.SOUTH else settings.north
        for key in PadKey:
            # the settings name a pad's pins like its keys, and `PadKey.TABLE` is on no pad
            gpio = getattr(pins, key, "")
            if isinstance(gpio, int):
                buttons.append(ButtonPin(f"{seat}_{key}", seat, key, gpio))
    if isinstance(settings.table_button, int):
        buttons.append(ButtonPin("table", None, PadKey.TABLE, settings.table_button))
    return tuple(buttons)


def lamp_pins(settings: PanelSettings) -> tuple[LampPin, ...]:
    """Return all wired lamps."""
    lamps = []
    for seat in SEATS:
        pins = settings.south if seat is Seat.SOUTH else settings.north
        for lamp in LAMPS:
            gpio = getattr(pins, f"lamp_{lamp}")
            if isinstance(gpio, int):
                is_active_low = f"lamp_{lamp}" in pins.lamps_active_low
                lamps.append(LampPin(f"{seat}_{lamp}", seat, lamp, gpio, is_active_low))
    return tuple(lamps)


def buzzer_pin(settings: PanelSettings) -> int | None:
    """Return the GPIO number of the buzzer. None if it is not wired."""
    return settings.buzzer if isinstance(settings.buzzer, int) else None


class Button:
    """An open button.

    :param on_edge: called at every change with (`is_down`, `stamp_s`), in the pin factory's thread.
        It must not block. The stamp is the time in seconds on the factory's own clock
    """

    def __init__(self, gpio: int, on_edge: Callable[[bool, float], None], factory: Any) -> None:
        # gpiozero's own `Button` is not used: it has a thread for each button, and if the edge of a
        # release is lost, it misses the next press.
        self._device = InputDevice(gpio, pull_up=True, pin_factory=factory)
        self._on_edge = on_edge
        try:
            self._device.pin.edges = "both"
            self._device.pin.when_changed = self._report_edge
        except BaseException:
            self._device.close()
            raise

    def _report_edge(self, stamp_s: float, level: object) -> None:
        # An exception here would end the thread that reports the edges of all buttons.
        with contextlib.suppress(Exception):
            # a pressed button pulls the level low
            self._on_edge(not level, stamp_s)

    def is_down(self) -> bool:
        """Return whether the button is pressed now."""
        return bool(self._device.is_active)

    def close(self) -> None:
        """Release the pin."""
        if not self._device.closed:
            self._device.pin.when_changed = None
        self._device.close()


class Lamp:
    """An open lamp, on or off."""

    def __init__(self, pin: LampPin, factory: Any) -> None:
        self._device = LED(pin.gpio, active_high=not pin.is_active_low, pin_factory=factory)
        self._is_lit = False

    def show(self, is_lit: bool) -> None:
        """Switch the lamp on or off."""
        if is_lit != self._is_lit:
            self._device.value = is_lit
            self._is_lit = is_lit

    def close(self) -> None:
        """Switch the lamp off and release the pin."""
        if not self._device.closed:
            with contextlib.suppress(Exception):  # a pin that fails is released all the same
                self._device.off()
        self._device.close()


class Buzzer:
    """An open buzzer. It plays a square wave, equally loud for every note."""

    def __init__(self, gpio: int, factory: Any) -> None:
        self._device = PWMOutputDevice(gpio, frequency=REST_HZ, pin_factory=factory)
        self._hz: float | None = None

    def sound(self, hz: float | None) -> None:
        """Play a frequency, or None for silence."""
        if hz == self._hz:
            return
        if hz is None:
            self._device.off()
            self._device.frequency = REST_HZ
        else:
            self._device.frequency = hz
            # The tone is loudest if the pin is on for half of each period.
            self._device.value = 0.5
        self._hz = hz

    def close(self) -> None:
        """Silence the buzzer and release the pin."""
        if not self._device.closed:
            with contextlib.suppress(Exception):  # a pin that fails is released all the same
                self.sound(None)
                self._device.frequency = None
                self._device.off()
        self._device.close()
