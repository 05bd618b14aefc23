"""Fair chance: a game's seed comes from a secret to which the table has committed before the game.

The commitment is SHA-256 of a secret of 32 bytes. It is unique, so it also names the game. The seed
is SHA-256 of a text of commitment and secret, read as a number. After the game the secret is
published, so that anybody can compute all of it again. docs/security.md, "Fair chance", explains it
for outsiders.

The last section makes each turn's random generator from the seed, also in games without a
commitment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from random import Random

import msgspec

from companion.core.i18n import say
from companion.core.kit import SEATS, Seat

# Placeholder in the seed's text for a seat without a contribution.
NO_CONTRIBUTION = "-"

_HEX = re.compile(r"[0-9a-f]{64}")


class Contribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A seat's contribution to the seed.

    Only games at two tables and journals of older versions have any.
    """

    value: str
    by: str
    """Where it came from: `order` (the salt of a sealed action) at two tables, the seat's phone or
    pad in older versions.
    """


class FairChance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The source of a game's seed.

    >>> FairChance(commitment_of("00" * 32), "00" * 32).text[-9:]
    '00000 - -'
    """

    commitment: str
    """SHA-256 of the secret, as 64 hexadecimal digits. It is public before the game."""
    secret: str
    """64 hexadecimal digits. They stay secret until the game is over."""
    contributions: dict[Seat, Contribution] = {}

    @property
    def text(self) -> str:
        """Return the text `"COMMITMENT SECRET SOUTH NORTH"`, whose SHA-256 is the seed."""
        parts = [self.commitment, self.secret]
        for seat in SEATS:
            contribution = self.contributions.get(seat)
            parts.append(contribution.value if contribution else NO_CONTRIBUTION)
        return " ".join(parts)

    @property
    def seed(self) -> int:
        """Return SHA-256 of the text in UTF-8, read as a big-endian number of 256 bits."""
        return int(hashlib.sha256(self.text.encode()).hexdigest(), 16)

    def find_faults(self, seed: int) -> Iterator[str]:
        """Yield a sentence for each fault of this source, in a game that was played with `seed`."""
        if not _HEX.fullmatch(self.secret) or commitment_of(self.secret) != self.commitment:
            yield say(
                "The secret does not match the commitment: it was changed after the commitment was "
                "published."
            )
        if seed != self.seed:
            yield say("The seed does not come from the secret.")


def commitment_of(secret: str) -> str:
    """Return the commitment to a secret: SHA-256 of its bytes. Both are hexadecimal digits.

    >>> commitment_of("00" * 32)[:16]
    '66687aadf862bd77'
    """
    return hashlib.sha256(bytes.fromhex(secret)).hexdigest()


def chance_from_salts(game_id: str, salts: Mapping[Seat, str]) -> FairChance:
    """Draw the chance of a game at two tables from SHA-256 of the salts of both sealed actions.

    Both actions were sealed before either was opened, so nobody could choose the seed. Nobody could
    predict it either, because the salts were secret until then. The `secret` of such a game is only
    the hash of its id, which both tables know.
    """
    secret = hashlib.sha256(game_id.encode()).hexdigest()
    contributions = {
        seat: Contribution(hashlib.sha256(salt.encode()).hexdigest(), "order")
        for seat, salt in salts.items()
    }
    return FairChance(commitment_of(secret), secret, contributions)


# ---- what is drawn from the seed -----------------------------------------------------------------


def turn_random(seed: int, stream: int) -> Random:
    """Return the random generator of one turn, for the game and its replay.

    Each turn draws from a numbered stream of its own (see `stream_number`), and the set-up from
    stream 0, so what one turn draws does not change what the next one draws.
    """
    return Random(f"{seed}/{stream}")


def stream_number(
    chance: FairChance | None, is_seed_chosen: bool, turn_number: int, tick: int
) -> int:
    """Return the number of a turn's stream of random numbers.

    It is the number of the turn, counted from 1. Games of older versions with neither `chance` nor
    a chosen seed use `tick` instead: the number of the decision, such as 7 in the moment `3.7`. It
    also counts turns that were taken back. A game that draws nothing may use either.
    """
    return tick if chance is None and not is_seed_chosen else turn_number
