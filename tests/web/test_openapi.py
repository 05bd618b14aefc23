"""The description for programs is made of the routes and types that there are, and says nothing
else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from bot_tools import InProcessBot
from flask import Flask, request
from simulated_room import simulated
from tour import TableTour, open_table_tour
from werkzeug.routing import Rule

from companion.bots.coach import Coach
from companion.bots.machine_players import MachinePlayers
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.service import app as wiring
from companion.table.session import Phase
from web.rendering.answers import Nothing
from web.routes.api.body import SEAT_PART
from web.routes.openapi import PATH, describe
from web.routes.owner.check import cues
from web.routes.route import Route

METHODS = {"GET", "POST"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """The pages of a whole simulated installation: every door that there is."""
    with simulated(tmp_path_factory.mktemp("app")) as companion:
        yield companion.server.app


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    answer = app.test_client().get(PATH)
    assert answer.mimetype == "application/json"
    return dict(answer.json)


def path_of(rule: Rule) -> str:
    """Return a route as OpenAPI writes it, such as `/seat/{seat}`."""
    return re.sub(r"<(?:[^:<>]+:)?([^<>:]+)>", r"{\1}", rule.rule)


def test_fields_are_described_by_their_docstrings(document: dict[str, Any]) -> None:
    problem = document["components"]["schemas"]["Problem"]
    home = problem["properties"]["home"]
    assert home["description"] == "Where it belongs. None if it belongs beside the board."


def test_every_route_is_described_and_nothing_else(app: Flask, document: dict[str, Any]) -> None:
    routes = {
        (path_of(rule), method)
        for rule in app.url_map.iter_rules()
        for method in METHODS & rule.methods
    }
    doors = {
        (path, method.upper()): door
        for path, methods in document["paths"].items()
        for method, door in methods.items()
    }
    assert set(doors) == routes
    assert not [door for door, told in doors.items() if not told["summary"]], "no docstring"
    for (path, _), door in doors.items():
        parameters = {parameter["name"] for parameter in door.get("parameters", ())}
        assert set(re.findall(r"{(\w+)}", path)) == parameters
    schemas = document["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document))) <= set(schemas)
    assert set(schemas["SeatRoutes_hand_in"]["required"]) == {"moment", "action"}
    assert schemas["SeatRoutes_hand_in"]["additionalProperties"] is False
    assert {"SeatRoutes_take", "HubRoutes_take"} <= set(schemas), "a rename breaks clients"


def test_files_are_described_as_uploads(document: dict[str, Any]) -> None:
    uploads = {
        path: list(content["multipart/form-data"]["schema"]["properties"])
        for path, methods in document["paths"].items()
        if "post" in methods
        and "multipart/form-data" in (content := methods["post"]["requestBody"]["content"])
    }
    assert uploads == {"/history": ["file"], "/settings/restore": ["backup"]}


def test_each_json_door_reads_its_body_strictly(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.security.auth.Auth.is_host", lambda *_: True)
    monkeypatch.setattr("web.security.auth.Auth.require_sitting", lambda *_: Seat.SOUTH)
    browser = app.test_client()
    for declared in routes_of(app):
        if declared.body:
            path = declared.path.replace(SEAT_PART, "south")
            answer = browser.post(path, json={"surely no field": 1})
            assert answer.status_code == 400, path
            assert answer.json["error"]["kind"] == "malformed", path


def test_doors_of_the_host_are_closed_and_told(app: Flask, document: dict[str, Any]) -> None:
    """Whoever is nobody is refused exactly where the description says that the host alone may."""
    browser, every, closed, told = app.test_client(), set(), set(), set()
    browser.environ_base["REMOTE_ADDR"] = "192.0.2.5"
    for path, doors in document["paths"].items():
        url = path.replace("{seat}", "south").replace("{page}", "table")
        url = re.sub(r"{\w+}", "1", url)
        for method, door in doors.items():
            if "event-stream" in str(door["responses"]) or path == "/host":
                continue
            is_json = "application/json" in str(door.get("requestBody"))
            answer = browser.open(url, method=method.upper(), json={} if is_json else None)
            text = answer.get_data().decode(errors="replace")
            every.add(f"{method} {path}")
            if answer.status_code == 403 and re.search("host_only|owner’s key", text):
                closed.add(f"{method} {path}")
            if "hostKey" in str(door.get("security")):
                told.add(f"{method} {path}")
    assert closed == told
    owners = re.compile(r".* (/api)?/(host|settings|camera|check)/|.*/history/(remove|forget)")
    assert {door for door in every if owners.match(door)} <= closed
    assert {
        "post /history",
        "get /settings",
        "get /api/doctor",
        "post /api/host/new-game",
    } <= closed


def routes_of(app: Flask) -> list[Route]:
    """Return what the route modules of an application declare."""
    return list(app.extensions["routes"])


def describe_in(app: Flask) -> dict[str, Any]:
    return describe(routes_of(app), app.extensions["auth"])


# ---- what is answered ----------------------------------------------------------------------------


class CheckedTour:
    """An installation whose every JSON answer is held against its description."""

    def __init__(self, tour: TableTour) -> None:
        self.tour, self.table, self.seen = tour, tour.table, set[str]()
        app = tour.companion.server.app
        document = describe_in(app)
        self.known = {
            each.endpoint: validator_of(document, each.answer)
            for each in routes_of(app)
            if isinstance(each.answer, type) and each.answer is not Nothing
        }
        self._nothing = validator_of(document, Nothing)
        app.after_request(self._check)

    def _check(self, answer: Any) -> Any:
        whole = ("described.document", "history.as_json")
        if answer.is_json and answer.status_code < 300 and request.endpoint not in whole:
            self.seen.add(str(request.endpoint))
            known = self.known.get(str(request.endpoint), self._nothing)
            faults = [
                f"{list(each.instance_path)}: {each.message}"
                for each in known.iter_errors(answer.json)
            ]
            assert not faults, (request.path, faults[:3])
        return answer

    def look(self) -> None:
        """Ask for what everybody, both seats and the workbench can see now."""
        client = self.tour.client
        for path in ("/api/view", "/clock", "/workbench/state"):
            client.get(path)
        for seat in SEATS:
            client.get(f"/api/seat/{seat}/view")
            client.get(f"/api/seat/{seat}/plays")
            client.post(f"/api/seat/{seat}/mine")


def validator_of(document: dict[str, Any], kind: type) -> Any:
    """Return a validator of an answer's schema that refuses fields without a description."""
    schemas = json.loads(json.dumps(document["components"]["schemas"]))
    for schema in schemas.values():
        if "properties" in schema or kind is Nothing:
            schema.setdefault("additionalProperties", False)
    return jsonschema_rs.validator_for(
        {"$ref": f"#/components/schemas/{kind.__name__}", "components": {"schemas": schemas}}
    )


@pytest.fixture
def checked_tour() -> Iterator[CheckedTour]:
    with pytest.MonkeyPatch.context() as patch:
        for name, kind in (("MachinePlayers", MachinePlayers), ("Coach", Coach)):
            patch.setattr(wiring, name, partial(kind, open_process=InProcessBot))
        with open_table_tour() as tour:
            yield CheckedTour(tour)


@pytest.mark.parametrize("game", GAMES)
def test_answers_of_a_game_are_as_described(checked_tour: CheckedTour, game: str) -> None:
    tour, table = checked_tour.tour, checked_tour.table
    for seat in SEATS:
        tour.client.post(f"/api/seat/{seat}/take", name=seat)
    table.new_game(game, dict(GAMES[game].presets[-1].options), 7)
    for step in range(300):
        view = table.view()
        if view.phase is Phase.OVER:
            break
        if step % 25 == 0:
            checked_tour.look()
        if view.phase is not Phase.ORDERS or (view.time.clock and view.time.clock.paused):
            tour.go_on()
            continue
        seat, action = tour.next_action()
        tour.client.post(f"/api/seat/{seat}/hand-in", moment=view.moment, action=action)
    if table.view().phase is not Phase.OVER:
        tour.client.post("/api/seat/south/resign")
    checked_tour.look()
    assert tour.client.get("/api/view")["outcome"]
    assert {
        "api.view",
        "api.seat_view",
        "api.own_order",
        "api.hand_in",
        "bench.state",
    } <= checked_tour.seen


def test_every_other_answer_is_as_described(checked_tour: CheckedTour) -> None:
    post, get, table = (
        checked_tour.tour.client.post,
        checked_tour.tour.client.get,
        checked_tour.table,
    )
    checked_tour.tour.client.send("/host", f"key={checked_tour.tour.companion.host_key}".encode())

    def moment(**body: Any) -> dict[str, Any]:
        return {"moment": table.view().moment, **body}

    for path in ("/health", "/api/doctor", "/api/history", "/api/photographs"):
        get(path)
    piece = get("/workbench/state")["pieces"][0]["id"]
    for door, body in (
        ("settings/change", {"values": {"table.theme": "dark"}}),
        ("check/begin", {}),
        ("check/light", {"lamp": "south_1", "on": True}),
        ("check/play", {"cue": str(next(iter(cues())))}),
        ("check/end", {}),
        ("seat/south/take", {"name": "Mara"}),
        ("host/preview", {"game": "scouts"}),
        ("seat/north/machine", {"name": "Bo"}),
        ("seat/north/machine-leaves", {}),
        ("seat/north/take", {"name": "Jonas"}),
        ("host/new-key", {}),
        ("host/new-game", {"game": "outbuffered"}),
    ):
        post(f"/api/{door}", **body)
    for door, body in (
        ("piece", {"id": piece, "square": "a1"}),
        ("flip", {"id": piece}),
        ("hand", {"square": None}),
        ("tidy", {}),
    ):
        post(f"/workbench/{door}", **body)
    table.confirm("host", table.view().moment, 0, force=True)
    table.use_settings(msgspec.structs.replace(table.settings, coach="always"))
    for door, body in (
        ("plan", moment(entered="U")),
        ("help", moment(entered="U")),
        ("coach", moment(about="now")),
        ("hand-in", moment(action="UUU")),
        ("take-back", moment()),
        ("mine", {}),
        ("resign", {}),
    ):
        post(f"/api/seat/south/{door}", **body)
    post("/api/history/forget", name="Mara")
    checked_tour.look()
    post("/api/seat/south/leave")
    missing = set(checked_tour.known) - checked_tour.seen
    assert missing == {"staff.call", "staff.cancel", "hub.offer", "eye.picture"}
