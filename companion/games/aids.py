"""Printed extras beside board and pieces: player aids, hand cards and order tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from companion.core.kit import Seat


@dataclass(frozen=True)
class AidRow:
    """A row in the list of a player aid: a picture on the left, a name, and figures or a few
    words.
    """

    name: str
    words: str = ""
    figures: tuple[str, ...] = ()
    """One figure for each of the aid's `heads`."""
    drawing: str = ""
    """Name of a drawing in `companion.core.drawings`."""
    face: str = ""
    """Name of a face of the kit, instead of a drawing."""
    notation: str = ""
    """Text in notation, instead of a drawing."""


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
    heads: tuple[str, ...] = ()
    """Column titles of the figures in the rows."""


@dataclass(frozen=True)
class OrderTile:
    """A tile for one order: its drawing, the letter that players read, the letter of the notation,
    and a word.
    """

    drawing: str
    initial: str
    letter: str
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
    """Number of tiles that a player lays for one turn."""

    @property
    def shared_points(self) -> tuple[AidPoint, ...]:
        """Return the rules in brief that are on the aids of all seats."""
        aids = list(self.aids.values())
        if aids:
            return tuple(
                point for point in aids[0].points if all(point in aid.points for aid in aids)
            )
        return ()
