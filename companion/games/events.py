"""Kinds of game events. Each kind is one declaration with its drawing, sound and lamps.

`CommonEvent` has the kinds that several games share. A game declares its own kinds as another
`EventKind` and names that class in `events`. Pages, printed rules, pads, the
broker and the voice read everything from the kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Self

from companion.core.event_cues import EventCue
from companion.core.i18n import say_n


class Reach(Enum):
    """The mark from an event's square to its square `to`."""

    NONE = "none"
    HIT = "hit"
    """A line of fire with a burst at its end, or a blow at an adjacent square."""
    MISS = "miss"
    """A blow at an adjacent square, and nothing over a distance."""


@dataclass(frozen=True)
class Look:
    """How an event is drawn on the board while it is shown.

    `around` is a drawing around the piece on the square, with its `size` in squares. `is_harm`
    draws it in the colour of refusals. `swells` enlarges the piece for a moment. Without `is_told`
    the captions of pictures omit its sentence.
    """

    around: str = ""
    size: float = 1.0
    is_harm: bool = False
    reach: Reach = Reach.NONE
    is_told: bool = True
    swells: bool = False


@dataclass(frozen=True)
class Highlight:
    """A memorable event: a key on the time line of a replay, and a figure after the game.

    `drawing` is on the key. `counted` formats a number of them, such as `2 bounces`. If two are too
    close on the line, the one with the greater `weight` is shown. `is_loss` marks a loss for the
    side of the event.
    """

    drawing: str
    counted: Callable[[int], str]
    weight: int = 1
    is_loss: bool = False


class EventKind(StrEnum):
    """A vocabulary of events. The value is the name in views and on the engine's lines.

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
        """Return a kind with its name, look, cue and highlight."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.look = look
        kind.cue = cue
        kind.highlight = highlight
        return kind

    @property
    def is_loss(self) -> bool:
        """Return whether the highlight is a loss for its side."""
        return self.highlight is not None and self.highlight.is_loss


_SHOT = EventCue("shot", "E6 40 ·60 A4 160")
_BOUNCES = Highlight("bounce", lambda n: say_n("{n} bounce", "{n} bounces", n))
_HITS = Highlight("order-shoot", lambda n: say_n("{n} hit", "{n} hits", n), 2)
_BLASTS = Highlight("burst", lambda n: say_n("{n} blast", "{n} blasts", n), 3)


class CommonEvent(EventKind):
    """Events that several games share."""

    IDLE = "idle", Look(is_told=False)
    MOVE = "move"
    PLACED = "placed"
    BOUNCE = "bounce", Look(), EventCue("bounced", "A5 120 ·40 A4 60"), _BOUNCES
    """A move that is blocked."""
    SHOT = "shot", Look(reach=Reach.HIT), _SHOT, _HITS
    MISS = "miss", Look(reach=Reach.MISS)
    BLAST = "blast", Look(around="burst", size=2.2, is_harm=True), _SHOT, _BLASTS
    """A hit on everything around a square."""
    WON = "won"
    TIE = "tie"
