"""A board on which no card lies, told at a glance; and what may be cards beside a board.

What is dark on a bare board lies where the board itself is printed. Any card that lies open shows print elsewhere, and
whatever is doubtful is read closely.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from companion.core.kit import Kit
from vision.cards.fans import Lying
from vision.cards.glance import Glance, board_print, paper_box, strokes
from vision.detection.marker_scan import boxes_of
from vision.detection.motion import BLOCK_PX
from vision.pose.pose import Points

_AROUND_MM = 12.0
"""So much is looked at on either side of what may be a marker."""


def is_bare(glance: Glance, kit: Kit) -> bool:
    """Is nothing dark on a board but its own print?"""
    board, paper = board_print(glance.view.maps, kit), paper_box(glance.view.maps, kit)
    dark = glance.dark[paper] & ~(board.lines[paper] | board.other[paper])
    return not strokes(dark, glance.view.maps.scale).any()


def places_beside(glance: Glance, kit: Kit, cards: Sequence[Lying] = ()) -> list[Points]:
    """The places beside the board, (2, 2) mm each, where a marker may lie that is none of these cards'."""
    assert kit.deck is not None
    maps, (rows, columns) = glance.view.maps, paper_box(glance.view.maps, kit)
    known = np.array([mark for card in cards for mark in card.marks]).reshape(-1, 4, 2).mean(axis=1)
    blocks = np.zeros([-(-length // BLOCK_PX) for length in glance.dark.shape], np.bool_)
    for (left, top), (right, bottom) in zip(glance.quads.min(axis=1), glance.quads.max(axis=1), strict=True):
        x, y = (left + right) / 2, (top + bottom) / 2
        if rows.start <= y < rows.stop and columns.start <= x < columns.stop:
            continue
        if (np.abs(known - maps.to_board(np.array([x, y]))).max(axis=1) < kit.deck.marker_mm / 2).any():
            continue
        down, across = (
            slice(max(0, int(low)) // BLOCK_PX, int(high) // BLOCK_PX + 1)
            for low, high in ((top, bottom), (left, right))
        )
        blocks[down, across] = True
    boxes = boxes_of(blocks, _AROUND_MM * maps.scale, glance.dark)
    corners = (np.array([[part[1].start, part[0].stop], [part[1].stop, part[0].start]]) for part in boxes)
    return [maps.to_board(ends - 0.5) for ends in corners]
