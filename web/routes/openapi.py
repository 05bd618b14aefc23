"""The API's description: an OpenAPI 3.1 document generated from the declared routes.

The document depends on the features and cookie names of an installation, and on the path of a
proxy. It does not depend on the game that is on, so it contains no secrets.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from flask import current_app, request
from msgspec.inspect import DataclassType, StructType, TypedDictType

from companion import __version__
from web.rendering.answers import Nothing
from web.routes.api.body import Body
from web.routes.route import (
    HTML,
    Guard,
    Route,
    get,
    host_only,
    host_page,
    own_seat,
    seat_holder,
)
from web.security.auth import Auth

# Address of the description.
DOCUMENT_PATH = "/api/openapi.json"
# A parameter in a path, such as `<any(south, north):seat>`: its converter, what the converter
# allows, and its name.
_PARAMETER = re.compile(r"<(?:(\w+)(?:\(([^()]*)\))?:)?(\w+)>")
# Start of a reference to the schema of a type.
_SCHEMA_REF = "#/components/schemas/"

_SEAT_SECURITY: list[dict[str, list[str]]] = [{"south": []}, {"north": []}]
_HOST_SECURITY: list[dict[str, list[str]]] = [{"hostKey": []}, {"host": []}]
# Security schemes of a route, by its guard.
_GUARD_SCHEMES: Mapping[Guard | None, list[dict[str, list[str]]]] = {
    host_only: _HOST_SECURITY,
    host_page: _HOST_SECURITY,
    own_seat: _SEAT_SECURITY,
    seat_holder: _SEAT_SECURITY,
}
# Ways in which a request proves who sends it, as OpenAPI describes them: where the proof is, its
# name, and how a client gets it. The names of cookies lack the table's suffix, which `describe`
# adds. In all names here, host means the owner.
_SECURITY_SCHEMES = {
    "hostKey": {
        "in": "header",
        "name": "X-Host-Key",
        "description": "The owner key, as a person types it",
    },
    "host": {"in": "cookie", "name": "host", "description": "Set by POST /host with the owner key"},
    "south": {"in": "cookie", "name": "seat_south", "description": "Set by taking the seat"},
    "north": {"in": "cookie", "name": "seat_north", "description": "Set by taking the seat"},
}

_ERROR_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["kind", "message"],
            "properties": {
                "kind": {"type": "string"},
                "message": {
                    "type": "string",
                    "description": "A sentence in the language of the request",
                },
                "rule": {"type": ["string", "null"]},
                "reason": {"type": ["string", "null"]},
                "link": {"type": ["array", "null"], "items": {"type": "string"}},
            },
        }
    },
}


class ApiDescription:
    """The route of the API's description."""

    name = "described"

    @get(DOCUMENT_PATH)
    def document(self) -> dict[str, Any]:
        """Return this description."""
        routes = current_app.extensions["routes"]
        auth = current_app.extensions["auth"]
        return describe(routes, auth) | {"servers": [{"url": request.script_root or "/"}]}


@functools.cache
def attribute_docstrings(kind: type) -> dict[str, str]:
    """Return the docstring below each attribute of a class, from its source.

    Python itself does not keep these docstrings. Empty for a class without a source, which was made
    from a method's signature.
    """
    try:
        (body,) = ast.parse(inspect.getsource(kind)).body
    except OSError:
        return {}
    assert isinstance(body, ast.ClassDef)
    texts = {}
    for attribute, text in itertools.pairwise(body.body):
        if isinstance(attribute, ast.AnnAssign) and isinstance(text, ast.Expr):
            texts[ast.unparse(attribute.target)] = inspect.cleandoc(ast.literal_eval(text.value))
    return texts


def _find_classes(part: Any) -> set[type]:
    """Return all classes with attributes that occur in msgspec's description of types.

    `part` is the whole description or a part of it.
    """
    if isinstance(part, (list, tuple)):
        return set().union(*map(_find_classes, part))
    if not isinstance(part, (msgspec.inspect.Type, msgspec.inspect.Field)):
        return set()
    classes = _find_classes([getattr(part, name) for name in part.__struct_fields__])
    if isinstance(part, (StructType, DataclassType, TypedDictType)):
        classes.add(part.cls)
    return classes


def describe(routes: Sequence[Route], auth: Auth) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of all routes of an application."""
    schemes = {}
    for scheme, parts in _SECURITY_SCHEMES.items():
        name = parts["name"]
        full_name = auth.cookie_name(name) if parts["in"] == "cookie" else name
        schemes[scheme] = {"type": "apiKey", **parts, "name": full_name}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        # Flask writes `<int:number>`, OpenAPI `{number}`
        path = _PARAMETER.sub(r"{\3}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = _describe_operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tabletop Companion",
            "version": __version__,
            "description": "The pages and JSON routes of one table. Signed cookies decide who "
            "may do what.",
        },
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {**_describe_schemas(routes), "Error": _ERROR_SCHEMA},
            "securitySchemes": schemes,
        },
    }


def _describe_schemas(routes: Sequence[Route]) -> dict[str, dict[str, Any]]:
    """Describe the types of all bodies and JSON answers, by name."""
    types = {
        Body,
        Nothing,
        *(route.body or Body for route in routes),
        *(route.answer for route in routes if isinstance(route.answer, type)),
    }
    sorted_types = sorted(types, key=lambda kind: str(kind.__name__))
    _, schemas = msgspec.json.schema_components(sorted_types, ref_template=f"{_SCHEMA_REF}{{name}}")
    for kind in _find_classes(msgspec.inspect.multi_type_info(sorted_types)):
        properties = schemas[kind.__name__]["properties"]
        for attribute in properties.keys() & attribute_docstrings(kind).keys():
            properties[attribute]["description"] = attribute_docstrings(kind)[attribute]
    # msgspec would describe the class, but in JSON a square is a string such as `c3`
    schemas["Square"] = {"type": "string"}
    # msgspec keeps the indentation of docstrings
    for schema in schemas.values():
        schema["description"] = inspect.cleandoc(schema.get("description", ""))
    return schemas


def _describe_operation(route: Route) -> dict[str, Any]:
    """Describe one route: its parameters, body, answers and security."""
    media_type = _media_type(route)
    schema: dict[str, Any] = {}
    if isinstance(route.answer, type):
        schema = {"$ref": f"{_SCHEMA_REF}{route.answer.__name__}"}
    elif media_type == "application/json":
        # a document in a format of its own
        schema = {"type": "object"}
    operation: dict[str, Any] = {
        "operationId": f"{route.endpoint}.{route.method.lower()}",
        "tags": [route.endpoint.partition(".")[0]],
        "summary": route.docstring.partition("\n")[0],
        "responses": {
            "2XX": {
                "description": "Done",
                "content": {media_type: {"schema": schema}},
            },
            "3XX": {"description": "To another page"},
            "default": {
                "description": "Refused, and why",
                "content": {
                    "application/json": {"schema": {"$ref": f"{_SCHEMA_REF}Error"}},
                    "text/html": {"schema": {"type": "string"}},
                },
            },
        },
    }
    if parameters := list(_describe_parameters(route.path)):
        operation["parameters"] = parameters
    if route.method == "POST":
        operation["requestBody"] = {"required": True, "content": _describe_body(route)}
    guard = route.guard or route.inner_guard
    if guard in _GUARD_SCHEMES:
        operation["security"] = _GUARD_SCHEMES[guard]
    return operation


def _describe_parameters(path: str) -> Iterator[dict[str, Any]]:
    """Yield the parameters in a path: numbers, words from a list, or texts without a slash."""
    for converter, words, name in sorted(
        _PARAMETER.findall(path), key=lambda parameter: parameter[2]
    ):
        schema: dict[str, Any] = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
        if converter == "int":
            schema = {"type": "integer", "minimum": 0}
        elif converter == "any":
            schema = {"type": "string", "enum": sorted(word.strip() for word in words.split(","))}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _describe_body(route: Route) -> dict[str, Any]:
    """Describe the body of a POST request, by its media type: JSON, an uploaded file, or a form."""
    if route.body:
        return {"application/json": {"schema": {"$ref": f"{_SCHEMA_REF}{route.body.__name__}"}}}
    if route.file:
        field = {"type": "string", "format": "binary"}
        return {
            "multipart/form-data": {"schema": {"type": "object", "properties": {route.file: field}}}
        }
    fields = {name: {"type": "string"} for name in route.fields}
    form = {"type": "object", "additionalProperties": {"type": "string"}, "properties": fields}
    return {"application/x-www-form-urlencoded": {"schema": form}}


def _media_type(route: Route) -> str:
    """Return the media type of a route's answer."""
    if isinstance(route.answer, type):
        return "application/json"
    if "/live/" in f"{route.path}/":
        return "text/event-stream"
    if route.answer != HTML:
        return str(route.answer)
    # an address such as `/history/1.txt` says which file it is
    return mimetypes.guess_type(route.path, strict=False)[0] or HTML
