"""What the documentation says is true: links lead somewhere, commands and targets exist, examples
and tables are right.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
import settings_table

from companion.bots.characters import all_characters
from companion.cli.main import make_parser
from companion.core.config import NORTH_PINS, SOUTH_PINS, parse_settings
from companion.games import game_named
from companion.games.engine import Engine

ROOT = Path(__file__).parent.parent
DOCS = tuple(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/**/*.md")))
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md", *DOCS)
SOURCES = ("companion", "hardware", "vision", "web")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<(?:img|a)[^>]* (?:src|href)=\"([^\"]+)\"")
# Beginning of an address elsewhere, such as `https://`.
_ELSEWHERE = re.compile(r"[a-z]+:")


@cache
def text_of(page: str) -> str:
    """Return a page as it is."""
    return (ROOT / page).read_text(encoding="utf-8")


def prose_of(page: str) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", text_of(page))


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return [body for name, body in _FENCE.findall(text_of(page)) if name == language]


def code_of(page: str) -> list[str]:
    """Return all code on a page: lines of fenced blocks, and pieces between backticks."""
    fenced = [line for _, body in _FENCE.findall(text_of(page)) for line in body.splitlines()]
    return [*fenced, *(" ".join(piece.split()) for piece in _INLINE.findall(prose_of(page)))]


@cache
def anchors(page: str) -> frozenset[str]:
    """Return what links may name after `#`: headings as GitHub writes them, the second of two with
    `-1`.
    """
    names: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        same = sum(re.fullmatch(rf"{re.escape(plain)}(-\d+)?", each) is not None for each in names)
        names.append(f"{plain}-{same}" if same else plain)
    return frozenset(names)


def links(page: str) -> list[str]:
    """Return where a page leads within the project."""
    addresses = [link or source for link, source in _LINK.findall(_INLINE.sub("", prose_of(page)))]
    return [unquote(link) for link in addresses if not _ELSEWHERE.match(link)]


@cache
def commands() -> dict[str, argparse.ArgumentParser]:
    """Return every command of the program and what reads its options."""
    return _parts(make_parser())


def _parts(command: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the commands of a command."""
    subcommands = [
        each.choices for each in command._actions if isinstance(each, argparse._SubParsersAction)
    ]
    return dict(subcommands[0]) if subcommands else {}


def command_of(name: str, rest: str) -> argparse.ArgumentParser:
    """Return what reads the options of `companion NAME REST`. The rest may begin with commands of
    its own.
    """
    command = commands()[name]
    for word in rest.split():
        if word not in _parts(command):
            break
        command = _parts(command)[word]
    return command


def targets() -> set[str]:
    """Return what `make` can be asked for."""
    rules = re.findall(
        r"^(\w[\w -]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name for rule in rules for name in rule.split()}


def test_tests_that_make_runs_can_be_imported() -> None:
    """Beside packages of the same names in `tests/`, which must not hide those of the program."""
    modules = re.findall(
        r"PYTHONPATH=tests \$\(BIN\)/python -m ([\w.]+)",
        (ROOT / "Makefile").read_text(encoding="utf-8"),
    )
    assert len(modules) == 5, modules
    environment = os.environ | {"PYTHONPATH": "tests"}
    subprocess.run(
        [sys.executable, "-c", f"import {', '.join(modules)}"],
        cwd=ROOT,
        env=environment,
        check=True,
    )


# ---- the pages -----------------------------------------------------------------------------------


def test_every_page_is_linked_from_the_front_page() -> None:
    assert {page for page in PAGES if page != "README.md"} <= {
        link.partition("#")[0] for link in links("README.md")
    }


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in links(page):
        path, _, fragment = link.partition("#")
        there = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert there.is_relative_to(ROOT), link
        assert there.exists(), link
        if fragment:
            assert fragment in anchors(str(there.relative_to(ROOT))), link


def test_pages_that_the_program_names_exist() -> None:
    """Comments such as: docs/security.md, "Fair chance"."""
    named = set()
    for path in (
        path
        for package in SOURCES
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".js")
    ):
        text = path.read_text(encoding="utf-8")
        assert "README" not in text or '"README.md"' in text, (
            f"{path.name}: the front page explains nothing"
        )
        named |= set(re.findall(r"(docs/\w+\.md)(?:, \"([^\"]+)\")?", text))
    assert named
    for page, heading in named:
        assert page in PAGES
        assert not heading or re.search(
            rf"^#+ {re.escape(heading)}$", text_of(page), re.MULTILINE
        ), heading


# ---- commands and targets ------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_files_commands_options_and_targets_exist(page: str) -> None:
    for line in code_of(page):
        if re.fullmatch(r"(?:companion|docs|hardware|systemd|tests|vision|web)/[a-z\d_./]+", line):
            assert (ROOT / line).exists(), line
        if found := re.search(r"(?:^|[\s/])companion ([a-z][\w-]*)(.*)", line):
            assert found[1] in commands(), line
            for option in re.findall(r"(?<!\S)--[\w-]+", found[2]):
                assert option in command_of(found[1], found[2])._option_string_actions, line
        for target in re.findall(r"(?:^|\s)make ([a-z][\w-]*)", line):
            assert target in targets(), line


def test_the_table_of_commands_is_complete() -> None:
    rows = re.findall(
        r"^\| `companion ([\w-]+)([^`]*)` \| (.*) \|$", text_of("docs/interfaces.md"), re.MULTILINE
    )
    assert {name for name, _, _ in rows} == set(commands())
    for name, rest, text in rows:
        for option in re.findall(r"`(--[\w-]+)", text):
            assert option in command_of(name, rest)._option_string_actions, (
                f"companion {name} {option}"
            )


# ---- examples ------------------------------------------------------------------------------------


def test_the_engine_dialogue() -> None:
    engine = Engine(game_named("outbuffered"))
    (dialogue,) = blocks("docs/interfaces.md", "jsonl")
    lines = dialogue.splitlines()
    for request, reply in zip(lines[::2], lines[1::2], strict=True):
        assert engine.answer(request.removeprefix("> ").encode()).decode() == reply.removeprefix(
            "< "
        )


def test_the_settings_examples() -> None:
    (whole,) = map(parse_settings, blocks("docs/settings.md", "toml"))
    engines, broker = map(parse_settings, blocks("docs/interfaces.md", "toml"))
    assert [character.name for character in all_characters(engines.bots.engines)][3:] == ["Ada"]
    assert (broker.mqtt.enabled, broker.mqtt.staff) == (True, True)
    assert whole.panel.south.up == ""
    assert whole.camera.source == "usb:0"


def test_every_setting_is_a_line_of_the_docs() -> None:
    assert settings_table.PATH.read_text(encoding="utf-8") == settings_table.table(), (
        "run tests/settings_table.py"
    )


def test_the_wiring_table_is_the_default_wiring() -> None:
    for row, fields in (
        ("up, down, left, right", ("up", "down", "left", "right")),
        ("A (shoot), B (wait), back, ready", ("a", "b", "back", "ready")),
        ("lamps 1, 2, 3, turn", ("lamp_1", "lamp_2", "lamp_3", "lamp_turn")),
    ):
        south, north = (
            ", ".join(str(getattr(pins, field)) for field in fields)
            for pins in (SOUTH_PINS, NORTH_PINS)
        )
        assert f"| {row} | {south} | {north} |" in text_of("docs/hardware.md")
