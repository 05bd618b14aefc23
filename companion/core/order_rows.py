"""What the camera tells of the rows of order tiles behind the walls: the port between the watcher and the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from companion.core.kit import Seat


class RowFault(StrEnum):
    """Why a row cannot be read."""

    NO_BOARD = "no_board"
    """There is no camera, or it does not see the board, by which rows are measured."""
    NO_STRIP = "no_strip"
    """Fewer than two markers of the strip are seen, or not as they were printed."""
    TWO_STRIPS = "two_strips"
    MISSING = "missing"
    """No tile is read in a place: there is none, or something covers it."""
    ASKEW = "askew"
    DOUBLED = "doubled"
    FOREIGN = "foreign"
    """It is one of the other side's tiles."""


@dataclass(frozen=True)
class RowSeen:
    """One seat's row: the letters of its tiles from left to right, or what is wrong, and in which place (from 1).

    The text is a secret of the seat's owner and is not shown when this is printed.
    """

    text: str = ""
    fault: RowFault | None = None
    place: int = 0

    def __repr__(self) -> str:
        return f"RowSeen(fault={self.fault!r}, place={self.place})"


@dataclass(frozen=True)
class RowsWanted:
    """Rows of some seats are to be read, from pictures taken after `since_s`; `number` tells requests apart."""

    number: int
    seats: frozenset[Seat]
    since_s: float


@dataclass(frozen=True)
class RowsSeen:
    """The answer to a request: one row for each of its seats."""

    number: int
    rows: Mapping[Seat, RowSeen]
