"""Every setting as shown to people: a title, one sentence, its unit, range, choices and default.

Names, ranges and defaults come from the types in `companion.core.config`, and the words from
`companion.maintenance.settings.words`. A test fails for a setting that has no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from companion.core.config import Settings, TimeOfDay
from companion.core.errors import Malformed
from companion.core.i18n import decimal_mark, say
from companion.core.kit import SEAT_WORDS, SEATS, Seat
from companion.maintenance.settings.file import values_by_name
from companion.maintenance.settings.words import (
    BY_HAND,
    CAMERA_PATTERN,
    PAD_PARTS,
    SECTIONS,
    WITHOUT_RESTART,
    WORDS,
    SettingWords,
)

# Maximum number of characters of a text for which the settings have no maximum of their own.
MAX_TEXT_LENGTH = 200

_TOPIC_HELP = say("Use letters, digits, _ and -, with slashes between.")
# What to enter for texts that have to match a pattern, by dotted name.
_SPELLING_HELP = {
    "wifi.password": say(
        "Enter 8 to 63 letters, digits and signs without accents, or leave it empty."
    ),
    "mqtt.topic": _TOPIC_HELP,
    "mqtt.discovery": _TOPIC_HELP,
}

# How to set what the settings page does not write.
BY_HAND_SENTENCE = say("Written into the file by hand, or given on the command line.")
# Settings that a hub (a machine that follows many tables) may send. They only change how a table
# looks and sounds. By other settings a hub could obtain names or passwords, or delete games.
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
# Settings that say which lamps of a pad are active low. They have no rows of their own: the page
# shows them as checkboxes beside the lamps' pins.
LAMPS_ACTIVE_LOW = frozenset(f"panel.{seat}.lamps_active_low" for seat in SEATS)


class FieldKind(StrEnum):
    """How people enter a value."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    YES_NO = "yes_no"
    CHOICE = "choice"
    PIN = "pin"
    TIME = "time"
    LIST = "list"


_NUMBERS = (FieldKind.WHOLE, FieldKind.NUMBER, FieldKind.PIN)


def _int_if_whole(number: float) -> float | int:
    """Return a number as an int if it is whole, so that a sentence says 60 and not 60.0.

    Any other number stays a float, which a sentence writes with the decimal mark of its language.
    """
    return int(number) if number == int(number) else number


@dataclass(frozen=True)
class SettingRow:
    """One setting as the settings page shows it."""

    key: str
    """Dotted name, as in TOML."""
    title: str
    sentence: str
    """What the setting does."""
    kind: FieldKind
    type: Any
    """Type of the value in `Settings`, with bounds and pattern."""
    default: Any
    unit: str = ""
    minimum: float = 0.0
    """Smallest value of a number."""
    maximum: float = 0.0
    """Largest value of a number."""
    max_length: int = MAX_TEXT_LENGTH
    """Maximum number of characters of a text."""
    choices: tuple[tuple[Any, str], ...] = ()
    """Values to choose from, with their words."""
    may_be_empty: bool = False
    """Whether it may have no value, such as a pin that is not wired."""
    is_writable: bool = True
    """Whether the settings page may write it."""

    def page_may_write(self, value: Any) -> bool:
        """Return whether the settings page may write this value."""
        # A camera may be a device, but not a file.
        if self.key == "camera.source":
            return isinstance(value, str) and re.fullmatch(CAMERA_PATTERN, value) is not None
        return self.is_writable

    def format_value(self, value: Any) -> str:
        """Return a value as text in its field, with the decimal mark of the current language."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list | tuple):
            return " ".join(value)
        if isinstance(value, float):
            return f"{value:g}".replace(".", decimal_mark())
        return str(value)

    def parse(self, text: str) -> Any:
        """Return the value of a text that a person entered.

        Raises `Malformed` with what to enter instead.
        """
        text = text.strip()
        if not text and self.may_be_empty:
            if self.kind is FieldKind.LIST:
                return []
            return None if self.default is None else ""
        value: object = text
        match self.kind:
            case FieldKind.LIST:
                return text.replace(",", " ").split()
            case FieldKind.YES_NO:
                value = {"yes": True, "no": False}.get(text)
            case FieldKind.TEXT if not text:
                raise Malformed(say("This may not be empty."))
            case FieldKind.TEXT if len(text) > self.max_length or not text.isprintable():
                raise Malformed(say("Enter at most {number} characters.", number=self.max_length))
        try:
            if self.kind in _NUMBERS:
                # `float` reads what people type, such as `+080`, which `convert` would refuse. And
                # it refuses `null`, which `convert` would take for no value.
                value = float(text.replace(",", "."))
            return msgspec.convert(value, self.type, strict=False)
        except (ValueError, msgspec.ValidationError):
            raise Malformed(self._input_help()) from None

    def _input_help(self) -> str:
        """Return a sentence on what to enter instead of a value that is refused."""
        low, high = _int_if_whole(self.minimum), _int_if_whole(self.maximum)
        match self.kind:
            case FieldKind.NUMBER:
                return say("Enter a number from {low} to {high}.", low=low, high=high)
            case FieldKind.WHOLE | FieldKind.PIN:
                return say("Enter a whole number from {low} to {high}.", low=low, high=high)
            case FieldKind.TIME:
                return say("Enter a time such as 22:00, or leave it empty.")
            case FieldKind.TEXT:
                return _SPELLING_HELP[self.key]
        return say("Choose one of the values offered.")

    @property
    def range_words(self) -> str:
        """The minimum and maximum as a sentence. Empty if the setting is not a number."""
        if self.kind not in _NUMBERS:
            return ""
        return say(
            "{low} to {high}.", low=_int_if_whole(self.minimum), high=_int_if_whole(self.maximum)
        )

    @property
    def default_words(self) -> str:
        """The default as a sentence."""
        return say("Default: {value}.", value=self.format_value(self.default))


@dataclass(frozen=True)
class SettingsSection:
    """Settings that the page shows under one heading."""

    name: str
    title: str
    rows: tuple[SettingRow, ...]


@cache
def setting_rows() -> Mapping[str, SettingRow]:
    """Return the rows of all settings by their dotted names, including the pads' pins.

    The settings `LAMPS_ACTIVE_LOW` have no rows.
    """
    rows_by_key = {}
    for key, annotation in _field_types(Settings, ""):
        words = WORDS.get(key)
        match key.split("."):
            # A pin of a pad, such as `panel.south.ready`, is named after its seat and its part.
            case "panel", seat, part if part in PAD_PARTS:
                title = say("{seat!c}: {part}", seat=SEAT_WORDS[Seat(seat)], part=PAD_PARTS[part])
                words = SettingWords(title, "")
        if words:
            rows_by_key[key] = _make_row(key, annotation, words)
    return rows_by_key


@cache
def setting_sections() -> tuple[SettingsSection, ...]:
    """Return the rows of all settings except the pads' pins, by heading."""
    by_heading = []
    for name, title in SECTIONS.items():
        section_rows = [
            row for key, row in setting_rows().items() if key.rpartition(".")[0] == name
        ]
        by_heading.append(SettingsSection(name, title, tuple(section_rows)))
    return tuple(by_heading)


@cache
def pad_rows() -> Mapping[str, tuple[SettingRow, ...]]:
    """Return the pins of each pad, by seat."""
    return {
        str(seat): tuple(setting_rows()[f"panel.{seat}.{part}"] for part in PAD_PARTS)
        for seat in SEATS
    }


def page_may_write(key: str, value: object) -> bool:
    """Return whether the settings page may set this setting to this value.

    Only known settings may be written.
    """
    if key in LAMPS_ACTIVE_LOW:
        return True
    return key in setting_rows() and setting_rows()[key].page_may_write(value)


def unwritable_settings(current: Settings, wanted: Settings) -> dict[str, object]:
    """Return the settings that would change but must not, with their current values.

    They are those that the settings page may not write.

    :param current: the settings of this machine
    :param wanted: settings that should replace them, such as those of a backup
    :return: values by dotted name
    """
    values = values_by_name(current)
    return {
        key: values[key]
        for key, value in values_by_name(wanted).items()
        if values[key] != value and not page_may_write(key, value)
    }


def works_at_once(key: str) -> bool:
    """Return whether a change of this setting takes effect without a restart."""
    return key in WITHOUT_RESTART or key.rpartition(".")[0] in WITHOUT_RESTART


# ---- helpers -------------------------------------------------------------------------------------


def _field_types(section: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the dotted name and the type of every value in a tree of structs."""
    for field in msgspec.structs.fields(section):
        key = f"{prefix}{field.encode_name}"
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _field_types(field.type, f"{key}.")
        else:
            yield key, field.type


def _make_row(key: str, annotation: Any, words: SettingWords) -> SettingRow:
    """Return the row of a setting, made of the type of its field and its words."""
    default = values_by_name(Settings()).get(key)
    info = inspect.type_info(annotation)
    choices = tuple(words.choices.items())
    # A union is a number or no value: the setting may be unset, or the pin may not be wired.
    is_union = isinstance(info, inspect.UnionType)
    if isinstance(info, inspect.UnionType):
        numbers = inspect.IntType | inspect.FloatType
        info = next(member for member in info.types if isinstance(member, numbers))
    kind = FieldKind.TEXT
    match info:
        case inspect.BoolType():
            kind, choices = FieldKind.YES_NO, ((False, say("No")), (True, say("Yes")))
        case inspect.LiteralType():
            kind = FieldKind.CHOICE
        case inspect.FloatType():
            kind = FieldKind.NUMBER
        case inspect.IntType():
            kind = FieldKind.PIN if is_union else FieldKind.WHOLE
        case inspect.VarTupleType():
            kind = FieldKind.LIST
        case inspect.StrType() if annotation == TimeOfDay:
            kind = FieldKind.TIME
    return SettingRow(
        key,
        words.title,
        words.sentence,
        kind,
        annotation,
        default,
        words.unit,
        minimum=getattr(info, "ge", None) or 0,
        maximum=getattr(info, "le", None) or 0,
        max_length=getattr(info, "max_length", None) or MAX_TEXT_LENGTH,
        choices=choices,
        may_be_empty=is_union or kind is FieldKind.LIST or default == "",
        is_writable=key not in BY_HAND,
    )
