"""Ratings as a page, CSV and JSON, and the owner's page about people, results and seasons."""

from __future__ import annotations

import csv
import io
from typing import Any

from flask import Response, jsonify, make_response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.i18n import translate
from companion.games import GAMES
from companion.league.people import shown_name
from companion.league.ratings import RatingRow
from companion.league.results import StoredResult
from web.hub.room import HubGroup
from web.routes.route import form, get, host_only, host_page

MAX_RESULTS = 100
MAX_EXPORTED_RESULTS = 1_000_000


class StandingsPages(HubGroup):
    """The routes under `/standings` and `/results`, `/host/people` and `/host/cards`."""

    name = "standings"

    @get("/standings")
    def page(self) -> str:
        """Show the ratings of one game in one season."""
        game, season = self._game_and_season()
        return render_template(
            "hub_standings.html",
            league=self._league,
            games=GAMES,
            game=game,
            season=season,
            seasons=self._league.ladders.seasons(),
            rows=self._league.ladders.ratings(game, season),
        )

    @get("/standings.<any(csv, json):form>")
    def standings_file(self, form: str) -> Response:
        """Return the ratings as a file."""
        game, season = self._game_and_season()
        rows = [
            self._rating_json(place, row)
            for place, row in enumerate(self._league.ladders.ratings(game, season), start=1)
        ]
        columns = ("place", "player", "name", "rating", "deviation", "won", "drawn", "lost")
        return _file(form, f"standings-{game}", columns, rows)

    @get("/results.<any(csv, json):form>")
    def results_file(self, form: str) -> Response:
        """Return all results with their receipts as a file, newest first."""
        rows = [
            self._result_json(result)
            for result in self._league.results.latest(MAX_EXPORTED_RESULTS)
        ]
        columns = (
            "ended_s",
            "game",
            "south",
            "south_name",
            "north",
            "north_name",
            "winner",
            "counts",
            "table",
            "key",
            "entry",
            "mark",
        )
        return _file(form, "results", columns, rows)

    @get("/host/cards.<any(csv, json):form>", guard=host_only)
    def cards_file(self, form: str) -> Response:
        """Return all cards with their codes as a file, for the hub's owner."""
        rows = [
            {
                "player": p.number,
                "name": p.name,
                "shown": p.is_shown,
                "code": f"{p.code[:4]}-{p.code[4:]}",
            }
            for p in self._cards.people()
            if not p.is_forgotten
        ]
        return _file(form, "cards", ("player", "name", "shown", "code"), rows)

    @get("/host/people", guard=host_page)
    def people(self, error: str = "", status: int = 200) -> Any:
        """Show everybody with a card, the last results and the seasons, for the hub's owner."""
        page = render_template(
            "hub_people.html",
            league=self._league,
            people=[person for person in self._cards.people() if not person.is_forgotten],
            results=self._league.results.latest(MAX_RESULTS),
            games=GAMES,
            error=error,
        )
        return make_response(page, status)

    @form("/host/people", guard=host_only, page="people")
    def change(self) -> Any:
        """Carry out the action of a submitted form."""
        form, league = request.form, self._league
        name, key = form.get("name", "")[:200], form.get("key", "")[:80]
        match form.get("do"):
            case "make":
                league.cards.make(name, "shown" in form)
            case "forget":
                league.cards.forget(form.get("number", 0, int))
            case "void" | "count":
                league.results.set_void(key, form["do"] == "void")
            case "season":
                league.ladders.new_season(name)
            case "machines":
                league.ladders.count_machines("machines" in form)
            case _:
                raise NotFound
        return redirect("/host/people", 303)

    def _game_and_season(self) -> tuple[str, int]:
        """Return the game and season that the request names.

        The defaults are the current season and the game with the most rated players in it. Raises
        `NotFound`.
        """
        ladders = self._league.ladders
        season = request.args.get("season", len(ladders.seasons()) - 1, int)
        if not 0 <= season < len(ladders.seasons()):
            raise NotFound
        game = request.args.get("game") or max(
            GAMES, key=lambda name: len(ladders.ratings(name, season))
        )
        if game not in GAMES:
            raise NotFound
        return game, season

    def _rating_json(self, place: int, row: RatingRow) -> dict[str, Any]:
        return {
            "place": place,
            "player": row.person,
            "name": self._name(row.person),
            "rating": round(row.rating),
            "deviation": round(row.deviation),
            "won": row.won,
            "drawn": row.drawn,
            "lost": row.lost,
        }

    def _result_json(self, kept: StoredResult) -> dict[str, Any]:
        result = kept.result
        return {
            "ended_s": round(result.ended_s),
            "game": result.game,
            "south": kept.south,
            "south_name": self._name(kept.south),
            "north": kept.north,
            "north_name": self._name(kept.north),
            "winner": result.winner and str(result.winner),
            "counts": not kept.is_void,
            "table": self._room.number_of(result.table),
            "key": result.key,
            "entry": result.entry,
            "mark": result.mark,
        }

    def _name(self, number: int | None) -> str:
        if number is None:
            return ""
        # files are for programs, so they are in English whatever the browser's language
        return translate(shown_name(self._cards.person(number), number), "en")


def _file(form: str, name: str, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> Response:
    if form == "json":
        answer = jsonify(rows)
    else:
        text = io.StringIO()
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        writer.writerows({column: _cell(row[column]) for column in columns} for row in rows)
        answer = make_response(text.getvalue())
        answer.mimetype = "text/csv"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.{form}"'
    return answer


def _cell(value: Any) -> Any:
    """Escape a value that a spreadsheet would read as a formula."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value
