"""The settings file of a new installation: every setting as a comment, with its words and its default.

python3 -m companion.maintenance.settings.template STATE_DIR
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import tomlkit

from companion.core.config import Settings
from companion.core.i18n import joined
from companion.maintenance.settings.file import flat
from companion.maintenance.settings.rows import SettingRow, pad_rows, sections

WIDTH = 118
INTRODUCTION = """\
# Settings of Tabletop Companion. The settings page writes this file, too; what is written here by hand stays.
# Every setting is here with its default; take the # away before a name, then: sudo systemctl restart companion
"""


def settings_text(state_dir: str) -> str:
    """Return the settings as TOML with comments, in English. Nothing but the state's folder is set."""
    parts = sorted(
        sections(), key=lambda section: bool(section.name)
    )  # what has no heading must come first
    lines = [INTRODUCTION]
    for section in parts:
        if section.name:
            lines += [
                "",
                f"# ---- {section.title} " + "-" * (WIDTH - 8 - len(section.title)),
                f"[{section.name}]",
            ]
        for row in section.rows:
            if row.key == "state_dir":
                lines += [f"# {row.sentence}", _entry(row.key, state_dir)]
            else:
                lines += [*_comment(row), f"#{_value(row)}"]
        if section.name == "panel":
            lines += _pads()
    return "\n".join(lines) + "\n"


def _comment(row: SettingRow) -> Iterator[str]:
    words = [f"{row.title}: {row.sentence}", row.range_words]
    if row.choices:
        words.append(", ".join(_plain(value) for value, _ in row.choices) + ".")
    if row.unit:
        words.append(f"({row.unit})")
    yield f"# {joined(' ', tuple(word for word in words if word))}"


def _value(row: SettingRow) -> str:
    example = (
        (row.low + row.high) / 2 if row.default is None else row.default
    )  # no default: none is set
    return _entry(row.key.rpartition(".")[2], example)


def _entry(name: str, value: object) -> str:
    return f"{name} = {_plain(value)}"


def _plain(value: object) -> str:
    return str(tomlkit.item(value).as_string())


def _pads() -> Iterator[str]:
    """Yield the pins of both pads. A pad's table replaces all its pins, so it stays a comment as a whole."""
    for seat, rows in pad_rows().items():
        yield ""
        yield f"# Pins (BCM numbers) of the pad at {seat}; with this heading every pin that is left out is not wired."
        yield f"#[panel.{seat}]"
        yield from (f"#{_value(row)}" for row in rows)
        inverted = f"panel.{seat}.lamps_active_low"
        yield f"#{_entry('lamps_active_low', flat(Settings())[inverted])}"


def main(arguments: Sequence[str]) -> int:
    """Write it to standard output."""
    sys.stdout.write(settings_text(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
