"""What is printed beside board and pieces: player aids that recall the rules, cards for the hand,
tiles for orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from companion.core.kit import Seat


@dataclass(frozen=True)
class AidRow:
    """A line of the list on a player aid: what it shows at the left, its name, and its figures or a
    few words.
    """

    name: str
    words: str = ""
    figures: tuple[str, ...] = ()
    """As many as the aid has `heads`."""
    drawing: str = ""
    """A drawing of `companion.core.drawings`."""
    face: str = ""
    """Or a face of the kit."""
    notation: str = ""
    """Or what the notation writes."""


@dataclass(frozen=True)
class AidPoint:
    """A rule in brief: its title and a sentence or two."""

    title: str
    words: str


@dataclass(frozen=True)
class PlayerAid:
    """What a seat needs to know at a glance: the goal in one sentence, a list, and the rules in
    brief.
    """

    goal: str
    list_title: str
    rows: tuple[AidRow, ...]
    points: tuple[AidPoint, ...]
    heads: tuple[str, ...] = ()
    """What the figures of the rows are."""


@dataclass(frozen=True)
class OrderTile:
    """An order that lies on the table as a tile: its drawing, its letter as players read it and in
    the notation, and its word.
    """

    drawing: str
    initial: str
    letter: str
    word: str


@dataclass(frozen=True)
class Extras:
    """All that a game has besides board, pieces and deck."""

    aids: Mapping[Seat, PlayerAid] = field(default_factory=dict)
    hand_cards: tuple[str, ...] = ()
    """What stands on the cards that each seat holds, such as `1` to `6`."""
    tiles: tuple[OrderTile, ...] = ()
    """Orders as tiles, for players who lay them instead of entering them.

    They lie behind a wall.
    """
    places: int = 0
    """How many tiles a player lays."""

    @property
    def shared_points(self) -> tuple[AidPoint, ...]:
        """Return the rules in brief that stand on the aids of all seats."""
        aids = list(self.aids.values())
        if aids:
            return tuple(
                point for point in aids[0].points if all(point in aid.points for aid in aids)
            )
        return ()
