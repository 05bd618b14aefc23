"""`companion kit` and `companion card`: write PDFs to print.

A kit is everything that is printed for a game: its board, its pieces, and a sheet of instructions.
A table card stands on the table and has the address for phones, as text and as a QR code.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from companion.cli.greeting import announce
from companion.cli.options import argument, command, read_named_file, write_file
from companion.core.errors import Malformed
from companion.core.files import MAX_TEXT_BYTES
from companion.core.i18n import LANGUAGES
from companion.games import GAMES, game_named
from companion.printing.kit_printer import PAPERS, KitPrinter

# Options of both commands.
_PDF_OPTIONS = (
    argument("-o", "--output", type=Path, required=True, metavar="FILE.pdf"),
    argument("--paper", choices=tuple(PAPERS), default="a4"),
    argument(
        "--language", choices=tuple(LANGUAGES), default="en", help="language of what is printed"
    ),
)


@command(
    "kit",
    "print board and pieces as a PDF",
    argument("game", choices=GAMES),
    *_PDF_OPTIONS,
    argument(
        "--low-ink", action="store_true", help="sides in light colours, backs of cards as lines"
    ),
    argument(
        "--board-only",
        action="store_true",
        help="the board in one piece: A3, A2 or A1, for a print shop",
    ),
    argument("--board", metavar="FILE", type=Path, help="a text map instead of the usual board"),
    argument(
        "--tiles",
        action="store_true",
        help="order tiles that the camera reads, where a game has them",
    ),
)
def kit(options: argparse.Namespace) -> None:
    """Write the kit of a game. Raises `Malformed` for a map, options or a paper that do not fit."""
    from companion.printing.kit_pages.sheets import KitStyle, kit_pdf, paper_for_whole_board  # noqa: PLC0415 - the PDF library is slow to import

    game = game_named(options.game)
    # Options of the game, as far as the command line has an option for them.
    chosen: dict[str, Any] = {}
    if options.board:
        content = read_named_file(options.board, MAX_TEXT_BYTES)
        try:
            # Some editors begin a file with a byte order mark, which `utf-8-sig` drops.
            chosen["board"] = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Malformed(f"{options.board} is not text: a map is lines of . # s n S N") from None
    if options.tiles:
        chosen["tiles"] = True
    announce(f"Drawing the kit of {game.title}: this takes some seconds.")
    game_options = game.options(chosen)
    printed_kit = game.kit(game_options)
    style = KitStyle(options.paper, options.language, options.low_ink, options.board_only)
    advice = "print it at 100 %, on matt paper"
    if options.board_only:
        paper = paper_for_whole_board(printed_kit)
        if paper is None:
            raise Malformed(
                "The board is too large for one sheet, even of A1: print it without --board-only"
            )
        style = style._replace(paper=paper)
        advice = f"one sheet of {paper.upper()}; {advice}"
    pdf, _ = kit_pdf(printed_kit, style, game.extras(game_options))
    write_file(options.output, pdf)
    print(f"{options.output}: {advice}.")


@command(
    "card",
    "print the table card with the address for phones",
    argument(
        "address",
        metavar="http://…/",
        help="address of the table screen, as printed by “companion play”",
    ),
    *_PDF_OPTIONS,
)
def card(options: argparse.Namespace) -> None:
    """Write the table card. If the address has no scheme, it gets `http://`."""
    address = options.address.rstrip("/")
    if not address.startswith(("http://", "https://")):
        address = f"http://{address}"
    pdf = KitPrinter(GAMES).join_card_pdf((f"{address}/",), None, options.paper, options.language)
    write_file(options.output, pdf)
    print(f"{options.output}: print it, and fold it along the dashes.")
