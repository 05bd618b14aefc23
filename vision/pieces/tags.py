"""The physical pieces of a kit: what each can show, how large it is, and which squares a large one covers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit

TOP_TO_TAG = 1.4
"""Side of a plain piece's top by side of its marker: one module of quiet zone and a thin coloured rim."""
WIDE_RIM_MM = 4.2
"""The rim of pieces that carry something to read: a letter, or the drawing that tells one face from the other."""
LOOSE_MM = 4.0
"""How much smaller a piece of several squares is than these, so that neither its neighbours nor it get stuck."""
_SQUARE_PLAY_MM = 0.4


def tags_of(kit: Kit) -> Iterator[tuple[tuple[Face, int], ...]]:
    """Every physical piece as its faces with their markers; the n-th piece with a face has the face's n-th marker."""
    used: Counter[str] = Counter()
    for names in kit.pieces or tuple((face.name,) for face in kit.faces for _ in face.markers):
        yield tuple((face, face.markers[used[face.name] % len(face.markers)]) for face in map(kit.face, names))
        used.update(names)


def has_wide_rim(kit: Kit, face: Face) -> bool:
    """Is there something to read round the marker: a letter, or which of two faces this is?"""
    return face.size == (1, 1) and (bool(face.letter) or len(kit.faces_beside(face.name)) > 1)


def top_mm(kit: Kit, face: Face) -> tuple[float, float]:
    """Width and depth of a piece's top as it is cut out, in mm, its marker upright in the middle."""
    board = kit.board
    if face.size != (1, 1):
        across, along = face.size
        return across * board.pitch_mm - board.gap_mm - LOOSE_MM, along * board.rank_pitch_mm - board.gap_mm - LOOSE_MM
    if has_wide_rim(kit, face):
        side = min(board.square_mm - _SQUARE_PLAY_MM, kit.tag_mm * 9 / 7 + 2 * WIDE_RIM_MM)
        return side, side
    return kit.tag_mm * TOP_TO_TAG, kit.tag_mm * TOP_TO_TAG


def lies_across(turn_deg: float) -> bool:
    """Is a piece nearer to lying as it was printed, or upside down, than to lying turned by a right angle?"""
    return round(turn_deg / 90) % 2 == 0


def turned_size(face: Face, turn_deg: float) -> tuple[int, int]:
    """How many squares a piece that lies turned covers, across and along."""
    return face.size if lies_across(turn_deg) else face.size[::-1]


def middle_mm(board: Board, first: Square, size: tuple[int, int]) -> tuple[float, float]:
    """The middle of so many squares, across and along, of which `first` is the lowest on the left."""
    x, y = board.centre_mm(first)
    return x + (size[0] - 1) * board.pitch_mm / 2, y + (size[1] - 1) * board.rank_pitch_mm / 2


def nearest_first(board: Board, size: tuple[int, int], x_mm: float, y_mm: float) -> tuple[Square, float, float]:
    """The lowest left of the squares over which a piece with this middle lies best, and how far it is off, in squares.

    The square may lie off the board.
    """
    zero_x, zero_y = middle_mm(board, Square(0, 0), size)
    files, ranks = (x_mm - zero_x) / board.pitch_mm, (y_mm - zero_y) / board.rank_pitch_mm
    first = Square(math.floor(files + 0.5), math.floor(ranks + 0.5))
    return first, files - first.file, ranks - first.rank


def covered(first: Square, size: tuple[int, int]) -> tuple[Square, ...]:
    """So many squares, across and along, from the lowest on the left; some may lie off the board."""
    return tuple(first.shifted(file, rank) for file in range(size[0]) for rank in range(size[1]))
