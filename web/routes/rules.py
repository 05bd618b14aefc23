"""The rules of each game on a page: paragraphs that refusals link to, with pictures of examples."""

from __future__ import annotations

from random import Random
from typing import Any

from flask import Blueprint, render_template
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from companion.core.kit import SEATS
from companion.games.base import Game, Illustration, Key
from companion.printing.rulebook import illustrations
from companion.table.board_check import HandMove
from web.context import PageContext
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture


class RulesPages:
    """The rules, one page a game, and the way to each of them."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context

    def blueprint(self) -> Blueprint:
        """All routes."""
        rules = Blueprint("rules", __name__)
        rules.add_url_rule("/rules/", view_func=self.index)
        rules.add_url_rule("/rules/<name>", view_func=self.rules)
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
            keys=_keys(game),
            pictures=illustrations(game),
            figure=figure,
        )


def figure(shown: Illustration) -> Markup:
    """An example as a picture; nothing where only sums are shown. It has no ids: a page holds several."""
    if shown.kit.deck:
        return Markup()
    moves = tuple(HandMove(faces, origin, target) for faces, origin, target in shown.ways)
    svg = board_svg(BoardPicture(shown.kit, shown.layout, moves, shown.events, target=shown.after))
    return Markup(svg.replace(' id="under"', "").replace(' id="plan"', ""))


def _keys(game: Game[Any, Any]) -> tuple[Key, ...]:
    """The orders that a game's pad knows at its beginning."""
    state = game.setup(game.options({}), Random(0))
    return next((pad.keys for seat in SEATS if (pad := game.pad(state, seat))), ())
