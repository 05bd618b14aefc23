"""Order tiles on the simulated table: a strip of markers, a wall, and the tiles for each seat."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import CARD_DICTIONARY, SEATS, Kit, OrderTiles, Seat
from vision.detection.markers import marker_modules
from vision.pose.pose import Points
from vision.simulation.objects import RenderedBlock
from vision.simulation.printed import Bgr, bgr_of
from vision.simulation.render import BESIDE_ROW_MM

# Scale of the printed pictures in px per mm.
_PX_PER_MM = 5
# Heights of the strip and of a tile glued onto card, and thickness of a wall.
_PAPER_MM, _TILE_MM, _WALL_THICKNESS_MM = 0.2, 1.0, 1.5
# Brightness of paper and of ink, as in `companion.printing.printed_kit`.
_PAPER_LEVEL, _INK_LEVEL = 243, 24
# Ids of the blocks of rows begin here, far from those of pieces.
_FIRST_ID = 10_000
_WALL_RGB = "#1B1814"
HIDDEN_MARGIN_MM = 12.0
"""Margin around a row that is hidden with it."""


@dataclass(frozen=True)
class LaidTile:
    """A tile of a seat, with its centre and turn in the axes of a row (see `OrderTiles`)."""

    seat: Seat
    letter: str
    x_mm: float
    y_mm: float
    turn_deg: float = 0.0


@dataclass(frozen=True)
class RowPlace:
    """Origin and turn of a row on the board's plane."""

    x_mm: float
    y_mm: float
    turn_deg: float

    def to_table(self, x_mm: float, y_mm: float) -> tuple[float, float]:
        """Convert a point in the axes of the row to the board's plane."""
        angle = math.radians(self.turn_deg)
        cos, sin = math.cos(angle), math.sin(angle)
        return self.x_mm + cos * x_mm - sin * y_mm, self.y_mm + sin * x_mm + cos * y_mm


class TileRows:
    """The rows of a kit, one for each seat. Raises ValueError for a kit without order tiles."""

    def __init__(self, kit: Kit) -> None:
        if kit.order_tiles is None:
            raise ValueError(f"the kit of {kit.game} has no order tiles")
        self._kit, self._spec = kit, kit.order_tiles
        middle = kit.board.width_mm / 2
        distance = kit.board.strip_mm + BESIDE_ROW_MM + self._spec.wall_y_mm
        self.places = {
            Seat.SOUTH: RowPlace(middle, -distance, 0.0),
            Seat.NORTH: RowPlace(middle, kit.board.height_mm + distance, 180.0),
        }
        """Position of each row. Tests change it."""
        self.laid: dict[Seat, tuple[LaidTile, ...]] = dict.fromkeys(SEATS, ())

    def lay(self, seat: Seat, letters: str) -> None:
        """Replace a row's tiles with these, exactly in its places from the left. Raises
        `Malformed`.
        """
        spec = self._spec
        if len(letters) > spec.places or set(letters) - set(spec.orders[seat]):
            letters = " ".join(spec.orders[Seat.SOUTH])
            raise Malformed(
                say("Lay at most {number} tiles of {letters}", number=spec.places, letters=letters)
            )
        centres = (spec.place_centre_mm(place) for place in range(spec.places))
        tiles = zip(letters, centres, strict=False)
        self.laid[seat] = tuple(LaidTile(seat, letter, *centre) for letter, centre in tiles)

    def blocks(self) -> Iterator[RenderedBlock]:
        """Yield all blocks in drawing order, the farther parts first."""
        number, spec = _FIRST_ID, self._spec
        row_width = spec.row_width_mm
        wall_top = np.full((8, 8, 3), bgr_of(_WALL_RGB), np.uint8)
        for seat in SEATS[::-1]:
            place, strip = self.places[seat], _strip_picture(spec, seat)
            parts = [(strip, (row_width, spec.strip_mm, _PAPER_MM), (0.0, 0.0, 0.0))]
            for tile in self.laid[seat]:
                rgb = self._kit.sides[tile.seat].rgb
                picture = _tile_picture(spec, tile.seat, tile.letter, rgb)
                size = (spec.width_mm, spec.depth_mm, _TILE_MM)
                parts.append((picture, size, (tile.x_mm, tile.y_mm, tile.turn_deg)))
            wall = (row_width, _WALL_THICKNESS_MM, spec.wall_mm)
            parts.append((wall_top, wall, (0.0, spec.wall_y_mm, 0.0)))
            for picture, size, (x, y, turn) in parts:
                centre, turn_deg = place.to_table(x, y), place.turn_deg + turn
                yield RenderedBlock(number, picture.copy, _WALL_RGB, *size, *centre, 0.0, turn_deg)
                number += 1

    def hidden_mm(self) -> list[Points]:
        """Return the areas that no picture may show: each row and its tiles, (4, 2) board mm."""
        spec = self._spec
        near, far = spec.wall_y_mm, -spec.strip_mm / 2 - HIDDEN_MARGIN_MM
        half = spec.row_width_mm / 2 + HIDDEN_MARGIN_MM
        corners = ((-half, near), (half, near), (half, far), (-half, far))
        return [
            np.array([place.to_table(*corner) for corner in corners])
            for place in self.places.values()
        ]


def _draw_marker(picture: Bgr, marker: int, x_mm: float, y_mm: float, size_mm: float) -> None:
    """Draw a marker centred at (x, y) mm from the lower left corner of a print."""
    side = round(size_mm * _PX_PER_MM)
    modules = marker_modules(marker, CARD_DICTIONARY)
    enlarged = cv2.resize(modules, (side, side), interpolation=cv2.INTER_NEAREST)
    left = round(x_mm * _PX_PER_MM - side / 2)
    # y_mm counts from the lower edge, rows from the upper one
    top = round(len(picture) - y_mm * _PX_PER_MM - side / 2)
    levels = enlarged.clip(_INK_LEVEL, _PAPER_LEVEL)
    picture[top : top + side, left : left + side] = levels[..., None]


def _strip_picture(spec: OrderTiles, seat: Seat) -> Bgr:
    """Draw the strip of a seat's row with its markers."""
    size_px = round(spec.strip_mm * _PX_PER_MM), round(spec.row_width_mm * _PX_PER_MM)
    picture = np.full((*size_px, 3), _PAPER_LEVEL, np.uint8)
    for number, marker in enumerate(spec.rows[seat]):
        x_mm = spec.row_width_mm / 2 + spec.strip_x_mm(number)
        _draw_marker(picture, marker, x_mm, spec.strip_mm / 2, spec.strip_marker_mm)
    return picture


def _tile_picture(spec: OrderTiles, seat: Seat, letter: str, rgb: str) -> Bgr:
    """Draw a tile: a field in the side's colour above, its marker on white below."""
    size_px = round(spec.depth_mm * _PX_PER_MM), round(spec.width_mm * _PX_PER_MM)
    picture = np.full((*size_px, 3), _PAPER_LEVEL, np.uint8)
    # The coloured field ends 3 mm above the marker.
    head = round((spec.depth_mm - spec.marker_up_mm - spec.marker_mm / 2 - 3) * _PX_PER_MM)
    picture[:head] = bgr_of(rgb)
    _draw_marker(
        picture, spec.orders[seat][letter], spec.width_mm / 2, spec.marker_up_mm, spec.marker_mm
    )
    return picture
