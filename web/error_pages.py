"""Answers to errors: a page for people, and JSON for programs. Neither has a traceback.

The JSON is `{"error": {kind, message, rule, reason, link}}`.
"""

from __future__ import annotations

import logging
from http import HTTPStatus

from flask import Flask, Response, current_app, jsonify, make_response, render_template, request
from werkzeug.exceptions import HTTPException

from companion.core.errors import (
    CompanionError,
    Illegal,
    Malformed,
    Refusal,
    Stale,
    format_trace,
)
from companion.core.i18n import joined, say
from companion.core.network import short_url
from web.security.auth import ForeignOrigin
from web.security.host_names import UnknownName

log = logging.getLogger(__name__)

# What is wrong, by status.
_TITLES = {
    400: say("This request cannot be read"),
    403: say("This is not for this browser"),
    404: say("There is no such page"),
    405: say("This page cannot do that"),
    409: say("That is not possible now"),
    413: say("That is too much text"),
    415: say("Send JSON"),
    421: say("This is not the table’s address"),
    429: say("That was too much at once"),
    500: say("Something went wrong here"),
    503: say("The table cannot answer now"),
}
# What to do about it, by status.
_ADVICE = {
    400: say("Check what was sent, and try again."),
    404: say("Every page can be reached from the table screen."),
    405: say("Go back and use the page’s own buttons."),
    413: say("The limit is 16 kilobytes."),
    415: say("Set Content-Type to application/json."),
    429: say("Wait a moment, then try again."),
    500: say("Nothing was changed. The companion’s log says more."),
    503: say("Wait a moment and load the page again."),
}
# Seconds after which a browser tries again if the table could not answer.
RETRY_AFTER_S = 5


def register(app: Flask) -> None:
    """Register the handlers for all errors of an application."""
    app.register_error_handler(CompanionError, _answer_known)
    app.register_error_handler(UnknownName, _answer_unknown_name)
    app.register_error_handler(HTTPException, _answer_http)
    app.register_error_handler(TimeoutError, _answer_timeout)
    app.register_error_handler(Exception, _answer_unexpected)


def status_of(error: CompanionError) -> int:
    """Return the HTTP status of an error."""
    # refusals of what another browser, or one with the right code, may do
    for_others = (Refusal.NOT_YOUR_SEAT, Refusal.HOST_ONLY, Refusal.JOIN_CODE)
    if isinstance(error, ForeignOrigin) or getattr(error, "reason", None) in for_others:
        return HTTPStatus.FORBIDDEN
    if isinstance(error, Malformed):
        return HTTPStatus.BAD_REQUEST
    if isinstance(error, Illegal | Stale):
        return HTTPStatus.CONFLICT
    return HTTPStatus.SERVICE_UNAVAILABLE


def _answer_known(error: CompanionError) -> Response:
    # only refusals have these attributes
    rule = getattr(error, "rule", None)
    reason = getattr(error, "reason", None)
    return _answer(status_of(error), error.kind, error.message, rule=rule, reason=reason)


def _answer_unknown_name(error: UnknownName) -> Response:
    """Refuse an unknown name of this machine, with a link to the pages under a known one."""
    url = error.message
    message = say("The table’s pages have another address: open {address}", address=short_url(url))
    return _answer(HTTPStatus.MISDIRECTED_REQUEST, error.kind, message, link=(url, url))


def _answer_http(error: HTTPException) -> Response:
    status = error.code or 500
    # a redirect, or the response that was given to `abort`, is a complete answer already
    if error.response is not None or status < 400:
        return make_response(error.get_response())
    return _answer(status, f"http_{status}", _ADVICE.get(status, say("Go back and try again.")))


def _answer_timeout(_: TimeoutError) -> Response:
    return _answer(503, "late", say("The table is busy: try again"))


def _answer_unexpected(error: Exception) -> Response:
    """Answer an error in the program without details.

    The log has no data of the request either, because these may contain a secret order.
    """
    log.error("%s failed: %s", request.endpoint, format_trace(error))
    return _answer(500, "internal", _ADVICE[500])


def wants_page() -> bool:
    """Return whether a browser is asking, and not a program."""
    if request.path.startswith("/api/"):
        return False
    # browsers prefer HTML, programs JSON or anything
    return request.accept_mimetypes.best_match(("application/json", "text/html")) == "text/html"


def _answer(
    status: int,
    kind: str,
    message: str,
    *,
    rule: str | None = None,
    reason: str | None = None,
    link: tuple[str, str] | None = None,
) -> Response:
    """Return an error as a page or as JSON, whichever the client asks for.

    `rule` is the id of the paragraph of the rules that forbids what was requested. `link` is an
    address and its text. By default it leads to that paragraph.
    """
    link = link or current_app.extensions["rule_link"](rule)
    title = _TITLES.get(status, HTTPStatus(status).phrase)
    if wants_page():
        page = render_template(
            "error.html",
            status=status,
            title=title,
            message=message,
            link=link,
            retry_after_s=RETRY_AFTER_S,
        )
        answer = make_response(page)
    else:
        sentence = joined(". ", (title, message)) if kind.startswith("http_") else message
        answer = jsonify(
            error={"kind": kind, "message": sentence, "rule": rule, "reason": reason, "link": link}
        )
    answer.status_code = status
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        answer.headers["Retry-After"] = str(RETRY_AFTER_S)
    return answer
