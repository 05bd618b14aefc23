"""Reads rows of order tiles, which players lay behind walls beside the board.

Each seat has a printed strip with markers, and lays its tiles along it, one in each place.

1. Find the markers of strips and tiles in the picture. The pose of the board gives the plane of the
   table, and so where each marker lies.
2. Fit the axes of a row to the markers of its strip. In these axes the places are known.
3. Assign each tile to its nearest place, and check that it lies properly.
4. Each place has to have one tile of the right seat. Otherwise the row has a fault.
5. Several pictures have to agree before a row is answered (`TileWatch`).

Orders are secret until both seats reveal them. So nothing that is read is logged or drawn, and
nothing is kept after it was answered. An unknown row is better than a wrong one.

The limits were chosen by trial on rendered rows. `tests/vision/test_order_tiles.py` reads rows in
many lights and from many places, and none may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from companion.core.kit import (
    CARD_DICTIONARY,
    Kit,
    OrderTiles,
    RowFault,
    RowSeen,
    RowsSeen,
    RowsWanted,
    Seat,
)
from vision.detection.markers import THOROUGH, Luma, MarkerFinder, Sighting, sharpen
from vision.pose.board_copies import drop_duplicates
from vision.pose.pose import Floats, Points, Pose, square_corners_mm

# Number of pictures in a row that have to agree. With two, one wrong picture would make a tie.
AGREEING_PICTURES = 3

# Number of pictures without agreement after which the last answer is returned as a fault. Players
# wait for about a second at ten pictures a second.
MAX_PICTURES = 12

# Maximum distance in mm of a tile from its place, along and across the row. A tile farther off is
# askew. Larger: a tile between two places counts for one of them.
_MAX_OFF_MM = 9.0, 11.0

# Maximum turn in degrees of a tile that is not askew.
_MAX_OFF_DEG = 25.0

# Maximum distance in mm (along and across the row) between a tile's marker and a place. Tiles
# farther off do not belong to the row.
_MAX_NEAR_MM = 20.0, 30.0

# Minimum and maximum side of a marker, relative to the printed one. A marker of another size is not
# on the table's plane, or belongs to something else.
_SIZE_RATIOS = 0.75, 1.3

# Maximum distance in mm between the markers of a strip and where a rigid strip has them. If it is
# larger, the strip is bent, or the markers belong to two strips.
_MAX_STRIP_ERROR_MM = 3.0


class _Tile(NamedTuple):
    """A tile that was seen on the table's plane."""

    # The seat whose tile it is.
    seat: Seat
    # The order that is printed on it.
    letter: str
    # (4, 2): corners of its marker in board axes, upper left first, clockwise.
    corners_mm: Points


class TileReader:
    """Reads the tiles of one kit from single pictures, and remembers nothing of them.

    Raises `ValueError` for a kit without tiles that the camera reads.
    """

    def __init__(self, kit: Kit) -> None:
        if kit.order_tiles is None:
            raise ValueError(f"the kit of {kit.game} has no tiles that the camera reads")
        self._spec = kit.order_tiles
        self._finder = MarkerFinder(CARD_DICTIONARY)
        self._thorough_finder = MarkerFinder(CARD_DICTIONARY, windows=THOROUGH)
        # Seat and letter of each tile, by marker id.
        self._orders: dict[int, tuple[Seat, str]] = {}
        for seat, markers in self._spec.orders.items():
            for letter, marker in markers.items():
                self._orders[marker] = seat, letter
        # Ids of all markers of tiles and strips.
        self._own_ids = set(self._orders).union(*self._spec.rows.values())

    def read(self, luma: Luma, pose: Pose | None, seats: Iterable[Seat]) -> dict[Seat, RowSeen]:
        """Return the row of each of these seats in a (height, width) picture.

        `pose` is the pose of the board. If it is None, no board is seen, so no row can be read.
        """
        if pose is None:
            return {seat: RowSeen(fault=RowFault.NO_BOARD) for seat in seats}

        # Search quickly. Search thoroughly, which takes several times as long, only if that finds a
        # fault: a marker may have been missed.
        sightings = self._own_markers(self._finder.find(luma).sightings)
        rows = self._read_rows(seats, sightings, pose)
        if any(row.fault for row in rows.values()):
            sightings = self._own_markers(
                (*sightings, *self._thorough_finder.find(sharpen(luma)).sightings)
            )
            rows = self._read_rows(seats, sightings, pose)
        return rows

    def _own_markers(self, sightings: Iterable[Sighting]) -> Sequence[Sighting]:
        """Return the markers of strips and tiles, each once."""
        own = [sighting for sighting in sightings if sighting.marker in self._own_ids]
        return drop_duplicates(own)

    def _read_rows(
        self, seats: Iterable[Seat], sightings: Sequence[Sighting], pose: Pose
    ) -> dict[Seat, RowSeen]:
        """Return the row of each seat by these sightings."""
        tiles = []
        for sighting in sightings:
            if sighting.marker in self._orders:
                corners_mm = pose.to_plane(sighting.corners_px)
                tiles.append(_Tile(*self._orders[sighting.marker], corners_mm))
        return {seat: self._read_row(seat, sightings, tiles, pose) for seat in seats}

    def _read_row(
        self, seat: Seat, sightings: Sequence[Sighting], tiles: Sequence[_Tile], pose: Pose
    ) -> RowSeen:
        """Return the row of one seat."""
        # The markers of this seat's strip.
        strip = [sighting for sighting in sightings if sighting.marker in self._spec.rows[seat]]
        if len({sighting.marker for sighting in strip}) < len(strip):
            # A marker of the strip is seen twice.
            return RowSeen(fault=RowFault.TWO_STRIPS)
        axes = self._fit_row_axes(seat, strip, pose)
        if axes is None:
            return RowSeen(fault=RowFault.NO_STRIP)
        return self._read_places(seat, [(tile, axes.to_row(tile.corners_mm)) for tile in tiles])

    def _fit_row_axes(self, seat: Seat, strip: Sequence[Sighting], pose: Pose) -> _RowAxes | None:
        """Return the axes of a row, from the markers of its strip.

        Returns None unless at least two markers lie as on one strip of the printed size.
        """
        if len(strip) < 2:
            return None
        spec = self._spec
        # The corners (N, 2) mm as printed, in the axes of the row, and as measured on the table.
        printed, measured = [], []
        for sighting in strip:
            x_mm = spec.strip_x_mm(spec.rows[seat].index(sighting.marker))
            printed.append(square_corners_mm(x_mm, 0.0, spec.strip_marker_mm))
            measured.append(pose.to_plane(sighting.corners_px))
        printed_mm = np.vstack(printed)
        measured_mm = np.vstack(measured)
        if not np.isfinite(measured_mm).all():
            return None
        # All of them have to fit one rigid strip.
        axes = _RowAxes.fit(printed_mm, measured_mm)
        errors_mm = np.linalg.norm(axes.to_row(measured_mm) - printed_mm, axis=1)
        return axes if errors_mm.max() <= _MAX_STRIP_ERROR_MM else None

    def _read_places(self, seat: Seat, tiles: Sequence[tuple[_Tile, Points]]) -> RowSeen:
        """Return what lies in the places of a row.

        `tiles` are all tiles with the corners (4, 2) mm of their markers in the axes of the row.
        """
        spec = self._spec
        # The tiles in each place, and whether each lies properly.
        by_place: dict[int, list[tuple[_Tile, bool]]] = {place: [] for place in range(spec.places)}
        for tile, corners in tiles:
            # Tiles far from every place do not belong to the row.
            place, offset = self._nearest_place(corners.mean(axis=0))
            if not np.isfinite(corners).all() or (np.abs(offset) > _MAX_NEAR_MM).any():
                continue
            # It must be near its place, upright, and of the printed size.
            is_near = bool((np.abs(offset) <= _MAX_OFF_MM).all())
            is_upright = abs(_turn_deg(corners)) <= _MAX_OFF_DEG
            is_proper = is_near and is_upright and _has_printed_size(corners, spec)
            by_place[place].append((tile, is_proper))

        # The first wrong place is reported.
        letters = ""
        for place, tiles_here in by_place.items():
            if fault := _find_fault(seat, tiles_here):
                # Places count from 1 for people.
                return RowSeen(fault=fault, place=place + 1)
            # A place without a fault has exactly one tile.
            ((tile, _),) = tiles_here
            letters += tile.letter
        return RowSeen(letters)

    def _nearest_place(self, point: Points) -> tuple[int, Points]:
        """Return the index of the place nearest to a point (2,) mm, and the offset from it."""
        spec = self._spec
        # Where the marker of a tile in each place is.
        centres = np.array([spec.place_centre_mm(place) for place in range(spec.places)])
        centres[:, 1] += spec.marker_up_mm - spec.depth_mm / 2
        # Places lie side by side.
        place = int(np.abs(centres[:, 0] - point[0]).argmin())
        return place, point - centres[place]


class TileWatch:
    """Reads the requested rows from one picture after the other until several agree.

    `request` may be called from any thread, the rest from the watcher's. The rows are forgotten
    once they are returned.
    """

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self._reader = TileReader(kit)
        # The request that has not been answered. None if there is none.
        self._wanted: RowsWanted | None = None
        # Number of the request to which the following fields belong.
        self._number = 0
        # The rows of the last picture.
        self._last: Mapping[Seat, RowSeen] = {}
        # Number of pictures in a row with these rows.
        self._agreeing = 0
        # Number of pictures read for this request.
        self._pictures = 0

    def request(self, wanted: RowsWanted | None) -> None:
        """Read these rows from now on. None withdraws the request."""
        self._wanted = wanted

    def read_picture(self, luma: Luma, at_s: float, pose: Pose | None) -> RowsSeen | None:
        """Read a (height, width) picture taken at the monotonic time `at_s`.

        Returns the rows once, when enough pictures agree, or when too many do not. Otherwise
        returns None.
        """
        wanted = self._wanted
        if wanted is None or at_s < wanted.since_s:
            return None
        if wanted.number != self._number:
            # Other rows were requested meanwhile.
            self._number = wanted.number
            self._last = {}
            self._agreeing = self._pictures = 0

        # Count the pictures in a row that agree.
        rows = self._reader.read(luma, pose, wanted.seats)
        self._pictures += 1
        self._agreeing = self._agreeing + 1 if rows == self._last else 1
        self._last = rows
        is_agreed = self._agreeing >= AGREEING_PICTURES
        if not is_agreed and self._pictures < MAX_PICTURES:
            return None
        if not is_agreed:
            # The pictures differ, so a row that was read without a fault may be wrong. Report a
            # tile as missing instead.
            missing = RowSeen(fault=RowFault.MISSING, place=1)
            rows = {seat: row if row.fault else missing for seat, row in rows.items()}
        self._wanted = None
        self._last = {}
        return RowsSeen(wanted.number, rows)


@dataclass(frozen=True, eq=False)
class _RowAxes:
    """Axes of a row on the table: table = rotation @ row + origin.

    The origin of the row is the middle of its strip. For the player whose row it is, x runs along
    the strip to the right, and y away from the player, as in `OrderTiles`.
    """

    # (2, 2): rotation from the axes of the row to the axes of the board.
    rotation: Floats
    # (2,) mm: middle of the strip in board axes.
    origin: Points

    @classmethod
    def fit(cls, printed: Points, measured: Points) -> _RowAxes:
        """Return the axes that take printed points (N, 2) mm to the measured ones (N, 2) best.

        This is a rigid motion without a scale (Kabsch 1976).
        """
        # The rotation follows from the singular vectors of both sets around their means.
        printed_mean = printed.mean(axis=0)
        mean = measured.mean(axis=0)
        left, _, right = np.linalg.svd((measured - mean).T @ (printed - printed_mean))
        # A negative determinant would be a reflection.
        rotation = left @ np.diag([1.0, np.sign(np.linalg.det(left @ right))]) @ right
        return cls(rotation, mean - rotation @ printed_mean)

    def to_row(self, points_mm: Points) -> Points:
        """Return points (N, 2) of the table in the axes of the row."""
        return (points_mm - self.origin) @ self.rotation


def _find_fault(seat: Seat, tiles: Sequence[tuple[_Tile, bool]]) -> RowFault | None:
    """Return what is wrong with the tiles in one place, or None.

    `tiles` are pairs of a tile and whether it lies properly.
    """
    if not tiles:
        return RowFault.MISSING
    if len(tiles) > 1:
        return RowFault.DOUBLED
    ((tile, is_proper),) = tiles
    if tile.seat is not seat:
        return RowFault.FOREIGN
    return None if is_proper else RowFault.ASKEW


def _turn_deg(corners: Points) -> float:
    """Return the rotation of a marker against its row in degrees, counter-clockwise.

    Its corners (4, 2) in the axes of the row go clockwise from the upper left.
    """
    # From the lower edge of the print to the upper one.
    up = corners[:2].mean(axis=0) - corners[2:].mean(axis=0)
    return float(np.degrees(np.arctan2(-up[0], up[1])))


def _has_printed_size(corners: Points, spec: OrderTiles) -> bool:
    # All four sides of a marker (4, 2) mm.
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1) / spec.marker_mm
    low, high = _SIZE_RATIOS
    return bool(((sides >= low) & (sides <= high)).all())
