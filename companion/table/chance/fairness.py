"""Fair chance: a secret that the table commits to, mixed with what both seats give, is the seed of a game.

The commitment is SHA-256 of a secret of 32 bytes; it is published before any seat gives anything, and no other game has
the same, so it also is the name of the game whose chance this is. The seed is SHA-256 of a text of the commitment, the
secret and both contributions, read as a number. The secret is opened when the game is over; then anybody can compute
all of it again. docs/security.md, "Fair chance", says it for outsiders.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

import msgspec

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat

NOTHING = "-"
"""Stands in the seed's text for a seat that has given nothing."""
GIVERS = ("phone", "shared", "pad", "table", "machine", "order")
"""What gave a contribution: a phone, one phone for both seats, the seat's pad, the table's button, a sealed order."""
_PRESS = re.compile(r"(pad|table)-[0-9]{1,24}")
_HEX = re.compile(r"[0-9a-f]{64}")


class Contribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a seat has given: 64 hexadecimal digits, or the time stamp of a press in ns; `by` is one of `GIVERS`."""

    value: str
    by: str


class Pledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What everybody is told before a game begins: the commitment, and who has given."""

    commitment: str
    contributions: dict[Seat, Contribution] = {}


class FairChance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the seed of a game comes from. `secret` are 64 hexadecimal digits, and a secret until the game is over.

    >>> both = {Seat.SOUTH: Contribution("ab" * 32, "phone")}
    >>> FairChance(commitment_of("00" * 32), "00" * 32, both).text[-69:]
    '00 abababababababababababababababababababababababababababababababab -'
    """

    commitment: str
    secret: str
    contributions: dict[Seat, Contribution] = {}

    @property
    def text(self) -> str:
        """`"COMMITMENT SECRET SOUTH NORTH"`, of which the seed is SHA-256."""
        given = (self.contributions[seat].value if seat in self.contributions else NOTHING for seat in SEATS)
        return " ".join((self.commitment, self.secret, *given))

    @property
    def seed(self) -> int:
        """SHA-256 of the text in UTF-8, read as a number of 256 bits with the highest first."""
        return int(hashlib.sha256(self.text.encode()).hexdigest(), 16)

    def faults(self, seed: int) -> Iterator[str]:
        """What does not fit in the chance of a game that was played with this seed, as sentences; none: all fits."""
        if not _HEX.fullmatch(self.secret) or commitment_of(self.secret) != self.commitment:
            yield say("The secret does not match the commitment: it was changed after the commitment was published.")
        for seat, given in sorted(self.contributions.items()):
            if not _fits(given.value, given.by):
                yield say("What {seat!c} gave is not a valid contribution.", seat=seat)
        if seed != self.seed:
            yield say("The seed does not come from the secret and the contributions.")


def commitment_of(secret: str) -> str:
    """SHA-256 of the secret's bytes, which are given in hexadecimal digits.

    >>> commitment_of("00" * 32)[:16]
    '66687aadf862bd77'
    """
    return hashlib.sha256(bytes.fromhex(secret)).hexdigest()


def chance_of_orders(game: str, salts: Mapping[Seat, str]) -> FairChance:
    """Where the chance of a game at two tables comes from: of each seat SHA-256 of the salt of its sealed order.

    Both were bound before either was opened, so that nobody could choose; the secret is none, but the game's name.
    """
    secret = hashlib.sha256(game.encode()).hexdigest()
    given = {seat: Contribution(hashlib.sha256(salt.encode()).hexdigest(), "order") for seat, salt in salts.items()}
    return FairChance(commitment_of(secret), secret, given)


def checked(value: str, by: str) -> Contribution:
    """A contribution as it is kept; raises `Malformed` for anything but 64 hexadecimal digits, or a press."""
    if not _fits(value, by):
        raise Malformed(say("A contribution is 64 hexadecimal digits with lower-case letters"))
    return Contribution(value, by)


def _fits(value: str, by: str) -> bool:
    """Is it what one of the givers can have given?"""
    press = _PRESS.fullmatch(value)
    return by in GIVERS and (by == press[1] if press else bool(_HEX.fullmatch(value)) and by not in ("pad", "table"))


def press_value(by: str, at_s: float) -> str:
    """The contribution of a press: its time stamp in ns.

    >>> press_value("pad", 12.5)
    'pad-12500000000'
    """
    return f"{by}-{round(at_s * 1_000_000_000)}"
