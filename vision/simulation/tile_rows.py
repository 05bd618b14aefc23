"""Draws the order tiles on the simulated table.

Each seat has a *row*: a printed strip with markers, a wall that hides it from the other seat, and
tiles in the *places* along the strip. See `companion.core.kit.OrderTiles`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import CARD_DICTIONARY, SEATS, Kit, OrderTiles, Seat
from vision.detection.markers import marker_modules
from vision.pose.pose import Points
from vision.simulation.objects import RenderedBlock
from vision.simulation.printed import Bgr, hex_to_bgr
from vision.simulation.render import BESIDE_ROW_MM

# Scale of the printed pictures in px per mm.
_PX_PER_MM = 5

# Height of the paper strip above the table.
_PAPER_MM = 0.2

# Height of a tile that is glued onto card.
_TILE_MM = 1.0

# Thickness of a wall of card.
_WALL_THICKNESS_MM = 1.5

# Brightness of paper, of 255, as in `companion.printing.printed_kit`.
_PAPER_LEVEL = 243

# Brightness of ink, as there.
_INK_LEVEL = 24

# Ids of the blocks of rows begin here, far from the ids of pieces.
_FIRST_ID = 10_000

# Colour of walls, and of the sides of strips and tiles.
_WALL_RGB = "#1B1814"

# Margin of a hidden area around its row, on every side but that of the wall.
HIDDEN_MARGIN_MM = 12.0


@dataclass(frozen=True)
class LaidTile:
    """A tile of a seat, with its centre and turn in the axes of a row (see `OrderTiles`)."""

    seat: Seat
    letter: str
    x_mm: float
    y_mm: float
    turn_deg: float = 0.0


@dataclass(frozen=True)
class RowOrigin:
    """Where the origin of a row lies on the board's plane, and how far the row is turned."""

    x_mm: float
    y_mm: float
    turn_deg: float

    def to_table(self, x_mm: float, y_mm: float) -> tuple[float, float]:
        """Convert a point in the axes of the row to the board's plane."""
        angle = math.radians(self.turn_deg)
        cos = math.cos(angle)
        sin = math.sin(angle)
        return self.x_mm + cos * x_mm - sin * y_mm, self.y_mm + sin * x_mm + cos * y_mm


class _Part(NamedTuple):
    """A part of a row, drawn as one block. Its centre and turn are in the axes of the row."""

    picture: Bgr
    width_mm: float
    depth_mm: float
    height_mm: float
    x_mm: float = 0.0
    y_mm: float = 0.0
    turn_deg: float = 0.0


class TileRows:
    """The rows of a kit, one for each seat. Raises ValueError for a kit without order tiles."""

    def __init__(self, kit: Kit) -> None:
        if kit.order_tiles is None:
            raise ValueError(f"the kit of {kit.game} has no order tiles")
        self._kit = kit
        self._spec = kit.order_tiles
        middle_mm = kit.board.width_mm / 2
        distance_mm = kit.board.strip_mm + BESIDE_ROW_MM + self._spec.wall_y_mm
        self.row_origins = {
            Seat.SOUTH: RowOrigin(middle_mm, -distance_mm, 0.0),
            Seat.NORTH: RowOrigin(middle_mm, kit.board.height_mm + distance_mm, 180.0),
        }
        """Where the row of each seat lies. Tests change it."""
        self.laid: dict[Seat, tuple[LaidTile, ...]] = dict.fromkeys(SEATS, ())
        """The tiles in the row of each seat."""

    def lay(self, seat: Seat, letters: str) -> None:
        """Replace a row's tiles with these, exactly in its places from the left.

        Raises `Malformed`.
        """
        spec = self._spec
        if len(letters) > spec.places or set(letters) - set(spec.orders[seat]):
            allowed = " ".join(spec.orders[Seat.SOUTH])
            raise Malformed(
                say("Lay at most {number} tiles of {letters}", number=spec.places, letters=allowed)
            )
        centres = (spec.place_centre_mm(place) for place in range(spec.places))
        tiles = zip(letters, centres, strict=False)
        self.laid[seat] = tuple(LaidTile(seat, letter, *centre) for letter, centre in tiles)

    def blocks(self) -> Iterator[RenderedBlock]:
        """Yield all blocks in drawing order.

        The row of North comes first, because it lies behind the board as South sees it. In each row
        the strip comes first, then the tiles, and then the wall.
        """
        block_id = _FIRST_ID
        for seat in (Seat.NORTH, Seat.SOUTH):
            origin = self.row_origins[seat]
            for part in self._parts(seat):
                x_mm, y_mm = origin.to_table(part.x_mm, part.y_mm)
                yield RenderedBlock(
                    piece=block_id,
                    top=part.picture.copy,
                    side_colour=_WALL_RGB,
                    width_mm=part.width_mm,
                    depth_mm=part.depth_mm,
                    height_mm=part.height_mm,
                    x_mm=x_mm,
                    y_mm=y_mm,
                    z_mm=0.0,
                    turn_deg=origin.turn_deg + part.turn_deg,
                )
                block_id += 1

    def _parts(self, seat: Seat) -> Iterator[_Part]:
        """Yield the strip, the tiles and the wall of a row."""
        spec = self._spec
        row_width_mm = spec.row_width_mm
        yield _Part(_strip_picture(spec, seat), row_width_mm, spec.strip_mm, _PAPER_MM)
        for tile in self.laid[seat]:
            rgb = self._kit.sides[tile.seat].rgb
            picture = _tile_picture(spec, tile.seat, tile.letter, rgb)
            yield _Part(
                picture, spec.width_mm, spec.depth_mm, _TILE_MM, tile.x_mm, tile.y_mm, tile.turn_deg
            )
        wall_top = np.full((8, 8, 3), hex_to_bgr(_WALL_RGB), np.uint8)
        yield _Part(wall_top, row_width_mm, _WALL_THICKNESS_MM, spec.wall_mm, y_mm=spec.wall_y_mm)

    def hidden_areas_mm(self) -> list[Points]:
        """Return the areas that no picture may show, one (4, 2) quadrangle for each row.

        Each is in mm on the board's plane, and reaches from the wall to behind the strip.
        """
        spec = self._spec
        wall_y = spec.wall_y_mm
        player_y = -spec.strip_mm / 2 - HIDDEN_MARGIN_MM
        half_width = spec.row_width_mm / 2 + HIDDEN_MARGIN_MM
        corners = (
            (-half_width, wall_y),
            (half_width, wall_y),
            (half_width, player_y),
            (-half_width, player_y),
        )
        return [
            np.array([origin.to_table(*corner) for corner in corners])
            for origin in self.row_origins.values()
        ]


def _draw_marker(picture: Bgr, marker: int, x_mm: float, y_mm: float, size_mm: float) -> None:
    """Draw a marker centred at (x, y) mm from the lower left corner of a print."""
    side = round(size_mm * _PX_PER_MM)
    modules = marker_modules(marker, CARD_DICTIONARY)
    enlarged = cv2.resize(modules, (side, side), interpolation=cv2.INTER_NEAREST)
    left = round(x_mm * _PX_PER_MM - side / 2)
    # `y_mm` counts from the lower edge, rows of pixels from the upper one.
    top = round(len(picture) - y_mm * _PX_PER_MM - side / 2)
    levels = enlarged.clip(_INK_LEVEL, _PAPER_LEVEL)
    picture[top : top + side, left : left + side] = levels[..., None]


def _blank_paper(width_mm: float, depth_mm: float) -> Bgr:
    rows = round(depth_mm * _PX_PER_MM)
    columns = round(width_mm * _PX_PER_MM)
    return np.full((rows, columns, 3), _PAPER_LEVEL, np.uint8)


def _strip_picture(spec: OrderTiles, seat: Seat) -> Bgr:
    """Draw the strip of a seat's row with its markers."""
    picture = _blank_paper(spec.row_width_mm, spec.strip_mm)
    for index, marker in enumerate(spec.rows[seat]):
        x_mm = spec.row_width_mm / 2 + spec.strip_x_mm(index)
        _draw_marker(picture, marker, x_mm, spec.strip_mm / 2, spec.strip_marker_mm)
    return picture


def _tile_picture(spec: OrderTiles, seat: Seat, letter: str, rgb: str) -> Bgr:
    """Draw a tile: a field in the side's colour above, its marker on white below."""
    picture = _blank_paper(spec.width_mm, spec.depth_mm)
    # The coloured field ends 3 mm above the marker.
    field_mm = spec.depth_mm - spec.marker_up_mm - spec.marker_mm / 2 - 3
    picture[: round(field_mm * _PX_PER_MM)] = hex_to_bgr(rgb)
    _draw_marker(
        picture, spec.orders[seat][letter], spec.width_mm / 2, spec.marker_up_mm, spec.marker_mm
    )
    return picture
