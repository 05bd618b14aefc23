"""The kit printer: makes kits and table cards as PDFs, one at a time, and caches the latest ones.

The PDF libraries are imported with the first print, since they take memory and a tenth of a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from companion.core.errors import Malformed
from companion.core.i18n import LANGUAGES, in_language, say
from companion.core.network import Wifi
from companion.games.base import Game
from companion.printing.tiling import Paper

if TYPE_CHECKING:
    from companion.printing.kit_pages.sheets import KitStyle

# Paper sizes for all prints, by the names used in addresses and commands.
PAPERS: Mapping[str, str] = {"a4": "A4", "letter": say("Letter")}

# Maximum number of prints in the cache. The largest one takes 0.3 MB.
_MAX_CACHED = 8


class PrintPlan(NamedTuple):
    """How much paper a game's kit takes."""

    page_count: int
    """Number of pages of the whole kit."""
    one_piece: str = ""
    """Paper from a print shop that holds the board in one piece, such as `A2`. Empty if the board
    fits on a page of `PAPERS` or on no paper.
    """


class KitPrinter:
    """Prints kits and table cards for the pages and the command line. Any thread may call.

    A lock lets it print one thing at a time. Its methods take the name of one of the `games`, `raw`
    options of the game, as a page or a command gives them, `paper` as one of `PAPERS`, and
    `language` as one of `companion.core.i18n.LANGUAGES`. They raise KeyError for an unknown game,
    and `Malformed` for anything else, or if the board does not fit the paper.
    """

    def __init__(self, games: Mapping[str, Game[Any, Any]]) -> None:
        self._games = games
        self._lock = Lock()
        self._cached_pdf = lru_cache(_MAX_CACHED)(self._pdf)
        self.plan = lru_cache(64)(self._plan)
        """Return the plan for a kit by its game, paper and language. Cached."""

    def _plan(self, game: str, paper: str, language: str) -> PrintPlan:
        from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece, kit_pages  # noqa: PLC0415 - at the first print

        style = KitStyle(_paper(paper), _language(language))
        rules = self._games[game]
        options = rules.options({})
        kit = rules.kit(options)
        with self._lock:
            pages = kit_pages(kit, style, rules.extras(options))
        board_paper = board_in_one_piece(kit) or ""
        one_piece = "" if board_paper in PAPERS else board_paper.upper()
        return PrintPlan(len(pages), one_piece)

    def kit(
        self, game: str, raw: Mapping[str, Any], paper: str, language: str, *, low_ink: bool = False
    ) -> bytes:
        """Return the PDF of board, pieces and cards to cut out, see `KitStyle` for `low_ink`."""
        from companion.printing.kit_pages.sheets import KitStyle  # noqa: PLC0415 - at the first print

        style = KitStyle(_paper(paper), _language(language), low_ink)
        return self._cached_pdf(game, json.dumps(raw, sort_keys=True), style)

    def board(self, game: str, raw: Mapping[str, Any], language: str) -> bytes:
        """Return the PDF of the board alone, on the smallest paper that holds it in one piece.

        Raises `Malformed` if there is none.
        """
        from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece  # noqa: PLC0415 - at the first print

        rules = self._games[game]
        paper = board_in_one_piece(rules.kit(rules.options(raw)))
        if paper is None:
            raise Malformed(
                say(
                    "This board is too large for one sheet, even of A1: print the kit on several "
                    "pages."
                )
            )
        style = KitStyle(paper, _language(language), board_only=True)
        return self._cached_pdf(game, json.dumps(raw, sort_keys=True), style)

    def _pdf(self, game: str, raw_json: str, style: KitStyle) -> bytes:
        """Return the PDF of a kit. Its raw options are JSON, which a cache can compare."""
        from companion.printing.kit_pages.sheets import kit_pdf  # noqa: PLC0415 - at the first print

        rules = self._games[game]
        options = rules.options(json.loads(raw_json))
        with self._lock:
            pdf, _ = kit_pdf(rules.kit(options), style, rules.extras(options))
            return pdf

    def join_card(
        self, addresses: Sequence[str], wifi: Wifi | None, paper: str, language: str
    ) -> bytes:
        """Return the PDF of the table card, see `join_card_pdf`. It is not cached."""
        from companion.printing.join_card import join_card_pdf  # noqa: PLC0415 - at the first print

        size = _paper(paper)
        with self._lock, in_language(_language(language)):
            return join_card_pdf(addresses, wifi, size)


def _paper(name: str) -> Paper:
    if name not in PAPERS:
        raise Malformed(say("Paper “{paper}” is unknown: use a4 or letter", paper=name))
    return "letter" if name == "letter" else "a4"


def _language(name: str) -> str:
    if name not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise Malformed(
            say("Language “{language}” is unknown: use {known}", language=name, known=known)
        )
    return name
