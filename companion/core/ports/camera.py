"""A source of pictures, and what a reader of the board makes of them."""

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
    """One picture. `luma` is (height, width) uint8; `at_s` the monotonic time of its exposure;
    `number` counts up.

    `colours` answers Cr and Cb of the same view, (height, width, 2) uint8, smaller than the
    picture; it may cost something, so that it is asked only for what people look at. None: the
    camera has none.
    """

    luma: NDArray[np.uint8]
    at_s: float
    number: int
    colours: Callable[[], NDArray[np.uint8] | None] | None = None


class Camera(Protocol):
    """A source of frames; `close` may be called twice."""

    name: str

    def frame(self) -> Frame | None:
        """Wait for the next picture and return it.

        None when there will be no more. Raises `CameraError`.
        """

    def close(self) -> None:
        """Give the device back."""


@dataclass(frozen=True)
class Reading:
    """What the camera knows about the board. Two are equal when they tell the same, whenever that
    was.

    `seen`: the face on top of each square where a marker is read; squares neither in `seen` nor in
    `unknown` are empty. `unknown`: hidden by a hand, glare or anything else. `beside`: faces read
    beside the board. `strangers`: marker ids that belong to no piece of this game, or to a piece
    seen twice. `quiet`: nothing moves and `seen` is settled over several frames. `game`: the game
    whose corner markers are seen; None: no board in view. `fans`: on a board of cards, the open
    cards of each zone from the bottom to the top, `X` for one that is there and not read.
    `markers`: the id that was read on each square of `seen`, where a piece shows one: it tells
    equal faces apart.
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
    """What the pages and lamps say about the camera."""

    NONE = "none"
    SEES_BOARD = "sees_board"
    NO_BOARD = "no_board"
    TROUBLE = "trouble"


@dataclass(frozen=True)
class CameraStatus:
    """The state of the camera and a sentence on what to do about it."""

    state: CameraState
    sentence: str = ""
