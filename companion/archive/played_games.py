"""What pages and API show of played games: values only, for the list, the replay and the finale.

A game that is still on has only its line in the list. Once it is over, its hidden parts may be
shown as well. `History` makes lines and finales, `Replay` makes scenes.
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
    """A player at a seat."""

    name: str
    door: str = ""
    """How they played: `phone`, `pad`, `machine` or `remote`. Empty if it is not known."""


@dataclass(frozen=True)
class GameLine:
    """A game in the list, whether or not it is over.

    The names of the fields are keys of `/api/history`, so they stay as they are.
    """

    number: int
    game: str
    """Name of the game, empty if this program does not know it."""
    title: str
    begun: float
    """Unix time at which it began. 0 if unknown."""
    length_s: float
    """Length without breaks. 0 if unknown."""
    players: Mapping[Seat, tuple[SeatedPlayer, ...]]
    """Everybody who sat at a seat, the last player at the end."""
    options: tuple[tuple[str, str], ...]
    """Title and choice of each option that differs from its default."""
    turns: int
    """Number of turns in the game file, each of which is one decision."""
    ending: Ending
    winners: tuple[Seat, ...] = ()
    reason: str = ""
    """Sentence on how it ended, or on what is wrong with a broken game."""
    is_imported: bool = False
    is_closed: bool = False
    """False since version 1.1: a game that is over hides nothing. Stays for `/api/history`."""
    chosen: str = ""
    """Sentence on what the owner chose instead of chance, or empty."""
    coached: tuple[Seat, ...] = ()
    """Seats that asked the coach."""

    @property
    def last_players(self) -> dict[Seat, SeatedPlayer]:
        """The player at the end of the game, for each seat that had one."""
        return {seat: sitters[-1] for seat, sitters in self.players.items() if sitters}

    @property
    def has_replay(self) -> bool:
        """Whether the game is over, so that all of it may be shown."""
        return self.ending in (Ending.WON, Ending.TIE, Ending.ABANDONED)


@dataclass(frozen=True)
class HighlightedEvent:
    """A memorable event of a replay."""

    scene_index: int
    """Index in the replay of the scene in which the event happens."""
    turn: int
    """Number in the game file of the turn in which the event happens."""
    event: Event


@dataclass(frozen=True)
class ReplayScene:
    """One scene of a replay: the board after a stage, a part of a turn.

    The fields that have no docstring are those of `companion.games.screen`. A game of cards has
    `lanes`, `hands` and `count`, with everything that any seat saw.
    """

    turn: int
    """Number of the turn in the game file, from 1 on. 0 is the start."""
    stage: int
    """Number of the stage in its turn from 1 on. 0 in a turn without stages."""
    stages: int
    """Number of stages of the turn."""
    title: str
    layout: Layout
    moves: tuple[tuple[Square, Square], ...] = ()
    """Origin and target of each piece that moves in this scene."""
    events: tuple[Event, ...] = ()
    orders: tuple[Mapping[Seat, Order], ...] = ()
    """Orders of this stage and of the earlier ones of the turn."""
    sheets: Mapping[Seat, tuple[UnitOrder, ...]] = field(default_factory=dict)
    """Orders of each seat's pieces that are open so far, in a game with order sheets."""
    tallies: tuple[Tally, ...] = ()
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    facts: Mapping[Seat, str] = field(default_factory=dict)
    cards: Mapping[Seat, tuple[HandCard, ...]] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    hands: Mapping[Seat, Pile] = field(default_factory=dict)
    count: tuple[int, str] | None = None
    """What is left of a count, as number and label, such as 63 “turns left”."""


@dataclass(frozen=True)
class TurningPoint:
    """The turn after which the winner kept the lead."""

    turn: int
    """Number of the turn in the game's own count."""
    scene_index: int
    """Index of the turn's last scene in the replay."""
    words: str
    """Sentence on the turn's most memorable event, or empty."""


@dataclass(frozen=True)
class Finale:
    """The end of a game, as everybody may see it while the game can still be taken back."""

    number: int
    kit: Kit
    turns: int
    """Number of turns in the game's own count."""
    winners: tuple[Seat, ...]
    names: Mapping[Seat, str]
    """Names of the players at the end, or of their sides."""
    ending_words: str
    """Sentence on how the game ended."""
    turning_point: TurningPoint | None
    """None unless the lead changed hands."""
    has_valid_receipts: bool
    evening_score: Mapping[Seat, float] | None
    """Games that each player has won since the morning, a draw as half a game.

    None if their names do not identify them.
    """
    coached: tuple[Seat, ...] = ()
    """Seats whose players asked the coach, in this game or in another one of the evening."""
