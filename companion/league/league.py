"""The league of a hub: players' cards, results, ratings and tournaments.

Every change is stored before it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from companion.core.clock import Clock
from companion.core.ports import Closeable
from companion.league.league_file import LeagueFile
from companion.league.player_cards import PlayerCards
from companion.league.ratings import RatingRow, rate_players
from companion.league.result_store import ResultStore
from companion.league.tournament_store import TournamentStore


class League(Closeable):
    """Opens the league's file and its parts: `cards`, `tournaments` and `results`.

    The parts may be used from any thread. `close` may be called twice. `free_tables` returns the
    ids of the tables where a board of a tournament may be played, in order of preference.
    `when_changed` is called after every change that a page could show.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        free_tables: Callable[[], Sequence[str]] = tuple,
        when_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._file = LeagueFile(folder, when_changed)
        self.cards = PlayerCards(self._file)
        self.tournaments = TournamentStore(self._file, clock, self.cards, free_tables)
        self.results = ResultStore(self._file, clock, self.cards, self.tournaments)

    def ratings(self, game: str) -> tuple[RatingRow, ...]:
        """Return the ratings for a game, strongest first.

        Every call reads all results of the game from the file and computes the ratings anew. A
        thousand results take a tenth of a second. Raises `SystemTrouble` if the file cannot be
        read, or without the library of `rate_players`.
        """
        return rate_players(self._file.counted_results(game))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
