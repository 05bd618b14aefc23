"""The wiring drawn from the settings: the 40 pins of a Raspberry Pi and each wire to its key, lamp or buzzer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec
from markupsafe import Markup, escape

from companion.core.config import PanelSettings
from companion.core.i18n import say, translate
from companion.core.kit import SEAT_WORDS, SEATS
from companion.maintenance.settings.words import PAD_PARTS

GPIO_PINS: Mapping[int, int] = {
    2: 3, 3: 5, 4: 7, 17: 11, 27: 13, 22: 15, 10: 19, 9: 21, 11: 23, 0: 27, 5: 29, 6: 31, 13: 33, 19: 35, 26: 37,
    14: 8, 15: 10, 18: 12, 23: 16, 24: 18, 25: 22, 8: 24, 7: 26, 1: 28, 12: 32, 16: 36, 20: 38, 21: 40,
}  # fmt: skip
"""The pin of the header behind each GPIO number (Raspberry Pi's own pin-out)."""
POWER: Mapping[int, str] = {
    1: "3V3", 2: "5V", 4: "5V", 6: "GND", 9: "GND", 14: "GND", 17: "3V3", 20: "GND", 25: "GND", 30: "GND", 34: "GND",
    39: "GND",
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
        return (
            say("3V3, pin 1")
            if self.is_active_low
            else say("ground, pin {pin}", pin=GROUND_PINS[self.side])
        )


def wires(settings: PanelSettings) -> tuple[Wire, ...]:
    """Return everything that is wired, pad by pad."""
    wired = []
    for seat, pads in zip(SEATS, (settings.south, settings.north), strict=True):
        pins = msgspec.structs.asdict(pads)
        for part, words in PAD_PARTS.items():
            gpio = pins[part]
            if isinstance(gpio, int):
                title = say("{seat!c}: {part}", seat=SEAT_WORDS[seat], part=words)
                is_lamp = part.startswith("lamp_")
                low = part in pads.lamps_active_low
                wired.append(
                    Wire(
                        f"{seat}_{part.removeprefix('lamp_')}",
                        title,
                        "lamp" if is_lamp else "key",
                        gpio,
                        low,
                    )
                )
    if isinstance(settings.buzzer, int):
        wired.append(Wire("buzzer", say("Buzzer"), "buzzer", settings.buzzer))
    if isinstance(settings.table_button, int):
        wired.append(Wire("table", say("Table button"), "key", settings.table_button))
    if isinstance(settings.system_lamp, int):
        low = settings.system_lamp_active_low
        wired.append(Wire("system_lamp", say("System lamp"), "lamp", settings.system_lamp, low))
    return tuple(wired)


def drawing(settings: PanelSettings) -> Markup:
    """Draw the wiring in the language spoken now."""
    wired = wires(settings)
    body = Markup("").join(
        [*_parts(wired), *_rails(wired), *_header(wired), *(_wire(each) for each in wired)]
    )
    height = _TOP + 20 * _ROW
    return Markup(
        '<svg class="wiring" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(2 * _MIDDLE, height, translate(say("The wiring, as in the table below")), body)


def _x(side: str, away: float) -> float:
    return _MIDDLE - away if side == "left" else _MIDDLE + away


def _y(pin: int) -> float:
    return _TOP + (pin - 1) // 2 * _ROW


def _line(side: str, y: float, start: float, end: float) -> Markup:
    return Markup('<path d="M{:g} {:g}H{:g}"/>').format(_x(side, start), y, _x(side, end))


def _header(wired: tuple[Wire, ...]) -> Iterator[Markup]:
    """Draw the 40 pins with their numbers, and the names of those without a wire."""
    yield Markup('<rect class="header" x="{}" y="{}" width="{}" height="{}" rx="6"/>').format(
        _MIDDLE - _EDGE, _TOP - 19, 2 * _EDGE, 19 * _ROW + 38
    )
    names = {pin: f"GPIO {gpio}" for gpio, pin in GPIO_PINS.items()} | dict(POWER)
    used = {wire.pin for wire in wired}
    for pin in range(1, 41):
        side, (x, y) = (
            ("left" if pin % 2 else "right"),
            (_x("left" if pin % 2 else "right", _PIN), _y(pin)),
        )
        shape = (
            '<rect{} x="528" y="84" width="24" height="24"/>'
            if pin == 1
            else '<circle{} cx="{:g}" cy="{:g}" r="12"/>'
        )
        power = Markup(' class="power"') if pin in POWER else ""
        yield Markup(shape).format(power, x, y)
        yield Markup('<text class="pin{}" x="{:g}" y="{:g}">{}</text>').format(
            " power" if pin in POWER else "", x, y + 4.5, pin
        )
        lift = -5 if pin in used or pin in GROUND_PINS.values() or pin == 1 else 5
        where = Markup(' class="end"') if side == "left" else ""
        yield Markup('<text{} x="{:g}" y="{:g}">{}</text>').format(
            where, _x(side, _NAME), y + lift, names[pin]
        )


def _rails(wired: tuple[Wire, ...]) -> Iterator[Markup]:
    """Draw ground at each side, and 3V3 from pin 1 for lamps that are wired to it."""
    low = {side: [w for w in wired if w.side == side and w.is_active_low] for side in GROUND_PINS}
    for side, pin in GROUND_PINS.items():
        grounded = [_y(w.pin) for w in wired if w.side == side and not w.is_active_low]
        if grounded:
            ys = [*grounded, _y(pin)]
            yield Markup('<path class="rail" d="M{0:g} {1:g}V{2:g}"/>').format(
                _x(side, _GROUND), min(ys), max(ys)
            )
            yield _line(side, _y(pin), _EDGE, _GROUND)
            yield Markup('<circle class="joint" cx="{:g}" cy="{:g}" r="5"/>').format(
                _x(side, _GROUND), _y(pin)
            )
            yield Markup('<text class="net" x="{:g}" y="{:g}">GND</text>').format(
                _x(side, _GROUND), max(ys) + 22
            )
    if not any(low.values()):
        return
    yield _line("left", _y(1), _EDGE, _SUPPLY)
    over = _TOP - 46
    for side, lamps in low.items():
        if not lamps:
            continue
        end = max(_y(w.pin) for w in lamps)
        begin = _y(1) if side == "left" else over
        yield Markup('<path class="rail" d="M{:g} {:g}V{:g}"/>').format(
            _x(side, _SUPPLY), begin, end
        )
        yield Markup('<text class="net" x="{:g}" y="{:g}">3V3</text>').format(
            _x(side, _SUPPLY), end + 22
        )
        if side == "right":
            left = _x("left", _SUPPLY)
            yield Markup('<path class="rail" d="M{:g} {:g}V{:g}H{:g}"/>').format(
                left, _y(1), over, _x(side, _SUPPLY)
            )


def _wire(wire: Wire) -> Markup:
    """Draw a wire from its pin through the part to its rail, mirrored at the left."""
    y, side = _y(wire.pin), wire.side
    where, mirror = ("end", " scale(-1 1)") if side == "left" else ("start", "")
    part = "high" if wire.is_active_low else wire.kind
    return Markup(
        '<g class="wire" data-wire="{}"><use href="#w-{}" transform="translate({} {:g}){}"/>'
        '<text class="label {}" x="{:g}" y="{:g}">{}</text></g>'
    ).format(
        wire.name,
        part,
        _MIDDLE,
        y,
        mirror,
        where,
        _x(side, _LABEL),
        y + 6,
        escape(translate(wire.title)),
    )


def _parts(wired: tuple[Wire, ...]) -> Iterator[Markup]:
    """Draw each kind of wire once. A lamp lets the current pass towards ground."""
    ends = f"M{_EDGE} 0H{_BEGIN}M{_END} 0H"
    joint = '<circle class="joint" cx="{}" r="5"/>'
    resistor = '<rect class="part" x="134" y="-6" width="40" height="12"/>'
    drawn = {
        "key": f'<path d="{ends}{_GROUND}M{_BEGIN} 0H164M222 0H{_END}M170 0L214 -14"/>'
        f'<circle class="contact" cx="168" r="4"/><circle class="contact" cx="218" r="4"/>{joint.format(_GROUND)}',
        "lamp": f'<path d="{ends}{_GROUND}M{_BEGIN} 0H{_END}M236 -11V11"/>{resistor}'
        f'<path class="part bulb" d="M212 -11V11L236 0Z"/>{joint.format(_GROUND)}',
        "high": f'<path d="{ends}{_SUPPLY}M{_BEGIN} 0H{_END}M212 -11V11"/>{resistor}'
        f'<path class="part bulb" d="M236 -11V11L212 0Z"/>{joint.format(_SUPPLY)}',
        "buzzer": f'<path d="{ends}{_GROUND}M{_BEGIN} 0H{_END}"/><circle class="part" cx="193" r="13"/>'
        f'<circle class="joint" cx="193" r="4"/>{joint.format(_GROUND)}',
    }
    kinds = {"high" if wire.is_active_low else wire.kind for wire in wired}
    yield Markup("<defs>")
    for kind in sorted(kinds):
        yield Markup(
            f'<g id="w-{kind}" class="wp">{drawn[kind]}</g>'
        )  # numbers and words of this file alone
    yield Markup("</defs>")
