"""The kit printer: makes kits and table cards as PDFs, one at a time, and caches the latest ones.

The PDF libraries are imported with the first print, since they take memory and a tenth of a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from companion.core.errors import Malformed
from companion.core.i18n import LANGUAGES, say, speaking
from companion.core.network import Wifi
from companion.games.base import Game
from companion.printing.tiling import Paper

if TYPE_CHECKING:
    from companion.printing.kit_pages.sheets import KitStyle

PAPERS: Mapping[str, str] = {"a4": "A4", "letter": say("Letter")}
"""Paper sizes for all prints, by the names used in addresses and commands."""
_MAX_CACHED = 8
"""Maximum number of prints in the cache. The largest one takes 0.3 MB."""


@dataclass(frozen=True)
class PrintPlan:
    """The number of pages in the kit of a game."""

    sheets: int
    one_piece: str = ""
    """Paper that holds the board in one piece, such as `A2`. Empty if the board fits on one sheet
    at home or on no paper.
    """


class KitPrinter:
    """Prints one thing at a time. Any thread may ask.

    `raw` are options of the game. `paper` is one of `PAPERS`, `language` one of
    `companion.core.i18n.LANGUAGES`. Raises `Malformed` for anything else.
    """

    def __init__(self, games: Mapping[str, Game[Any, Any]]) -> None:
        self._games = games
        self._lock = Lock()
        self._cached_pdf = lru_cache(_MAX_CACHED)(self._pdf)
        self.plan = lru_cache(64)(self._plan)
        """Return how many sheets a kit has, by its game, paper and language. Cached."""

    def _plan(self, game: str, paper: str, language: str) -> PrintPlan:
        from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece, kit_pages  # noqa: PLC0415 - at the first print

        style = KitStyle(_paper(paper), _language(language))
        options = self._games[game].options({})
        kit = self._games[game].kit(options)
        with self._lock:
            pages = kit_pages(kit, style, self._games[game].extras(options))
        large = board_in_one_piece(kit)
        one_piece = "" if large is None or large in PAPERS else large.upper()
        return PrintPlan(len(pages), one_piece)

    def kit(
        self, game: str, raw: Mapping[str, Any], paper: str, language: str, *, low_ink: bool = False
    ) -> bytes:
        """Print board, pieces and cards to cut out. `low_ink` prints the sides in light colours."""
        from companion.printing.kit_pages.sheets import KitStyle  # noqa: PLC0415 - at the first print

        style = KitStyle(_paper(paper), _language(language), low_ink)
        return self._cached_pdf(game, json.dumps(raw, sort_keys=True), style)

    def board(self, game: str, raw: Mapping[str, Any], language: str) -> bytes:
        """Print only the board, on the smallest sheet that holds it in one piece.

        Raises `Malformed` if there is none.
        """
        from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece  # noqa: PLC0415 - at the first print

        paper = board_in_one_piece(self._games[game].kit(self._games[game].options(raw)))
        if paper is None:
            raise Malformed(
                say(
                    "This board is too large for one sheet, even of A1: print the kit on several "
                    "pages."
                )
            )
        style = KitStyle(paper, _language(language), board_only=True)
        return self._cached_pdf(game, json.dumps(raw, sort_keys=True), style)

    def _pdf(self, game: str, raw: str, style: KitStyle) -> bytes:
        """Print a kit with these options, which are JSON."""
        from companion.printing.kit_pages.sheets import kit_pdf  # noqa: PLC0415 - at the first print

        options = self._games[game].options(json.loads(raw))
        with self._lock:
            kit = self._games[game].kit(options)
            return kit_pdf(kit, style, self._games[game].extras(options))[0]

    def join_card(
        self, addresses: Sequence[str], wifi: Wifi | None, paper: str, language: str
    ) -> bytes:
        """Print the table card, with the addresses of the table screen (best first) and the Wi-Fi.

        It is not cached.
        """
        from companion.printing.join_card import join_card_pdf  # noqa: PLC0415 - at the first print

        size = _paper(paper)
        with self._lock, speaking(_language(language)):
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
