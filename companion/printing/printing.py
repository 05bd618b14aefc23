"""What pages and commands ask of whoever prints: kits and the card for the table, as PDFs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from companion.core.errors import SystemTrouble
from companion.core.i18n import say
from companion.core.network import Wifi

PAPERS: Mapping[str, str] = {"a4": "A4", "letter": say("Letter")}
"""The sizes on which everything is printed, by the names that addresses and commands use."""


class PrinterBusy(SystemTrouble):
    """Something else is being printed and takes long."""

    kind = "printer"


@dataclass(frozen=True)
class PrintPlan:
    """What a game's sheets are: how many of each kind (`board`, `pieces`, …) in order."""

    kinds: Mapping[str, int]
    one_piece: str = ""
    """The paper on which the board is one piece, such as `A2`, where that is more than a sheet at home."""

    @property
    def sheets(self) -> int:
        """Pages of the kit."""
        return sum(self.kinds.values())


class Printer(Protocol):
    """Prints one thing at a time; any thread may ask.

    `raw` are options of the game; `paper` is one of `PAPERS`, `language` one of `companion.core.i18n.LANGUAGES`. Raises
    `Malformed` for anything else, and `PrinterBusy`.
    """

    def plan(self, game: str, raw: Mapping[str, Any], paper: str, language: str) -> PrintPlan:
        """How many sheets that are."""

    def kit(self, game: str, raw: Mapping[str, Any], paper: str, language: str, *, low_ink: bool = False) -> bytes:
        """Board, pieces and cards to cut out; with `low_ink` the sides in light colours."""

    def board(self, game: str, raw: Mapping[str, Any], language: str) -> bytes:
        """The board alone, in one piece, on the smallest sheet that holds it; raises `Malformed` where none does."""

    def join_card(self, addresses: Sequence[str], wifi: Wifi | None, paper: str, language: str) -> bytes:
        """Where phones go, to stand on the table: the addresses of the table screen, the best one first, and Wi-Fi."""
