"""A source of pictures, and what the board reader learns from them.

Cameras of every kind implement `Camera` (`vision/cameras/`, and the rendered table of a
simulation). A thread of `vision/watcher.py` waits for its frames, has each one read, and gives the
`Reading` to the table.
"""

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
    """One picture of a camera.

    `luma` is its brightness, (height, width) uint8. `at_s` is the monotonic time of its exposure.
    `number` counts up. `colours` returns Cr and Cb of the same view, (height, width, 2) uint8, with
    fewer pixels than the picture. It may be expensive, so it is called only for pictures that
    people see. None if the camera has no colours.
    """

    luma: NDArray[np.uint8]
    at_s: float
    number: int
    colours: Callable[[], NDArray[np.uint8] | None] | None = None


class Camera(Protocol):
    """A source of frames: a device, a stream, pictures in a folder, or a rendered table."""

    name: str
    """Name for people, such as the model of the camera."""

    def frame(self) -> Frame:
        """Wait for the next picture and return it. Raises `CameraError`."""

    def close(self) -> None:
        """Release the device. It may be called twice."""


@dataclass(frozen=True)
class Reading:
    """What the camera knows about the board in one frame. The reader prefers “unknown” to a guess.

    Readings that differ only in `at_s` and `frame`, the time and the number of the frame, are
    equal, so that a change is easily found.
    """

    seen: Mapping[Square, str]
    """The face on top of each square on which one was read. Squares neither in `seen` nor in
    `unknown` are empty.
    """
    unknown: frozenset[Square] = frozenset()
    """Squares that a hand, glare or anything else hides."""
    beside: tuple[str, ...] = ()
    """Faces beside the board."""
    strangers: tuple[int, ...] = ()
    """Marker ids that belong to no piece of this game, or to a piece that is seen twice."""
    quiet: bool = False
    """Whether nothing moves, and `seen` has been the same over several frames."""
    game: str | None = None
    """The name of the game whose corner markers are seen, or None without a board in view."""
    at_s: float = field(default=0.0, compare=False)
    frame: int = field(default=0, compare=False)
    fans: Layout = field(default_factory=dict)
    """On a board of cards, the open cards of each zone from the bottom to the top, with `X` for a
    card that cannot be read.
    """
    markers: Mapping[Square, int] = field(default_factory=dict)
    """The marker id on each square of `seen` whose piece shows one. It tells equal faces apart."""


class CameraState(StrEnum):
    """State of the camera for pages and lamps. `NONE`: the table has no camera."""

    NONE = "none"
    SEES_BOARD = "sees_board"
    NO_BOARD = "no_board"
    TROUBLE = "trouble"


@dataclass(frozen=True)
class CameraStatus:
    """The state of the camera, and a sentence on what to do about it (empty: nothing)."""

    state: CameraState
    sentence: str = ""
