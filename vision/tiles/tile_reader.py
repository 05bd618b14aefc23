"""Reads rows of order tiles. The pose of the board gives the plane, a strip of markers the row, and
the row its places.

Nothing that is read is kept, logged or drawn. An unknown row is better than a wrong one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
from vision.detection.markers import Luma, MarkerFinder, Sighting, sharpened
from vision.pose.board_copies import without_duplicates
from vision.pose.pose import Points, Pose, square_corners_mm

AGREEING = 3
"""Number of pictures in a row that have to agree."""
MOST_FRAMES = 12
"""Number of pictures without agreement after which the last answer is returned as a fault."""
_OFF_MM, _OFF_DEG = (9.0, 11.0), 25.0
"""Maximum distance and turn of a tile from its place. Beyond them it is askew."""
_NEAR_MM = (20.0, 30.0)
"""Maximum distance in mm between a tile's marker and a place of the row. Tiles farther off are
ignored.
"""
_SIZE = 0.75, 1.3
"""Limits for the side of a marker, relative to the printed one."""
_RIGID_MM = 3.0
"""Maximum error in mm of the markers of a strip against a rigid strip."""


@dataclass(frozen=True)
class _Tile:
    """A tile on the table's plane: its seat, its letter, the middle of its marker and the corners,
    (4, 2) mm.
    """

    seat: Seat
    letter: str
    corners_mm: Points


class TileReader:
    """Reads the tiles of one kit from single pictures. Raises ValueError for a kit without any."""

    def __init__(self, kit: Kit) -> None:
        if kit.order_tiles is None:
            raise ValueError(f"the kit of {kit.game} has no tiles that the camera reads")
        self._spec = kit.order_tiles
        self._finder = MarkerFinder(CARD_DICTIONARY)
        self._patient = MarkerFinder(CARD_DICTIONARY, thorough=True)
        self._orders: dict[int, tuple[Seat, str]] = {}
        for seat, own in self._spec.orders.items():
            for letter, marker in own.items():
                self._orders[marker] = seat, letter
        self._own = set(self._orders).union(*self._spec.rows.values())

    def read(self, luma: Luma, pose: Pose | None, seats: Iterable[Seat]) -> dict[Seat, RowSeen]:
        """Return the row of each seat in a (height, width) picture. `pose` is that of the board,
        None if it is not seen.
        """
        if pose is None:
            return {seat: RowSeen(fault=RowFault.NO_BOARD) for seat in seats}
        # A quick search first.
        sightings = self._own_among(self._finder.find(luma).sightings)
        rows = self._rows(seats, sightings, pose)
        if any(row.fault for row in rows.values()):  # a closer look takes several times as long
            sightings = self._own_among(
                (*sightings, *self._patient.find(sharpened(luma)).sightings)
            )
            rows = self._rows(seats, sightings, pose)
        return rows

    def _own_among(self, sightings: Iterable[Sighting]) -> list[Sighting]:
        """Return the markers of rows and tiles, each once."""
        return list(
            without_duplicates(sighting for sighting in sightings if sighting.marker in self._own)
        )

    def _rows(
        self, seats: Iterable[Seat], sightings: Sequence[Sighting], pose: Pose
    ) -> dict[Seat, RowSeen]:
        tiles = []
        for sighting in sightings:
            if sighting.marker in self._orders:
                # Its position on the table.
                corners_mm = pose.to_plane(sighting.corners_px)
                tiles.append(_Tile(*self._orders[sighting.marker], corners_mm))
        return {seat: self._row(seat, sightings, tiles, pose) for seat in seats}

    def _row(
        self, seat: Seat, sightings: Sequence[Sighting], tiles: Sequence[_Tile], pose: Pose
    ) -> RowSeen:
        # The markers of this seat's strip.
        strip = [sighting for sighting in sightings if sighting.marker in self._spec.rows[seat]]
        if max(Counter(sighting.marker for sighting in strip).values(), default=0) > 1:
            return RowSeen(fault=RowFault.TWO_STRIPS)
        frame = self._frame_of(seat, strip, pose)
        if frame is None:
            return RowSeen(fault=RowFault.NO_STRIP)
        return self._row_of_tiles(seat, [(tile, frame.to_row(tile.corners_mm)) for tile in tiles])

    def _frame_of(self, seat: Seat, strip: Sequence[Sighting], pose: Pose) -> _RowFrame | None:
        """Return the axes of a row. None unless at least two markers lie as on one strip of the
        printed size.
        """
        if len(strip) < 2:
            return None
        spec = self._spec
        # Printed and seen positions.
        middles = [spec.strip_x_mm(spec.rows[seat].index(sighting.marker)) for sighting in strip]
        printed = np.vstack([square_corners_mm(x, 0.0, spec.strip_marker_mm) for x in middles])
        seen = np.vstack([pose.to_plane(sighting.corners_px) for sighting in strip])
        if not np.isfinite(seen).all():
            return None
        # All of them have to fit one rigid strip.
        frame = _RowFrame.fitted(printed, seen)
        off = np.linalg.norm(frame.to_row(seen) - printed, axis=1)
        return frame if off.max() <= _RIGID_MM else None

    def _row_of_tiles(self, seat: Seat, tiles: Sequence[tuple[_Tile, Points]]) -> RowSeen:
        """Return what lies in the places of a row. `tiles` have their corners in the axes of the
        row.
        """
        spec = self._spec
        lying: dict[int, list[tuple[_Tile, bool]]] = {place: [] for place in range(spec.places)}
        for tile, corners in tiles:
            # Tiles far from every place do not belong to the row.
            place, off = self._nearest(corners.mean(axis=0))
            if not np.isfinite(corners).all() or (np.abs(off) > _NEAR_MM).any():
                continue
            # It must be near its place, upright, and of the printed size.
            is_well = bool((np.abs(off) <= _OFF_MM).all()) and abs(_turned_deg(corners)) <= _OFF_DEG
            lying[place].append((tile, is_well and _is_as_large(corners, spec)))

        # The first wrong place is reported.
        letters = ""
        for place, found in lying.items():
            if fault := _fault_of(seat, found):
                return RowSeen(fault=fault, place=place + 1)
            letters += found[0][0].letter
        return RowSeen(letters)

    def _nearest(self, middle: Points) -> tuple[int, Points]:
        """Return the place nearest to a point, and the offset from it, (2,) mm."""
        spec = self._spec
        places = np.array([spec.place_centre_mm(place) for place in range(spec.places)])
        places[:, 1] += spec.marker_up_mm - spec.depth_mm / 2
        # Places lie side by side.
        place = int(np.abs(places[:, 0] - middle[0]).argmin())
        return place, middle - places[place]


class TileWatch:
    """Reads the requested rows from one picture after the other until several agree.

    `begin` may be called from any thread, the rest from the watcher's.
    """

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self._reader = TileReader(kit)
        self._wanted: RowsWanted | None = None
        self._last: Mapping[Seat, RowSeen] = {}
        self._agreeing = self._frames = 0
        self._number = 0

    def begin(self, wanted: RowsWanted | None) -> None:
        """Read these rows from now on. None stops reading."""
        self._wanted = wanted

    def see(self, luma: Luma, at_s: float, pose: Pose | None) -> RowsSeen | None:
        """Read a picture taken at `at_s`.

        Answers once, when enough pictures agree or too many do not.
        """
        wanted = self._wanted
        if wanted is None or at_s < wanted.since_s:
            return None
        if wanted.number != self._number:
            # Other rows were requested meanwhile.
            self._number, self._last, self._agreeing, self._frames = wanted.number, {}, 0, 0

        # Count the pictures in a row that agree.
        rows = self._reader.read(luma, pose, wanted.seats)
        self._frames += 1
        self._agreeing = self._agreeing + 1 if rows == self._last else 1
        self._last = rows
        if self._agreeing < AGREEING and self._frames < MOST_FRAMES:
            return None
        if self._agreeing < AGREEING:
            rows = {
                seat: row if row.fault else RowSeen(fault=RowFault.MISSING, place=1)
                for seat, row in rows.items()
            }
        self._wanted, self._last = None, {}
        return RowsSeen(wanted.number, rows)


@dataclass(frozen=True, eq=False)
class _RowFrame:
    """Axes of a row on the table: table = turn @ row + origin."""

    turn: Points
    """(2, 2) rotation."""
    origin: Points
    """(2,) middle of the strip in mm."""

    @classmethod
    def fitted(cls, printed: Points, seen: Points) -> _RowFrame:
        """Fit the rigid motion that takes (N, 2) printed points to the seen ones (Kabsch, without a
        scale).
        """
        # Rotation by the singular values of both sets around their means.
        middle, there = printed.mean(axis=0), seen.mean(axis=0)
        left, _, right = np.linalg.svd((seen - there).T @ (printed - middle))
        turn = left @ np.diag([1.0, np.sign(np.linalg.det(left @ right))]) @ right
        return cls(turn, there - turn @ middle)

    def to_row(self, points_mm: Points) -> Points:
        """Return (N, 2) points of the table in the axes of the row."""
        return (points_mm - self.origin) @ self.turn


def _fault_of(seat: Seat, found: Sequence[tuple[_Tile, bool]]) -> RowFault | None:
    if not found:
        return RowFault.MISSING
    if len(found) > 1:
        return RowFault.DOUBLED
    tile, is_well = found[0]
    if tile.seat is not seat:
        return RowFault.FOREIGN
    return None if is_well else RowFault.ASKEW


def _turned_deg(corners: Points) -> float:
    """Return the angle between a marker and its row in degrees. The corners (4, 2) go clockwise
    from the upper left.
    """
    # From the lower edge of the print to the upper one.
    up = corners[:2].mean(axis=0) - corners[2:].mean(axis=0)
    return float(np.degrees(np.arctan2(-up[0], up[1])))


def _is_as_large(corners: Points, spec: OrderTiles) -> bool:
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1) / spec.marker_mm
    return bool((sides >= _SIZE[0]).all() and (sides <= _SIZE[1]).all())
