"""Reads catalogues of translations (`.po`, GNU gettext) as `make messages` writes them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PLURALS: Mapping[str, str] = {"es": "(n != 1)", "fr": "(n > 1)"}
"""Which form counts, in C, by language (Unicode CLDR)."""


@dataclass
class Message:
    """A pattern with its plural (empty: none), its translations, and the files in which it stands."""

    one: str = ""
    many: str = ""
    words: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def read_catalogue(path: Path) -> Iterator[Message]:
    """Every message; raises OSError, and ValueError for a line that is none of a catalogue."""
    with path.open(encoding="utf-8") as file:
        for block in _blocks(file):
            yield _message(block)


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines between empty ones."""
    block: list[str] = []
    for line in lines:
        if text := line.strip():
            block.append(text)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _message(block: Iterable[str]) -> Message:
    message, name = Message(), ""
    for line in block:
        if line.startswith("#"):
            message.files += line[2:].split() if line.startswith("#:") else []
            continue
        if line.startswith("msg"):
            name, line = line.split(" ", 1)  # noqa: PLW2901 - the rest is the text
            if name.startswith("msgstr"):
                message.words.append("")
        text = ast.literal_eval(line)
        if name == "msgid":
            message.one += text
        elif name == "msgid_plural":
            message.many += text
        else:
            message.words[-1] += text
    return message
