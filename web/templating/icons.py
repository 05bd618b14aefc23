"""Drawings in text or in a corner of a page: icons, small boards, QR codes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import segno
from markupsafe import Markup, escape

from companion.core.i18n import say, translate
from companion.core.kit import SEATS
from companion.games.base import Game
from companion.table.seats.seating import OPEN_SENTENCES
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture
from web.rendering.cards import lanes_sign
from web.rendering.svg import decorative_svg

# A picture in a game's `pictures.svg`: its name, its view box and its content.
_PICTURE = re.compile(r'<symbol id="(.*?)" viewBox="(.*?)">\n(.*?)</symbol>', re.DOTALL)
# Notices that are requests. All others report a problem.
_REQUESTS = frozenset(OPEN_SENTENCES.values())


def icon(drawing: str, classes: str = "") -> Markup:
    """Draw an icon beside words that say the same. It is hidden from screen readers."""
    return decorative_svg(
        escape(f"ic {classes}"), "0 0 100 100", f'<use href="#{escape(drawing)}"/>'
    )


def notice_drawing(notice: str) -> str:
    """Return the name of the drawing beside a notice: one for requests, another for problems."""
    return "bell" if notice in _REQUESTS else "noentry"


def rotated_icon(drawing: str, degrees: int) -> Markup:
    """Draw an icon like `icon`, rotated clockwise."""
    rotation = f'transform="rotate({degrees % 360} 50 50)"'
    return decorative_svg("ic", "0 0 100 100", f'<use href="#{escape(drawing)}" {rotation}/>')


def game_picture(game: Game[Any, Any], name: str) -> Markup:
    """Return a picture that a game has drawn, or the icons of both sides if it has none.

    `name` is `emblem` for three pieces of the game, or `win-1` and so on for a way to win.
    """
    pictures = _pictures_of(type(game))
    if name in pictures:
        return pictures[name]
    sides = [game.sides[seat] for seat in SEATS]
    return Markup("").join(icon(side.drawing, f"side-{side.colour}") for side in sides)


@lru_cache(maxsize=32)
def _pictures_of(game: type[Game[Any, Any]]) -> dict[str, Markup]:
    """Return the pictures of a game by name, from the file `pictures.svg` in its folder.

    Empty for a game without captions of its pictures (`Game.how_to_win`).
    """
    path = Path(inspect.getfile(game)).with_name("pictures.svg")
    # without captions, a file of that name is not meant for this
    if not game.how_to_win or not path.exists():
        return {}
    pictures = {}
    for name, box, content in _PICTURE.findall(path.read_text(encoding="utf-8")):
        # a way to win is cropped to fill its frame, but the emblem is shown whole
        cropping = "" if name == "emblem" else ' preserveAspectRatio="xMidYMid slice"'
        pictures[name] = decorative_svg("picture", box, content, cropping)
    return pictures


def start_board(game: Game[Any, Any], chosen: Mapping[str, Any] | None = None) -> Markup:
    """Draw the board at the start of a game with the chosen options, as South sees it.

    For a game of cards the drawing is a small icon of its lanes. Raises `Malformed` if the game has
    no such options.
    """
    options = game.options(chosen or {})
    kit = game.kit(options)
    if kit.deck:
        return lanes_sign(kit)
    # any seed works, because only the start position is drawn
    state = game.setup(options, Random(0))
    board_ui = game.board_ui(state, None)
    layout = game.expected(state) or {}
    badges = board_ui.badges if board_ui else {}
    return board_svg(BoardPicture(kit, layout, badges=badges))


def qr_code(url: str) -> Markup:
    """Draw a QR code, black on white in every theme, with a name for screen readers."""
    # The name depends on the language, so only the drawing is cached. It lacks the start of its
    # first tag, which is added here with the name.
    return Markup('<svg role="img" aria-label="{}" {}').format(
        translate(say("Code to scan")), _qr_drawing(url)
    )


@lru_cache(maxsize=16)
def _qr_drawing(url: str) -> Markup:
    """Return the QR code as SVG without its first `<svg `, see `qr_code`."""
    # with error level M, phones can read the code if 15 % of it are worn or covered
    code = segno.make(url, error="m", micro=False)
    drawing = code.svg_inline(
        border=3, omitsize=True, light="#fff", dark="#000", svgclass="qr", lineclass=None
    )
    return Markup(drawing.removeprefix("<svg "))
