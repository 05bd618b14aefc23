"""Tests of the API's OpenAPI description against the routes of a simulated installation.

Every route is described, every answer of a tour through the installation fits its description, and
the description names the routes that need the owner key.
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
from web.routes.openapi import DOCUMENT_PATH, describe
from web.routes.owner.check import cue_labels
from web.routes.route import Route

METHODS = {"GET", "POST"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """The application of a whole simulated installation, which has every route."""
    with simulated(tmp_path_factory.mktemp("app")) as companion:
        yield companion.server.app


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    answer = app.test_client().get(DOCUMENT_PATH)
    assert answer.mimetype == "application/json"
    return dict(answer.json)


def path_of(rule: Rule) -> str:
    """Return a route as OpenAPI writes it, such as `/seat/{seat}`."""
    return re.sub(r"<(?:[^:<>]+:)?([^<>:]+)>", r"{\1}", rule.rule)


def test_fields_are_described_by_their_docstrings(document: dict[str, Any]) -> None:
    home = document["components"]["schemas"]["Problem"]["properties"]["home"]
    assert home["description"] == "Where it belongs. None if it belongs beside the board."


def test_every_route_is_described_and_nothing_else(app: Flask, document: dict[str, Any]) -> None:
    routes = {
        (path_of(rule), method)
        for rule in app.url_map.iter_rules()
        for method in METHODS & rule.methods
    }
    operations = {
        (path, method.upper()): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }

    # each route is described, with a summary and its parameters
    assert set(operations) == routes
    without_summary = [name for name, described in operations.items() if not described["summary"]]
    assert not without_summary, "each route must have a docstring"
    for (path, _), operation in operations.items():
        parameters = {parameter["name"] for parameter in operation.get("parameters", ())}
        assert set(re.findall(r"{(\w+)}", path)) == parameters

    # each schema that is referred to is there, and those that clients use keep their names
    schemas = document["components"]["schemas"]
    assert set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document))) <= set(schemas)
    assert set(schemas["SeatRoutes_hand_in"]["required"]) == {"moment", "action"}
    assert schemas["SeatRoutes_hand_in"]["additionalProperties"] is False
    assert {"SeatRoutes_take", "HubRoutes_take"} <= set(schemas), (
        "a schema that clients use must keep its name"
    )


def test_files_are_described_as_uploads(document: dict[str, Any]) -> None:
    uploads = {
        path: list(content["multipart/form-data"]["schema"]["properties"])
        for path, methods in document["paths"].items()
        if "post" in methods
        and "multipart/form-data" in (content := methods["post"]["requestBody"]["content"])
    }
    assert uploads == {"/history": ["file"], "/settings/restore": ["backup"]}


def test_json_routes_refuse_unknown_fields(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.security.auth.Auth.is_host", lambda *_: True)
    monkeypatch.setattr("web.security.auth.Auth.require_sitting", lambda *_: Seat.SOUTH)
    browser = app.test_client()
    for declared in routes_of(app):
        if declared.body:
            path = declared.path.replace(SEAT_PART, "south")
            answer = browser.post(path, json={"surely no field": 1})
            assert answer.status_code == 400, path
            assert answer.json["error"]["kind"] == "malformed", path


def test_the_owners_routes_are_closed_and_described(app: Flask, document: dict[str, Any]) -> None:
    """Ask for every route as a stranger.

    The routes that are refused without the owner key must be exactly those of which the description
    says that they need it.
    """
    browser = app.test_client()
    all_names = set()
    refused = set()
    described = set()
    browser.environ_base["REMOTE_ADDR"] = "192.0.2.5"
    # a request to every route but streams, and but the page on which the key is entered
    for path, operations in document["paths"].items():
        url = path.replace("{seat}", "south").replace("{page}", "table")
        url = re.sub(r"{\w+}", "1", url)
        for method, operation in operations.items():
            if "event-stream" in str(operation["responses"]) or path == "/host":
                continue
            is_json = "application/json" in str(operation.get("requestBody"))
            answer = browser.open(url, method=method.upper(), json={} if is_json else None)
            text = answer.get_data().decode(errors="replace")
            all_names.add(f"{method} {path}")
            # other routes are refused to a stranger, too, but for other reasons
            if answer.status_code == 403 and re.search("host_only|owner’s key", text):
                refused.add(f"{method} {path}")
            if "hostKey" in str(operation.get("security")):
                described.add(f"{method} {path}")
    assert refused == described

    # and these must be the routes that are meant for the owner only
    owners_routes = re.compile(
        r".* (/api)?/(host|settings|camera|check)/|.*/history/(remove|forget)"
    )
    assert {name for name in all_names if owners_routes.match(name)} <= refused
    assert {
        "post /history",
        "get /settings",
        "get /api/doctor",
        "post /api/host/new-game",
    } <= refused


def routes_of(app: Flask) -> list[Route]:
    """Return the routes that the modules of an application declare."""
    return list(app.extensions["routes"])


def describe_in(app: Flask) -> dict[str, Any]:
    return describe(routes_of(app), app.extensions["auth"])


# ---- answers -------------------------------------------------------------------------------------


class CheckedTour:
    """A simulated installation that checks every JSON answer against its description."""

    def __init__(self, tour: TableTour) -> None:
        self.tour = tour
        self.table = tour.table
        self.checked_endpoints = set[str]()
        app = tour.companion.server.app
        document = describe_in(app)
        self.validators = {
            route.endpoint: validator_of(document, route.answer)
            for route in routes_of(app)
            if isinstance(route.answer, type) and route.answer is not Nothing
        }
        self._nothing = validator_of(document, Nothing)
        app.after_request(self._check)

    def _check(self, answer: Any) -> Any:
        # the description itself and the file of a game are JSON without a schema
        without_schema = ("described.document", "history.as_json")
        if answer.is_json and answer.status_code < 300 and request.endpoint not in without_schema:
            self.checked_endpoints.add(str(request.endpoint))
            validator = self.validators.get(str(request.endpoint), self._nothing)
            faults = [
                f"{list(error.instance_path)}: {error.message}"
                for error in validator.iter_errors(answer.json)
            ]
            assert not faults, (request.path, faults[:3])
        return answer

    def fetch_views(self) -> None:
        """Fetch what everybody, both seats and the workbench can see now."""
        client = self.tour.client
        for path in ("/api/view", "/clock", "/workbench/state"):
            client.get(path)
        for seat in SEATS:
            client.get(f"/api/seat/{seat}/view")
            client.get(f"/api/seat/{seat}/plays")
            client.post(f"/api/seat/{seat}/mine")


def validator_of(document: dict[str, Any], kind: type) -> Any:
    """Return a validator of an answer of this type that refuses fields without a description."""
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
    tour = checked_tour.tour
    table = checked_tour.table
    for seat in SEATS:
        tour.client.post(f"/api/seat/{seat}/take", name=seat)
    table.new_game(game, dict(GAMES[game].presets[-1].options), 7)
    # play the whole game, or resign it after 300 steps
    for step in range(300):
        view = table.view()
        if view.phase is Phase.OVER:
            break
        if step % 25 == 0:
            checked_tour.fetch_views()
        if view.phase is not Phase.ORDERS or (view.time.clock and view.time.clock.paused):
            tour.go_on()
            continue
        seat, action = tour.next_action()
        tour.client.post(f"/api/seat/{seat}/hand-in", moment=view.moment, action=action)
    if table.view().phase is not Phase.OVER:
        tour.client.post("/api/seat/south/resign")

    # the views of a game that is over
    checked_tour.fetch_views()
    assert tour.client.get("/api/view")["outcome"]
    assert {
        "api.view",
        "api.seat_view",
        "api.own_order",
        "api.hand_in",
        "bench.state",
    } <= checked_tour.checked_endpoints


def test_every_other_answer_is_as_described(checked_tour: CheckedTour) -> None:
    client = checked_tour.tour.client
    table = checked_tour.table
    # become the owner, who may use all these routes
    client.send("/host", f"key={checked_tour.tour.companion.host_key}".encode())

    def with_moment(**body: Any) -> dict[str, Any]:
        return {"moment": table.view().moment, **body}

    # routes for programs, and without a game those of owner and seats
    for path in ("/health", "/api/doctor", "/api/history", "/api/photographs"):
        client.get(path)
    piece = client.get("/workbench/state")["pieces"][0]["id"]
    for route, body in (
        ("settings/change", {"values": {"table.theme": "dark"}}),
        ("check/begin", {}),
        ("check/light", {"lamp": "south_1", "on": True}),
        ("check/play", {"cue": str(next(iter(cue_labels())))}),
        ("check/end", {}),
        ("seat/south/take", {"name": "Mara"}),
        ("host/preview", {"game": "scouts"}),
        ("seat/north/machine", {"name": "Bo"}),
        ("seat/north/machine-leaves", {}),
        ("seat/north/take", {"name": "Jonas"}),
        ("host/new-key", {}),
        ("host/new-game", {"game": "outbuffered"}),
    ):
        client.post(f"/api/{route}", **body)

    # a game is being set up: move a piece, then put all in order
    for route, body in (
        ("piece", {"id": piece, "square": "a1"}),
        ("flip", {"id": piece}),
        ("hand", {"square": None}),
        ("tidy", {}),
    ):
        client.post(f"/workbench/{route}", **body)

    # the first turn of a seat, with the coach
    table.confirm("host", table.view().moment, 0, force=True)
    table.use_settings(msgspec.structs.replace(table.settings, coach="always"))
    for route, body in (
        ("plan", with_moment(entered="U")),
        ("help", with_moment(entered="U")),
        ("coach", with_moment(about="now")),
        ("hand-in", with_moment(action="UUU")),
        ("take-back", with_moment()),
        ("mine", {}),
        ("resign", {}),
    ):
        client.post(f"/api/seat/south/{route}", **body)

    # after the game
    client.post("/api/history/forget", name="Mara")
    checked_tour.fetch_views()
    client.post("/api/seat/south/leave")
    # these need a hub, or a phone as the camera
    missing = set(checked_tour.validators) - checked_tour.checked_endpoints
    assert missing == {"staff.call", "staff.cancel", "hub.offer", "eye.picture"}
