"""Every setting as a person meets it: a title, one sentence, its unit, range, choices and default.

Names, ranges and defaults come from the types of `companion.core.config`, the words from
`companion.maintenance.settings.words`. A test fails on a setting without words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any

from msgspec import inspect

from companion.core.config import Settings
from companion.core.errors import Malformed
from companion.core.i18n import decimal_mark, say
from companion.core.kit import SEAT_WORDS, SEATS
from companion.maintenance.settings.file import flat
from companion.maintenance.settings.words import PAD_PARTS, SECTIONS, WORDS, Words

MAX_TEXT = 200
_LEVELS = say("Use letters, digits, _ and -, with slashes between.")
_SPELLED = {
    "wifi.password": say(
        "Enter 8 to 63 letters, digits and signs without accents, or leave it empty."
    ),
    "mqtt.topic": _LEVELS,
    "mqtt.discovery": _LEVELS,
}
"""How texts are written that have a `spelling`."""
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


HUB_MAY_SET = frozenset(
    {
        "table.language",
        "table.reading_time_s",
        "table.theme",
        "quiet.from",
        "quiet.to",
        "voice.by",
        "voice.says",
        "voice.speed",
        "voice.volume",
    }
)
"""The settings that a hub may send: how a table looks and sounds.

Nothing else, because a hub could have names, passwords or games sent or deleted by it.
"""
LAMPS_ACTIVE_LOW = frozenset(f"panel.{seat}.lamps_active_low" for seat in SEATS)
"""Ticks beside the pins of each pad: rows of their own they have none."""


class FieldKind(StrEnum):
    """How a value is typed in."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    YES_NO = "yes_no"
    CHOICE = "choice"
    PIN = "pin"
    TIME = "time"
    LIST = "list"


def _figure(number: float) -> float | int:
    """Return a bound as a sentence names it: `60`, and `0.5` with the comma of its language."""
    return int(number) if number == int(number) else number


@dataclass(frozen=True)
class SettingRow:
    """One setting. `low` and `high` bound a number, and with `is_above` `low` itself is too little.

    `longest` is how many characters a text has at most, `spelling` the expression that it matches,
    where it has one. `choices` are values with their words. `at_once`: a change works without a
    restart. `may_be_empty`: nothing is a value too, such as a pin that is not wired. `page`: see
    `Words`.
    """

    key: str
    title: str
    sentence: str
    kind: FieldKind
    default: Any
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    is_above: bool = False
    longest: int = MAX_TEXT
    spelling: str = ""
    choices: tuple[tuple[Any, str], ...] = ()
    at_once: bool = False
    may_be_empty: bool = False
    page: bool | str = False

    def takes(self, value: Any) -> bool:
        """Return whether the settings page may write this value."""
        if isinstance(self.page, str):
            return isinstance(value, str) and re.fullmatch(self.page, value) is not None
        return self.page

    def typed(self, value: Any) -> str:
        """Return a value as it stands in its field, with the comma of the language spoken now."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list | tuple):
            return " ".join(value)
        if isinstance(value, float):
            return f"{value:g}".replace(".", decimal_mark())
        return str(value)

    def read(self, text: str) -> Any:
        """Return the value that was typed. Raises `Malformed` with what would be right."""
        text = text.strip()
        if not text and self.may_be_empty:
            return [] if self.kind is FieldKind.LIST else None if self.default is None else ""
        match self.kind:
            case FieldKind.CHOICE | FieldKind.YES_NO:
                return self._chosen(text)
            case FieldKind.WHOLE | FieldKind.NUMBER | FieldKind.PIN:
                return self._number(text)
            case FieldKind.TIME:
                if not _TIME.fullmatch(text):
                    raise Malformed(say("Enter a time such as 22:00, or leave it empty."))
                return text
            case FieldKind.LIST:
                return text.replace(",", " ").split()
            case _:
                if not text:
                    raise Malformed(say("This may not be empty."))
                if len(text) > self.longest or not text.isprintable():
                    raise Malformed(say("Enter at most {number} characters.", number=self.longest))
                if self.spelling and not re.fullmatch(self.spelling, text):
                    raise Malformed(_SPELLED[self.key])
                return text

    @property
    def range_words(self) -> str:
        """Return the least and the most as a sentence. Empty: it is no number."""
        if self.kind not in (FieldKind.WHOLE, FieldKind.NUMBER, FieldKind.PIN) or math.isinf(
            self.high
        ):
            return ""
        if self.is_above:
            return say(
                "Above {low}, at most {high}.", low=_figure(self.low), high=_figure(self.high)
            )
        return say("{low} to {high}.", low=_figure(self.low), high=_figure(self.high))

    @property
    def default_words(self) -> str:
        """Return the default as a sentence."""
        return say("Default: {value}.", value=self.typed(self.default))

    def _chosen(self, text: str) -> Any:
        for value, _ in self.choices:
            if self.typed(value) == text:
                return value
        raise Malformed(say("Choose one of the values offered."))

    def _number(self, text: str) -> float | int:
        try:
            number = float(text.replace(",", "."))
        except ValueError:
            # no number fits no range, so it is refused below
            number = math.nan
        fits = (self.low < number if self.is_above else self.low <= number) and number <= self.high
        if not fits or (self.kind is not FieldKind.NUMBER and number != int(number)):
            raise Malformed(self._wanted())
        return number if self.kind is FieldKind.NUMBER else int(number)

    def _wanted(self) -> str:
        low, high = _figure(self.low), _figure(self.high)
        if self.is_above:
            return say("Enter a number above {low} and at most {high}.", low=low, high=high)
        if self.kind is FieldKind.NUMBER:
            return say("Enter a number from {low} to {high}.", low=low, high=high)
        return say("Enter a whole number from {low} to {high}.", low=low, high=high)


@dataclass(frozen=True)
class SettingsSection:
    """Settings that belong together, as the page shows them."""

    name: str
    title: str
    rows: tuple[SettingRow, ...]


@cache
def sections() -> tuple[SettingsSection, ...]:
    """Return all settings but the pads' pins, by heading."""
    rows = [
        _row(key, kind) for key, kind in _types(inspect.type_info(Settings), "") if key in WORDS
    ]
    return tuple(
        SettingsSection(
            name, title, tuple(row for row in rows if row.key.rpartition(".")[0] == name)
        )
        for name, title in SECTIONS.items()
    )


@cache
def pad_rows() -> Mapping[str, tuple[SettingRow, ...]]:
    """Return the pins of each pad, by seat."""
    types = dict(_types(inspect.type_info(Settings), ""))
    return {
        str(seat): tuple(
            _row(
                key := f"panel.{seat}.{part}",
                types[key],
                Words(say("{seat!c}: {part}", seat=SEAT_WORDS[seat], part=name), "", page=True),
            )
            for part, name in PAD_PARTS.items()
        )
        for seat in SEATS
    }


@cache
def all_keys() -> tuple[str, ...]:
    """Return the dotted names of all settings."""
    return tuple(key for key, _ in _types(inspect.type_info(Settings), ""))


@cache
def _rows() -> Mapping[str, SettingRow]:
    rows = [row for section in sections() for row in section.rows]
    return {row.key: row for row in (*rows, *(row for pad in pad_rows().values() for row in pad))}


def page_may_write(key: str, value: object) -> bool:
    """Return whether the settings page may give this value to this setting. Only what is declared
    may be written.
    """
    if key in LAMPS_ACTIVE_LOW:
        return True
    return key in _rows() and _rows()[key].takes(value)


def by_hand() -> str:
    """Say why the page does not write a setting, and who does."""
    return say("Written into the file by hand, or given on the command line.")


def kept_by_hand(here: Settings, wanted: Settings) -> dict[str, object]:
    """Return what of some settings must stay as it is here, because the page may not write it."""
    values = flat(here)
    return {
        key: values[key]
        for key, value in flat(wanted).items()
        if values[key] != value and not page_may_write(key, value)
    }


def works_at_once(key: str) -> bool:
    """Return whether a change of this setting works without a restart."""
    return key in WORDS and WORDS[key].at_once


# ---- inside --------------------------------------------------------------------------------------


def _types(of: inspect.Type, before: str) -> list[tuple[str, inspect.Type]]:
    """Return every value of a tree of structs, by its dotted name in TOML."""
    if not isinstance(of, inspect.StructType):
        return [(before, of)]
    return [
        leaf
        for part in of.fields
        for leaf in _types(
            part.type, f"{before}.{part.encode_name}" if before else part.encode_name
        )
    ]


def _row(key: str, of: inspect.Type, words: Words | None = None) -> SettingRow:
    words = words or WORDS[key]
    empty = False
    # a number or nothing: unset, or a pin that is not wired
    if isinstance(of, inspect.UnionType):
        empty = True
        of = next(
            kind for kind in of.types if isinstance(kind, inspect.IntType | inspect.FloatType)
        )
    default = flat(Settings()).get(key)
    row = SettingRow(
        key,
        words.title,
        words.sentence,
        FieldKind.TEXT,
        default,
        words.unit,
        at_once=words.at_once,
        may_be_empty=empty,
        page=words.page,
    )
    match of:
        case inspect.BoolType():
            yes_no = ((False, say("No")), (True, say("Yes")))
            return replace(row, kind=FieldKind.YES_NO, choices=yes_no)
        case inspect.LiteralType():
            return replace(row, kind=FieldKind.CHOICE, choices=tuple(words.choices.items()))
        case inspect.IntType() | inspect.FloatType():
            low, high, is_above = _bounds(of)
            whole = FieldKind.PIN if empty else FieldKind.WHOLE
            kind = whole if isinstance(of, inspect.IntType) else FieldKind.NUMBER
            return replace(row, kind=kind, low=low, high=high, is_above=is_above)
        case inspect.VarTupleType():
            return replace(row, kind=FieldKind.LIST, may_be_empty=True)
        # only a time of day has a colon in its spelling
        case inspect.StrType(pattern=pattern) if pattern and ":" in pattern:
            return replace(row, kind=FieldKind.TIME, may_be_empty=True)
        case inspect.StrType(pattern=pattern, max_length=longest):
            return replace(
                row, longest=longest or MAX_TEXT, spelling=pattern or "", may_be_empty=default == ""
            )
        case _:
            return replace(row, kind=FieldKind.TEXT, may_be_empty=default == "")


def _bounds(of: inspect.IntType | inspect.FloatType) -> tuple[float, float, bool]:
    """Return the least and the most of a number, and whether the least itself is too little."""
    low = of.gt if of.ge is None else of.ge
    high = of.lt if of.le is None else of.le
    is_above = of.ge is None and of.gt is not None
    return (
        -math.inf if low is None else float(low),
        math.inf if high is None else float(high),
        is_above,
    )
