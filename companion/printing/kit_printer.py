"""The kit printer: makes kits and table cards as PDFs, one at a time, and caches the latest ones.

The PDF libraries are imported with the first print, since they take memory and a tenth of a second.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from companion.core.errors import Malformed, SystemTrouble
from companion.core.i18n import LANGUAGES, say, speaking
from companion.core.network import Wifi
from companion.games.base import Game
from companion.printing.tiling import Paper

PAPERS: Mapping[str, str] = {"a4": "A4", "letter": say("Letter")}
"""Paper sizes for all prints, by the names used in addresses and commands."""
KEPT_BYTES = 6_000_000
"""Maximum size of the cache in bytes. The sheets of all games in one language and size take a tenth
of it.
"""
WAIT_S = 6.0
"""Timeout in seconds for a turn at the printer. The longest print, 78 cards, took 0.6 s on one core
of a PC.
"""

_Key = tuple[str, ...]


class PrinterBusy(SystemTrouble):
    """Another print is still running after the time-out."""

    kind = "printer"


@dataclass(frozen=True)
class PrintPlan:
    """The number of sheets of each kind (`board`, `pieces`, …) in the kit of a game, in order."""

    kinds: Mapping[str, int]
    one_piece: str = ""
    """Paper that holds the board in one piece, such as `A2`. Empty if the board fits on one sheet
    at home or on no paper.
    """

    @property
    def sheets(self) -> int:
        """Number of pages of the kit."""
        return sum(self.kinds.values())


class KitPrinter:
    """Prints one thing at a time. Any thread may ask, and requests are served in order.

    `raw` are options of the game. `paper` is one of `PAPERS`, `language` one of
    `companion.core.i18n.LANGUAGES`. Raises `Malformed` for anything else, and `PrinterBusy`.
    """

    def __init__(self, games: Mapping[str, Game[Any, Any]]) -> None:
        self._games = games
        self.running = Lock()
        self.kept: dict[_Key, bytes] = {}
        self._plans: dict[_Key, PrintPlan] = {}

    def plan(self, game: str, paper: str, language: str) -> PrintPlan:
        """Return how many sheets a kit has."""
        from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece, kit_pages  # noqa: PLC0415 - see above

        key = (game, paper, language)
        if key not in self._plans:
            style = KitStyle(_paper(paper), _language(language))
            kit_of_game = self._games[game]
            options = kit_of_game.options({})
            kit = kit_of_game.kit(options)
            with self._exclusive_use():
                pages = kit_pages(kit, style, kit_of_game.extras(options))
            large = board_in_one_piece(kit)
            one_piece = "" if large is None or large in PAPERS else large.upper()
            self._plans[key] = PrintPlan(Counter(page.kind for page in pages), one_piece)
        return self._plans[key]

    def kit(
        self, game: str, raw: Mapping[str, Any], paper: str, language: str, *, low_ink: bool = False
    ) -> bytes:
        """Print board, pieces and cards to cut out. `low_ink` prints the sides in light colours."""
        from companion.printing.kit_pages.sheets import KitStyle, kit_pdf  # noqa: PLC0415 - see above

        kit_of_game = self._games[game]
        options = kit_of_game.options(raw)
        style = KitStyle(_paper(paper), _language(language), low_ink)
        key = ("kit", game, _options_key(raw), paper, language, str(low_ink))
        return self._print_or_reuse(
            key, lambda: kit_pdf(kit_of_game.kit(options), style, kit_of_game.extras(options))[0]
        )

    def board(self, game: str, raw: Mapping[str, Any], language: str) -> bytes:
        """Print only the board, on the smallest sheet that holds it in one piece.

        Raises `Malformed` if there is none.
        """
        from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece, kit_pdf  # noqa: PLC0415 - see above

        kit_of_game = self._games[game]
        kit = kit_of_game.kit(kit_of_game.options(raw))
        if (paper := board_in_one_piece(kit)) is None:
            raise Malformed(
                say(
                    "This board is too large for one sheet, even of A1: print the kit on several "
                    "pages."
                )
            )
        style = KitStyle(paper, _language(language), board_only=True)
        key = ("board", game, _options_key(raw), language)
        return self._print_or_reuse(key, lambda: kit_pdf(kit, style)[0])

    def join_card(
        self, addresses: Sequence[str], wifi: Wifi | None, paper: str, language: str
    ) -> bytes:
        """Print the table card: the table screen's addresses, best first, and the Wi-Fi. It is not
        cached.
        """
        from companion.printing.join_card import join_card_pdf  # noqa: PLC0415 - see above

        size = _paper(paper)
        with self._exclusive_use(), speaking(_language(language)):
            return join_card_pdf(addresses, wifi, size)

    # ---- inside ----

    def _print_or_reuse(self, key: _Key, run: Callable[[], bytes]) -> bytes:
        """Return the print cached under this key, or call `run` and cache its result."""
        pdf = self.kept.get(key)
        if pdf is None:
            with self._exclusive_use():
                # another thread may have printed the same in the meantime
                pdf = self.kept.get(key) or run()
                self.kept[key] = pdf
                while len(self.kept) > 1 and sum(map(len, self.kept.values())) > KEPT_BYTES:
                    oldest = next(iter(self.kept))
                    del self.kept[oldest]
        return pdf

    @contextmanager
    def _exclusive_use(self) -> Iterator[None]:
        """Wait for a turn at the printer. Raises `PrinterBusy` after the time-out."""
        if not self.running.acquire(timeout=WAIT_S):
            raise PrinterBusy(
                say("Other sheets are being made right now. Wait a moment and try again.")
            )
        try:
            yield
        finally:
            self.running.release()


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


def _options_key(raw: Mapping[str, Any]) -> str:
    return json.dumps(raw, sort_keys=True)
