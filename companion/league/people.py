"""Players' cards: a code and a name, and nothing else of anybody.

A name can be forgotten, its number stays.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection

import msgspec

from companion.core.errors import Malformed
from companion.core.i18n import Verbatim, say
from companion.core.names import is_printable, plain_name
from companion.core.network import new_code
from companion.table.seats.sitting import checked_name

CODE_LENGTH = 8
MAX_PEOPLE = 5000
MAX_TITLE = 48
"""Maximum length of the name of a tournament, a team or a season."""
MACHINE_NUMBER = 0
"""The number by which the machine is counted as an opponent."""


class Person(msgspec.Struct, frozen=True):
    """Somebody with a card: `number` is for ever, `card` is how tables call it, `code` opens it.

    `is_shown`: the name may stand on the hub's pages and in its exports. Forgotten: neither code
    nor name.
    """

    number: int
    card: str
    code: str
    name: str
    is_shown: bool = True

    @property
    def is_forgotten(self) -> bool:
        """Return whether its name has been forgotten for good."""
        return not self.code

    def __repr__(self) -> str:
        return f"Person({self.number})"


def new_person(number: int, name: str, is_shown: bool, used_codes: Collection[str]) -> Person:
    """Make a card for somebody, with a code that nobody has.

    Raises `Malformed` for a name that is none.
    """
    code = new_code(CODE_LENGTH)
    while code in used_codes:
        code = new_code(CODE_LENGTH)
    return Person(number, secrets.token_hex(8), code, player_name(name), is_shown)


def player_name(typed: str) -> str:
    """Return a name as it is kept. Raises `Malformed`."""
    name = checked_name(" ".join(typed.split()))
    if not name:
        raise Malformed(say("Enter the name by which you want to be called"))
    return name


def plain_title(typed: str) -> str:
    """Return the name of a tournament, a team or a season as it is kept. Empty: this is none."""
    title = plain_name(" ".join(typed.split()))
    return title if len(title) <= MAX_TITLE and is_printable(title) else ""


def shown_name(person: Person | None, number: int = MACHINE_NUMBER) -> str:
    """Return how the hub's pages call somebody: by name where that was agreed, else by number."""
    if person is not None and person.name and person.is_shown:
        return Verbatim(person.name)
    number = person.number if person else number
    return say("Player {number}", number=number) if number else say("The machine")
