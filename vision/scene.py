"""The simulated table: pieces that hands can move, and a camera that looks at them.

Safe to use from several threads: pages move pieces while the camera's thread draws.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from dataclasses import dataclass, replace
from itertools import count

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.clock import Clock
from companion.errors import CameraError
from companion.grid import Square
from companion.kit import Face, Kit, Layout, Seat
from companion.ports import Frame, WorldPiece
from vision.artwork import Bgr
from vision.render import (
    TOP_TO_TAG,
    Block,
    Stage,
    View,
    blurred,
    build_stage,
    draw_block,
    draw_hand,
)


@dataclass
class _Piece:
    """A physical piece; `faces` are the (face, marker) pairs that can lie on top, `shown` which of them does."""

    id: int
    faces: tuple[tuple[Face, int], ...]
    shown: int = 0
    x_mm: float = 0.0
    y_mm: float = 0.0
    turn_deg: float = 0.0

    @property
    def face(self) -> Face:
        return self.faces[self.shown][0]

    @property
    def marker(self) -> int:
        return self.faces[self.shown][1]


def _pieces_of(kit: Kit) -> list[_Piece]:
    """Every physical piece of a kit; the n-th piece with a face has the face's n-th marker."""
    names = kit.pieces or tuple((face.name,) for face in kit.faces for _ in face.markers)
    used: Counter[str] = Counter()
    pieces = []
    for number, faces in enumerate(names):
        pairs = []
        for name in faces:
            face = kit.face(name)
            pairs.append((face, face.markers[used[name] % len(face.markers)]))
            used[name] += 1
        pieces.append(_Piece(number, tuple(pairs)))
    return pieces


class SimulatedTable:
    """A table with a board, pieces and a camera above it; implements `companion.ports.World`."""

    def __init__(self, kit: Kit, view: View | None = None) -> None:
        self._lock = threading.RLock()
        self._view = view or View()
        self._hand: Square | None = None
        self._version = 0
        self._stage: Stage | None = None
        self._drawn: tuple[int, Bgr] | None = None
        self._noise: NDArray[np.int8] | None = None
        self._rng = np.random.default_rng(self._view.seed)
        self.use(kit)

    # ---- the table ----

    @property
    def kit(self) -> Kit:
        """What lies on the table."""
        return self._kit

    @property
    def view(self) -> View:
        """How the camera looks at it."""
        return self._view

    def use(self, kit: Kit) -> None:
        """Clear the table and put down another board, its pieces beside it."""
        with self._lock:
            self._kit = kit
            self._pieces = _pieces_of(kit)
            self._hand = None
            self._put_beside(self._pieces)
            self._new_stage()

    def look(self, view: View) -> None:
        """Move the camera, change the light, push the board: see `View`."""
        with self._lock:
            self._view = view
            self._rng = np.random.default_rng(view.seed)
            self._noise = None
            self._new_stage()

    def set_up(self, layout: Layout) -> None:
        """Put all pieces as a layout says, bottom to top; the others lie beside the board. Raises KeyError."""
        with self._lock:
            free = list(self._pieces)
            placed: list[_Piece] = []
            for square, faces in layout.items():
                for name in faces:
                    piece = self._take(free, name)
                    piece.x_mm, piece.y_mm = self._kit.board.centre_mm(square)
                    piece.turn_deg = 0.0
                    placed.append(piece)
            self._put_beside(free)
            self._pieces = free + placed
            self._changed()

    def turn(self, piece: int, degrees: float) -> None:
        """Turn a piece counter-clockwise, to where `degrees` says."""
        with self._lock:
            self._piece(piece).turn_deg = degrees
            self._changed()

    def nudge(self, piece: int, x_mm: float, y_mm: float) -> None:
        """Push a piece by so many millimetres."""
        with self._lock:
            found = self._piece(piece)
            found.x_mm, found.y_mm = found.x_mm + x_mm, found.y_mm + y_mm
            self._changed()

    @staticmethod
    def _take(free: list[_Piece], name: str) -> _Piece:
        """A free piece that has this face, turned to it; preferably one that shows it already."""
        fitting = [p for p in free if any(face.name == name for face, _ in p.faces)]
        if not fitting:
            raise KeyError(f"no piece left that can show “{name}”")
        piece = next((p for p in fitting if p.face.name == name), fitting[0])
        piece.shown = next(i for i, (face, _) in enumerate(piece.faces) if face.name == name)
        free.remove(piece)
        return piece

    def _put_beside(self, pieces: list[_Piece]) -> None:
        """North's pieces to the right of the board, all others to the left, in columns from South upwards."""
        board, top = self._kit.board, self._kit.tag_mm * TOP_TO_TAG
        step = top * 1.2
        rows = max(1, math.floor((board.height_mm + step - top) / step))
        for right in (False, True):
            column = [p for p in pieces if (p.face.seat is Seat.NORTH) is right]
            for index, piece in enumerate(column):
                away = top * 0.8 + step * (index // rows)
                piece.x_mm = board.width_mm + away if right else -away
                piece.y_mm = top / 2 + step * (index % rows)
                piece.turn_deg = 0.0

    # ---- companion.ports.World ----

    def pieces(self) -> tuple[WorldPiece, ...]:
        """All pieces, the lowest first."""
        with self._lock:
            pose = self._staged().pose
            found = []
            for piece, block in zip(self._pieces, self._blocks(), strict=True):
                outline = tuple((float(x), float(y)) for x, y in block.outline(pose))
                square = self._kit.board.square_at(piece.x_mm, piece.y_mm)
                place = piece.x_mm, piece.y_mm, piece.turn_deg
                found.append(WorldPiece(piece.id, piece.face.name, *place, outline, square))
            return tuple(found)

    def move_to(self, piece: int, square: Square) -> None:
        """Put a piece on the middle of a square, on top of what lies there. Raises KeyError for an unknown piece."""
        with self._lock:
            self._put(piece, *self._kit.board.centre_mm(square))

    def take_off(self, piece: int) -> None:
        """Lay a piece beside the board. Raises KeyError for an unknown piece."""
        with self._lock:
            self._put_beside([self._piece(piece)])
            self._changed()

    def drag_to(self, piece: int, x_px: float, y_px: float) -> None:
        """Put a piece where the picture shows that point of the table; points above the horizon change nothing."""
        with self._lock:
            width, height = self.size_px()
            point = np.array([[min(max(x_px, 0.0), width - 1.0), min(max(y_px, 0.0), height - 1.0)]])
            x_mm, y_mm = self._staged().pose.to_plane(point)[0]
            if math.isfinite(x_mm) and math.isfinite(y_mm):
                self._put(piece, float(x_mm), float(y_mm))

    def flip(self, piece: int) -> None:
        """Show the next face of a piece."""
        with self._lock:
            found = self._piece(piece)
            found.shown = (found.shown + 1) % len(found.faces)
            self._changed()

    def hold_hand(self, over: Square | None) -> None:
        """Hold a hand over a square, or take it away."""
        with self._lock:
            self._hand = over
            self._changed()

    def jpeg(self) -> bytes:
        """The camera's picture now, in colour."""
        return bytes(cv2.imencode(".jpg", self.render_bgr(), [cv2.IMWRITE_JPEG_QUALITY, 85])[1])

    def size_px(self) -> tuple[int, int]:
        """Width and height of the picture."""
        return self._view.width, self._view.height

    # ---- pictures ----

    def render_bgr(self) -> Bgr:
        """The picture now, (height, width, 3), with the sensor's noise."""
        with self._lock:
            picture = self._picture()
            noise = self._next_noise()
            return picture if noise is None else _with_noise(picture, np.repeat(noise[..., None], 3, axis=2))

    def render_luma(self) -> NDArray[np.uint8]:
        """Its brightness alone, (height, width), with the sensor's noise."""
        with self._lock:
            luma = np.asarray(cv2.cvtColor(self._picture(), cv2.COLOR_BGR2GRAY), dtype=np.uint8)
            noise = self._next_noise()
            return luma if noise is None else _with_noise(luma, noise)

    def _picture(self) -> Bgr:
        """Without noise; drawn once for every change."""
        if self._drawn is None or self._drawn[0] != self._version:
            stage = self._staged()
            picture = stage.table.copy()
            eye_x, eye_y = stage.pose.eye_mm[:2]
            # Far stacks first, and within a stack from the bottom to the top.
            for stack in sorted(self._stacks(), key=lambda s: -math.hypot(s[0].x_mm - eye_x, s[0].y_mm - eye_y)):
                for block in stack:
                    draw_block(picture, stage, block)
            if self._hand is not None:
                board = self._kit.board
                seat = Seat.SOUTH if self._hand.rank < board.ranks / 2 else Seat.NORTH
                draw_hand(picture, stage, *board.centre_mm(self._hand), seat)
            self._drawn = self._version, blurred(picture, self._view)
        return self._drawn[1]

    def _next_noise(self) -> NDArray[np.int8] | None:
        """(height, width) of noise: one field, shifted at random from picture to picture."""
        if not self._view.noise:
            return None
        width, height = self.size_px()
        if self._noise is None or self._noise.shape != (height + 64, width + 64):
            field = self._rng.normal(0, self._view.noise, (height + 64, width + 64))
            self._noise = field.round().clip(-127, 127).astype(np.int8)
        row, column = self._rng.integers(0, 64, 2)
        return self._noise[row : row + height, column : column + width]

    # ---- inside ----

    def _piece(self, number: int) -> _Piece:
        for piece in self._pieces:
            if piece.id == number:
                return piece
        raise KeyError(f"there is no piece {number} on the table")

    def _put(self, number: int, x_mm: float, y_mm: float) -> None:
        piece = self._piece(number)
        piece.x_mm, piece.y_mm = x_mm, y_mm
        self._pieces.remove(piece)
        self._pieces.append(piece)
        self._changed()

    def _blocks(self) -> list[Block]:
        """All pieces as blocks, in the order of the pieces."""
        blocks = {block.marker: block for stack in self._stacks() for block in stack}
        return [blocks[piece.marker] for piece in self._pieces]

    def _stacks(self) -> list[list[Block]]:
        """The pieces as blocks; one that lies over another stands on it. Each stack from the bottom to the top."""
        stacks: list[list[Block]] = []
        tag = self._kit.tag_mm
        for piece in self._pieces:
            seat = piece.face.seat
            rgb = self._kit.sides[seat].rgb if seat else "#8a7f70"

            def is_below(block: Block, x_mm: float = piece.x_mm, y_mm: float = piece.y_mm) -> bool:
                return math.hypot(block.x_mm - x_mm, block.y_mm - y_mm) < tag * 0.7

            under = [stack for stack in stacks if any(map(is_below, stack))]
            z_mm = max((b.z_mm + b.height_mm for stack in under for b in stack if is_below(b)), default=0.0)
            block = Block(piece.marker, rgb, piece.x_mm, piece.y_mm, z_mm, piece.face.height_mm, piece.turn_deg, tag)
            stacks = [stack for stack in stacks if stack not in under]
            stacks.append([*sorted((b for stack in under for b in stack), key=lambda b: b.z_mm), block])
        return stacks

    def _changed(self) -> None:
        self._version += 1

    def _new_stage(self) -> None:
        self._stage = None
        self._changed()

    def _staged(self) -> Stage:
        if self._stage is None:
            self._stage = build_stage(self._kit, self._view)
        return self._stage

    def square_px(self, square: Square) -> tuple[float, float]:
        """Where the picture shows the middle of a square."""
        with self._lock:
            x, y = self._kit.board.centre_mm(square)
            px = self._staged().pose.to_px(np.array([[x, y, 0.0]]))[0]
            return float(px[0]), float(px[1])

    def hold_view(self, **changes: object) -> None:
        """Change some parameters of the view."""
        self.look(replace(self._view, **changes))  # type: ignore[arg-type]  # replace() checks the names itself


def _with_noise(picture: NDArray[np.uint8], noise: NDArray[np.int8]) -> NDArray[np.uint8]:
    return np.asarray(cv2.add(picture, noise, dtype=cv2.CV_8U), dtype=np.uint8)


class RenderedCamera:
    """A camera above the simulated table."""

    name = "the simulated table"

    def __init__(self, table: SimulatedTable, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self._numbers = count(1)
        self._closed = False

    def frame(self) -> Frame:
        """The picture now. Raises `CameraError` when closed."""
        if self._closed:
            raise CameraError("The camera of the simulated table is closed: open it again")
        return Frame(self._table.render_luma(), self._clock.monotonic_s(), next(self._numbers))

    def close(self) -> None:
        """Nothing is held; later frames are refused."""
        self._closed = True

    def __enter__(self) -> RenderedCamera:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
