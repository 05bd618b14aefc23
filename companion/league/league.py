"""The league of a hub: players' cards, results, ratings and tournaments. Every change is stored
before it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from companion.core.clock import Clock
from companion.league.league_file import LeagueFile, Ledger
from companion.league.player_cards import PlayerCards
from companion.league.ratings import Ladders
from companion.league.result_keeper import ResultKeeper
from companion.league.tournament_keeper import TournamentKeeper


class League:
    """Holds the parts of the league. They may be used from any thread.

    `free_tables` returns the tables where a board may be played, in order of preference.
    `when_changed` is called after every change that a page could show.
    """

    def __init__(
        self,
        store: LeagueFile,
        clock: Clock,
        free_tables: Callable[[], Sequence[str]] = tuple,
        when_changed: Callable[[], None] = lambda: None,
    ) -> None:
        ledger = Ledger(store, clock, when_changed)
        self.cards = PlayerCards(ledger)
        self.ladders = Ladders(ledger)
        self.tournaments = TournamentKeeper(ledger, self.cards, self.ladders, free_tables)
        self.results = ResultKeeper(ledger, self.cards, self.tournaments)
