"""Request bodies: their base class, and those of several routes. All are parsed strictly."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Text = Annotated[str, Meta(max_length=200)]
Long = Annotated[str, Meta(max_length=4000)]

SEAT = "<any(south, north):seat>"


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of all request bodies. Empty by itself."""


class Moment(Body, frozen=True):
    """A request about one turn."""

    moment: Text


class GameName(Body, frozen=True):
    """A game by its name."""

    game: Text


class Confirm(Body, frozen=True):
    """Confirm that the board is right. `force` overrules the camera."""

    moment: Text
    stage: int
    force: bool = False


class Read(Body, frozen=True):
    """Confirm that a headline of a stage has been read. `told` is its number, counted from 0."""

    moment: Text
    stage: int
    told: int


class Entered(Body, frozen=True):
    """The orders entered so far, in the notation."""

    moment: Text
    entered: Text


class Laid(Body, frozen=True):
    """Whether a seat’s order tiles are laid, and in which moment."""

    moment: Text
    is_ready: bool


class Rematch(Body, frozen=True):
    """Play the same game again. With `swap` the sides change places, if they can.

    They cannot with a player at a pad or at another table.
    """

    swap: bool = False
