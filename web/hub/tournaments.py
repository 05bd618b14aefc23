"""Tournaments on the hub's pages: pairings and standings for everybody, to be printed, and the director's page."""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Blueprint, Response, make_response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import Verbatim, joined, say
from companion.games import GAMES
from companion.league import director
from companion.league.director import Place
from companion.league.league import League
from companion.league.people import shown_name
from companion.league.standings import half_words, quarter_words, standings
from companion.league.tournament import BoardEnd, Match, System, Tournament
from web.context import Fragment, Needs, render_fragment
from web.error_pages import status_of
from web.hub.drawing import sentence
from web.hub.room import Room
from web.hub.spectators import this_app
from web.security.auth import Auth
from web.server.sse import Streams

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
DONE_WORDS = {
    "new": say("Tournament made"),
    "enter": say("Entry"),
    "withdraw": say("Withdrawn"),
    "rest": say("Rests in the next round"),
    "no_rest": say("Plays in the next round after all"),
    "pair": say("Round paired"),
    "unpair": say("Pairing taken back"),
    "decide": say("Result entered"),
    "move": say("Table changed"),
    "end": say("Tournament ended"),
    "result": say("Result from the table"),
    "take_back": say("The table took its result back"),
    "refused": say("Result refused"),
}


class TournamentWords:
    """How a tournament's people, tables, results and refusals are called, for templates."""

    def __init__(self, league: League, room: Room) -> None:
        self._league = league
        self._room = room

    def person(self, number: int) -> str:
        """A person by name, or by number."""
        return shown_name(self._league.person(number), number)

    def entrant(self, tournament: Tournament, number: int) -> str:
        """A team by its name, else by its people."""
        found = next((each for each in tournament.entrants if each.number == number), None)
        if found is None:
            return say("Entry {number}", number=number)
        if found.team:
            return Verbatim(found.team)
        return joined(", ", [self.person(person) for person in found.people])

    def table(self, name: str) -> str:
        """A table's number, as it stands on the wall; empty: it has none."""
        return next((str(table.number) for table in self._room.tables() if table.id == name), "")

    def verdict(self, verdict: Any) -> str:
        """A board's end."""
        return VERDICT_WORDS[BoardEnd(verdict)] if verdict else "–"

    def refusal(self, told: str) -> str:
        """Why a table's result was refused, as it was written in the log."""
        return sentence(msgspec.json.decode(told))

    def bye(self, match: Match) -> str:
        """What a bye gave."""
        return half_words(match.halves)


class TournamentPages:
    """The routes under `/tournament` and `/host/tournament`."""

    def __init__(self, room: Room, streams: Streams, league: League, guard: Auth) -> None:
        self._room = room
        self._streams = streams
        self._league = league
        self._guard = guard
        self._words = TournamentWords(league, room)

    def blueprint(self) -> Blueprint:
        """All routes."""
        pages = Blueprint("tournaments", __name__)
        pages.add_url_rule("/tournaments", view_func=self.all)
        pages.add_url_rule("/tournament/<int:number>", view_func=self.page)
        pages.add_url_rule("/live/tournament/<int:number>", view_func=self.live)
        pages.add_url_rule("/host/tournaments", "make", self.make, methods=["POST"])
        pages.add_url_rule("/host/tournament/<int:number>", view_func=self.direct)
        pages.add_url_rule("/host/tournament/<int:number>", "act", self.act, methods=["POST"])
        return pages

    # ---- for everybody ----

    def all(self, error: str = "", status: int = 200) -> Any:
        """All tournaments; the hub's host makes new ones here."""
        page = render_template(
            "hub_tournaments.html",
            tournaments=self._league.tournaments(),
            games=GAMES,
            systems=SYSTEM_WORDS,
            is_host=self._guard.is_host(request),
            error=error,
        )
        return make_response(page, status)

    def page(self, number: int) -> Any:
        """Pairings and standings; of an earlier round where that is asked for."""
        shown = request.args.get("round", 0, int)
        fragment = self._draw(number, shown)
        live = f"/live/tournament/{number}" + (f"?round={shown}" if shown else "")
        return render_fragment("hub_tournament.html", fragment, live=live, tournament=self._known(number))

    def live(self, number: int) -> Response:
        """The stream of such a page."""
        app, shown = this_app(), request.args.get("round", 0, int)
        self._known(number)

        def render() -> str:
            with app.app_context():
                return self._draw(number, shown).html

        return self._streams.follow(request.environ, render)

    def _draw(self, number: int, shown: int) -> Fragment:
        tournament, needs = self._known(number), Needs()
        rounds = len(tournament.rounds)
        shown = shown if 1 <= shown <= rounds else rounds
        html = render_template(
            "_hub_tournament.html",
            needs=needs,
            t=tournament,
            shown=tournament.rounds[shown - 1] if shown else None,
            rows=standings(tournament, shown),
            w=self._words,
            halves=half_words,
            quarters=quarter_words,
            system=SYSTEM_WORDS[tournament.system],
            due_s=self._room.due_s(tournament.rounds[shown - 1].ends_s) if shown else None,
            System=System,
        )
        return Fragment(html, needs)

    # ---- the director ----

    def make(self) -> Any:
        """A new tournament from the form."""
        self._guard.require_host(request)
        form = request.form
        try:
            game, _, preset = form.get("game", "").partition("/")
            known = GAMES.get(game)
            if known is None:
                raise NotFound
            options = (
                known.presets[int(preset)].options if preset.isdecimal() and int(preset) < len(known.presets) else {}
            )
            made = self._league.new_tournament(
                form.get("name", "")[:200],
                _one_of(System, form.get("system", "")),
                game,
                options,
                rounds=form.get("rounds", 5, int),
                minutes=form.get("minutes", 0, int),
                team_size=form.get("team_size", 1, int),
            )
        except CompanionError as error:
            return self.all(error.message, status_of(error))
        return redirect(f"/host/tournament/{made.id}", 303)

    def direct(self, number: int, error: str = "", status: int = 200) -> Any:
        """The director's page."""
        if not self._guard.is_host(request):
            return make_response(render_template("hub_key.html", error=""), 403)
        tournament = self._known(number)
        page = render_template(
            "hub_director.html",
            t=tournament,
            w=self._words,
            log=self._league.log(number),
            done=DONE_WORDS,
            verdicts=VERDICT_WORDS,
            people=[p for p in self._league.people() if not p.is_forgotten and tournament.entrant_of(p.number) is None],
            tables=self._room.tables(),
            system=SYSTEM_WORDS[tournament.system],
            System=System,
            error=error,
        )
        return make_response(page, status)

    def act(self, number: int) -> Any:
        """What the director does from that page: one of its forms."""
        self._guard.require_host(request)
        self._known(number)
        try:
            self._act(number, request.form.get("do", ""))
        except CompanionError as error:
            return self.direct(number, error.message, status_of(error))
        return redirect(f"/host/tournament/{number}", 303)

    def _act(self, number: int, what: str) -> None:
        form, league = request.form, self._league
        entrant = form.get("entrant", 0, int)
        match what:
            case "enter":
                league.enter(number, self._people(form.get("people", "")[:2000]), form.get("team", "")[:200])
            case "withdraw":
                league.direct(number, what, lambda t: director.withdraw(t, entrant), entrant=entrant)
            case "rest" | "no_rest":
                league.direct(number, what, lambda t: director.rest(t, entrant, what == "rest"), entrant=entrant)
            case "pair":
                league.pair_round(number)
            case "unpair":
                league.direct(number, what, director.unpair_round)
            case "decide":
                place, said = _place(form.get("place", "")), form.get("verdict", "")
                verdict = _one_of(BoardEnd, said) if said else None
                league.direct(number, what, lambda t: director.decide(t, place, verdict), place=place)
            case "move":
                place = _place(form.get("place", ""))
                wanted = self._room.table(form.get("table", 0, int))
                league.direct(number, what, lambda t: director.move(t, place, wanted.id if wanted else ""), place=place)
            case "end":
                league.direct(number, what, director.end)
            case _:
                raise NotFound

    def _people(self, typed: str) -> list[int]:
        """The people of an entry, a line each: `#12` is the card of that number, else it is a name for a new card."""
        found = []
        for line in filter(None, (line.strip() for line in typed.splitlines())):
            if line.startswith("#") and line[1:].isdecimal():
                found.append(int(line[1:]))
            else:
                found.append(self._league.make_card(line).number)
        return found

    def _known(self, number: int) -> Tournament:
        found = self._league.tournament(number)
        if found is None:
            raise NotFound
        return found


def _place(text: str) -> Place:
    parts = text.split(".")
    if len(parts) != 3 or not all(part.isdecimal() and len(part) < 5 for part in parts):
        raise Malformed(say("There is no such board"))
    return int(parts[0]), int(parts[1]), int(parts[2])


def _one_of(kind: Any, text: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise Malformed(say("This request cannot be read")) from None
