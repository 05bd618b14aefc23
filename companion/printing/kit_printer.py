"""The kit printer: makes PDFs of kits and table cards, one at a time, and caches the latest kits.

The PDF libraries are imported at the first print, because they take memory and a tenth of a second.
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
    """Smallest paper of a print shop that holds the board in one piece, such as `A2`. Empty if one
    of `PAPERS` holds the board in one piece, or if no paper does.
    """


class KitPrinter:
    """Prints kits and table cards for the pages and the command line. Any thread may call.

    A lock lets it print one thing at a time. The methods take these arguments:

    - `game`: name of one of the `games`. Another name raises KeyError.
    - `raw_options`: options of the game, as a page or a command gives them.
    - `paper`: one of `PAPERS`.
    - `language`: one of `companion.core.i18n.LANGUAGES`.

    The methods raise `Malformed` for any other wrong argument, and if the board does not fit the
    paper.
    """

    def __init__(self, games: Mapping[str, Game[Any, Any]]) -> None:
        self._games = games
        self._lock = Lock()
        self._cached_pdf = lru_cache(_MAX_CACHED)(self._print_kit)
        self.plan = lru_cache(64)(self._plan)
        """Return the plan for a kit, by its game, paper and language (see `_plan`). Cached."""

    def _plan(self, game: str, paper: str, language: str) -> PrintPlan:
        from companion.printing.kit_pages.sheets import KitStyle, kit_pages, paper_for_whole_board  # noqa: PLC0415 - at the first print

        style = KitStyle(_parse_paper(paper), _check_language(language))
        rules = self._games[game]
        options = rules.options({})
        kit = rules.kit(options)
        with self._lock:
            pages = kit_pages(kit, style, rules.extras(options))
        board_paper = paper_for_whole_board(kit) or ""
        one_piece = "" if board_paper in PAPERS else board_paper.upper()
        return PrintPlan(len(pages), one_piece)

    def kit_pdf(
        self,
        game: str,
        raw_options: Mapping[str, Any],
        paper: str,
        language: str,
        *,
        low_ink: bool = False,
    ) -> bytes:
        """Return the PDF of the board, the pieces and the cards to cut out.

        `low_ink` is that of `KitStyle`.
        """
        from companion.printing.kit_pages.sheets import KitStyle  # noqa: PLC0415 - at the first print

        style = KitStyle(_parse_paper(paper), _check_language(language), low_ink)
        return self._cached_pdf(game, json.dumps(raw_options, sort_keys=True), style)

    def board_pdf(self, game: str, raw_options: Mapping[str, Any], language: str) -> bytes:
        """Return the PDF of the board alone, on the smallest paper that holds it in one piece.

        Raises `Malformed` if there is no such paper.
        """
        from companion.printing.kit_pages.sheets import KitStyle, paper_for_whole_board  # noqa: PLC0415 - at the first print

        rules = self._games[game]
        paper = paper_for_whole_board(rules.kit(rules.options(raw_options)))
        if paper is None:
            raise Malformed(
                say(
                    "This board is too large for one sheet, even of A1: print the kit on several "
                    "pages."
                )
            )
        style = KitStyle(paper, _check_language(language), board_only=True)
        return self._cached_pdf(game, json.dumps(raw_options, sort_keys=True), style)

    def _print_kit(self, game: str, raw_options_json: str, style: KitStyle) -> bytes:
        """Return the PDF of a kit. Its options are JSON, because a cache needs hashable keys."""
        from companion.printing.kit_pages.sheets import kit_pdf  # noqa: PLC0415 - at the first print

        rules = self._games[game]
        options = rules.options(json.loads(raw_options_json))
        with self._lock:
            pdf, _ = kit_pdf(rules.kit(options), style, rules.extras(options))
            return pdf

    def join_card_pdf(
        self, addresses: Sequence[str], wifi: Wifi | None, paper: str, language: str
    ) -> bytes:
        """Return the PDF of the table card (see `join_card.join_card_pdf`). It is not cached."""
        from companion.printing.join_card import join_card_pdf  # noqa: PLC0415 - at the first print

        paper_size = _parse_paper(paper)
        with self._lock, in_language(_check_language(language)):
            return join_card_pdf(addresses, wifi, paper_size)


def _parse_paper(name: str) -> Paper:
    if name not in PAPERS:
        raise Malformed(say("Paper “{paper}” is unknown: use a4 or letter", paper=name))
    return "letter" if name == "letter" else "a4"


def _check_language(name: str) -> str:
    if name not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise Malformed(
            say("Language “{language}” is unknown: use {known}", language=name, known=known)
        )
    return name
