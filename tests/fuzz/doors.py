"""Requests from outside: by the API's own description, wild ones of every kind, and twins that may tell no difference."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import msgspec
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import strategies as st
from inside import session_of
from werkzeug.test import TestResponse

from companion.core.clock import FakeClock
from companion.core.config import Settings, WebSettings, WifiSettings
from companion.core.errors import CompanionError
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.service import app as wiring
from companion.service.app import Companion
from companion.table.session import Phase
from fuzz.endings import goes_on, replays
from fuzz.running import Probe, Target, errors_so_far
from fuzz.texts import GAME, JSON, ODD_NUMBERS, ODD_TEXTS
from web.routes.openapi import PATH, describe

ROLES = ("nobody", "south", "north", "host")
SLOW = ("/kit/", ".webp", "backup.zip", "bundle.zip")
"""Doors that work for a good part of a second: they are asked seldom."""
SELDOM = 1000
WIFI_PASSWORD = "nobody-tells-this-one"


class Room:
    """A whole simulated installation without threads, and four kinds of people in front of it."""

    def __init__(self, companion: Companion, app: Flask, clock: FakeClock) -> None:
        self.companion, self.app, self.clock = companion, app, clock
        self.table = companion.table
        self.people = {role: app.test_client() for role in ROLES}
        self.rng = Random(1)
        self.asked = 0
        self.people["host"].post("/host", data={"key": companion.host_key})
        self.sit()

    def sit(self) -> None:
        """Both seats are taken by those who should have them."""
        for seat in SEATS:
            if (
                self.table.seat_nonce(seat) is not None
                and self.person(seat).get(f"/api/seat/{seat}/view").status_code != 200
            ):
                self.table.free_seat(seat)
            if self.table.seat_nonce(seat) is None:
                self.person(seat).post(f"/api/seat/{seat}/take", json={"name": f"Player {seat}"})

    def person(self, seat: Seat) -> FlaskClient:
        """The browser of a seat."""
        return self.people[str(seat)]

    def begin(self, game: str) -> None:
        """A game that has come to its first orders; the one before, whatever was sent to it, replays."""
        replays(self.table, self.companion.journal)
        if self.table.view().phase not in (Phase.LOBBY, Phase.OVER):
            self.table.abandon()
        self.table.new_game(
            game, dict(self.rng.choice(GAMES[game].presets).options), self.rng.randrange(1000)
        )
        self.settle()

    def settle(self) -> None:
        """Hands have done whatever there was to do, and clocks run."""
        for _ in range(40):
            view = self.table.view()
            if view.phase not in (Phase.SETUP, Phase.STAGES):
                break
            self.table.confirm("host", view.moment, view.turn.stage, force=True)
        if view.time.clock is not None and view.time.clock.paused:
            self.table.resume("host")

    def pass_time(self) -> None:
        """Between two requests; now and then the camera looks, somebody sits down again, or a game begins."""
        self.asked += 1
        self.clock.advance(self.rng.choice((0.05, 0.2, 0.7)))
        if self.asked % 50 == 0:
            self.companion.step()
        elif self.asked % 5 == 0:
            self.companion.step_keys()
        if self.asked % 25 == 0:
            self.sit()
            view = self.table.view()
            if view.phase in (Phase.LOBBY, Phase.OVER) or self.asked % 500 == 0:
                self.begin(self.rng.choice(sorted(GAMES)))
            elif view.phase in (Phase.SETUP, Phase.STAGES):
                self.settle()

    def look(self, answer: TestResponse, role: str) -> str:
        """What holds for every answer; answers its status as a word."""
        status, content = answer.status_code, b""
        if answer.mimetype != "text/event-stream":
            content = answer.get_data()
        answer.close()
        assert status < 500 or status == 503, f"{status}: {errors_so_far() or content[:300]}"
        assert "Content-Security-Policy" in answer.headers
        assert b"Traceback" not in content
        if status >= 400:
            assert content, "a refusal says something"
        if answer.mimetype == "application/json":
            json.loads(content)
        if role != "host":
            head = str(answer.headers).encode()
            for secret in (self.companion.host_key.encode(), WIFI_PASSWORD.encode()):
                assert secret not in content + head, f"tells {secret!r}"
        return str(status)

    def finish(self) -> None:
        """After all that the game goes on, and its journal leads to the same table."""
        replays(self.table, self.companion.journal)
        with contextlib.suppress(CompanionError):
            self.table.abandon()
        for game in sorted(GAMES):
            self.sit()
            self.begin(game)
            goes_on(self.table, self.companion.journal, turns=3)


@contextmanager
def open_room(folder: Path) -> Iterator[Room]:
    """A simulated installation in a folder."""
    clock, made = FakeClock(), []
    serve = wiring.serve
    wiring.serve = lambda app, *rest, **how: (made.append(app), serve(app, *rest, **how))[1]
    try:
        settings = Settings(
            state_dir=str(folder),
            web=WebSettings(host="127.0.0.1", port=0),
            wifi=WifiSettings(name="Table", password=WIFI_PASSWORD),
        )
        with Companion(settings, simulate=True, clock=clock, threads=False) as companion:
            yield Room(companion, made[0], clock)
    finally:
        wiring.serve = serve


# ---- wild requests -------------------------------------------------------------------------------------------------


def _values(room: Room) -> dict[str, st.SearchStrategy[Any]]:
    """What may stand in a field of that name: often what fits the moment."""
    now, legal = st.just("NOW"), st.just("LEGAL")
    squares = st.sampled_from(["a1", "c3", "h8", "z9", "", "a0", "a99"])
    return {
        "moment": st.one_of(now, now, now, now, st.sampled_from(["1.1", "0.0", "9.9"]), JSON),
        "action": st.one_of(
            legal, legal, legal, st.sampled_from(["UUS", "d0", "--", ".", "1"]), JSON
        ),
        "entered": st.one_of(legal, st.sampled_from(["", "U", "UU", "1:N", "R@c2"]), JSON),
        "salt": st.one_of(st.just("5a17"), JSON),
        "stage": st.one_of(now, now, JSON),
        "force": st.one_of(st.just(True), st.booleans(), JSON),
        "game": st.one_of(GAME, GAME, JSON),
        "preset": st.one_of(st.integers(0, 3), JSON),
        "options": st.one_of(st.just({}), st.dictionaries(ODD_TEXTS, JSON, max_size=2), JSON),
        "seed": st.one_of(st.none(), st.integers(0, 9), ODD_NUMBERS),
        "seat": st.one_of(st.sampled_from(["south", "north"]), JSON),
        "square": st.one_of(squares, st.none(), JSON),
        "id": st.one_of(st.integers(0, 40), JSON),
        "x": st.one_of(st.floats(0, 700), JSON),
        "y": st.one_of(st.floats(0, 700), JSON),
        "button": st.one_of(
            st.sampled_from(sorted(room.companion.panel.buttons) if room.companion.panel else [""]),
            JSON,
        ),
        "number": st.one_of(st.integers(0, 9), JSON),
        "games": st.just(False),
        "source": st.one_of(st.just("auto"), ODD_TEXTS),
    }


def _bodies(room: Room, kind: Any) -> st.SearchStrategy[Any]:
    values = _values(room)
    fields = msgspec.structs.fields(kind)
    own = {
        field.encode_name: values.get(field.name, st.one_of(ODD_TEXTS, JSON)) for field in fields
    }
    needed = {
        name: own[name] for name in own if any(f.encode_name == name and f.required for f in fields)
    }
    fits = st.fixed_dictionaries(
        needed, optional={name: own[name] for name in own if name not in needed}
    )
    return st.one_of(
        fits,
        fits,
        fits,
        fits,
        st.dictionaries(st.sampled_from([*own, "x"]), JSON, max_size=3),
        JSON,
    )


def _paths(
    document: dict[str, Any],
) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Path, method and endpoint of the quick doors, and of the slow ones."""
    doors = [
        (path, method, door["operationId"].rpartition(".")[0])
        for path, ways in document["paths"].items()
        for method, door in ways.items()
    ]
    slow = [door for door in doors if any(part in door[0] for part in SLOW)]
    return [door for door in doors if door not in slow], slow


_PARTS = {
    "seat": st.sampled_from(["south", "north", "south", "north", "west", ""]),
    "page": st.sampled_from(["table", "watch", "x"]),
    "name": st.one_of(GAME, ODD_TEXTS),
    "number": st.one_of(st.integers(0, 12), ODD_NUMBERS),
    "place": st.one_of(st.integers(0, 30), ODD_NUMBERS),
    "game": st.one_of(st.integers(0, 6), ODD_NUMBERS),
    "moment": st.one_of(st.just("NOW"), ODD_TEXTS),
    "version": ODD_TEXTS,
}
_HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "Accept",
            "Accept-Language",
            "Host",
            "Origin",
            "Sec-Fetch-Site",
            "X-Host-Key",
            "Content-Type",
            "Cookie",
            "Range",
            "If-None-Match",
        ]
    ),
    st.one_of(
        st.sampled_from(
            [
                "text/html",
                "application/json",
                "fr",
                "es;q=0.9,*;q=x",
                "localhost",
                "http://localhost",
                "same-origin",
                "cross-site",
                "seat_south=x.y; host=z",
                "null",
                "bytes=5-2",
            ]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=20),
    ),
    max_size=2,
)


def _requests(room: Room, document: dict[str, Any]) -> st.SearchStrategy[Any]:
    quick, slow = _paths(document)
    bodies = {each.endpoint: each.route.body for each in room.app.extensions["routes"]}

    def of(door: tuple[str, str, str]) -> st.SearchStrategy[Any]:
        path, method, endpoint = door
        names = [part.partition("}")[0] for part in path.split("{")[1:]]
        parts = st.fixed_dictionaries({name: _PARTS.get(name, ODD_TEXTS) for name in names})
        kind = bodies.get(endpoint) or msgspec.defstruct("Nothing", [])
        form = st.dictionaries(
            st.one_of(
                ODD_TEXTS,
                st.sampled_from(["name", "key", "back", "code", "seat", "game", "seen", "south"]),
            ),
            ODD_TEXTS,
            max_size=3,
        )
        body = st.just(None)
        if method == "post":
            content = document["paths"][path][method]["requestBody"]["content"]
            body = _bodies(room, kind) if "application/json" in content else form
        query = st.one_of(
            st.just({}),
            st.just({}),
            st.dictionaries(
                st.one_of(ODD_TEXTS, st.sampled_from(["game", "why", "page", "from", "voice"])),
                ODD_TEXTS,
                max_size=2,
            ),
        )
        headers = st.one_of(st.just({}), st.just({}), _HEADERS)
        raw = st.one_of(
            *[st.just(None)] * 8,
            st.binary(max_size=40),
            st.just(b"[" * 3000 + b"]" * 3000),
            st.just(b"x" * 17000),
        )
        return st.tuples(st.just(door), st.sampled_from(ROLES), parts, body, query, headers, raw)

    return st.one_of(
        *[of(door) for door in quick] * (SELDOM // len(quick)), *[of(door) for door in slow]
    )


def _filled(room: Room, seat: Seat, value: Any, name: str = "") -> Any:
    """A body with what it leaves to the moment filled in."""
    if isinstance(value, dict):
        return {key: _filled(room, seat, inner, key) for key, inner in value.items()}
    if value == "NOW":
        view = room.table.view()
        return view.turn.stage if name == "stage" else view.moment
    if value == "LEGAL":
        session = session_of(room.table)
        if session.game is None or seat not in session.game.to_act(session.state):
            return "UUS"
        return session.game.format(session.game.random_action(session.state, seat, room.rng))
    return value


def send(room: Room, case: Any) -> tuple[TestResponse, str]:
    """Send one wild request; answers what came back, and who has asked."""
    (path, method, _), role, parts, body, query, headers, raw = case
    seat = Seat.NORTH if parts.get("seat") == "north" else Seat.SOUTH
    for name, value in parts.items():
        path = path.replace(f"{{{name}}}", quote(str(_filled(room, seat, value)), safe=""))
    given: dict[str, Any] = {}
    if raw is not None and method == "post":
        given = {"data": raw, "content_type": "application/json"}
    elif method == "post":
        is_json = path.startswith(("/api/", "/workbench/"))
        text = json.dumps(_filled(room, seat, body)) if is_json else ""
        given = {"data": text, "content_type": "application/json"} if is_json else {"data": body}
    who = room.people[role]
    if "Cookie" in headers:
        who = room.app.test_client(use_cookies=False)
    url = path if path.startswith("/") and not path.startswith("//") else "/"
    answer = who.open(
        url,
        method=method.upper(),
        query_string=query,
        headers=headers,
        environ_base={"REMOTE_ADDR": "192.0.2.5"},
        **given,
    )
    return answer, role


@contextmanager
def requests(folder: Path, number: int) -> Iterator[Probe]:
    """Every door with bodies, queries, headers and people of every kind, in the course of all games."""
    with open_room(folder) as room:
        room.rng = Random(number)
        room.begin(room.rng.choice(sorted(GAMES)))
        document = describe(room.app.extensions["routes"], room.app.extensions["guard"])

        def check(cases: list[Any]) -> tuple[str, int]:
            for case in cases:
                room.pass_time()
                word = room.look(*send(room, case))
            return word, len(cases)

        yield Probe(st.lists(_requests(room, document), min_size=1, max_size=8), check, room.finish)


# ---- by the description ----------------------------------------------------------------------------------------------


@contextmanager
def described(folder: Path, number: int) -> Iterator[Probe]:
    """Requests that schemathesis makes of the description, right and wrong ones, and its checks of the answers."""
    import schemathesis  # noqa: PLC0415 - takes two seconds
    from schemathesis.checks import not_a_server_error  # noqa: PLC0415
    from schemathesis.core.failures import FailureGroup  # noqa: PLC0415
    from schemathesis.specs.openapi.checks import (  # noqa: PLC0415
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    ]
    with open_room(folder) as room:
        room.rng = Random(number)
        room.begin(room.rng.choice(sorted(GAMES)))
        schema = schemathesis.openapi.from_wsgi(PATH, room.app)
        modes = schemathesis.GenerationMode
        operations = [each.ok() for each in schema.get_all_operations()]
        quick = [
            each
            for each in operations
            if not any(part in each.path for part in SLOW) and "live" not in each.path
        ]
        ways = [
            each.as_strategy(generation_mode=mode)
            for each in quick
            for mode in (modes.POSITIVE, modes.NEGATIVE)
        ]
        jsons = [
            each.as_strategy(generation_mode=modes.POSITIVE)
            for each in quick
            if each.path.startswith("/api/")
        ]

        def check(case: Any) -> tuple[str, int]:
            room.pass_time()
            made, role = case
            made.headers.pop("X-Host-Key", None)
            made.cookies.clear()
            answer = made.call(session=room.people[role], environ_base={"REMOTE_ADDR": "192.0.2.5"})
            try:
                if answer.status_code != 503:
                    made.validate_response(answer, checks=checks)
            except FailureGroup as group:
                told = "; ".join(f"{each.title}: {each.message}" for each in group.exceptions)
                raise AssertionError(f"{made.method} {made.path}: {told}") from None
            return str(answer.status_code), 1

        cases = st.one_of(st.one_of(*ways), st.one_of(*jsons))
        yield Probe(st.tuples(cases, st.sampled_from(ROLES)), check, room.finish)


TARGETS = (Target("requests", 0.10, 600, requests), Target("described", 0.01, 600, described))
