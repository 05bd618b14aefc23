"""What may be known of the games that were played: lines of a list, replays in scenes.

A game that is still on has a line and nothing else. Whatever is hidden in one that is over may be
told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat
from companion.games.base import Event, Order, Step
from companion.games.screen import Badge, HandCard, Lane, Pile, Tally, UnitOrder

NOBODY = "—"
"""Stands for the name of a player who is forgotten."""
MOST_BYTES = 1_000_000
"""Maximum size of a game file."""


class Ending(StrEnum):
    """How a game of the list stands."""

    WON = "won"
    TIE = "tie"
    ABANDONED = "abandoned"
    ON = "on"
    UNFINISHED = "unfinished"
    """It lies on no table any more, and nobody ended it."""
    BROKEN = "broken"
    """Its rules or its inputs cannot be read any more."""


@dataclass(frozen=True)
class SeatedPlayer:
    """Somebody who sat at a seat: `door` as of a sitter, empty for a game from elsewhere."""

    name: str
    door: str = ""


@dataclass(frozen=True)
class GameLine:
    """A game in the list.

    `begun` is Unix time (0: not known), `length_s` without pauses (0: not known).

    `players` of a seat sat there one after the other, the last one at the end. `reason` is a
    sentence. For a broken game it says what is wrong. `options` are those that differ from the
    usual, each as its title and its choice. `is_closed`: it is over, but lies on the table and may
    be taken back, and its notation tells what is hidden.
    """

    number: int
    game: str
    title: str
    begun: float
    length_s: float
    players: Mapping[Seat, tuple[SeatedPlayer, ...]]
    options: tuple[tuple[str, str], ...]
    turns: int
    ending: Ending
    winners: tuple[Seat, ...] = ()
    reason: str = ""
    is_imported: bool = False
    is_closed: bool = False
    chosen: str = ""
    """What of its chance the host has chosen, as a sentence. Empty: nothing."""
    coached: tuple[Seat, ...] = ()
    """The seats that have asked the coach."""

    @property
    def has_replay(self) -> bool:
        """Return whether it is over for good, so that everything in it may be told."""
        return self.ending in (Ending.WON, Ending.TIE, Ending.ABANDONED) and not self.is_closed


@dataclass(frozen=True)
class Proof:
    """What a seat had sealed: `receipt` is SHA-256 of `"moment seat action salt"`."""

    seat: Seat
    action: str
    salt: str
    receipt: str


@dataclass(frozen=True)
class PastTurn:
    """A turn in the notation: its number from 1, its moment, what each seat did, and its scenes
    `first` to `last`.

    `counted` is its number as the game counts, in which a turn may have several lines. 0: a part of
    the set-up.
    """

    number: int
    moment: str
    proofs: tuple[Proof, ...]
    first: int
    last: int
    counted: int
    state: Any
    """The state before it."""
    step: Step[Any]


@dataclass(frozen=True)
class HighlightedEvent:
    """An event that people remember, and the scene in which it happens."""

    place: int
    turn: int
    event: Event


@dataclass(frozen=True)
class ReplayStep:
    """One step of a replay: the board when a stage was done.

    `turn` 0 is the start, `stage` counts from 1.

    `moves` are the ways that pieces have gone in it, each from one square to another. `lanes`,
    `count` and `hands` are there in a game of cards, with everything that any seat saw. `orders`
    are those of this and the earlier stages.
    """

    place: int
    turn: int
    stage: int
    stages: int
    title: str
    layout: Layout
    moves: tuple[tuple[Square, Square], ...] = ()
    events: tuple[Event, ...] = ()
    orders: tuple[Mapping[Seat, Order], ...] = ()
    sheets: Mapping[Seat, tuple[UnitOrder, ...]] = field(default_factory=dict)
    """The orders of each seat's pieces in a game of sheets, as far as they are open."""
    tallies: tuple[Tally, ...] = ()
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    facts: Mapping[Seat, str] = field(default_factory=dict)
    cards: Mapping[Seat, tuple[HandCard, ...]] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    hands: Mapping[Seat, Pile] = field(default_factory=dict)
    count: tuple[int, str] | None = None


@dataclass(frozen=True)
class TurningPoint:
    """The turn after which the winner led to the end: its number as the game counts it, its place
    in the replay, and what happened.
    """

    turn: int
    place: int
    words: str


@dataclass(frozen=True)
class Finale:
    """The end of a game, with nothing in it that anybody at the table may not know while it can be
    taken back.

    `names` are those of the seats at the end, or of their sides, `how` says in a few words how it
    ended. `turning` is None unless the lead has changed hands. `evening`: how many games each of
    these two has won since the morning, a draw being half a game. None: they have no names by which
    they could be told apart. `fits`: all receipts match.
    """

    number: int
    kit: Kit
    turns: int
    winners: tuple[Seat, ...]
    names: Mapping[Seat, str]
    how: str
    turning: TurningPoint | None
    fits: bool
    evening: Mapping[Seat, float] | None
    has_replay: bool
    coached: tuple[Seat, ...] = ()
    """Who asked the coach in this game or in another one of the evening's."""
