"""What the camera page shows: pictures, the board as it is read, its weak places, and settled
frames.

The watcher hands over every frame. Nothing is computed before somebody asks.
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
from vision.detection.markers import Luma
from vision.pose.pose import Points, Pose, square_mm
from vision.readability import (
    advise,
    advise_blindly,
    board_outline_mm,
    enough_px,
    measure_squares,
)
from vision.reading.board_reader import BoardDetails, BoardReader

if TYPE_CHECKING:
    from vision.cameras.camera_link import CameraLink

Picture = NDArray[np.uint8]
"""A picture for people: (height, width) in grey, or (height, width, 3) in BGR."""
Area = tuple[float, float, float, float]
"""Low x, low y, high x, high y in mm of the board."""
MAX_SETTLED = 5
"""Maximum number of settled frames. Each takes about 2 MB at 1080p."""
MAX_SETTLED_IF_SMALL = 3
"""The same for a machine with little memory."""
_PICTURE_PX, _PICTURE_QUALITY = 960, 70
_PHOTOGRAPH_PX, _PHOTOGRAPH_QUALITY = 640, 50
_TALL_MM = 15.0
"""Maximum height of pieces above the board, in mm."""
_EDGE_MM = 4.0
"""Paper around the corner markers that belongs to the printed board, in mm."""


@dataclass(frozen=True, eq=False)
class _Look:
    """A frame and what the reader knew after it. `number` counts on over all cameras."""

    number: int
    frame: Frame
    reading: Reading
    seen: BoardDetails

    @property
    def board(self) -> tuple[Kit, Pose] | None:
        """The board in view, and its pose."""
        kit, pose = self.seen.kit, self.seen.pose
        if kit is None or pose is None or self.reading.game is None:
            return None
        return kit, pose


class BoardEye:
    """Answers what pages ask of the camera, from any thread. Nothing is computed before.

    `source` is the camera of the settings, `cameras` returns the connected ones, and `max_settled`
    is the maximum number of settled frames.
    """

    link: CameraLink
    """The link to the camera. The maker of the watcher sets it."""

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
        self._last: _Look | None = None
        self._lock = threading.Lock()
        self.settled_frames: deque[_Look] = deque(maxlen=max_settled)

    def source(self) -> str:
        """Return the source in use, as in the settings."""
        return self.link.source or self._source

    def saw(self, frame: Frame, reading: Reading) -> None:
        """Handle a frame that was just read, before the table hears of the reading.

        Only references are kept.
        """
        previous = self._last
        if self._reader.mirror.is_mirrored:
            frame = self._reader.mirror.as_read(frame)
        look = _Look(next(self._numbers), frame, reading, self._reader.seen)
        self._last = look
        if not reading.quiet or (previous is not None and previous.reading == reading):
            return
        frames = self.settled_frames
        with self._lock:
            # Large pictures, such as those of cards, are not kept during another game.
            games = (None, reading.game)
            if frames and reading.game is not None and frames[-1].reading.game not in games:
                frames.clear()
            if frames and frames[-1].reading == reading:
                # The board is as it was before the movement, so the newest picture of it counts.
                frames.pop()
            frames.append(look)

    # ---- the last frame -----------------------------------------------------

    def number(self) -> int:
        """Return the number of the last frame, 0 before the first one."""
        look = self._last
        return look.number if look else 0

    def picture(self) -> bytes | None:
        """Return the last frame as a JPEG of at most 960 px. None before the first one."""
        look = self._last
        return _jpeg(_for_people(look.frame, _PICTURE_PX), _PICTURE_QUALITY) if look else None

    def blind_advice(self) -> tuple[Advice, ...]:
        """Return what may be wrong with a picture in which no board is found. Empty for a picture
        that was blacked out.
        """
        look = self._last
        return advise_blindly(look.frame.luma) if look and look.frame.luma.any() else ()

    def board(self, frame: int | None = None) -> BoardSeen | None:
        """Return the board in the last frame or in a settled one, with its weak places and advice.
        None if no board is seen.
        """
        look = self._look(frame)
        if look is None or look.board is None:
            return None
        (kit, pose), reading = look.board, look.reading
        measures = measure_squares(look.frame.luma, kit, pose)
        enough = enough_px(kit)
        weak = {square: measure.weaknesses(enough) for square, measure in measures.items()}
        squares = tuple(
            SquareSeen(
                square,
                _faces(reading, square),
                square not in reading.unknown,
                look.seen.sureness.get(square, 0.0 if square in reading.unknown else 1.0),
                weak[square],
                _corners_px(look, kit, pose, square),
            )
            for square in measures
        )
        # a second board comes first: while it lies there, all readings are doubtful
        first = [item for item in look.seen.advice if item.weakness is Weakness.TWIN]
        last = [item for item in look.seen.advice if item.weakness is not Weakness.TWIN]
        advice = (*first, *advise(kit, pose, weak), *last)
        height, width = look.frame.luma.shape
        return BoardSeen(
            size_px=(width, height),
            outline_px=_corners(pose.to_px(board_outline_mm(kit.board))),
            kit=kit,
            reading=reading,
            squares=squares,
            advice=advice,
        )

    # ---- settled frames and photographs ----------------------------------------------------------

    def settled(self) -> tuple[SettledFrame, ...]:
        """Return the last settled frames, oldest first."""
        with self._lock:
            looks = tuple(self.settled_frames)
        return tuple(_settled_frame(look) for look in looks)

    def settled_picture(self, frame: int, width_px: int) -> bytes | None:
        """Return a settled frame as a JPEG of at most this width. None if it is not kept any
        more.
        """
        look = self._look(frame)
        return _jpeg(_for_people(look.frame, width_px), _PICTURE_QUALITY) if look else None

    def photograph(self) -> bytes | None:
        """Return the board from straight above as a small JPEG. None unless it lies still in view.

        Squares that are not read are covered, because a hand of cards or a phone may lie there. Of
        a board of cards the strips beyond the zones are left out too.
        """
        look = self._last
        if look is None or look.board is None or not look.reading.quiet:
            return None
        kit, pose = look.board
        area = _area_mm(kit)
        view = _from_above(look.frame, pose, area)
        return _jpeg(_cover(view, kit, area, look.reading.unknown), _PHOTOGRAPH_QUALITY)

    def _look(self, frame: int | None) -> _Look | None:
        if frame is None:
            return self._last
        with self._lock:
            return next((look for look in self.settled_frames if look.number == frame), None)


def _faces(reading: Reading, square: Square) -> tuple[str, ...]:
    if square in reading.fans:
        return tuple(reading.fans[square])
    return (reading.seen[square],) if square in reading.seen else ()


def _corners_px(look: _Look, kit: Kit, pose: Pose, square: Square) -> Outline:
    """Return the corners of a square in the picture, at the height of the piece that is read on
    it.
    """
    corners_mm = square_mm(kit.board, square).copy()
    if not kit.deck and square in look.reading.seen:
        corners_mm[:, 2] = kit.face(look.reading.seen[square]).height_mm
    return _corners(pose.to_px(corners_mm))


def _settled_frame(look: _Look) -> SettledFrame:
    outline: Outline = ()
    squares: dict[Square, Outline] = {}
    kit, pose = look.seen.kit, look.seen.pose
    if kit is not None and pose is not None:
        # the board with everything that stands on it: a flat box
        floor = board_outline_mm(kit.board, _EDGE_MM)
        box = np.vstack([floor, floor + np.array([0.0, 0.0, _TALL_MM])])
        hull = cv2.convexHull(pose.to_px(box).astype(np.float32))
        outline = _corners(np.asarray(hull, np.float64).reshape(-1, 2))
        for square in kit.board.squares:
            squares[square] = _corners(pose.to_px(square_mm(kit.board, square)))
    return SettledFrame(look.number, look.frame, look.reading, outline, squares)


def _corners(points: Points) -> Outline:
    return tuple((round(float(x), 1), round(float(y), 1)) for x, y in points)


# ---- pictures ------------------------------------------------------------------------------------


def _area_mm(kit: Kit) -> Area:
    """Return the area of the printed board with its strips, or of the zones of a board of cards."""
    board = kit.board
    strip = 0.0 if kit.deck else board.strip_mm
    return 0.0, -strip, board.width_mm, board.height_mm + strip


def _from_above(frame: Frame, pose: Pose, area_mm: Area) -> Picture:
    """Return a rectangle of the board from straight above."""
    low, high = area_mm[:2], area_mm[2:]
    scale = _PHOTOGRAPH_PX / max(high[0] - low[0], high[1] - low[1])
    maps = pose.plane_maps(low, high, 0.0, scale)
    view, colours = maps.rectify(frame.luma), _colours_of(frame)
    if colours is None:
        return view
    # colours have a lower resolution
    share = colours.shape[1] / frame.luma.shape[1]
    return combine_bgr(view, maps.rectify_colours(colours, share))


def _cover(view: Picture, kit: Kit, area_mm: Area, hidden: frozenset[Square]) -> Picture:
    """Return the same view with some squares covered in grey, including half of the gaps around
    them.
    """
    scale = view.shape[1] / (area_mm[2] - area_mm[0])
    covered, board = view.copy(), kit.board
    half = np.array([board.pitch_mm, board.rank_pitch_mm]) / 2
    for square in hidden:
        x_mm, y_mm = board.centre_mm(square)
        # rows count from the far edge
        middle = np.array([x_mm - area_mm[0], area_mm[3] - y_mm])
        left, top = ((middle - half) * scale).clip(0).astype(int)
        right, bottom = np.ceil((middle + half) * scale).astype(int)
        covered[top:bottom, left:right] = 128
    return covered


def _narrow(luma: Luma, width_px: int) -> Luma:
    height, width = luma.shape
    if width <= width_px:
        return luma
    size = (width_px, max(1, round(height * width_px / width)))
    return np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA), np.uint8)


def _for_people(frame: Frame, width_px: int) -> Picture:
    """Return a frame for people, of at most this width, in colour if the camera has any."""
    return combine_bgr(_narrow(frame.luma, width_px), _colours_of(frame))


def _colours_of(frame: Frame) -> Colours | None:
    return frame.colours() if frame.colours else None


def _jpeg(picture: Picture, quality: int) -> bytes:
    """Return a grey (height, width) or BGR picture as a JPEG."""
    return bytes(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1])
