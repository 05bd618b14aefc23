"""The application and the request themselves, for what is drawn outside of a request, such as streams."""

from __future__ import annotations

from flask import Flask, Request, current_app, request


def this_app() -> Flask:
    """The application that is asked."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # the proxy's own way to the application
    return app


def this_request() -> Request:
    """What is asked."""
    asked: Request = request._get_current_object()  # type: ignore[attr-defined]  # the proxy's own way to the request
    return asked
