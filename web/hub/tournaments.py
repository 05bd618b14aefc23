"""Public pages of tournaments: pairings and standings, also for printing.

A round consists of matches, a match of boards. A match is between two entrants, each of whom is one
person, or in earlier versions a team. A board is one game of two people at a table.
"""

from __future__ import annotations

from typing import Any

from flask import Response, make_response, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.i18n import Verbatim, joined, say
from companion.games import GAMES
from companion.league.league import League
from companion.league.people import shown_name
from companion.league.standings import format_half_points, format_quarter_points, standings
from companion.league.tournament import BoardVerdict, PairingSystem, Tournament
from web.hub.room import HubContext, HubRoom, HubRouteGroup
from web.routes.route import get

# Names of the systems of tournaments.
SYSTEM_WORDS = {
    PairingSystem.SWISS: say("Swiss"),
    PairingSystem.ROUND_ROBIN: say("Round robin"),
    PairingSystem.KNOCKOUT: say("Knock-out"),
}
# Results of boards as people write them, South first. A plus is a win by default, without a game.
VERDICT_WORDS = {
    BoardVerdict.SOUTH: "1 : 0",
    BoardVerdict.NORTH: "0 : 1",
    BoardVerdict.DRAW: "½ : ½",
    BoardVerdict.SOUTH_BY_DEFAULT: "+ : −",
    BoardVerdict.NORTH_BY_DEFAULT: "− : +",
    BoardVerdict.NEITHER: "− : −",
}


class TournamentWords:
    """Words for a tournament's people, tables and results, for templates."""

    def __init__(self, league: League, room: HubRoom) -> None:
        self._league = league
        self._room = room

    def person(self, number: int) -> str:
        """Return somebody's name, or words such as “Player 2” if the name is not public."""
        return shown_name(self._league.cards.find(number), number)

    def entrant(self, tournament: Tournament, number: int) -> str:
        """Return the name of a team, or the names of an entrant's people."""
        for entrant in tournament.entrants:
            if entrant.number == number:
                names = [self.person(person) for person in entrant.people]
                return Verbatim(entrant.team) if entrant.team else joined(", ", names)
        return say("Entry {number}", number=number)

    def table(self, table_id: str) -> str:
        """Return the number of a table as the wall shows it. Empty if there is no such table."""
        return str(self._room.number_of(table_id) or "")

    def verdict(self, verdict: Any) -> str:
        """Return the result of a board as people write it, or a dash while there is none."""
        return VERDICT_WORDS[BoardVerdict(verdict)] if verdict else "–"


class TournamentPages(HubRouteGroup):
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
            is_host=self._auth.is_host(),
            error=error,
        )
        return make_response(page, status)

    @get("/tournament/<int:tournament_id>")
    def page(self, tournament_id: int) -> Any:
        """Show pairings and standings of the last round, or of the round in the query.

        Raises `NotFound` if there is no such tournament.
        """
        round_number = request.args.get("round", 0, int)
        fragment = self._draw(tournament_id, round_number)
        query = f"?round={round_number}" if round_number else ""
        live = f"/live/tournament/{tournament_id}{query}"
        return render_template(
            "hub_tournament.html",
            fragment=fragment,
            live=live,
            tournament=self.require_tournament(tournament_id),
        )

    @get("/live/tournament/<int:tournament_id>")
    def live(self, tournament_id: int) -> Response:
        """Stream the page of a tournament."""
        round_number = request.args.get("round", 0, int)
        self.require_tournament(tournament_id)
        return self._streams.stream_changes(
            self._room, lambda: self._draw(tournament_id, round_number)
        )

    def _draw(self, tournament_id: int, requested_round: int) -> str:
        """Draw a round of a tournament, or its last round if there is no such round."""
        tournament = self.require_tournament(tournament_id)
        last = len(tournament.rounds)
        round_number = requested_round if 1 <= requested_round <= last else last
        round_ = tournament.rounds[round_number - 1] if round_number else None
        return render_template(
            "_hub_tournament.html",
            tournament=tournament,
            shown_round=round_,
            rows=standings(tournament, round_number),
            league_words=self.words,
            format_half_points=format_half_points,
            format_quarter_points=format_quarter_points,
            system=SYSTEM_WORDS[tournament.system],
            due_s=self._room.due_s(round_.ends_s) if round_ else None,
            PairingSystem=PairingSystem,
        )

    def require_tournament(self, tournament_id: int) -> Tournament:
        """Return the tournament with this id. Raises `NotFound`."""
        tournament = self._tournaments.find(tournament_id)
        if tournament is None:
            raise NotFound
        return tournament
