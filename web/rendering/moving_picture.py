"""A game, or one of its turns, as a moving picture to be shared: an animated WebP of the pages' own
drawings.

Beside the board stands what the camera saw. The picture says nothing in any language: names, turns
as figures, and at the end the sign's own colour behind whoever has won.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import escape

from companion.archive.played_games import ReplayStep
from companion.archive.replay_scenes import Replay
from companion.core.drawings import DRAWINGS, PATTERNS, SIGN
from companion.core.kit import SEATS
from companion.printing.film import FAMILY, Film, film_webp, font
from web.rendering.board import board_svg
from web.rendering.board_picture import scene_picture
from web.rendering.cards import lanes_picture

MAX_FRAMES = 60
"""Maximum number of frames. One takes 50 ms to draw on a PC, some 200 on a Raspberry Pi."""
_WHOLE_GAME_MS, _FASTEST_MS, _SLOWEST_MS, _LAST_MS = 45_000, 300, 900, 4_000
"""Duration of all scenes of a game together, of each at least and at most, and of the last."""
_TURN_MS = 1_200
"""Duration of a scene where only one turn is shown."""

_WIDTH, _BOARD_HEIGHT, _CARDS_HEIGHT = 480, 520, 228
_HEAD, _EDGE = 44, 12
_NAME_PX = 15

_STATIC = Path(__file__).parents[1] / "static"
_DRAWN = re.compile(r"/\* drawn .*?\*/(.*?)/\* end of drawn \*/", re.DOTALL)
_VARIABLE = re.compile(r"var\(--([\w-]+)(?:,((?:var\([^()]*\)|[^()])*))?\)")
_FOR_SCRIPTS = re.compile(r' data-[a-z]+(="[^"]*")?')
_USE = re.compile(
    r'<use href="#([\w-]+)" (x="[^>]*? height="[^"]*")(?: class="([^"]*)")?( transform="[^"]*")?/>'
)

Photographer = Callable[[str], bytes | None]
"""Return the photograph of a moment as JPEG. None: there is none."""


def moving_picture(game: Replay, turn: int, photograph: Photographer) -> bytes:
    """Draw a game as WebP: its start, every step (in a long game some of them), its end. Or one of
    its turns.

    `turn` counts from 1, 0 is the whole game.
    """
    if turn:
        first, last = game.turns[turn - 1].first, game.turns[turn - 1].last
        places = list(range(first - 1, last + 1))
    else:
        places = _choose_places(game)
    artist = _Artist(game, has_photographs=bool(game.photographs))
    documents: list[str] = []
    beside = b""
    for place in places:
        scene = game.scene(place)
        moment = _photograph_moment(game, scene)
        # the last photograph stays until the next one
        beside = (photograph(moment) if moment else None) or beside
        documents.append(artist.document(scene, beside, is_end=place == game.places - 1))
    frame_ms = _TURN_MS
    # a long game goes faster than a short one, within bounds
    if not turn:
        frame_ms = max(_FASTEST_MS, min(_SLOWEST_MS, _WHOLE_GAME_MS // len(places)))
    durations = [frame_ms] * (len(documents) - 1) + [_LAST_MS]
    return film_webp(Film(documents, durations, _style(), _tokens()["paper"]))


def _choose_places(game: Replay) -> list[int]:
    """Choose the scenes to be drawn, the first and the last among them."""
    places = list(range(game.places))
    # of too many steps only the end of each turn is drawn
    if len(places) > MAX_FRAMES:
        places = [0, *(turn.last for turn in game.turns)]
    stride = -(-len(places) // (MAX_FRAMES - 1))  # the last scene may come on top
    chosen = places[::stride]
    if chosen[-1] != places[-1]:
        chosen.append(places[-1])
    return chosen


def _photograph_moment(game: Replay, scene: ReplayStep) -> str:
    """Return the moment of the photograph that shows a scene. Empty: there is none."""
    # photographs are taken when a turn is done: earlier steps look different
    is_done = not scene.turn or game.turns[scene.turn - 1].last == scene.place
    return game.photograph(scene.turn) if is_done else ""


@dataclass(frozen=True)
class _Artist:
    """Draws scenes of one game."""

    game: Replay
    has_photographs: bool

    def document(self, scene: ReplayStep, photograph: bytes, *, is_end: bool) -> str:
        """Draw one scene as an SVG document."""
        board, height = self._board(scene)
        height += _HEAD + 2 * _EDGE
        width = _WIDTH
        parts = [*self._head(scene, is_end), board]
        if self.has_photographs:
            parts.append(_beside(photograph, height))
            width += height - _EDGE
        drawn = _put_drawings(_resolve_colours("".join(parts)))
        patterns = _resolve_colours(PATTERNS, _tokens()["ink"])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
            f"<defs>{patterns}</defs>{drawn}</svg>"
        )

    def _board(self, scene: ReplayStep) -> tuple[str, int]:
        """Draw the board, the lanes, or how many turns are left. Return the height as well."""
        kit = self.game.kit
        x, y, width = _EDGE, _HEAD + _EDGE, _WIDTH - 2 * _EDGE
        if scene.lanes:
            lanes = lanes_picture(kit, scene.lanes)
            return _place(lanes, x, y, width, _CARDS_HEIGHT), _CARDS_HEIGHT
        if kit.deck:
            left = str(scene.count[0]) if scene.count else ""
            middle = f'x="{_WIDTH / 2:g}" y="{y + _CARDS_HEIGHT / 2 + 50:g}"'
            return f'<text class="count" {middle}>{left}</text>', _CARDS_HEIGHT
        board = board_svg(scene_picture(kit, scene))
        # its own ratio, on which goals and frame depend
        size = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', board)
        ratio = float(size[2]) / float(size[1]) if size else 1.0
        height = min(_BOARD_HEIGHT, round(width * ratio))
        return _place(board, x, y, width, height), height

    def _head(self, scene: ReplayStep, is_end: bool) -> Iterator[str]:
        """Draw both sides with their names, the winner's on the sign's colour, and the turn at the
        right.
        """
        right = _WIDTH - _EDGE
        turn = f"{scene.turn}/{len(self.game.turns)}"
        yield f'<text class="turn" x="{right}" y="28">{turn}</text>'
        yield f'<path class="rule" d="M{_EDGE} {_HEAD - 3}H{right}"/>'
        # both names share what the turn at the right leaves
        column = (right - _EDGE - 80) / 2
        x = float(_EDGE)
        for seat in SEATS:
            side, sitters = self.game.kit.sides[seat], self.game.line.players.get(seat)
            name = _fit_name(sitters[-1].name if sitters else "", column - 44)
            if is_end and seat in self.game.line.winners:
                width = 40 + _name_width(name) if name else 34
                yield f'<rect x="{x - 4:g}" y="6" width="{width:g}" height="32" fill="{SIGN}"/>'
            place = f'x="{x:g}" y="8" width="26" height="26"'
            yield f'<use href="#{side.drawing}" {place} class="side-{side.colour}"/>'
            yield f'<text class="name" x="{x + 32:g}" y="27">{escape(name)}</text>'
            x += column


def _place(svg: str, x: float, y: float, width: float, height: float) -> str:
    """Give a drawing of a page its place in the picture, without what only scripts of the page
    read.
    """
    return _FOR_SCRIPTS.sub("", svg).replace(
        "<svg ", f'<svg x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" ', 1
    )


def _beside(photograph: bytes, height: float) -> str:
    """Draw the photograph at the right of the board. Empty: there is none."""
    if not photograph:
        return ""
    side = height - 2 * _EDGE
    data = base64.b64encode(photograph).decode()
    place = f'x="{_WIDTH}" y="{_EDGE}" width="{side}" height="{side}"'
    return f'<image {place} href="data:image/jpeg;base64,{data}"/>'


def _fit_name(name: str, room: float) -> str:
    """Cut a name to its room."""
    while len(name) > 2 and _name_width(name) > room:
        name = name[:-2].rstrip(" …") + "…"
    return name


def _name_width(name: str) -> float:
    from PIL import ImageFont  # noqa: PLC0415 - only pictures of games need it

    return ImageFont.truetype(str(font(bold=True)), _NAME_PX).getlength(name)


# ---- colours -------------------------------------------------------------------------------------


@cache
def _tokens() -> dict[str, str]:
    """Return the light theme's colours by the names of their variables, as the pages have them."""
    text = (_STATIC / "base.css").read_text(encoding="utf-8")
    # what stands before the dark theme is the light one
    light = text[: text.index('[data-theme="dark"]')]
    return dict(re.findall(r"--([\w-]+):\s*([^;}]+);", light)) | {"sans": FAMILY, "mono": FAMILY}


def _resolve_colours(text: str, face: str = "") -> str:
    """Put colours in the place of variables. `face` is the colour of what is printed on a fill."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2] or ""
        # what is printed on a side's fill differs from side to side: left for its drawings
        if name == "face":
            return face or match[0]
        return _tokens().get(name) or _resolve_colours(default, face)

    return _VARIABLE.sub(value, text)


def _put_drawings(drawn: str) -> str:
    """Put every drawing where it is used: its variables have other colours for each side."""

    def drawing(use: re.Match[str]) -> str:
        name, place, classes, turned = use.groups("")
        side = next((word for word in classes.split() if word.startswith("side-")), "")
        # a piece that lies is an outline: nothing is printed on it
        face = "none" if "lying" in classes.split() else _face_of(side)
        inner = _resolve_colours(DRAWINGS[name], face)
        return f'<g class="{classes}"{turned}><svg {place} viewBox="0 0 100 100">{inner}</svg></g>'

    return _USE.sub(drawing, drawn)


def _face_of(side: str) -> str:
    """Return the colour of what is printed on a side's fill."""
    return _tokens().get(side.replace("side-", "on-"), _tokens()["ink"])


@cache
def _style() -> str:
    """Return the rules of the pages' drawings with colours in them, and those of this picture."""
    sheet = (_STATIC / "base.css").read_text(encoding="utf-8").replace("use.lying", "g.lying")
    drawn = _resolve_colours("".join(_DRAWN.findall(sheet)), "inherit")
    sides = sorted(set(re.findall(r"side-\w+", drawn)))
    printed = [f".letter.{side}{{fill:{_face_of(side)}}}" for side in sides]
    own = (
        f"text{{font-family:{FAMILY};fill:{_tokens()['ink']};font-weight:700}}"
        f".name{{font-size:{_NAME_PX}px}}.turn{{font-size:17px;text-anchor:end}}"
        ".count{font-size:150px;text-anchor:middle}"
        f".rule{{stroke:{_tokens()['line']};stroke-width:2}}"
    )
    return own + drawn + "".join(printed)
