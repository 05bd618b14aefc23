"""The objects on the simulated table: pieces that stand on squares, or cards in fans.

A fan is the open cards in one zone of a board of cards, each on a part of the one before.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from companion.core.grid import Square
from companion.core.kit import TOP_TO_TAG, Card, Deck, Face, Kit, Layout, Seat
from vision.pose.pose import Points
from vision.simulation.objects import RenderedBlock
from vision.simulation.printed import Bgr, PrintedKit, decode_png

# Face name of a card that lies face down.
BACK = "back"

# Thickness of a playing card. The reader assumes the same, see `vision.cards.reader.CARD_Z_MM`.
CARD_THICKNESS_MM = 0.3
# Colour of the sides of pieces that cover several squares, such as rocks.
_STONE_RGB = "#9c9282"
# Colour of the sides of other pieces that belong to no seat.
_NEUTRAL_RGB = "#8a7f70"
# Distance between the board and the pile beside it.
_PILE_GAP_MM = 12.0


@dataclass(frozen=True, eq=False)
class RenderedFace:
    """One face of a piece."""

    name: str
    picture: Callable[[], Bgr]
    """Function that returns its picture."""
    side_colour: str
    """Colour of the piece's four sides, `#rrggbb`."""
    width_mm: float
    """Size of the piece along x if it is not turned."""
    depth_mm: float
    """Size of the piece along y if it is not turned."""
    height_mm: float
    """Thickness of the piece."""
    seat: Seat | None = None
    """The seat that it belongs to."""
    marker: int | None = None
    """Id of its marker. None on a card, which shows its marker twice, or none."""


@dataclass
class Piece:
    """A physical piece with its position in board axes."""

    id: int
    tops: tuple[RenderedFace, ...]
    """Its faces, any of which may be up."""
    top_index: int = 0
    """Index of the face that is up."""
    x_mm: float = 0.0
    y_mm: float = 0.0
    turn_deg: float = 0.0

    @property
    def top(self) -> RenderedFace:
        """The face that is up."""
        return self.tops[self.top_index]

    def lay(self, x_mm: float, y_mm: float, turn_deg: float = 0.0) -> None:
        """Move the piece to a point of the board, and turn it counter-clockwise."""
        self.x_mm = x_mm
        self.y_mm = y_mm
        self.turn_deg = turn_deg


class Placement(NamedTuple):
    """Where one piece of a layout lies, and which face is up."""

    square: Square
    """The lower left one of its squares."""
    face: str
    turn_deg: float
    """Its turn, counter-clockwise."""


class PieceSet(ABC):
    """The movable pieces or cards of a kit, and rules for placing them.

    Subclasses override the abstract methods, and may override the others. In all lists of pieces,
    lower pieces come before those that lie on them.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    @abstractmethod
    def create_pieces(self) -> list[Piece]:
        """Return every piece of the kit, not yet placed."""

    def placements(self, layout: Layout) -> Iterator[Placement]:
        """Yield each piece of a layout once."""
        for square, faces in layout.items():
            for name in faces:
                yield Placement(square, name, 0.0)

    def square_of(self, piece: Piece) -> Square | None:
        """Return the square of a piece, or the first one of several.

        Returns None for a piece beside the board.
        """
        return self._kit.board.square_at(piece.x_mm, piece.y_mm)

    @abstractmethod
    def put_beside(self, pieces: Iterable[Piece]) -> None:
        """Lay pieces beside the board."""

    @abstractmethod
    def put_on(self, piece: Piece, square: Square, placed_pieces: Iterable[Piece]) -> None:
        """Put a piece on a square, on top of the `placed_pieces` that are already there."""

    @abstractmethod
    def blocks(self, pieces: Sequence[Piece], eye_mm: Points) -> list[RenderedBlock]:
        """Return all blocks in drawing order, for a camera at (3,) `eye_mm`."""

    def take(self, free: list[Piece], name: str, wanted: Collection[str]) -> Piece:  # noqa: ARG002 - cards need it
        """Take a free piece that has this face, and turn the face up.

        A piece that already shows the face is preferred. `wanted` has all faces of the layout that
        is being set up. Raises KeyError if there is none.
        """
        fitting = [piece for piece in free if any(top.name == name for top in piece.tops)]
        if not fitting:
            raise KeyError(f"no piece left that can show “{name}”")
        piece = next((piece for piece in fitting if piece.top.name == name), fitting[0])
        piece.top_index = [top.name for top in piece.tops].index(name)
        free.remove(piece)
        return piece


def build_piece_set(kit: Kit, printed: Callable[[], PrintedKit]) -> PieceSet:
    """Return the cards of a kit that has a deck, else its pieces."""
    return CardSet(kit, kit.deck, printed) if kit.deck else TaggedPieceSet(kit, printed)


class TaggedPieceSet(PieceSet):
    """Pieces with a marker on top, which stand in the middle of squares and on each other."""

    def __init__(self, kit: Kit, printed: Callable[[], PrintedKit]) -> None:
        super().__init__(kit)
        self._printed = printed
        # Position (x, y) of each piece beside the board, by the piece's id.
        self._beside_mm: dict[int, tuple[float, float]] = {}

    def create_pieces(self) -> list[Piece]:
        """Return every physical piece, and note its position beside the board for `put_beside`."""
        tags = enumerate(self._kit.tags)
        pieces = [
            Piece(piece_id, tuple(self._top(face, marker) for face, marker in piece))
            for piece_id, piece in tags
        ]
        left = self._columns(pieces, to_right=False)
        right = self._columns(pieces, to_right=True)
        self._beside_mm = dict([*left, *right])
        return pieces

    def _top(self, face: Face, marker: int) -> RenderedFace:
        kit = self._kit
        width, depth = kit.tops_mm[face.name]
        side_colour = kit.sides[face.seat].rgb if face.seat else _NEUTRAL_RGB
        colour = _STONE_RGB if face.size != (1, 1) else side_colour
        picture = partial(self._picture, marker)
        return RenderedFace(
            face.name, picture, colour, width, depth, face.height_mm, face.seat, marker
        )

    def _picture(self, marker: int) -> Bgr:
        return decode_png(self._printed().tops[marker])

    def placements(self, layout: Layout) -> Iterator[Placement]:
        """Yield each piece of a layout once.

        A piece of several squares is turned by 90 degrees if its squares in the layout run along
        the other axis than printed.
        """
        for square, faces in self._kit.anchor_layout(layout).items():
            for name in faces:
                across, along = self._kit.face(name).size
                # Turned by 90 degrees it reaches as far along a file as it is wide.
                last_if_turned = square.shifted(0, across - 1)
                is_turned = across != along and name in layout.get(last_if_turned, ())
                yield Placement(square, name, 90.0 if is_turned else 0.0)

    def square_of(self, piece: Piece) -> Square | None:
        """Return the lower left one of the squares that a piece covers best."""
        board = self._kit.board
        size = self._kit.face(piece.top.name).turned_size(piece.turn_deg)
        if board.square_at(piece.x_mm, piece.y_mm) is None or size == (1, 1):
            return board.square_at(piece.x_mm, piece.y_mm)
        first = board.fit_block(size, piece.x_mm, piece.y_mm).first
        return Square(max(0, first.file), max(0, first.rank))

    def put_beside(self, pieces: Iterable[Piece]) -> None:
        """Lay each piece at its own position beside the board.

        The pieces of North lie on the right, all others on the left.
        """
        for piece in pieces:
            piece.lay(*self._beside_mm[piece.id])

    def _columns(
        self, pieces: Iterable[Piece], *, to_right: bool
    ) -> Iterator[tuple[int, tuple[float, float]]]:
        """Yield the id and the position (x, y) of each piece that goes to this side of the board.

        The pieces of North go to the right, all others to the left. They lie in columns from South
        to North, the first column next to the board.
        """
        board = self._kit.board
        top_mm = self._kit.tag_mm * TOP_TO_TAG
        # Space between two pieces, wide enough that they do not touch when drawn.
        gap = 0.2 * top_mm
        # Distance of the present column from the board.
        column = 0.3 * top_mm
        # Lower edge of the next piece in this column, in y.
        low = 0.0
        # Width of the widest piece in this column.
        widest = 0.0
        for piece in pieces:
            if (piece.top.seat is Seat.NORTH) is not to_right:
                continue
            width = piece.top.width_mm
            depth = piece.top.depth_mm
            # Start a new column when this one is as long as the board.
            if low and low + depth / 2 > board.height_mm:
                column += widest + gap
                low = widest = 0.0
            distance = column + width / 2
            yield piece.id, (board.width_mm + distance if to_right else -distance, low + depth / 2)
            low += depth + gap
            widest = max(widest, width)

    def put_on(self, piece: Piece, square: Square, placed_pieces: Iterable[Piece]) -> None:  # noqa: ARG002 - cards need it
        """Put a piece in the middle of its squares. `square` is the lower left one."""
        size = self._kit.face(piece.top.name).turned_size(piece.turn_deg)
        piece.x_mm, piece.y_mm = self._kit.board.middle_mm(square, size)

    def blocks(self, pieces: Sequence[Piece], eye_mm: Points) -> list[RenderedBlock]:
        """Return the blocks stack by stack, the farthest stack first.

        Within a stack they go from the bottom to the top.
        """

        def distance(stack: list[RenderedBlock]) -> float:
            return math.hypot(stack[0].x_mm - eye_mm[0], stack[0].y_mm - eye_mm[1])

        return [
            block
            for stack in sorted(self._stacks(pieces), key=distance, reverse=True)
            for block in stack
        ]

    def _stacks(self, pieces: Iterable[Piece]) -> list[list[RenderedBlock]]:
        """Return the pieces as stacks of blocks, each from the bottom to the top.

        A piece that overlaps an earlier one stands on it.
        """
        stacks: list[list[RenderedBlock]] = []
        for piece in pieces:
            block = _block(piece, 0.0)
            overlaps = partial(self._overlap, block)
            # A piece that overlaps several stacks joins them into one.
            joined = [stack for stack in stacks if any(map(overlaps, stack))]
            lower = sorted((other for stack in joined for other in stack), key=attrgetter("z_mm"))
            tops_mm = [other.z_mm + other.height_mm for other in lower if overlaps(other)]
            stacks = [stack for stack in stacks if stack not in joined]
            stacks.append([*lower, replace(block, z_mm=max(tops_mm, default=0.0))])
        return stacks

    def _overlap(self, one: RenderedBlock, other: RenderedBlock) -> bool:
        """Return whether two pieces overlap by more than inexactly placed neighbours do."""
        larger = max(one, other, key=lambda block: block.width_mm * block.depth_mm)
        x = one.x_mm - other.x_mm
        y = one.y_mm - other.y_mm
        # The middles of neighbours on two squares are farther apart than this, and those of pieces
        # that lie on each other are nearer.
        limit_mm = 0.7 * self._kit.tag_mm
        if larger.width_mm < 2 * self._kit.tag_mm:
            return math.hypot(x, y) < limit_mm
        # The offset in the axes of the larger piece.
        turn = math.radians(larger.turn_deg)
        across = x * math.cos(turn) + y * math.sin(turn)
        along = y * math.cos(turn) - x * math.sin(turn)
        return abs(across) < larger.width_mm / 2 and abs(along) < max(limit_mm, larger.depth_mm / 2)


class CardSet(PieceSet):
    """Cards with a face and the common back, in fans, or face down in a pile beside the board."""

    def __init__(self, kit: Kit, deck: Deck, printed: Callable[[], PrintedKit]) -> None:
        super().__init__(kit)
        self._deck = deck
        self._printed = printed

    def create_pieces(self) -> list[Piece]:
        """Return the deck, face down."""
        deck = self._deck
        white = "#d8d8d4"
        size = deck.width_mm, deck.height_mm, CARD_THICKNESS_MM
        back = RenderedFace(BACK, lambda: decode_png(self._printed().back), white, *size)
        faces = [
            RenderedFace(card.name, partial(self._front, card), white, *size) for card in deck.cards
        ]
        return [Piece(piece_id, (face, back), top_index=1) for piece_id, face in enumerate(faces)]

    def _front(self, card: Card) -> Bgr:
        return decode_png(self._printed().cards[card.name])

    def take(self, free: list[Piece], name: str, wanted: Collection[str]) -> Piece:
        """Take a free card and turn this face up.

        If `name` is `BACK`, take a card whose face is not wanted, and leave it face down. Raises
        KeyError if there is none.
        """
        is_back = name == BACK
        if is_back:
            free_names = (piece.tops[0].name for piece in free)
            name = next((other for other in free_names if other not in wanted), name)
        piece = super().take(free, name, wanted)
        if is_back:
            piece.top_index = 1
        return piece

    def put_beside(self, pieces: Iterable[Piece]) -> None:
        """Put cards face down on the pile to the left of the board."""
        for piece in pieces:
            piece.top_index = 1
            piece.lay(-_PILE_GAP_MM - self._deck.width_mm / 2, self._kit.board.height_mm / 2)

    def put_on(self, piece: Piece, square: Square, placed_pieces: Iterable[Piece]) -> None:
        """Put a card at the end of the zone's fan.

        The first card is at the edge on its seat's side, and each further card is one step away
        from it.
        """
        board = self._kit.board
        deck = self._deck
        x, middle = board.centre_mm(square)
        # North's fans grow towards South.
        direction = -1.0 if deck.zones.get(Seat.NORTH) == square.rank else 1.0
        # Offsets of a card from the middle of the zone, in the direction of the fan.
        last_offset = (board.depth_mm - deck.height_mm) / 2
        offsets = [-last_offset]
        for other in placed_pieces:
            if other is not piece and board.square_at(other.x_mm, other.y_mm) == square:
                offsets.append(direction * (other.y_mm - middle) + deck.step_mm)
        # One step beyond the last card, but within the zone.
        piece.lay(x, middle + direction * min(max(offsets), last_offset))

    def blocks(self, pieces: Sequence[Piece], eye_mm: Points) -> list[RenderedBlock]:  # noqa: ARG002 - cards have no sides
        """Return all cards from bottom to top.

        If several cards lie exactly on top of each other, all but the uppermost count as covered.
        """
        centres = np.array([(piece.x_mm, piece.y_mm) for piece in pieces]).reshape(-1, 2)
        deck = self._deck
        blocks = []
        occupied: set[tuple[float, float, float]] = set()
        for index in reversed(range(len(pieces))):
            piece = pieces[index]
            # Count the lower cards that overlap this one.
            is_below = np.hypot(*(centres[:index] - centres[index]).T) < deck.height_mm / 2
            block = _block(piece, CARD_THICKNESS_MM * float(is_below.sum()))
            position = piece.x_mm, piece.y_mm, piece.turn_deg
            blocks.append(replace(block, is_covered=position in occupied))
            occupied.add(position)
        return blocks[::-1]


def _block(piece: Piece, z_mm: float) -> RenderedBlock:
    """Return the block of a piece at this base height."""
    top = piece.top
    position = (piece.x_mm, piece.y_mm, z_mm, piece.turn_deg)
    return RenderedBlock(
        piece.id, top.picture, top.side_colour, top.width_mm, top.depth_mm, top.height_mm, *position
    )
