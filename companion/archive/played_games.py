"""What pages and API show of played games: values only, for the list, the replay and the finale.

A game that is still on has only its line. Once it is over, its hidden parts may be shown as well.
`History` makes lines and finales, `Replay` makes scenes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat
from companion.games.base import Event, Order
from companion.games.screen import Badge, HandCard, Lane, Pile, Tally, UnitOrder

# Placeholder for the name of a forgotten player.
NOBODY = "—"
# Maximum size of a game file, in bytes.
MAX_GAME_BYTES = 1_000_000


class Ending(StrEnum):
    """How a game ended, or that it has not ended."""

    WON = "won"
    TIE = "tie"
    ABANDONED = "abandoned"
    ON = "on"
    UNFINISHED = "unfinished"
    """No longer on a table, but nobody ended it."""
    BROKEN = "broken"
    """Its rules or inputs can no longer be read."""


@dataclass(frozen=True)
class SeatedPlayer:
    """A player at a seat. `door` says how they played, and is empty for an imported game."""

    name: str
    door: str = ""


@dataclass(frozen=True)
class GameLine:
    """A game in the list.

    `game` is its name, `title` the title for people. `begun` is Unix time (0: unknown). `length_s`
    is without pauses (0: unknown). `players` has everybody who sat at a seat, in order, the last
    one at the end. `reason` is a sentence, which for a broken game says what is wrong. `options`
    has those that differ from the defaults, each as its title and its choice. `chosen` is a
    sentence on what the owner chose instead of chance, or empty. `coached` are the seats that asked
    the coach.
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
    """False since version 1.1: a game that is over hides nothing. Stays for `/api/history`."""
    chosen: str = ""
    coached: tuple[Seat, ...] = ()

    @property
    def has_replay(self) -> bool:
        """Return whether the game is over, so that all of it may be shown."""
        return self.ending in (Ending.WON, Ending.TIE, Ending.ABANDONED)


@dataclass(frozen=True)
class HighlightedEvent:
    """A memorable event, with the place of the scene in which it happens, and the turn."""

    place: int
    turn: int
    event: Event


@dataclass(frozen=True)
class ReplayStep:
    """One scene of a replay: the board after a stage.

    `place` is its index in the replay. `turn` 0 is the start. `stage` counts from 1 and is 0 for a
    turn without stages, and `stages` is their number. `moves` has the moves of pieces in this
    scene, each from one square to another. A game of cards has `lanes`, `count` and `hands`, with
    everything that any seat saw. `orders` has those of this stage and the earlier ones. `sheets`
    has the orders of each seat's pieces that are open so far, in a game with order sheets.
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
    tallies: tuple[Tally, ...] = ()
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    facts: Mapping[Seat, str] = field(default_factory=dict)
    cards: Mapping[Seat, tuple[HandCard, ...]] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    hands: Mapping[Seat, Pile] = field(default_factory=dict)
    count: tuple[int, str] | None = None


@dataclass(frozen=True)
class TurningPoint:
    """The turn after which the winner kept the lead: its number in the game's own count, its place
    in the replay, and its event.
    """

    turn: int
    place: int
    words: str


@dataclass(frozen=True)
class Finale:
    """The end of a game, as everybody may see it while the game can still be taken back.

    `names` are those of the players at the end, or of their sides. `ending_words` say how the game
    ended. `turning_point` is None unless the lead changed hands. `evening_score` has the games that
    each player has won since the morning, a draw as half a game. It is None if their names do not
    identify them. `coached` are the seats whose players asked the coach, in this game or in another
    one of the evening.
    """

    number: int
    kit: Kit
    turns: int
    winners: tuple[Seat, ...]
    names: Mapping[Seat, str]
    ending_words: str
    turning_point: TurningPoint | None
    has_valid_receipts: bool
    evening_score: Mapping[Seat, float] | None
    coached: tuple[Seat, ...] = ()
