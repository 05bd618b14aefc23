"""The simulated table: movable pieces, and a camera above them.

It is thread-safe: pages move pieces while the camera's thread draws.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Collection, Iterable
from functools import cache, partial

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.clock import Clock
from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import Kit, Layout, Seat
from companion.core.ports import WorldPiece
from vision.cameras import colours
from vision.cameras.colours import Colours
from vision.cameras.source import Capture, FrameSource
from vision.pose.pose import Points, at_height
from vision.simulation.objects import RenderedBlock, draw_block, draw_hand, hand_px
from vision.simulation.pieces import Piece, Placement, build_piece_set
from vision.simulation.printed import Bgr, PrintKit
from vision.simulation.render import LitTable, build_lit_table, degrade
from vision.simulation.tile_rows import TileRows
from vision.simulation.view import CameraView, default_view

# Period of flicker as a share of the picture's height: a lamp flickers at 100 Hz, while a sensor
# reads all rows of a picture in 33 ms.
_FLICKER_PERIOD_SHARE = 0.3
# Number of rows and columns by which the field of noise is larger than a picture.
_NOISE_MARGIN_PX = 64


class SimulatedTable:
    """A table with a board, pieces and a camera above it.

    Implements the simulated world of `companion.core.ports`. `print_kit` returns the printed
    pictures of a kit. Without a `view`, each kit is shown in its default one. Points of the table
    are in board axes, see `companion.core.kit`.
    """

    def __init__(self, kit: Kit, view: CameraView | None = None, *, print_kit: PrintKit) -> None:
        self._lock = threading.RLock()
        self._print_kit = print_kit
        self._is_default_view = view is None
        self._view = view or default_view(kit)
        # Square over which a hand is held. None without a hand.
        self._hand_square: Square | None = None
        # Board and light. None until they are rendered for a new view or kit.
        self._lit_table: LitTable | None = None
        # The picture without noise. None until the scene is drawn after a change.
        self._drawn: Bgr | None = None
        # (height, width) with a margin: noise, which is shifted for each picture.
        self._noise: NDArray[np.int8] | None = None
        self._rng = np.random.default_rng(self._view.seed)
        self.use(kit)

    # ---- the table ----

    @property
    def kit(self) -> Kit:
        """The kit on the table."""
        return self._kit

    @property
    def view(self) -> CameraView:
        """The camera's view of the table."""
        return self._view

    def use(self, kit: Kit) -> None:
        """Replace the board and its pieces. The new pieces start beside the board."""
        with self._lock:
            self._kit = kit
            if self._is_default_view:
                self._view = default_view(kit)
            # Printed when it is first needed, so that only the first picture waits for it.
            self._printed = cache(partial(self._print_kit, kit))
            self._piece_set = build_piece_set(kit, self._printed)
            self._pieces = self._piece_set.create_pieces()
            self.rows = TileRows(kit) if kit.order_tiles else None
            """Rows of order tiles beside the board. None for a kit without them."""
            self._hand_square = None
            self._piece_set.put_beside(self._pieces)
            self._discard_lit_table()

    def set_view(self, view: CameraView) -> None:
        """Move the camera, change the light, or shift the board."""
        with self._lock:
            self._view = view
            self._is_default_view = False
            self._rng = np.random.default_rng(view.seed)
            self._noise = None
            self._discard_lit_table()

    def set_up(self, layout: Layout, *, by_hand: bool = False) -> None:
        """Arrange the pieces as in a layout. All others go beside the board.

        With `by_hand`, pieces that are already in place stay, and others are laid on top of them.
        Raises KeyError if the kit has too few pieces.
        """
        with self._lock:
            free = list(self._pieces)
            placed: list[Piece] = []
            wanted = {name for faces in layout.values() for name in faces}
            placements = list(self._piece_set.placements(layout))
            staying = self._staying_pieces(placements, wanted) if by_hand else {}
            free = [piece for piece in free if piece not in staying.values()]
            for index, placement in enumerate(placements):
                piece = staying.get(index) or self._piece_set.take(free, placement.face, wanted)
                piece.turn_deg = placement.turn_deg
                self._piece_set.put_on(piece, placement.square, placed)
                placed.append(piece)
            for piece in free:
                piece.top_index = 0
            self._piece_set.put_beside(free)
            self._pieces = free + placed
            self._mark_changed()

    def _staying_pieces(
        self, placements: Iterable[Placement], wanted: Collection[str]
    ) -> dict[int, Piece]:
        """Return the pieces that may stay, because the layout wants such a piece on their square.

        Keys are indices of `placements`, and `wanted` are all faces of the layout.
        """
        by_square: dict[Square | None, list[Piece]] = {}
        for piece in self._pieces:
            by_square.setdefault(self._piece_set.square_of(piece), []).append(piece)
        staying = {}
        for index, placement in enumerate(placements):
            free = by_square.get(placement.square, [])
            with contextlib.suppress(KeyError):
                staying[index] = self._piece_set.take(free, placement.face, wanted)
        return staying

    def turn(self, piece: int, degrees: float) -> None:
        """Turn a piece to an angle of `degrees`, counter-clockwise.

        Raises KeyError for an unknown piece.
        """
        with self._lock:
            self.piece(piece).turn_deg = degrees
            self._mark_changed()

    def nudge(self, piece: int, x_mm: float, y_mm: float) -> None:
        """Move a piece by an offset in mm. Raises KeyError for an unknown piece."""
        with self._lock:
            placed = self.piece(piece)
            placed.x_mm += x_mm
            placed.y_mm += y_mm
            self._mark_changed()

    # ---- the simulated world: what pages show, and what hands can do ----

    def pieces(self) -> tuple[WorldPiece, ...]:
        """Return all pieces, the lowest first."""
        with self._lock:
            pose = self.lit_table().pose
            pieces = []
            blocks = {block.piece: block for block in self.blocks()}
            for piece in self._pieces:
                position = piece.x_mm, piece.y_mm, piece.turn_deg
                outline = tuple((float(x), float(y)) for x, y in blocks[piece.id].outline_px(pose))
                square = self._piece_set.square_of(piece)
                pieces.append(WorldPiece(piece.id, piece.top.name, *position, outline, square))
            return tuple(pieces)

    def move_to(self, piece: int, square: Square) -> None:
        """Put a piece on the middle of a square, on top of the pieces there.

        For a piece that covers several squares, `square` is the lower left one. It keeps its
        orientation, so call `turn` first. A card is laid at the end of the zone's fan. Raises
        KeyError for an unknown piece.
        """
        with self._lock:
            placed = self.piece(piece)
            self._piece_set.put_on(placed, square, self._pieces)
            self._put_on_top(placed)

    def take_off(self, piece: int) -> None:
        """Lay a piece beside the board. Raises KeyError for an unknown piece."""
        with self._lock:
            self._piece_set.put_beside([self.piece(piece)])
            self._mark_changed()

    def drag_to(self, piece: int, x_px: float, y_px: float) -> None:
        """Move a piece to the point of the table that the picture shows at a pixel.

        Pixels outside the picture count as those at its edge, and pixels above the horizon have no
        effect. Raises KeyError for an unknown piece.
        """
        with self._lock:
            point = np.clip([[x_px, y_px]], 0.0, np.array(self.size_px()) - 1.0)
            x_mm, y_mm = self.lit_table().pose.to_plane(point)[0]
            if math.isfinite(x_mm) and math.isfinite(y_mm):
                placed = self.piece(piece)
                placed.x_mm = float(x_mm)
                placed.y_mm = float(y_mm)
                self._put_on_top(placed)

    def flip(self, piece: int) -> None:
        """Turn the next face of a piece up.

        A piece with a single face that is not square is turned by 90 degrees instead. Raises
        KeyError for an unknown piece.
        """
        with self._lock:
            placed = self.piece(piece)
            placed.top_index = (placed.top_index + 1) % len(placed.tops)
            square = self._piece_set.square_of(placed)
            if len(placed.tops) == 1 and placed.top.width_mm != placed.top.depth_mm:
                placed.turn_deg = (placed.turn_deg + 90) % 180
                if square is not None:
                    self._piece_set.put_on(placed, square, self._pieces)
            self._mark_changed()

    def hold_hand(self, over: Square | None) -> None:
        """Hold a hand over a square. None removes it."""
        with self._lock:
            self._hand_square = over
            self._mark_changed()

    def jpeg(self) -> bytes:
        """Return the camera's current picture in colour. Rows of order tiles are blacked out."""
        with self._lock:
            picture = self.render_bgr()
            if self.rows is not None:
                picture = picture.copy()
                for corners in self.rows.hidden_areas_mm():
                    cv2.fillPoly(picture, [self.to_px(corners).round().astype(np.int32)], (0, 0, 0))
            return bytes(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 85])[1])

    def lay_tiles(self, seat: Seat, letters: str) -> None:
        """Replace the order tiles behind a seat's wall. Raises `Malformed`."""
        with self._lock:
            if self.rows is None:
                raise Malformed(say("This game has no order tiles: switch them on in its options"))
            self.rows.lay(seat, letters)
            self._mark_changed()

    def size_px(self) -> tuple[int, int]:
        """Return width and height of the picture."""
        return self._view.width, self._view.height

    # ---- pictures ----

    def render_bgr(self) -> Bgr:
        """Return the current picture, (height, width, 3), with sensor noise."""
        with self._lock:
            return self._with_sensor_effects(self._picture())

    def render_luma(self) -> NDArray[np.uint8]:
        """Return the brightness of the current picture, (height, width), with sensor noise."""
        with self._lock:
            luma = cv2.cvtColor(self._picture(), cv2.COLOR_BGR2GRAY)
            return self._with_sensor_effects(np.asarray(luma, np.uint8))

    def colour_reader(self) -> Callable[[], Colours]:
        """Return a function that computes the colours of the current picture, see `Capture`.

        They are reduced and without noise.
        """
        with self._lock:
            picture = self._picture()
        return lambda: colours.from_bgr(picture)

    def wait_until_drawn(self) -> None:
        """Wait until a picture that is being drawn is finished."""
        with self._lock:
            pass

    def _picture(self) -> Bgr:
        """Return the picture without noise. It is drawn only once after each change."""
        if self._drawn is None:
            lit_table = self.lit_table()
            picture = lit_table.table.copy()
            tile_blocks = self.rows.blocks() if self.rows else ()
            for block in (*self.blocks(), *tile_blocks):
                draw_block(picture, lit_table, block)
            hand = self.hand_px()
            if hand is not None:
                draw_hand(picture, lit_table, hand)
            self._drawn = degrade(picture, self._view)
        return self._drawn

    def hand_px(self) -> Points | None:
        """Return the outline of the hand in the picture, or None if there is no hand."""
        if self._hand_square is None:
            return None
        board = self._kit.board
        seat = Seat.SOUTH if self._hand_square.rank < board.ranks / 2 else Seat.NORTH
        return hand_px(self.lit_table(), *board.centre_mm(self._hand_square), seat)

    def blocks(self) -> list[RenderedBlock]:
        """Return what is drawn of the pieces, in drawing order."""
        with self._lock:
            return self._piece_set.blocks(self._pieces, self.lit_table().pose.eye_mm)

    def _with_sensor_effects(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the picture with flicker and noise."""
        picture = self._with_flicker(picture)
        noise = self._next_noise()
        if noise is None:
            return picture
        # Every channel of a colour picture gets the same noise.
        noise = np.repeat(noise[..., None], picture.size // noise.size, axis=2)
        noisy = cv2.add(picture, noise.reshape(picture.shape), dtype=cv2.CV_8U)
        return np.asarray(noisy, np.uint8)

    def _with_flicker(self, picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the picture with bands of flicker, which move from picture to picture."""
        view = self._view
        if not view.flicker:
            return picture
        rows = np.arange(len(picture), dtype=np.float32) / (_FLICKER_PERIOD_SHARE * view.height)
        waves = np.sin(2 * math.pi * (rows + float(self._rng.random())))
        bands = 1 - view.flicker * (0.5 + 0.5 * waves)
        bands = bands.reshape(-1, *(1,) * (picture.ndim - 1))
        return np.asarray(picture * bands, np.uint8)

    def _next_noise(self) -> NDArray[np.int8] | None:
        """Return the noise (height, width) of the next picture, or None if the view has none.

        All of it is cut out of one field, at random places, because new noise for each picture
        would be slow.
        """
        if not self._view.noise:
            return None
        width, height = self.size_px()
        size = height + _NOISE_MARGIN_PX, width + _NOISE_MARGIN_PX
        if self._noise is None or self._noise.shape != size:
            field = self._rng.normal(0, self._view.noise, size)
            self._noise = field.round().clip(-127, 127).astype(np.int8)
        row, column = self._rng.integers(0, _NOISE_MARGIN_PX, 2)
        return self._noise[row : row + height, column : column + width]

    # ---- the scene ----

    def piece(self, piece_id: int) -> Piece:
        """Return the piece with this id. Raises KeyError."""
        for piece in self._pieces:
            if piece.id == piece_id:
                return piece
        raise KeyError(f"there is no piece {piece_id} on the table")

    def _put_on_top(self, piece: Piece) -> None:
        self._pieces.remove(piece)
        self._pieces.append(piece)
        self._mark_changed()

    def _mark_changed(self) -> None:
        self._drawn = None

    def _discard_lit_table(self) -> None:
        self._lit_table = None
        self._mark_changed()

    def lit_table(self) -> LitTable:
        """Return the part of the scene that does not change while pieces move."""
        if self._lit_table is None:
            self._lit_table = build_lit_table(self._kit, self._view, self._printed().board)
        return self._lit_table

    def to_px(self, points_mm: Points) -> Points:
        """Convert (N, 2) points of the board to (N, 2) pixels."""
        with self._lock:
            return self.lit_table().pose.to_px(at_height(points_mm))

    def square_px(self, square: Square) -> tuple[float, float]:
        """Return the pixel of the middle of a square."""
        x, y = self.to_px(np.array([self._kit.board.centre_mm(square)]))[0]
        return float(x), float(y)


class RenderedCamera(FrameSource):
    """A camera above the simulated table."""

    name = say("the simulated table")

    def __init__(self, table: SimulatedTable, clock: Clock) -> None:
        super().__init__(clock)
        self._table = table

    def _capture(self) -> Capture:
        return Capture(self._table.render_luma(), self._table.colour_reader())
