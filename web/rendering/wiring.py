"""The wiring in the settings: the pins of the Raspberry Pi for keys, lamps and buzzer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from companion.core.config import PanelSettings, WiredPin
from companion.core.i18n import say
from companion.core.kit import SEAT_WORDS, SEATS
from companion.maintenance.settings.words import PAD_PARTS

# Number of the header pin by GPIO number (Raspberry Pi pin-out).
HEADER_PIN_BY_GPIO: Mapping[WiredPin, int] = {
    2: 3, 3: 5, 4: 7, 17: 11, 27: 13, 22: 15, 10: 19, 9: 21, 11: 23, 0: 27, 5: 29, 6: 31,
    13: 33, 19: 35, 26: 37,
    14: 8, 15: 10, 18: 12, 23: 16, 24: 18, 25: 22, 8: 24, 7: 26, 1: 28, 12: 32, 16: 36,
    20: 38, 21: 40,
}  # fmt: skip
# Resistor in series with a lamp. It limits the current of a red lamp to some 4 mA, which a pin can
# supply.
RESISTOR_OHM = 330
# Header pin with ground, on the side with the odd numbers.
ODD_GROUND_PIN = 9
# Header pin with ground, on the side with the even numbers.
EVEN_GROUND_PIN = 6


@dataclass(frozen=True)
class PartWiring:
    """How one part of the panel is wired to the Raspberry Pi: a key, a lamp or the buzzer."""

    name: str
    """Name of the part, such as `south_up`, by which the check of the panel marks it."""
    title: str
    """Name of the part for people."""
    kind: str
    """`key`, `lamp` or `buzzer`."""
    gpio: WiredPin
    """GPIO number (BCM) of the pin, or an empty string if the part is not wired."""
    is_active_low: bool = False
    """Whether the lamp is lit while its pin is low, so that its other end is at 3.3 V."""

    @property
    def pin(self) -> int:
        """Number of the header pin, as printed in pin-outs."""
        return HEADER_PIN_BY_GPIO[self.gpio]

    @property
    def component(self) -> str:
        """What to connect between the pin and the other end, in words."""
        if self.kind == "lamp":
            return say("{ohm} ohms, then the lamp", ohm=RESISTOR_OHM)
        return say("Key") if self.kind == "key" else say("Passive piezo buzzer")

    @property
    def other_end(self) -> str:
        """Where the other end of the part goes, in words: to a ground pin, or to 3.3 V."""
        if self.is_active_low:
            return say("3V3, pin 1")
        pin = ODD_GROUND_PIN if self.pin % 2 else EVEN_GROUND_PIN
        return say("ground, pin {pin}", pin=pin)


def panel_wiring(settings: PanelSettings) -> tuple[PartWiring, ...]:
    """Return the wiring of every part that has a pin: pad by pad, then the parts of the table."""
    wiring: list[PartWiring] = []
    for seat, pins in zip(SEATS, (settings.south, settings.north), strict=True):
        for part, part_name in PAD_PARTS.items():
            name = f"{seat}_{part.removeprefix('lamp_')}"
            title = say("{seat!c}: {part}", seat=SEAT_WORDS[seat], part=part_name)
            kind = "lamp" if part.startswith("lamp_") else "key"
            is_active_low = part in pins.lamps_active_low
            wiring.append(PartWiring(name, title, kind, getattr(pins, part), is_active_low))
    is_active_low = settings.system_lamp_active_low
    wiring += [
        PartWiring("buzzer", say("Buzzer"), "buzzer", settings.buzzer),
        PartWiring("table", say("Table button"), "key", settings.table_button),
        PartWiring("system_lamp", say("System lamp"), "lamp", settings.system_lamp, is_active_low),
    ]
    return tuple(part for part in wiring if part.gpio != "")
