"""Ratings of people from their games against each other, by OpenSkill.

Ratings are never stored. Every call computes them from all results.

The model is Bradley-Terry with full pairing (Weng and Lin, 2011), as implemented by `openskill`.
Its scale is changed to one that players know: the initial mean of 25 is shown as 1500, and the
initial deviation of 25/3 as 200.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.league.results import StoredResult

# Rating of somebody who has not played yet, and the mean in OpenSkill to which it corresponds.
INITIAL_RATING = 1500.0
INITIAL_MEAN = 25.0
# Points of a rating for one unit of OpenSkill, whose initial deviation of 25/3 units is then 200
# points.
POINTS_PER_UNIT = 24.0
# Number of deviations subtracted from a rating to order the list, so that nobody leads it after one
# lucky game.
CAUTION_DEVIATIONS = 2.0


@dataclass(frozen=True)
class RatingRow:
    """A row of the rating list: a person by number, the rating, and the numbers of games."""

    person: int
    rating: float
    deviation: float
    """Standard deviation of the rating, in its points."""
    won: int
    drawn: int
    lost: int

    @property
    def cautious_rating(self) -> float:
        """The rating that the player very likely exceeds, by which the list is sorted."""
        return self.rating - CAUTION_DEVIATIONS * self.deviation


def rate_players(results: Iterable[StoredResult]) -> tuple[RatingRow, ...]:
    """Return the ratings of everybody who has played against others, strongest first.

    Results that do not count are skipped (see `StoredResult.is_between_two_people`). Raises
    `SystemTrouble` if the library is not installed.
    """
    try:
        from openskill.models import BradleyTerryFull  # noqa: PLC0415 - only a hub has it, and only pages need it
    except ImportError:
        raise SystemTrouble(
            say("The programs for a hub are not installed: pip install 'tabletop-companion[hub]'")
        ) from None
    model = BradleyTerryFull()
    skills: dict[int, Any] = {}
    tallies: dict[int, Counter[str]] = {}
    # rate games in the order in which they ended, because each rating depends on earlier ones
    for stored in sorted(results, key=lambda stored: (stored.result.ended_s, stored.result.key)):
        if not stored.is_between_two_people or stored.south is None or stored.north is None:
            continue
        people = (stored.south, stored.north)
        winner = stored.result.winner
        # OpenSkill rates teams, and these teams have one member each
        teams = [[skills.get(person) or model.rating()] for person in people]
        # the lowest rank has won, and equal ranks are a draw
        ranks = [1.0 if winner is seat.other else 0.0 for seat in SEATS]
        rated_teams = model.rate(teams, ranks=ranks)
        for seat, person, (skill,) in zip(SEATS, people, rated_teams, strict=True):
            skills[person] = skill
            tally = tallies.setdefault(person, Counter())
            if winner is None:
                tally["drawn"] += 1
            else:
                tally["won" if winner is seat else "lost"] += 1
    rows = [_rating_row(person, skill, tallies[person]) for person, skill in skills.items()]
    return tuple(sorted(rows, key=lambda row: (-row.cautious_rating, row.person)))


def _rating_row(person: int, skill: Any, tally: Counter[str]) -> RatingRow:
    return RatingRow(
        person,
        rating=INITIAL_RATING + (skill.mu - INITIAL_MEAN) * POINTS_PER_UNIT,
        deviation=skill.sigma * POINTS_PER_UNIT,
        won=tally["won"],
        drawn=tally["drawn"],
        lost=tally["lost"],
    )
