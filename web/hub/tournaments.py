"""Public pages of tournaments: pairings and standings, also for printing."""

from __future__ import annotations

from typing import Any

from flask import Response, make_response, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.i18n import Verbatim, joined, say
from companion.games import GAMES
from companion.league.league import League
from companion.league.people import shown_name
from companion.league.standings import format_halves, format_quarters, standings
from companion.league.tournament import BoardEnd, System, Tournament
from web.hub.room import HubContext, HubGroup, Room
from web.routes.route import get

SYSTEM_WORDS = {
    System.SWISS: say("Swiss"),
    System.ROUND_ROBIN: say("Round robin"),
    System.KNOCKOUT: say("Knock-out"),
}
VERDICT_WORDS = {
    BoardEnd.SOUTH: "1 : 0",
    BoardEnd.NORTH: "0 : 1",
    BoardEnd.DRAW: "½ : ½",
    BoardEnd.SOUTH_BY_DEFAULT: "+ : −",
    BoardEnd.NORTH_BY_DEFAULT: "− : +",
    BoardEnd.NEITHER: "− : −",
}


class TournamentWords:
    """Words for a tournament's people, tables and results, for templates."""

    def __init__(self, league: League, room: Room) -> None:
        self._league = league
        self._room = room

    def person(self, number: int) -> str:
        """Return somebody's name, or number if the name is not shown."""
        return shown_name(self._league.cards.person(number), number)

    def entrant(self, tournament: Tournament, number: int) -> str:
        """Return the name of a team, or the names of an entrant's people."""
        entry = next((e for e in tournament.entrants if e.number == number), None)
        if entry is None:
            return say("Entry {number}", number=number)
        if entry.team:
            return Verbatim(entry.team)
        return joined(", ", [self.person(person) for person in entry.people])

    def table(self, name: str) -> str:
        """Return the number of a table as the wall shows it. Empty if there is no such table."""
        return str(self._room.number_of(name) or "")

    def verdict(self, verdict: Any) -> str:
        """Return the result of a board as people write it."""
        return VERDICT_WORDS[BoardEnd(verdict)] if verdict else "–"


class TournamentPages(HubGroup):
    """The routes under `/tournament`. The director's pages also call `all`."""

    name = "tournaments"

    def __init__(self, hub: HubContext) -> None:
        super().__init__(hub)
        self.words = TournamentWords(hub.league, hub.room)

    # ---- for everybody ----

    @get("/tournaments")
    def all(self, error: str = "", status: int = 200) -> Any:
        """Show all tournaments. The hub's owner creates new ones here."""
        page = render_template(
            "hub_tournaments.html",
            tournaments=self._tournaments.all(),
            games=GAMES,
            systems=SYSTEM_WORDS,
            is_host=self._guard.is_host(),
            error=error,
        )
        return make_response(page, status)

    @get("/tournament/<int:number>")
    def page(self, number: int) -> Any:
        """Show pairings and standings of the last round, or of the round in the query."""
        wanted = request.args.get("round", 0, int)
        fragment = self._draw(number, wanted)
        live = f"/live/tournament/{number}" + (f"?round={wanted}" if wanted else "")
        return render_template(
            "hub_tournament.html", fragment=fragment, live=live, tournament=self.known(number)
        )

    @get("/live/tournament/<int:number>")
    def live(self, number: int) -> Response:
        """Stream the page of a tournament."""
        wanted = request.args.get("round", 0, int)
        self.known(number)
        return self._streams.stream_changes(self._room, lambda: self._draw(number, wanted))

    def _draw(self, number: int, wanted: int) -> str:
        tournament = self.known(number)
        wanted = _round_number(tournament, wanted)
        round_ = tournament.rounds[wanted - 1] if wanted else None
        return render_template(
            "_hub_tournament.html",
            t=tournament,
            shown=round_,
            rows=standings(tournament, wanted),
            w=self.words,
            halves=format_halves,
            quarters=format_quarters,
            system=SYSTEM_WORDS[tournament.system],
            due_s=self._room.due_s(round_.ends_s) if round_ else None,
            System=System,
        )

    def known(self, number: int) -> Tournament:
        """Return the tournament with this number. Raises `NotFound`."""
        tournament = self._tournaments.find(number)
        if tournament is None:
            raise NotFound
        return tournament


def _round_number(tournament: Tournament, wanted: int) -> int:
    """Return the number of the wanted round if it exists, else of the last one. 0 if none is
    paired.
    """
    rounds = len(tournament.rounds)
    return wanted if 1 <= wanted <= rounds else rounds
