"""Test that what the documentation says is true.

Links lead somewhere, commands and targets of `make` exist, and examples and tables are right.
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
# Beginning of an address outside the project, such as `https://`.
_ELSEWHERE = re.compile(r"[a-z]+:")


@cache
def text_of(page: str) -> str:
    """Return the Markdown of a page."""
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
    """Return the fragments (after `#`) that links to a page may have.

    GitHub makes them from the headings: in lower case, with hyphens for spaces, and without other
    signs. That of the second of two equal headings ends in `-1`.
    """
    names: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        same = sum(re.fullmatch(rf"{re.escape(plain)}(-\d+)?", name) is not None for name in names)
        names.append(f"{plain}-{same}" if same else plain)
    return frozenset(names)


def links(page: str) -> list[str]:
    """Return the targets of a page's links and pictures within the project."""
    addresses = [link or source for link, source in _LINK.findall(_INLINE.sub("", prose_of(page)))]
    return [unquote(link) for link in addresses if not _ELSEWHERE.match(link)]


@cache
def commands() -> dict[str, argparse.ArgumentParser]:
    """Return every command of the program, with its parser."""
    return _subcommands(make_parser())


def _subcommands(command: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the subcommands of a command, with their parsers."""
    choices = [
        action.choices
        for action in command._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return dict(choices[0]) if choices else {}


def command_of(name: str, rest: str) -> argparse.ArgumentParser:
    """Return the parser of the options of `companion NAME REST`.

    The rest may begin with subcommands.
    """
    command = commands()[name]
    for word in rest.split():
        if word not in _subcommands(command):
            break
        command = _subcommands(command)[word]
    return command


def make_targets() -> set[str]:
    """Return the targets of the Makefile."""
    rules = re.findall(
        r"^(\w[\w -]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name for rule in rules for name in rule.split()}


def test_modules_of_tests_that_make_runs_are_importable() -> None:
    """Import all modules of tests that the Makefile runs, as it runs them.

    It puts `tests` on the path, where folders such as `tests/web` have the names of the program's
    packages. They must not hide those packages.
    """
    modules = re.findall(
        r"PYTHONPATH=tests \$\(BIN\)/python -m ([\w.]+)",
        (ROOT / "Makefile").read_text(encoding="utf-8"),
    )
    assert len(modules) == 5, f"make runs other modules than the five it ran: {modules}"
    environment = os.environ | {"PYTHONPATH": "tests"}
    subprocess.run(
        [sys.executable, "-c", f"import {', '.join(modules)}"],
        cwd=ROOT,
        env=environment,
        check=True,
    )


# ---- pages and links -----------------------------------------------------------------------------


def test_every_page_is_linked_from_the_front_page() -> None:
    assert {page for page in PAGES if page != "README.md"} <= {
        link.partition("#")[0] for link in links("README.md")
    }


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_existing_files_and_headings(page: str) -> None:
    for link in links(page):
        path, _, fragment = link.partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        if fragment:
            assert fragment in anchors(str(target.relative_to(ROOT))), link


def test_pages_and_headings_named_in_source_exist() -> None:
    """Find what comments of the source refer to, such as: docs/security.md, "Fair chance".

    Only pages below `docs` explain things to the readers of the source.
    """
    references = set()
    for path in (
        path
        for package in SOURCES
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".js")
    ):
        text = path.read_text(encoding="utf-8")
        assert "README" not in text or '"README.md"' in text, (
            f"{path.name} refers to README.md for an explanation, which belongs in docs/"
        )
        references |= set(re.findall(r"(docs/\w+\.md)(?:, \"([^\"]+)\")?", text))
    assert references, "no reference to a page was recognised"
    for page, heading in references:
        assert page in PAGES
        assert not heading or re.search(
            rf"^#+ {re.escape(heading)}$", text_of(page), re.MULTILINE
        ), heading


# ---- commands and targets ------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_files_commands_options_and_targets_exist(page: str) -> None:
    """Look at all code on a page: paths of files, `companion COMMAND --option`, `make TARGET`."""
    for line in code_of(page):
        if re.fullmatch(r"(?:companion|docs|hardware|systemd|tests|vision|web)/[a-z\d_./]+", line):
            assert (ROOT / line).exists(), line
        if command := re.search(r"(?:^|[\s/])companion ([a-z][\w-]*)(.*)", line):
            assert command[1] in commands(), line
            for option in re.findall(r"(?<!\S)--[\w-]+", command[2]):
                assert option in command_of(command[1], command[2])._option_string_actions, line
        for target in re.findall(r"(?:^|\s)make ([a-z][\w-]*)", line):
            assert target in make_targets(), line


def test_table_of_commands_is_complete() -> None:
    """Compare the program's commands with the table, whose rows begin with `companion NAME`."""
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


def test_engine_answers_as_in_documented_dialogue() -> None:
    """Send each request of the dialogue (`> `) to an engine, whose answer must be the next line."""
    engine = Engine(game_named("outbuffered"))
    (dialogue,) = blocks("docs/interfaces.md", "jsonl")
    lines = dialogue.splitlines()
    for request, reply in zip(lines[::2], lines[1::2], strict=True):
        assert engine.answer(request.removeprefix("> ").encode()).decode() == reply.removeprefix(
            "< "
        )


def test_settings_examples_can_be_read() -> None:
    (table_settings,) = map(parse_settings, blocks("docs/settings.md", "toml"))
    engine_settings, broker_settings = map(parse_settings, blocks("docs/interfaces.md", "toml"))
    names = [character.name for character in all_characters(engine_settings.bots.engines)]
    assert names[3:] == ["Ada"], "Ada is not the only character after the program's own three"
    assert (broker_settings.mqtt.enabled, broker_settings.mqtt.staff) == (True, True)
    assert table_settings.panel.south.up == ""
    assert table_settings.camera.source == "usb:0"


def test_documented_settings_match_the_program() -> None:
    assert settings_table.PATH.read_text(encoding="utf-8") == settings_table.settings_page(), (
        "docs/settings.md is out of date: run python tests/settings_table.py"
    )


def test_wiring_table_shows_the_default_pins() -> None:
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
