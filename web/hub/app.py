"""Factory of the hub's Flask application."""

from __future__ import annotations

from flask import Flask, Response, jsonify

from companion.core.clock import Clock
from companion.league.league import League
from companion.league.people import shown_name
from companion.table.public.messages import unpack_sentence
from web.app import create_base_app
from web.features import SiteConfig
from web.hub import drawing
from web.hub.cards import CardPages
from web.hub.director import DirectorPages
from web.hub.host import HubActions, HubHostPages, TableJoinCode
from web.hub.room import HubContext, HubRoom, HubRouteGroup
from web.hub.spectators import SpectatorPages
from web.hub.standings import StandingsPages
from web.hub.tournaments import TournamentPages
from web.hub.wall import WallPages
from web.routes.route import add_routes, get
from web.security.auth import Auth
from web.server.sse import Streams
from web.static_files import StaticFiles


def create_hub_app(
    room: HubRoom,
    league: League,
    actions: HubActions,
    clock: Clock,
    site: SiteConfig,
    *,
    language: str = "auto",
) -> Flask:
    """Return the Flask application of a hub.

    `actions` carries out what its pages request of the hub. `language` is the language of the wall,
    or `auto` for that of the browser.
    """
    # a hub has no seats, so no cookie of a seat is valid
    auth = Auth(site, lambda _: None, clock)
    app = create_base_app(site, auth, room.now_s, lambda: language)
    streams: Streams = app.extensions["streams"]
    table_join_code = TableJoinCode(actions, clock, room.notify)
    app.extensions |= {
        "join_code": None,
        "key_page": "hub_key.html",
        "table_join_code": table_join_code,
    }
    app.jinja_env.globals.update(
        is_hub=True,
        room=room,
        hub_board=drawing.draw_board,
        sentence=unpack_sentence,
        shown_name=shown_name,
    )
    hub = HubContext(room, league, clock, auth, streams, site.join_urls)
    tournaments = TournamentPages(hub)
    for pages in (
        StaticFiles(),
        StatusRoutes(hub),
        WallPages(hub, table_join_code),
        HubHostPages(hub, actions, table_join_code),
        SpectatorPages(hub),
        CardPages(hub),
        StandingsPages(hub),
        tournaments,
        DirectorPages(hub, tournaments),
    ):
        add_routes(app, pages)
    return app


class StatusRoutes(HubRouteGroup):
    """Routes for programs and monitoring."""

    name = "pages"

    @get("/clock")
    def clock(self) -> Response:
        """Return the time in seconds on which the clocks of the pages run."""
        return jsonify(now_s=self._room.now_s())

    @get("/health")
    def health(self) -> Response:
        """Return the health of the hub for monitoring. The status is 503 if there is trouble."""
        room = self._room
        answer = jsonify(ok=not room.trouble, tables=len(room.tables()), trouble=room.trouble)
        answer.status_code = 503 if room.trouble else 200
        return answer
