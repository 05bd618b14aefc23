"""Fair chance: the seed of a game comes from a secret to which the table is committed before the
game.

The commitment is SHA-256 of a secret of 32 bytes; no other game has the same, so it also names the
game whose chance this is. The seed is SHA-256 of a text of the commitment and the secret, read as a
number. The secret is opened when the game is over; then anybody can compute all of it again.
docs/security.md, "Fair chance", says it for outsiders.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

import msgspec

from companion.core.i18n import say
from companion.core.kit import SEATS, Seat

NOTHING = "-"
"""Stands in the seed's text for a seat that has contributed nothing."""
_HEX = re.compile(r"[0-9a-f]{64}")


class Contribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A seat's part in the seed: in older versions what its phone or pad gave, at two tables its
    sealed order's.
    """

    value: str
    by: str


class FairChance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the seed of a game comes from. `secret` are 64 hexadecimal digits, and a secret until
    the game is over.

    >>> FairChance(commitment_of("00" * 32), "00" * 32).text[-9:]
    '00000 - -'
    """

    commitment: str
    secret: str
    contributions: dict[Seat, Contribution] = {}

    @property
    def text(self) -> str:
        """`"COMMITMENT SECRET SOUTH NORTH"`, of which the seed is SHA-256."""
        parts = [self.commitment, self.secret]
        for seat in SEATS:
            contribution = self.contributions.get(seat)
            parts.append(contribution.value if contribution else NOTHING)
        return " ".join(parts)

    @property
    def seed(self) -> int:
        """SHA-256 of the text in UTF-8, read as a number of 256 bits with the highest first."""
        return int(hashlib.sha256(self.text.encode()).hexdigest(), 16)

    def faults(self, seed: int) -> Iterator[str]:
        """Say what does not fit in the chance of a game that was played with this seed."""
        if not _HEX.fullmatch(self.secret) or commitment_of(self.secret) != self.commitment:
            yield say(
                "The secret does not match the commitment: it was changed after the commitment was "
                "published."
            )
        if seed != self.seed:
            yield say("The seed does not come from the secret.")


def commitment_of(secret: str) -> str:
    """Return SHA-256 of the secret's bytes, which are given in hexadecimal digits.

    >>> commitment_of("00" * 32)[:16]
    '66687aadf862bd77'
    """
    return hashlib.sha256(bytes.fromhex(secret)).hexdigest()


def chance_of_orders(game: str, salts: Mapping[Seat, str]) -> FairChance:
    """Draw the chance of a game at two tables from SHA-256 of the salts of both sealed orders.

    Both were bound before either was opened, so that nobody could choose. The secret is none, but
    the game's name.
    """
    secret = hashlib.sha256(game.encode()).hexdigest()
    contributions = {
        seat: Contribution(hashlib.sha256(salt.encode()).hexdigest(), "order")
        for seat, salt in salts.items()
    }
    return FairChance(commitment_of(secret), secret, contributions)
