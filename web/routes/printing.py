"""Printable sheets as PDFs, and the page that offers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from flask import Response, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.errors import Malformed
from companion.core.i18n import current_language, say
from companion.core.kit import Kit
from companion.games.base import Game
from companion.printing.kit_printer import PAPERS, KitPrinter
from web.routes.route import TableRouteGroup, get
from web.security.auth import is_own_screen
from web.templating.phrases import parse_whole_number

# Countries that print on Letter (Unicode CLDR, measurement data: paper sizes).
_LETTER_COUNTRIES = ("us", "ca", "mx", "co", "cl", "ve", "ph", "gt", "cr", "sv", "ni", "pa", "do")

# Ending of the name of a board in one piece: `/kit/GAME-board.pdf`.
_BOARD_SUFFIX = "-board"


class KitChoice(NamedTuple):
    """A choice for one of a game's options, and the kit of a game with that choice."""

    label: str
    kit: Kit
    query: str
    """The choice as part of an address, such as `board=2`."""


@dataclass
class KitPages(TableRouteGroup):
    """The page of all printable sheets, and the PDFs."""

    name = "kit"
    printer: KitPrinter

    @get("/kit", strict_slashes=False)
    def page(self) -> str:
        """Show the printable sheets."""
        paper = _requested_paper()
        language = _requested_language()
        offers = [self._offer(game, paper, language) for game in self._games.values()]
        has_wifi = self._features.equipment.wifi() is not None
        return render_template(
            "kit.html",
            offers=offers,
            paper=paper,
            language=language,
            low_ink=_wants_low_ink(),
            papers=PAPERS,
            hides_wifi=has_wifi and not self._may_show_wifi(),
        )

    @get("/kit/<name>.pdf")
    def pdf(self, name: str) -> Any:
        """Return a game's kit, its board in one piece (`GAME-board`), or the table card (`join`).

        Raises `NotFound` for any other name, and `Malformed` for an unknown paper, language or
        option, and for a board that no sheet holds in one piece.
        """
        paper = _requested_paper()
        language = _requested_language()
        if name == "join":
            return self._table_card(paper, language)
        game = self._games.get(name.removesuffix(_BOARD_SUFFIX))
        if game is None:
            raise NotFound
        options = _parse_options(request.args, game)
        if name.endswith(_BOARD_SUFFIX):
            pdf = self._run_in_worker(lambda: self.printer.board_pdf(game.name, options, language))
            return _pdf_answer(pdf, f"{name}-{language}")
        low_ink = _wants_low_ink()
        pdf = self._run_in_worker(
            lambda: self.printer.kit_pdf(game.name, options, paper, language, low_ink=low_ink)
        )
        ink = "-low-ink" if low_ink else ""
        return _pdf_answer(pdf, f"{name}-kit-{paper}-{language}{ink}")

    def _table_card(self, paper: str, language: str) -> Response:
        """Return the table card, which has the addresses for phones.

        It also has the Wi-Fi, if the requester may see that.
        """
        urls = self.page_context.join_urls()
        wifi = self._features.equipment.wifi() if self._may_show_wifi() else None
        card = self._run_in_worker(lambda: self.printer.join_card_pdf(urls, wifi, paper, language))
        return _pdf_answer(card, f"table-card-{paper}-{language}")

    def _may_show_wifi(self) -> bool:
        """Return whether the requester is the owner, or at the machine's own screen."""
        return is_own_screen() or self._auth.is_host()

    def _offer(self, game: Game[Any, Any], paper: str, language: str) -> dict[str, Any]:
        """Return the template values for one game: its sheets, and sheets for other options."""
        # every board that can be chosen
        boards: list[KitChoice] = []
        # the option whose value may be a map that somebody has drawn
        map_option = None
        # queries for kits with the usual board, but other sheets
        other_kits: list[str] = []
        usual_kit = _kit(game, {})
        for row in game.option_rows:
            choices = []
            for index, (label, value) in enumerate(row.choices):
                kit = _kit(game, {row.name: value})
                choices.append(KitChoice(label, kit, f"{row.name}={index}"))
            # an option concerns the board if its choices differ in it
            if len({choice.kit.board for choice in choices}) > 1:
                boards += choices
                map_option = map_option or (row if row.free_text else None)
            else:
                other_kits += [choice.query for choice in choices if choice.kit != usual_kit]
        return {
            "game": game,
            "plan": self.printer.plan(game.name, paper, language),
            "boards": boards,
            "map_option": map_option,
            "other_kits": other_kits,
        }


def _kit(game: Game[Any, Any], options: Mapping[str, Any]) -> Kit:
    return game.kit(game.options(options))


def _parse_options(query: Mapping[str, str], game: Game[Any, Any]) -> dict[str, Any]:
    """Return the options of a game in a query.

    A value in the query is the index of a choice, or for some options a text such as a map. Raises
    `Malformed` for any other value.
    """
    options: dict[str, Any] = {}
    for row in game.option_rows:
        text = query.get(row.name, "")
        index = parse_whole_number(text)
        if index is not None and index < len(row.choices):
            _, options[row.name] = row.choices[index]
        elif text and row.free_text:
            # browsers end the lines of a text with CRLF
            options[row.name] = text.replace("\r\n", "\n").strip("\n")
        elif text:
            raise Malformed(
                say(
                    "“{text}” is not a choice for {option}: go back and choose",
                    text=text,
                    option=row.title,
                )
            )
    return options


def _requested_paper() -> str:
    """Return the paper in the query, or else the usual one in the browser's country."""
    paper = request.args.get("paper", "")
    if paper:
        return paper
    # `es-MX` is Spanish in Mexico
    countries = [code.lower().partition("-")[2] for code in request.accept_languages.values()]
    return "letter" if countries and countries[0] in _LETTER_COUNTRIES else "a4"


def _wants_low_ink() -> bool:
    return request.args.get("ink", "") == "low"


def _requested_language() -> str:
    """Return the language in the query, or else the language of the request."""
    return request.args.get("language", "") or current_language()


def _pdf_answer(pdf: bytes, name: str) -> Response:
    answer = Response(pdf, mimetype="application/pdf")
    answer.headers["Content-Disposition"] = f'inline; filename="{name}.pdf"'
    return answer
