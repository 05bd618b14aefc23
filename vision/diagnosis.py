"""Answers what the camera page shows: pictures, the board as it is read, its weak squares, and
settled frames.

A *still frame* is any frame in which nothing moved. A *settled frame* is the first still frame with
a new reading that is settled, which means that enough pictures agree on it (`vision.reading.vote`).
The watcher hands over every frame to `BoardEye`, which only stores it. What pages show is computed
when they ask for it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import (
    Advice,
    BoardSeen,
    CameraOffer,
    Frame,
    Outline,
    Reading,
    SettledFrame,
    SquareSeen,
    Weakness,
)
from vision.cameras.colours import Colours, combine_bgr
from vision.pose.pose import Points, Pose, square_outline_mm
from vision.readability import (
    advise,
    advise_without_board,
    board_outline_mm,
    measure_squares,
    needed_module_px,
)
from vision.reading.board_reader import BoardDetails, BoardReader

if TYPE_CHECKING:
    from vision.cameras.camera_link import CameraLink

# A picture for people: (height, width) in grey, or (height, width, 3) in BGR.
Picture = NDArray[np.uint8]

# A rectangle in board axes, in mm: low x, low y, high x, high y.
Area = tuple[float, float, float, float]

# Maximum number of settled frames. Each takes about 2 MB at 1080p.
MAX_SETTLED = 5

# The same for a machine with little memory.
MAX_SETTLED_IF_SMALL = 3

# Maximum width of live pictures: half of 1080p, which fills a phone's screen.
_MAX_PICTURE_WIDTH_PX = 960

# JPEG quality of live pictures, of 100.
_PICTURE_QUALITY = 70

# Longer side of photographs. One of each turn is stored, so they are small.
_PHOTOGRAPH_SIDE_PX = 640

# JPEG quality of photographs, of 100.
_PHOTOGRAPH_QUALITY = 50

# Height above the board, in mm, up to which pieces reach. The outline of a settled frame includes
# it.
_MAX_PIECE_HEIGHT_MM = 15.0

# Paper around the corner markers that belongs to the printed board, in mm.
_PAPER_MARGIN_MM = 4.0

# Brightness with which hidden squares of a photograph are covered.
_COVER_LEVEL = 128


@dataclass(frozen=True, eq=False)
class _ReadFrame:
    """A frame and what the reader knew after it."""

    # Its position among all frames of the eye. It goes on counting when another camera is chosen.
    number: int
    frame: Frame
    reading: Reading
    details: BoardDetails

    @property
    def board_in_view(self) -> tuple[Kit, Pose] | None:
        """The board in view, and its pose."""
        kit = self.details.kit
        pose = self.details.pose
        if kit is None or pose is None or self.reading.game is None:
            return None
        return kit, pose


class BoardEye:
    """Keeps the last frames of a watcher, and answers what pages ask about them.

    `source` is the camera of the settings, `cameras` returns the connected ones, and `max_settled`
    is the maximum number of settled frames that are kept.

    The watcher's thread calls `record`. Everything else may be called from any thread. An eye lives
    as long as its watcher and needs no closing.
    """

    link: CameraLink
    """The link to the camera. It is set from outside, once the watcher has made it."""

    def __init__(
        self,
        reader: BoardReader,
        source: str = "",
        cameras: Callable[[], tuple[CameraOffer, ...]] = lambda: (),
        max_settled: int = MAX_SETTLED,
    ) -> None:
        self._reader = reader
        self._source = source
        self._numbers = count(1)
        self.cameras = cameras
        """Returns the connected cameras."""
        # The last frame. The watcher's thread replaces it, and nobody changes it, so other threads
        # read it without the lock.
        self._last: _ReadFrame | None = None
        # Guards the settled frames.
        self._lock = threading.Lock()
        # The last settled frames, oldest first.
        self._settled_frames: deque[_ReadFrame] = deque(maxlen=max_settled)

    def source(self) -> str:
        """Return the source in use, as in the settings."""
        return self.link.source or self._source

    def record(self, frame: Frame, reading: Reading) -> None:
        """Record a frame that was just read, before the table hears of the reading.

        Only references are kept, so this takes no time, unless a mirrored picture has to be flipped
        back.
        """
        previous = self._last
        if self._reader.mirror.is_mirrored:
            frame = self._reader.mirror.flip_back(frame)
        read_frame = _ReadFrame(next(self._numbers), frame, reading, self._reader.details)
        self._last = read_frame
        is_repeated = previous is not None and previous.reading == reading
        # Keep a frame only if its reading is settled, and new since the frame before it.
        if not reading.quiet or is_repeated:
            return
        frames = self._settled_frames
        with self._lock:
            # Drop the frames of another game. Some, such as those of cards, are large.
            last_game = frames[-1].reading.game if frames else None
            if reading.game is not None and last_game not in (None, reading.game):
                frames.clear()
            if frames and frames[-1].reading == reading:
                # Hands were over the board and have changed nothing, so the frame after that
                # movement replaces the one before it.
                frames.pop()
            frames.append(read_frame)

    # ---- the last frame -----------------------------------------------------

    def latest_number(self) -> int:
        """Return the number of the last frame, 0 before the first one."""
        last = self._last
        return last.number if last else 0

    def picture(self) -> bytes | None:
        """Return the last frame as a JPEG at most 960 px wide, or None before the first one."""
        last = self._last
        if last is None:
            return None
        luma = last.frame.luma
        height, width = luma.shape
        if width > _MAX_PICTURE_WIDTH_PX:
            size = _MAX_PICTURE_WIDTH_PX, max(1, round(height * _MAX_PICTURE_WIDTH_PX / width))
            luma = np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA), np.uint8)
        return _encode_jpeg(combine_bgr(luma, _read_colours(last.frame)), _PICTURE_QUALITY)

    def advice_without_board(self) -> tuple[Advice, ...]:
        """Return what may be wrong with the last picture, in which no board is found.

        Returns nothing if the picture seems good, or if it was blacked out to hide order tiles (see
        `vision.tiles.board_only`).
        """
        last = self._last
        if last is None or not last.frame.luma.any():
            return ()
        return advise_without_board(last.frame.luma)

    def board(self) -> BoardSeen | None:
        """Return the board in the last frame, with its weak squares and advice.

        Returns None if no board is seen.
        """
        read_frame = self._last
        if read_frame is None or read_frame.board_in_view is None:
            return None
        (kit, pose), reading = read_frame.board_in_view, read_frame.reading

        # How well each square can be read, and what is read on it.
        measures = measure_squares(read_frame.frame.luma, kit, pose)
        needed_px = needed_module_px(kit)
        weaknesses = {square: measure.weaknesses(needed_px) for square, measure in measures.items()}
        squares = []
        for square in measures:
            is_known = square not in reading.unknown
            squares.append(
                SquareSeen(
                    square,
                    _faces_on(reading, square),
                    is_known,
                    read_frame.details.confidence.get(square, 1.0 if is_known else 0.0),
                    weaknesses[square],
                    _square_px(read_frame, kit, pose, square),
                )
            )

        # Advice about a second board comes first: as long as it is in view, all readings are
        # doubtful.
        reader_advice = read_frame.details.advice
        twins = [item for item in reader_advice if item.weakness is Weakness.TWIN]
        others = [item for item in reader_advice if item.weakness is not Weakness.TWIN]
        advice = (*twins, *advise(kit, pose, weaknesses), *others)
        height, width = read_frame.frame.luma.shape
        return BoardSeen(
            size_px=(width, height),
            outline_px=_to_outline(pose.to_px(board_outline_mm(kit.board))),
            kit=kit,
            reading=reading,
            squares=tuple(squares),
            advice=advice,
        )

    # ---- settled frames and photographs ----------------------------------------------------------

    def settled_frames(self) -> tuple[SettledFrame, ...]:
        """Return the last settled frames, oldest first."""
        with self._lock:
            frames = tuple(self._settled_frames)
        return tuple(_settled_frame(read_frame) for read_frame in frames)

    def photograph(self) -> bytes | None:
        """Return the board from straight above, as a small JPEG.

        Returns None if something moves, or if no board is in view. Unknown squares are covered,
        because a hand of cards or a phone may lie there. For the same reason, the strips beyond the
        zones of a board of cards are left out.
        """
        last = self._last
        if last is None or last.board_in_view is None or not last.reading.quiet:
            return None
        kit, pose = last.board_in_view
        area = _photographed_area_mm(kit)
        view = _from_above(last.frame, pose, area)
        return _encode_jpeg(
            _cover_squares(view, kit, area, last.reading.unknown), _PHOTOGRAPH_QUALITY
        )


def _faces_on(reading: Reading, square: Square) -> tuple[str, ...]:
    """Return the names of what is read on a square: cards from the bottom to the top, or a face."""
    if square in reading.fans:
        return tuple(reading.fans[square])
    return (reading.seen[square],) if square in reading.seen else ()


def _square_px(read_frame: _ReadFrame, kit: Kit, pose: Pose, square: Square) -> Outline:
    """Return the corners of a square in the picture, at the height of the piece on it."""
    corners_mm = square_outline_mm(kit.board, square).copy()
    if not kit.deck and square in read_frame.reading.seen:
        corners_mm[:, 2] = kit.face(read_frame.reading.seen[square]).height_mm
    return _to_outline(pose.to_px(corners_mm))


def _settled_frame(read_frame: _ReadFrame) -> SettledFrame:
    """Return a settled frame with the outlines of its board and squares in the picture."""
    outline: Outline = ()
    squares: dict[Square, Outline] = {}
    kit = read_frame.details.kit
    pose = read_frame.details.pose
    if kit is not None and pose is not None:
        # The board with everything that stands on it: a flat box.
        floor = board_outline_mm(kit.board, _PAPER_MARGIN_MM)
        box = np.vstack([floor, floor + np.array([0.0, 0.0, _MAX_PIECE_HEIGHT_MM])])
        hull = cv2.convexHull(pose.to_px(box).astype(np.float32))
        outline = _to_outline(np.asarray(hull, np.float64).reshape(-1, 2))
        for square in kit.board.squares:
            squares[square] = _to_outline(pose.to_px(square_outline_mm(kit.board, square)))
    return SettledFrame(read_frame.number, read_frame.frame, read_frame.reading, outline, squares)


def _to_outline(points_px: Points) -> Outline:
    # Points (N, 2) px as pairs of numbers, to a tenth of a pixel.
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in points_px)


# ---- pictures ------------------------------------------------------------------------------------


def _photographed_area_mm(kit: Kit) -> Area:
    """Return the area of the printed board with its strips, or of the zones of a board of cards."""
    board = kit.board
    strip = 0.0 if kit.deck else board.strip_mm
    return 0.0, -strip, board.width_mm, board.height_mm + strip


def _from_above(frame: Frame, pose: Pose, area_mm: Area) -> Picture:
    """Return an area of the board from straight above, in colour if the camera has any."""
    left, bottom, right, top = area_mm
    scale = _PHOTOGRAPH_SIDE_PX / max(right - left, top - bottom)
    top_view = pose.top_view((left, bottom), (right, top), 0.0, scale)
    view = top_view.rectify(frame.luma)
    colours = _read_colours(frame)
    if colours is None:
        return view
    # Colours have a lower resolution.
    colour_scale = colours.shape[1] / frame.luma.shape[1]
    return combine_bgr(view, top_view.rectify_colours(colours, colour_scale))


def _cover_squares(view: Picture, kit: Kit, area_mm: Area, hidden: frozenset[Square]) -> Picture:
    """Return a view of an area in which the `hidden` squares, with half of their gaps, are grey."""
    left_mm, _, right_mm, top_mm = area_mm
    scale = view.shape[1] / (right_mm - left_mm)
    covered = view.copy()
    board = kit.board
    half_mm = np.array([board.pitch_mm, board.rank_pitch_mm]) / 2
    for square in hidden:
        x_mm, y_mm = board.centre_mm(square)
        # Row 0 is at the far edge.
        middle_mm = np.array([x_mm - left_mm, top_mm - y_mm])
        left, top = ((middle_mm - half_mm) * scale).clip(0).astype(int)
        right, bottom = np.ceil((middle_mm + half_mm) * scale).astype(int)
        covered[top:bottom, left:right] = _COVER_LEVEL
    return covered


def _read_colours(frame: Frame) -> Colours | None:
    return frame.colours() if frame.colours else None


def _encode_jpeg(picture: Picture, quality: int) -> bytes:
    """Return a grey (height, width) or BGR picture as a JPEG."""
    return bytes(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1])
