"""Printed extras beside board and pieces: player aids, hand cards and order tiles.

A game returns them from `Game.extras`, and `companion.printing` lays them out on sheets. Texts are
sentences for people, made by `say` if the game is translated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from companion.core.kit import Seat


@dataclass(frozen=True)
class AidRow:
    """A row in the list of a player aid: a picture, a name, and figures or a few words.

    The picture is one of `drawing`, `face` and `notation`. The other two are empty.
    """

    name: str
    words: str = ""
    figures: tuple[str, ...] = ()
    """Figures of the row, one for each column title (`PlayerAid.heads`)."""
    drawing: str = ""
    """Name of a drawing in `companion.core.drawings`."""
    face: str = ""
    """Name of a face of the kit."""
    notation: str = ""
    """A text in notation that serves as the picture."""


@dataclass(frozen=True)
class AidPoint:
    """A rule in brief: a title and one or two sentences."""

    title: str
    words: str


@dataclass(frozen=True)
class PlayerAid:
    """A printed sheet for one seat: the goal in one sentence, a list, and the rules in brief."""

    goal: str
    list_title: str
    rows: tuple[AidRow, ...]
    points: tuple[AidPoint, ...]
    """The rules in brief."""
    heads: tuple[str, ...] = ()
    """Column titles of the figures in the rows. Empty if the rows have no figures."""


@dataclass(frozen=True)
class OrderTile:
    """A printed tile for one order. Players lay a row of tiles instead of pressing keys."""

    drawing: str
    initial: str
    """Letter that players read, in their own language."""
    letter: str
    """Letter in the notation."""
    word: str


@dataclass(frozen=True)
class Extras:
    """Everything printed for a game besides board, pieces and deck."""

    aids: Mapping[Seat, PlayerAid] = field(default_factory=dict)
    hand_cards: tuple[str, ...] = ()
    """Texts on the cards that each seat holds, such as `1` to `6`."""
    tiles: tuple[OrderTile, ...] = ()
    """Order tiles, for players who lay their orders behind a screen instead of entering them."""
    places: int = 0
    """Number of tiles that a player lays for one turn. 0 if there are no tiles."""

    @property
    def shared_points(self) -> tuple[AidPoint, ...]:
        """The rules in brief that are on the aids of all seats."""
        aids = list(self.aids.values())
        first_points = aids[0].points if aids else ()
        return tuple(point for point in first_points if all(point in aid.points for aid in aids))
