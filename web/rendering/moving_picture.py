"""A game as an animated WebP to be shared, made of the pages' own drawings.

The picture needs no language: it shows names, turns as figures, and at the end the sign's colour
behind the winner. `_film.html` draws a frame, which needs an application context.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from flask import render_template
from markupsafe import Markup

from companion.archive.played_games import ReplayStep
from companion.archive.replay import Replay
from companion.core.drawings import DRAWINGS, PATTERNS, SIGN
from companion.printing.film import FAMILY, Film, film_webp
from web.rendering.board import board_svg
from web.rendering.board_picture import picture_of_replay
from web.rendering.cards import lanes_picture

# Maximum number of frames. A frame takes 50 ms to draw on a PC, some 200 ms on a Raspberry Pi.
MAX_FRAMES = 60
# Total duration of a whole game, minimum and maximum per scene, and duration of the last scene.
_WHOLE_GAME_MS, _FASTEST_MS, _SLOWEST_MS, _LAST_MS = 45_000, 300, 900, 4_000

_WIDTH, _BOARD_HEIGHT, _CARDS_HEIGHT = 480, 520, 228
_HEAD, _EDGE = 44, 12
# Sizes in pixels: the picture's width, the heights of a board and of lanes, the height of the head
# with the names, the edge, and the size of names. Names are cut after 15 letters.
_NAME_PX, _MAX_NAME = 15, 15

_STATIC = Path(__file__).parents[1] / "static"
_DRAWN = re.compile(r"/\* drawn .*?\*/(.*?)/\* end of drawn \*/", re.DOTALL)
_VARIABLE = re.compile(r"var\(--([\w-]+)(?:,((?:var\([^()]*\)|[^()])*))?\)")
_FOR_SCRIPTS = re.compile(r' data-[a-z]+(="[^"]*")?')
_USE = re.compile(
    r'<use href="#([\w-]+)" (x="[^>]*? height="[^"]*")(?: class="([^"]*)")?( transform="[^"]*")?/>'
)


def moving_picture(game: Replay) -> bytes:
    """Draw a game as WebP: its start, every step (only some of them in a long game) and its end."""
    places = _choose_places(game)
    last = game.places - 1
    documents = [_document(game, game.scene(place), is_end=place == last) for place in places]
    # the longer the game, the shorter its frames, within bounds
    frame_ms = max(_FASTEST_MS, min(_SLOWEST_MS, _WHOLE_GAME_MS // len(places)))
    durations = [frame_ms] * (len(documents) - 1) + [_LAST_MS]
    return film_webp(Film(documents, durations, _style(), _tokens()["paper"]))


def _choose_places(game: Replay) -> list[int]:
    """Return the scenes to be drawn, evenly spaced, including the first and the last."""
    last = game.places - 1
    stride = -(-game.places // (MAX_FRAMES - 1))  # the last scene may come on top
    return [*range(0, last, stride), last]


def _document(game: Replay, scene: ReplayStep, *, is_end: bool) -> str:
    """Return one scene as an SVG document. `_film.html` draws it."""
    board, board_height = Markup(), _CARDS_HEIGHT
    if scene.lanes:
        board = lanes_picture(game.kit, scene.lanes)
    elif not game.kit.deck:
        board, board_height = board_svg(picture_of_replay(game.kit, scene)), _BOARD_HEIGHT
    drawn = render_template(
        "_film.html",
        game=game,
        scene=scene,
        is_end=is_end,
        # attributes for scripts have no values, which is HTML and not XML
        board=Markup(_FOR_SCRIPTS.sub("", board)),
        board_height=board_height,
        height=board_height + _HEAD + 2 * _EDGE,
        width=_WIDTH,
        patterns=Markup(_resolve_colours(PATTERNS, _tokens()["ink"])),
        winner_colour=SIGN,
        max_name=_MAX_NAME,
    )
    return _put_drawings(_resolve_colours(drawn))


# ---- colours -------------------------------------------------------------------------------------


@cache
def _tokens() -> dict[str, str]:
    """Return the colours of the light theme by the names of their CSS variables."""
    text = (_STATIC / "base.css").read_text(encoding="utf-8")
    # the light theme comes before the dark one
    light = text[: text.index('[data-theme="dark"]')]
    return dict(re.findall(r"--([\w-]+):\s*([^;}]+);", light)) | {"sans": FAMILY, "mono": FAMILY}


def _resolve_colours(text: str, face: str = "") -> str:
    """Replace CSS variables by their colours. `face` is the colour of a print on a filled shape."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2] or ""
        # The colour of a print depends on the side, so `_put_drawings` fills it in.
        if name == "face":
            return face or match[0]
        return _tokens().get(name) or _resolve_colours(default, face)

    return _VARIABLE.sub(value, text)


def _put_drawings(drawn: str) -> str:
    """Replace each `use` by its drawing, because variables have other colours for each side."""

    def drawing(use: re.Match[str]) -> str:
        name, place, classes, turned = use.groups("")
        side = next((word for word in classes.split() if word.startswith("side-")), "")
        # a lying piece is an outline without a print
        face = "none" if "lying" in classes.split() else _print_colour(side)
        inner = _resolve_colours(DRAWINGS[name], face)
        return f'<g class="{classes}"{turned}><svg {place} viewBox="0 0 100 100">{inner}</svg></g>'

    return _USE.sub(drawing, drawn)


def _print_colour(side: str) -> str:
    """Return the colour of a print on a side's fill."""
    return _tokens().get(side.replace("side-", "on-"), _tokens()["ink"])


@cache
def _style() -> str:
    """Return the style sheet: the pages' rules for drawings with colours filled in, and some for
    this picture.
    """
    sheet = (_STATIC / "base.css").read_text(encoding="utf-8").replace("use.lying", "g.lying")
    drawn = _resolve_colours("".join(_DRAWN.findall(sheet)), "inherit")
    sides = sorted(set(re.findall(r"side-\w+", drawn)))
    printed = [f".letter.{side}{{fill:{_print_colour(side)}}}" for side in sides]
    own = (
        f"text{{font-family:{FAMILY};fill:{_tokens()['ink']};font-weight:700}}"
        f".name{{font-size:{_NAME_PX}px}}.turn{{font-size:17px;text-anchor:end}}"
        ".count{font-size:150px;text-anchor:middle}"
        f".rule{{stroke:{_tokens()['line']};stroke-width:2}}"
    )
    return own + drawn + "".join(printed)
