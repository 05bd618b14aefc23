"""The panel without hardware: the same `Panel` on gpiozero's mock pins, and simulated hands.

The hands press its buttons and see its lamps. Self-play, tests and the workbench page use them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from gpiozero.pins.mock import MockFactory, MockPWMPin

from companion.core.clock import Clock
from companion.core.config import PanelSettings
from companion.core.ports import PanelView, Press
from hardware.panel import Panel
from hardware.wiring import button_pins, buzzer_pin, lamp_pins

# Revision code of the simulated board, a Raspberry Pi 4 B, whatever the environment says.
_BOARD = "c03114"
# Minimum duration of a simulated press in seconds. A pulse shorter than `debounce.MIN_PRESS_S`
# counts as a spike.
_MIN_HOLD_S = 0.005

# Maximum number of past states that a mock pin remembers.
_MAX_STATES = 100


class SimulatedPanelHands:
    """Presses the simulated buttons, and observes lamps and buzzer. Any thread may call.

    Implements `companion.core.ports.PanelHands`.
    """

    def __init__(self, settings: PanelSettings, panel: Panel, factory: MockFactory) -> None:
        self._lock = threading.Lock()
        # Monotonic time of the last press of each button.
        self._pressed_at_s: dict[str, float] = {}
        self._button_pins = {
            button.name: factory.pin(button.gpio)
            for button in button_pins(settings)
            if button.name in panel.buttons
        }
        self.lamps = {
            lamp.name: (factory.pin(lamp.gpio), lamp.is_active_low)
            for lamp in lamp_pins(settings)
            if lamp.name in panel.lamps
        }
        """Pin of each lamp, and whether it is active low."""
        self.buzzer = factory.pin(buzzer_pin(settings)) if panel.has_buzzer else None

    def press(self, button: str) -> None:
        """Press and hold a button, which pulls its pin to ground.

        Raises `KeyError` for an unknown button.
        """
        pin = self._button_pins[button]
        with self._lock:
            self._pressed_at_s[button] = time.monotonic()
            pin.drive_low()

    def release(self, button: str) -> None:
        """Release a button. Wait until it was pressed for at least `_MIN_HOLD_S`.

        Raises `KeyError` for an unknown button.
        """
        pin = self._button_pins[button]
        held_s = time.monotonic() - self._pressed_at_s.get(button, 0.0)
        time.sleep(max(0.0, _MIN_HOLD_S - held_s))
        with self._lock:
            pin.drive_high()

    def buttons(self) -> tuple[str, ...]:
        """Return the names of all buttons that the panel could open."""
        return tuple(self._button_pins)

    def view(self) -> PanelView:
        """Return lamps and tone at this moment. A closed panel is dark and silent."""
        lamps = {}
        for name, (pin, is_active_low) in self.lamps.items():
            is_driven = pin.function == "output"
            lamps[name] = is_driven and bool(pin.state) is not is_active_low
        hz = self.buzzer.frequency if self.buzzer is not None and self.buzzer.state else None
        return PanelView(lamps, hz)


def simulated_panel(
    settings: PanelSettings, clock: Clock, on_press: Callable[[Press], None]
) -> tuple[Panel, SimulatedPanelHands]:
    """Return the panel on its own mock pins, and its hands.

    The caller closes the panel.
    """
    factory = MockFactory(revision=_BOARD, pin_class=MockPWMPin)
    panel = Panel(settings, clock, on_press, factory)
    for pin in factory.pins.values():
        # A mock pin remembers all its states. A lamp that blinks all evening would fill the memory.
        pin.states = deque(pin.states, maxlen=_MAX_STATES)
    return panel, SimulatedPanelHands(settings, panel, factory)
