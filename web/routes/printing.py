"""Printable sheets as PDFs, and the page that offers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.i18n import current_language
from companion.core.kit import Kit
from companion.games.base import Game, OptionRow
from companion.printing.kit_printer import PAPERS, KitPrinter
from web.routes.host import chosen_options
from web.routes.route import PageGroup, get
from web.security.auth import is_own_screen

# Countries that print on Letter (Unicode CLDR, measurement data: paper sizes).
_LETTER_COUNTRIES = ("us", "ca", "mx", "co", "cl", "ve", "ph", "gt", "cr", "sv", "ni", "pa", "do")

_BOARD_SUFFIX = "-board"


@dataclass
class KitPages(PageGroup):
    """The page of all printable sheets, and the PDFs."""

    name = "kit"
    printer: KitPrinter

    @get("/kit", strict_slashes=False)
    def page(self) -> str:
        """Show the printable sheets."""
        paper, language = _paper(), _language()
        offers = [self._offer(game, paper, language) for game in self._games.values()]
        has_wifi = self._features.welcome.wifi() is not None
        return render_template(
            "kit.html",
            offers=offers,
            paper=paper,
            language=language,
            low_ink=_low_ink(),
            papers=PAPERS,
            is_short=has_wifi and not self._may_show_wifi(),
        )

    @get("/kit/<name>.pdf")
    def pdf(self, name: str) -> Any:
        """Return a kit, a board in one piece (`GAME-board`) or the card for the table (`join`)."""
        paper, language = _paper(), _language()
        if name == "join":
            return self._join_card(paper, language)
        game = self._games.get(name.removesuffix(_BOARD_SUFFIX))
        if game is None:
            raise NotFound
        raw = chosen_options(game, request.args)
        if name.endswith(_BOARD_SUFFIX):
            pdf = self._run_in_worker(lambda: self.printer.board(game.name, raw, language))
            return _pdf_answer(pdf, f"{name}-{language}")
        low_ink = _low_ink()
        pdf = self._run_in_worker(
            lambda: self.printer.kit(game.name, raw, paper, language, low_ink=low_ink)
        )
        ink = "-low-ink" if low_ink else ""
        return _pdf_answer(pdf, f"{name}-kit-{paper}-{language}{ink}")

    def _join_card(self, paper: str, language: str) -> Response:
        """Return the card for the table. It shows the Wi-Fi only to the owner, and on the table's
        own screen.
        """
        urls, wifi = self.page_context.join_urls(), None
        if self._may_show_wifi():
            wifi = self._features.welcome.wifi()
        card = self._run_in_worker(lambda: self.printer.join_card(urls, wifi, paper, language))
        return _pdf_answer(card, f"table-card-{paper}-{language}")

    def _may_show_wifi(self) -> bool:
        return is_own_screen() or self.page_context.guard.is_host()

    def _offer(self, game: Game[Any, Any], paper: str, language: str) -> dict[str, Any]:
        """Return the template values for one game."""
        # label, kit and query of each board
        boards: list[tuple[str, Kit, str]] = []
        # options that add other sheets to the kit, with their queries
        others: list[tuple[OptionRow, str]] = []
        own_map = None
        for row in game.option_rows:
            choices = []
            for number, (label, value) in enumerate(row.choices):
                choices.append((label, _kit(game, {row.name: value}), f"{row.name}={number}"))
            # an option concerns the board if its choices differ in it
            if len({kit.board for _, kit, _ in choices}) > 1:
                boards += choices
                own_map = own_map or (row if row.free_text else None)
            else:
                # a kit that differs from the usual one has other sheets
                others += [(row, query) for _, kit, query in choices if kit != _kit(game, {})]
        plan = self.printer.plan(game.name, paper, language)
        return {
            "game": game,
            "plan": plan,
            "boards": boards,
            "own_map": own_map,
            "others": others,
        }


def _kit(game: Game[Any, Any], raw: Mapping[str, Any]) -> Kit:
    return game.kit(game.options(raw))


def _paper() -> str:
    """Return the paper in the query, or else the usual one in the browser's country."""
    paper = request.args.get("paper", "")
    if paper:
        return paper
    # `es-MX` is Spanish in Mexico
    countries = [code.lower().partition("-")[2] for code in request.accept_languages.values()]
    return "letter" if countries and countries[0] in _LETTER_COUNTRIES else "a4"


def _low_ink() -> bool:
    return request.args.get("ink", "") == "low"


def _language() -> str:
    """Return the language in the query, or else that of the page."""
    return request.args.get("language", "") or current_language()


def _pdf_answer(pdf: bytes, name: str) -> Response:
    answer = Response(pdf, mimetype="application/pdf")
    answer.headers["Content-Disposition"] = f'inline; filename="{name}.pdf"'
    return answer
