"""The rules of each game, in paragraphs that refusals link to, with pictures of examples."""

from __future__ import annotations

from flask import render_template
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.action_words import pad_keys_at_start
from companion.printing.rulebook import Illustration, illustrations
from web.rendering.answers import HelpJson
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture
from web.routes.api.body import ShortText
from web.routes.route import TableRouteGroup, at_table, get, post, seat_post


class RulesPages(TableRouteGroup):
    """The rules with one page per game, and the help that is based on them."""

    name = "rules"

    @get("/rules/")
    def index(self) -> str:
        """Show the list of all games' rules."""
        return render_template("rules_index.html")

    @get("/rules/<name>")
    def rules(self, name: str) -> str:
        """Show the rules of a game. Every paragraph has an address that refusals link to.

        Raises `NotFound` for an unknown game.
        """
        game = self._games.get(name)
        if game is None:
            raise NotFound
        return render_template(
            "rules.html",
            game=game,
            kit=game.kit(game.options({})),
            keys=pad_keys_at_start(game),
            pictures=illustrations(game),
            figure=figure,
        )

    @seat_post("help")
    def help(self, seat: Seat, moment: ShortText, entered: ShortText) -> HelpJson:
        """Return what a seat can do after the orders entered so far, as a fragment of its page.

        Raises `Illegal` while no game is on.
        """
        table = self._table
        view = table.view(seat)
        game = self._games.get(view.game or "")
        if game is None:
            raise Illegal(Refusal.NO_GAME, say("No game is on: choose one first"))
        rows = table.coaching.possibilities(seat, moment, entered)
        html = render_template(
            "_help.html",
            rows=rows,
            game=game,
            view=view,
            coach=table.coaching.subjects(seat) if self._features.coach else (),
        )
        squares = sorted({str(square) for row in rows for square in row.squares})
        return {"html": html, "squares": squares}

    @post("/api/table/help", guard=at_table)
    def table_help(self, is_wanted: bool, reasons: bool = False) -> None:
        """Show on the table screen what the rules allow, or nothing.

        `reasons` has no effect since version 1.1: a seat's page tells the machine's reasons.
        """
        self._table.show_help(is_wanted)


def figure(example: Illustration) -> Markup:
    """Draw an example of the rules, empty for a game of cards.

    The drawing has no ids, because a page has several drawings and an id may occur only once.
    """
    if example.kit.deck:
        return Markup()
    picture = BoardPicture(
        example.kit, example.before, example.moves, example.events, target=example.after
    )
    svg = board_svg(picture)
    return Markup(svg.replace(' id="under"', "").replace(' id="plan"', ""))
