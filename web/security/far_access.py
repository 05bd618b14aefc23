"""A remote phone at this table's pages: the same application, and of it only what a seat needs.

What such a phone asks comes by a hub, which is believed nothing: every request is made here anew, of a few values that
are checked. It is never the machine's own screen and never the host's, and carries no cookie but those of seats.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from http.cookies import SimpleCookie
from itertools import chain
from typing import Any

from flask import Flask, Request, has_request_context, request

from companion.core.i18n import LANGUAGES
from companion.core.kit import Seat
from companion.core.ports.far import COOKIES, MOST_BODY, PIECE, Cookie, FarAnswer, FarRequest, most_bytes
from companion.table.table import Table
from web.security.auth import Auth
from web.security.proxies import SOMEWHERE

ARRIVED = "companion.at_s"

CODE = "companion.far"
"""Where a request's environment has the code of the invitation: who has this came from a remote phone."""
OVER, NOT_FROM_FAR = 410, 404
"""What the hub says in its own words: the invitation is over; this page is not for remote phones."""
_DOORS = (
    "hand-in|take-back|plan|mine|pause|resume|resign|draw|contribute|disclose|start|rematch|leave|help|coach|lesson|"
    "skip-lesson"
)
_GET = re.compile(
    r"(?:/live)?/seat/(?:south|north)|/api/seat/(?:south|north)/(?:view|plays)|"
    r"/history/(?P<game>[0-9]{1,9})(?:/scene/[0-9]{1,6}|\.webp|/turn/[0-9]{1,6}(?:\.webp|/better))?|"
    r"/api/photograph/(?P<shot>[0-9]{1,9})/[0-9]{1,9}\.[0-9]{1,9}"
)
_POST = re.compile(rf"/api/seat/(?:south|north)/(?:{_DOORS})")
_JOIN = re.compile(r"/join/(?P<seat>south|north)")
_ANYBODY = re.compile(r"/clock|/rules/|/rules/[a-z0-9_-]{1,40}")
_PAGE = re.compile(r"/(?:seat|join)/(?:south|north)")
_BEGIN = ("/", "/join")
_ASCII = re.compile(r"[\x21-\x7e]*")
_ACCEPT = re.compile(r"[\x20-\x7e]*")
_KINDS = ("application/json", "application/x-www-form-urlencoded")


def is_let_through(method: str, path: str) -> bool:
    """May a remote phone ask for this at all?

    >>> [is_let_through("GET", path) for path in ("/seat/north", "/rules/a-game", "/", "/host", "/seat/north/card")]
    [True, True, True, False, False]
    >>> [is_let_through("POST", path) for path in ("/api/seat/north/hand-in", "/api/seat/north/confirm", "/join/north")]
    [True, False, True]
    >>> [is_let_through("GET", path) for path in ("/api/photograph/3/3.7", "/camera/frame.jpg", "/live/camera")]
    [True, False, False]
    """
    if method == "GET":
        return path in _BEGIN or any(each.fullmatch(path) for each in (_GET, _ANYBODY, _JOIN))
    return method == "POST" and any(each.fullmatch(path) for each in (_POST, _JOIN))


def code_of(asked: Request) -> str:
    """The invitation of a remote phone; empty for everybody else."""
    return str(asked.environ.get(CODE, ""))


def is_far() -> bool:
    """For templates: is the page drawn for a remote phone?"""
    return has_request_context() and bool(code_of(request))


class FarAccess:
    """Answers remote phones by the table's own application; may be used by any thread."""

    def __init__(self, app: Flask, table: Table, guard: Auth) -> None:
        self._app = app
        self._table = table
        self._guard = guard

    def answer(self, asked: FarRequest, at_s: float, is_gone: Callable[[], bool]) -> Iterator[FarAnswer]:
        """Every piece of the answer; see `companion.core.ports.far`."""
        if not is_let_through(asked.method, asked.path):
            return iter([FarAnswer(status=NOT_FROM_FAR)])
        environ = _environ(asked, at_s, is_gone)
        if environ is None:
            return iter([FarAnswer(status=400)])
        own = [seat for seat in self._guard.seats_of(Request(environ)) if self._table.far.is_far(seat)]
        for seat in own:
            self._table.far.seen(seat)
        offered = self._table.far.seat_of(asked.code)
        if not own and (offered is None or _GET.fullmatch(asked.path) or _POST.fullmatch(asked.path)):
            return self._over_or_swapped(environ, asked, offered)
        if asked.path in _BEGIN:
            return iter([_to(f"/seat/{own[0]}" if own else f"/join/{offered}")])
        if (joins := _JOIN.fullmatch(asked.path)) and not own and joins["seat"] != offered:
            return iter([_to(f"/join/{offered}")])
        if joins and own:
            return iter([_to(f"/seat/{own[0]}")])
        seen = _GET.fullmatch(asked.path)
        game = seen and (seen["game"] or seen["shot"])
        if game and not any(self._table.far.may_see(seat, int(game)) for seat in own):
            return iter([FarAnswer(status=NOT_FROM_FAR)])
        return _pieces(self._app, environ)

    def _over_or_swapped(self, environ: dict[str, Any], asked: FarRequest, offered: Seat | None) -> Iterator[FarAnswer]:
        """Who asks does not sit here: on to the seat that is offered, or over, unless both have changed places."""
        is_page = asked.method == "GET" and _PAGE.fullmatch(asked.path)
        if is_page and offered is not None:
            return iter([_to(f"/join/{offered}")])
        if is_page and any(self._table.far.is_far(seat) for seat, _ in self._guard.swapped(Request(environ))):
            return _pieces(self._app, environ)
        return iter([FarAnswer(status=OVER)])


def _to(path: str) -> FarAnswer:
    return FarAnswer(status=303, location=path)


def _environ(asked: FarRequest, at_s: float, is_gone: Callable[[], bool]) -> dict[str, Any] | None:
    """A request of the table's own, made of what was asked; None for what no phone asks."""
    if not (_ASCII.fullmatch(asked.query) and _ACCEPT.fullmatch(asked.accept)) or len(asked.body) > MOST_BODY:
        return None
    cookies = {name: asked.cookies[name] for name in COOKIES if is_token(asked.cookies.get(name, ""))}
    environ = {
        "REQUEST_METHOD": asked.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": asked.path,
        "QUERY_STRING": asked.query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": SOMEWHERE,
        "HTTP_HOST": "localhost",
        "HTTP_ACCEPT": asked.accept,
        "HTTP_ACCEPT_LANGUAGE": asked.language if asked.language in LANGUAGES else "en",
        "HTTP_COOKIE": "; ".join(f"{name}={value}" for name, value in cookies.items()),
        "CONTENT_LENGTH": str(len(asked.body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(asked.body),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "waitress.client_disconnected": is_gone,
        ARRIVED: at_s,
        CODE: asked.code or "-",
    }
    kind = asked.content_type.partition(";")[0].strip().lower()
    if kind in _KINDS:
        environ["CONTENT_TYPE"] = kind
    return environ


def is_token(text: str) -> bool:
    """Can this be the value of a cookie of ours?"""
    return re.fullmatch(r"[\w.~-]{1,400}", text, re.ASCII) is not None


def _pieces(app: Flask, environ: dict[str, Any]) -> Iterator[FarAnswer]:
    """What the application answers, in pieces; a stream as it comes, everything else bounded."""
    begun: list[tuple[int, list[tuple[str, str]]]] = []

    def start(status: str, headers: list[tuple[str, str]], _: Any = None) -> Callable[[bytes], Any]:
        begun.append((int(status[:3]), headers))
        return lambda _: None

    body: Iterable[bytes] = app.wsgi_app(environ, start)
    try:
        chunks = iter(body)
        first = next(chunks, b"")
        status, headers = begun[-1]
        named = {name.lower(): value for name, value in headers}
        head = FarAnswer(
            status=status,
            content_type=named.get("content-type", ""),
            location=named.get("location", "")[:200],
            cookies=_cookies(value for name, value in headers if name.lower() == "set-cookie"),
        )
        if head.content_type.startswith("text/event-stream"):
            yield from _stream(head, first, chunks)
        else:
            yield from _whole(head, first + b"".join(chunks))
    finally:
        if hasattr(body, "close"):
            body.close()


def _whole(head: FarAnswer, body: bytes) -> Iterator[FarAnswer]:
    if len(body) > most_bytes(head.content_type):
        yield FarAnswer(status=NOT_FROM_FAR)
        return
    cut = [body[at : at + PIECE] for at in range(0, len(body), PIECE)] or [b""]
    for number, piece in enumerate(cut):
        yield _numbered(head, number, piece, number == len(cut) - 1)


def _stream(head: FarAnswer, first: bytes, chunks: Iterator[bytes]) -> Iterator[FarAnswer]:
    number = 0
    for chunk in chain((first,), chunks):
        for at in range(0, len(chunk), PIECE):
            yield _numbered(head, number, chunk[at : at + PIECE], False)
            number += 1
    yield _numbered(head, number, b"", True)


def _numbered(head: FarAnswer, number: int, body: bytes, is_last: bool) -> FarAnswer:
    if number == 0:
        return FarAnswer(0, is_last, head.status, head.content_type, head.location, head.cookies, body)
    return FarAnswer(number, is_last, body=body)


def _cookies(headers: Iterable[str]) -> dict[Cookie, str]:
    """The cookies of seats that an answer sets; one that it deletes is empty."""
    found: dict[Cookie, str] = {}
    for jar in map(SimpleCookie, headers):
        found |= {name: jar[name].value for name in COOKIES if name in jar}
    return found
