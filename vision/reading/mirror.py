"""Whether the camera mirrors its pictures, as webcams do for whoever looks at himself; they are turned back then.

A board that was printed white on black is noticed here as well: it cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.ports import Frame
from vision.detection.markers import Luma
from vision.reading.detect import shows_board, shows_board_in_place
from vision.reading.look import Memory

_TURN_FRAMES, _TURN_BACK_FRAMES = 6, 24
"""So often in a row no board is found before the picture's mirror image is tried again; the more where a board has been
seen the way it is: what shows one in the mirror image then is a mirror on the table, unless it is where it was."""

Colours = Callable[[], NDArray[np.uint8] | None]


class Mirror:
    """Remembers which way round one camera's pictures are."""

    def __init__(self) -> None:
        self._turned: tuple[Frame, Frame] | None = None
        self.begin()

    def begin(self) -> None:
        """Forget everything: another camera."""
        self.is_mirrored = self._proven = self.is_inverted = False
        self._blind = 0
        self._turned = None

    def as_read(self, frame: Frame) -> Frame:
        """Return the frame as it is read: a mirrored one turned back."""
        if not self.is_mirrored:
            return frame
        if self._turned is None or self._turned[0] is not frame:
            self._turned = frame, replace(frame, luma=mirrored(frame.luma), colours=turned_back(frame.colours))
        return self._turned[1]

    def sees_board(self) -> None:
        """Note that a board was read the way round that pictures are taken now."""
        self._blind, self._proven, self.is_inverted = 0, True, False

    def turns_round(self, luma: Luma, memory: Memory) -> bool:
        """After a picture without a board, tell whether its mirror image shows one: then all later ones are turned.

        Looked at now and then, as it takes as long as the picture itself.
        """
        self._blind += 1
        every = _TURN_BACK_FRAMES if self._proven else _TURN_FRAMES
        if self._proven and self._blind == 1:
            is_board = shows_board_in_place
        elif self._blind % every == (0 if self._proven else 1):
            is_board = shows_board
        else:
            return False
        if not is_board(mirrored(luma), memory):
            self.is_inverted = shows_board(255 - luma, memory)
            return False
        self.is_mirrored, self._blind = not self.is_mirrored, 0
        return True

    def turned_picture(self, luma: Luma, memory: Memory) -> Luma | None:
        """Return the mirror image of a single picture without a board, if that shows one."""
        turned = mirrored(luma)
        if not shows_board(turned, memory):
            self.is_inverted = shows_board(255 - luma, memory)
            return None
        self.is_mirrored = True
        return turned


def mirrored(luma: Luma) -> Luma:
    """Return a (height, width) picture with left and right exchanged."""
    return np.asarray(cv2.flip(luma, 1), dtype=np.uint8)


def turned_back(colours: Colours | None) -> Colours | None:
    """Return the colours of a mirrored picture turned back, when somebody asks for them."""
    if colours is None:
        return None
    return lambda: None if (told := colours()) is None else np.ascontiguousarray(told[:, ::-1])
