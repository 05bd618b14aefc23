"""The commands that print: `kit` and `card`. What is printed comes from the press."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from companion.cli.greeting import begin
from companion.core.errors import Malformed
from companion.core.files import MAX_TEXT, read_file
from companion.core.i18n import LANGUAGES
from companion.games import GAMES, game_named
from companion.games.tools import count
from companion.printing.kit_printer import PAPERS, KitPrinter


def add_print_commands(commands: Any) -> None:
    """Add them to the table of commands."""
    kit = commands.add_parser("kit", help="print board and pieces as a PDF")
    kit.add_argument("game", choices=sorted(GAMES))
    _add_sheets(kit)
    kit.add_argument(
        "--spares", type=count, default=0, metavar="N", help="spare tags of each piece"
    )
    kit.add_argument(
        "--low-ink", action="store_true", help="sides in light colours, backs of cards as lines"
    )
    kit.add_argument(
        "--board-only",
        action="store_true",
        help="the board in one piece: A3, A2 or A1, for a print shop",
    )
    kit.add_argument(
        "--board", metavar="FILE", type=Path, help="a text map instead of the usual board"
    )
    kit.add_argument(
        "--tiles",
        action="store_true",
        help="order tiles that the camera reads, where a game has them",
    )
    kit.set_defaults(run=_kit)
    card = commands.add_parser("card", help="print the table card with the address for phones")
    card.add_argument(
        "address",
        metavar="http://…/",
        help="address of the table screen, as printed by “companion play”",
    )
    _add_sheets(card)
    card.set_defaults(run=_card)


def _add_sheets(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.pdf")
    command.add_argument("--paper", choices=tuple(PAPERS), default="a4")
    command.add_argument(
        "--language", choices=tuple(LANGUAGES), default="en", help="language of what is printed"
    )


def _kit(options: argparse.Namespace) -> int:
    from companion.printing.kit_pages.sheets import KitStyle, board_in_one_piece, kit_pdf  # noqa: PLC0415 - the PDF library is slow to import

    game = game_named(options.game)
    raw: dict[str, Any] = {}
    try:
        if options.board:
            raw["board"] = read_file(options.board, MAX_TEXT).decode("utf-8-sig")
        if options.tiles:
            raw["tiles"] = True
    except OSError as error:
        raise Malformed(f"{options.board} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise Malformed(f"{options.board} is not text: a map is lines of . # s n S N") from None
    begin(f"Drawing the kit of {game.title}: this takes some seconds.")
    values = game.options(raw)
    kit = game.kit(values)
    style = KitStyle(
        options.paper, options.spares, options.language, options.low_ink, options.board_only
    )
    if options.board_only:
        if (paper := board_in_one_piece(kit)) is None:
            raise Malformed(
                "The board is too large for one sheet, even of A1: print it without --board-only"
            )
        style = replace(style, paper=paper)
    pdf = kit_pdf(kit, style, game.extras(values))
    advice = f"one sheet of {style.paper.upper()}; " if options.board_only else ""
    return _write_pdf(options.output, pdf, f"{advice}print it at 100 %, on matt paper")


def _card(options: argparse.Namespace) -> int:
    address = f"http://{options.address.removeprefix('http://').rstrip('/')}/"
    pdf = KitPrinter(GAMES).join_card((address,), None, options.paper, options.language)
    return _write_pdf(options.output, pdf, "print it, and fold it along the dashes")


def _write_pdf(path: Path, pdf: bytes, advice: str) -> int:
    try:
        path.write_bytes(pdf)
    except OSError as error:
        raise Malformed(f"{path} cannot be written: {error.strerror or error}") from None
    print(f"{path}: {advice}.")
    return 0
