"""What the README says is true: its commands exist, its engine dialogue is replayed, its settings are read."""

from __future__ import annotations

import re
from pathlib import Path

from companion.cli.main import _parser
from companion.core.config import NORTH_PINS, SOUTH_PINS, VoiceSettings, read_settings
from companion.games import game_named
from companion.games.engine import Engine

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_engine_dialogue() -> None:
    engine = Engine(game_named("outbuffered"))
    lines = blocks("jsonl")[0].splitlines()
    for request, reply in zip(lines[::2], lines[1::2], strict=True):
        assert engine.answer(request.removeprefix("> ").encode()).decode() == reply.removeprefix("< ")


def test_the_settings_example() -> None:
    loudness, broker, whole = map(read_settings, blocks("toml"))
    assert (broker.mqtt.enabled, broker.mqtt.staff) == (True, True)
    assert whole.panel.south.up == ""
    assert whole.camera.source == "usb:0"
    assert (loudness.quiet.begin, loudness.voice) == ("22:00", VoiceSettings())


def test_the_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make (\w+)", "\n".join(blocks("sh"))):
        assert re.search(rf"^(?:\w+ )*{target}(?: \w+)*:", makefile, re.M), target


def test_the_commands_and_options_exist() -> None:
    help_texts = {}
    for action in _parser()._actions:
        if action.choices:
            help_texts = {name: parser.format_help() for name, parser in dict(action.choices).items()}  # type: ignore[call-overload]
    rows = re.findall(r"^\| `companion ([\w-]+)[^`]*` \| (.*) \|$", README, re.M)
    assert {name for name, _ in rows} == set(help_texts)
    for name, text in rows:
        for option in re.findall(r"`(--[\w-]+)`", text):
            assert option in help_texts[name], f"companion {name} {option}"


def test_the_wiring_table_is_the_default_wiring() -> None:
    for row, fields in (
        ("up, down, left, right", ("up", "down", "left", "right")),
        ("A (shoot), B (idle), back, ready", ("a", "b", "back", "ready")),
        ("lamps 1, 2, 3, turn", ("lamp_1", "lamp_2", "lamp_3", "lamp_turn")),
    ):
        south, north = (", ".join(str(getattr(pins, field)) for field in fields) for pins in (SOUTH_PINS, NORTH_PINS))
        assert f"| {row} | {south} | {north} |" in README


def test_nothing_is_left_to_fill_in() -> None:
    assert "@@" not in README
