"""Seasons, and who is how strong in each."""

from __future__ import annotations

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.league.league_file import Changes, Ledger, Season
from companion.league.people import MAX_TITLE, plain_title
from companion.league.ratings import Strength, ladder

LAST_S = 1e12
"""When the last season ends (Unix time): not yet."""


class Ladders:
    """Ratings are computed of the results that are kept, once after each change."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seasons = ledger.store.seasons()
        self._computed: dict[tuple[str, int], tuple[int, tuple[Strength, ...]]] = {}
        self.machines = bool(ledger.store.value("machines"))
        """Whether games against the machine count for ratings."""

    def seasons(self) -> tuple[Season, ...]:
        """Return the seasons, the oldest first. Before the first one is 0, without a name."""
        with self._ledger.lock:
            return (Season(0, "", 0.0), *self._seasons)

    def new_season(self, name: str) -> Season:
        """Begin a season now. Raises `Malformed`."""
        title = plain_title(name)
        if not title:
            raise Malformed(
                say("Give the season a name of at most {number} characters", number=MAX_TITLE)
            )
        with self._ledger.lock:
            season = Season(len(self._seasons) + 1, title, self._ledger.clock.wall_s())
            self._ledger.write(Changes(seasons=[season]))
            self._seasons.append(season)
            self._ledger.changed()
        return season

    def count_machines(self, machines: bool) -> None:
        """Count games against the machine for ratings from now on, or do not."""
        with self._ledger.lock:
            self._ledger.write(Changes(machines=machines))
            self.machines = machines
            self._ledger.changed()

    def of(self, game: str, season: int | None = None) -> tuple[Strength, ...]:
        """Return the ratings of a game in a season (None: in the one that is on), the strongest
        first.

        Empty where there is no such season. Raises `SystemTrouble`.
        """
        with self._ledger.lock:
            season = len(self._seasons) if season is None else season
            # no ledger has the version -1: then nothing was computed yet
            version, ranked = self._computed.get((game, season), (-1, ()))
            if version == self._ledger.version:
                return ranked
            # a season ends where the next one begins
            bounds_s = [*(begun.begins_s for begun in self.seasons()), LAST_S]
            if not 0 <= season < len(bounds_s) - 1:
                return ()
            games = self._ledger.store.games(game, bounds_s[season], bounds_s[season + 1])
            ranked = ladder(games, self.machines)
            self._computed[game, season] = (self._ledger.version, ranked)
            return ranked
