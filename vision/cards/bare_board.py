"""A board on which no card lies, told at a glance: at half the scale of a reading, and by half the picture's size.

What is dark there lies where the board itself is printed. Any card that lies open shows print elsewhere, and whatever
is doubtful is read closely.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np

from companion.core.kit import Kit
from vision.cards.card_view import INK, PRINT_MM, SCALE, CardView, DarkPrint, evened, is_glare, paper_of, shown_by
from vision.cards.unexplained_print import lines_of, own_print, paper_mm
from vision.detection.marker_scan import Box, boxes_of, halved
from vision.detection.markers import Luma
from vision.detection.motion import BLOCK_PX
from vision.pose.pose import Maps, Points, Pose

_LARGE_PX = 1600
"""Pictures wider than this are looked at in half their size."""
_DARK = 0.65
"""Print is darker than this, by the paper just beside it: all that is print at a closer look, and more."""
_STROKE_MM = 1.5
"""All of it is as wide."""
_LINE_MM = 2.5
"""Half the width of a line of the board that lies a little elsewhere, blurred."""
_GAP_MM, _LIKE_A_MARKER = 2.0, (0.8, 1.5)
"""Beside the board whole markers count alone: what is as large as one in any turn when their white is closed, ..."""
_AROUND_MM = 12.0
"""... and so much around it."""


class BareBoard:
    """Looks for anything dark on one board."""

    def __init__(self, kit: Kit) -> None:
        assert kit.deck is not None
        self._kit, self._deck = kit, kit.deck

    def look(
        self, luma: Luma, pose: Pose, room: tuple[Points, Points], z_mm: float
    ) -> tuple[CardView, list[Points]] | None:
        """A view of a (height, width) picture from `room`'s low to its high corner, mm, its layers at half its scale,
        and the places beside the board, (2, 2) mm each, where a marker may lie; None where a card may lie on the board.
        """
        maps = pose.plane_maps(tuple(room[0].tolist()), tuple(room[1].tolist()), z_mm, SCALE / 2)
        view = _seen(luma, maps)
        paper = paper_of(view, maps.scale, self._kit.board.square_mm)
        even = evened(view, paper)
        beside = cv2.morphologyEx(even, cv2.MORPH_CLOSE, _square(PRINT_MM, maps.scale))
        dark, ink = (
            np.asarray(cv2.compare(even, cv2.convertScaleAbs(beside, alpha=share), cv2.CMP_LT), np.uint8)
            for share in (_DARK, INK)
        )
        on_board = self._place(maps)
        printed = lines_of(maps, view.shape, (self._kit.board, self._deck), _LINE_MM)
        printed |= own_print(maps, view.shape, self._kit.board, self._deck)
        if _without_specks(dark[on_board] & ~printed[on_board], maps.scale).any():
            return None
        ink[on_board] = 0
        none = np.zeros_like(even)
        full = replace(maps, scale=SCALE)
        glance = CardView(
            full, shown_by(maps, pose.size), even, DarkPrint(none, none, none, none), is_glare(view, paper)
        )
        return glance, [_mm_of(box, maps) for box in self._boxes(ink, maps.scale)]

    def _place(self, maps: Maps) -> Box:
        """Rows and columns of the board's paper."""
        (left, bottom), (right, top) = maps.to_view(paper_mm(self._kit.board)).round().astype(int).clip(0)
        return slice(top, bottom), slice(left, right)

    def _boxes(self, ink: Luma, scale: float) -> list[Box]:
        """Boxes of the view round what is as large as a marker."""
        blocks = np.zeros([-(-length // BLOCK_PX) for length in ink.shape], np.bool_)
        joined = cv2.morphologyEx(_without_specks(ink, scale), cv2.MORPH_CLOSE, _square(_GAP_MM, scale))
        least, most = (share * self._deck.marker_mm * scale for share in _LIKE_A_MARKER)
        for contour in cv2.findContours(joined, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]:
            left, top, width, height = cv2.boundingRect(contour)
            if least <= min(width, height) and max(width, height) <= most:
                rows, columns = (
                    slice(start // BLOCK_PX, (start + length) // BLOCK_PX + 1)
                    for start, length in ((top, height), (left, width))
                )
                blocks[rows, columns] = True
        return boxes_of(blocks, _AROUND_MM * scale, ink)


def _seen(luma: Luma, maps: Maps) -> Luma:
    if luma.shape[1] <= _LARGE_PX:
        return maps.rectify(luma)
    pixels = cv2.addWeighted(maps.pixels, 0.5, maps.pixels, 0.0, -0.25)
    return replace(maps, pixels=np.asarray(pixels, np.float32)).rectify(halved(luma))


def _mm_of(box: Box, maps: Maps) -> Points:
    """(2, 2): the low and the high corner of a box of the view."""
    rows, columns = box
    return maps.to_board(np.array([[columns.start, rows.stop], [columns.stop, rows.start]]) - 0.5)


def _without_specks(dark: Luma, scale: float) -> Luma:
    return np.asarray(cv2.morphologyEx(dark, cv2.MORPH_OPEN, _square(_STROKE_MM, scale)), np.uint8)


def _square(size_mm: float, scale: float) -> Luma:
    return np.ones((round(size_mm * scale),) * 2, np.uint8)
