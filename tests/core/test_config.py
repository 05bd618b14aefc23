"""Test how settings are parsed: wrong ones are refused with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from companion.core.config import (
    Settings,
    find_settings,
    load_settings,
    parse_settings,
    retired_setting_notices,
)
from companion.core.errors import ConfigError


def test_empty_settings_are_the_defaults() -> None:
    assert parse_settings("") == Settings() == load_settings(None)
    assert Settings().panel.south.up == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour = 1", "unknown field `colour`"),
        ("[web]\nprot = 80", "unknown field `prot` in [web]"),
        ("[web]\nport = 80000", "<= 65535 in [web.port]"),
        ("[camera]\nmodel = 'box'", "Invalid enum value 'box' in [camera.model]"),
        ("[camera]\nmains_hz = 55", "in [camera.mains_hz]"),
        ("[panel.south]\nup = 99", "[panel.south.up]"),
        (
            "[panel.north]\nlamps_active_low = ['lamp_9']",
            "'lamp_9' in [panel.north.lamps_active_low[0]]",
        ),
        ("[web\nport = 1", "not TOML"),
        ("state_dir = '~nobody-here/x'", "[state_dir] is not a path"),
    ],
)
def test_wrong_settings_are_refused_with_their_place(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_settings(text, "my.toml")
    assert str(refused.value).startswith("my.toml: ")
    assert words in str(refused.value)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path / "missing.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"binary\.toml: cannot be read"):
        load_settings(binary)


@pytest.mark.parametrize("folder", ["~nobody-of-this-name/games", "games\0"])
def test_an_impossible_folder_is_refused(folder: str) -> None:
    with pytest.raises(ConfigError, match="is not a folder on this machine"):
        _ = Settings(state_dir=folder).journal_path
    with pytest.raises(ConfigError, match="is not a folder on this machine"):
        find_settings(None, folder)


def test_retired_settings_are_ignored_and_reported(tmp_path: Path) -> None:
    text = "[web]\nmetrics = true\nport = 8765\n[panel]\nbrightness = 3\n"
    assert parse_settings(text).web.port == 8765
    path = tmp_path / "settings.toml"
    path.write_text(text)
    names = [notice.partition(" is no longer used")[0] for notice in retired_setting_notices(path)]
    assert names == ["[panel] brightness", "[web] metrics"]
    path.write_text(text, encoding="utf-8-sig")
    assert len(retired_setting_notices(path)) == 2
    path.write_text("web = 4\n")
    assert retired_setting_notices(path) == ()
