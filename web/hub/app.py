"""Factory of the hub's Flask application."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flask import Flask, Response, jsonify

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
from web.hub.room import HubContext, HubGroup, Room
from web.hub.spectators import SpectatorPages
from web.hub.standings import StandingsPages
from web.hub.tournaments import TournamentPages
from web.hub.wall import WallPages
from web.routes.route import add_routes, get
from web.security.auth import Auth
from web.security.host_names import Names
from web.server.sse import Streams
from web.static_files import StaticFiles
from web.templating.helpers import register_template_helpers


@dataclass(frozen=True)
class HubSite:
    """Where the hub's pages are served, and the secrets that authenticate its owner."""

    settings: WebSettings
    urls: Callable[[], tuple[str, ...]]
    signing_key: bytes
    host_key: str
    language: str = "auto"
    """Language of the wall, or `auto` for the browser's."""
    compiled: Path | None = None


def create_hub_app(room: Room, league: League, host: HubHost, clock: Clock, site: HubSite) -> Flask:
    """Create the Flask application of a hub."""
    app = bare_app(site.compiled)
    # nobody has a seat at a hub, so no seat's cookie is valid
    guard = Auth(site.signing_key, site.host_key, lambda _: None, clock)
    streams = Streams(site.settings.viewers)
    door = JoinDoor(host, clock, room.change)
    app.extensions |= {
        "streams": streams,
        "guard": guard,
        "now_s": room.now_s,
        "join_code": None,
        "key_page": "hub_key.html",
        "door": door,
    }
    # refusals of a hub do not link to a paragraph of the rules
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
    hub = HubContext(room, league, clock, guard, streams, site.urls)
    tournaments = TournamentPages(hub)
    for pages in (
        StaticFiles(),
        HubDoors(hub),
        WallPages(hub, door),
        HubHostPages(hub, host, door),
        SpectatorPages(room, streams),
        CardPages(hub),
        StandingsPages(hub),
        tournaments,
        DirectorPages(hub, tournaments),
    ):
        add_routes(app, pages)
    return app


class HubDoors(HubGroup):
    """Routes for programs and monitoring."""

    name = "pages"

    @get("/clock")
    def clock(self) -> Response:
        """Return the monotonic time in seconds that clocks on pages use."""
        return jsonify(now_s=self._room.now_s())

    @get("/health")
    def health(self) -> Response:
        """Return the health of the hub for monitoring. The status is 503 if there is trouble."""
        room = self._room
        answer = jsonify(ok=not room.trouble, tables=len(room.tables()), trouble=room.trouble)
        answer.status_code = 503 if room.trouble else 200
        return answer
