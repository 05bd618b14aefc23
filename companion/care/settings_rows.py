"""Every setting as a person meets it: a title, one sentence, its unit, range, choices and default.

Names, ranges and defaults come from the types of `companion.config`; only the words stand here, and a test fails on a
setting without words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Any

from msgspec import inspect

from companion.care.settings_file import flat
from companion.config import Settings
from companion.errors import Malformed
from companion.kit import SEAT_WORDS, SEATS
from companion.languages import LANGUAGES, say

MAX_TEXT = 200
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


class Kind(StrEnum):
    """How a value is typed in."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    YES_NO = "yes_no"
    CHOICE = "choice"
    PIN = "pin"
    TIME = "time"


@dataclass(frozen=True)
class SettingRow:
    """One setting. `low` and `high` bound a number; `is_above`: `low` itself is too little.

    `choices` are values with their words. `at_once`: a change works without a restart. `may_be_empty`: nothing is a
    value too, such as a pin that is not wired.
    """

    key: str
    title: str
    sentence: str
    kind: Kind
    default: Any
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    is_above: bool = False
    choices: tuple[tuple[Any, str], ...] = ()
    at_once: bool = False
    may_be_empty: bool = False

    def typed(self, value: Any) -> str:
        """A value as it stands in its field."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:g}" if isinstance(value, float) else str(value)

    def read(self, text: str) -> Any:
        """The value that was typed; raises `Malformed` with what would be right."""
        text = text.strip()
        if not text and self.may_be_empty:
            return None if self.default is None else ""
        match self.kind:
            case Kind.CHOICE | Kind.YES_NO:
                return self._chosen(text)
            case Kind.WHOLE | Kind.NUMBER | Kind.PIN:
                return self._number(text)
            case Kind.TIME:
                if not _TIME.fullmatch(text):
                    raise Malformed(say("Give a time of day such as 22:00, or nothing."))
                return text
            case _:
                if not text or len(text) > MAX_TEXT or not text.isprintable():
                    raise Malformed(say("Give a text of at most {number} characters.", number=MAX_TEXT))
                return text

    @property
    def range_words(self) -> str:
        """The least and the most, as a sentence; empty: no number."""
        if self.kind not in (Kind.WHOLE, Kind.NUMBER, Kind.PIN) or math.isinf(self.high):
            return ""
        if self.is_above:
            return say("Above {low}, at most {high}.", low=f"{self.low:g}", high=f"{self.high:g}")
        return say("{low} to {high}.", low=f"{self.low:g}", high=f"{self.high:g}")

    def _chosen(self, text: str) -> Any:
        for value, _ in self.choices:
            if self.typed(value) == text:
                return value
        raise Malformed(say("Choose one of the values that are offered."))

    def _number(self, text: str) -> float | int:
        try:
            number = float(text.replace(",", "."))
        except ValueError:
            number = math.nan
        fits = (self.low < number if self.is_above else self.low <= number) and number <= self.high
        if not fits or (self.kind is not Kind.NUMBER and number != int(number)):
            raise Malformed(self._wanted())
        return number if self.kind is Kind.NUMBER else int(number)

    def _wanted(self) -> str:
        low, high = f"{self.low:g}", f"{self.high:g}"
        if self.is_above:
            return say("Give a number above {low} and at most {high}.", low=low, high=high)
        if self.kind is Kind.NUMBER:
            return say("Give a number from {low} to {high}.", low=low, high=high)
        return say("Give a whole number from {low} to {high}.", low=low, high=high)


@dataclass(frozen=True)
class SettingsSection:
    """Settings that belong together, as the page shows them."""

    name: str
    title: str
    rows: tuple[SettingRow, ...]


@dataclass(frozen=True)
class _Words:
    """What is said of a setting; `choices` by value, in the order in which they are shown."""

    title: str
    sentence: str
    unit: str = ""
    choices: Mapping[Any, str] = field(default_factory=dict)
    at_once: bool = False


SECTIONS: Mapping[str, str] = {
    "table": say("Table"),
    "voice": say("Voice"),
    "quiet": say("Quiet hours"),
    "panel": say("Pads, lamps and buzzer"),
    "camera": say("Camera"),
    "wifi": say("Wi-Fi for phones"),
    "web": say("Network"),
    "": say("Files"),
}
"""The headings, in the page's order; the settings beside all tables have no name."""

WORDS: Mapping[str, _Words] = {
    "state_dir": _Words(say("Folder"), say("Where games, photographs and what is known of lenses are kept.")),
    "table.reading_time_s": _Words(
        say("Reading time"),
        say("So long a step without anything to move stays on the screen."),
        say("seconds"),
        at_once=True,
    ),
    "table.tip_south": _Words(
        say("South sits"),
        say("To which edge of the table screen the sign points for South."),
        choices={"left": say("Left"), "right": say("Right")},
        at_once=True,
    ),
    "table.theme": _Words(
        say("Colours of the table screen"),
        say("Light, dark, or as its system wishes."),
        choices={"system": say("System"), "light": say("Light"), "dark": say("Dark")},
        at_once=True,
    ),
    "table.language": _Words(
        say("Language of the table"),
        say("Of the table screen, the voice and the console; phones choose their own."),
        choices={"auto": say("Browser"), **LANGUAGES},
        at_once=True,
    ),
    "voice.by": _Words(
        say("Who speaks"),
        say("The table screen’s browser, espeak-ng on this machine, either of them, or nobody."),
        choices={
            "auto": say("Either"),
            "screen": say("Screen"),
            "machine": say("Machine"),
            "off": say("Nobody"),
        },
        at_once=True,
    ),
    "voice.says": _Words(
        say("What is said"),
        say("Whose turn it is, warnings and results, or all that happens."),
        choices={"turns": say("Turns"), "everything": say("Everything")},
        at_once=True,
    ),
    "voice.volume": _Words(say("Loudness"), say("1 is as loud as the machine can."), at_once=True),
    "voice.speed": _Words(say("Speed"), say("1 is how a calm person talks."), at_once=True),
    "quiet.from": _Words(
        say("From"),
        say("From then on no tone and no voice is heard, and lamps are dim; empty: no quiet hours."),
        at_once=True,
    ),
    "quiet.to": _Words(say("Until"), say("From then on everything is as on other hours."), at_once=True),
    "panel.enabled": _Words(
        say("Pads"),
        say("Use the pins if there are any, insist on them, or leave them alone."),
        choices={"auto": say("If there are"), "yes": say("Always"), "no": say("Never")},
    ),
    "panel.brightness": _Words(say("Brightness of the lamps"), say("1 is as bright as they can."), at_once=True),
    "panel.silent": _Words(
        say("Silent"),
        say("Every tone’s rhythm shows on the turn lamps instead."),
        at_once=True,
    ),
    "panel.debounce_ms": _Words(
        say("Bounce of a key"),
        say("So long the contact of a key may chatter before it counts."),
        say("milliseconds"),
    ),
    "panel.buzzer": _Words(say("Pin of the buzzer"), say("Its GPIO number; empty: none is wired.")),
    "panel.table_button": _Words(say("Pin of the table button"), say("Its GPIO number; empty: none is wired.")),
    "camera.source": _Words(
        say("Camera"),
        say("auto, none, picamera, usb:0, a word of its name such as usb:C920, or the path of a picture or a film."),
    ),
    "camera.size": _Words(
        say("Size of the picture"),
        say("More reads smaller markers, less spares the machine."),
        choices={"1280x720": "1280 x 720", "1920x1080": "1920 x 1080"},
    ),
    "camera.model": _Words(
        say("Model"),
        say("Gives the angle of the lens to begin with; the board teaches the rest."),
        choices={
            "auto": say("Guess"),
            "camera-module-1": "Camera Module 1",
            "camera-module-2": "Camera Module 2",
            "camera-module-3": "Camera Module 3",
            "camera-module-3-wide": "Camera Module 3 Wide",
            "hq-6mm": "HQ Camera, 6 mm",
            "webcam": say("Webcam"),
        },
    ),
    "camera.field_of_view_deg": _Words(
        say("Angle of the lens"),
        say("How wide another lens sees, from its data sheet; empty: as the model says."),
        say("degrees"),
    ),
    "camera.fps": _Words(
        say("Pictures read"), say("More notices a hand sooner, less spares the machine."), say("a second")
    ),
    "camera.mains_hz": _Words(
        say("Mains"),
        say("The frequency of the lamps’ current: 60 in most of America, 50 in most other countries."),
        say("hertz"),
        {50: "50", 60: "60"},
    ),
    "camera.photographs_mb": _Words(
        say("Photographs"), say("How much disk those of all games may take; 0: none is taken."), say("megabytes")
    ),
    "wifi.name": _Words(
        say("Name of the network"),
        say("Phones join it by a code on the table screen; empty: the machine’s own hotspot, if it runs one."),
        at_once=True,
    ),
    "wifi.password": _Words(
        say("Password of the network"), say("At least eight characters; empty: an open network."), at_once=True
    ),
    "wifi.hidden": _Words(say("Hidden network"), say("It does not tell its name by itself."), at_once=True),
    "web.host": _Words(say("Address"), say("On which the pages are served; 0.0.0.0: on all of this machine.")),
    "web.port": _Words(say("Port"), say("What follows the colon in the pages’ address; 0: any free one.")),
    "web.viewers": _Words(say("Viewers"), say("So many pages may follow the table at once.")),
}

PAD_PARTS: Mapping[str, str] = {
    "up": say("up"),
    "down": say("down"),
    "left": say("left"),
    "right": say("right"),
    "a": say("A"),
    "b": say("B"),
    "back": say("back"),
    "ready": say("ready"),
    "lamp_1": say("lamp 1"),
    "lamp_2": say("lamp 2"),
    "lamp_3": say("lamp 3"),
    "lamp_turn": say("turn lamp"),
}
"""The keys and lamps of a pad, by their names in the settings."""


@cache
def sections() -> tuple[SettingsSection, ...]:
    """All settings but the pads' pins, by heading."""
    rows = [_row(key, kind) for key, kind in _types(inspect.type_info(Settings), "") if key in WORDS]
    return tuple(
        SettingsSection(name, title, tuple(row for row in rows if row.key.rpartition(".")[0] == name))
        for name, title in SECTIONS.items()
    )


@cache
def pad_rows() -> Mapping[str, tuple[SettingRow, ...]]:
    """The pins of each pad, by seat."""
    types = dict(_types(inspect.type_info(Settings), ""))
    return {
        str(seat): tuple(
            _row(
                key := f"panel.{seat}.{part}",
                types[key],
                _Words(say("{seat!c}: {part}", seat=SEAT_WORDS[seat], part=name), ""),
            )
            for part, name in PAD_PARTS.items()
        )
        for seat in SEATS
    }


def all_keys() -> tuple[str, ...]:
    """The dotted names of all settings."""
    return tuple(key for key, _ in _types(inspect.type_info(Settings), ""))


def works_at_once(key: str) -> bool:
    """Does a change of this setting work without a restart?"""
    return key in WORDS and WORDS[key].at_once


# ---- inside ----------------------------------------------------------------------------------------------------------


def _types(of: inspect.Type, before: str) -> list[tuple[str, inspect.Type]]:
    """Every value of a tree of structs, by its dotted name in TOML."""
    if not isinstance(of, inspect.StructType):
        return [(before, of)]
    return [
        leaf
        for each in of.fields
        for leaf in _types(each.type, f"{before}.{each.encode_name}" if before else each.encode_name)
    ]


def _row(key: str, of: inspect.Type, words: _Words | None = None) -> SettingRow:
    words = words or WORDS[key]
    empty = False
    if isinstance(of, inspect.UnionType):
        empty = True
        of = next(each for each in of.types if isinstance(each, inspect.IntType | inspect.FloatType))
    default = flat(Settings()).get(key)
    row = SettingRow(
        key, words.title, words.sentence, Kind.TEXT, default, words.unit, at_once=words.at_once, may_be_empty=empty
    )
    match of:
        case inspect.BoolType():
            yes_no = ((False, say("No")), (True, say("Yes")))
            return replace(row, kind=Kind.YES_NO, choices=yes_no)
        case inspect.LiteralType():
            return replace(row, kind=Kind.CHOICE, choices=tuple(words.choices.items()))
        case inspect.IntType() | inspect.FloatType():
            low, high, is_above = _bounds(of)
            whole = Kind.PIN if empty else Kind.WHOLE
            kind = whole if isinstance(of, inspect.IntType) else Kind.NUMBER
            return replace(row, kind=kind, low=low, high=high, is_above=is_above)
        case inspect.StrType(pattern=pattern) if pattern and ":" in pattern:
            return replace(row, kind=Kind.TIME, may_be_empty=True)
        case _:
            return replace(row, kind=Kind.TEXT, may_be_empty=default == "")


def _bounds(of: inspect.IntType | inspect.FloatType) -> tuple[float, float, bool]:
    low = of.ge if of.ge is not None else of.gt
    high = of.le if of.le is not None else of.lt
    least = -math.inf if low is None else float(low)
    return least, math.inf if high is None else float(high), of.ge is None and of.gt is not None
