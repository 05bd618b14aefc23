"""The press: prints kits and table cards one at a time, as PDFs, and keeps the last ones.

The PDF libraries are imported with the first print: they take a tenth of a second, and room.
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
"""The sizes on which everything is printed, by the names that addresses and commands use."""
KEPT_BYTES = 6_000_000
"""Maximum bytes of the prints that are kept. The sheets of all games in one language and size are a
tenth of it."""
WAIT_S = 6.0
"""Timeout in seconds for the press. The longest print, 78 cards, took 0.6 s on one core of a PC."""

_Key = tuple[str, ...]


class PrinterBusy(SystemTrouble):
    """Something else is being printed and takes long."""

    kind = "printer"


@dataclass(frozen=True)
class PrintPlan:
    """What a game's sheets are: how many of each kind (`board`, `pieces`, …) in order."""

    kinds: Mapping[str, int]
    one_piece: str = ""
    """The paper on which the board is one piece, such as `A2`, where that is more than a sheet at
    home."""

    @property
    def sheets(self) -> int:
        """Return pages of the kit."""
        return sum(self.kinds.values())


class KitPrinter:
    """Prints one thing at a time. Any thread may ask, and who asks first is served first.

    `raw` are options of the game. `paper` is one of `PAPERS`, `language` one of
    `companion.core.i18n.LANGUAGES`. Raises `Malformed` for anything else, and `PrinterBusy`.
    """

    def __init__(self, games: Mapping[str, Game[Any, Any]]) -> None:
        self._games = games
        self.running = Lock()
        self.kept: dict[_Key, bytes] = {}
        self._plans: dict[_Key, PrintPlan] = {}

    def plan(self, game: str, paper: str, language: str) -> PrintPlan:
        """Tell how many sheets a kit has."""
        from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece, kit_pages  # noqa: PLC0415 - see above

        key = (game, paper, language)
        if key not in self._plans:
            style = KitStyle(_paper(paper), _language(language))
            kit_of_game = self._games[game]
            options = kit_of_game.options({})
            kit = kit_of_game.kit(options)
            with self._alone():
                pages = kit_pages(kit, style, kit_of_game.extras(options))
            large = board_in_one_piece(kit)
            one_piece = "" if large is None or large in PAPERS else large.upper()
            self._plans[key] = PrintPlan(Counter(page.kind for page in pages), one_piece)
        return self._plans[key]

    def kit(
        self, game: str, raw: Mapping[str, Any], paper: str, language: str, *, low_ink: bool = False
    ) -> bytes:
        """Print board, pieces and cards to cut out. With `low_ink` the sides in light colours."""
        from companion.printing.kit_pages.sheets import KitStyle, kit_pdf  # noqa: PLC0415 - see above

        kit_of_game = self._games[game]
        options = kit_of_game.options(raw)
        style = KitStyle(_paper(paper), _language(language), low_ink)
        key = ("kit", game, _text(raw), paper, language, str(low_ink))
        return self._printed(
            key, lambda: kit_pdf(kit_of_game.kit(options), style, kit_of_game.extras(options))[0]
        )

    def board(self, game: str, raw: Mapping[str, Any], language: str) -> bytes:
        """Print the board alone, on the smallest sheet that holds it in one piece.

        Raises `Malformed` where none does.
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
        key = ("board", game, _text(raw), language)
        return self._printed(key, lambda: kit_pdf(kit, style)[0])

    def join_card(
        self, addresses: Sequence[str], wifi: Wifi | None, paper: str, language: str
    ) -> bytes:
        """Print where phones go: the table screen's addresses, the best first, and Wi-Fi. It is not
        kept.
        """
        from companion.printing.join_card import join_card_pdf  # noqa: PLC0415 - see above

        size = _paper(paper)
        with self._alone(), speaking(_language(language)):
            return join_card_pdf(addresses, wifi, size)

    # ---- inside ----

    def _printed(self, key: _Key, run: Callable[[], bytes]) -> bytes:
        """Return what is kept under this key, else what `run` prints."""
        pdf = self.kept.get(key)
        if pdf is None:
            with self._alone():
                # somebody else may just have asked for the same
                pdf = self.kept.get(key) or run()
                self.kept[key] = pdf
                while len(self.kept) > 1 and sum(map(len, self.kept.values())) > KEPT_BYTES:
                    oldest = next(iter(self.kept))
                    del self.kept[oldest]
        return pdf

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for a turn at the press. Raises `PrinterBusy` when it does not come soon."""
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


def _text(raw: Mapping[str, Any]) -> str:
    """Return options as a key."""
    return json.dumps(raw, sort_keys=True)
