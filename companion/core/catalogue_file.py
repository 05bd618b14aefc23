"""Reads catalogues of translations (`.po`, GNU gettext) as `make messages` writes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Message:
    """A pattern with its plural (empty: none), its translations, and the files in which it
    stands.
    """

    one: str = ""
    many: str = ""
    words: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def read_catalogue(path: Path) -> Generator[Message, None, None]:
    """Return every message, the header without a pattern first.

    Raises OSError, and ValueError for a foreign line.
    """
    with path.open(encoding="utf-8") as file:
        for block in _blocks(file):
            yield _message(block)


def plural_of(header: Message) -> str:
    """Return which form counts, in C, by the header's `Plural-Forms`.

    As in English where it says nothing.
    """
    match = re.search(r"^Plural-Forms:.*\bplural=([^;\n]+)", "".join(header.words), re.MULTILINE)
    return match[1] if match else "(n != 1)"


def team_of(header: Message) -> str:
    """Return the header's `Language-Team`, which is the language in its own word. Empty: it says
    none.
    """
    match = re.search(r"^Language-Team: (.+)$", "".join(header.words), re.MULTILINE)
    return match[1] if match else ""


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines between empty ones."""
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
            # “#:” lists the files in which the pattern stands
            message.files += line[2:].split() if line.startswith("#:") else []
            continue
        if line.startswith("msg"):
            name, line = line.split(" ", 1)  # noqa: PLW2901 - the rest is the text
            if name.startswith("msgstr"):
                message.words.append("")
        # texts are quoted and escaped as Python's are
        text = ast.literal_eval(line)
        if name == "msgid":
            message.one += text
        elif name == "msgid_plural":
            message.many += text
        else:
            message.words[-1] += text
    return message
