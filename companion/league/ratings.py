"""Ratings of people from their games against each other, by OpenSkill.

They are always computed from scratch.

The model is Bradley-Terry with full pairing (Weng and Lin, 2011), as implemented by `openskill`.
Its scale is changed to one that players know: the initial mean of 25 is shown as 1500, and the
initial deviation of 25/3 as 200.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.league.results import StoredResult

INITIAL_RATING, POINTS_PER_UNIT, INITIAL_MEAN = 1500.0, 24.0, 25.0
"""Initial rating, points for one unit of OpenSkill, and OpenSkill's initial mean."""
CAUTION_DEVIATIONS = 2.0
"""Number of deviations subtracted from a rating to order the list, so that one lucky game does not
lead it.
"""


@dataclass(frozen=True)
class RatingRow:
    """A row of the rating list: rating, its standard deviation, and games won, drawn and lost."""

    person: int
    rating: float
    deviation: float
    won: int
    drawn: int
    lost: int

    @property
    def cautious(self) -> float:
        """Return the conservative rating by which the list is sorted."""
        return self.rating - CAUTION_DEVIATIONS * self.deviation


def ladder(games: Iterable[StoredResult]) -> tuple[RatingRow, ...]:
    """Return the ratings of everybody who has played against others, strongest first.

    Raises `SystemTrouble` if the library is not installed.
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
    # rate games in the order in which they ended, because each rating depends on earlier ones
    for game in sorted(games, key=lambda game: (game.result.ended_s, game.result.key)):
        if not game.counts or game.south is None or game.north is None:
            continue
        pair = (game.south, game.north)
        winner = game.result.winner
        old = [[skill.get(person) or model.rating()] for person in pair]
        # rank 0 is the winner, and equal ranks are a draw
        places = [0, 0]
        if winner is not None:
            places = [0, 1] if winner is Seat.SOUTH else [1, 0]
        rated = model.rate(old, ranks=[*map(float, places)])
        for person, place, (fresh,) in zip(pair, places, rated, strict=True):
            skill[person] = fresh
            # the index in won, drawn, lost: rank 0 has won, rank 1 has lost
            tally.setdefault(person, [0, 0, 0])[1 if winner is None else 2 * place] += 1
    ranked = [_rating_row(person, rating, tally[person]) for person, rating in skill.items()]
    return tuple(sorted(ranked, key=lambda entry: (-entry.cautious, entry.person)))


def _rating_row(person: int, rated: Any, tally: list[int]) -> RatingRow:
    return RatingRow(
        person,
        INITIAL_RATING + (rated.mu - INITIAL_MEAN) * POINTS_PER_UNIT,
        rated.sigma * POINTS_PER_UNIT,
        *tally,
    )
