"""The doors described for programs: an OpenAPI 3.1 document made of the routes and of the types of their bodies.

It knows nothing of a game or a table, so it is the same for everybody, and holds no secret.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from flask import Blueprint, Flask, Response, current_app, jsonify
from werkzeug.routing import Rule

from companion import __version__
from web.context import PageContext
from web.rendering import answers
from web.routes import camera, check, history, hub, rules, settings, workbench
from web.routes.api import body, host, seat, table
from web.routes.seats import opponents, tiles

PATH = "/api/openapi.json"
_METHODS = ("GET", "POST")
_PARAMETER = re.compile(r"<(?:[^:<>]+:)?([^<>:]+)>")
_SUFFIXES = {
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
    ".zip": "application/zip",
    ".txt": "text/plain",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".ico": "image/svg+xml",
}
BODIES: Mapping[str, type[body.Body]] = {
    "api.take": seat.Take,
    "api.hand_in": seat.HandIn,
    "api.take_back": body.Moment,
    "api.confirm": body.Confirm,
    "api.start": seat.Start,
    "api.plan": body.Entered,
    "api.table_act": table.Act,
    "api.table_back": body.Moment,
    "api.new_game": host.NewGame,
    "api.preview": host.NewGame,
    "api.host_confirm": body.Confirm,
    "api.free_seat": host.FreeSeat,
    "api.rematch": body.Rematch,
    "api.table_rematch": body.Rematch,
    "api.host_rematch": body.Rematch,
    "api.swap_seats": host.SwapSeats,
    "rules.help": body.Entered,
    "rules.table_help": rules.Wanted,
    "tiles.laid": tiles.Laid,
    "tiles.table_laid": tiles.LaidBy,
    "lessons.begin": opponents.Learn,
    "opponents.machine": opponents.Ask,
    "opponents.coach": opponents.Question,
    "opponents.machine_leaves": opponents.Leave,
    "camera.lock": camera.LockBody,
    "camera.choose": camera.ChooseBody,
    "check.light": check.Light,
    "check.play": check.PlayCue,
    "hub.join": hub.JoinHub,
    "hub.offer": hub.OfferGame,
    "hub.take": hub.TakeGame,
    "history.remove": history.Remove,
    "history.forget": history.Forget,
    "settings.reset": settings.Reset,
    "bench.piece": workbench.Put,
    "bench.flip": workbench.Flip,
    "bench.hand": workbench.Hand,
    "bench.tiles": workbench.Tiles,
    "bench.press": workbench.Finger,
    "bench.release": workbench.Finger,
}
"""What a JSON door reads, by its endpoint; a door that is not here reads an empty object."""
ANSWERS: Mapping[str, Any] = {
    "api.view": answers.ViewJson,
    "api.seat_view": answers.ViewJson,
    "api.plays": answers.PlaysJson,
    "api.take": answers.Seated,
    "api.leave": answers.Seated,
    "api.hand_in": answers.Receipt,
    "api.plan": answers.Picture,
    "api.mine": answers.OwnOrder,
    "api.preview": answers.Picture,
    "api.new_key": answers.NewHostKey,
    "opponents.machine": answers.MachineSeated,
    "opponents.coach": answers.AdviceJson,
    "opponents.machine_leaves": answers.Seated,
    "staff.call": answers.StaffCall,
    "staff.cancel": answers.StaffCall,
    "camera.photographs": answers.PhotographsJson,
    "check.begin": answers.TrialJson,
    "check.light": answers.TrialJson,
    "check.play": answers.TrialJson,
    "hub.offer": answers.OfferedGame,
    "history.api_games": answers.GamesJson,
    "history.forget": answers.NameForgotten,
    "pages.clock": answers.ClockTime,
    "health.health": answers.HealthJson,
    "health.findings": answers.FindingsJson,
    "bench.state": answers.WorkbenchJson,
    "bench.piece": answers.WorldJson,
    "bench.flip": answers.WorldJson,
    "bench.tidy": answers.WorldJson,
    "bench.hand": answers.WorldJson,
}
"""What a JSON door answers, by its endpoint; a door that is not here answers an empty object."""
_DOCUMENTS = ("described.document", "history.as_json")
"""Doors that answer a whole JSON document with a format of its own."""
FORMS: Mapping[str, tuple[str, ...]] = {
    "pages.language": ("code", "back"),
    "joining.join": ("name", "known_name"),
    "passing.begin": ("south", "north", "known_south", "known_north"),
    "passing.open_side": ("seat",),
    "host.key": ("key", "back"),
    "host.start": ("game",),
}
"""The fields of forms, where they do not depend on a game or on the settings."""
_FILES = {"history.bring_in": "file", "settings.restore": "backup"}
_OF_HOST = (
    "/doctor",
    "/api/doctor",
    "/api/host/",
    "/api/settings/",
    "/api/check/",
    "/api/camera/",
    "/api/history/",
    "/settings",
    "/camera",
    "/check",
    "/host/start",
    "/host/hub",
)
"""How the paths begin that are the host's; pictures of the camera are the machine's own screen's, too."""
_SECURITY = {
    "hostKey": {"type": "apiKey", "in": "header", "name": "X-Host-Key", "description": "What a person types as host"},
}
_COOKIES = {
    "host": ("host", "Set by POST /host with the host key"),
    "south": ("seat_south", "Set by taking the seat"),
    "north": ("seat_north", "Set by taking the seat"),
}
"""Security schemes by cookie: the name before the table's own mark, and who sets it."""
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["kind", "message"],
            "properties": {
                "kind": {"type": "string"},
                "message": {"type": "string", "description": "A sentence in the language of the request"},
                "rule": {"type": ["string", "null"]},
                "reason": {"type": ["string", "null"]},
                "link": {"type": ["array", "null"], "items": {"type": "string"}},
            },
        }
    },
}


class OpenApiRoutes:
    """The route of the description."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context

    def blueprint(self) -> Blueprint:
        """All routes."""
        described = Blueprint("described", __name__)
        described.add_url_rule(PATH, view_func=self.document)
        return described

    def document(self) -> Response:
        """This description."""
        app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # the proxy's own way
        return jsonify(describe(app))


def describe(app: Flask) -> dict[str, Any]:
    """The OpenAPI 3.1 document of all routes of an application."""
    kinds: list[type[body.Body]] = sorted({body.Body, *BODIES.values()}, key=lambda kind: str(kind.__name__))
    given = sorted({answers.Nothing, *ANSWERS.values()}, key=lambda kind: str(kind.__name__))
    _, schemas = msgspec.json.schema_components((*kinds, *given), ref_template="#/components/schemas/{name}")
    for schema in schemas.values():
        schema["description"] = inspect.cleandoc(schema.get("description", ""))
    paths: dict[str, dict[str, Any]] = {}
    for rule in app.url_map.iter_rules():
        for method in sorted(set(_METHODS) & (rule.methods or set())):
            paths.setdefault(path_of(rule), {})[method.lower()] = _operation(app, rule, method)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tabletop Companion",
            "version": __version__,
            "description": "The pages and JSON doors of one table. Who may do what is said by signed cookies.",
        },
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": {**schemas, "Error": _ERROR}, "securitySchemes": _security_schemes(app)},
    }


def _security_schemes(app: Flask) -> dict[str, Any]:
    guard = app.extensions["guard"]
    schemes: dict[str, Any] = dict(_SECURITY)
    for scheme, (name, description) in _COOKIES.items():
        schemes[scheme] = {
            "type": "apiKey",
            "in": "cookie",
            "name": guard.cookie_name(name),
            "description": description,
        }
    return schemes


def path_of(rule: Rule) -> str:
    """A route as OpenAPI writes it, such as `/seat/{seat}`."""
    return _PARAMETER.sub(r"{\1}", rule.rule)


def _operation(app: Flask, rule: Rule, method: str) -> dict[str, Any]:
    told = inspect.getdoc(app.view_functions[rule.endpoint]) or ""
    operation: dict[str, Any] = {
        "operationId": f"{rule.endpoint}.{method.lower()}",
        "tags": [rule.endpoint.partition(".")[0]],
        "summary": told.partition("\n")[0],
        "responses": {
            "2XX": {"description": "Done", "content": {_media_type(rule, method): {"schema": _answer(rule, method)}}},
            "3XX": {"description": "To another page"},
            "default": {
                "description": "Refused, and why",
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/Error"}},
                    "text/html": {"schema": {"type": "string"}},
                },
            },
        },
    }
    if parameters := list(_parameters(rule)):
        operation["parameters"] = parameters
    if method == "POST":
        operation["requestBody"] = {"required": True, "content": _body(rule)}
    if security := _security(rule):
        operation["security"] = security
    return operation


def _parameters(rule: Rule) -> Iterator[dict[str, Any]]:
    """What stands in the path: a number, a word of a list, or any text without a slash."""
    for name, converter in sorted(rule._converters.items()):
        schema: dict[str, Any] = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
        if (number := getattr(converter, "num_convert", None)) is int:
            schema = {"type": "integer", "minimum": 0}
        elif number is None and hasattr(converter, "items"):
            schema = {"type": "string", "enum": sorted(converter.items)}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def is_json(rule: Rule) -> bool:
    """Does a POST to this route read JSON? Else it is a page's form."""
    return rule.rule.startswith(("/api/", "/workbench/"))


def _body(rule: Rule) -> dict[str, Any]:
    if is_json(rule):
        kind = BODIES.get(rule.endpoint, body.Body)
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}
    if (file := _FILES.get(rule.endpoint)) is not None:
        field = {"type": "string", "format": "binary"}
        return {"multipart/form-data": {"schema": {"type": "object", "properties": {file: field}}}}
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    fields = {name: {"type": "string"} for name in FORMS.get(rule.endpoint, ())}
    return {"application/x-www-form-urlencoded": {"schema": {**texts, "properties": fields}}}


def _media_type(rule: Rule, method: str) -> str:
    path = rule.rule
    if path.startswith("/live/") or path.endswith("/live"):
        return "text/event-stream"
    if path.startswith("/static/"):
        return "*/*"
    if path.endswith(".jpg") or "/photograph/" in path:
        return "image/jpeg"
    suffix = next((kind for end, kind in _SUFFIXES.items() if path.endswith(end)), None)
    is_for_programs = path.startswith("/api/") or path in ("/clock", "/health", "/workbench/state")
    return suffix or ("application/json" if is_for_programs or (method == "POST" and is_json(rule)) else "text/html")


def _answer(rule: Rule, method: str) -> dict[str, Any]:
    if _media_type(rule, method) != "application/json":
        return {}
    if rule.endpoint in _DOCUMENTS:
        return {"type": "object"}
    return {"$ref": f"#/components/schemas/{ANSWERS.get(rule.endpoint, answers.Nothing).__name__}"}


def _security(rule: Rule) -> list[dict[str, list[str]]]:
    """Who may: the host, or the seat that the path names; nothing for everybody else's doors."""
    if rule.rule.startswith(_OF_HOST) or rule.endpoint in _FILES:
        return [{"hostKey": []}, {"host": []}]
    if rule.rule.startswith("/api/seat/") and not rule.rule.endswith("/take"):
        return [{"south": []}, {"north": []}]
    return []
