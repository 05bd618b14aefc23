"""What every page has at hand: the table, the games, the guard, the streams, and the fragments of the live pages."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from random import Random
from typing import Any, NamedTuple

import segno
from flask import Flask, Request, render_template
from markupsafe import Markup

from companion.core.clock import Clock
from companion.core.config import TableSettings
from companion.core.drawings import DRAWINGS, ON_PAPER, sprite
from companion.core.errors import Illegal, Refusal
from companion.core.grid import Square
from companion.core.i18n import LANGUAGES, Said, joined, listed, say, say_n, spoken, to_owner, translate
from companion.core.kit import SEAT_WORDS, SEATS, Kit, Seat, Side
from companion.core.network import shown, shown_code
from companion.core.ports import CameraState
from companion.games.base import Game
from companion.maintenance.settings.words import WORDS
from companion.table.remote.remote_table import REMATCH_HERE, REMATCH_THERE
from companion.table.seats.claims import mark_words, sentence_of
from companion.table.session import Phase
from companion.table.table import Table
from companion.table.table_view import TableView
from web.features import Features
from web.rendering import cards, guide, piece_controls
from web.rendering.beats import tones_of
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture, board_words, scene_of
from web.rendering.cards import lanes_sign
from web.rendering.finale import again_words, end_words, length_of, nearest_tenth, still_picture, tale_of
from web.rendering.pieces import picture
from web.security.auth import Auth
from web.security.far_access import code_of
from web.security.join_code import JoinCode
from web.server.sse import Streams
from web.static_files import static_version

_ASKING = frozenset({REMATCH_HERE, REMATCH_THERE, *map(sentence_of, SEATS)})
"""The notices by which somebody asks for something; the others say what is wrong."""


class _Asked(NamedTuple):
    """What is drawn, for whom: under this a drawing is kept."""

    page: str
    viewer: Seat | None
    own_screen: bool
    at_table: bool
    language: str


class Needs:
    """What a template names while it is drawn because its markup needs it: scripts, and a sheet of its game's kind.

    A page loads them at once; of what comes later by the stream the page's scripts fetch what is not there yet.
    """

    def __init__(self, modules: Iterable[str] = (), sheets: Iterable[str] = ()) -> None:
        self.modules, self.sheets = list(modules), list(sheets)

    def module(self, name: str) -> Markup:
        """The attribute of an element that a script of `web/static` works on."""
        if name not in self.modules:
            self.modules.append(name)
        return Markup(' data-needs="{}"').format(name)

    def later(self, name: str) -> Markup:
        """The attribute of an element whose script may come when everything else is there."""
        return Markup(' data-needs="{}"').format(name)

    def sheet(self, name: str) -> Markup:
        """The attribute of a fragment that needs one of `STYLESHEETS` beside that of its surface."""
        if name not in self.sheets:
            self.sheets.append(name)
        return Markup(' data-sheet="{}"').format(name)


class Fragment(NamedTuple):
    """The live part of a page, and what it needs."""

    html: str
    needs: Needs


_NOTHING = Fragment("", Needs())
_COACH_FOR = WORDS["table.coach"].choices


@dataclass(frozen=True)
class PageContext:
    """Everything that the pages share."""

    table: Table
    games: Mapping[str, Game[Any, Any]]
    clock: Clock
    guard: Auth
    streams: Streams
    join_urls: Callable[[], tuple[str, ...]]
    join_code: JoinCode | None
    """What whoever sits down must know; None: anybody may."""
    features: Features
    imaging: threading.Lock = field(default_factory=threading.Lock)
    """Held while a picture of the camera or of the workbench is made: each takes some 20 MB for a moment."""
    _drawn: dict[_Asked, tuple[Table, int, Fragment]] = field(default_factory=dict)
    _drawing: dict[_Asked, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    @property
    def table_settings(self) -> TableSettings:
        """The table's settings as they hold now."""
        return self.table.settings

    def needs_code(self, asked: Request) -> bool:
        """Must whoever asks know the code to sit down?"""
        is_let_in = code_of(asked) or self.guard.is_at_table(asked) or self.guard.is_host(asked)
        return self.join_code is not None and not is_let_in

    def require_at_table(self, asked: Request) -> None:
        """Raise `Illegal` where strangers share the network and the request comes from nobody at the table."""
        if self.needs_code(asked):
            who = say("Only a seat, the host or the table’s own screen can do that here")
            raise Illegal(Refusal.NOT_YOUR_SEAT, who)

    def let_in(self, asked: Request, typed: str) -> None:
        """Raise `Illegal` for somebody who must know the code and has not typed it."""
        if self.join_code is not None and self.needs_code(asked):
            self.join_code.require(typed, asked.remote_addr or "")

    def fragment(
        self, app: Flask, page: str, viewer: Seat | None, own_screen: bool = False, at_table: bool = False
    ) -> Fragment:
        """The live part of a page for one viewer (None: what everybody may know), drawn once a change and language.

        `own_screen`: the page is asked for by this very machine, so it may show the host key. `at_table`: by somebody
        who may know how people get in. Who asks while it is being drawn waits for that drawing.
        """
        asked = _Asked(page, viewer, own_screen, at_table, spoken())
        with self._drawing[asked]:
            table = self._shown_on(page)
            drawn, version, fragment = self._drawn.get(asked, (table, -1, _NOTHING))
            if drawn is not table or version != table.version:
                version, fragment = self._draw(app, table, asked)
                self._drawn[asked] = (table, version, fragment)
        return fragment

    def _shown_on(self, page: str) -> Table:
        """The table of a page: the table screen shows that of the demonstration while one is on."""
        demonstration = self.features.demonstration if page == "table" else None
        return (demonstration.shown if demonstration else None) or self.table

    def paragraph(self, rule: str | None) -> tuple[str, str] | None:
        """Address and name of a paragraph of the rules of the game that is on; None where there is none."""
        game = self.games.get(self.table.view().game or "") if rule else None
        return (f"/rules/{game.name}#{rule}", rule_words(game, rule)) if rule and game else None

    def _names_plays(self, view: TableView) -> bool:
        """Does the page say what single plays are?"""
        return bool(view.own.choices) or view.turn.is_open or view.guide is not None

    def _draw(self, app: Flask, table: Table, asked: _Asked) -> tuple[int, Fragment]:
        view = table.view(asked.viewer)
        known = view if asked.viewer is None else table.view()
        while known.version != view.version:  # both of one moment: what is secret is told by their difference
            view, known = table.view(asked.viewer), table.view()
        needs = Needs()
        html = app.jinja_env.get_template(f"_{asked.page}.html").render(
            needs=needs,
            view=view,
            known=known.board.tableau,
            viewer=asked.viewer,
            own_screen=asked.own_screen,
            **self._about_game(table, view, asked),
            **self._about_room(asked),
            **self._for_surface(table, known, asked),
        )
        return view.version, Fragment(html, needs)

    def _about_game(self, table: Table, view: TableView, asked: _Asked) -> dict[str, Any]:
        """What every page may say of the game that is on, or was."""
        is_demonstration = table is not self.table
        past = self.features.past if view.phase is Phase.OVER and not is_demonstration else None
        finale = past.finale(int(view.moment.partition(".")[0])) if past else None
        acting = cards.acting_seat(view) if view.board.standing else None
        return {
            "finale": finale,
            "end": end_words(view, finale, asked.viewer),
            "opened": view.board.suggested or self.table.remembered or next(iter(self.games)),
            "plays": table.hints.plays(acting, view.moment) if acting and self._names_plays(view) else (),
            "south": self.table_settings.tip_south,
            "tip": tip_of(view, self.table_settings.tip_south) if asked.page != "seat" else "",
            "state": device_words(view),
            "is_demonstration": is_demonstration,
            "demonstration": self.features.demonstration,
            "coach": self.table.coaching.of(asked.viewer).about if asked.viewer and self.features.coach else (),
        }

    def _about_room(self, asked: _Asked) -> dict[str, Any]:
        """What every page may say of the installation: how one gets in, and what there is beside the table."""
        features = self.features
        return {
            "games": self.games,
            "urls": self.join_urls(),
            "needs_code": self.join_code is not None,
            "join_code": self.join_code.now() if self.join_code and (asked.at_table or asked.page == "host") else "",
            "may_sit": asked.at_table or self.join_code is None,
            "opponents": features.opponents,
            "workbench": features.workbench is not None,
            "settings_page": features.upkeep is not None,
            "camera_page": features.camera is not None,
            "has_pads": features.welcome.has_pads,
            "staff": features.staff if features.staff and features.staff.is_heard else None,
        }

    def _for_surface(self, table: Table, known: TableView, asked: _Asked) -> dict[str, Any]:
        """What one surface alone is given; the others have nothing of it."""
        features = self.features
        given: dict[str, Any] = {
            "host_key": self.guard.host_key if asked.own_screen or asked.page == "host" else "",
            **dict.fromkeys(("coach_for", "handicap", "hub", "unwell", "voice", "wifi"), None),
            "pads": {},
        }
        if asked.page in ("host", "seat"):
            given |= {"hub": features.hub, "handicap": features.handicap(known, self.table_settings)}
        if asked.page == "host":
            given["coach_for"] = _COACH_FOR[self.table_settings.coach] if features.coach else None
            given["unwell"] = features.health.line() if features.health else None
        elif asked.page == "table":
            given["wifi"] = features.welcome.wifi() if asked.at_table else None
            given["voice"] = features.welcome.voice if table is self.table else None
        elif asked.page == "workbench":
            given["pads"] = {seat: self.table.view(seat).own.pad for seat in SEATS}
        return given


def register_template_helpers(app: Flask) -> None:
    """What templates may use beside their own values."""
    version = static_version()
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.finalize = _in_words
    app.jinja_env.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    app.jinja_env.globals.update(
        say=say,
        say_n=say_n,
        joined=joined,
        listed=listed,
        mark_words=mark_words,
        spoken=spoken,
        LANGUAGES=LANGUAGES,
        sprite=lambda *names: _sprite(names or tuple(name for name in DRAWINGS if name not in ON_PAPER)),
        styles=partial(_styles, version),
        scripts=partial(_scripts, version),
        asset=lambda name: f"/static/{version}/{name}",
        board=_board,
        words=lambda view: board_words(scene) if (scene := scene_of(view)) else "",
        ic=icon,
        notice_drawing=notice_drawing,
        pointing=pointing,
        cards=cards,
        guide=guide,
        beside=piece_controls,
        tale_of=tale_of,
        length_of=length_of,
        end_words=end_words,
        again_words=again_words,
        tones_of=tones_of,
        still_picture=still_picture,
        nearest_tenth=nearest_tenth,
        picture=picture,
        small_board=lambda game: small_board(game.kit(game.options({}))),
        start_board=start_board,
        qr=qr_code,
        side_of=side_of,
        SEATS=SEATS,
        SEAT_WORDS=SEAT_WORDS,
    )
    app.context_processor(lambda: {"needs": Needs()})
    app.jinja_env.filters.update(
        clock=clock_words,
        code=shown_code,
        groups=groups,
        first_up=first_up,
        shown=shown,
        rule_words=rule_words,
        t=translate,
        to_owner=to_owner,
    )


@lru_cache(maxsize=1)
def _sprite(names: tuple[str, ...]) -> Markup:
    """Every drawing, as each page carries them: what scripts fetch or draw finds them there."""
    text = sprite(names).replace('style="position:absolute"', 'class="sprite"')
    text = text.replace('stroke="var(--edge,var(--line))" stroke-width="5"', 'class="rim"')
    text = text.replace('fill="none" stroke="var(--line)" stroke-width="8" stroke-linecap="square"', 'class="edging"')
    text = text.replace('fill="none" stroke="currentColor"', 'class="pen"')
    return Markup(text.replace('class="pen" stroke-width="4.6" stroke-linecap="square"', 'class="core"'))


def _styles(version: str, *names: str) -> Markup:
    """The links to some stylesheets."""
    link = Markup('<link rel="stylesheet" href="/static/{}/{}.css">\n')
    return Markup().join(link.format(version, name) for name in names)


def _scripts(version: str, *names: str) -> Markup:
    """The tags of some modules, in order; an empty name is none."""
    tag = Markup('<script type="module" src="/static/{}/{}.js"></script>\n')
    return Markup().join(tag.format(version, name) for name in names if name)


def render_fragment(template: str, fragment: Fragment, **more: Any) -> str:
    """A page around its live part, with everything that this needs."""
    needs = Needs(fragment.needs.modules, fragment.needs.sheets)
    return render_template(template, fragment=fragment.html, needs=needs, **more)


def _in_words(value: Any) -> Any:
    """Whatever a template prints: a sentence in the viewer's language, anything else as it is."""
    return translate(value) if isinstance(value, Said) else value


# ---- small things that templates say ---------------------------------------------------------------------------------


def _board(view: TableView, turned: bool = False) -> Markup:
    scene = scene_of(view)
    return board_svg(scene, turned) if scene else Markup()


def icon(drawing: str, classes: str = "") -> Markup:
    """A drawing in a line of text; it says nothing that the text does not. At a hub a table has told its name."""
    picture = Markup('<svg class="ic {}" viewBox="0 0 100 100" aria-hidden="true"><use href="#{}"/></svg>')
    return picture.format(classes, drawing)


def notice_drawing(notice: str) -> str:
    """The drawing beside a standing notice: somebody asks for something, or something is wrong."""
    return "bell" if notice in _ASKING else "noentry"


def pointing(drawing: str, degrees: int) -> Markup:
    """A drawing in a line of text, turned clockwise."""
    return Markup(
        '<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#{}" transform="rotate({} 50 50)"/></svg>'
    ).format(drawing, degrees % 360)


def side_of(view: TableView, seat: Seat) -> Side:
    """How a seat appears: in its game's colours, or plain while no game is on."""
    shown = view.seats[seat].side
    if shown:
        return shown
    plain = {Seat.SOUTH: (say("South"), "ink", "disc"), Seat.NORTH: (say("North"), "bare", "diamond")}
    name, colour, drawing = plain[seat]
    return Side(name, colour, "#1B1814", drawing)


def small_board(kit: Kit) -> Markup:
    """A board as a small sign: its squares in two tones, or its lanes."""
    if kit.deck:
        return lanes_sign(kit)
    board = kit.board
    dark = "".join(
        f"M{s.file * 10} {(board.ranks - 1 - s.rank) * 10}h10v10h-10z"
        for s in board.squares
        if (s.file + s.rank) % 2 or s in board.holes
    )
    width, height = board.files * 10, board.ranks * 10
    if board.tones == 2:
        lines, tone = f"M0 0h{width}v{height}h-{width}z", "tile-4"
    else:
        lines, tone = "".join(f"M{f * 10} 0v{height}" for f in range(board.files + 1)), "tile-2"
        lines += "".join(f"M0 {r * 10}h{width}" for r in range(board.ranks + 1))
    return Markup(
        f'<svg class="mini" viewBox="-1 -1 {width + 2} {height + 2}" aria-hidden="true">'
        f'<rect class="tile-1" width="{width}" height="{height}"/><path class="{tone}" d="{dark}"/>'
        f'<path class="lines" d="{lines}"/></svg>'
    )


def start_board(game: Game[Any, Any], raw: Mapping[str, Any] | None = None) -> Markup:
    """The beginning of a game with its delivered or other options, as South sees it; raises `Malformed`."""
    options = game.options(raw or {})
    if game.kit(options).deck:
        return lanes_sign(game.kit(options))
    state = game.setup(options, Random(0))
    shown = game.standing(state, None)
    return board_svg(BoardPicture(game.kit(options), game.expected(state) or {}, badges=shown.badges if shown else {}))


def qr_code(url: str) -> Markup:
    """A QR code as inline SVG with a name for those who do not see it, black on white whatever the theme."""
    return Markup('<svg role="img" aria-label="{}" {}').format(translate(say("Code to scan")), _qr_drawing(url))


@lru_cache(maxsize=16)
def _qr_drawing(url: str) -> Markup:
    code = segno.make(url, error="m", micro=False)
    drawing = code.svg_inline(border=3, omitsize=True, light="#fff", dark="#000", svgclass="qr", lineclass=None)
    return Markup(drawing.removeprefix("<svg "))


def clock_words(at_s: float) -> str:
    """Unix time as the table's clock shows it."""
    return time.strftime("%H:%M:%S", time.localtime(at_s))


def groups(receipt: str) -> list[str]:
    """A receipt in groups of four, to be read aloud."""
    return [receipt[i : i + 4] for i in range(0, len(receipt), 4)]


def first_up(text: str) -> str:
    """With a capital letter, the rest as it is."""
    return text.capitalize() if isinstance(text, Said) else text[:1].upper() + text[1:]


def rule_words(game: Game[Any, Any], rule: str) -> str:
    """A paragraph of the rules by number and title."""
    for number, paragraph in enumerate(game.rules, start=1):
        if paragraph.id == rule:
            return say("Rule {number}, {title}", number=number, title=paragraph.title)
    return say("Rules")


def tip_of(view: TableView, south: str) -> str:
    """To which side the sign's tip points on the table screen: a class, empty for the table itself."""
    seats = view.sign.seats
    if len(seats) == 2:
        return "both"
    if not seats:
        return ""
    other = "right" if south == "left" else "left"
    return south if Seat.SOUTH in seats else other


def device_words(view: TableView) -> str:
    """Camera and pads in one line; where cards are merely counted nobody needs a camera that is well."""
    tableau = view.board.tableau
    is_read = tableau is None or bool(tableau.lanes) or view.devices.camera.state is CameraState.TROUBLE
    camera = {
        CameraState.NONE: say("No camera: confirm by hand."),
        CameraState.SEES_BOARD: say("Camera sees the board."),
        CameraState.NO_BOARD: say("Camera sees no board."),
        CameraState.TROUBLE: say("Camera has a problem."),
    }[view.devices.camera.state]
    told = ((view.devices.camera.sentence or camera) if is_read else "", view.devices.panel)
    return joined(
        " ", [sentence if sentence.endswith(".") else joined("", (sentence, ".")) for sentence in told if sentence]
    )


def own_square(view: TableView, seat: Seat) -> Square | None:
    """Where the one piece lies that stands for a side; None when there is none, or several."""
    if view.kit is None:
        return None
    drawing = view.kit.sides[seat].drawing
    found = [
        square
        for square, faces in view.board.layout.items()
        if any(view.kit.face(face).seat is seat and view.kit.face(face).drawing == drawing for face in faces)
    ]
    return found[0] if len(found) == 1 else None
