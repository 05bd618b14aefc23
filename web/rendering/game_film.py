"""A game as a film to be shared: an animated WebP, made of the pages' own drawings.

The film has no words of any language. It shows the players' names and the numbers of the turns, and
in the end it puts the colour of signs behind the winner's name.

A frame of the film shows a scene of the replay. It is drawn as an SVG document. The converter from
SVG to WebP knows neither CSS variables nor the drawings that a page defines once and repeats. So
there are four steps:

1. The template `_film.html` draws the scene as a page would:
   `<use href="#disc" x="8" … class="side-lime"/>`, `<rect fill="var(--tile)"/>`.
2. `_resolve_colours` replaces variables by the colours of the light theme. Only `--face`, the
   colour of a print on a piece, remains, because it depends on the piece's side.
3. `_inline_drawings` replaces each `use` by its drawing, with the print colour of its side.
4. `render_film` converts the documents with `_style_sheet`, in which the same is done to the rules
   of the pages' style sheet.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from flask import render_template
from markupsafe import Markup

from companion.archive.played_games import ReplayScene
from companion.archive.replay import Replay
from companion.core.drawings import DRAWINGS, PATTERNS, SIGN_COLOUR
from companion.printing.film import FONT_FAMILY, Film, render_film
from web.rendering.board import board_svg
from web.rendering.board_picture import picture_from_scene
from web.rendering.cards import lanes_picture

# Maximum number of frames. A frame takes 50 ms to draw on a PC, some 200 ms on a Raspberry Pi.
MAX_FRAMES = 60
# Duration of a film without its last frame. All other frames share it equally.
_FILM_MS = 45_000
# Minimum duration of a frame.
_MIN_FRAME_MS = 300
# Maximum duration of a frame. Because of it, short games have shorter films.
_MAX_FRAME_MS = 900
# Duration of the last frame.
_LAST_FRAME_MS = 4_000

# Sizes in a frame. `_film.html` has the positions.
#
# Width of a frame.
_WIDTH_PX = 480
# Height of a board.
_BOARD_HEIGHT_PX = 520
# Height of the lanes of a game of cards.
_LANES_HEIGHT_PX = 228
# Height of the head with the players' names.
_HEAD_HEIGHT_PX = 44
# Margin above and below the board.
_MARGIN_PX = 12
# Font size of a name.
_NAME_PX = 15
# Maximum number of letters of a name. A longer name is cut.
_MAX_NAME_LENGTH = 15

_STYLE_SHEET = Path(__file__).parents[1] / "static" / "base.css"
# A part of the style sheet that has rules for drawings stands between two comments:
# `/* drawn … */ .pen {…} /* end of drawn */`.
_DRAWING_RULES = re.compile(r"/\* drawn .*?\*/(.*?)/\* end of drawn \*/", re.DOTALL)
# A use of a CSS variable, with its name and its default: `var(--ink)`, `var(--edge,var(--line))`.
_VARIABLE = re.compile(r"var\(--([\w-]+)(?:,((?:var\([^()]*\)|[^()])*))?\)")
# An attribute for scripts: ` data-beat="2"`, ` data-swell`.
_SCRIPT_ATTRIBUTE = re.compile(r' data-[a-z]+(="[^"]*")?')
# A reference to a drawing, as `web.rendering.svg.use` and `_film.html` write it. Its groups are the
# drawing's name, its box (`x="8" … height="26"`), classes and rotation.
_USE = re.compile(
    r'<use href="#([\w-]+)" (x="[^>]*? height="[^"]*")(?: class="([^"]*)")?( transform="[^"]*")?/>'
)


def game_film(game: Replay) -> bytes:
    """Draw a game as a film of all its scenes, or of `MAX_FRAMES` scenes of a long game.

    Needs an application context for the template.
    """
    scene_indices = _choose_scenes(game)
    last_index = game.scene_count - 1
    documents = [
        _scene_document(game, game.scene(i), is_end=i == last_index) for i in scene_indices
    ]
    # the longer the game, the shorter its frames
    frame_ms = max(_MIN_FRAME_MS, min(_MAX_FRAME_MS, _FILM_MS // len(documents)))
    durations_ms = [frame_ms] * (len(documents) - 1) + [_LAST_FRAME_MS]
    return render_film(Film(documents, durations_ms, _style_sheet(), _css_variables()["paper"]))


def _choose_scenes(game: Replay) -> list[int]:
    """Return the indices of the scenes to be drawn, evenly spaced from the first to the last."""
    last_index = game.scene_count - 1
    # rounded up, and without one frame, which the last scene gets
    stride = -(-game.scene_count // (MAX_FRAMES - 1))
    return [*range(0, last_index, stride), last_index]


def _scene_document(game: Replay, scene: ReplayScene, *, is_end: bool) -> str:
    """Return one scene as an SVG document."""
    board = Markup()
    board_height = _LANES_HEIGHT_PX
    if scene.lanes:
        board = lanes_picture(game.kit, scene.lanes)
    elif not game.kit.deck:
        board = board_svg(picture_from_scene(game.kit, scene))
        board_height = _BOARD_HEIGHT_PX
    # In a game of cards a scene may have no lanes. Then the template shows the scene's count.
    svg = render_template(
        "_film.html",
        game=game,
        scene=scene,
        is_end=is_end,
        # some attributes for scripts have no value, which HTML permits but not XML
        board=Markup(_SCRIPT_ATTRIBUTE.sub("", board)),
        board_height=board_height,
        height=board_height + _HEAD_HEIGHT_PX + 2 * _MARGIN_PX,
        width=_WIDTH_PX,
        patterns=Markup(_resolve_colours(PATTERNS, _css_variables()["ink"])),
        winner_colour=SIGN_COLOUR,
        max_name=_MAX_NAME_LENGTH,
    )
    return _inline_drawings(_resolve_colours(svg))


def _inline_drawings(document: str) -> str:
    """Replace each `use` by a copy of its drawing in the colours of its side."""

    def copy_of(use: re.Match[str]) -> str:
        name, box, classes, rotation = use.groups("")
        side_class = next((word for word in classes.split() if word.startswith("side-")), "")
        # a piece that lies turned over is drawn as an outline without a print
        print_colour = "none" if "lying" in classes.split() else _print_colour(side_class)
        drawing = _resolve_colours(DRAWINGS[name], print_colour)
        # a drawing is 100 wide, and the inner `svg` scales it to its size
        scaled = f'<svg {box} viewBox="0 0 100 100">{drawing}</svg>'
        return f'<g class="{classes}"{rotation}>{scaled}</g>'

    return _USE.sub(copy_of, document)


# ---- colours -------------------------------------------------------------------------------------


@cache
def _css_variables() -> dict[str, str]:
    """Return the CSS variables in the light theme, such as `{"paper": "#F4EEE1", …}`."""
    sheet = _STYLE_SHEET.read_text(encoding="utf-8")
    # the variables of the light theme stand before those of the dark one
    light = sheet[: sheet.index('[data-theme="dark"]')]
    return dict(re.findall(r"--([\w-]+):\s*([^;}]+);", light)) | {
        "sans": FONT_FAMILY,
        "mono": FONT_FAMILY,
    }


def _resolve_colours(text: str, print_colour: str = "") -> str:
    """Replace uses of CSS variables by their colours.

    `print_colour` is the value of `--face`. Without it uses of `--face` remain.
    """

    def colour_of(variable: re.Match[str]) -> str:
        name = variable[1]
        default = variable[2] or ""
        if name == "face":
            return print_colour or variable[0]
        return _css_variables().get(name) or _resolve_colours(default, print_colour)

    return _VARIABLE.sub(colour_of, text)


def _print_colour(side_class: str) -> str:
    """Return the colour of a print on a side's pieces: the variable `on-lime` for `side-lime`."""
    return _css_variables().get(side_class.replace("side-", "on-"), _css_variables()["ink"])


@cache
def _style_sheet() -> str:
    """Return the style sheet for the converter.

    It has the rules for drawings from the pages' style sheet, and some rules for a film's frames.
    """
    # in a film a drawing stands in a `g` instead of a `use`
    sheet = _STYLE_SHEET.read_text(encoding="utf-8").replace("use.lying", "g.lying")
    drawing_rules = _resolve_colours("".join(_DRAWING_RULES.findall(sheet)), "inherit")
    side_classes = sorted(set(re.findall(r"side-\w+", drawing_rules)))
    # on a page letters inherit the print colour of their side, here each side needs a rule
    letter_rules = [f".letter.{name}{{fill:{_print_colour(name)}}}" for name in side_classes]
    frame_rules = (
        f"text{{font-family:{FONT_FAMILY};fill:{_css_variables()['ink']};font-weight:700}}"
        f".name{{font-size:{_NAME_PX}px}}.turn{{font-size:17px;text-anchor:end}}"
        ".count{font-size:150px;text-anchor:middle}"
        f".rule{{stroke:{_css_variables()['line']};stroke-width:2}}"
    )
    return frame_rules + drawing_rules + "".join(letter_rules)
