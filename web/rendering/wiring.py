"""The wiring drawn from the settings: the 40 pins of a Raspberry Pi and each wire to its key, lamp
or buzzer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

from companion.core.config import PanelSettings
from companion.core.i18n import say, translate
from companion.core.kit import SEAT_WORDS, SEATS
from companion.maintenance.settings.words import PAD_PARTS
from web.rendering.svg import area, circle, labelled_svg, text

GPIO_PINS: Mapping[int, int] = {
    2: 3, 3: 5, 4: 7, 17: 11, 27: 13, 22: 15, 10: 19, 9: 21, 11: 23, 0: 27, 5: 29, 6: 31,
    13: 33, 19: 35, 26: 37,
    14: 8, 15: 10, 18: 12, 23: 16, 24: 18, 25: 22, 8: 24, 7: 26, 1: 28, 12: 32, 16: 36,
    20: 38, 21: 40,
}  # fmt: skip
"""The pin of the header behind each GPIO number (Raspberry Pi's own pin-out)."""
POWER: Mapping[int, str] = {
    1: "3V3", 2: "5V", 4: "5V", 6: "GND", 9: "GND", 14: "GND", 17: "3V3", 20: "GND", 25: "GND",
    30: "GND", 34: "GND", 39: "GND",
}  # fmt: skip
RESISTOR_OHM = 330
"""Resistor in series with a lamp: some 4 mA through a red one, less than a pin may give."""
GROUND_PINS = {"left": 9, "right": 6}
_ROW, _TOP, _MIDDLE = 34, 96, 562
_PIN, _EDGE, _NAME, _BEGIN, _END, _GROUND, _SUPPLY, _LABEL = 22, 46, 54, 124, 262, 292, 314, 330
"""Distances from the middle in px: pins, header's edge, GPIO's name, part, both rails, label."""


@dataclass(frozen=True)
class Wire:
    """One part and its wire. `kind` is key, lamp or buzzer."""

    name: str
    title: str
    kind: str
    gpio: int
    is_active_low: bool = False

    @property
    def pin(self) -> int:
        """Return the pin of the header."""
        return GPIO_PINS[self.gpio]

    @property
    def side(self) -> str:
        """Return the side of the header, where odd pins are left."""
        return "left" if self.pin % 2 else "right"

    @property
    def between(self) -> str:
        """Return what is in the wire, in words."""
        if self.kind == "lamp":
            return say("{ohm} ohms, then the lamp", ohm=RESISTOR_OHM)
        return say("Key") if self.kind == "key" else say("Passive piezo buzzer")

    @property
    def end(self) -> str:
        """Return where its other end goes, in words."""
        if self.is_active_low:
            return say("3V3, pin 1")
        return say("ground, pin {pin}", pin=GROUND_PINS[self.side])


def wires(settings: PanelSettings) -> tuple[Wire, ...]:
    """Return everything that is wired, pad by pad."""
    parts: list[tuple[str, str, str, object, bool]] = []
    for seat, pins in zip(SEATS, (settings.south, settings.north), strict=True):
        for part, words in PAD_PARTS.items():
            name = f"{seat}_{part.removeprefix('lamp_')}"
            title = say("{seat!c}: {part}", seat=SEAT_WORDS[seat], part=words)
            kind = "lamp" if part.startswith("lamp_") else "key"
            parts.append((name, title, kind, getattr(pins, part), part in pins.lamps_active_low))
    lamp_is_low = settings.system_lamp_active_low
    parts += [
        ("buzzer", say("Buzzer"), "buzzer", settings.buzzer, False),
        ("table", say("Table button"), "key", settings.table_button, False),
        ("system_lamp", say("System lamp"), "lamp", settings.system_lamp, lamp_is_low),
    ]
    return tuple(
        Wire(name, title, kind, gpio, is_low)
        for name, title, kind, gpio, is_low in parts
        if isinstance(gpio, int)
    )


def drawing(settings: PanelSettings) -> Markup:
    """Draw the wiring in the language spoken now."""
    wired = wires(settings)
    body = "".join([*_parts(wired), *_rails(wired), *_header(wired), *map(_wire, wired)])
    box = f"0 0 {2 * _MIDDLE} {_TOP + 20 * _ROW}"
    return labelled_svg("wiring", box, say("The wiring, as in the table below"), body)


def _x(side: str, distance: int) -> int:
    return _MIDDLE - distance if side == "left" else _MIDDLE + distance


def _y(pin: int) -> int:
    return _TOP + (pin - 1) // 2 * _ROW


def _header(wired: tuple[Wire, ...]) -> Iterator[str]:
    """Draw the 40 pins with their numbers and names."""
    place = area(complex(_MIDDLE - _EDGE, _TOP - 19), complex(2 * _EDGE, 19 * _ROW + 38))
    yield f'<rect class="header" {place} rx="6"/>'
    names = {pin: f"GPIO {gpio}" for gpio, pin in GPIO_PINS.items()} | dict(POWER)
    pins_with_line = {1, *GROUND_PINS.values(), *(wire.pin for wire in wired)}
    for pin in range(1, 41):
        side = "left" if pin % 2 else "right"
        centre = complex(_x(side, _PIN), _y(pin))
        power = "power" if pin in POWER else ""
        if pin == 1:  # square, as on the printed circuit
            yield f'<rect class="{power}" {area(centre - (12 + 12j), 24 + 24j)}/>'
        else:
            yield circle(power, centre, 12)
        yield text(pin, centre + 4.5j, f' class="pin {power}"')
        # a name beside a line stands above it
        lift = -5 if pin in pins_with_line else 5
        name_at = complex(_x(side, _NAME), _y(pin) + lift)
        yield text(names[pin], name_at, ' class="end"' if side == "left" else "")


def _rails(wired: tuple[Wire, ...]) -> Iterator[str]:
    """Draw ground at each side, and 3V3 from pin 1 for lamps that are wired to it."""
    for side, ground_pin in GROUND_PINS.items():
        own = [wire for wire in wired if wire.side == side]
        grounded = [_y(wire.pin) for wire in own if not wire.is_active_low]
        supplied = [_y(wire.pin) for wire in own if wire.is_active_low]
        if grounded:
            x, y = _x(side, _GROUND), _y(ground_pin)
            # the rail reaches from its own pin to the outermost part
            top, end = min(y, *grounded), max(y, *grounded)
            yield _rail_from_pin(ground_pin, side, x, f"M{x} {top}V{end}")
            yield circle("joint", complex(x, y), 5)
            yield _rail_name("GND", x, end)
        if supplied:
            x, end = _x(side, _SUPPLY), max(supplied)
            left, over = _x("left", _SUPPLY), _TOP - 46
            # at the right it comes over the top of the header
            path = f"V{end}" if side == "left" else f"V{over}H{x}V{end}"
            yield _rail_from_pin(1, "left", left, f"M{left} {_y(1)}{path}")
            yield _rail_name("3V3", x, end)


def _rail_name(name: str, x: int, end: int) -> str:
    return text(name, complex(x, end + 22), ' class="net"')


def _rail_from_pin(pin: int, side: str, x: int, path: str) -> str:
    """Draw a rail and the line to it from its pin."""
    line = f'<path d="M{_x(side, _EDGE)} {_y(pin)}H{x}"/>'
    return f'<path class="rail" d="{path}"/>{line}'


def _wire(wire: Wire) -> str:
    """Draw a wire from its pin through the part to its rail, mirrored at the left."""
    y, side = _y(wire.pin), wire.side
    # parts are drawn once, for the right
    anchor, mirror = ("end", " scale(-1 1)") if side == "left" else ("start", "")
    kind = "high" if wire.is_active_low else wire.kind
    label_at = complex(_x(side, _LABEL), y + 6)
    label = text(escape(translate(wire.title)), label_at, f' class="label {anchor}"')
    moved = f"translate({_MIDDLE} {y}){mirror}"
    drawing = f'<use href="#w-{kind}" transform="{moved}"/>'
    return f'<g class="wire" data-wire="{wire.name}">{drawing}{label}</g>'


def _parts(wired: tuple[Wire, ...]) -> Iterator[str]:
    """Draw each kind of wire once. A lamp lets the current pass towards ground."""
    ends = f"M{_EDGE} 0H{_BEGIN}M{_END} 0H"
    resistor = '<rect class="part" x="134" y="-6" width="40" height="12"/>'
    grounded, supplied = circle("joint", _GROUND, 5), circle("joint", _SUPPLY, 5)
    drawings = {
        "key": f'<path d="{ends}{_GROUND}M{_BEGIN} 0H164M222 0H{_END}M170 0L214 -14"/>'
        '<circle class="contact" cx="168" r="4"/><circle class="contact" cx="218" '
        f'r="4"/>{grounded}',
        "lamp": f'<path d="{ends}{_GROUND}M{_BEGIN} 0H{_END}M236 -11V11"/>{resistor}'
        f'<path class="part bulb" d="M212 -11V11L236 0Z"/>{grounded}',
        "high": f'<path d="{ends}{_SUPPLY}M{_BEGIN} 0H{_END}M212 -11V11"/>{resistor}'
        f'<path class="part bulb" d="M236 -11V11L212 0Z"/>{supplied}',
        "buzzer": f'<path d="{ends}{_GROUND}M{_BEGIN} 0H{_END}"/><circle class="part" cx="193" '
        'r="13"/>'
        f'<circle class="joint" cx="193" r="4"/>{grounded}',
    }
    for kind in sorted({"high" if wire.is_active_low else wire.kind for wire in wired}):
        yield f'<defs><g id="w-{kind}" class="wp">{drawings[kind]}</g></defs>'
