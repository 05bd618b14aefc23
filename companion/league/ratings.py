"""Ratings of people from their games against each other, by OpenSkill. They are always computed
from scratch.

The model is Bradley-Terry with full pairing (Weng and Lin, 2011), as implemented by `openskill`.
Its scale is changed to one that players know: the initial mean of 25 is shown as 1500, and the
initial deviation of 25/3 as 200.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from companion.core.clock import Clock
from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.league.league_file import LeagueFile, Season, put, put_number
from companion.league.people import MACHINE_NUMBER, MAX_TITLE, title_of
from companion.league.results import StoredResult

INITIAL_RATING, POINTS_PER_UNIT, INITIAL_MEAN = 1500.0, 24.0, 25.0
"""Initial rating, points for one unit of OpenSkill, and OpenSkill's initial mean."""
CAUTION_DEVIATIONS = 2.0
"""Number of deviations subtracted from a rating to order the list, so that one lucky game makes no
champion.
"""
LAST_S = 1e12
"""End of the last season (Unix time), in the far future."""


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


def ladder(games: Iterable[StoredResult], machines: bool = False) -> tuple[RatingRow, ...]:
    """Return the ratings of everybody who has played, strongest first.

    The machine counts as an opponent if `machines` is set, but it is not listed. Raises
    `SystemTrouble` if the library is not installed.
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
        if not game.counts(machines) or game.south is None or game.north is None:
            continue
        pair, won = (game.south, game.north), game.result.winner
        old = [[skill.get(person) or model.rating()] for person in pair]
        # rank 0 is the winner, and equal ranks are a draw
        places = [0, 0] if won is None else [0, 1] if won is Seat.SOUTH else [1, 0]
        for person, place, (fresh,) in zip(
            pair, places, model.rate(old, ranks=[*map(float, places)]), strict=True
        ):
            skill[person] = fresh
            # the index in won, drawn, lost: rank 0 has won, rank 1 has lost
            tally.setdefault(person, [0, 0, 0])[1 if won is None else 2 * place] += 1
    ranked = (
        _rating_row(person, rated, tally[person])
        for person, rated in skill.items()
        if person != MACHINE_NUMBER
    )
    return tuple(sorted(ranked, key=lambda entry: (-entry.cautious, entry.person)))


def _rating_row(person: int, rated: Any, tally: list[int]) -> RatingRow:
    return RatingRow(
        person,
        INITIAL_RATING + (rated.mu - INITIAL_MEAN) * POINTS_PER_UNIT,
        rated.sigma * POINTS_PER_UNIT,
        *tally,
    )


class Ladders:
    """Computes ratings from stored results and caches them until the next change."""

    def __init__(self, file: LeagueFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._seasons = file.seasons()
        self._computed: dict[tuple[str, int], tuple[int, tuple[RatingRow, ...]]] = {}
        self.machines = bool(file.value("machines"))
        """Whether games against the machine count for ratings."""

    def seasons(self) -> tuple[Season, ...]:
        """Return the seasons, oldest first. Season 0, without a name, precedes the first one."""
        with self._file.lock:
            return (Season(0, "", 0.0), *self._seasons)

    def new_season(self, name: str) -> Season:
        """Begin a season now. Raises `Malformed` if the name is not valid."""
        title = title_of(
            name, say("Give the season a name of at most {number} characters", number=MAX_TITLE)
        )
        with self._file.lock:
            season = Season(len(self._seasons) + 1, title, self._clock.wall_s())
            self._file.write(put("seasons", season.number, season))
            self._seasons.append(season)
            self._file.changed()
        return season

    def count_machines(self, machines: bool) -> None:
        """Set whether games against the machine count for ratings."""
        with self._file.lock:
            self._file.write(put_number("machines", machines))
            self.machines = machines
            self._file.changed()

    def ratings(self, game: str, season: int | None = None) -> tuple[RatingRow, ...]:
        """Return the ratings for a game in a season, strongest first. None stands for the current
        season.

        Empty if there is no such season. Raises `SystemTrouble`.
        """
        with self._file.lock:
            season = len(self._seasons) if season is None else season
            # version -1 never occurs, so it stands for ratings that were not computed yet
            version, ranked = self._computed.get((game, season), (-1, ()))
            if version == self._file.version:
                return ranked
            # a season ends where the next one begins
            bounds_s = [*(begun.begins_s for begun in self.seasons()), LAST_S]
            if not 0 <= season < len(bounds_s) - 1:
                return ()
            games = self._file.games(game, bounds_s[season], bounds_s[season + 1])
            ranked = ladder(games, self.machines)
            self._computed[game, season] = (self._file.version, ranked)
            return ranked
