"""Bodies of requests: their base, those that several doors read, of which each is read strictly."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Text = Annotated[str, Meta(max_length=200)]
Long = Annotated[str, Meta(max_length=4000)]

SEAT = "<any(south, north):seat>"


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every request's body. This one is empty."""


class Moment(Body, frozen=True):
    """Something about one turn."""

    moment: Text


class GameName(Body, frozen=True):
    """A game by its name."""

    game: Text


class Confirm(Body, frozen=True):
    """The board is as it should be. `force` overrules the camera."""

    moment: Text
    stage: int
    force: bool = False


class Read(Body, frozen=True):
    """What is told of a stage has been read: its tell, counted from 0."""

    moment: Text
    stage: int
    told: int


class Entered(Body, frozen=True):
    """The orders entered so far, in the notation."""

    moment: Text
    entered: Text


class Laid(Body, frozen=True):
    """Whether a seat’s order tiles are down, and in which moment."""

    moment: Text
    is_ready: bool


class Rematch(Body, frozen=True):
    """Once more, with `swap` the other way round where no pad is in the way."""

    swap: bool = False
