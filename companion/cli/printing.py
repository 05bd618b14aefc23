"""`companion kit` and `companion card`: write PDFs to print.

A kit is the board and the pieces of a game, and a table card is a sign with the address for phones.
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

_SHEETS = (
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
    *_SHEETS,
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
    from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece, kit_pdf  # noqa: PLC0415 - the PDF library is slow to import

    game = game_named(options.game)
    given_options: dict[str, Any] = {}
    if options.board:
        try:
            given_options["board"] = read_named_file(options.board, MAX_TEXT_BYTES).decode(
                "utf-8-sig"
            )
        except UnicodeDecodeError:
            raise Malformed(f"{options.board} is not text: a map is lines of . # s n S N") from None
    if options.tiles:
        given_options["tiles"] = True
    announce(f"Drawing the kit of {game.title}: this takes some seconds.")
    game_options = game.options(given_options)
    printed_kit = game.kit(game_options)
    style = KitStyle(options.paper, options.language, options.low_ink, options.board_only)
    advice = "print it at 100 %, on matt paper"
    if options.board_only:
        paper = board_in_one_piece(printed_kit)
        if paper is None:
            raise Malformed(
                "The board is too large for one sheet, even of A1: print it without --board-only"
            )
        style = style._replace(paper=paper)
        advice = f"one sheet of {paper.upper()}; {advice}"
    write_file(options.output, kit_pdf(printed_kit, style, game.extras(game_options))[0])
    print(f"{options.output}: {advice}.")


@command(
    "card",
    "print the table card with the address for phones",
    argument(
        "address",
        metavar="http://…/",
        help="address of the table screen, as printed by “companion play”",
    ),
    *_SHEETS,
)
def card(options: argparse.Namespace) -> None:
    address = options.address.rstrip("/")
    if not address.startswith(("http://", "https://")):
        address = f"http://{address}"
    pdf = KitPrinter(GAMES).join_card((f"{address}/",), None, options.paper, options.language)
    write_file(options.output, pdf)
    print(f"{options.output}: print it, and fold it along the dashes.")
