"""Request bodies: their base class, and those of several routes. All are parsed strictly."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

ShortText = Annotated[str, Meta(max_length=200)]
"""A name, code or other short field."""
LongText = Annotated[str, Meta(max_length=4000)]
"""An action in the notation. Those of some games are long."""

SEAT_PART = "<any(south, north):seat>"
"""Part of a route's address that names a seat, passed on as `seat`."""


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of all request bodies. Empty by itself."""


class AtMoment(Body, frozen=True):
    """A request about one turn."""

    moment: ShortText


class GameName(Body, frozen=True):
    """A game by its name."""

    game: ShortText


class Confirm(Body, frozen=True):
    """Confirm that the board is right. `force` overrules the camera."""

    moment: ShortText
    stage: int
    force: bool = False


class ReadHeadline(Body, frozen=True):
    """Confirm that a headline of a stage has been read. `told` is its number, counted from 0."""

    moment: ShortText
    stage: int
    told: int


class EnterOrders(Body, frozen=True):
    """The orders entered so far, in the notation."""

    moment: ShortText
    entered: ShortText


class LayTiles(Body, frozen=True):
    """Whether a seat’s order tiles are laid, and in which moment."""

    moment: ShortText
    is_ready: bool


class Rematch(Body, frozen=True):
    """Play the same game again. With `swap` the sides change places, if they can.

    They cannot with a player at a pad or at another table.
    """

    swap: bool = False
