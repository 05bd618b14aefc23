"""Bodies of requests: their base, those that several doors read, and how each is read."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from flask import Request
from msgspec import Meta
from werkzeug.exceptions import UnsupportedMediaType

from companion.core.errors import Malformed
from companion.core.i18n import say

Text = Annotated[str, Meta(max_length=200)]
Long = Annotated[str, Meta(max_length=4000)]
T = TypeVar("T")

SEAT = "<any(south, north):seat>"


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every request's body; this one is empty."""


class Moment(Body, frozen=True):
    """Something about one turn."""

    moment: Text


class Confirm(Body, frozen=True):
    """The board is as it should be; `force` overrules the camera."""

    moment: Text
    stage: int
    force: bool = False


class Entered(Body, frozen=True):
    """The orders entered so far, in the notation."""

    moment: Text
    entered: Text


class Rematch(Body, frozen=True):
    """Once more; `swap`: with sides changed, where no pad is in the way."""

    swap: bool = False


def read_body(asked: Request, kind: type[T]) -> T:
    """The body of a request; raises `Malformed` or 415, and never repeats what was sent."""
    if asked.mimetype != "application/json":
        raise UnsupportedMediaType()
    try:
        return msgspec.json.decode(asked.get_data(), type=kind)
    except msgspec.ValidationError as error:
        raise Malformed(say("The request is not valid: {error}", error=str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Malformed(say("The request is not JSON")) from None
