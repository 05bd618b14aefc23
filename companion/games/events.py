"""Kinds of game events. Each kind is one declaration with its drawing, sound and lamps.

`CommonEvent` has the kinds that several games share. A game declares its own kinds as another
`EventKind` and names that class in `Game.events`. An event itself is an `Event` of
`companion.games.base`, with a kind from here. The kind tells pages, printed rules, pads, the MQTT
broker and the voice how to present the event. None of them knows an event by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Self

from companion.core.event_cues import EventCue
from companion.core.i18n import say_n


class Reach(Enum):
    """The mark that is drawn from an event's `square` to its `to`."""

    NONE = "none"
    HIT = "hit"
    """A line of fire with a burst at its end, or a blow at an adjacent square."""
    MISS = "miss"
    """A blow at an adjacent square, and nothing over a distance."""


@dataclass(frozen=True)
class Look:
    """The appearance of an event on the board while it is shown."""

    around: str = ""
    """Name of a drawing around the piece on the square, or empty."""
    size: float = 1.0
    """Size of that drawing in squares."""
    is_harm: bool = False
    """Whether that drawing has the colour of refusals and losses."""
    reach: Reach = Reach.NONE
    """Mark from the square towards another one."""
    is_told: bool = True
    """Whether the captions of pictures include the sentence of the event."""
    swells: bool = False
    """Whether the piece grows for a moment."""


@dataclass(frozen=True)
class Highlight:
    """A memorable event: a key on the time line of a replay, and a count after the game."""

    drawing: str
    """Name of the drawing on the key."""
    counted: Callable[[int], str]
    """Function that formats a number of these events, such as “2 bounces”."""
    weight: int = 1
    """If two keys would overlap on the line, the one with the greater weight is shown."""
    is_loss: bool = False
    """Whether the event is a loss for its side, which the other side is glad of."""


class EventKind(StrEnum):
    """Base class for the kinds of events, with a subclass for each game that has its own.

    A member is one kind. It is assigned its name, then its look, cue and highlight where it has
    them. The value of the member is the name, which views, journals and the engine protocol use.

    >>> class Weather(EventKind):
    ...     RAIN = "rain"
    ...     THUNDER = "thunder", Look(around="burst"), EventCue("thunder", "A4 120 ·40 A4 200")
    >>> Weather("thunder").cue.tone
    'A4 120 ·40 A4 200'
    """

    look: Look
    cue: EventCue | None
    highlight: Highlight | None

    def __new__(
        cls,
        name: str,
        look: Look = Look(),
        cue: EventCue | None = None,
        highlight: Highlight | None = None,
    ) -> Self:
        """Return a kind with its name, look, cue and highlight.

        `Enum` calls it for each member, with the parts of the tuple that was assigned.
        """
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.look = look
        kind.cue = cue
        kind.highlight = highlight
        return kind

    @property
    def is_loss(self) -> bool:
        """Whether the highlight is a loss for its side."""
        return self.highlight is not None and self.highlight.is_loss


# Weights are chosen by eye: what happens seldom and changes a game weighs more.
_SHOT_CUE = EventCue("shot", "E6 40 ·60 A4 160")
_BOUNCE_HIGHLIGHT = Highlight("bounce", lambda n: say_n("{n} bounce", "{n} bounces", n))
_HIT_HIGHLIGHT = Highlight("order-shoot", lambda n: say_n("{n} hit", "{n} hits", n), 2)
_BLAST_HIGHLIGHT = Highlight("burst", lambda n: say_n("{n} blast", "{n} blasts", n), 3)


class CommonEvent(EventKind):
    """Events that several games share."""

    IDLE = "idle", Look(is_told=False)
    """A piece or a side that does nothing."""
    MOVE = "move"
    PLACED = "placed"
    """A piece that is put on the board, as in a set-up."""
    BOUNCE = "bounce", Look(), EventCue("bounced", "A5 120 ·40 A4 60"), _BOUNCE_HIGHLIGHT
    """A move that is blocked."""
    SHOT = "shot", Look(reach=Reach.HIT), _SHOT_CUE, _HIT_HIGHLIGHT
    MISS = "miss", Look(reach=Reach.MISS)
    BLAST = "blast", Look(around="burst", size=2.2, is_harm=True), _SHOT_CUE, _BLAST_HIGHLIGHT
    """A hit on everything around a square."""
    WON = "won"
    """The end of a game with a winner, its seat."""
    TIE = "tie"
    """The end of a game in a draw."""
