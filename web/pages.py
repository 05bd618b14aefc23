"""The pages for people: table screen, joining, seats, spectators, host and rules."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable
from random import Random
from typing import Any

from flask import (
    Blueprint,
    Flask,
    Request,
    Response,
    current_app,
    jsonify,
    make_response,
    redirect,
    render_template,
    request,
)
from werkzeug.exceptions import NotFound

from companion.errors import Illegal, Malformed, Refusal
from companion.games.base import Game, OptionRow
from companion.kit import SEATS, Seat
from companion.languages import LANGUAGES, speaking, spoken, words_for_scripts
from web.api import SEAT
from web.guard import is_own_screen
from web.house import House, static_files, static_version

YEAR_S = 365 * 24 * 3600


class Pages:
    """Every page that is not the workbench."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._table = house.table
        self._guard = house.guard
        self._static = static_files()
        self._static_version = static_version()

    def blueprint(self) -> Blueprint:
        """All routes."""
        pages = Blueprint("pages", __name__)
        for path, door in (
            ("/", self.table_screen),
            ("/watch", self.watch),
            ("/join", self.choose_seat),
            (f"/seat/{SEAT}", self.seat),
            ("/s", self.short_south),
            ("/n", self.short_north),
            ("/host", self.host),
            ("/rules/", self.rules_index),
            ("/rules/<name>", self.rules),
            ("/clock", self.clock),
            ("/health", self.health),
            ("/favicon.svg", self.favicon),
            ("/favicon.ico", self.favicon),
            ("/static/<version>/<name>", self.static),
            ("/live/<any(table, watch):page>", self.live),
            ("/live/host", self.live_host),
            (f"/live/seat/{SEAT}", self.live_seat),
        ):
            pages.add_url_rule(path, view_func=door)
        pages.add_url_rule(f"/join/{SEAT}", view_func=self.join, methods=["GET", "POST"])
        pages.add_url_rule("/host", "host_key", self.enter_host_key, methods=["POST"])
        pages.add_url_rule("/language", view_func=self.language, methods=["POST"])
        return pages

    # ---- pages that follow the table ----

    def table_screen(self) -> str:
        """The big screen."""
        theme = self._house.table_settings.theme
        asked = "screen" in request.args
        return self._page("table", None, "/live/table", theme="" if theme == "system" else theme, asked=asked)

    def watch(self) -> str:
        """What everybody may know, on a phone."""
        return self._page("watch", None, "/live/watch")

    def seat(self, seat: str) -> Any:
        """The page of a seat, for the browser that took it."""
        mine = Seat(seat)
        if self._guard.sits(request, mine):
            return self._page("seat", mine, f"/live/seat/{mine}")
        if self._table.seat_nonce(mine) is None:
            return redirect(f"/join/{mine}")
        return self._taken(mine, 403)

    def live(self, page: str) -> Response:
        """The stream of a page that everybody may see."""
        own = page == "table" and is_own_screen(request)
        return self._stream(lambda app: self._house.fragment(app, page, None, own))

    def live_host(self) -> Response:
        """The stream of the host's page."""
        self._guard.require_host(request)
        return self._stream(lambda app: self._house.fragment(app, "host", None))

    def live_seat(self, seat: str) -> Response:
        """The stream of a seat; a seat that was freed meanwhile gets nothing but the way out."""
        mine, asked = Seat(seat), _this_request()
        self._guard.require_seat(asked, mine)

        def render(app: Flask) -> str:
            if not self._guard.sits(asked, mine):
                return f'<main id="live" data-go="/join/{mine}"></main>'
            return self._house.fragment(app, "seat", mine)

        return self._stream(render)

    # ---- joining ----

    def choose_seat(self) -> str:
        """Which side is free?"""
        view = self._table.view()
        return render_template("join.html", view=view, own=self._guard.seats_of(request))

    def join(self, seat: str) -> Any:
        """Take one seat; the browser that has it already goes straight there."""
        mine = Seat(seat)
        if self._guard.sits(request, mine):
            return redirect(f"/seat/{mine}")
        if self._table.seat_nonce(mine) is not None:
            return self._taken(mine, 409)
        if request.method == "GET":
            return render_template("join_seat.html", view=self._table.view(), seat=mine, error="", name="")
        name = request.form.get("name", "")
        try:
            nonce = self._table.take_seat(mine, name)
        except Malformed as error:
            page = render_template("join_seat.html", view=self._table.view(), seat=mine, error=error.message, name=name)
            return make_response(page, 400)
        except Illegal as error:
            if error.reason is not Refusal.SEAT_TAKEN:
                raise
            return self._taken(mine, 409)
        answer = make_response(redirect(f"/seat/{mine}", 303))
        self._guard.seat_cookie(answer, mine, nonce)
        return answer

    def short_south(self) -> Any:
        """A short address for phones."""
        return self._straight_to(Seat.SOUTH)

    def short_north(self) -> Any:
        """A short address for phones."""
        return self._straight_to(Seat.NORTH)

    def _straight_to(self, seat: Seat) -> Any:
        return redirect(f"/seat/{seat}" if self._guard.sits(request, seat) else f"/join/{seat}")

    def _taken(self, seat: Seat, status: int) -> Response:
        view = self._table.view()
        page = render_template("taken.html", view=view, seat=seat, is_free=view.seats[seat.other].name is None)
        return make_response(page, status)

    # ---- the host ----

    def host(self) -> Any:
        """Set-up and everything that only the host may do."""
        if not self._guard.is_host(request):
            return make_response(render_template("host_key.html", error=""), 403)
        view = self._table.view()
        name = request.args.get("game") or view.game or next(iter(self._house.games))
        return self._page("host", None, "/live/host", game=self._game(name), fields=_fields(self._game(name)))

    def enter_host_key(self) -> Any:
        """Become the host of this browser."""
        try:
            fits = self._guard.fits(request.form.get("key", ""))
            error = (
                "" if fits else "That is not the host key. It stands in the log at the start, or on the table screen."
            )
        except Illegal as refusal:
            fits, error = False, refusal.message
        if not fits:
            return make_response(render_template("host_key.html", error=error), 403)
        answer = make_response(redirect("/host", 303))
        self._guard.host_cookie(answer)
        return answer

    # ---- rules and the rest ----

    def rules_index(self) -> str:
        """All games' rules."""
        return render_template("rules_index.html", games=self._house.games)

    def rules(self, name: str) -> str:
        """The rules of a game; every paragraph has an address that refusals link to."""
        game = self._game(name)
        options = game.options({})
        kit = game.kit(options)
        keys = _keys(game, game.setup(options, Random(0)))
        return render_template("rules.html", game=game, kit=kit, keys=keys)

    def language(self) -> Any:
        """Choose the language of this browser, and back to the page that asked."""
        code, back = request.form.get("code", ""), request.form.get("back", "/")
        if code not in LANGUAGES:
            raise NotFound
        answer = make_response(redirect(back if back.startswith("/") and not back.startswith("//") else "/", 303))
        answer.set_cookie("language", code, max_age=YEAR_S, samesite="Lax", httponly=True)
        return answer

    def clock(self) -> Response:
        """The time by which the table's clocks run, for pages that show what is left of it."""
        return jsonify(now_s=self._table.now_s())

    def health(self) -> Response:
        """Is the service alive? For watchdogs."""
        view = self._table.view()
        return jsonify(ok=True, phase=view.phase, camera=view.camera.state)

    def favicon(self) -> Response:
        """The sign."""
        return self.static("", "favicon.svg")

    def static(self, version: str, name: str) -> Response:
        """Styles and scripts; kept for ever under the address of their version."""
        content = self._static.get(name) or _script_words(name)
        if content is None:
            raise NotFound
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        answer = Response(content, mimetype=kind)
        fresh = version == self._static_version
        answer.headers["Cache-Control"] = f"public, max-age={YEAR_S}, immutable" if fresh else "no-cache"
        answer.add_etag()
        answer.make_conditional(request)
        return answer

    # ---- inside ----

    def _game(self, name: str) -> Game[Any, Any]:
        if name not in self._house.games:
            raise NotFound
        return self._house.games[name]

    def _page(self, page: str, viewer: Seat | None, live: str, **more: Any) -> str:
        fragment = self._house.fragment(_this_app(), page, viewer, page == "table" and is_own_screen(request))
        return render_template(f"{page}.html", fragment=fragment, live=live, viewer=viewer, house=self._house, **more)

    def _stream(self, render: Callable[[Flask], str]) -> Response:
        app, language = _this_app(), spoken()

        def draw() -> str:
            with speaking(language):
                return render(app)

        return self._house.streams.follow(request.environ, draw)


def _script_words(name: str) -> bytes | None:
    """`words.es.js`: what the scripts say, in a language; None for any other name."""
    code = name.removeprefix("words.").removesuffix(".js")
    if code not in LANGUAGES or name != f"words.{code}.js":
        return None
    return f"export default {json.dumps(words_for_scripts(code), ensure_ascii=False)};\n".encode()


def _this_app() -> Flask:
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # the proxy's own way to the application
    return app


def _this_request() -> Request:
    asked: Request = request._get_current_object()  # type: ignore[attr-defined]  # the proxy's own way to the request
    return asked


def _fields(game: Game[Any, Any]) -> list[tuple[str, list[OptionRow]]]:
    """The option rows by heading."""
    plain = [row for row in game.option_rows if not row.house_rule]
    house = [row for row in game.option_rows if row.house_rule]
    return [(title, rows) for title, rows in (("Options", plain), ("House rules", house)) if rows]


def _keys(game: Game[Any, Any], state: Any) -> tuple[Any, ...]:
    """The orders that a game's pad knows."""
    grammar = next((pad for seat in SEATS if (pad := game.pad(state, seat))), None)
    return grammar.keys if grammar else ()
