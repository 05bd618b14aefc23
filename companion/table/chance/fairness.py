"""Fair chance: a game's seed comes from a secret to which the table has committed before the game.

1. Before a game, the table draws a secret of 32 random bytes, and publishes its SHA-256, the
   commitment. From now on the table cannot choose another secret, and nobody can guess this one.
2. As the game begins, the seed is computed: the SHA-256 of a text that has the commitment, the
   secret, and a contribution of each seat or a dash. All chance of the game comes from the seed.
3. When the game is over, the table publishes the secret and the contributions. So anybody can
   compute commitment and seed again. docs/security.md, "Fair chance", explains how.

Only two kinds of games have contributions: those at two tables (see `chance_from_salts`), and those
of older versions, in which a phone or a pad could add random text of its own.

The last section makes each turn's random generator from the seed. It serves all games, also those
without a commitment, such as one for which the owner has chosen the seed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from random import Random

import msgspec

from companion.core.i18n import say
from companion.core.kit import SEATS, Seat

# Placeholder in the text behind the seed for a seat without a contribution.
NO_CONTRIBUTION = "-"

_HEX = re.compile(r"[0-9a-f]{64}")


class Contribution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A seat's contribution to the seed.

    Only games at two tables and journals of older versions have any.
    """

    value: str
    """Text that is mixed into the seed, such as 64 hexadecimal digits."""
    by: str
    """Where the text came from: `order` at two tables, where it is the hash of the salt of the
    seat's sealed action. In older versions it came from the seat's phone or pad.
    """


class FairChance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The source of a game's seed.

    >>> FairChance(commitment_of("00" * 32), "00" * 32).seed_text[-9:]
    '00000 - -'
    """

    commitment: str
    """SHA-256 of the secret, as 64 hexadecimal digits. It is public before the game begins."""
    secret: str
    """32 bytes as 64 hexadecimal digits. They stay secret until the game is over."""
    contributions: dict[Seat, Contribution] = {}
    """What the seats have contributed to the seed. Empty in most games, see above."""

    @property
    def seed_text(self) -> str:
        """The text `"COMMITMENT SECRET SOUTH NORTH"`, whose SHA-256 is the seed.

        `SOUTH` and `NORTH` stand for the seats' contributions, or for a dash.
        """
        parts = [self.commitment, self.secret]
        for seat in SEATS:
            contribution = self.contributions.get(seat)
            parts.append(contribution.value if contribution else NO_CONTRIBUTION)
        return " ".join(parts)

    @property
    def seed(self) -> int:
        """SHA-256 of `seed_text` in UTF-8, read as a big-endian number of 256 bits."""
        return int(hashlib.sha256(self.seed_text.encode()).hexdigest(), 16)

    def find_faults(self, seed: int) -> Iterator[str]:
        """Yield a sentence for each thing that does not match in a game that is over.

        `seed` is the seed with which the game was played.
        """
        if not _HEX.fullmatch(self.secret) or commitment_of(self.secret) != self.commitment:
            yield say(
                "The secret does not match the commitment: it was changed after the commitment was "
                "published."
            )
        if seed != self.seed:
            yield say("The seed does not come from the secret.")


def commitment_of(secret: str) -> str:
    """Return the commitment to a secret: the SHA-256 of its bytes.

    Both are written in hexadecimal digits.

    >>> commitment_of("00" * 32)[:16]
    '66687aadf862bd77'
    """
    return hashlib.sha256(bytes.fromhex(secret)).hexdigest()


def chance_from_salts(game_id: str, salts: Mapping[Seat, str]) -> FairChance:
    """Return the source of chance of a game at two tables, made of both sealed actions' salts.

    The SHA-256 of each salt is the contribution of its seat. Both actions were sealed before either
    was opened, so neither table could choose the seed. Neither could predict it, because the salt
    of the other action was still secret.

    Such a game needs no secret of one table. The field `secret` is only the hash of the game's id,
    which both tables know.
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

    Each turn draws from a numbered stream of its own (see `stream_number`), and the set-up draws
    from stream 0. So what one turn draws does not change what the next one draws.
    """
    return Random(f"{seed}/{stream}")


def stream_number(
    chance: FairChance | None, is_seed_chosen: bool, turn_number: int, tick: int
) -> int:
    """Return the number of a turn's stream of random numbers.

    It is the number of the turn, counted from 1. A turn that is taken back and played again has the
    same number, so it draws the same again.

    Games of older versions with neither `chance` nor a chosen seed use `tick` instead: the number
    of the decision, such as 7 in the moment `3.7`, which also counts turns that were taken back. A
    game that draws nothing may use either number.
    """
    return tick if chance is None and not is_seed_chosen else turn_number
