"""Reads catalogues of translations (`.po`, GNU gettext) as `make messages` writes them.

The installed program has no compiled catalogues and no gettext tools, so `companion.core.i18n`
reads these files itself, each once. A catalogue is a list of messages, separated by blank lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path


@dataclass
class Message:
    """A message of gettext: an English pattern, its translations, and the files that use it.

    The header of a catalogue is a message with an empty pattern.
    """

    singular: str = ""
    """The pattern (`msgid`), for one thing if there is a plural."""
    plural: str = ""
    """The pattern for several things (`msgid_plural`), or empty."""
    translations: list[str] = field(default_factory=list)
    """One text, or one for each plural form of the language. Empty texts are not translated yet."""
    files: list[str] = field(default_factory=list)


def read_catalogue(path: Path) -> Generator[Message, None, None]:
    """Yield every message of a catalogue, its header first.

    Comments by themselves, such as those of obsolete messages, are left out. Raises OSError, and
    ValueError for a line that is no part of a message.
    """
    with path.open(encoding="utf-8") as file:
        for has_text, block in groupby(map(str.strip, file), bool):
            if not has_text:
                continue
            try:
                message = _parse_message(block)
            except (IndexError, SyntaxError, TypeError, ValueError) as error:
                raise ValueError(f"{path} cannot be read: {error}") from None
            if message.translations:
                yield message


def parse_plural_rule(header: Message) -> str:
    """Return the C expression in the header's `Plural-Forms`, which selects a plural form.

    If the header has none, return the rule of English.

    >>> parse_plural_rule(Message(translations=["Plural-Forms: nplurals=2; plural=(n > 1);"]))
    '(n > 1)'
    """
    fields = "".join(header.translations)
    match = re.search(r"^Plural-Forms:.*\bplural=([^;\n]+)", fields, re.MULTILINE)
    return match[1] if match else "(n != 1)"


def parse_language_team(header: Message) -> str:
    """Return `Language-Team` of the header, empty if it has none.

    In the catalogues of this program it is the language's own name, such as `Español`.
    """
    match = re.search(r"^Language-Team: (.+)$", "".join(header.translations), re.MULTILINE)
    return match[1] if match else ""


def _parse_message(block: Iterable[str]) -> Message:
    """Parse the lines of a message. Each text may go on over several lines."""
    message = Message()
    keyword = ""
    for line in block:
        if line.startswith("#"):
            # “#:” lists the files that use the pattern, and other comments do not matter
            if line.startswith("#:"):
                message.files += line[2:].split()
            continue
        quoted = line
        if line.startswith("msg"):
            keyword, quoted = line.split(" ", 1)
            if keyword.startswith("msgstr"):
                message.translations.append("")
        # Texts are quoted and escaped as in Python.
        text = ast.literal_eval(quoted)
        if keyword == "msgid":
            message.singular += text
        elif keyword == "msgid_plural":
            message.plural += text
        else:
            message.translations[-1] += text
    return message
