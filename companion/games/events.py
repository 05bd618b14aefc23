"""What happens in games: each kind of event is one declaration, with how it is drawn, heard and
lit.

`CommonEvent` are the kinds that several games share. A game declares its own as another `EventKind`
in its `events.py` and names it as its `events`. Pages, printed rules, pads, the broker and the
voice find all they need in the kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Self

from companion.core.event_cues import EventCue
from companion.core.i18n import say_n


class Reach(Enum):
    """What leads from an event's square to the one that it names with `to`, if anything."""

    NONE = "none"
    HIT = "hit"
    """A line of fire with a burst at its end. To a square beside it a blow."""
    MISS = "miss"
    """A blow at the square beside it, and nothing over a distance."""


@dataclass(frozen=True)
class Look:
    """How an event is drawn on the board while it is shown.

    `around` is a drawing laid round the piece on its square, `size` of it in squares. `is_harm`
    draws it in the colour of refusals. `swells`: the piece of which it tells grows for a moment.
    `is_told` False: the captions of pictures leave its sentence out.
    """

    around: str = ""
    size: float = 1.0
    is_harm: bool = False
    reach: Reach = Reach.NONE
    is_told: bool = True
    swells: bool = False


@dataclass(frozen=True)
class Highlight:
    """An event that people remember: a key on the time line of a replay, and a figure when the game
    is over.

    `drawing` is what the key shows, `counted` says how many of them there were, such as `2
    bounces`. Where two lie too close on the line, the one of greater `weight` is shown. `is_loss`:
    its side has lost something by it.
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
        """Return a kind by its name, with its look and cue, and what makes it worth remembering."""
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.look = look
        kind.cue = cue
        kind.highlight = highlight
        return kind

    @property
    def is_loss(self) -> bool:
        """Return whether it is remembered as something that its side has lost."""
        return self.highlight is not None and self.highlight.is_loss


_SHOT = EventCue("shot", "E6 40 ·60 A4 160")
_BOUNCES = Highlight("bounce", lambda n: say_n("{n} bounce", "{n} bounces", n))
_HITS = Highlight("order-shoot", lambda n: say_n("{n} hit", "{n} hits", n), 2)
_BLASTS = Highlight("burst", lambda n: say_n("{n} blast", "{n} blasts", n), 3)


class CommonEvent(EventKind):
    """What happens in several games."""

    IDLE = "idle", Look(is_told=False)
    MOVE = "move"
    PLACED = "placed"
    BOUNCE = "bounce", Look(), EventCue("bounced", "A5 120 ·40 A4 60"), _BOUNCES
    """The tone of a bounce."""
    SHOT = "shot", Look(reach=Reach.HIT), _SHOT, _HITS
    MISS = "miss", Look(reach=Reach.MISS)
    BLAST = "blast", Look(around="burst", size=2.2, is_harm=True), _SHOT, _BLASTS
    """Everything round a square is hit."""
    WON = "won"
    TIE = "tie"
