"""What pages see of a simulation: the pieces on its table, and the buttons and lamps of its
panel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from companion.core.grid import Square


@dataclass(frozen=True)
class WorldPiece:
    """A piece on the simulated table: its identity, visible face, position (board mm) and outline
    in the picture (px).
    """

    id: int
    face: str
    x_mm: float
    y_mm: float
    turn_deg: float
    outline_px: tuple[tuple[float, float], ...]
    square: Square | None


@dataclass(frozen=True)
class PanelView:
    """What a person sees and hears of the panel: lit lamps (`south_1`, `south_turn`) and the
    tone.
    """

    lamps: Mapping[str, bool] = field(default_factory=dict)
    tone_hz: float | None = None


class PanelHands(Protocol):
    """Presses buttons of the simulated panel. They are named `south_up`, `north_ready`, `table`."""

    def press(self, button: str) -> None:
        """Hold a button down. Raises KeyError for an unknown one."""

    def release(self, button: str) -> None:
        """Release a button."""

    def view(self) -> PanelView:
        """Return the current lamps and tone."""

    def buttons(self) -> tuple[str, ...]:
        """Return the names of all wired buttons."""
