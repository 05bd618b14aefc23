"""Who can be asked to play: three characters of our own, one a level, and engines from outside."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from companion.core.i18n import say


@dataclass(frozen=True)
class Character:
    """An opponent as people meet it.

    `level` 0: nobody knows. `command`: the engine from outside that plays for it.
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
    """Return everybody who can be asked: our own, then the settings' engines (`NAME=COMMAND`).

    Our names stay ours.

    >>> [character.name for character in cast(["Ada=/opt/ada --fast", "Bo=/opt/other"])]
    ['Pip', 'Bo', 'Zeno', 'Ada']
    """
    by_name = {character.name: character for character in CHARACTERS}
    for engine in engines:
        name, _, text = engine.partition("=")
        with suppress(ValueError):  # an open quotation mark
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
