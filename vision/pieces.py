"""What lies on the simulated table: pieces that stand on squares, or cards that lie in fans."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from companion.grid import Square
from companion.kit import Deck, Kit, Seat
from vision.artwork import Bgr, back_picture, card_picture, top_picture
from vision.pose import Points
from vision.render import TOP_TO_TAG, Block

BACK = "back"
"""Name of the face of a card that lies face down."""
CARD_THICK_MM = 0.3
_PILE_GAP_MM = 12.0
"""Between the board and the pile beside it."""


@dataclass(frozen=True, eq=False)
class Top:
    """What a piece can show: the face's name, how to get its picture, colour of its sides, height, whose it is."""

    name: str
    picture: Callable[[], Bgr]
    rgb: str
    height_mm: float
    seat: Seat | None = None


@dataclass
class Piece:
    """A physical piece; `tops` can lie on top, `shown` says which of them does."""

    id: int
    tops: tuple[Top, ...]
    shown: int = 0
    x_mm: float = 0.0
    y_mm: float = 0.0
    turn_deg: float = 0.0

    @property
    def top(self) -> Top:
        """What it shows."""
        return self.tops[self.shown]

    def lay(self, x_mm: float, y_mm: float, turn_deg: float = 0.0) -> None:
        """Put it somewhere."""
        self.x_mm, self.y_mm, self.turn_deg = x_mm, y_mm, turn_deg


class Pieces(ABC):
    """All things of a kit that hands can move, and how they lie. The lists of pieces go from the lowest upwards."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    @abstractmethod
    def all(self) -> list[Piece]:
        """Every piece of the kit, not yet placed."""

    @abstractmethod
    def put_beside(self, pieces: Iterable[Piece]) -> None:
        """Lay pieces beside the board."""

    @abstractmethod
    def put_on(self, piece: Piece, square: Square, lying: Iterable[Piece]) -> None:
        """Put a piece on a square, on top of what lies there."""

    @abstractmethod
    def blocks(self, pieces: Sequence[Piece], eye_mm: Points) -> list[Block]:
        """What there is to draw, for a camera at (3,) `eye_mm`, in the order of drawing."""

    def take(self, free: list[Piece], name: str, wanted: Collection[str]) -> Piece:  # noqa: ARG002 - cards need it
        """A free piece that has this face, turned to it; preferably one that shows it already. Raises KeyError."""
        fitting = [p for p in free if any(top.name == name for top in p.tops)]
        if not fitting:
            raise KeyError(f"no piece left that can show “{name}”")
        piece = next((p for p in fitting if p.top.name == name), fitting[0])
        piece.shown = next(i for i, top in enumerate(piece.tops) if top.name == name)
        free.remove(piece)
        return piece


def pieces_of(kit: Kit) -> Pieces:
    """The things of a kit: cards if it has a deck."""
    return Cards(kit, kit.deck) if kit.deck else Tags(kit)


class Tags(Pieces):
    """Pieces with a marker on top; they stand in the middle of squares and on each other."""

    def all(self) -> list[Piece]:
        """Every physical piece; the n-th piece with a face has the face's n-th marker."""
        kit = self._kit
        names = kit.pieces or tuple((face.name,) for face in kit.faces for _ in face.markers)
        used: Counter[str] = Counter()
        pieces = []
        for number, piece in enumerate(names):
            tops = []
            for face in (kit.face(name) for name in piece):
                marker = face.markers[used[face.name] % len(face.markers)]
                rgb = kit.sides[face.seat].rgb if face.seat else "#8a7f70"
                tops.append(Top(face.name, partial(top_picture, marker, rgb), rgb, face.height_mm, face.seat))
                used[face.name] += 1
            pieces.append(Piece(number, tuple(tops)))
        return pieces

    def put_beside(self, pieces: Iterable[Piece]) -> None:
        """North's pieces to the right of the board, all others to the left, in columns from South upwards."""
        board, top = self._kit.board, self._kit.tag_mm * TOP_TO_TAG
        step = top * 1.2
        rows = max(1, math.floor((board.height_mm + step - top) / step))
        together = list(pieces)
        for right in (False, True):
            column = [p for p in together if (p.top.seat is Seat.NORTH) is right]
            for index, piece in enumerate(column):
                away = top * 0.8 + step * (index // rows)
                piece.lay(board.width_mm + away if right else -away, top / 2 + step * (index % rows))

    def put_on(self, piece: Piece, square: Square, lying: Iterable[Piece]) -> None:  # noqa: ARG002 - cards need it
        """In the middle of the square."""
        piece.x_mm, piece.y_mm = self._kit.board.centre_mm(square)

    def blocks(self, pieces: Sequence[Piece], eye_mm: Points) -> list[Block]:
        """Far stacks first, and within a stack from the bottom to the top."""

        def distance(stack: list[Block]) -> float:
            return math.hypot(stack[0].x_mm - eye_mm[0], stack[0].y_mm - eye_mm[1])

        return [block for stack in sorted(self._stacks(pieces), key=distance, reverse=True) for block in stack]

    def _stacks(self, pieces: Iterable[Piece]) -> list[list[Block]]:
        """The pieces as blocks; one that lies over another stands on it. Each stack from the bottom to the top."""
        stacks: list[list[Block]] = []
        tag = self._kit.tag_mm
        for piece in pieces:

            def is_below(block: Block, x_mm: float = piece.x_mm, y_mm: float = piece.y_mm) -> bool:
                return math.hypot(block.x_mm - x_mm, block.y_mm - y_mm) < tag * 0.7

            under = [stack for stack in stacks if any(map(is_below, stack))]
            z_mm = max((b.z_mm + b.height_mm for stack in under for b in stack if is_below(b)), default=0.0)
            block = _block(piece, tag * TOP_TO_TAG, tag * TOP_TO_TAG, z_mm)
            stacks = [stack for stack in stacks if stack not in under]
            stacks.append([*sorted((b for stack in under for b in stack), key=lambda b: b.z_mm), block])
        return stacks


class Cards(Pieces):
    """Cards with a face and the common back; they lie in fans, or face down in a pile beside the board."""

    def __init__(self, kit: Kit, deck: Deck) -> None:
        super().__init__(kit)
        self._deck = deck

    def all(self) -> list[Piece]:
        """The deck, face down."""
        deck, white = self._deck, "#d8d8d4"
        back = Top(BACK, partial(back_picture, deck.width_mm, deck.height_mm), white, CARD_THICK_MM)
        faces = [Top(card.name, partial(card_picture, card, deck), white, CARD_THICK_MM) for card in deck.cards]
        return [Piece(number, (face, back), shown=1) for number, face in enumerate(faces)]

    def take(self, free: list[Piece], name: str, wanted: Collection[str]) -> Piece:
        """A free card turned to this face; for a back one whose face nobody wants."""
        if name == BACK:
            free_names = (piece.tops[0].name for piece in free)
            name = next((each for each in free_names if each not in wanted), name)
            piece = super().take(free, name, wanted)
            piece.shown = 1
            return piece
        return super().take(free, name, wanted)

    def put_beside(self, pieces: Iterable[Piece]) -> None:
        """Face down on the pile to the left of the board."""
        for piece in pieces:
            piece.shown = 1
            piece.lay(-_PILE_GAP_MM - self._deck.width_mm / 2, self._kit.board.height_mm / 2)

    def put_on(self, piece: Piece, square: Square, lying: Iterable[Piece]) -> None:
        """At the end of the zone's fan: the first at the edge of the zone's seat, each next a step further."""
        board, deck = self._kit.board, self._deck
        x, middle = board.centre_mm(square)
        away = -1.0 if deck.zones.get(Seat.NORTH) == square.rank else 1.0
        room = (board.depth_mm - deck.height_mm) / 2
        there = [p.y_mm for p in lying if p is not piece and board.square_at(p.x_mm, p.y_mm) == square]
        steps = [away * (y - middle) + deck.step_mm for y in there]
        piece.lay(x, middle + away * min(max([-room, *steps]), room))

    def blocks(self, pieces: Sequence[Piece], eye_mm: Points) -> list[Block]:  # noqa: ARG002 - cards have no sides
        """All cards from the bottom to the top; of cards that lie exactly on each other only the uppermost shows."""
        places = np.array([(p.x_mm, p.y_mm) for p in pieces]).reshape(-1, 2)
        deck, blocks = self._deck, []
        covered: set[tuple[float, float, float]] = set()
        for index in reversed(range(len(pieces))):
            piece = pieces[index]
            below = np.hypot(*(places[:index] - places[index]).T) < deck.height_mm / 2
            block = _block(piece, deck.width_mm, deck.height_mm, CARD_THICK_MM * float(below.sum()))
            place = piece.x_mm, piece.y_mm, piece.turn_deg
            blocks.append(replace(block, covered=place in covered))
            covered.add(place)
        return blocks[::-1]


def _block(piece: Piece, width_mm: float, depth_mm: float, z_mm: float) -> Block:
    """A piece as it is drawn, standing at this height."""
    top, place = piece.top, (piece.x_mm, piece.y_mm, z_mm, piece.turn_deg)
    return Block(piece.id, top.picture(), top.rgb, width_mm, depth_mm, top.height_mm, *place)
