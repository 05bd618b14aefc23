"""The same doors without hardware: a table whose pieces can be moved, fingers on a panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from companion.core.grid import Square
from companion.core.kit import Layout, Seat


@dataclass(frozen=True)
class WorldPiece:
    """A piece on the simulated table: its identity, visible face, place (board mm) and outline in the picture (px)."""

    id: int
    face: str
    x_mm: float
    y_mm: float
    turn_deg: float
    outline_px: tuple[tuple[float, float], ...]
    square: Square | None


class World(Protocol):
    """The simulated table: what hands can do, and the picture that shows it (picture axes: px, x right, y down)."""

    def pieces(self) -> tuple[WorldPiece, ...]:
        """All pieces, the lowest first."""

    def move_to(self, piece: int, square: Square) -> None:
        """Put a piece on the middle of a square, on top of what lies there."""

    def take_off(self, piece: int) -> None:
        """Lay a piece beside the board."""

    def set_up(self, layout: Layout, *, by_hand: bool = False) -> None:
        """Put all pieces as a layout says; the others lie beside the board. Cards are fanned in their zones.

        `by_hand`: what lies where it should stays there, and what comes is laid on it.
        """

    def drag_to(self, piece: int, x_px: float, y_px: float) -> None:
        """Put a piece where the picture shows that point of the table."""

    def flip(self, piece: int) -> None:
        """Show the next face of a piece."""

    def hold_hand(self, over: Square | None) -> None:
        """Hold a hand over a square, or take it away."""

    def lay_tiles(self, seat: Seat, letters: str) -> None:
        """Lay order tiles behind a seat's wall, where no picture shows them; raises `Malformed`."""

    def jpeg(self) -> bytes:
        """The camera's picture now, in colour."""

    def size_px(self) -> tuple[int, int]:
        """Width and height of the picture."""

    def square_px(self, square: Square) -> tuple[float, float]:
        """Where the picture shows the middle of a square."""


@dataclass(frozen=True)
class PanelView:
    """What a person sees and hears: the tone, and which lamps are lit (`south_1`, `south_turn`)."""

    lamps: Mapping[str, bool] = field(default_factory=dict)
    tone_hz: float | None = None


class PanelHands(Protocol):
    """Fingers on the simulated panel; buttons are named `south_up`, `north_ready`, `table`."""

    def press(self, button: str) -> None:
        """Hold a button down. Raises KeyError for an unknown one."""

    def release(self, button: str) -> None:
        """Let a button go."""

    def view(self) -> PanelView:
        """Lamps and tone at this moment."""

    def buttons(self) -> tuple[str, ...]:
        """Names of all wired buttons."""
