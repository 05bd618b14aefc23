"""What pages see of a simulation: the pieces on its table, and the buttons and lamps of its panel.

`companion play --simulate` has a rendered table instead of a camera, and simulated pins instead of
a panel. Its page lets people move the pieces and press the buttons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from companion.core.grid import Square
from companion.core.ports.diagnosis import Outline


@dataclass(frozen=True)
class WorldPiece:
    """A piece on the simulated table.

    Its middle is at (`x_mm`, `y_mm`) in the axes of the board (see `companion.core.kit`).
    `turn_deg` is its rotation, counter-clockwise from above. At 0 its print is upright as South
    sees it.
    """

    id: int
    """Number by which the piece is moved. It never changes."""
    face: str
    """Name of the face that is up."""
    x_mm: float
    y_mm: float
    turn_deg: float
    outline_px: Outline
    """Outline of the piece in the rendered picture."""
    square: Square | None
    """The square on which it lies. None beside the board."""


@dataclass(frozen=True)
class PanelView:
    """What a person sees and hears of the panel: which lamps are lit, and the tone.

    Lamps are named `south_1`, `south_turn` and so on. `tone_hz` is None while it is silent.
    """

    lamps: Mapping[str, bool] = field(default_factory=dict)
    tone_hz: float | None = None


class PanelHands(Protocol):
    """Fingers on the simulated panel. Buttons are named `south_up`, `north_ready`, `table`."""

    def press(self, button: str) -> None:
        """Press a button and hold it down. Raises KeyError for an unknown one."""

    def release(self, button: str) -> None:
        """Let a button go. Raises KeyError for an unknown one."""

    def view(self) -> PanelView:
        """Return the current lamps and tone."""

    def buttons(self) -> tuple[str, ...]:
        """Return the names of all wired buttons."""
