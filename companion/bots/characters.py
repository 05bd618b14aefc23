"""The machine's characters: three of our own, one for each level, and external engines."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from companion.core.i18n import say


@dataclass(frozen=True)
class Character:
    """An opponent as players see it.

    `level` is 0 if it is unknown. `command` starts the external engine of this character.
    """

    name: str
    level: int
    style: str
    drawing: str
    command: tuple[str, ...] = ()


CHARACTERS = (
    Character(
        "Pip",
        1,
        say("bold, cheerful, forgetful"),
        "face-pip",
    ),
    Character(
        "Bo",
        2,
        say("steady, patient, stubborn"),
        "face-bo",
    ),
    Character(
        "Zeno",
        3,
        say("quiet, exact, sly"),
        "face-zeno",
    ),
)


def cast(engines: Iterable[str]) -> tuple[Character, ...]:
    """Return all characters: our own, then the engines of the settings (`NAME=COMMAND`).

    An engine cannot take the name of one of our own.

    >>> [character.name for character in cast(["Ada=/opt/ada --fast", "Bo=/opt/other"])]
    ['Pip', 'Bo', 'Zeno', 'Ada']
    """
    by_name = {character.name: character for character in CHARACTERS}
    for engine in engines:
        name, _, text = engine.partition("=")
        with suppress(ValueError):  # unbalanced quotation marks
            command = tuple(shlex.split(text))
            by_name.setdefault(
                name.strip(),
                Character(
                    name.strip(),
                    0,
                    say("an external engine"),
                    "laptop",
                    command,
                ),
            )
    return tuple(by_name.values())
