"""A source of pictures, and what a board reader gets from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from companion.core.grid import Square
from companion.core.kit import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Frame:
    """One picture. `luma` is (height, width) uint8, `at_s` the monotonic time of its exposure.
    `number` counts up.

    `colours` returns Cr and Cb of the same view, (height, width, 2) uint8, smaller than the
    picture. It may be expensive, so it is called only for pictures that people see. None if the
    camera has no colours.
    """

    luma: NDArray[np.uint8]
    at_s: float
    number: int
    colours: Callable[[], NDArray[np.uint8] | None] | None = None


class Camera(Protocol):
    """A source of frames. `close` may be called twice."""

    name: str

    def frame(self) -> Frame:
        """Wait for the next picture and return it. Raises `CameraError`."""

    def close(self) -> None:
        """Release the device."""


@dataclass(frozen=True)
class Reading:
    """What the camera knows about the board. Readings with the same content are equal, whatever
    their time.

    `seen` is the face on top of each square with a marker that was read. Squares neither in `seen`
    nor in `unknown` are empty. `unknown` squares are hidden by a hand, glare or anything else.
    `beside` are faces beside the board. `strangers` are marker ids that belong to no piece of this
    game, or to a piece that is seen twice. `quiet` is whether nothing moves and `seen` has been
    stable over several frames. `game` is the game whose corner markers are seen. None: no board is
    in view. `fans` are, on a board of cards, the open cards of each zone from the bottom to the
    top, with `X` for a card that cannot be read. `markers` is the marker id on each square of
    `seen` whose piece shows one. It tells equal faces apart.
    """

    seen: Mapping[Square, str]
    unknown: frozenset[Square] = frozenset()
    beside: tuple[str, ...] = ()
    strangers: tuple[int, ...] = ()
    quiet: bool = False
    game: str | None = None
    at_s: float = field(default=0.0, compare=False)
    frame: int = field(default=0, compare=False)
    fans: Layout = field(default_factory=dict)
    markers: Mapping[Square, int] = field(default_factory=dict)


class CameraState(StrEnum):
    """State of the camera for pages and lamps."""

    NONE = "none"
    SEES_BOARD = "sees_board"
    NO_BOARD = "no_board"
    TROUBLE = "trouble"


@dataclass(frozen=True)
class CameraStatus:
    """The state of the camera and a sentence on what to do about it."""

    state: CameraState
    sentence: str = ""
