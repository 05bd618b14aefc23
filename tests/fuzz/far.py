"""The port for remote phones: wild phones before a real table, and a table that answers what no table does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from far_inside import CODE, HUB_KEY, TABLE, InsidePhone, far_app
from hypothesis import strategies as st
from inside import session_of
from web_fixtures import HOST_KEY, SALT, open_place
from werkzeug.test import TestResponse

from companion.core.clock import FakeClock
from companion.core.errors import Malformed
from companion.core.kit import Seat
from companion.core.ports.far import COOKIES, FarAnswer, FarRequest
from companion.hub.far import read_call, read_far_answer
from fuzz.running import Probe, Target
from fuzz.texts import JSON, ODD_TEXTS
from web.hub.far import KINDS
from web.security.far_access import FarAccess

SECRET = "URU"
"""South's order, with a salt that nobody else is told."""
_WAYS = (
    "/", "/join", "/enter", "/join/north", "/join/south", "/seat/north", "/seat/south", "/clock", "/rules/", "/host",
    "/rules/outbuffered", "/history/1", "/history/1/scene/0", "/api/photograph/1/1.1", "/api/view", "/settings", "/camera",
    "/api/seat/north/view", "/api/seat/south/view", "/api/host/free-seat", "/static/x/phone.css", f"/{CODE}",
    "/language", "/api/seat/north/../../host", "//evil.example", "/seat/north%2f..%2fhost", "/pass", "/workbench",
)  # fmt: skip
_DOORS = (
    "hand-in take-back plan mine pause resume resign draw contribute disclose start rematch help coach lesson confirm "
    "take by-pad machine skip-lesson view plays tiles"
)
_FIELDS = ("code", "name", "moment", "action", "about", "salt", "entered", "back", "key", "stage", "force", "seat")
_VALUES = ODD_TEXTS | st.sampled_from(
    [CODE, "north", "theirs", "1.1", SECRET, "UUU", HOST_KEY, "en", "/", "//evil.example"]
)
_NAMES = ("far", "host", "seat_north", "seat_south", f"seat_north.{TABLE}", f"seat_south.{TABLE}", "card", "language")
_LETTERS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=';,"\\'), max_size=60)
_HEADERS = st.dictionaries(
    st.sampled_from(["Accept", "Accept-Language", "X-Forwarded-For", "X-Forwarded-Host", "X-Host-Key", "Via", "Range",
                     "Content-Type", "Authorization", "Cookie2", "Forwarded", "If-None-Match"]),
    _LETTERS | st.sampled_from(["text/html", "text/event-stream", "application/json", "127.0.0.1", "fr", HOST_KEY]),
    max_size=4,
)  # fmt: skip


def _looked_at(answer: TestResponse, path: str) -> bytes:
    """What holds for every answer of the hub's, whoever asked and whatever a table said."""
    kind = answer.mimetype
    content = b"" if kind == "text/event-stream" else answer.get_data()
    status = answer.status_code
    assert status < 500 or status == 503, f"{path}: {status}"
    assert b"Traceback" not in content
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy, policy
    assert "unsafe" not in policy, policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if not path.startswith("/static/") and not 300 <= status < 400:
        assert kind in KINDS or not content, f"{path}: {kind}"
    if status == 303:
        assert answer.location.startswith("/"), answer.location
        assert not answer.location.startswith(("//", "/\\")), answer.location
    for told in answer.headers.getlist("Set-Cookie"):
        name = told.partition("=")[0]
        assert name in {"far", "language", *(f"{each}.{TABLE}" for each in COOKIES)}, name
        assert "Domain" not in told
    return content


@contextmanager
def phones(folder: Path, number: int) -> Iterator[Probe]:
    """Addresses, forms, bodies, headers and cookies of every kind: a stranger's, a guest's, and of who sits there."""
    with open_place(folder) as place:
        app, relay = far_app(FarAccess(place.app, place.table, place.app.extensions["guard"]), place.clock)
        south = place.sit("south", "Mara")
        place.table.far.line_is("", {Seat.NORTH})
        sitter, guest, stranger = (InsidePhone(app) for _ in range(3))
        sitter.sit(place.table)
        guest.browser.post("/enter", data={"code": CODE})
        people = {"sitter": sitter, "guest": guest, "stranger": stranger}

        def seal() -> None:
            """South has handed in an order that nobody else may know, whatever has happened to the game."""
            if place.table.view().phase not in ("orders",) or session_of(place.table).sealed.get(Seat.SOUTH) is None:
                place.table.abandon() if place.table.view().phase not in ("lobby", "over") else None
                moment = place.to_orders()
                south.post("/api/seat/south/hand-in", json={"moment": moment, "action": SECRET, "salt": SALT})

        def check(case: Any) -> tuple[str, int]:
            place.clock.advance(1.0)
            if place.table.view().seats[Seat.NORTH].name is None:
                people["sitter"] = InsidePhone(app)
                people["sitter"].sit(place.table)
            seal()
            who, method, path, given, cookies, headers = case
            browser = people[who].browser
            for name, value in cookies.items():
                browser.set_cookie(name, value)
            answer = browser.open(path, method=method, headers=headers, **given)
            content = _looked_at(answer, path)
            answer.close()
            told = content + str(answer.headers).encode() + b"".join(relay.told)
            relay.told.clear()
            sent = repr(case).encode()
            for secret in (SALT, HOST_KEY, HUB_KEY):
                assert secret.encode() in sent or secret.encode() not in told, f"{path} tells {secret}"
            assert place.table.view().seats[Seat.SOUTH].name == "Mara", path
            for name in cookies:
                browser.delete_cookie(name)
            if who == "sitter" and browser.get_cookie("far") is None:
                place.table.free_seat(Seat.NORTH)
            return str(answer.status_code), 1

        path = st.sampled_from(_WAYS) | st.sampled_from([f"/api/seat/north/{each}" for each in _DOORS.split()])
        path |= ODD_TEXTS.map(lambda text: "/" + quote(text.encode("utf-8", "replace"), safe="/"))
        form = st.fixed_dictionaries({"data": st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=4)})
        body = st.fixed_dictionaries(
            {"json": st.dictionaries(st.sampled_from(_FIELDS), _VALUES | JSON, max_size=5) | JSON}
        )
        raw = st.fixed_dictionaries({"data": st.binary(max_size=60)})
        query = st.fixed_dictionaries({"query_string": st.dictionaries(st.sampled_from(_FIELDS), _VALUES, max_size=2)})
        cookies = st.dictionaries(st.sampled_from(_NAMES), _LETTERS, max_size=1)
        given = st.one_of(
            st.tuples(st.just("GET"), path, query), st.tuples(st.just("POST"), path, form | body | raw),
            st.tuples(st.sampled_from(["HEAD", "PUT", "DELETE", "OPTIONS"]), path, query),
        )  # fmt: skip
        who = st.sampled_from(sorted(people))
        yield Probe(
            st.tuples(who, given, st.just({}) | cookies, _HEADERS).map(lambda one: (one[0], *one[1], one[2], one[3])),
            check,
        )


class Hostile:
    """A table that answers this, piece by piece."""

    def __init__(self) -> None:
        self.pieces: list[FarAnswer] = []

    def answer(self, asked: FarRequest, at_s: float, is_gone: Callable[[], bool]) -> Iterator[FarAnswer]:
        yield from self.pieces
        while True:  # more than it said
            yield FarAnswer(is_last=True)


@contextmanager
def hostile_tables(folder: Path, number: int) -> Iterator[Probe]:
    """Whatever a table answers, in messages that can be read or not, the hub shows under its own headers."""
    table = Hostile()
    app, _ = far_app(table, FakeClock())
    phone = InsidePhone(app)
    phone.browser.post("/enter", data={"code": CODE})
    short = ODD_TEXTS.map(lambda text: text.encode("utf-8", "replace").decode()[:200])
    kinds = (
        st.sampled_from([*KINDS, "text/css", "image/svg+xml", "application/javascript", "text/html\r\nX: y"]) | short
    )
    places = st.sampled_from(
        ["/seat/north", "//evil.example", "/\\evil", "https://evil.example/", "javascript:alert(1)"]
    )
    piece = st.fixed_dictionaries(
        {
            "number": st.sampled_from([0, 0, 0, 1, 2]),
            "is_last": st.booleans(),
            "status": st.sampled_from([200, 200, 204, 301, 303, 304, 403, 404, 410, 426, 500, 503, 599])
            | st.integers(95, 605),
            "content_type": kinds,
            "location": places | short,
            "cookies": st.dictionaries(
                st.sampled_from([*COOKIES, "far", "host"]), short | st.just("good.value"), max_size=2
            ),
            "body": st.binary(max_size=40) | st.sampled_from([b"<script>alert(1)</script>", b"data: x\n\n"]),
        }
    )

    def check(case: Any) -> tuple[str, int]:
        path, accept, pieces, wild = case
        for each in wild:
            for read in (read_far_answer, read_call):
                with contextlib.suppress(Malformed):
                    read(each)
        table.pieces = list(_readable(pieces))
        if not table.pieces:
            return "unreadable", 1
        if phone.browser.get_cookie("far") is None:
            phone.browser.post("/enter", data={"code": CODE})
        answer = phone.browser.get(path, headers={"Accept": accept})
        _looked_at(answer, path)
        answer.close()
        return str(answer.status_code), 1

    paths = st.sampled_from(
        ["/seat/north", "/api/seat/north/view", "/history/1", "/live/seat/north", "/join/north", "/"]
    )
    yield Probe(
        st.tuples(
            paths, st.sampled_from(["text/html", "application/json", "*/*"]), st.lists(piece, min_size=1, max_size=3),
            st.lists(st.binary(max_size=80), max_size=2),
        ),
        check,
    )  # fmt: skip


def _readable(pieces: Iterable[dict[str, Any]]) -> Iterator[FarAnswer]:
    """Those that the hub would take from its line."""
    for each in pieces:
        try:
            yield read_far_answer(msgspec.msgpack.encode(each))
        except (Malformed, OverflowError):
            return


TARGETS = (Target("far-phones", 0.01, 400, phones), Target("far-tables", 0.01, 600, hostile_tables))
