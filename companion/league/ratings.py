"""How strong people are, by the games that they have played against one another: OpenSkill, always
worked out anew.

Bradley-Terry with full pairing (Weng and Lin, 2011), as `openskill` has it. Its 25 are shown as
1500 and a third of its first uncertainty as 67 points, so that numbers look as players know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.league.people import MACHINE_NUMBER

BEGIN, SCALE, FIRST = 1500.0, 24.0, 25.0
"""Rating of a newcomer. Points for one of OpenSkill's. What a newcomer has there."""
CAUTION = 2.0
"""How many times its uncertainty is taken from a rating for the list: one lucky game makes no
champion."""


class RatedGame(msgspec.Struct, frozen=True):
    """A game between two people by their numbers, or with the machine (0).

    None: nobody had shown a card.
    """

    south: int | None
    north: int | None
    winner: Seat | None
    ended_s: float
    key: str

    def counts(self, machines: bool) -> bool:
        """Return whether it counts. Not between one and the same, nor unknown.

        With the machine only if that was said.
        """
        people = {self.south, self.north}
        return (
            len(people) == 2 and None not in people and (machines or MACHINE_NUMBER not in people)
        )


@dataclass(frozen=True)
class Strength:
    """Somebody's place in a list: rating, its uncertainty, and games won, drawn and lost."""

    person: int
    rating: float
    deviation: float
    won: int
    drawn: int
    lost: int

    @property
    def cautious(self) -> float:
        """Return what the list is ordered by."""
        return self.rating - CAUTION * self.deviation


def ladder(games: Iterable[RatedGame], machines: bool = False) -> tuple[Strength, ...]:
    """Return everybody who has played, the strongest first.

    The machine is counted as an opponent, but not listed.

    Raises `SystemTrouble` where the library is not installed.
    """
    try:
        from openskill.models import BradleyTerryFull  # noqa: PLC0415 - only a hub has it, and only pages need it
    except ImportError:
        raise SystemTrouble(
            say("The programs for a hub are not installed: pip install 'tabletop-companion[hub]'")
        ) from None
    model = BradleyTerryFull()
    skill: dict[int, Any] = {}
    tally: dict[int, list[int]] = {}
    # in the order in which they ended: a rating depends on what came before
    for game in sorted(games, key=lambda game: (game.ended_s, game.key)):
        if not game.counts(machines) or game.south is None or game.north is None:
            continue
        pair = (game.south, game.north)
        old = [[skill.get(person) or model.rating()] for person in pair]
        # the first place is 0, and two who share it have drawn
        places = [0, 0] if game.winner is None else [0, 1] if game.winner is Seat.SOUTH else [1, 0]
        for person, place, (fresh,) in zip(
            pair, places, model.rate(old, ranks=[*map(float, places)]), strict=True
        ):
            skill[person] = fresh
            # a tally is won, drawn, lost: place 0 has won, place 1 has lost
            tally.setdefault(person, [0, 0, 0])[1 if game.winner is None else 2 * place] += 1
    ranked = (
        _strength(person, rated, tally[person])
        for person, rated in skill.items()
        if person != MACHINE_NUMBER
    )
    return tuple(sorted(ranked, key=lambda entry: (-entry.cautious, entry.person)))


def seeds(games: Iterable[RatedGame]) -> Mapping[int, float]:
    """Return everybody's rating, for drawing a tournament. Who has none begins in the middle."""
    return {rated.person: rated.rating for rated in ladder(games)}


def _strength(person: int, rated: Any, tally: list[int]) -> Strength:
    return Strength(person, BEGIN + (rated.mu - FIRST) * SCALE, rated.sigma * SCALE, *tally)
