"""Ratings, all results as a file, and the owner's page about people and results."""

from __future__ import annotations

import csv
import io
from typing import Any

from flask import Response, make_response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.games import GAMES
from companion.league.people import shown_name
from companion.league.results import StoredResult
from web.hub.room import HubRouteGroup
from web.routes.route import attachment, form, get, host_only, host_page

# Maximum number of results on the page.
MAX_RESULTS = 100
# Maximum number of results in the file. A hub never has so many.
MAX_EXPORTED_RESULTS = 1_000_000
# Names of the columns in the file with all results.
COLUMNS = (
    "ended_s",
    "game",
    "south",
    "north",
    "winner",
    "counts",
    "table",
    "key",
    "entry",
    "mark",
)


class StandingsPages(HubRouteGroup):
    """The routes `/standings`, `/results.csv` and `/host/people`."""

    name = "standings"

    @get("/standings")
    def page(self) -> str:
        """Show the ratings of one game, by default the game of the last result."""
        last = self._league.results.latest(1)
        game = request.args.get("game") or (last[0].result.game if last else next(iter(GAMES)))
        if game not in GAMES:
            raise NotFound
        return render_template(
            "hub_standings.html",
            league=self._league,
            games=GAMES,
            game=game,
            rows=self._league.ratings(game),
        )

    @get("/results.csv")
    def results_file(self) -> Response:
        """Return all results with their receipts as a file, newest first."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(COLUMNS)
        for stored in self._league.results.latest(MAX_EXPORTED_RESULTS):
            writer.writerow(map(_safe_cell, self._row_of(stored)))
        return attachment(text.getvalue().encode(), "text/csv; charset=utf-8", "results.csv")

    @get("/host/people", guard=host_page)
    def people(self, error: str = "", status: int = 200) -> Any:
        """Show everybody with a card and the last results, for the hub's owner."""
        page = render_template(
            "hub_people.html",
            league=self._league,
            people=[person for person in self._cards.all() if not person.is_forgotten],
            results=self._league.results.latest(MAX_RESULTS),
            games=GAMES,
            error=error,
        )
        return make_response(page, status)

    @form("/host/people", guard=host_only, form_page="people")
    def change(self) -> Any:
        """Carry out the action whose button was pressed, and show the page again."""
        fields = request.form
        match fields.get("do"):
            case "make":
                self._cards.create(fields.get("name", "")[:200], "shown" in fields)
            case "forget":
                self._cards.forget(fields.get("number", 0, int))
            case "void" | "count":
                key = fields.get("key", "")[:80]
                is_void = fields["do"] == "void"
                self._league.results.set_void(key, is_void)
            case _:
                raise NotFound
        return redirect("/host/people", 303)

    def _row_of(self, stored: StoredResult) -> tuple[Any, ...]:
        """Return the row of one result in the file, in the order of `COLUMNS`."""
        result = stored.result
        return (
            round(result.ended_s),
            result.game,
            self._name(stored.south),
            self._name(stored.north),
            result.winner or "",
            not stored.is_void,
            self._room.number_of(result.table),
            result.key,
            result.entry,
            result.mark,
        )

    def _name(self, number: int | None) -> str:
        # The file is in English for everybody. `str` turns a sentence such as “Player 2” into its
        # English text, so that it is not translated later.
        return "" if number is None else str(shown_name(self._cards.find(number), number))


def _safe_cell(value: Any) -> Any:
    """Return a value for the file, with a quote before it if a spreadsheet would run it.

    A spreadsheet takes text that begins with one of these signs for a formula.
    """
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value
