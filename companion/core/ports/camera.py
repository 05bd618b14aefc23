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
    """One picture of a camera."""

    luma: NDArray[np.uint8]
    """(height, width): its brightness, 0 to 255."""
    at_s: float
    """Monotonic time of its exposure in seconds."""
    number: int
    """Number of the frame. It counts up."""
    colours: Callable[[], NDArray[np.uint8] | None] | None = None
    """Returns the colours of the same view, Cr and Cb, as (height, width, 2) uint8 with fewer
    pixels than `luma`, or None if they are no longer there. It may be expensive, so it is called
    only for pictures that people see. None if the camera has no colours.
    """


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

    Readings that differ only in `at_s` and `frame` are equal, so that a change is easily found.
    Faces are named as in `Kit`, such as `purple robot`.
    """

    seen: Mapping[Square, str]
    """The name of the face on top of each square on which one was read. A square that is neither
    here nor in `unknown` is empty.
    """
    unknown: frozenset[Square] = frozenset()
    """Squares whose content is unknown, because a hand, glare or anything else hides them."""
    beside: tuple[str, ...] = ()
    """Names of the faces that lie beside the board, sorted, with one name for each piece."""
    strangers: tuple[int, ...] = ()
    """Marker ids that belong to no piece of this game, or to a piece that is seen twice."""
    quiet: bool = False
    """Whether nothing moves, and several frames agree on what is on the squares. Only a quiet
    reading can show that a layout is complete.
    """
    game: str | None = None
    """The name of the game whose corner markers are seen. None without a board in view."""
    at_s: float = field(default=0.0, compare=False)
    """Monotonic time of the frame in seconds."""
    frame: int = field(default=0, compare=False)
    """Number of the frame."""
    fans: Layout = field(default_factory=dict)
    """On a board of cards, where `seen` is empty: the names of the open cards of each zone from the
    bottom to the top, with `X` for a card that cannot be read.
    """
    markers: Mapping[Square, int] = field(default_factory=dict)
    """The marker id on each square of `seen` whose marker was read. It tells equal faces apart:
    each piece has a marker of its own.
    """


class CameraState(StrEnum):
    """State of the camera, for pages and lamps."""

    # The table has no camera.
    NONE = "none"
    SEES_BOARD = "sees_board"
    NO_BOARD = "no_board"
    # The camera gives no pictures.
    TROUBLE = "trouble"


@dataclass(frozen=True)
class CameraStatus:
    """The state of the camera, and a sentence on what to do about it, perhaps empty."""

    state: CameraState
    sentence: str = ""
