"""The hub's pages for remote phones: a code is entered here, and then a table's pages are shown through the hub.

They are an application of their own at a port of their own, so another origin than the hub's host pages. What a table
sends is shown under the hub's own headers: its scripts and styles are the hub's, by a policy that allows no others, and
of its cookies those of seats alone come through, under the name of their table.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from flask import Blueprint, Flask, Response, make_response, redirect, render_template, request
from itsdangerous import BadSignature, URLSafeSerializer
from werkzeug.exceptions import NotFound

from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Refusal
from companion.core.i18n import say, spoken
from companion.core.kit import Seat
from companion.core.ports.far import COOKIES, FarAnswer, FarRequest, LineBusy, LineDown, most_bytes
from web import error_pages
from web.app import bare_app, watch_names, watch_requests
from web.error_pages import status_of, wants_page
from web.hub.app import HubSite
from web.hub.room import Room
from web.security.auth import COOKIE_AGE_S, Auth
from web.security.far_access import OVER, is_let_through, is_token
from web.security.host_names import Names, asked_host
from web.server.sse import LOOK_S, RETRY_MS, Audience, Streams

Idle = Messages = None
from web.static_files import StaticFiles
from web.templating.helpers import register_template_helpers

PLACE = "far"
"""The cookie that says at which table a phone sits, signed by the hub."""
ANSWERS_S = 10.0
SILENCE_S = 25.0
"""A table says something on every page that is followed each ten seconds."""
AGAIN_S = 3
KINDS = ("text/html", "application/json", "text/event-stream", "image/webp", "image/jpeg")
"""What a table may answer: nothing of it is a script."""
OTHER_VERSION = 426
_OWN_PAGE = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")
_CODE = re.compile(r"[2-9a-hj-km-np-z]{8}")
_OVER = say("This invitation is over. Ask the table’s host for a new code if you want to sit down again.")
_NOT_FROM_FAR = say("A remote phone cannot do that: ask somebody at the table.")
_STALE = say("The line to the table is down: this page shows what it knew last, and its clocks stand still.")
_VERSIONS = say("The table and its hub have different versions of the program: one of them needs an update.")


class AnswerInPieces(Protocol):
    """An answer on its way."""

    is_whole: bool

    def next(self, timeout_s: float) -> FarAnswer:
        """The next piece; raises `LineDown`."""

    def pending(self) -> Iterable[FarAnswer]:
        """What has come, without waiting; raises `LineDown`."""

    def close(self) -> None:
        """Nobody waits for the rest."""


class FarRelay(Protocol):
    """What carries requests to tables."""

    version: int

    def find(self, typed: str, address: str) -> tuple[str, Seat, str] | None:
        """Table, seat and code of an invitation; raises `Illegal` where too many wrong codes came from there."""

    def ask(self, table: str, request: FarRequest) -> AnswerInPieces:
        """Ask a table; raises `LineDown`."""

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait for a piece of any answer."""

    def when_changed(self, call: Callable[[], None]) -> None:
        """Have this called when one has come."""


def create_far_app(relay: FarRelay, room: Room, clock: Clock, site: HubSite) -> Flask:
    """The application for remote phones."""
    app = bare_app(site.compiled)
    guard = Auth(site.signing_key, site.host_key, lambda _: None, clock)
    streams = Streams(relay, site.settings.viewers)
    app.extensions |= {"streams": streams, "guard": guard, "now_s": room.now_s, "join_code": None}
    app.extensions["paragraph"] = lambda _: None
    register_template_helpers(app)
    app.jinja_env.globals.update(is_far_hub=True, room=room)
    error_pages.register(app)
    watch_requests(app, room.now_s, lambda: "auto", guard)
    watch_names(app, Names((*site.settings.names, site.settings.host, *_host_of(site.far_url()))), site.urls)
    pages = Blueprint("pages", __name__)
    StaticFiles().add_to(pages)
    app.register_blueprint(pages)
    app.register_blueprint(FarRoutes(relay, room, streams, site.signing_key).blueprint())
    return app


class FarRoutes:
    """The code's page, and everything else to the table that the phone's cookie names."""

    def __init__(self, relay: FarRelay, room: Room, streams: Streams, signing_key: bytes) -> None:
        self._relay = relay
        self._room = room
        self._streams = streams
        self._signer = URLSafeSerializer(signing_key, salt="far")

    def blueprint(self) -> Blueprint:
        """All routes."""
        far = Blueprint("far", __name__)
        far.add_url_rule("/enter", view_func=self.page)
        far.add_url_rule("/enter", "enter", self.enter, methods=["POST"])
        far.add_url_rule("/<code>", view_func=self.link)
        far.add_url_rule("/", view_func=self.relay, defaults={"path": ""})
        far.add_url_rule("/<path:path>", "relay", self.relay, methods=["GET", "POST"])
        return far

    # ---- the hub's own page ----

    def page(self, error: str = "", code: str = "", status: int = 200) -> Any:
        """Where the code of an invitation is entered."""
        return make_response(render_template("far_enter.html", error=error, code=code), status)

    def link(self, code: str) -> Any:
        """The address that the host has sent; opening it alone takes no seat, because programs open links, too."""
        if not _CODE.fullmatch(code):
            return self.relay(code)
        return self.page(code=code)

    def enter(self) -> Any:
        """This phone belongs to the table of this code from now on."""
        typed = request.form.get("code", "")[:40]
        try:
            found = self._relay.find(typed, request.remote_addr or "")
        except CompanionError as error:
            return self.page(error.message, typed, status_of(error))
        if found is None:
            return self.page(say("No seat is offered under this code now"), typed, 403)
        table, seat, code = found
        answer = make_response(redirect(f"/join/{seat}", 303))
        self._set(answer, PLACE, str(self._signer.dumps([table, code])))
        return answer

    # ---- the table's pages ----

    def relay(self, path: str) -> Any:
        """What the table of this phone answers."""
        place = self._place()
        asked = f"/{path}"
        if place is None:
            if asked == "/" or wants_page():
                return redirect("/enter", 303)
            raise Illegal(Refusal.NOT_YOUR_SEAT, _OVER)
        if not is_let_through(request.method, asked):
            return self._refuse(_NOT_FROM_FAR)
        table, code = place
        wish = FarRequest(
            code=code,
            method="POST" if request.method == "POST" else "GET",
            path=asked,
            query=request.query_string.decode("latin-1")[:400],
            language=spoken(),
            accept=request.headers.get("Accept", "")[:200],
            content_type=request.mimetype[:200],
            cookies={name: kept for name in COOKIES if is_token(kept := request.cookies.get(_named(name, table), ""))},
            body=request.get_data(),
        )
        try:
            call = self._relay.ask(table, wish)
            first = self._first(call)
        except LineDown as error:
            if request.method == "GET" and wants_page():
                answer = make_response(render_template("far_down.html", again_s=AGAIN_S, message=error.message), 503)
                answer.headers["Retry-After"] = str(AGAIN_S)
                return answer
            if asked.startswith("/live/") and not isinstance(error, LineBusy):
                raise LineDown(_STALE) from None
            raise
        return self._answer(table, call, first)

    def _first(self, call: AnswerInPieces) -> FarAnswer:
        try:
            return call.next(ANSWERS_S)
        except LineDown:
            call.close()
            raise

    def _answer(self, table: str, call: AnswerInPieces, first: FarAnswer) -> Any:
        kind = first.content_type.partition(";")[0].strip().lower()
        if first.status == 200 and kind == "text/event-stream":
            return self._stream(call, first)
        try:
            body = b"".join(self._rest(call, first))
        finally:
            call.close()
        if first.status == OVER:
            return self._over(table)
        if first.status == OTHER_VERSION:
            raise Illegal(Refusal.WRONG_PHASE, _VERSIONS)
        if first.status == 404 and not body:
            return self._refuse(_NOT_FROM_FAR)
        if first.status in (500, 503) and not body:
            raise LineBusy(say("The table is busy: try again"))
        if 300 <= first.status < 400:
            target = first.location if _OWN_PAGE.fullmatch(first.location) else "/"
            answer = make_response(redirect(target, 303))
        elif kind in KINDS:
            is_plain = first.status == 200 or 400 <= first.status < 500
            answer = Response(body, first.status if is_plain else 503)
            answer.headers["Content-Type"] = kind if kind.startswith("image/") else f"{kind}; charset=utf-8"
        else:
            raise NotFound
        for name, value in first.cookies.items():
            self._keep(answer, _named(name, table), value)
        return answer

    def _rest(self, call: AnswerInPieces, first: FarAnswer) -> Iterator[bytes]:
        piece, size = first, 0
        while True:
            size += len(piece.body)
            if size > most_bytes(first.content_type):
                raise LineDown(say("The table sends too much"))
            yield piece.body
            if piece.is_last:
                return
            piece = call.next(ANSWERS_S)

    def _stream(self, call: AnswerInPieces, first: FarAnswer) -> Response:
        def messages(is_gone: Callable[[], bool]) -> Messages:
            looks, decoder = 0, getincrementaldecoder("utf-8")("replace")
            yield f"retry: {RETRY_MS}\n\n{decoder.decode(first.body)}"
            while not is_gone() and looks * LOOK_S < SILENCE_S:
                version = self._relay.version
                try:
                    pieces = list(call.pending())
                except LineDown:
                    return
                for piece in pieces:
                    yield decoder.decode(piece.body)
                    if piece.is_last:
                        return
                looks = 0 if pieces else looks + 1
                yield Idle(LOOK_S, since=version)

        return self._streams.hold(request.environ, messages, Audience.SEAT, call.close)

    def _over(self, table: str) -> Any:
        """The phone has no seat there any more."""
        if not wants_page():
            raise Illegal(Refusal.NOT_YOUR_SEAT, _OVER)
        answer = self.page(_OVER, status=403)
        for name in (PLACE, *(_named(each, table) for each in COOKIES)):
            answer.delete_cookie(name, httponly=True, samesite="Lax")
        return answer

    def _refuse(self, message: str) -> Any:
        """An error in the hub's own words."""
        if wants_page():
            page = render_template(
                "error.html", status=404, title=say("Not possible from a remote phone"), message=message, link=None
            )
            return make_response(page, 404)
        raise Illegal(Refusal.HOST_ONLY, message)

    def _place(self) -> tuple[str, str] | None:
        """The table of this phone and its invitation, as the hub has signed them; None: it has entered no code."""
        try:
            table, code = self._signer.loads(request.cookies.get(PLACE, ""))
        except (BadSignature, ValueError, TypeError):
            return None
        return str(table), str(code)

    def _keep(self, answer: Response, name: str, value: str) -> None:
        if is_token(value):
            self._set(answer, name, value)
        else:
            answer.delete_cookie(name, httponly=True, samesite="Lax")

    @staticmethod
    def _set(answer: Response, name: str, value: str) -> None:
        answer.set_cookie(name, value, max_age=COOKIE_AGE_S, httponly=True, samesite="Lax")


def _named(cookie: str, table: str) -> str:
    """A table's cookie as the phone keeps it: no other table is ever given it."""
    return f"{cookie}.{table}"


def _host_of(url: str) -> tuple[str, ...]:
    host = asked_host(url.partition("//")[2].partition("/")[0])
    return (host,) if host else ()
