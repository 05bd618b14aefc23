"""The characters of machine players: three built-in ones, one for each level, and the engines.

A character is the name and strength of a bot. Players choose one to play a free seat. An engine is
a program from outside that the settings name.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from companion.core.i18n import say


@dataclass(frozen=True)
class Character:
    """A bot as players see it."""

    name: str
    level: int
    """One of `LEVELS`, or 0 for an engine, whose strength is unknown."""
    style: str
    """How the bot plays, in a few words."""
    drawing: str
    """Name of the character's picture."""
    command: tuple[str, ...] = ()
    """Program of an engine with its arguments. Empty for a built-in bot."""


# The built-in characters, by rising level.
CHARACTERS = (
    Character("Pip", 1, say("bold, cheerful, forgetful"), "face-pip"),
    Character("Bo", 2, say("steady, patient, stubborn"), "face-bo"),
    Character("Zeno", 3, say("quiet, exact, sly"), "face-zeno"),
)


def all_characters(engines: Iterable[str]) -> tuple[Character, ...]:
    """Return the built-in characters, then the engines of the settings (`NAME=COMMAND`).

    An engine is left out if a built-in character or an earlier engine has the same name, or if the
    engine's command has unbalanced quotation marks.

    >>> [character.name for character in all_characters(["Ada=/opt/ada --fast", "Bo=/opt/other"])]
    ['Pip', 'Bo', 'Zeno', 'Ada']
    """
    by_name = {character.name: character for character in CHARACTERS}
    for engine in engines:
        text, _, command_line = engine.partition("=")
        name = text.strip()
        with suppress(ValueError):
            command = tuple(shlex.split(command_line))
            character = Character(name, 0, say("an external engine"), "laptop", command)
            by_name.setdefault(name, character)
    return tuple(by_name.values())
