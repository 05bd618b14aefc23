"""The things on the table: the board's geometry, its pieces, their faces and their markers.

A game describes them once, as a `Kit`. `companion.printing` prints it, and `vision` looks for it in
pictures, so that both always agree. All values are frozen.

A piece is a thing that players move. It has one face, or two if it can be turned over, and each
face carries a marker: a printed square that OpenCV's ArUco detector reads. Faces have names, by
which layouts, events and sentences speak of them.

Board axes: the origin is the outer south-west corner of square a1, x runs to South's right, y away
from South, z up from the paper. All lengths are in mm.

         North
    y ^ +---+---+       The upper edge of a printed marker points away from South.
      | | a2| b2|
      | +---+---+
      | | a1| b1|
      0 +---+---+--> x
         South

Marker ids 0-19 are board corners (four for each game), pieces begin at 20, cards at 100, order
tiles at 180. An id has the same meaning in all games of the project, so that a piece of another
game is recognised as such.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from companion.core.grid import Square
from companion.core.i18n import say

# Name of the OpenCV marker dictionary of boards and pieces. It had no false reads in measurements,
# and its markers need 1-2 px more in the picture than those of 4x4 modules.
DICTIONARY = "DICT_5X5_100"

# Name of the dictionary of cards and order tiles, of which there are many. Its first 100 markers
# are those of `DICTIONARY`.
CARD_DICTIONARY = "DICT_5X5_250"


class Seat(StrEnum):
    """The two seats: South below rank 1, North opposite."""

    SOUTH = "south"
    NORTH = "north"

    @property
    def other(self) -> "Seat":
        """The opposite seat."""
        return Seat.NORTH if self is Seat.SOUTH else Seat.SOUTH

    @property
    def number(self) -> int:
        """Index of the seat in `SEATS`: 0 for South, 1 for North."""
        return SEATS.index(self)


SEATS = (Seat.SOUTH, Seat.NORTH)
# Names of the seats in the middle of a sentence. As a part of `say`, a seat itself works as well.
SEAT_WORDS: Mapping[Seat, str] = {Seat.SOUTH: say("south"), Seat.NORTH: say("north")}

# Sizes of what is printed, chosen by eye. They never change, because later versions must read every
# kit that was ever printed (docs/stability.md).

# Width of the line around each square, inside the square.
LINE_MM = 0.5
# Width of the frame around a board without gaps.
FRAME_MM = 0.8
# Side of a plain piece's top, as a multiple of the side of its marker. It leaves one module of
# quiet zone and a thin coloured rim.
TOP_TO_TAG = 1.4
# Width of the rim of pieces with something to read: a letter, or a drawing that distinguishes two
# faces.
WIDE_RIM_MM = 4.2
# How much smaller a piece of several squares is than these squares, so that it does not get stuck.
LOOSE_MM = 4.0
# Minimum clearance between a square and a piece with a wide rim.
_MIN_CLEARANCE_MM = 0.4

# Faces on each square, from the bottom to the top. Squares without a piece are omitted.
Layout = Mapping[Square, tuple[str, ...]]


# Names of the colours that a side can have. Each is a variable of the pages' style sheets, and
# readable on light and on dark pages.
SIDE_COLOURS = (
    "purple",
    "lime",
    "white",
    "black",
    "petrol",
    "coral",
    "blue",
    "pink",
    "ice",
    "crimson",
)


@dataclass(frozen=True)
class Side:
    """The appearance of a seat in one game. South is round and plain, North angular and dotted."""

    name: str
    """Name in the middle of a sentence, such as `purple`."""
    colour: str
    """One of `SIDE_COLOURS`."""
    rgb: str
    """Same colour for paper and rendered scenes, `#rrggbb` (light theme)."""
    drawing: str
    """Drawing that represents the side."""
    cheering: str = ""
    """Drawing of a side that has won. If it is empty, `drawing` is used."""


@dataclass(frozen=True)
class Face:
    """One face of a piece: what is visible from above while that side is up."""

    name: str
    """Name in a layout and in sentences, such as `purple robot`."""
    drawing: str
    """Name of its drawing in `companion.core.drawings`."""
    markers: tuple[int, ...]
    """All marker ids of this face. Equal pieces have equal faces and different markers."""
    height_mm: float
    """Height of the marker above the surface on which the piece stands."""
    seat: Seat | None = None
    """The seat that owns the piece. None for one that belongs to nobody, such as a ball."""
    carried: bool = False
    """Whether another piece can carry it, such as a flag or a ball. It is drawn small at the
    shoulder of the piece with which it shares a square.
    """
    letter: str = ""
    """Text on the piece, one or two characters such as a number or a role."""
    size: tuple[int, int] = (1, 1)
    """Number of squares that the piece covers, across and along. It may be turned by a right angle.
    A layout has the piece on all of these squares.
    """
    sign: str = ""
    """Name of a drawing printed on the piece beside its letter, as a picture of what it is."""
    lies: bool = False
    """Whether this face shows the piece lying down: only its outline is drawn, and its letter is
    rotated by a right angle.
    """

    def turned_size(self, turn_deg: float) -> tuple[int, int]:
        """Return the number of squares that the piece covers, across and along, once it is turned.

        `turn_deg` is the angle of the turn in degrees, which may be any angle near a multiple of
        90.
        """
        # After an even number of quarter turns, the piece covers the same squares as before.
        is_across = round(turn_deg / 90) % 2 == 0
        return self.size if is_across else self.size[::-1]


@dataclass(frozen=True)
class Mark:
    """Printed art on a square."""

    square: Square
    drawing: str
    """Name of a drawing in `companion.core.drawings`."""
    seat: Seat | None = None
    """The seat whose colour the art has. If it is None, the art has the colour of the lines."""


class BlockFit(NamedTuple):
    """The block of squares on which a piece of several squares fits best.

    The offsets say how far the piece lies from the middle of the block, in squares (-0.5 to 0.5).
    """

    first: Square
    """Lower left square of the block, which may be off the board."""
    off_files: float
    """Offset to South's right."""
    off_ranks: float
    """Offset away from South."""


@dataclass(frozen=True)
class Board:
    """A printed board: squares in files (columns) and ranks (rows), and corner markers.

    The markers are in two strips, beyond the first and the last rank.
    """

    name: str
    """Name that tells the boards of a game apart, such as `standard`."""
    files: int
    ranks: int
    square_mm: float
    """Width of a square, and its depth unless `depth_mm` says otherwise."""
    gap_mm: float
    """Distance between neighbouring squares."""
    corners: tuple[int, int, int, int]
    """Ids of the markers by which the camera finds the board: south-west, south-east, north-east,
    north-west.
    """
    corner_mm: float = 24.0
    """Side of a corner marker."""
    strip_mm: float = 30.0
    """Depth of each strip."""
    marks: tuple[Mark, ...] = ()
    labels_in_squares: bool = False
    """Whether each square has its name in it. Otherwise files and ranks are labelled outside."""
    holes: frozenset[Square] = frozenset()
    """Squares on which no piece can be, such as walls."""
    tones: int = 1
    """Number of shades. With 2, neighbouring squares differ, as on a chess board."""
    has_goals: bool = False
    """Whether the strips are goals, in the pattern of the side that defends them."""
    depth_mm: float = 0.0
    """Depth of each rank if it differs from the width of a square: the zones of a board of
    cards.
    """

    @cached_property
    def pitch_mm(self) -> float:
        """Distance between the centres of neighbouring squares."""
        return self.square_mm + self.gap_mm

    @cached_property
    def width_mm(self) -> float:
        """Width of the squares, without any margin."""
        return self.files * self.pitch_mm - self.gap_mm

    @cached_property
    def rank_pitch_mm(self) -> float:
        """Distance between neighbouring ranks."""
        return (self.depth_mm or self.square_mm) + self.gap_mm

    @cached_property
    def height_mm(self) -> float:
        """Depth of the squares, without the strips."""
        return self.ranks * self.rank_pitch_mm - self.gap_mm

    @cached_property
    def squares(self) -> tuple[Square, ...]:
        """All squares by file, then rank."""
        return tuple(Square(f, r) for f in range(self.files) for r in range(self.ranks))

    def centre_mm(self, square: Square) -> tuple[float, float]:
        """Return the centre of a square as (x, y), in the axes of the board."""
        half_width = self.square_mm / 2
        half_depth = (self.depth_mm or self.square_mm) / 2
        return (
            square.file * self.pitch_mm + half_width,
            square.rank * self.rank_pitch_mm + half_depth,
        )

    def middle_mm(self, first: Square, size: tuple[int, int]) -> tuple[float, float]:
        """Return the centre of a block of squares as (x, y), with `first` as its lower left square.

        `size` is the number of squares across and along.
        """
        x, y = self.centre_mm(first)
        return x + (size[0] - 1) * self.pitch_mm / 2, y + (size[1] - 1) * self.rank_pitch_mm / 2

    def fit_block(self, size: tuple[int, int], x_mm: float, y_mm: float) -> BlockFit:
        """Return the block of squares nearest to a piece of several squares with this centre.

        `size` is the number of squares that the piece covers, across and along.
        """
        a1_x_mm, a1_y_mm = self.middle_mm(Square(0, 0), size)
        # Offset from a piece that lies exactly on the block from a1 on, in squares.
        files = (x_mm - a1_x_mm) / self.pitch_mm
        ranks = (y_mm - a1_y_mm) / self.rank_pitch_mm
        first = Square(math.floor(files + 0.5), math.floor(ranks + 0.5))
        return BlockFit(first, files - first.file, ranks - first.rank)

    def square_at(self, x_mm: float, y_mm: float) -> Square | None:
        """Return the square whose cell contains a point, or None beside the board.

        The cell of a square reaches to the middle of the gaps around it.
        """
        half_gap = self.gap_mm / 2
        file = int((x_mm + half_gap) // self.pitch_mm)
        rank = int((y_mm + half_gap) // self.rank_pitch_mm)
        return Square(file, rank) if 0 <= file < self.files and 0 <= rank < self.ranks else None

    @cached_property
    def corner_centres_mm(self) -> dict[int, tuple[float, float]]:
        """Centre of each corner marker as (x, y), by the marker's id.

        Markers are flush with the outer files, in the middle of the strips.
        """
        left = self.corner_mm / 2
        right = self.width_mm - self.corner_mm / 2
        south = -self.strip_mm / 2
        north = self.height_mm + self.strip_mm / 2
        centres = ((left, south), (right, south), (right, north), (left, north))
        return dict(zip(self.corners, centres, strict=True))


@dataclass(frozen=True)
class Card:
    """A playing card. Name and suit are as in the notation."""

    name: str
    value: str
    """Value as printed, such as `10`."""
    suit: str
    drawing: str
    """Name of the suit's drawing in `companion.core.drawings`."""
    marker: int
    """Id in `CARD_DICTIONARY`, from 100 on, but not one of the order tiles."""


@dataclass(frozen=True)
class Deck:
    """Cards with a common back, in poker size (63 x 88 mm).

    They look the same when turned by 180 degrees. Value and suit are in the upper left and, upside
    down, in the lower right corner. The marker is in the upper right and, upside down, in the lower
    left corner. The top of each marker points to the nearer short edge, so that either of them
    gives the position of the card.

    On the board, each square is the zone of a seat, in which its cards lie as a fan. The fan begins
    at the edge of its seat and grows away from it.
    """

    cards: tuple[Card, ...]
    zones: Mapping[Seat, int] = field(hash=False)
    """Rank of the zones of each seat. Each file is a lane."""
    width_mm: float = 63.0
    height_mm: float = 88.0
    marker_mm: float = 12.5
    inset_mm: float = 3.0
    """Distance of markers, value and suit from the edges of the card."""
    step_mm: float = 17.0
    """Offset between two cards of a fan, so that marker and value of each are visible."""
    lane_piles: tuple[str, ...] = (say("deck"), say("discard"))
    """Piles at South's end of each lane, from the board outwards. They are beside the area that the
    camera reads.
    """
    side_piles: tuple[str, ...] = (say("deck"), say("discard"))
    """North's own piles beside the lanes, the one farther from North first."""


@dataclass(frozen=True)
class OrderTiles:
    """Order tiles behind a wall, where the camera reads them: one row for each seat.

    A row has these parts, the nearest to its owner first:

    - the strip of markers, which no wall hides from a camera
    - the places of the tiles, the first at the left
    - the foot of the wall
    - the wall

    The origin of a row is the centre of its strip. x runs to the owner's right, y away from the
    owner. Markers are of `CARD_DICTIONARY`, with ids that nothing else has, so that a board reader
    ignores them. The sizes are chosen by eye. They stay, because later versions read what was
    printed before.
    """

    rows: Mapping[Seat, tuple[int, ...]]
    """Markers of each seat's strip, from left to right."""
    orders: Mapping[Seat, Mapping[str, int]]
    """Marker of each order's tile, by the order's letter in the notation."""
    places: int
    """Number of tiles in a row."""
    width_mm: float = 30.0
    """Width of a tile."""
    depth_mm: float = 44.0
    """Depth of a tile."""
    marker_mm: float = 20.0
    """Side of a tile's marker."""
    marker_up_mm: float = 13.0
    """Distance from the centre of a tile's marker to the tile's lower edge."""
    gap_mm: float = 1.0
    """Distance between neighbouring tiles, and between a tile and the strip or the foot."""
    strip_mm: float = 18.0
    """Depth of the strip."""
    strip_marker_mm: float = 14.0
    """Side of a marker of the strip."""
    foot_mm: float = 18.0
    """Depth of the foot of the wall."""
    wall_mm: float = 36.0
    """Height of the wall."""

    @property
    def row_width_mm(self) -> float:
        """Length of the strip and the wall, and of all places together."""
        return self.places * (self.width_mm + self.gap_mm) + self.gap_mm

    @property
    def places_mm(self) -> float:
        """Depth of the places, with a gap before and behind the tiles."""
        return self.depth_mm + 2 * self.gap_mm

    @property
    def row_depth_mm(self) -> float:
        """Depth from the strip's outer edge to the wall."""
        return self.strip_mm + self.foot_mm + self.places_mm

    def strip_x_mm(self, index: int) -> float:
        """Return the x of the centre of a marker of the strip, whose y is 0.

        `index` counts the markers from left to right. They have equal distances, and the outer ones
        are at the ends of the row.
        """
        reach = self.row_width_mm - self.strip_mm
        return reach * (index / (len(self.rows[Seat.SOUTH]) - 1) - 0.5)

    def place_centre_mm(self, place: int) -> tuple[float, float]:
        """Return the centre (x, y) of a tile that lies exactly in a place, numbered from 0."""
        x = (place - (self.places - 1) / 2) * (self.width_mm + self.gap_mm)
        return x, self.strip_mm / 2 + self.gap_mm + self.depth_mm / 2

    @property
    def wall_y_mm(self) -> float:
        """The y of the wall."""
        return self.strip_mm / 2 + self.places_mm + self.foot_mm


@dataclass(frozen=True)
class Kit:
    """Everything to print for a game, and everything that the camera may see of it."""

    game: str
    title: str
    board: Board
    sides: Mapping[Seat, Side]
    faces: tuple[Face, ...]
    pieces: tuple[tuple[str, ...], ...] = ()
    """Face names of each physical piece. A piece with one face is a flat tag."""
    tag_mm: float = 24.0
    """Side of the marker on a piece, with its black border."""
    notes: tuple[str, ...] = ()
    """Notes on the instruction sheet about these pieces."""
    deck: Deck | None = None
    """Cards of a card game. The squares of the board are their zones."""
    letters: Mapping[str, str] = field(default_factory=dict)
    """Meaning of the letters on pieces. Empty if they are plain numbers, or there are none."""
    order_tiles: OrderTiles | None = None
    """Order tiles that the camera reads. None if the game has none."""

    def __post_init__(self) -> None:
        markers = [*self.board.corners, *(marker for face in self.faces for marker in face.markers)]
        for marker, times in Counter(markers).items():
            if times > 1:
                raise ValueError(f"marker {marker} means two things in the kit of {self.game}")

    @cached_property
    def _faces_of_piece(self) -> dict[str, tuple[str, ...]]:
        """Names of all faces of a piece, by the name of each of them."""
        return {face: piece for piece in self.pieces for face in piece}

    @cached_property
    def _by_name(self) -> dict[str, Face]:
        return {face.name: face for face in self.faces}

    @cached_property
    def face_by_marker(self) -> Mapping[int, Face]:
        """Face of each marker of this game, by the marker's id."""
        return {marker: face for face in self.faces for marker in face.markers}

    def face(self, name: str) -> Face:
        """Return the face with this name. Raises KeyError for an unknown one."""
        return self._by_name[name]

    @cached_property
    def tags(self) -> tuple[tuple[tuple[Face, int], ...], ...]:
        """Every physical piece as a tag to print: its faces, each with its marker.

        The n-th piece with a face has the n-th marker of the face.
        """
        pieces = self.pieces or [(face.name,) for face in self.faces for _ in face.markers]
        # Number of pieces so far with each face.
        used: Counter[str] = Counter()
        tagged = []
        for names in pieces:
            faces = []
            for name in names:
                face = self.face(name)
                faces.append((face, face.markers[used[name] % len(face.markers)]))
            tagged.append(tuple(faces))
            used.update(names)
        return tuple(tagged)

    @cached_property
    def tallest_mm(self) -> float:
        """Height of the highest marker of a piece."""
        return max(map(attrgetter("height_mm"), self.faces), default=0.0)

    def has_wide_rim(self, face: Face) -> bool:
        """Return whether a piece on one square has something to read around its marker.

        That is a letter, or a drawing that distinguishes the faces of the piece.
        """
        return face.size == (1, 1) and (bool(face.letter) or len(self.faces_beside(face.name)) > 1)

    @cached_property
    def tops_mm(self) -> Mapping[str, tuple[float, float]]:
        """Width and depth of the top of a piece, by the name of the face on it.

        The marker is upright in the middle of the top.
        """
        board = self.board
        tops = {}
        for face in self.faces:
            if face.size != (1, 1):
                across, along = face.size
                # A piece of several squares is smaller than these squares with their gaps.
                margin_mm = board.gap_mm + LOOSE_MM
                width_mm = across * board.pitch_mm - margin_mm
                depth_mm = along * board.rank_pitch_mm - margin_mm
            else:
                width_mm = self.tag_mm * TOP_TO_TAG
                if self.has_wide_rim(face):
                    # 9/7: seven modules of marker and border, and one of quiet zone on each side.
                    with_rim_mm = self.tag_mm * 9 / 7 + 2 * WIDE_RIM_MM
                    width_mm = min(board.square_mm - _MIN_CLEARANCE_MM, with_rim_mm)
                depth_mm = width_mm
            tops[face.name] = (width_mm, depth_mm)
        return tops

    def kind(self, face: str) -> str:
        """Return the name of the piece with this face: the name of its first face.

        It stays the same when the piece is turned over.
        """
        return self.faces_beside(face)[0]

    def faces_beside(self, face: str) -> tuple[str, ...]:
        """Return the names of all faces of the piece that has this face, this one included."""
        return self._faces_of_piece.get(face, (face,))

    @cached_property
    def large_faces(self) -> frozenset[str]:
        """Names of the faces of pieces that cover several squares."""
        return frozenset(face.name for face in self.faces if face.size != (1, 1))

    def anchor_layout(self, layout: Mapping[Square, tuple[str, ...]]) -> Layout:
        """Return the layout with every piece of several squares only on its lower left square.

        Two such pieces never have the same face, so a face stands for one piece.
        """
        large_faces = self.large_faces
        if not large_faces:
            return layout
        anchors: dict[str, Square] = {}
        for square in sorted(layout):
            for face in layout[square]:
                # Squares are sorted by file, then rank, so the first one is the lower left.
                anchors.setdefault(face, square)
        anchored = {
            square: tuple(
                face for face in faces if face not in large_faces or anchors[face] == square
            )
            for square, faces in layout.items()
        }
        return {square: faces for square, faces in anchored.items() if faces}


# ---- readings of order tiles ---------------------------------------------------------------------


class RowFault(StrEnum):
    """Reason why a row of order tiles cannot be read."""

    # There is no camera, or it does not see the board, from which rows are measured.
    NO_BOARD = "no_board"
    # Fewer than two markers of the strip are seen, or they are not where they were printed.
    NO_STRIP = "no_strip"
    TWO_STRIPS = "two_strips"
    MISSING = "missing"  # no tile is read in a place: there is none, or it is covered
    ASKEW = "askew"
    DOUBLED = "doubled"  # two tiles lie in one place
    FOREIGN = "foreign"  # a tile of the other side


@dataclass(frozen=True)
class RowSeen:
    """The row of one seat as the camera sees it: the letters of its tiles, or a fault."""

    text: str = field(default="", repr=False)
    """Letters of the orders from left to right, empty after a fault. They are secret, and therefore
    not part of the repr.
    """
    fault: RowFault | None = None
    place: int = 0
    """Place of the fault in the row, counted from 1. 0 if the fault has no place."""


@dataclass(frozen=True)
class RowsWanted:
    """A request to the board reader to read the rows of some seats once."""

    number: int
    """Number that identifies the request."""
    seats: frozenset[Seat]
    since_s: float
    """Monotonic time after which the pictures have to be taken."""


@dataclass(frozen=True)
class RowsSeen:
    """The answer to `RowsWanted`: one row for each of its seats."""

    number: int
    """Number of the request."""
    rows: Mapping[Seat, RowSeen]
