"""The rules of each game on a page: paragraphs that refusals link to, with pictures of examples."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, render_template, request
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.games.base import Illustration
from companion.games.spelling import first_keys
from companion.printing.rulebook import illustrations
from companion.table.board_check import HandMove
from web.context import PageContext
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture
from web.routes.api.body import SEAT, Body, Entered, read_body


class Wanted(Body, frozen=True):
    """Is help wanted, or has it been read? `reasons`: why the machine did what it did, not what the rules allow."""

    is_wanted: bool
    reasons: bool = False


class RulesPages:
    """The rules, one page a game, and the way to each of them."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context

    def blueprint(self) -> Blueprint:
        """All routes."""
        rules = Blueprint("rules", __name__)
        rules.add_url_rule("/rules/", view_func=self.index)
        rules.add_url_rule("/rules/<name>", view_func=self.rules)
        rules.add_url_rule(f"/api/seat/{SEAT}/help", view_func=self.help, methods=["POST"])
        rules.add_url_rule("/api/table/help", view_func=self.table_help, methods=["POST"])
        return rules

    def index(self) -> str:
        """All games' rules."""
        return render_template("rules_index.html", games=self._page_context.games)

    def rules(self, name: str) -> str:
        """The rules of a game; every paragraph has an address that refusals link to."""
        game = self._page_context.games.get(name)
        if game is None:
            raise NotFound
        return render_template(
            "rules.html",
            game=game,
            games=self._page_context.games,
            kit=game.kit(game.options({})),
            keys=first_keys(game),
            pictures=illustrations(game),
            figure=figure,
        )

    def help(self, seat: str) -> Response:
        """What a seat can do now, after the orders that it has entered, as a part of its page; nothing is kept."""
        mine = self._page_context.guard.require_seat(request, seat)
        body = read_body(request, Entered)
        table, games = self._page_context.table, self._page_context.games
        view = table.view(mine)
        game = games.get(view.game or "")
        if game is None:
            raise Illegal(Refusal.NO_GAME, say("No game is on: choose one first"))
        rows = table.coaching.possible(mine, body.moment, body.entered)
        rules = [rule for rule in (game.turn_rule, game.end_rule) if rule]
        goal = game.lesson.goal if game.lesson else game.summary
        html = render_template(
            "_help.html",
            rows=rows,
            game=game,
            goal=goal,
            rules=rules,
            waits=view.sign.text,
            coach=table.coaching.of(mine).about if self._page_context.features.coach else (),
            coached=view.seats[mine].coached,
            machine=view.seats[mine.other].name,
        )
        return jsonify(html=html, squares=sorted({str(square) for row in rows for square in row.squares}))

    def table_help(self) -> Response:
        """The table screen tells what the rules allow now, or why the machine did what it did, or nothing any more."""
        self._page_context.require_at_table(request)
        body = read_body(request, Wanted)
        self._page_context.table.help(body.is_wanted, body.reasons)
        return jsonify({})


def figure(shown: Illustration) -> Markup:
    """An example as a picture; nothing where only sums are shown. It has no ids: a page holds several."""
    if shown.kit.deck:
        return Markup()
    moves = tuple(HandMove(faces, origin, target) for faces, origin, target in shown.ways)
    svg = board_svg(BoardPicture(shown.kit, shown.layout, moves, shown.events, target=shown.after))
    return Markup(svg.replace(' id="under"', "").replace(' id="plan"', ""))
