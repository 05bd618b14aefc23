"""Routes, declared by a decorator at the method that answers them: address, guard, body and answer.

    @seat_post("hand-in")
    def hand_in(self, seat: Seat, moment: ShortText, action: LongText) -> Receipt: ...

A method's parameters are those in its path, then the fields of a JSON body or of a form.
`add_routes` adds the routes of a group (a class with such methods) to an application. The API's
description is generated from the same declarations.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from typing import Any, Protocol, TypeVar, get_type_hints, is_typeddict

import msgspec
from flask import (
    Flask,
    Response,
    abort,
    current_app,
    make_response,
    redirect,
    render_template,
    request,
)
from werkzeug.exceptions import UnsupportedMediaType

from companion.core.errors import CompanionError, Illegal, Malformed
from companion.core.i18n import say
from web.context import PageContext
from web.error_pages import status_of
from web.rendering.answers import Nothing
from web.routes.api.body import SEAT_PART, Body
from web.security.auth import Auth

# Checks a request before its method is called, with the parameters in its address. It raises
# `Illegal` unless the request is permitted, or answers with another page by `abort`. It may replace
# the name of a seat among the parameters by the `Seat`.
Guard = Callable[[dict[str, Any]], None]
# Media type of an answer, unless its route or its address says another one.
HTML = "text/html"

Method = TypeVar("Method", bound=Callable[..., Any])


# ---- guards and answers --------------------------------------------------------------------------


def host_only(_: dict[str, Any]) -> None:
    """Permit only the owner."""
    current_app.extensions["auth"].require_host()


def host_page(_: dict[str, Any]) -> None:
    """Permit only the owner. Everybody else gets the page for entering the owner's key."""
    if not current_app.extensions["auth"].is_host():
        abort(ask_for_key(request.path))


def ask_for_key(back: str, error: str = "") -> Response:
    """Return the page for entering the owner's key, which leads back to the page `back` afterwards.

    `error` says why an earlier key was refused.
    """
    page = render_template(current_app.extensions["key_page"], error=error, back=back)
    return make_response(page, 403)


def answer_owner_key(key: str, back: str, wrong_message: str) -> Response:
    """Make this browser the owner's and redirect to `back`, if the typed key is right.

    Otherwise return the page for the key again, with `wrong_message`, or after too many wrong keys
    with the message of `Illegal`.
    """
    auth: Auth = current_app.extensions["auth"]
    try:
        if not auth.check_host_key(key):
            return ask_for_key(back, wrong_message)
    except Illegal as refusal:
        return ask_for_key(back, refusal.message)
    answer = make_response(redirect(back, 303))
    auth.set_host_cookie(answer)
    auth.site.note_key_used()
    return answer


def attachment(content: bytes, media_type: str, name: str) -> Response:
    """Return an answer that browsers save as a file of this name."""
    answer = Response(content, content_type=media_type)
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def own_seat(values: dict[str, Any]) -> None:
    """Permit only the browser that has the seat. A shared phone must have the seat's page open."""
    values["seat"] = current_app.extensions["auth"].require_seat(values["seat"])


def seat_holder(values: dict[str, Any]) -> None:
    """Permit only the browser that has the seat, for requests that concern no secrets."""
    values["seat"] = current_app.extensions["auth"].require_sitting(values["seat"])


def at_table(_: dict[str, Any]) -> None:
    """Permit only people at the table. At a table without a join code that is everybody."""
    current_app.extensions["page_context"].require_at_table()


# ---- declaring a route ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Route:
    """One address and HTTP method, and how its requests are read and answered."""

    path: str
    method: str = "GET"
    endpoint: str = ""
    """Name in the API's description, by default the name of the Python method.

    Clients use this name, so it stays when the Python method is renamed.
    """
    guard: Guard | None = None
    inner_guard: Guard | None = None
    """Guard that the Python method itself applies, with exceptions to it.

    It is here only for the API's description.
    """
    is_json: bool = False
    """Whether a POST has a JSON body, in which unknown fields are refused."""
    body: type[msgspec.Struct] | None = None
    """Type of the JSON body."""
    answer: Any = None
    """Type of a JSON answer, or the media type of any other."""
    fields: tuple[str, ...] = ()
    """Names of the fields of the body or form."""
    file: str = ""
    """Name of the field of a form that uploads a file."""
    strict_slashes: bool = True
    actor: str = ""
    """Who acts by this route: `table`, `host`, or `seat` for the seat in the address.

    The Python method gets it as `actor`, see `shared_post`. Empty if the method has no such
    parameter.
    """
    form_page: str = ""
    """Name of the method of the same group that shows a refused form again.

    That method gets the reason for the refusal as `error`.
    """
    docstring: str = ""
    """Docstring of the Python method."""


def _declare(route: Route) -> Callable[[Method], Method]:
    # the decorator only notes the route at the method, because there is no application yet
    def declare(method: Method) -> Method:
        method.routes = (*getattr(method, "routes", ()), route)  # type: ignore[attr-defined]  # read by `add_routes`
        return method

    return declare


def get(path: str, **options: Any) -> Callable[[Method], Method]:
    """Declare a GET route: a page, picture, file, stream or JSON."""
    return _declare(Route(path, **options))


def post(path: str, *, is_json: bool = True, **options: Any) -> Callable[[Method], Method]:
    """Declare a POST route that reads and returns JSON.

    The fields of its body are the method's other parameters, unless `body` is their type.
    """
    return _declare(Route(path, "POST", is_json=is_json, **options))


def seat_post(name: str, guard: Guard = own_seat, **options: Any) -> Callable[[Method], Method]:
    """Declare a POST route below `/api/seat`, for the browser that has the seat."""
    return post(f"/api/seat/{SEAT_PART}/{name}", guard=guard, **options)


def form(path: str, **options: Any) -> Callable[[Method], Method]:
    """Declare a POST route that reads a form. Its fields are the method's other parameters."""
    return _declare(Route(path, "POST", **options))


# For each kind of actor, where the addresses of its routes begin, and their guard.
_ACTORS: Mapping[str, tuple[str, Guard]] = {
    "seat": (f"/api/seat/{SEAT_PART}", seat_holder),
    "table": ("/api/table", at_table),
    "host": ("/api/host", host_only),
}


def shared_post(name: str, *actors: str, **options: Any) -> Callable[[Method], Method]:
    """Declare a POST route for each of several actors: a seat, the table screen, the owner.

    The method gets the actor as `actor`: the `Seat`, `table` or `host`.
    """

    def declare(method: Method) -> Method:
        for actor in actors:
            start, guard = _ACTORS[actor]
            method = post(f"{start}/{name}", guard=guard, actor=actor, **options)(method)
        return method

    return declare


# ---- groups of routes ----------------------------------------------------------------------------


class RouteGroup(Protocol):
    """A class with declared routes. Its name is the prefix of its endpoints."""

    @property
    def name(self) -> str:
        """The name, such as `history`."""


@dataclass
class TableRouteGroup:
    """Base class of a table's route groups.

    `create_app` makes one object of each subclass. A subclass sets `name`, and adds a field for the
    optional feature that it needs. Its methods read Flask's current request.
    """

    page_context: PageContext

    def __post_init__(self) -> None:
        self._table = self.page_context.table
        self._auth = self.page_context.auth
        self._games = self.page_context.games
        self._features = self.page_context.features
        self._streams = self.page_context.streams
        self._run_in_worker = self.page_context.worker.run


# ---- adding routes to an application -------------------------------------------------------------


def add_routes(app: Flask, group: RouteGroup) -> None:
    """Add all routes of a group to an application."""
    routes: list[Route] = app.extensions.setdefault("routes", [])
    for method_name in dir(type(group)):
        declared = getattr(getattr(type(group), method_name), "routes", ())
        # All routes of one method share the view that is made for the first of them. A form comes
        # first, because only a view that is made for the form reads the form's fields.
        for route in sorted(declared, key=lambda route: route.method == "GET"):
            method = getattr(group, method_name)
            prefix = f"{route.actor}_" if route.actor else ""
            endpoint = f"{group.name}.{route.endpoint or prefix + method_name}"
            completed = _complete_route(route, endpoint, method)
            # Flask calls the view of a route for each request
            view = app.view_functions.get(endpoint) or wraps(method)(
                partial(_answer_request, method, completed)
            )
            app.add_url_rule(
                route.path,
                endpoint,
                view,
                methods=[route.method],
                strict_slashes=route.strict_slashes,
            )
            routes.append(completed)


def _complete_route(route: Route, endpoint: str, method: Callable[..., Any]) -> Route:
    """Return a route with all fields set that follow from its Python method.

    These are the fields of its body or form, the type of its answer, and its docstring.
    """
    hints = get_type_hints(method)
    docstring = inspect.getdoc(method) or ""
    # Names in the signature that are no fields of a body or form: the actor, and the parameters in
    # the address, such as `seat` in `<any(south, north):seat>`.
    other_names = {"return", *re.findall(r"(\w+)>", route.path)}
    if route.actor:
        other_names.add("actor")
    fields: tuple[str, ...] = ()
    if route.method == "POST":
        fields = tuple(name for name in hints if name not in other_names)
    body = route.body
    if route.is_json:
        body = body or _build_body_type(method.__func__, fields, route.endpoint)  # type: ignore[attr-defined]  # it is bound
    answer = route.answer
    if answer is None:
        default = Nothing if body else HTML
        answer = hints["return"] if is_typeddict(hints["return"]) else default
    return replace(
        route, endpoint=endpoint, body=body, answer=answer, fields=fields, docstring=docstring
    )


@cache
def _build_body_type(
    method: Callable[..., Any], names: tuple[str, ...], endpoint: str
) -> type[msgspec.Struct]:
    """Return the type of a JSON body. Its fields are the parameters `names` of a method.

    The schema of the body in the API's description has the name of the type. This is made of the
    name of the class and of the endpoint, or else of the method: `Opponents_coach`.
    """
    if not names:
        return Body
    hints = get_type_hints(method, include_extras=True)
    parameters = inspect.signature(method).parameters
    fields: list[Any] = []
    for name in names:
        default = parameters[name].default
        is_required = default is inspect.Parameter.empty
        fields.append((name, hints[name]) if is_required else (name, hints[name], default))
    owner, _, method_name = method.__qualname__.rpartition(".")
    type_name = f"{owner}.{endpoint or method_name}".replace(".", "_")
    return msgspec.defstruct(
        type_name, fields, bases=(Body,), frozen=True, forbid_unknown_fields=True
    )


def _answer_request(method: Callable[..., Any], route: Route, **values: Any) -> Any:
    """Answer the current request by the method of its route.

    `values` are the parameters in the address. The answer None becomes an empty JSON object.
    """
    if route.guard:
        route.guard(values)
    if route.actor:
        values["actor"] = values.pop("seat") if route.actor == "seat" else route.actor
    if route.body:
        body = _read_body(route.body)
        fields = msgspec.structs.asdict(body) if route.fields != ("body",) else {"body": body}
    else:
        fields = {name: request.form.get(name, "") for name in route.fields}
    try:
        answer = method(**values, **fields)
    except CompanionError as error:
        if not route.form_page:
            raise
        # show the form again, with the reason for the refusal
        page = getattr(method.__self__, route.form_page)  # type: ignore[attr-defined]  # a bound method
        answer = make_response(page(**values, error=error.message))
        answer.status_code = status_of(error)
    return {} if answer is None else answer


def _read_body(body_type: type[msgspec.Struct]) -> msgspec.Struct:
    """Parse the JSON body of the current request.

    Raises `Malformed`, or `UnsupportedMediaType` if the request does not say that it is JSON. The
    message may repeat the name of an unknown field, but no value, which may be a secret order.
    """
    if request.mimetype != "application/json":
        raise UnsupportedMediaType()
    try:
        return msgspec.json.decode(request.get_data(), type=body_type)
    except msgspec.ValidationError as error:
        raise Malformed(say("The request is not valid: {error}", error=str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Malformed(say("The request is not JSON")) from None
