"""The factories of the web applications: they combine routes, authentication, errors and headers.

`create_app` makes the application of a table, `create_phone_app` the one for a phone camera, and
`web.hub.app` the one of a hub. All three begin with `create_base_app`. No application knows a game
by name.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flask import Flask, Response, g, request
from flask.json.provider import DefaultJSONProvider
from werkzeug.exceptions import BadRequest

from companion.core.clock import Clock
from companion.core.i18n import Sentence, best_language, current_language, set_language, translate
from companion.games.base import Game
from companion.table.table import Table
from web import error_pages
from web.context import PageContext, PhonePresence
from web.features import Features, PhoneCameraFeature, SiteConfig
from web.phone_camera import PhoneCameraPages, PhoneOwnerPages
from web.routes.api.host import HostRoutes
from web.routes.api.opponents import Lessons, Opponents
from web.routes.api.seat import SeatRoutes
from web.routes.api.table import SharedRoutes, StaffCallRoutes, TableRoutes
from web.routes.camera import CameraPictures, CameraReports
from web.routes.health import HealthPages
from web.routes.history import HistoryPages
from web.routes.host import HostPages
from web.routes.hub import HubRoutes
from web.routes.join import JoinPages
from web.routes.openapi import ApiDescription
from web.routes.owner.check import PanelTrials
from web.routes.owner.first_evening import FirstEveningPages
from web.routes.owner.settings import SettingsPage
from web.routes.owner.wifi import WifiPage
from web.routes.pages import TablePages
from web.routes.printing import KitPages
from web.routes.route import RouteGroup, add_routes
from web.routes.rules import RulesPages
from web.routes.shared_phone import SharedPhonePages
from web.routes.workbench import WorkbenchPages
from web.security.auth import Auth, require_own_origin
from web.security.codes import JoinCode
from web.security.host_names import MachineNames, UnknownName, parse_host
from web.security.rate_limit import RequestLimits
from web.server.sse import Streams
from web.static_files import StaticFiles
from web.templating.environment import CompiledTemplates, prepare_templates

# Maximum size of a request. Routes for pictures and files set a larger maximum themselves.
MAX_BODY_BYTES = 16 * 1024
# Paths of answers in which sentences call the players by their names instead of their sides.
PATHS_WITH_PLAYERS = ("/api/seat/", "/api/table/")
# Paths of the shared screen, which has its own language.
SCREEN_PATHS = ("/", "/live/table", "/live/wall")
# Token that a page sends with a request for a file that takes long to make, see `page.js`.
_WAIT_TOKEN = re.compile(r"[0-9a-z]{1,12}")
# Content security policy of pages that do not set one of their own.
_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
)


def create_app(
    table: Table,
    games: Mapping[str, Game[Any, Any]],
    clock: Clock,
    site: SiteConfig,
    features: Features | None = None,
) -> Flask:
    """Return the application of a table, with pages for the features that it has.

    Objects that are needed by code without a page context are in `app.extensions`. Guards of routes
    and error pages read them during a request. `Server` reads the
    worker there. The service reads the join code and the presence of phones there.
    """
    features = features or Features()
    auth = Auth(site, table.nonce_of, clock)
    app = create_base_app(site, auth, table.now_s, lambda: table.settings.language)
    streams: Streams = app.extensions["streams"]
    join_code = JoinCode(table, clock.monotonic_s) if site.settings.join == "code" else None
    presence = PhonePresence(table, clock.monotonic_s)
    page_context = PageContext(
        table=table,
        games=games,
        clock=clock,
        auth=auth,
        streams=streams,
        join_urls=site.join_urls,
        join_code=join_code,
        features=features,
        presence=presence,
    )
    app.extensions |= {
        "join_code": join_code,
        "presence": presence,
        "key_page": "host_key.html",
        "rule_link": page_context.rule_link,
        "worker": page_context.worker,
        "page_context": page_context,
    }
    app.jinja_env.globals.update(
        own_seats=auth.own_seats,
        key_command=site.key_command,
        games=games,
        features=features,
        presence=presence,
        needs_code=page_context.needs_code,
    )

    @app.before_request
    def name_players() -> None:
        if request.path.startswith(PATHS_WITH_PLAYERS):
            set_language(current_language(), table.player_names())

    for group in route_groups(page_context):
        add_routes(app, group)
    return app


def route_groups(page_context: PageContext) -> Iterator[RouteGroup]:
    """Yield the routes that every table has, then the routes of the features that this one has."""
    yield StaticFiles()
    yield ApiDescription()
    for group_type in (
        TablePages,
        RulesPages,
        JoinPages,
        SharedPhonePages,
        HostPages,
        SharedRoutes,
        TableRoutes,
        SeatRoutes,
        HostRoutes,
        Lessons,
        Opponents,
    ):
        yield group_type(page_context)
    features = page_context.features
    camera_reports = CameraReports(page_context)
    if features.upkeep:
        yield SettingsPage(page_context, features.upkeep)
        yield FirstEveningPages(page_context, features.upkeep, camera_reports)
    if features.panel_check:
        yield PanelTrials(page_context, features.panel_check)
    if features.health:
        yield HealthPages(page_context, features.health, camera_reports)
    if features.staff:
        yield StaffCallRoutes(page_context, features.staff)
    if features.hub:
        yield HubRoutes(page_context, features.hub)
    if features.history:
        yield HistoryPages(page_context, features.history)
    if features.workbench:
        yield WorkbenchPages(page_context, features.workbench)
    if features.printer:
        yield KitPages(page_context, features.printer)
    if features.own_wifi:
        yield WifiPage(page_context, features.own_wifi)
    if features.camera:
        yield CameraPictures(page_context, features.camera)
        phone = features.camera.phone
        if phone:
            auth = page_context.auth
            is_secure = bool(auth.site.settings.certificate)
            yield PhoneCameraPages(auth, phone, is_secure)
            yield PhoneOwnerPages(page_context.streams, phone)


def create_phone_app(main: Flask, phone: PhoneCameraFeature) -> Flask:
    """Return the application for a phone that serves as the camera.

    The table serves it over HTTPS, with a certificate that it makes itself, because browsers permit
    cameras only on HTTPS pages. The application has only static files and the page of that phone.
    It shares the authentication of the table's application, `main`.
    """
    auth: Auth = main.extensions["auth"]
    app = create_base_app(main.extensions["site"], auth, main.extensions["now_s"])
    for group in (StaticFiles(), PhoneCameraPages(auth, phone, is_secure=True)):
        add_routes(app, group)
    return app


class TranslatedJson(DefaultJSONProvider):
    """Flask's JSON with every sentence translated to the language of the request.

    It serves answers and the filter `tojson` of templates.
    """

    sort_keys = False

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        return super().dumps(_translate_all(obj), **kwargs)


def _translate_all(value: Any) -> Any:
    """Return a JSON value with all sentences in it translated."""
    if isinstance(value, Sentence):
        return translate(value)
    if isinstance(value, dict):
        return {name: _translate_all(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_translate_all(inner) for inner in value]
    return value


def create_base_app(
    site: SiteConfig,
    auth: Auth,
    now_s: Callable[[], float],
    screen_language: Callable[[], str] = lambda: "auto",
) -> Flask:
    """Return an application that has everything but pages.

    That is templates, JSON, error pages, headers, and the check of every request.

    `now_s` returns the time in seconds on which the pages' clocks run. `screen_language` returns
    the language of the shared screen, or `auto` for that of the browser.
    """
    app = Flask(__name__, static_folder=None)
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=MAX_BODY_BYTES)
    # cached compiled templates make the first page after a start faster
    cache = CompiledTemplates(site.template_cache) if site.template_cache else None
    app.jinja_options = {**app.jinja_options, "bytecode_cache": cache}
    app.json = TranslatedJson(app)
    app.extensions |= {
        "site": site,
        "auth": auth,
        "now_s": now_s,
        "streams": Streams(site.settings.viewers),
        # without rules, refusals link to none of their paragraphs
        "rule_link": lambda _: None,
    }
    prepare_templates(app)
    error_pages.register(app)
    names = MachineNames((*site.settings.names, site.settings.host))
    limits = RequestLimits(auth.requester, time.monotonic)

    @app.before_request
    def check_request() -> None:
        # an input counts as made at this time, however long the request has to wait
        g.received_at_s = now_s()
        g.previous_language = current_language()
        # the language that was chosen in this browser, or else for the shared screen, or else the
        # first of the browser's languages that the pages have
        chosen = request.cookies.get("language", "")
        if request.path in SCREEN_PATHS and screen_language() != "auto":
            chosen = chosen or screen_language()
        set_language(best_language((chosen, *request.accept_languages.values())))
        # the rate limit comes first, so that refused requests count, too
        limits.check()
        require_known_name(names, site.join_urls)
        require_own_origin()

    @app.teardown_request
    def restore_language(_: BaseException | None) -> None:
        """Restore the thread's language for the next request."""
        set_language(g.get("previous_language", "en"))

    app.after_request(_set_headers)
    return app


def require_known_name(names: MachineNames, join_urls: Callable[[], tuple[str, ...]]) -> None:
    """Raise `UnknownName` unless the request is for this machine.

    Static files are served under any name. Raises `BadRequest` for an invalid `Host` header, and
    for a request whose target names another host than the header.
    """
    host = request.headers.get("Host", "")
    target = request.environ.get("REQUEST_URI", "/").lower()
    # the target of a request is a path, or an absolute URL with the host of the header
    own_starts = ("/", f"http://{host.lower()}/", f"https://{host.lower()}/")
    if not parse_host(host) or not target.startswith(own_starts):
        raise BadRequest
    if request.endpoint not in ("pages.static", "pages.favicon") and not names.knows(host):
        raise UnknownName(join_urls()[0])


def _set_headers(answer: Response) -> Response:
    """Set the headers that every answer has.

    A page cannot see when a download begins. So it may send a token with a request for a file that
    takes long to make. The answer has a cookie with that token, which the page waits for.
    """
    token = request.args.get("wait", "")
    if _WAIT_TOKEN.fullmatch(token):
        answer.set_cookie("made", token, max_age=60, samesite="Lax")
    answer.headers.setdefault("Content-Security-Policy", _SECURITY_POLICY)
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = "same-origin"
    # pages can hold secrets of one seat, so no cache may store them
    answer.headers.setdefault("Cache-Control", "no-store")
    _fit_to_address(answer)
    return answer


def _fit_to_address(answer: Response) -> None:
    """Fit cookies and redirections to the address under which the browser sees the pages.

    Routes set both as if the pages were at the top of a host, over HTTP. Behind a proxy they may be
    below a path. Over HTTPS, cookies get the attribute `Secure`.
    """
    root = request.script_root
    cookies = answer.headers.getlist("Set-Cookie")
    if root:
        cookies = [cookie.replace("; Path=/", f"; Path={root}") for cookie in cookies]
        if (answer.location or "").startswith("/"):
            answer.location = root + answer.location
    if request.is_secure:
        cookies = [f"{cookie}; Secure" for cookie in cookies]
    if cookies:
        answer.headers.setlist("Set-Cookie", cookies)
