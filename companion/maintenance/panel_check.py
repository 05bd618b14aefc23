"""The interface through which the page Health tests the panel, from any thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from companion.core.config import PanelSettings
from companion.core.event_cues import EventCue
from companion.core.kit import Seat
from companion.core.ports import Cue


@dataclass(frozen=True)
class CheckState:
    """State of a panel check. The page gets these fields as JSON."""

    on: bool = False
    """Whether a check is running."""
    down: frozenset[str] = frozenset()
    """Keys that are pressed now."""
    tried: frozenset[str] = frozenset()
    """Keys that were pressed during this check."""
    lit: frozenset[str] = frozenset()
    """Lamps that are on."""


class PanelCheck(Protocol):
    """Checks keys, lamps and tones one by one. Meanwhile keys have no effect on the table.

    `hardware.check` implements it. A panel is both pads (keys and lamps of a seat), the buzzer, the
    table button and the system lamp.
    """

    buttons: tuple[str, ...]
    """Names of the buttons that work, such as `south_up` and `table`."""
    lamps: tuple[str, ...]
    """Names of the pads' lamps that work, such as `south_1` and `north_turn`."""
    has_buzzer: bool

    def begin(self) -> None:
        """Start a check, or restart it with no key tried."""

    def renew(self) -> None:
        """Keep the check running for a viewer. Without this call it ends within seconds."""

    def end(self) -> None:
        """End the check: lamps show the table's state again, and keys work again."""

    def light(self, lamp: str, on: bool) -> None:
        """Switch a lamp on or off."""

    def play(self, cue: Cue | EventCue, seats: frozenset[Seat]) -> None:
        """Play a cue: the tone of an event, with its lights at these seats."""

    def state(self) -> CheckState:
        """Return the current state of the check."""


@dataclass(frozen=True)
class PanelCheckFeature:
    """What the page Health needs for the check of the panel."""

    settings: PanelSettings
    panel: PanelCheck | None
    """None without a panel."""
    why_not: str
    """Sentence on why there is no panel and what to do. Empty if there is one."""
    is_simulated: bool
    """Whether the panel has no real pins."""
    broker_sentence: Callable[[], str] = lambda: ""
    """Returns the state of the connection to the MQTT broker, which the same page shows, as a
    sentence. Empty if no broker is set.
    """
