"""People at a hub, who are known by their players' cards.

A card is a value. It has a code and a name, and no other personal data. The name can be forgotten,
but the person's number stays. `companion.league.player_cards` holds all cards of a hub.
"""

from __future__ import annotations

import secrets

import msgspec

from companion.core.errors import Malformed
from companion.core.i18n import Verbatim, say
from companion.core.network import new_code
from companion.table.seats.seat_fold import parse_name

# Length of a card's code, in characters.
CODE_LENGTH = 8
# Maximum number of people at a hub who have not been forgotten.
MAX_PEOPLE = 5000
# Number of the machine as an opponent, where people have the numbers of their cards.
MACHINE_NUMBER = 0


class PlayerCard(msgspec.Struct, frozen=True, rename={"id": "card", "is_name_public": "is_shown"}):
    """The card of a person. Code and name are empty once the person has been forgotten."""

    number: int
    """Number of the person at the hub, which is permanent."""
    id: str
    """Id of the card in tables' records."""
    code: str
    """Code that the person types at a table to show the card."""
    name: str
    is_name_public: bool = True
    """Whether the name may appear on the hub's pages and in exports."""

    @property
    def is_forgotten(self) -> bool:
        """Whether the name and the code have been deleted."""
        return not self.code

    def __repr__(self) -> str:
        return f"PlayerCard({self.number})"


def new_card(number: int, name: str, is_name_public: bool) -> PlayerCard:
    """Create the card of the person with this number. Raises `Malformed` for a bad name."""
    card_id = secrets.token_hex(8)
    code = new_code(CODE_LENGTH)
    return PlayerCard(number, card_id, code, parse_player_name(name), is_name_public)


def parse_player_name(typed: str) -> str:
    """Return a typed name with single spaces. Raises `Malformed` if it is not valid."""
    name = parse_name(" ".join(typed.split()))
    if not name:
        raise Malformed(say("Enter the name by which you want to be called"))
    return name


def shown_name(card: PlayerCard | None, number: int = MACHINE_NUMBER) -> str:
    """Return how the hub's pages refer to somebody: by name if that person agreed, else by number.

    `card` is None for the machine, and for somebody whose card is not known here. `number` is then
    `MACHINE_NUMBER` for the machine, or the person's number.
    """
    if card is not None and card.name and card.is_name_public:
        return Verbatim(card.name)
    number = card.number if card else number
    return say("Player {number}", number=number) if number else say("The machine")
