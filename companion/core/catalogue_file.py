"""Reads catalogues of translations (`.po`, GNU gettext) as `make messages` writes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Message:
    """A pattern with its plural (empty if it has none), its translations, and the files that use
    it.
    """

    one: str = ""
    many: str = ""
    words: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def read_catalogue(path: Path) -> Generator[Message, None, None]:
    """Yield every message. The header, which has no pattern, comes first.

    Raises OSError, and ValueError for a line that is not a message.
    """
    with path.open(encoding="utf-8") as file:
        for block in _blocks(file):
            yield _message(block)


def plural_of(header: Message) -> str:
    """Return the C expression of the header's `Plural-Forms`, which selects a plural form.

    Without one, return that of English.
    """
    match = re.search(r"^Plural-Forms:.*\bplural=([^;\n]+)", "".join(header.words), re.MULTILINE)
    return match[1] if match else "(n != 1)"


def team_of(header: Message) -> str:
    """Return the header's `Language-Team`, which holds the language's own name. Empty if it has
    none.
    """
    match = re.search(r"^Language-Team: (.+)$", "".join(header.words), re.MULTILINE)
    return match[1] if match else ""


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield groups of lines separated by blank lines."""
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
            # “#:” lists the files that use the pattern
            message.files += line[2:].split() if line.startswith("#:") else []
            continue
        if line.startswith("msg"):
            name, line = line.split(" ", 1)  # noqa: PLW2901 - the rest is the text
            if name.startswith("msgstr"):
                message.words.append("")
        # texts are quoted and escaped as in Python
        text = ast.literal_eval(line)
        if name == "msgid":
            message.one += text
        elif name == "msgid_plural":
            message.many += text
        else:
            message.words[-1] += text
    return message
