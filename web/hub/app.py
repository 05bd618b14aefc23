"""The factory of the hub's application: the wall, its host's page, spectators' pages and the overlay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flask import Blueprint, Flask, Response, jsonify

from companion.core.clock import Clock
from companion.core.config import WebSettings
from companion.league.league import League
from companion.league.people import shown_name
from web import error_pages
from web.app import bare_app, watch_requests
from web.hub import drawing
from web.hub.cards import CardPages
from web.hub.director import DirectorPages
from web.hub.host import HubHost, HubHostPages, JoinDoor
from web.hub.room import Room
from web.hub.spectators import SpectatorPages
from web.hub.standings import StandingsPages
from web.hub.tournaments import TournamentPages
from web.hub.wall import WallPages
from web.security.auth import Auth
from web.security.host_names import Names
from web.server.sse import Streams
from web.static_files import StaticFiles
from web.templating.helpers import register_template_helpers


@dataclass(frozen=True)
class HubSite:
    """Where the hub's pages are served, and the secrets by which they know its host."""

    settings: WebSettings
    urls: Callable[[], tuple[str, ...]]
    signing_key: bytes
    host_key: str
    language: str = "auto"
    """Of the wall; `auto`: its browser's."""
    compiled: Path | None = None


def create_hub_app(room: Room, league: League, host: HubHost, clock: Clock, site: HubSite) -> Flask:
    """The application of a hub."""
    app = bare_app(site.compiled)
    guard = Auth(site.signing_key, site.host_key, lambda _: None, clock)
    streams = Streams(site.settings.viewers)
    door = JoinDoor(host, clock)
    app.extensions |= {"streams": streams, "guard": guard, "now_s": room.now_s, "join_code": None, "door": door}
    app.extensions["paragraph"] = lambda _: None
    register_template_helpers(app)
    app.jinja_env.globals.update(
        is_hub=True,
        room=room,
        hub_board=drawing.board_of,
        sentence=drawing.sentence,
        called=shown_name,
    )
    error_pages.register(app)
    names = Names((*site.settings.names, site.settings.host))
    watch_requests(app, room.now_s, lambda: site.language, guard, names=names, join_urls=site.urls)
    pages = Blueprint("pages", __name__)
    StaticFiles().add_to(pages)
    pages.add_url_rule("/clock", view_func=_clock(room))
    pages.add_url_rule("/health", view_func=_health(room))
    watch = SpectatorPages(room, streams)
    tournaments = TournamentPages(room, streams, league, guard)
    for blueprint in (
        pages,
        WallPages(room, streams, door, guard, urls=site.urls, watch=watch, league=league).blueprint(),
        HubHostPages(room, streams, host, door, guard).blueprint(),
        watch.blueprint(),
        CardPages(room, league, clock).blueprint(),
        StandingsPages(room, league, guard).blueprint(),
        tournaments.blueprint(),
        DirectorPages(room, league, guard, tournaments).blueprint(),
    ):
        app.register_blueprint(blueprint)
    return app


def _clock(room: Room) -> Callable[[], Response]:
    def clock() -> Response:
        """The time by which clocks are shown."""
        return jsonify(now_s=room.now_s())

    return clock


def _health(room: Room) -> Callable[[], Response]:
    def health() -> Response:
        """Is the hub well? For whoever watches over it."""
        answer = jsonify(ok=not room.trouble, tables=len(room.tables()), trouble=room.trouble)
        answer.status_code = 503 if room.trouble else 200
        return answer

    return health
