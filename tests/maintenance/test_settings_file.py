"""Test that changing one setting changes its value in the file, and keeps all other text."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.core.config import Settings, parse_settings
from companion.core.errors import ConfigError, Malformed, Stale, SystemTrouble
from companion.maintenance.settings.file import (
    SettingsFile,
    edit_text,
    values_by_name,
    with_changes,
)
from companion.maintenance.settings.rows import (
    FieldKind,
    SettingRow,
    pad_rows,
    setting_sections,
    works_at_once,
)
from companion.maintenance.settings.words import WORDS

# A settings file as people write it, with comments in all places. `panel.south` has only two pins,
# and there is no section `web`.
SETTINGS_TEXT = """\
# The table in the hall.
state_dir = "/var/lib/table"  # on the big disk

[camera]   # the good one
source = "usb:0"
fps = 10  # enough

# Pads: the small wiring
[panel.south]
ready = 10
lamp_turn = 4   # T

[table]
theme = "light"
# the end
"""
# The rows of all settings on the page but the pads' pins, by dotted name.
ROWS = {row.key: row for section in setting_sections() for row in section.rows}


def change_file(path: Path, text: str, **changes: object) -> str:
    """Write the file, change settings in it, and return its text.

    :param changes: new values by dotted name, in which `__` stands for a dot
    """
    path.write_text(text)
    file = SettingsFile(path)
    file.change(
        {key.replace("__", "."): value for key, value in changes.items()}, file.read().digest
    )
    return path.read_text()


def test_every_setting_is_on_the_page_once() -> None:
    # The settings of pads are shown with their pins. All others have words and a row.
    pads = {row.key for rows in pad_rows().values() for row in rows} | {
        f"panel.{seat}.lamps_active_low" for seat in pad_rows()
    }
    assert set(values_by_name(Settings())) == set(WORDS) | pads == set(ROWS) | pads

    # Every row can be understood, and its default can be entered.
    for row in ROWS.values():
        assert row.title
        assert row.sentence.endswith(".")
        assert row.parse(row.format_value(row.default)) == row.default, row.key
        choice_words = [words for _, words in row.choices]
        assert len(set(choice_words)) == len(choice_words)
        assert row.kind is not FieldKind.CHOICE or row.default in [
            value for value, _ in row.choices
        ]

    # One setting takes effect without a restart, another needs one.
    assert works_at_once("table.theme")
    assert not works_at_once("web.port")


def test_a_choice_offers_all_values_of_its_type() -> None:
    for row in ROWS.values():
        for value, _ in row.choices:
            assert values_by_name(with_changes(Settings(), {row.key: value}))[row.key] == value

        # The type is a `Literal` with the same values. Any other value is refused.
        if row.kind is FieldKind.CHOICE:
            assert dict(row.choices).keys() == set(get_args(row.type))
            with pytest.raises(ConfigError, match="Invalid enum value") as exc_info:
                with_changes(Settings(), {row.key: 7 if isinstance(row.default, int) else "?"})
            assert f"[{row.key}]" in exc_info.value.message


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("web.port", "70000", "Enter a whole number from 0 to 65535."),
        ("web.port", "80.5", "Enter a whole number from 0 to 65535."),
        ("voice.volume", "nan", "Enter a number from 0 to 1."),
        ("camera.field_of_view_deg", "null", "Enter a number from "),
        ("web.port", "inf", "Enter a whole number from 0 to 65535."),
        ("camera.fps", "0", "Enter a number from 0.1 to 60."),
        ("table.theme", "pink", "Choose one"),
        ("camera.source", "", "This may not be empty."),
        ("wifi.name", 33 * "n", "Enter at most 32 characters."),
        (
            "wifi.password",
            "clé secrète",
            "Enter 8 to 63 letters, digits and signs without accents, or leave it empty.",
        ),
        ("mqtt.topic", "a b", "Use letters, digits, _ and -, with slashes between."),
        ("quiet.from", "24:00", "Enter a time such as 22:00, or leave it empty."),
    ],
)
def test_a_wrong_value_is_refused_with_its_range(key: str, text: str, words: str) -> None:
    with pytest.raises(Malformed, match=words):
        ROWS[key].parse(text)


def test_what_people_type_is_understood() -> None:
    # A comma as the decimal mark and spaces around it, a sign and a leading zero.
    assert ROWS["voice.volume"].parse(" 0,25 ") == 0.25
    assert repr(ROWS["web.port"].parse("+080")) == "80"
    assert ROWS["panel.silent"].parse("yes") is True
    assert ROWS["camera.mains_hz"].parse("60") == 60
    # Nothing: a pin that is not wired, a value that is not set, no quiet hours.
    assert ROWS["panel.buzzer"].parse("") == ""
    assert ROWS["camera.field_of_view_deg"].parse("") is None
    assert ROWS["quiet.to"].parse("") == ""


def test_only_the_changed_value_changes(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    assert change_file(path, SETTINGS_TEXT, camera__fps=12.5) == SETTINGS_TEXT.replace(
        "fps = 10 ", "fps = 12.5 "
    )
    assert change_file(path, SETTINGS_TEXT, table__theme="dark") == SETTINGS_TEXT.replace(
        '"light"', '"dark"'
    )
    assert change_file(path, SETTINGS_TEXT, panel__south__lamp_turn=17) == SETTINGS_TEXT.replace(
        "lamp_turn = 4", "lamp_turn = 17"
    )
    # Line ends of another system change nothing.
    crlf = SETTINGS_TEXT.replace("\n", "\r\n")
    assert change_file(path, crlf, table__theme="dark").count("dark") == 1


def test_a_new_value_is_added_to_its_table(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    text = change_file(
        path, SETTINGS_TEXT, camera__mains_hz=60, panel__debounce_ms=30, web__port=8081
    )
    settings = parse_settings(text)
    assert settings.camera.mains_hz == 60
    assert (settings.panel.debounce_ms, settings.web.port) == (30, 8081)

    # Every line of the old text is still there.
    lines = text.splitlines()
    assert [line for line in SETTINGS_TEXT.splitlines() if line and line not in lines] == []


def test_a_pad_missing_in_the_file_is_added(tmp_path: Path) -> None:
    """All its pins are written: with one pin alone, the others would no longer be wired."""
    path = tmp_path / "settings.toml"
    text = change_file(path, SETTINGS_TEXT, panel__north__up=0)
    # North's other pins are the defaults.
    north = parse_settings(text).panel.north
    assert (north.up, north.down, north.lamp_turn) == (0, 16, 2)
    assert north.lamps_active_low == ("lamp_2", "lamp_3", "lamp_turn")

    # South's section was there, so its keys stay unwired.
    assert parse_settings(text).panel.south.up == ""


def test_a_first_change_makes_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.toml"
    file = SettingsFile(path)
    assert (file.read().settings, file.read().digest) == (Settings(), "")

    # 8080 is the default, so nothing changes.
    file.change({"web.port": 8080}, "")
    assert not path.exists(), "no file may be written if no value has changed"

    # Only the owner of the file may read it.
    file.change({"state_dir": "/x", "table.theme": "dark"}, "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text() == 'state_dir = "/x"\n\n[table]\ntheme = "dark"\n'


def test_a_file_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(SETTINGS_TEXT)
    file = SettingsFile(path)
    digest = file.read().digest
    path.write_text(SETTINGS_TEXT.replace("usb:0", "usb:1"))
    with pytest.raises(Stale, match="Somebody else has changed"):
        file.change({"web.port": 1}, digest)
    assert "usb:1" in path.read_text()
    assert "port" not in path.read_text()


def test_wrong_values_and_files_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(SETTINGS_TEXT)
    file = SettingsFile(path)
    digest = file.read().digest
    # The port is too large, and quiet hours that begin have no end.
    for changes in ({"web.port": 70_000}, {"quiet.from": "22:00"}):
        with pytest.raises(ConfigError):
            file.change(changes, digest)
    assert path.read_text() == SETTINGS_TEXT

    # Two files that cannot be read.
    path.write_text("[web\n")
    with pytest.raises(ConfigError, match="not TOML"):
        file.read()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        file.read()


def test_a_refusing_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(SETTINGS_TEXT)
    file = SettingsFile(path)
    digest = file.read().digest

    def fail_to_sync(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail_to_sync)
    with pytest.raises(
        SystemTrouble, match=r"settings\.toml cannot be written \(No space left on device\)"
    ):
        file.change({"web.port": 1}, digest)
    assert path.read_text() == SETTINGS_TEXT
    assert [file.name for file in tmp_path.iterdir()] == ["settings.toml"]


def test_a_change_follows_a_symbolic_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "settings.toml"
    real.write_text(SETTINGS_TEXT)
    link.symlink_to(real)
    file = SettingsFile(link)
    file.change({"web.port": 1}, file.read().digest)
    assert link.is_symlink()
    assert "port = 1" in real.read_text()


# Valid values of settings whose type does not say enough.
VALID_VALUES: dict[str, list[Any]] = {
    "bots.engines": [[], ["Ada=/opt/ada --fast"], ["B. o=/x 'two words'", "C=y"]],
    "web.proxies": [[], ["10.0.0.2"], ["10.0.0.2", "172.30.32.0/23"]],
    "web.path": ["/table"],
    "wifi.password": [""],
    "mqtt.topic": ["cafe/table-3"],
    "mqtt.discovery": ["ha"],
}


def valid_values(row: SettingRow) -> list[Any]:
    """Return some valid values of a setting."""
    if row.key in VALID_VALUES:
        return VALID_VALUES[row.key]
    if row.choices:
        return [value for value, _ in row.choices]
    if row.kind is FieldKind.NUMBER:
        return [row.maximum]
    if row.kind is FieldKind.WHOLE:
        return [int(row.minimum), int(row.maximum)]
    if row.kind is FieldKind.PIN:
        return [""]
    if row.kind is FieldKind.LIST:
        return [[], ["table.example.org"], ["spiel", "192.0.2.7"]]
    return ["a text", 'with "quotes"', "back\\slash", "é ñ ✓"]


# Two settings, each of which is valid only with the other.
PAIRED_SETTINGS = ("web.certificate", "web.key")
KEYS_AND_VALUES = [
    (row.key, value)
    for row in ROWS.values()
    if row.kind is not FieldKind.TIME and row.key not in PAIRED_SETTINGS
    for value in valid_values(row)
]
# Up to four settings with their new values.
changes = st.lists(st.sampled_from(KEYS_AND_VALUES), min_size=1, max_size=4).map(dict)
# Texts of the file before the change, in all forms in which TOML may be written.
texts = st.sampled_from(
    [
        SETTINGS_TEXT,
        "",
        "# nothing yet\n",
        "camera.fps = 3\n[web]\nport = 1\n",
        "panel = {silent = true} # one line\n[web]\n",
        "[panel.south]\nready = 10\n\n[panel]\nsilent = true # late\n",
        "[table]\n# theme = 'dark'\n\n# the web\n[web]\nport = 1",
    ]
)


@given(texts, changes)
def test_any_change_is_exact_and_keeps_comments(text: str, new_values: dict[str, Any]) -> None:
    # Work out the settings that the change should give, and write the change into the text.
    before = parse_settings(text)
    after = with_changes(before, new_values)
    old_values = values_by_name(before)
    changed = {key: value for key, value in new_values.items() if old_values.get(key) != value}
    written = edit_text(text, after, changed)
    assert written is not None
    assert parse_settings(written) == after

    # It has the same comments. A `#` within a string is no comment.
    assert re.findall(r"#.*", text) == re.findall(r"#.*", re.sub(r'"[^"\n]*"', "", written))

    # All other settings have their old values.
    untouched = {key: value for key, value in old_values.items() if key not in new_values}
    assert untouched.items() <= values_by_name(parse_settings(written)).items()
