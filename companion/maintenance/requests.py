"""What the page Health asks of the installation, from any thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from companion.core.config import PanelSettings
from companion.core.event_cues import EventCue
from companion.core.kit import Seat
from companion.core.ports import Cue


@dataclass(frozen=True)
class Trial:
    """A check of the panel: `down` are the keys that are pressed, `tried` those that have been,
    `lit` the lamps.

    `left_s`: seconds for which it goes on by itself. 0: none is on.
    """

    left_s: float
    down: frozenset[str]
    tried: frozenset[str]
    lit: frozenset[str]


class PanelCheck(Protocol):
    """Keys, lamps and tones tried out one by one. Meanwhile keys have no effect on the table."""

    buttons: tuple[str, ...]
    lamps: tuple[str, ...]
    has_buzzer: bool

    def begin(self) -> None:
        """Begin, or begin anew: nothing is tried out yet."""

    def renew(self) -> None:
        """Go on for somebody who still looks. Without this it ends within seconds."""

    def end(self) -> None:
        """Let lamps show the table's state again, and keys count again."""

    def light(self, lamp: str, on: bool) -> None:
        """Light a lamp, or darken it. Raises KeyError for one that there is not."""

    def play(self, cue: Cue | EventCue, seats: frozenset[Seat]) -> None:
        """Sound and show a cue."""

    def trial(self) -> Trial:
        """Return how it stands now."""


@dataclass(frozen=True)
class CheckRoom:
    """What there is to be tried.

    `panel` None: there is none, and `why_not` says why and what to do.

    `broker` answers how the connection to the broker of the house is. Empty: none is wanted.
    """

    settings: PanelSettings
    panel: PanelCheck | None
    why_not: str
    is_simulated: bool
    broker: Callable[[], str] = lambda: ""
