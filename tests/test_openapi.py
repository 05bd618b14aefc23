"""The description for programs is made of the routes and types that there are, and says nothing else."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask, request

import web.routes.api
from companion.core.clock import FakeClock
from companion.core.config import Settings, WebSettings
from companion.service import app as wiring
from companion.service.app import Companion
from web.routes.openapi import BODIES, FORMS, PATH, describe, is_json, path_of

METHODS = {"GET", "POST"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """The pages of a whole simulated installation: every door that there is."""
    made: list[Flask] = []
    serve = wiring.serve
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "serve", lambda app, *rest: (made.append(app), serve(app, *rest))[1])
        settings = Settings(state_dir=str(tmp_path_factory.mktemp("app")), web=WebSettings(host="127.0.0.1", port=0))
        with Companion(settings, simulate=True, clock=FakeClock(), threads=False):
            yield made[0]


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    answer = app.test_client().get(PATH)
    assert answer.mimetype == "application/json"
    return dict(answer.get_json())


def test_every_route_is_described_and_nothing_else(app: Flask, document: dict[str, Any]) -> None:
    routes = {(path_of(rule), method) for rule in app.url_map.iter_rules() for method in METHODS & rule.methods}
    told = {(path, method.upper()) for path, doors in document["paths"].items() for method in doors}
    assert told == routes
    assert ("/api/seat/{seat}/hand-in", "POST") in told


def test_every_described_door_says_what_it_is_for(document: dict[str, Any]) -> None:
    silent = [
        f"{m} {path}" for path, doors in document["paths"].items() for m, door in doors.items() if not door["summary"]
    ]
    assert not [each for each in silent if each not in ("get /s", "get /n")], "a view function without a docstring"


def test_the_document_holds_together(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    referred = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert referred <= set(schemas)
    assert set(schemas["HandIn"]["required"]) == {"moment", "action"}
    assert schemas["HandIn"]["additionalProperties"] is False
    for path, doors in document["paths"].items():
        for door in doors.values():
            assert set(re.findall(r"{(\w+)}", path)) == {each["name"] for each in door.get("parameters", ())}


def test_each_door_reads_the_body_that_is_described(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[str, type] = {}
    real = web.routes.api.read_body

    def watch(asked: Any, kind: type) -> Any:
        read[request.endpoint] = kind
        return real(asked, kind)

    for name, module in list(sys.modules.items()):
        if name.startswith("web.") and getattr(module, "read_body", None) is real:
            monkeypatch.setattr(module, "read_body", watch)
    monkeypatch.setattr("web.security.auth.Guard.is_host", lambda *_: True)
    monkeypatch.setattr("web.security.auth.Guard.require_sitting", lambda *_: None)
    browser, asked = app.test_client(), set()
    for rule in app.url_map.iter_rules():
        if "POST" in rule.methods and is_json(rule):
            asked.add(rule.endpoint)
            browser.post(path_of(rule).replace("{seat}", "south"), json={"surely no field": 1})
    assert asked == set(read), "a JSON door that reads no body"
    assert read == {endpoint: BODIES.get(endpoint, web.routes.api.Body) for endpoint in asked}


def test_forms_are_of_doors_that_there_are(app: Flask) -> None:
    assert set(FORMS) <= set(app.view_functions)
    assert set(BODIES) <= set(app.view_functions)


def test_doors_of_the_host_are_told(app: Flask, document: dict[str, Any]) -> None:
    """Whoever is nobody is refused exactly where the description says that the host alone may."""
    browser, closed, told = app.test_client(), set(), set()
    for path, doors in document["paths"].items():
        for method, door in doors.items():
            if "event-stream" in str(door["responses"]) or path == "/host":
                continue
            body = {"json": {}} if "application/json" in door.get("requestBody", {}).get("content", {}) else {}
            url = re.sub(r"{(\w+)}", lambda found: {"seat": "south", "page": "table"}.get(found[1], "1"), path)
            answer = browser.open(url, method=method.upper(), environ_base={"REMOTE_ADDR": "192.0.2.5"}, **body)
            text = answer.get_data().decode(errors="replace")
            if answer.status_code == 403 and ("host_only" in text or "host key" in text):
                closed.add(f"{method} {path}")
            if any("hostKey" in way for way in door.get("security", ())):
                told.add(f"{method} {path}")
    assert sorted(closed ^ told) == []
    assert "post /api/host/undo" in closed


def test_it_is_the_same_for_everybody_and_without_secrets(app: Flask) -> None:
    known = json.dumps(describe_in(app))
    for secret in ("192.", "127.", "k" * 32):
        assert secret not in known
    assert app.test_client().get(PATH).get_data() == app.test_client().get(PATH).get_data()


def describe_in(app: Flask) -> dict[str, Any]:
    with app.app_context():
        return describe(app)
